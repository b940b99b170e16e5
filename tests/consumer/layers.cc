#include <cstdio>

#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "nn/layers/linear.h"

int main() {
  torch::nn::Linear layer(4, 2);
  const at::Tensor out = layer->forward(at::ones({3, 4}));
  at::sum(out).backward();
  // d sum / d bias counts the rows.
  const at::Tensor grad = layer->bias.grad();
  if (!grad.defined() || grad.numel() != 2 || grad.data_ptr<float>()[0] != 3 || grad.data_ptr<float>()[1] != 3) return 1;
  std::puts("layers: ok");
}
