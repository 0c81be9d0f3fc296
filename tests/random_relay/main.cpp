// Random programs of the whole Relay language: random_relay FIRST COUNT [show]
//
// Programs FIRST to FIRST + COUNT - 1 must have types; print(parse(print(m))) == print(m); without the types of local
// functions, they compute the same; each graph pass must keep the types and what the interpreter computes; and after
// monomorphize, compile-matches and convert-closures, in two orders, no closure, type variable or nested pattern may be
// left. A failure is one line with the number of the program and what went wrong; `show` writes the text of each
// program.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>

#include "first_order.h"
#include "frontends/frontend.h"
#include "frontends/relay/parser.h"
#include "program.h"
#include "relay/interpret.h"
#include "relay/passes/passes.h"
#include "relay/structural_equality.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

using namespace dlcc;
using namespace dlcc::relay;

namespace {

struct Failure {
  std::string what;
};

void demand(bool good, const std::string& what) {
  if (!good) throw Failure{what};
}

Module import_text(const std::string& text, const char* when) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  demand(module.has_value(), fmt::format("{}: {}", when, d.str()));
  return std::move(*module);
}

// What @main computes, as text: the instances of a constructor have its name.
std::string outcome(const Module& module) {
  const Value args[] = {tensor_value(Constant::of<int32_t>(dtype::i32, {}, {3})),
                        tensor_value(Constant::of<int32_t>(dtype::i32, {2}, {1, -4}))};
  Diagnostics d;
  auto result = interpret(module, args, tensor::Precision::specified, d);
  if (!result) return d.str().find("no arm of this match fits") != std::string::npos ? "no arm fits" : d.str();
  if (result->status != tensor::Status::ok) return fmt::format("status {}", static_cast<int>(result->status));
  static const std::regex number_of_instance("([A-Za-z])_[0-9]+");
  return std::regex_replace(str(result->value), number_of_instance, "$1");
}

void check_text(const Module& module, const std::string& when) {
  const std::string text = print(module);
  Diagnostics d;
  auto again = frontends::relay_text::parse(text, {}, d);
  demand(again.has_value(), fmt::format("{}: is not read again: {}", when, d.str()));
  const bool has_types = infer_types(*again, d) && verify(*again, d);
  demand(has_types, fmt::format("{}: has no types again: {}", when, d.str()));
  demand(print(*again) == text, fmt::format("{}: prints differently when read again", when));
  demand(structurally_equal(module, *again), fmt::format("{}: is another program when read again", when));
}

void check_types(Module& module, const std::string& when) {
  Diagnostics d;
  const bool has_types = verify(module, d) && infer_types(module, d);
  demand(has_types, fmt::format("{}: {}", when, d.str()));
}

Module run_pass(Module module, const std::string& name) {
  for (const PassInfo& pass : all_passes()) {
    if (pass.name != name) continue;
    Diagnostics d;
    PassContext context{.diagnostics = &d, .channel_block = 16};
    module = pass.run(std::move(module), context);
    demand(!d.has_errors(), fmt::format("{}: {}", name, d.str()));
    return module;
  }
  throw Failure{"no pass " + name};
}

// ---- one program ----------------------------------------------------------------------------------------------------

// Removes the types of local functions that are not generic, and of variables.
void remove_types(Block& block) {
  for (Binding& b : block.bindings) {
    MakeFunction* made = std::get_if<MakeFunction>(&b.op);
    if (made && made->function->type_params.empty()) {
      b.var->type = made->function->result_type = nullptr;
      for (const Var& p : made->function->params) p->type = nullptr;
    }
    for_each_block(b.op, remove_types);
  }
}

// Local functions without types are inferred at each use: the program computes the same. A function that is never
// called may have any type, an error. Returns whether there was none.
bool check_without_types(const std::string& text, const std::string& expected) {
  Module module = import_text(text, "import");
  for (auto& [name, f] : module.functions) remove_types(f.body);
  Diagnostics d;
  if (!infer_types(module, d)) {
    for (const Diagnostic& each : d.list())
      demand(each.id == DiagnosticId::cannot_infer, "without types of functions: " + d.str());
    return false;
  }
  check_types(module, "without types of functions");
  check_text(module, "without types of functions");
  const std::string found = outcome(module);
  demand(found == expected, fmt::format("without types of functions: {} instead of {}", found, expected));
  return true;
}

// Returns whether the types of local functions could be inferred.
bool check_program(const std::string& text) {
  const Module module = import_text(text, "import");
  check_text(module, "import");
  const std::string expected = outcome(module);
  const bool is_inferred = check_without_types(text, expected);
  for (const PassInfo& pass : all_passes()) {
    Module after = import_text(text, "import");
    if (pass.name == "convert-closures") after = run_pass(std::move(after), "monomorphize");  // its precondition
    after = run_pass(std::move(after), pass.name);
    check_types(after, pass.name);
    const std::string found = outcome(after);
    demand(found == expected, fmt::format("after {}: {} instead of {}", pass.name, found, expected));
    check_text(after, pass.name);
  }
  for (const std::vector<std::string>& passes :
       {std::vector<std::string>{"monomorphize", "compile-matches", "convert-closures"},
        {"compile-matches", "monomorphize", "convert-closures", "eliminate-dead-code"}}) {
    Module after = import_text(text, "import");
    for (const std::string& name : passes) after = run_pass(std::move(after), name);
    check_types(after, fmt::format("{}", fmt::join(passes, ",")));
    const std::string left = relay::first_order_violation(after);
    demand(left.empty(), fmt::format("after {}: {}", fmt::join(passes, ","), left));
    const std::string found = outcome(after);
    demand(found == expected, fmt::format("after {}: {} instead of {}", fmt::join(passes, ","), found, expected));
    check_text(after, fmt::format("{}", fmt::join(passes, ",")));
  }
  return is_inferred;
}

int run(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: random_relay FIRST COUNT [show]\n", stderr), 2;
  const unsigned first = static_cast<unsigned>(std::atoi(argv[1])), count = static_cast<unsigned>(std::atoi(argv[2]));
  int failures = 0, inferred = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const std::string text = random_relay::Generator(seed).program();
    if (argc > 3 && !std::strcmp(argv[3], "show")) std::puts(text.c_str());
    try {
      inferred += check_program(text);
    } catch (const Failure& f) {
      ++failures;
      std::printf("program %u: %s\n", seed, f.what.c_str());
    } catch (const std::exception& e) {
      ++failures;
      std::printf("program %u: %s\n", seed, e.what());
    }
    std::fflush(stdout);
  }
  std::printf("%u programs, %d failures; %d inferred without types of local functions\n", count, failures, inferred);
  return failures ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
