// Labels and post-transforms of the classifiers and regressors of ai.onnx.ml.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO" or "PROBIT" of the rows of scores. Reports other names. A row of one
// score is changed by PROBIT only, as in onnxruntime.
Value post_transformed(Node&, const Value& scores, const std::string& function);

// The scores of two classes, from the score of the second class, [rows, 1]. The first class has 1 - score for a
// probability, else -score; LOGISTIC applies the logistic function to -score and score.
Value scores_of_two_classes(Node&, const Value& score, const std::string& function, bool probability);

// The labels of a classifier.
struct ClassLabels {
  size_t count = 0;
  std::optional<Constant> numbers;  // empty: strings
};
// From attributes classlabels_ints, or as `integers` names it, and classlabels_strings.
ClassLabels class_labels(Node&, const char* integers, const char* strings = "classlabels_strings");

// The labels at positions. Reports an error if the labels are strings and the model uses them.
Value labels_at(Node&, const ClassLabels&, const Value& positions);

// The first of the largest elements of each row, as an index.
Value best_of_row(Node&, const Value& scores);

// The input as float64 if it is, else as float32. Reports inputs that are no [rows, features] or [features].
Value rows_of_features(Node&, int input, bool keeps_float64);

// Whether the input has this number of features, the size of its last axis; a run checks a size that is not known.
bool require_features(Node&, int input, int64_t features);

// A constant of a float type and rank 1, or of another shape with as many elements.
Value real_list(DType, const std::vector<float>& values);
Value real_table(DType, const std::vector<float>& values, int64_t rows, int64_t columns);

}  // namespace dlcc::frontends::onnx
