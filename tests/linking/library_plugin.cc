// A shared library that brings operators and kernels along, for library_unload_test.
#include "aten/core/library.h"
#include "aten/ops/binary/ops.h"

TORCH_LIBRARY(plugin, m) {
  m.def("twice", [](const at::Tensor& x) { return at::add(x, x); });
}

TORCH_LIBRARY_IMPL(host, CPU, m) {
  m.impl("answer", [](const at::Tensor&) { return int64_t{42}; });
}

TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("mul.Tensor", [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); });
}
