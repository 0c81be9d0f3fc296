// Frontends: bytes to a Relay module. The frontend is selected by the bytes, not by the name of the file.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/arguments.h"
#include "relay/ir.h"
#include "shape/size_range.h"
#include "support/diagnostics.h"

namespace dlcc::frontends {

struct ImportOptions {
  std::map<std::string, SizeRange> dims;         // --dim name=range: the values of symbolic dimensions
  std::string file = "<stdin>";                  // the model's file, for messages
  std::string folder;                            // the only folder from which external tensor data is read
  std::set<std::string>* files_read = nullptr;   // if not null, receives the paths of the external data files
  std::map<std::string, InputForm> inputs = {};  // --input name=form: forms of inputs that are no tensors, or are fixed
  FindInputForm find_input_form = {};            // if not null, called for forms that `inputs` lacks
  std::map<std::string, int64_t> bounds = {};    // --bound name=n: upper bounds of data-dependent sizes
  Arguments* arguments = nullptr;                // if not null, receives the tensors of each input and output
};

// The module in A-normal form with inferred types; empty, with diagnostics for all problems, if the model is invalid.
std::optional<relay::Module> import_model(std::span<const std::byte> bytes, const ImportOptions&, Diagnostics&);

// For one format. import_relay also accepts a single expression without header, which becomes @main.
std::optional<relay::Module> import_onnx(std::span<const std::byte> bytes, const ImportOptions&, Diagnostics&);
std::optional<relay::Module> import_relay(std::string_view text, const ImportOptions&, Diagnostics&);

// Whether the model is text, and not a serialized ONNX model.
bool is_text(std::span<const std::byte> bytes);

// Whether the syntax and the names of Relay text are right; reports all that are not. Types are not looked at.
bool check_syntax(std::string_view relay_text, const std::string& file, Diagnostics&);

// Whether the text is an expression of Relay; reports syntax errors.
bool check_expression_syntax(std::string_view relay_text, const std::string& file, Diagnostics&);

// Reports the problems of Relay text that do not depend on objects which its metadata section lacks.
void check_without_metadata(std::string_view relay_text, const ImportOptions&, Diagnostics&);

// An operator of ONNX's default domain that the frontend imports.
struct OnnxOperator {
  std::string name;
  // The operator sets whose definitions differ for the frontend, ascending; the last one applies up to newest_opset.
  std::vector<int64_t> versions;
  std::string inputs;   // of the last one, by the standard's names: "X W B?", "inputs..."
  std::string only_if;  // restrictions on nodes beyond the standard; empty if there are none
};
std::vector<OnnxOperator> onnx_operators();

inline constexpr int64_t newest_opset = 28;  // of ONNX's default domain

}  // namespace dlcc::frontends
