#include "data/transforms/transforms.h"

#include <gtest/gtest.h>

#include <vector>

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "data/dataloader/dataloader.h"
#include "data/datasets/tensor.h"

namespace torch::data {
namespace {

at::Tensor filled(at::IntArrayRef sizes, float value) { return at::full(sizes, value, at::TensorOptions().dtype(at::kFloat)); }

std::vector<float> values(const at::Tensor& t) {
  const at::Tensor c = at::contiguous(t);
  return std::vector<float>(c.data_ptr<float>(), c.data_ptr<float>() + c.numel());
}

TEST(Stack, MakesABatch) {
  transforms::Stack<> stack;
  Example<> batch = stack.apply_batch({{filled({2}, 1), filled({}, 5)}, {filled({2}, 2), filled({}, 6)}, {filled({2}, 3), filled({}, 7)}});
  EXPECT_EQ(batch.data.sizes(), (at::IntArrayRef{3, 2}));
  EXPECT_EQ(values(batch.data), (std::vector<float>{1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(values(batch.target), (std::vector<float>{5, 6, 7}));
  transforms::Stack<TensorExample> plain;
  TensorExample data = plain.apply_batch({filled({2}, 4), filled({2}, 5)});
  EXPECT_EQ(values(data), (std::vector<float>{4, 4, 5, 5}));
}

TEST(Normalize, IsChannelwise) {
  transforms::Normalize<> normalize({1.0, 2.0}, {2.0, 4.0});
  Example<> e = normalize.apply({filled({2, 1, 2}, 5), filled({}, 3)});
  EXPECT_EQ(values(e.data), (std::vector<float>{2, 2, 0.75, 0.75}));
  EXPECT_EQ(values(e.target), (std::vector<float>{3}));
  transforms::Normalize<> one(0.5, 0.5);
  EXPECT_EQ(values(one(filled({1, 1, 1}, 1))), (std::vector<float>{1}));
  EXPECT_THROW(transforms::Normalize<>(0.5, 0.0), c10::ValueError);
  EXPECT_THROW(transforms::Normalize<>({}, {1.0}), c10::ValueError);
}

TEST(TensorLambda, ChangesTheData) {
  transforms::TensorLambda<> flatten([](at::Tensor t) { return at::reshape(t, {-1}); });
  EXPECT_EQ(flatten.apply({filled({2, 3}, 1), filled({}, 3)}).data.sizes(), (at::IntArrayRef{6}));
}

TEST(TensorDataset, SlicesItsTensor) {
  at::Tensor t = at::arange(6, at::TensorOptions().dtype(at::kFloat));
  auto dataset = datasets::TensorDataset(at::reshape(t, {3, 2})).map(transforms::Stack<TensorExample>());
  auto loader = make_data_loader<samplers::SequentialSampler>(dataset, DataLoaderOptions(2).workers(2));
  std::vector<std::vector<float>> batches;
  for (TensorExample& batch : *loader) batches.push_back(values(batch));
  EXPECT_EQ(batches, (std::vector<std::vector<float>>{{0, 1, 2, 3}, {4, 5}}));
  EXPECT_THROW(datasets::TensorDataset(t).get(6), c10::IndexError);
  const at::Tensor undefined;
  EXPECT_THROW(datasets::TensorDataset{undefined}, c10::ValueError);
}

}  // namespace
}  // namespace torch::data
