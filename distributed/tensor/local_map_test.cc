#include "distributed/tensor/local_map.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "distributed/tensor/run_mesh.h"

namespace torch::distributed::tensor::experimental {
namespace {

using at::Tensor;

Tensor sample(at::IntArrayRef sizes, double first = 1) {
  return at::sin(at::arange(at::empty(sizes, at::kMeta).numel(), at::kDouble).add(first)).view(sizes);
}

TEST(LocalMap, CallsTheFunctionWithParts) {
  tensor::testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const Tensor w = sample({4, 6}), x = sample({6, 3}, 7), weights = sample({4, 3}, 9);
    Tensor plain_w = w.clone().requires_grad_(), plain_x = x.clone().requires_grad_();
    at::sum(at::mm(plain_w, plain_x) * weights).backward();

    std::vector<int64_t> seen;
    const auto product = local_map(
        [&](const Tensor& a, const Tensor& b) {
          seen = {a.size(1), b.size(0)};
          return at::mm(a, b);
        },
        {{{Partial()}}}, {.in_placements = {{{{Shard(1)}}, {{Shard(0)}}}}});
    Tensor dw = distribute_tensor(w, mesh, {Shard(1)}).requires_grad_();
    Tensor dx = distribute_tensor(x, mesh, {Shard(0)}).requires_grad_();
    const DTensor y(product(dw, dx));
    EXPECT_EQ(seen, (std::vector<int64_t>{3, 3}));
    EXPECT_TRUE(y.placements()[0].is_partial("sum"));
    at::sum(y * distribute_tensor(weights, mesh, {Replicate()})).backward();
    EXPECT_TRUE(at::allclose(y.full_tensor().detach(), at::mm(w, x), 1e-12, 1e-12));
    EXPECT_TRUE(at::allclose(DTensor(dw.grad()).full_tensor(), plain_w.grad(), 1e-12, 1e-12));
    EXPECT_TRUE(at::allclose(DTensor(dx.grad()).full_tensor(), plain_x.grad(), 1e-12, 1e-12));

    // Another placement is an error, or becomes the one that is asked for.
    const DTensor rows = distribute_tensor(w, mesh, {Shard(0)});
    EXPECT_THROW(product(rows, dx), c10::ValueError);
    const auto moving = local_map([](const Tensor& a, const Tensor& b) { return at::mm(a, b); }, {{{Partial()}}},
                                  {.in_placements = {{{{Shard(1)}}, {{Shard(0)}}}}, .redistribute_inputs = true});
    EXPECT_TRUE(at::allclose(DTensor(moving(rows, dx).detach()).full_tensor(), at::mm(w, x), 1e-12, 1e-12));
  });
}

TEST(LocalMap, PassesOnWhatIsNoDTensor) {
  tensor::testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const auto function = local_map(
        [](const std::vector<Tensor>& list, double factor, const Tensor& plain) {
          return std::tuple<Tensor, int64_t, std::vector<Tensor>>(list[0] * factor + plain, list[1].size(0), list);
        },
        {{{Shard(0)}}, std::nullopt, {{Shard(0)}}, {{Shard(0)}}});
    const Tensor t = sample({4, 2});
    const DTensor d = distribute_tensor(t, mesh, {Shard(0)});
    const auto [sum, rows, list] = function(std::vector<Tensor>{d, d}, 3.0, at::ones({2}, at::kDouble));
    EXPECT_TRUE(at::allclose(DTensor(sum).full_tensor(), t * 3 + 1, 1e-12, 1e-12));
    EXPECT_EQ(rows, 2);
    EXPECT_TRUE(DTensor::is(list.at(1)));
    // Without any, the results are what the function returns.
    const auto [plain, all_rows, plain_list] = function(std::vector<Tensor>{t, t}, 3.0, at::ones({2}, at::kDouble));
    EXPECT_FALSE(DTensor::is(plain));
    EXPECT_EQ(all_rows, 4);
  });
}

TEST(LocalMap, Errors) {
  tensor::testing::run_mesh(
      {2, 2},
      [](const DeviceMesh& mesh) {
        const auto same = [](const Tensor& t) { return t; };
        const DTensor t = distribute_tensor(sample({4}), mesh["a"], {Shard(0)});
        EXPECT_THROW(local_map(same, {{{Shard(0)}}}, {.device_mesh = mesh["b"]})(t), c10::Error);
        EXPECT_THROW(local_map(same, {{{Shard(0)}}, {{Shard(0)}}})(t), c10::Error);  // two results
        EXPECT_THROW(local_map(same, {{{Shard(0)}}}, {.in_placements = PlacementList{}})(t),
                     c10::Error);  // no argument
        EXPECT_THROW(local_map([](const Tensor& x) { return x.size(0); }, {{{Shard(0)}}})(t), c10::Error);
        EXPECT_THROW(local_map([](const Tensor& x, const Tensor&) { return x; }, {{{Shard(0)}}})(
                         t, distribute_tensor(sample({4}), mesh["b"], {Shard(0)})),
                     c10::Error);
      },
      {"a", "b"});
}

TEST(LocalMap, GradientsMayLieOtherwise) {
  tensor::testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    // Each rank's use of what all have is a part of a sum.
    const double mine = static_cast<double>(mesh.get_rank() + 1);
    Tensor t = distribute_tensor(at::ones({2}, at::kDouble), mesh, {Replicate()}).requires_grad_();
    const auto scaled = local_map([&](const Tensor& x) { return x * mine; }, {{{Partial()}}},
                                  {.in_grad_placements = {{{{Partial()}}}}});
    at::sum(DTensor(scaled(t)).full_tensor()).backward();
    EXPECT_EQ(DTensor(t.grad()).full_tensor()[0].item<double>(), 3);
  });
}

}  // namespace
}  // namespace torch::distributed::tensor::experimental
