// Calls one operator in a region of autocast, so that the symbols in the program show what that brings along.
#include "aten/autocast/autocast.h"
#include "aten/core/empty.h"
#include "aten/ops/matmul/ops.h"

int main() {
  const at::Tensor t = at::empty_contiguous({2, 2}, at::kFloat);
  for (int i = 0; i < 4; ++i) t.data_ptr<float>()[i] = 2;
  const torch::autocast region(at::kCPU);
  return at::mm(t, t).scalar_type() == at::kBFloat16 ? 0 : 1;
}
