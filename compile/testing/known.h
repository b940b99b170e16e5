// Known networks as modules.
#pragma once

#include <functional>
#include <string>

#include "graph/passes/testing/models.h"
#include "torch/torch.h"

namespace torch::compiler::testing {

// A known network, its weights as buffers.
struct KnownImpl : nn::Module {
  explicit KnownImpl(
      const std::function<torch::graph::testing::Model(const torch::graph::testing::MakeWeight&)>& make) {
    model = make([&](IntArrayRef sizes, double scale, double offset) {
      return register_buffer("weight" + std::to_string(count++),
                             torch::graph::testing::normal_weight(sizes, scale, offset));
    });
  }
  Tensor forward(const Tensor& x) { return model(x); }
  int count = 0;
  torch::graph::testing::Model model;
};
TORCH_MODULE(Known);

}  // namespace torch::compiler::testing
