// Batch normalization over ranks against one process with the whole batch.
#include "distributed/ddp/sync_batch_norm.h"

#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/testing/message_of.h"
#include "distributed/ddp/testing/group.h"
#include "nn/layers/layers.h"
#include "nn/module/sequential.h"

namespace c10d {
namespace {

using at::Tensor;
using testing::expect_equal;
using testing::fill;
using testing::Group;
using testing::numbers;
using torch::nn::BatchNormOptions;
using torch::nn::parallel::SyncBatchNorm;

// Rows of each rank, and the other sizes.
struct Case {
  std::vector<int64_t> rows;
  std::vector<int64_t> rest;
  c10::ScalarType dtype = c10::kDouble;
  double tolerance = 1e-12;
  std::optional<double> momentum = 0.1;
  bool affine = true;
};

void expect_as_whole(const Case& c) {
  const auto ranks = static_cast<int>(c.rows.size());
  testing::run_group(ranks, [&](int rank, const Group& group) {
    const auto options = BatchNormOptions(c.rest[0]).momentum(c.momentum).affine(c.affine);
    SyncBatchNorm sync(options, group);
    // Of any number of dimensions.
    torch::nn::SyncBatchNorm twin(options);
    for (auto* const module : {static_cast<torch::nn::Module*>(&*sync), static_cast<torch::nn::Module*>(&*twin)}) {
      fill(*module, 5);
      module->to(c.dtype);
    }
    for (int step = 0; step < 3; ++step) {
      std::vector<Tensor> parts, weights;
      for (size_t r = 0; r < c.rows.size(); ++r) {
        std::vector<int64_t> sizes{c.rows[r]};
        sizes.insert(sizes.end(), c.rest.begin(), c.rest.end());
        parts.push_back(numbers(sizes, 10 * step + static_cast<int>(r), c.dtype) * 3 + 1);
        weights.push_back(numbers(sizes, 50 + 10 * step + static_cast<int>(r), c.dtype));
      }
      const auto mine = static_cast<size_t>(rank);
      const Tensor x = parts[mine].clone().requires_grad_(), whole = at::cat(parts).requires_grad_();
      sync->zero_grad();
      twin->zero_grad();
      const Tensor y = sync(x), all = twin(whole);
      int64_t begin = 0;
      for (size_t r = 0; r < mine; ++r) begin += c.rows[r];
      expect_equal(y, all.narrow(0, begin, c.rows[mine]), c.tolerance, "result");
      (y * weights[mine]).sum().backward();
      (all * at::cat(weights)).sum().backward();
      expect_equal(x.grad(), whole.grad().narrow(0, begin, c.rows[mine]), c.tolerance, "gradient of the input");
      for (const auto& item : sync->named_parameters()) {
        std::vector<Tensor> sum{item.value().grad().clone()};
        group->allreduce(sum)->wait();
        expect_equal(sum[0], twin->named_parameters()[item.key()].grad(), c.tolerance, "gradient of " + item.key());
      }
      for (const auto& item : sync->named_buffers()) {
        expect_equal(item.value(), twin->named_buffers()[item.key()], c.tolerance, item.key());
      }
    }
    sync->eval();
    twin->eval();
    const Tensor x = numbers({2, c.rest[0], 3}, 1, c.dtype);
    expect_equal(sync(x), twin(x), c.tolerance, "evaluation");
  });
}

TEST(SyncBatchNorm, IsThatOfTheWholeBatch) {
  expect_as_whole({.rows = {3, 3}, .rest = {4, 2, 5}});
  expect_as_whole({.rows = {1, 4, 2}, .rest = {3}});
  expect_as_whole({.rows = {2, 0, 3}, .rest = {3, 2}});
  expect_as_whole({.rows = {2}, .rest = {3, 2}});
  expect_as_whole({.rows = {3, 2}, .rest = {4, 2}, .momentum = std::nullopt});
  expect_as_whole({.rows = {3, 2}, .rest = {4, 2}, .affine = false});
  expect_as_whole({.rows = {3, 3}, .rest = {4, 2, 2}, .dtype = c10::kFloat, .tolerance = 2e-6});
}

TEST(SyncBatchNorm, SixteenBitsComputeInFloat) {
  testing::run_group(2, [](int rank, const Group& group) {
    const Tensor x = numbers({4, 3}, rank, c10::kBFloat16);
    const auto run = [&](const Tensor& input) {
      return torch::nn::functional::sync_batch_norm(input, at::ones({3}), at::zeros({3}), Tensor(), Tensor(), 1e-5, 0.1,
                                                    group);
    };
    const Tensor y = run(x);
    EXPECT_EQ(y.scalar_type(), c10::kBFloat16);
    expect_equal(y, at::to(run(at::to(x, at::kFloat)), at::kBFloat16), 0, "result");
  });
}

TEST(SyncBatchNorm, GradCheck) {
  testing::run_group(1, [](int, const Group& group) {
    const auto f = [&](const torch::autograd::variable_list& in) -> torch::autograd::variable_list {
      return {torch::nn::functional::sync_batch_norm(in[0], in[1], in[2], Tensor(), Tensor(), 1e-5, 0.1, group)};
    };
    EXPECT_TRUE(torch::autograd::gradcheck(
        f, {numbers({4, 3, 2}, 1, at::kDouble).requires_grad_(), numbers({3}, 2, at::kDouble).requires_grad_(),
            numbers({3}, 3, at::kDouble).requires_grad_()}));
    // What would be wrong without a word is refused.
    const Tensor x = numbers({4, 3}, 1).requires_grad_();
    const Tensor y = f({x, at::ones({3}), at::ones({3})})[0];
    EXPECT_NE(c10::testing::message_of([&] {
                torch::autograd::grad({y.sum()}, {x}, {}, true, /*create_graph=*/true);
              }).find("cannot be differentiated again"),
              std::string::npos);
  });
}

TEST(SyncBatchNorm, Errors) {
  const auto errors = testing::errors_of_group(2, [](int rank, const Group& group) {
    SyncBatchNorm(3, group)(numbers({rank == 0 ? 1 : 0, 3}, 1));
  });
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("Expected more than 1 value per channel when training, got 1"), std::string::npos) << error;
  }
  testing::run_group(1, [](int, const Group& group) {
    EXPECT_THROW(SyncBatchNorm(3, group)(numbers({3}, 1)), c10::ValueError);
    EXPECT_THROW(SyncBatchNorm(3, group)(numbers({2, 4}, 1)), c10::ValueError);
  });
}

TEST(SyncBatchNorm, Conversion) {
  testing::run_group(2, [](int rank, const Group& group) {
    torch::nn::Sequential net(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3), torch::nn::ReLU());
    torch::nn::Sequential twin(torch::nn::Linear(4, 3), torch::nn::BatchNorm1d(3), torch::nn::ReLU());
    fill(*net, 2);
    fill(*twin, 2);
    const Tensor weight = net->named_parameters()["1.weight"];
    const auto same = SyncBatchNorm::convert_sync_batchnorm(net, group);
    EXPECT_EQ(same.get(), net.get());
    EXPECT_TRUE(net->named_parameters()["1.weight"].is_same(weight));
    const std::vector<Tensor> parts{numbers({3, 4}, 1), numbers({2, 4}, 2)};
    expect_equal(net->forward(parts[static_cast<size_t>(rank)]),
                 twin->forward(at::cat(parts)).narrow(0, 3 * rank, 3 - rank), 1e-6, "result");
    EXPECT_EQ(net->state_dict().keys(), twin->state_dict().keys());
    const auto single = SyncBatchNorm::convert_sync_batchnorm(torch::nn::BatchNorm2d(3), group);
    EXPECT_NE(single->as<SyncBatchNorm>(), nullptr);
  });
}

}  // namespace
}  // namespace c10d
