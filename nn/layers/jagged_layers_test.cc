// Layers on nested tensors of the jagged layout: what they give for each part, and the gradients of their parameters.
#include <gtest/gtest.h>

#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/nested.h"
#include "nn/layers/layers.h"

namespace torch::nn {
namespace {

TEST(JaggedLayers, WorkOnEachPart) {
  Embedding embedding(11, 8);
  LayerNorm norm(LayerNormOptions({8}));
  Linear up(8, 16), down(16, 8);
  Dropout dropout(0.5);
  dropout->eval();
  const auto forward = [&](const at::Tensor& words) {
    const at::Tensor x = embedding->forward(words);
    return at::add(x, down->forward(dropout->forward(at::gelu(up->forward(norm->forward(x))))));
  };
  const std::vector<at::Tensor> sentences{at::arange(3, at::kLong), at::arange(1, at::kLong),
                                          at::arange(5, 11, at::kLong)};
  const std::vector<at::Tensor> parameters{embedding->weight, norm->weight, up->weight, up->bias, down->weight};
  const at::Tensor all = forward(torch::nested::nested_tensor(sentences, torch::kJagged));
  EXPECT_EQ(all.layout(), torch::kJagged);
  EXPECT_EQ(all.sizes(), at::IntArrayRef({3, -1, 8}));
  const std::vector<at::Tensor> found = autograd::grad({at::sum(at::mul(all, all))}, parameters);
  at::Tensor expected = at::zeros({});
  const std::vector<at::Tensor> parts = at::unbind(all);
  for (size_t i = 0; i < sentences.size(); ++i) {
    const at::Tensor one = forward(sentences[i]);
    EXPECT_TRUE(at::allclose(parts[i], one, 1e-4, 1e-5));
    expected = at::add(expected, at::sum(at::mul(one, one)));
  }
  const std::vector<at::Tensor> right = autograd::grad({expected}, parameters);
  for (size_t i = 0; i < right.size(); ++i) EXPECT_TRUE(at::allclose(found[i], right[i], 1e-3, 1e-4)) << i;
}

}  // namespace
}  // namespace torch::nn
