// TfIdfVectorizer: which n-grams of integers are counted. Expected values are onnxruntime's.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int i64 = 7;

const std::string weights = "attribute { name: 'weights' type: FLOATS floats: [1, 2, 3, 4, 5, 6, 7] } ";

std::string vectorizer(const std::string& mode, int64_t shortest, int64_t longest, int64_t skipped) {
  return text("mode", mode) + integer("min_gram_length", shortest) + integer("max_gram_length", longest) +
         integer("max_skip_count", skipped);
}
const std::string pool = ints("ngram_counts", {0, 4}) + ints("ngram_indexes", {6, 0, 2, 1, 3, 4, 5}) +
                         ints("pool_int64s", {2, 3, 5, 4, 5, 6, 7, 8, 6, 7});

std::string counted(const std::string& attributes, const std::vector<std::string>& shape, const Constant& x) {
  const std::string graph =
      value("input", "x", i64, shape) + node("TfIdfVectorizer", {"x"}, {"y"}, attributes) + "output { name: 'y' } ";
  return evaluated(graph_bytes(graph), {x});
}

}  // namespace

TEST_CASE("TfIdfVectorizer counts n-grams with skipped elements") {
  const Constant row = integers({9}, {1, 1, 3, 3, 3, 7, 8, 6, 7});
  CHECK(counted(vectorizer("TF", 1, 2, 1) + pool, {"9"}, row) == "(7): 3 0 0 0 1 1 0");
  CHECK(counted(vectorizer("IDF", 1, 2, 1) + pool + weights, {"9"}, row) == "(7): 2 0 0 0 6 7 0");
  CHECK(counted(vectorizer("TFIDF", 1, 2, 1) + pool + weights, {"9"}, row) == "(7): 6 0 0 0 6 7 0");
  CHECK(counted(vectorizer("TF", 2, 2, 0) + pool, {"9"}, row) == "(7): 0 0 0 0 1 1 0");
  const std::string longer =
      ints("ngram_counts", {0, 1, 3}) + ints("ngram_indexes", {0, 1, 2}) + ints("pool_int64s", {1, 1, 2, 1, 2, 3});
  CHECK(counted(vectorizer("TF", 2, 3, 5) + longer, {"n", "2"}, integers({2, 2}, {1, 2, 2, 1})) ==
        "(2, 3): 0 1 0 0 0 0");
}

TEST_CASE("TfIdfVectorizer of a batch; columns without an n-gram are 0") {
  const std::string pairs =
      ints("ngram_counts", {0, 1}) + ints("ngram_indexes", {0, 5}) + ints("pool_int64s", {3, 7, 7});
  CHECK(counted(vectorizer("TF", 1, 2, 5) + pairs, {"n", "3"}, integers({2, 3}, {3, 3, 7, 7, 3, 7})) ==
        "(2, 6): 2 0 0 0 0 0 1 0 0 0 0 1");
  CHECK(counted(vectorizer("TF", 1, 2, 5) + pairs, {"n", "1"}, integers({1, 1}, {3})) == "(1, 6): 1 0 0 0 0 0");
}

TEST_CASE("TfIdfVectorizer adds the n-grams of a column") {
  const std::string pairs =
      ints("ngram_counts", {0, 1}) + ints("ngram_indexes", {1, 1}) + ints("pool_int64s", {3, 7, 7});
  const Constant rows = integers({2, 3}, {3, 7, 7, 7, 7, 7});
  CHECK(counted(vectorizer("TF", 1, 2, 0) + pairs, {"n", "3"}, rows) == "(2, 2): 0 2 0 2");
  CHECK(counted(vectorizer("TFIDF", 1, 2, 0) + pairs + "attribute { name: 'weights' type: FLOATS floats: [10, 1] } ",
                {"n", "3"}, rows) == "(2, 2): 0 11 0 2");
}

TEST_CASE("invalid n-gram pools are refused") {
  const Constant one = integers({1}, {0});
  auto says = [&](const std::string& attributes, const char* message) {
    return counted(attributes, {"1"}, one).find(message) != std::string::npos;
  };
  CHECK(says(vectorizer("TF", 1, 1, 0) + "attribute { name: 'pool_strings' type: STRINGS strings: 'a' } ",
             "number the words before the model"));
  CHECK(says(vectorizer("BM25", 1, 1, 0) + pool, "it must be TF, IDF or TFIDF"));
  CHECK(says(vectorizer("TF", 1, 1, 0) + ints("ngram_counts", {0}) + ints("ngram_indexes", {INT32_MAX}) +
                 ints("pool_int64s", {1}),
             "error[too-large]: attribute 'ngram_indexes' has column 2147483647"));
}

}  // namespace dlcc::frontends::onnx
