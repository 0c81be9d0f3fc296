#include "emulated_object.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>

#include "pipeline/run.h"
#include "targets/llvm/match_inputs.h"

namespace dlcc {
namespace {

// Linkers refuse to mix code for microcontrollers with other code, unless its object does not name its CPU.
constexpr const char* without_cpu = "arm-linux-gnueabihf-objcopy --remove-section=.ARM.attributes";
constexpr Emulation emulations[] = {{"aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64"},
                                    {"armv7-a", "arm-linux-gnueabihf-gcc", "qemu-arm"},
                                    {"cortex-m0plus", "arm-linux-gnueabihf-gcc", "qemu-arm", without_cpu},
                                    {"cortex-m4", "arm-linux-gnueabihf-gcc", "qemu-arm", without_cpu}};

constexpr int seconds = 600;  // that a model may run

bool succeeds(const std::string& command) { return std::system(command.c_str()) == 0; }

void must_succeed(const std::string& command) {
  if (!succeeds(command)) throw std::runtime_error("failed: " + command);
}

void write_number(std::ofstream& file, int64_t number) {
  file.write(reinterpret_cast<const char*>(&number), sizeof number);
}

void write_block(std::ofstream& file, std::span<const std::byte> bytes) {
  write_number(file, static_cast<int64_t>(bytes.size()));
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::byte> read_bytes(std::ifstream& file, int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  if (!file.read(reinterpret_cast<char*>(bytes.data()), count)) throw std::runtime_error("the results are incomplete");
  return bytes;
}

int64_t read_number(std::ifstream& file) {
  int64_t number;
  std::memcpy(&number, read_bytes(file, sizeof number).data(), sizeof number);
  return number;
}

void write_inputs(const std::string& path, const emit::Interface& interface, const std::vector<Constant>& inputs,
                  const targets::SymbolValues& symbols) {
  std::ofstream file(path, std::ios::binary);
  for (const Constant& input : inputs) write_block(file, input.bytes());
  if (!interface.is_dynamic()) return;
  std::vector<int64_t> sizes;
  for (const emit::DimInterface& d : interface.dims) sizes.push_back(d.multiple * symbols.at(d.symbol.name));
  write_block(file, std::as_bytes(std::span(sizes)));
}

std::vector<std::vector<int64_t>> read_shapes(std::ifstream& file, const emit::Interface& interface) {
  std::vector<std::vector<int64_t>> shapes;
  for (const emit::TensorInterface& t : interface.outputs) {
    if (!interface.is_dynamic()) {
      shapes.push_back(static_shape(t.shape));
      continue;
    }
    shapes.emplace_back();
    for (size_t k = 0; k < t.shape.size(); ++k) shapes.back().push_back(read_number(file));
  }
  return shapes;
}

}  // namespace

const Emulation* find_emulation(const std::string& target) {
  for (const Emulation& e : emulations)
    if (target == e.target) return &e;
  return nullptr;
}

bool Emulator::is_installed(const Emulation& e) {
  return succeeds(fmt::format("command -v {} > /dev/null && command -v {} > /dev/null", e.compiler, e.emulator));
}

Emulator::Emulator(const Emulation& emulation, const std::string& source) : emulation_(emulation) {
  must_succeed(fmt::format(
      "{} -std=gnu11 -O2 -Wall -Wextra -Werror -I'{}/runtime/include' -c '{}/tests/programs/run_object.c' -o '{}'",
      emulation.compiler, source, source, path("run_object.o")));
}

Engine Emulator::engine(Compiler& compiler, Verifiable& model) {
  std::ofstream file(path("model.o"), std::ios::binary);
  const targets::ObjectFile object = compiler.generate(*model.planned);
  for (std::span<const std::byte> piece : object.pieces())
    file.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
  file.close();
  if (emulation_.prepare) must_succeed(fmt::format("{} '{}'", emulation_.prepare, path("model.o")));
  must_succeed(fmt::format("{} -static -Wl,-z,noexecstack '{}' '{}' -o '{}'", emulation_.compiler, path("run_object.o"), path("model.o"),
                           path("run")));
  return [this, &interface = model.planned->interface](const std::vector<Constant>& inputs, Diagnostics& d) {
    return run(interface, inputs, d);
  };
}

std::optional<std::vector<Constant>> Emulator::run(const emit::Interface& interface,
                                                   const std::vector<Constant>& inputs, Diagnostics& d) const {
  const auto symbols = targets::match_inputs(interface, inputs, d);
  if (!symbols) return std::nullopt;
  write_inputs(path("inputs"), interface, inputs, *symbols);
  must_succeed(fmt::format("timeout {} {} '{}' '{}' '{}'", seconds, emulation_.emulator, path("run"), path("inputs"),
                           path("results")));
  std::ifstream file(path("results"), std::ios::binary);
  if (!returned_ok(static_cast<int>(read_number(file)), d)) return std::nullopt;
  const std::vector<std::vector<int64_t>> shapes = read_shapes(file, interface);
  std::vector<Constant> results;
  for (size_t k = 0; k < shapes.size(); ++k)
    results.emplace_back(interface.outputs[k].type, shapes[k], read_bytes(file, read_number(file)));
  return results;
}

}  // namespace dlcc
