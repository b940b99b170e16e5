// Queues a product that has been described.
#pragma once

#include "tests/cuda_on_host/blas/product.h"

namespace cublas_standin {

struct Execution {
  bool in_result_type = false;  // as compute() takes it
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

// Whether C counts: factors on the device are not looked at.
bool reads_c(const Problem& problem, const Pointers& pointers);

// Looks at sizes, types and memory, reports what is wrong with them as misuse of `call`, and puts the product on the
// stream.
cublasStatus_t execute(const char* call, const Problem& problem, const Pointers& pointers, const Execution& how,
                       cudaStream_t stream);

}  // namespace cublas_standin
