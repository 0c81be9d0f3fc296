# Compiler flags and QEMU's board of each core. QEMU has no board with a Cortex-M0+; Cortex-M3 has its instructions.
FLAGS_cortex-m0plus = -mcpu=cortex-m0plus
FLAGS_cortex-m3 = -mcpu=cortex-m3
FLAGS_cortex-m4 = -mcpu=cortex-m4 -mfloat-abi=hard
FLAGS_cortex-m7 = -mcpu=cortex-m7 -mfloat-abi=hard
FLAGS_cortex-m33 = -mcpu=cortex-m33 -mfloat-abi=hard -Wl,--defsym=flash_start=0x10000000,--defsym=ram_start=0x38000000
FLAGS_cortex-m55 = -mcpu=cortex-m55 -mfloat-abi=hard -Wl,--defsym=flash_start=0x10000000,--defsym=ram_start=0x30000000
BOARD_cortex-m0plus = mps2-an385
BOARD_cortex-m3 = mps2-an385
BOARD_cortex-m4 = mps2-an386
BOARD_cortex-m7 = mps2-an500
BOARD_cortex-m33 = mps2-an505
BOARD_cortex-m55 = mps3-an547

QEMU = qemu-system-arm -M $(BOARD_$(CORE)) -nographic -monitor none -serial none -semihosting
