// Random first-order Relay programs as text, for tests that compare the engines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shape/dim.h"
#include "support/constant.h"

namespace dlcc::random_program {

using Sizes = std::vector<int64_t>;

// The sizes for which programs are made; they run at other ones, too.
const std::map<std::string, int64_t> typical = {{"n", 7}, {"m", 4}};

// The numbers of a shape. Data-dependent sizes are taken to be 6.
Sizes at_sizes(const Shape& shape, std::map<std::string, int64_t> sizes);

// A tensor variable of the text.
struct Value {
  std::string name;
  DType type;
  Shape dims;
  bool exact;  // every engine computes the same bits, so comparisons and conversions to integers agree
  Sizes shape = at_sizes(dims, typical);
};

struct Statement {
  std::string name, operation;
};

// A program as text, from which unused statements can be left out.
struct Program {
  std::vector<std::string> functions;  // definitions of global functions
  std::vector<Value> inputs;
  std::vector<Statement> statements;  // of @main
  std::vector<Value> values;          // that the statements bind
  std::vector<Constant> constants;

  // The program that computes `outputs`, without the statements that they do not need.
  std::string text(const std::vector<std::string>& outputs) const;
};

// A program of up to 14 operations, some of whose inputs have the sizes n and m if it is `symbolic`. The same seed
// gives the same program.
Program make_program(unsigned seed, bool symbolic);

}  // namespace dlcc::random_program
