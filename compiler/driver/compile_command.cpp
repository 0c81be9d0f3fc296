// dlcc MODEL -o OBJECT: the main job.
#include <iostream>

#include "driver/commands.h"
#include "driver/options.h"
#include "support/files.h"
#include "support/version.h"

namespace dlcc::driver {
namespace {

struct Outputs {
  std::string object;
  std::string emit = "obj,header";
  bool dependencies = false;
  std::string dependency_file, dependency_target;
};

std::string without_suffix(const std::string& path) {
  size_t dot = path.rfind('.'), slash = path.rfind('/');
  return dot == std::string::npos || (slash != std::string::npos && dot < slash) ? path : path.substr(0, dot);
}

// A path as make reads it.
std::string escaped(const std::string& path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

// A kind of artefact, where it goes, and what it is.
struct Artefact {
  std::string kind, suffix;
  std::string (*text)(Compiler&, const relay::Module&, Planned&);
};

std::string listing(Compiler& c, Planned& p, targets::Listing which) {
  targets::CodegenOptions codegen{.optimization = c.options().optimization, .jobs = c.options().jobs};
  return targets::generate_listing(p.program, p.plan, p.interface, p.target, codegen, which);
}

std::string program_text(const Planned& planned) {
  std::string text = lower::print(planned.program, &planned.plan);
  for (const lower::KernelVariants& k : planned.program.kernels)
    for (const tensor::Kernel& v : k.variants) text += "\n" + tensor::print(v);
  return text;
}

const Artefact artefacts[] = {
    {"relay", ".rly", [](Compiler&, const relay::Module& m, Planned&) { return relay::print(m); }},
    {"tensor", ".tensor", [](Compiler&, const relay::Module&, Planned& p) { return program_text(p); }},
    {"llvm", ".ll",
     [](Compiler& c, const relay::Module&, Planned& p) { return listing(c, p, targets::Listing::llvm_ir); }},
    {"asm", ".s",
     [](Compiler& c, const relay::Module&, Planned& p) { return listing(c, p, targets::Listing::assembly); }},
};

bool write_all(Compiler& compiler, const Outputs& out, const relay::Module& module, Planned& planned,
               Diagnostics& diagnostics) {
  std::string stem = without_suffix(out.object);
  std::stringstream kinds(out.emit);
  std::vector<std::byte> object;
  bool wants_header = false;
  for (std::string kind; std::getline(kinds, kind, ',');) {
    if (kind == "obj") object = compiler.generate(planned);
    wants_header |= kind == "header";
    for (const Artefact& a : artefacts) {
      if (a.kind != kind) continue;
      std::string path = out.object == "-" ? "-" : stem + a.suffix;
      if (!write_file(path, a.text(compiler, module, planned), diagnostics)) return false;
    }
  }
  if (wants_header && out.object != "-" && !write_file(stem + ".h", emit::make_header(planned.interface), diagnostics))
    return false;
  if (!object.empty() && !write_file(out.object, object, diagnostics)) return false;
  if (!out.dependencies) return true;
  std::string target = out.dependency_target.empty() ? out.object : out.dependency_target;
  std::string path = out.dependency_file.empty() ? stem + ".d" : out.dependency_file;
  return write_file(path, escaped(target) + ": " + escaped(compiler.options().model) + "\n", diagnostics);
}

}  // namespace

int compile_command(std::vector<std::string> args) {
  CompileOptions options;
  Reporting reporting;
  Outputs out;
  CLI::App app("dlcc compiles a neural network to one object file and one C header.", "dlcc");
  std::string commands_text = "\nCommands (dlcc COMMAND --help):\n";
  for (const Command& c : commands()) commands_text += fmt::format("  {:10} {}\n", c.name, c.summary);
  app.footer(commands_text);
  app.set_version_flag("--version", std::string("dlcc ") + version);
  add_compile_options(app, options);
  add_reporting_options(app, reporting);
  app.add_option("-o", out.object, "The object file; the header is written beside it")->required();
  app.add_option("--emit", out.emit, "What to write: obj, header, relay, tensor, llvm, asm")
      ->capture_default_str()
      ->check([](const std::string& text) {
        std::stringstream kinds(text);
        for (std::string kind; std::getline(kinds, kind, ',');)
          if (kind != "obj" && kind != "header" &&
              std::ranges::none_of(artefacts, [&](const Artefact& a) { return a.kind == kind; }))
            return "there is nothing called '" + kind + "' to emit";
        return std::string();
      });
  app.add_flag("--MD", out.dependencies, "-MD: write a make dependency file");
  app.add_option("--MF", out.dependency_file, "-MF: its path");
  app.add_option("--MT", out.dependency_target, "-MT: the target it names");
  if (auto status = parse(app, std::move(args))) return *status;
  if (options.prefix.empty()) {
    std::string stem = without_suffix(out.object == "-" ? options.model : out.object);
    options.prefix = stem.substr(stem.rfind('/') + 1);
  }

  Diagnostics diagnostics;
  Compiler compiler(options, diagnostics);
  auto module = compiler.optimize();
  auto planned = module ? compiler.plan(*module) : std::nullopt;
  if (planned) write_all(compiler, out, *module, *planned, diagnostics);
  if (options.time_passes) std::cerr << compiler.timings().str();
  return report(diagnostics, reporting);
}

}  // namespace dlcc::driver
