#include "pipeline/runner_machine.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "support/shell_quoting.h"

namespace dlcc {
namespace {

#include "runner_sources.inc"  // runner_sources: {name, text}...

constexpr const char* system_emulator = "qemu-system-arm";

// A memory of a board: an address and a number of bytes, as linkers read them.
struct Memory {
  const char *start, *bytes;
};

// A machine of qemu-system-arm. The memories are those of runtime/runner/board.ld: `code` has the vectors, which the
// CPU reads at its begin, `data` is a larger memory without code.
struct Board {
  std::string_view target, machine;
  Memory code, ram, data;
};

// Arm's MPS2 and MPS3 with the FPGA images of its application notes AN385, AN386, AN500, AN505 and AN547. QEMU has no
// such board with a Cortex-M0+; Cortex-M3 has all of its instructions. Cortex-M33 and M55 start in the secure state, in
// which they execute code at the secure addresses only: those with bit 28.
constexpr Memory zbt_code = {"0x00000000", "4M"}, zbt_ram = {"0x20000000", "4M"}, psram = {"0x21000000", "16M"};
constexpr Board boards[] = {
    {"cortex-m0plus", "mps2-an385", zbt_code, zbt_ram, psram},
    {"cortex-m3", "mps2-an385", zbt_code, zbt_ram, psram},
    {"cortex-m4", "mps2-an386", zbt_code, zbt_ram, psram},
    {"cortex-m7", "mps2-an500", zbt_code, zbt_ram, {"0x60000000", "16M"}},
    {"cortex-m33", "mps2-an505", {"0x10000000", "4M"}, {"0x38000000", "4M"}, {"0x80000000", "16M"}},
    {"cortex-m55", "mps3-an547", {"0x10000000", "512K"}, {"0x30000000", "512K"}, {"0x60000000", "256M"}},
};

// Whether one of the command's words is the system emulator, perhaps with its folder: "nice /usr/bin/qemu-system-arm".
bool calls_system_emulator(const std::string& command) {
  std::istringstream words(command);
  for (std::string word; words >> word;)
    if (std::filesystem::path(word).filename() == system_emulator) return true;
  return false;
}

std::string memory_options(const char* name, const Memory& memory) {
  return fmt::format(" -Wl,--defsym={0}_start={1} -Wl,--defsym={0}_bytes={2}", name, memory.start, memory.bytes);
}

// An argument of semihosting, in an option of QEMU: QEMU joins the arguments with blanks, and board.c splits them
// again. A comma in an option is doubled.
std::string semihosting_argument(const std::string& text) {
  std::string result = ",arg=";
  for (char c : text) {
    if (c == ' ' || c == '\\') result += '\\';
    if (c == ',') result += ',';
    result += c;
  }
  return result;
}

RunnerMachine linux_machine(const RunnerCommands& commands, const std::string& compiler) {
  auto start = [runner = commands.runner](const std::string& program, const std::vector<std::string>& arguments) {
    std::string command = runner + " " + shell_quoted(program);
    for (const std::string& argument : arguments) command += " " + shell_quoted(argument);
    return command;
  };
  // Linkers refuse to mix code for microcontrollers with that of the program without --no-warn-mismatch.
  return {.compiler = compiler,
          .sources = {"run_object.c", "linux.c"},
          .compile_options = "-std=gnu11 -O2",
          .link_options = "-static -Wl,-z,noexecstack -Wl,--no-warn-mismatch",
          .start = start};
}

// The program needs no FPU, and passes no floats to the model: it is the same on CPUs with and without an FPU.
RunnerMachine board_machine(const RunnerCommands& commands, const Board& board, const std::filesystem::path& folder) {
  auto start = [machine = board.machine, runner = commands.runner](const std::string& program,
                                                                   const std::vector<std::string>& arguments) {
    std::string semihosting = "enable=on,target=native" + semihosting_argument("run_object");
    for (const std::string& argument : arguments) semihosting += semihosting_argument(argument);
    return fmt::format("{} -M {} -display none -monitor none -serial none -semihosting-config {} -kernel {}", runner,
                       machine, shell_quoted(semihosting), shell_quoted(program));
  };
  const std::string cpu = fmt::format("-mcpu={} -mthumb -mfloat-abi=soft", board.target);
  return {.compiler = commands.compiler.empty() ? "arm-none-eabi-gcc" : commands.compiler,
          .sources = {"run_object.c", "board.c"},
          .compile_options = cpu + " -std=gnu11 -O2 -ffreestanding -fno-tree-loop-distribute-patterns",
          .link_options = cpu + " -nostdlib -T " + shell_quoted(folder / "board.ld") +
                          memory_options("code", board.code) + memory_options("ram", board.ram) +
                          memory_options("data", board.data),
          .libraries = "-lgcc",
          .start = start};
}

}  // namespace

std::optional<RunnerMachine> find_runner_machine(const RunnerCommands& commands, const targets::Target& target,
                                                 const std::filesystem::path& folder, Diagnostics& diagnostics) {
  if (!calls_system_emulator(commands.runner)) {
    const std::string compiler = commands.compiler.empty() ? target.linux_compiler : commands.compiler;
    if (!compiler.empty()) return linux_machine(commands, compiler);
    diagnostics.error(DiagnosticId::run_failed, {},
                      fmt::format("there is no C compiler for {} under Linux", target.name), {},
                      "--runner-cc names one; --emit=selftest writes a program for a compiler without Linux");
    return std::nullopt;
  }
  const Board* board = std::ranges::find(boards, target.name, &Board::target);
  if (board != std::end(boards)) return board_machine(commands, *board, folder);
  diagnostics.error(DiagnosticId::run_failed, {},
                    fmt::format("'{}' runs programs without an operating system, and {} is a target for Linux",
                                system_emulator, target.name),
                    {}, "for such a target, --runner is a user-mode emulator, such as qemu-aarch64 or qemu-arm");
  return std::nullopt;
}

void write_runner_sources(const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder / "dlcc");
  for (const auto& [name, text] : runner_sources) std::ofstream(folder / name) << text;
}

}  // namespace dlcc
