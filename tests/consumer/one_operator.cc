#include <cstdio>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"

int main() {
  const at::Tensor sum = at::add(at::ones({2, 3}), at::full({3}, 1.5));
  if (sum.numel() != 6) return 1;
  for (int i = 0; i < 6; ++i) {
    if (sum.data_ptr<float>()[i] != 2.5f) return 1;
  }
  std::puts("one_operator: ok");
}
