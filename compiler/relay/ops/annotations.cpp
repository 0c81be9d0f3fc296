// annotation.*, debug: values that TVM's passes mark. They are the identity on values of every type, which
// simplify-inference removes.
#include "relay/op_support/composition.h"
#include "relay/op_support/gradients.h"

namespace dlcc::relay::ops {

namespace {

// TVM's attributes of annotations, which are kept: the name of a compiler, an element type, ...
struct AnnotationAttrs {
  std::optional<DType> dtype;
  AttrValue compiler, debug_func;
};
using Fields = std::vector<Field<AnnotationAttrs>>;

void add(OperatorTable& table, const char* name, const char* summary, Fields fields = {},
         const char* argument = "data") {
  OperatorSpec<AnnotationAttrs> spec = composed<AnnotationAttrs>(
      {.name = name,
       .summary = summary,
       .attributes = std::move(fields),
       .arguments = {argument},
       .gradient = gradient_of_identity},
      [](const AnnotationAttrs&, Composition& c) {
        const Value x = c.operand(0);
        return c.compute(x.dtype(), x.shape(), {x},
                         [](const std::vector<Tensor>& args, Index i) { return stored(args[0], i); });
      });
  spec.takes_any_value = true;
  table.add(std::move(spec));
}

}  // namespace

void annotations(OperatorTable& table) {
  using A = AnnotationAttrs;
  const Fields compiler = {{"compiler", &A::compiler, "the name of the compiler"}};
  add(table, "annotation.bitpack_start", "x, from which on TVM packs bits");
  add(table, "annotation.bitpack_end", "x, up to which TVM packs bits");
  add(table, "annotation.cast_hint", "x, which a quantizer of TVM casts",
      {{"dtype", &A::dtype, "the element type of the cast"}});
  add(table, "annotation.checkpoint", "x, which TVM computes again for gradients");
  add(table, "annotation.compiler_begin", "x, the input of a part for another compiler", compiler);
  add(table, "annotation.compiler_end", "x, the result of a part for another compiler", compiler);
  add(table, "annotation.stop_fusion", "x, which TVM does not fuse with its readers");
  add(table, "annotation.with_funcid", "a function, which TVM's partial evaluator has numbered", {}, "func");
  add(table, "debug", "x, on which TVM's debugger calls a function",
      {{"debug_func", &A::debug_func, "an object of the metadata section"}}, "program");
}

}  // namespace dlcc::relay::ops
