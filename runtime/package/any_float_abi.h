/* Marks an object for 32-bit ARM as one that links with code of either calling convention of floats: Tag_ABI_VFP_args is 3,
 * "compatible with both" (ARM, "Addenda to, and Errata in, the ABI for the Arm Architecture"). */
__asm__(".eabi_attribute 28, 3");
