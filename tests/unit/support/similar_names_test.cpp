// Suggestions for misspelled names.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/similar_names.h"

using namespace dlcc;

TEST_CASE("the edit distance counts insertions, deletions, replacements and exchanged neighbours") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("isnpect", "inspect") == 1);  // neighbours exchanged
  CHECK(edit_distance("ca", "abc") == 3);           // no letter is edited twice
}

TEST_CASE("the nearest name is suggested up to a limit of edits") {
  const std::vector<std::string> operators = {"Add", "And", "Conv", "ConvTranspose", "GlobalAveragePool", "Relu"};
  CHECK(nearest_name("Cnov", operators) == "Conv");
  CHECK(nearest_name("RELU", operators) == "Relu");
  CHECK(nearest_name("GlobalAvgPool", operators) == "GlobalAveragePool");
  CHECK(nearest_name("Softmax", operators) == std::nullopt);
  CHECK(nearest_name("", operators) == std::nullopt);
  CHECK(nearest_name("Conv", {}) == std::nullopt);
  CHECK(did_you_mean("Convv", operators) == "did you mean 'Conv'?");
  CHECK(did_you_mean("Softmax", operators).empty());
}

TEST_CASE("the case of letters decides between equally near names") {
  const std::vector<std::string> names = {"x", "X", "weights"};
  CHECK(nearest_name("X", names) == "X");
  CHECK(nearest_name("x", names) == "x");
  CHECK(nearest_name("y", names) == std::nullopt);
}

TEST_CASE("a name is also compared without its prefix before the dot, and as a beginning") {
  const std::vector<std::string> operators = {"concatenate",         "erf",    "nn.batch_norm", "nn.conv2d",
                                              "nn.conv2d_transpose", "nn.relu"};
  CHECK(nearest_name("relu", operators) == "nn.relu");
  CHECK(nearest_name("rleu", operators) == "nn.relu");
  CHECK(nearest_name("batchnorm", operators) == "nn.batch_norm");
  CHECK(nearest_name("concat", operators) == "concatenate");
  CHECK(nearest_name("CONV", operators) == "nn.conv2d");  // the shorter of two
  CHECK(nearest_name("co", operators) == std::nullopt);
}
