#include "data/transforms/transforms.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/tensor_literal.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "c10/value/ivalue.h"
#include "data/dataloader/dataloader.h"
#include "data/datasets/tensor.h"
#include "data/transforms/default_collate.h"

namespace torch::data {
namespace {

at::Tensor filled(at::IntArrayRef sizes, float value) {
  return at::full(sizes, value, at::TensorOptions().dtype(at::kFloat));
}

std::vector<float> values(const at::Tensor& t) {
  const at::Tensor c = at::contiguous(t);
  return std::vector<float>(c.data_ptr<float>(), c.data_ptr<float>() + c.numel());
}

TEST(Stack, MakesABatch) {
  transforms::Stack<> stack;
  Example<> batch = stack.apply_batch(
      {{filled({2}, 1), filled({}, 5)}, {filled({2}, 2), filled({}, 6)}, {filled({2}, 3), filled({}, 7)}});
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

TEST(DefaultCollate, OfCppTypes) {
  EXPECT_EQ(default_collate(std::vector<int64_t>{1, 2, 3}).scalar_type(), at::kLong);
  EXPECT_EQ(default_collate(std::vector<int>{1, 2, 3}).scalar_type(), at::kInt);
  EXPECT_EQ(default_collate(std::vector<bool>{true, false}).scalar_type(), at::kBool);
  EXPECT_EQ(default_collate(std::vector<double>{1.5, 2.5}).scalar_type(), at::kDouble);
  EXPECT_EQ(default_collate(std::vector<std::string>{"a", "b"}), (std::vector<std::string>{"a", "b"}));
  const auto pair =
      default_collate(std::vector<std::pair<at::Tensor, float>>{{filled({2}, 1), 3.f}, {filled({2}, 0), 4.f}});
  EXPECT_EQ(pair.first.sizes(), (at::IntArrayRef{2, 2}));
  EXPECT_EQ(values(pair.second), (std::vector<float>{3, 4}));
  const auto lists = default_collate(std::vector<std::vector<float>>{{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(values(lists.at(1)), (std::vector<float>{2, 4, 6}));
  EXPECT_THROW(default_collate(std::vector<std::vector<float>>{{1, 2}, {3}}), c10::Error);
  const auto tuple = default_collate(std::vector<std::tuple<bool, std::string>>{{true, "x"}, {false, "y"}});
  EXPECT_EQ(std::get<0>(tuple).scalar_type(), at::kBool);
  EXPECT_EQ(std::get<1>(tuple)[1], "y");
  using Map = std::map<std::string, int64_t>;
  EXPECT_EQ(default_collate(std::vector<Map>{{{"a", 1}}, {{"a", 2}, {"b", 1}}}).at("a").numel(), 2);
  EXPECT_THROW(default_collate(std::vector<Map>{{{"a", 1}}, {{"b", 1}}}), c10::IndexError);
}

struct Labelled : datasets::Dataset<Labelled, Example<at::Tensor, int64_t>> {
  Example<at::Tensor, int64_t> get(size_t i) override {
    return {filled({2}, static_cast<float>(i)), static_cast<int64_t>(i) * 10};
  }
  std::optional<size_t> size() const override { return 4; }
};

TEST(DefaultCollate, IsATransform) {
  auto loader = make_data_loader<samplers::SequentialSampler>(
      Labelled().map(transforms::DefaultCollate<Example<at::Tensor, int64_t>>()), 3);
  const Example<> first = *loader->begin();
  EXPECT_EQ(first.data.sizes(), (at::IntArrayRef{3, 2}));
  EXPECT_EQ(first.target.scalar_type(), at::kLong);
  EXPECT_EQ(first.target.data_ptr<int64_t>()[2], 20);
  auto single = make_data_loader<samplers::SequentialSampler>(
      Labelled().map(transforms::Unbatched<Example<at::Tensor, int64_t>>()), 1);
  EXPECT_EQ((*single->begin()).target, 0);
  EXPECT_THROW(Labelled().map(transforms::Unbatched<Example<at::Tensor, int64_t>>()).get_batch({1, 2}),
               c10::ValueError);
}

TEST(DefaultConvert, MakesTensorsOfLists) {
  EXPECT_EQ(default_convert(std::vector<float>{1, 2}).numel(), 2);
  const c10::IValue nested = default_convert(std::tuple<std::vector<int64_t>, std::string>({1, 2}, "a"));
  EXPECT_EQ(nested.toTupleRef().elements()[0].toTensor().scalar_type(), at::kLong);
  EXPECT_EQ(nested.toTupleRef().elements()[1].toStringRef(), "a");
}

}  // namespace
}  // namespace torch::data
