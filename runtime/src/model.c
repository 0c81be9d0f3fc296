/* Finds a model's inputs, outputs and sizes by name. */
#include "dlcc/dlcc.h"

static int is_same_text(const char* a, const char* b) {
  for (; *a && *a == *b; ++a, ++b) {
  }
  return *a == *b;
}

static int32_t find(const dlcc_tensor* tensors, int32_t count, const char* name) {
  int32_t i;
  for (i = 0; i < count; ++i)
    if (is_same_text(tensors[i].name, name)) return i;
  return -1;
}

int32_t dlcc_find_input(const dlcc_model* model, const char* name) {
  return find(model->inputs, model->input_count, name);
}

int32_t dlcc_find_output(const dlcc_model* model, const char* name) {
  return find(model->outputs, model->output_count, name);
}

int32_t dlcc_find_dim(const dlcc_model* model, const char* name) {
  int32_t i;
  for (i = 0; i < model->dim_count; ++i)
    if (is_same_text(model->dims[i].name, name)) return i;
  return -1;
}

int64_t dlcc_element_count(const dlcc_tensor* tensor) {
  int64_t count = 1;
  int32_t d;
  for (d = 0; d < tensor->rank; ++d) {
    if (tensor->shape[d] < 0) return -1;
    count *= tensor->shape[d];
  }
  return count;
}
