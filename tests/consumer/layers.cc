#include <cstdio>

#include "aten/aten.h"
#include "nn/nn.h"

int main() {
  torch::nn::Linear layer(4, 2);
  const at::Tensor out = layer->forward(at::ones({3, 4}));
  at::sum(out).backward();
  // d sum / d bias counts the rows.
  const at::Tensor grad = layer->bias.grad();
  if (!grad.defined() || at::item(at::sum(grad)).toDouble() != 6) return 1;
  std::puts("layers: ok");
}
