// The numbers of a product, by loops.
#pragma once

#include "tests/cuda_on_host/blas/problem.h"

namespace cublas_standin {

struct Pointers {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
  const void *alpha = nullptr, *beta = nullptr;  // one element of the scale type each
};

// Computes all batches. `in_result_type`: each half of a sum is rounded to the type of D before they are added.
void compute(const Problem& problem, const Pointers& pointers, bool in_result_type);

}  // namespace cublas_standin
