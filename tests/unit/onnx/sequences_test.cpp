// Sequences and optionals: the tensors into which they are translated, and the lengths that must be known at compile
// time.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1, i64 = 7, boolean = 9;

const Constant x = floats({2}, {1, 2}), z = floats({2}, {5, 7});

// An input or output that is a sequence of tensors; `wrap` is "optional" for an optional of it.
std::string sequence(const std::string& field, const std::string& name, const std::string& tensor,
                     bool optional = false) {
  const std::string type = "sequence_type { elem_type { tensor_type { " + tensor + " } } }";
  return fmt::format("{} {{ name: '{}' type {{ {} }} }} ", field, name,
                     optional ? "optional_type { elem_type { " + type + " } }" : type);
}
std::string optional(const std::string& field, const std::string& name, const std::string& tensor) {
  return fmt::format("{} {{ name: '{}' type {{ optional_type {{ elem_type {{ tensor_type {{ {} }} }} }} }} }} ", field,
                     name, tensor);
}
const std::string vector_of_two = "elem_type: 1 shape { dim { dim_value: 2 } }",
                  vector_of_n = "elem_type: 1 shape { dim { dim_param: 'n' } }", without_shape = "elem_type: 1";

std::string scalar(const std::string& name, int64_t v) {
  return fmt::format("initializer {{ name: '{}' data_type: 7 int64_data: {} }} ", name, v);
}
const std::string two_inputs = value("input", "x", f32, {"2"}) + value("input", "z", f32, {"2"});
const std::string pair_of_both = two_inputs + node("SequenceConstruct", {"x", "z"}, {"s"});

ImportOptions with_form(const std::string& name, const std::string& form) {
  ImportOptions options;
  const InputForm absent = AbsentInput{};
  if (form == "none") options.inputs[name] = absent;
  if (form == "one") options.inputs[name] = SequenceInput{{std::nullopt}};
  if (form == "two") options.inputs[name] = SequenceInput{{std::nullopt, std::nullopt}};
  if (form == "shapes") options.inputs[name] = SequenceInput{{{{2}}, {{3}}}};
  if (form == "3") options.inputs[name] = FixedInput{Constant::of<int64_t>(dtype::i64, {}, {3})};
  return options;
}

bool says(const std::string& graph, const char* message, const ImportOptions& options = {}) {
  const std::string text = imported(graph_bytes(graph, 18), options);
  CAPTURE(text);
  return text.find(message) != std::string::npos;
}

}  // namespace

TEST_CASE("a sequence is imported as the tensors that are read from it") {
  CHECK(body(graph_bytes(pair_of_both + scalar("last", -1) + node("SequenceAt", {"s", "last"}, {"y"}) +
                         "output { name: 'y' } ")) == "  %z\n");
  const std::string inserted =
      pair_of_both + scalar("first", 0) + node("SequenceInsert", {"s", "z", "first"}, {"t"}) +
      node("SequenceErase", {"t", "last"}, {"u"}) + scalar("last", -1) + node("SequenceLength", {"u"}, {"n"}) +
      node("ConcatFromSequence", {"u"}, {"y"}, integer("axis", 0)) + "output { name: 'y' } output { name: 'n' } ";
  CHECK(evaluated(graph_bytes(inserted), {x, z}) == "(4): 5 7 1 2\n(): 2");
  const std::string empty = two_inputs + node("SequenceEmpty", {}, {"e"}) + node("SequenceInsert", {"e", "x"}, {"t"}) +
                            node("SequenceInsert", {"t", "z"}, {"u"}) +
                            node("ConcatFromSequence", {"u"}, {"y"}, integer("axis", -1) + integer("new_axis", 1)) +
                            "output { name: 'y' } ";
  CHECK(evaluated(graph_bytes(empty), {x, z}) == "(2, 2): 1 5 2 7");
}

TEST_CASE("a position that is known only at run time selects among tensors of equal shapes") {
  const std::string graph =
      pair_of_both + value("input", "at", i64, {}) + node("SequenceAt", {"s", "at"}, {"y"}) + "output { name: 'y' } ";
  CHECK(evaluated(graph_bytes(graph), {x, z, integers({}, {1})}) == "(2): 5 7");
  CHECK(evaluated(graph_bytes(graph), {x, z, integers({}, {-2})}) == "(2): 1 2");
  CHECK(evaluated(graph_bytes(graph), {x, z, integers({}, {2})}).starts_with("status"));
  const std::string unequal = value("input", "x", f32, {"2"}) + value("input", "z", f32, {"3"}) +
                              value("input", "at", i64, {}) + node("SequenceConstruct", {"x", "z"}, {"s"}) +
                              node("SequenceAt", {"s", "at"}, {"y"}) + "output { name: 'y' } ";
  CHECK(says(unequal, "the tensors of the sequence have different shapes"));
}

TEST_CASE("a tensor splits into a sequence of known length") {
  const std::string input = value("input", "x", f32, {"5"}),
                    last = scalar("last", -1) + node("SequenceAt", {"s", "last"}, {"y"}) +
                           node("SequenceLength", {"s"}, {"n"}) + "output { name: 'y' } output { name: 'n' } ";
  const Constant five = floats({5}, {1, 2, 3, 4, 5});
  CHECK(evaluated(graph_bytes(input + node("SplitToSequence", {"x"}, {"s"}, integer("keepdims", 0)) + last), {five}) ==
        "(): 5\n(): 5");
  CHECK(evaluated(graph_bytes(input + scalar("two", 2) +
                              node("SplitToSequence", {"x", "two"}, {"s"}, integer("keepdims", 0)) + last),
                  {five}) == "(1): 5\n(): 3");
  CHECK(evaluated(graph_bytes(input + list("sizes", {1, 4}) + node("SplitToSequence", {"x", "sizes"}, {"s"}) + last),
                  {five}) == "(4): 2 3 4 5\n(): 2");
  CHECK(says(input + list("sizes", {1, 3}) + node("SplitToSequence", {"x", "sizes"}, {"s"}) + last,
             "the sizes [1, 3] do not add up to 5"));
  const std::string symbolic = value("input", "x", f32, {"n"}) + node("SplitToSequence", {"x"}, {"s"}) + last;
  CHECK(says(symbolic, "the axis has n elements, which decides the number of tensors"));
  const std::string at_run_time =
      input + value("input", "two", i64, {}) + node("SplitToSequence", {"x", "two"}, {"s"}) + last;
  CHECK(says(at_run_time, "make it a constant; for an input of the model: --input NAME=value:2"));
  CHECK(evaluated(graph_bytes(at_run_time), {five}, with_form("two", "3")) == "(2): 4 5\n(): 2");
}

TEST_CASE("SequenceMap is its body for each tensor of the sequence") {
  const std::string twice = value("input", "a", f32, {"2"}) + value("input", "b", f32, {"2"}) +
                            node("Add", {"a", "b"}, {"c"}) + value("output", "c", f32, {"2"});
  const std::string graph = pair_of_both + node("SequenceMap", {"s", "x"}, {"t"}, subgraph("body", twice)) +
                            node("ConcatFromSequence", {"t"}, {"y"}, integer("axis", 0)) + "output { name: 'y' } ";
  CHECK(evaluated(graph_bytes(graph, 17), {x, z}) == "(4): 2 4 6 9");
}

TEST_CASE("a loop that carries a sequence is unrolled") {
  const std::string body = value("input", "i", i64, {}) + value("input", "go", boolean, {}) +
                           sequence("input", "s", vector_of_two) + node("Identity", {"go"}, {"again"}) +
                           node("Cast", {"i"}, {"f"}, integer("to", f32)) + node("Add", {"x", "f"}, {"each"}) +
                           node("SequenceInsert", {"s", "each"}, {"next"}) + value("output", "again", boolean, {}) +
                           sequence("output", "next", vector_of_two) + value("output", "f", f32, {});
  auto loop = [&](const std::string& count) {
    return value("input", "x", f32, {"2"}) + node("SequenceEmpty", {}, {"e"}) + count +
           node("Loop", {"m", "", "e"}, {"s", "all"}, subgraph("body", body)) +
           node("ConcatFromSequence", {"s"}, {"y"}, integer("axis", 0)) +
           "output { name: 'y' } output { name: 'all' } ";
  };
  CHECK(evaluated(graph_bytes(loop(scalar("m", 3))), {x}) == "(6): 1 2 2 3 3 4\n(3): 0 1 2");
  CHECK(says(loop(value("input", "m", i64, {})), "the trip count M is known only when the program runs"));
  CHECK(says(loop(value("input", "m", i64, {})), "for an input of the model: --input NAME=value:3"));
  const std::string of_size = value("input", "rows", f32, {"k"}) + node("Shape", {"rows"}, {"m"});
  CHECK(says(loop(of_size), "help: it depends on a size: --dim k=N"));
  CHECK(evaluated(graph_bytes(loop(value("input", "m", i64, {}))), {x}, with_form("m", "3")) ==
        "(6): 1 2 2 3 3 4\n(3): 0 1 2");
  CHECK(says(loop(scalar("m", 0)), "the loop has no iteration"));
  CHECK(says(loop(scalar("m", INT64_MAX)), "3162 iterations of 4 nodes are too many to compile one by one"));
}

TEST_CASE("a loop of known length that reads tensors of several shapes from a sequence is unrolled") {
  const std::string body = value("input", "i", i64, {}) + value("input", "c", 9, {}) + value("input", "sum", f32, {}) +
                           node("SequenceAt", {"s", "i"}, {"part"}) +
                           node("ReduceSum", {"part"}, {"total"}, integer("keepdims", 0)) +
                           node("Add", {"sum", "total"}, {"next"}) + node("Identity", {"c"}, {"again"}) +
                           value("output", "again", 9, {}) + value("output", "next", f32, {});
  const std::string graph = value("input", "x", f32, {"2"}) + value("input", "w", f32, {"3"}) +
                            "initializer { name: 'm' data_type: 7 int64_data: 2 } "
                            "initializer { name: 'zero' data_type: 1 float_data: 0 } " +
                            node("SequenceConstruct", {"x", "w"}, {"s"}) +
                            node("Loop", {"m", "", "zero"}, {"y"}, subgraph("body", body)) + "output { name: 'y' } ";
  const std::vector<Constant> two = {floats({2}, {1, 2}), floats({3}, {10, 20, 30})};
  CHECK(evaluated(graph_bytes(graph), two) == "(): 63");
  // The position is known without that.
  std::string first = graph;
  first.replace(first.find("input: 'i' output: 'part'"), 10, "input: 'zeroth'");
  first += "initializer { name: 'zeroth' data_type: 7 int64_data: 0 } ";
  CHECK(evaluated(graph_bytes(first), two) == "(): 6");
  CHECK(imported(graph_bytes(first)).find("%loop") != std::string::npos);
}

TEST_CASE("such a loop is also unrolled if a branch reads the tensors") {
  const std::string read = node("SequenceAt", {"s", "i"}, {"part"}) +
                           node("ReduceSum", {"part"}, {"total"}, integer("keepdims", 0)) +
                           value("output", "total", f32, {});
  const std::string skip = node("Neg", {"sum"}, {"less"}) + value("output", "less", f32, {});
  const std::string body =
      value("input", "i", i64, {}) + value("input", "c", 9, {}) + value("input", "sum", f32, {}) +
      node("If", {"flag"}, {"more"}, subgraph("then_branch", read) + subgraph("else_branch", skip)) +
      node("Add", {"sum", "more"}, {"next"}) + node("Identity", {"c"}, {"again"}) + value("output", "again", 9, {}) +
      value("output", "next", f32, {});
  const std::string graph = value("input", "x", f32, {"2"}) + value("input", "w", f32, {"3"}) +
                            value("input", "flag", 9, {}) +
                            "initializer { name: 'm' data_type: 7 int64_data: 2 } "
                            "initializer { name: 'one' data_type: 1 float_data: 1 } " +
                            node("SequenceConstruct", {"x", "w"}, {"s"}) +
                            node("Loop", {"m", "", "one"}, {"y"}, subgraph("body", body)) + "output { name: 'y' } ";
  const Constant x = floats({2}, {1, 2}), w = floats({3}, {10, 20, 30});
  CHECK(evaluated(graph_bytes(graph), {x, w, truth(true)}) == "(): 64");
  CHECK(evaluated(graph_bytes(graph), {x, w, truth(false)}) == "(): 0");
}

TEST_CASE("branches may return sequences of equal length") {
  auto branch = [](const std::vector<std::string>& tensors) {
    return node("SequenceConstruct", tensors, {"r"}) + sequence("output", "r", vector_of_two);
  };
  auto graph = [&](const std::vector<std::string>& otherwise) {
    return two_inputs + value("input", "c", boolean, {}) +
           node("If", {"c"}, {"s"},
                subgraph("then_branch", branch({"x", "z"})) + subgraph("else_branch", branch(otherwise))) +
           node("ConcatFromSequence", {"s"}, {"y"}, integer("axis", 0)) + "output { name: 'y' } ";
  };
  CHECK(evaluated(graph_bytes(graph({"z", "z"})), {x, z, truth(true)}) == "(4): 1 2 5 7");
  CHECK(evaluated(graph_bytes(graph({"z", "z"})), {x, z, truth(false)}) == "(4): 5 7 5 7");
  CHECK(
      says(graph({"z"}), "result 0 is a sequence of 2 tensors in one branch and a sequence of 1 tensor in the other"));
  ImportOptions options = with_form("c", "3");
  CHECK(evaluated(graph_bytes(graph({"z"})), {x, z}, options) == "(4): 1 2 5 7");
}

TEST_CASE("the presence of an optional is known at compile time") {
  const std::string graph =
      optional("input", "o", vector_of_two) + value("input", "x", f32, {"2"}) +
      node("OptionalHasElement", {"o"}, {"has"}) +
      node("If", {"has"}, {"y"},
           subgraph("then_branch", node("OptionalGetElement", {"o"}, {"g"}) + value("output", "g", f32, {"2"})) +
               subgraph("else_branch", node("Neg", {"x"}, {"g"}) + value("output", "g", f32, {"2"}))) +
      "output { name: 'y' } ";
  CHECK(evaluated(graph_bytes(graph, 18), {z, x}) == "(2): 5 7");
  const Constant nothing = floats({0}, {});
  CHECK(evaluated(graph_bytes(graph, 18), {nothing, x}, with_form("o", "none")) == "(2): -1 -2");
  const std::string named =
      optional("input", "o", vector_of_n) + node("OptionalGetElement", {"o"}, {"y"}) + "output { name: 'y' } ";
  ImportOptions present;
  present.inputs["o"] = ShapedInput{{7}};
  CHECK(says(named, "%o: Tensor[(n), float32]", present));
  const std::string absent =
      optional("input", "o", vector_of_two) + node("OptionalGetElement", {"o"}, {"y"}) + "output { name: 'y' } ";
  CHECK(says(absent, "the optional is absent", with_form("o", "none")));
  const std::string made = value("input", "x", f32, {"2"}) + node("Optional", {"x"}, {"o"}) +
                           node("OptionalGetElement", {"o"}, {"y"}) + "output { name: 'y' } ";
  CHECK(body(graph_bytes(made, 18)) == "  %x\n");
}

TEST_CASE("a sequence input or output becomes one tensor for each element") {
  const std::string graph =
      sequence("input", "s", vector_of_n) + node("Identity", {"s"}, {"t"}) + sequence("output", "t", vector_of_n);
  const std::string text = imported(graph_bytes(graph, 18), with_form("s", "two"));
  CAPTURE(text);
  CHECK(text.find("%s_0_: Tensor[(n_0), float32], %s_1_: Tensor[(n_1), float32]") != std::string::npos);
  CHECK(text.find(R"(output_names=["t[0]", "t[1]"])") != std::string::npos);
  CHECK(
      says(graph,
           "the number of tensors of the sequence must be known at compile time\n    help: give it: --input s=seq:3"));
  Arguments arguments;
  ImportOptions options = with_form("s", "two");
  options.arguments = &arguments;
  imported(graph_bytes(graph, 18), options);
  REQUIRE(arguments.inputs.size() == 1);
  CHECK(arguments.inputs[0].tensors == 2);
  CHECK(arguments.outputs.at(0).kind == ArgumentKind::sequence);
}

TEST_CASE("the tensors of a sequence have the declared shapes, else those of --input") {
  const std::string graph =
      sequence("input", "s", without_shape) + node("Identity", {"s"}, {"t"}) + sequence("output", "t", without_shape);
  CHECK(says(graph, "%s_0_: Tensor[(2), float32], %s_1_: Tensor[(3), float32]", with_form("s", "shapes")));
  CHECK(says(graph, "--input 's=seq:[2,3],[4,3]'", with_form("s", "two")));
  ImportOptions options = with_form("s", "one");
  options.dims["n"] = SizeRange(4);
  const std::string named =
      sequence("input", "s", vector_of_n) + node("Identity", {"s"}, {"t"}) + sequence("output", "t", vector_of_n);
  CHECK(says(named, "%s_0_: Tensor[(4), float32]", options));
}

TEST_CASE("an input tensor has the declared shape, else that of --input") {
  const std::string unshaped = "input { name: 'x' type { tensor_type { elem_type: 1 } } } " +
                               node("Neg", {"x"}, {"y"}) + "output { name: 'y' } ";
  ImportOptions options;
  options.inputs["x"] = ShapedInput{{2, 3}};
  CHECK(says(unshaped, "%x: Tensor[(2, 3), float32]", options));
  const std::string shaped = value("input", "x", f32, {"2"}) + node("Neg", {"x"}, {"y"}) + "output { name: 'y' } ";
  CHECK(says(shaped, "the model declares it as float32 [2]; export the model with another shape", options));
  const std::string named = value("input", "x", f32, {"n"}) + node("Neg", {"x"}, {"y"}) + "output { name: 'y' } ";
  options.inputs["x"] = ShapedInput{{4}};
  CHECK(says(named, "the model declares it as float32 [n]: give the sizes by name: --dim n=4", options));
  ImportOptions asking;  // the form comes from data
  asking.find_input_form = [](const UnknownInput& input) -> std::optional<InputForm> {
    CHECK(!input.needs_value);
    return ShapedInput{{4}};
  };
  CHECK(says(unshaped, "%x: Tensor[(4), float32]", asking));
  CHECK(says(shaped, "%x: Tensor[(2), float32]", asking));
}

TEST_CASE("an optional sequence is absent; --input that fits no input is an error") {
  const std::string graph =
      sequence("input", "s", vector_of_two, true) + node("OptionalHasElement", {"s"}, {"y"}) + "output { name: 'y' } ";
  CHECK(says(graph, ") -> bool {\n  False\n}", with_form("s", "none")));
  CHECK(says(graph, "%s_0_: Tensor[(2), float32]", with_form("s", "one")));
  const std::string tensor = value("input", "x", f32, {"2"}) + node("Neg", {"x"}, {"y"}) + "output { name: 'y' } ";
  CHECK(says(tensor, "--input does not fit this input", with_form("x", "none")));
  CHECK(says(tensor, "only integers and bools can have a value at compile time", with_form("x", "3")));
  CHECK(says(tensor, "--input w: the model has no input of this name", with_form("w", "none")));
}

TEST_CASE("operators on tensors refuse sequences, operators on sequences refuse tensors") {
  CHECK(says(pair_of_both + node("Neg", {"s"}, {"y"}) + "output { name: 'y' } ",
             "X must be a tensor of numbers, found a sequence of 2 tensors"));
  CHECK(says(pair_of_both + node("SequenceLength", {"x"}, {"y"}) + "output { name: 'y' } ",
             "input_sequence must be a sequence, found float32 [2]"));
  CHECK(says(two_inputs + scalar("i", 1) + node("SequenceConstruct", {"x", "i"}, {"s"}) +
                 node("SequenceLength", {"s"}, {"y"}) + "output { name: 'y' } ",
             "the tensors must have one element type"));
  CHECK(says(pair_of_both + scalar("three", 3) + node("SequenceAt", {"s", "three"}, {"y"}) + "output { name: 'y' } ",
             "position 3 is outside of the sequence, which has 2 tensors"));
}

}  // namespace dlcc::frontends::onnx
