// Loops over the lanes of one instruction's registers: dst[l] = op(a[l], ...). A scalar operand has one value for all
// lanes. Internal to the bytecode.
#pragma once

#include "tensor/bytecode.h"
#include "tensor/bytecode_access.h"

namespace dlcc::tensor::bytecode {

template <class T, class R, class F>
void over(Frame& f, const Instruction& i, F op) {
  const T* a = reg<T>(f, i.a);
  R* d = reg<R>(f, i.dst);
  int64_t n = i.vector ? f.lanes : 1;
  if (i.a_scalar) {
    R r = op(*a);
    for (int64_t l = 0; l < n; ++l) d[l] = r;
    return;
  }
#pragma GCC ivdep
  for (int64_t l = 0; l < n; ++l) d[l] = op(a[l]);
}

template <class T, class R, class F>
void over2(Frame& f, const Instruction& i, F op) {
  const T *a = reg<T>(f, i.a), *b = reg<T>(f, i.b);
  R* d = reg<R>(f, i.dst);
  int64_t n = i.vector ? f.lanes : 1;
  if (i.a_scalar) {
    T x = *a;
    int step = i.b_scalar ? 0 : 1;
    if (step) {
#pragma GCC ivdep
      for (int64_t l = 0; l < n; ++l) d[l] = op(x, b[l]);
    } else {
      R r = op(x, *b);
      for (int64_t l = 0; l < n; ++l) d[l] = r;
    }
  } else if (i.b_scalar) {
    T y = *b;
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l], y);
  } else {
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l], b[l]);
  }
}

template <class T, class F>
void over3(Frame& f, const Instruction& i, F op) {
  const T *a = reg<T>(f, i.a), *b = reg<T>(f, i.b), *c = reg<T>(f, i.c);
  T* d = reg<T>(f, i.dst);
  int64_t n = i.vector ? f.lanes : 1;
  if (!i.a_scalar && i.b_scalar && !i.c_scalar) {
    T y = *b;
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l], y, c[l]);
  } else if (i.a_scalar && !i.b_scalar && !i.c_scalar) {
    T x = *a;
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(x, b[l], c[l]);
  } else if (!i.a_scalar && !i.b_scalar && !i.c_scalar) {
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l], b[l], c[l]);
  } else {
    int64_t p = !i.a_scalar, q = !i.b_scalar, r = !i.c_scalar;
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l * p], b[l * q], c[l * r]);
  }
}

}  // namespace dlcc::tensor::bytecode
