// The C names of models with symbolic sizes.
#include "pipeline/describe_interface.h"

#include <doctest/doctest.h>

#include "frontends/frontend.h"

using namespace dlcc;

namespace {

// The identifiers of the sizes, the inputs and the outputs.
std::string identifiers(const std::string& text) {
  Diagnostics diagnostics;
  auto module = frontends::import_relay(text, {}, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str());
  const emit::Interface i = describe_tensors(*module);
  std::string result = i.is_dynamic() ? "dynamic:" : "static:";
  for (const emit::DimInterface& d : i.dims) result += " " + d.identifier;
  for (const emit::TensorInterface& t : i.inputs) result += " " + t.identifier;
  for (const emit::TensorInterface& t : i.outputs) result += " " + t.identifier;
  return result;
}

}  // namespace

TEST_CASE("names of struct members and of size macros are unique") {
  CHECK(identifiers("def @main(%dims: Tensor[(n, N), float32], %shapes: Tensor[(n_2, int), float32], "
                    "output_names=[\"shapes\", \"dims\"]) { (%dims, %shapes) }") ==
        "dynamic: n N_2 n_2_2 int_ dims_2 shapes shapes_2 dims");
  CHECK(identifiers("def @main(%dims: Tensor[(2), float32], output_names=[\"shapes\"]) { %dims }") ==
        "static: dims shapes");
}

TEST_CASE("sizes are listed in order of appearance") {
  Diagnostics diagnostics;
  auto module = frontends::import_relay(
      "def @main(%x: (Tensor[(m, k), float32], Tensor[(2 * k, n), float32])) { %x.1 }", {}, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str());
  const emit::Interface i = describe_tensors(*module);
  REQUIRE(i.dims.size() == 3);
  CHECK(i.dims[0].name == "m");
  CHECK(i.dims[1].name == "k");
  CHECK(i.dims[2].name == "n");
  CHECK(i.dims[2].low() == 1);
  CHECK(!i.dims[2].is_bounded());
  CHECK(str(i.inputs[1].shape) == "(2 * k, n)");
}
