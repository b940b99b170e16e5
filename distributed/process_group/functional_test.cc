// Values and gradients of functional collectives, against the same function of all ranks' inputs in one process.
#include "distributed/process_group/functional.h"

#include <gtest/gtest.h>

#include <functional>

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/testing/message_of.h"
#include "distributed/process_group/init.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_ranks.h"

namespace c10d {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

[[maybe_unused]] const bool is_local = ::setenv("GLOO_SOCKET_IFNAME", "lo", 1) == 0;

constexpr int kSize = 3;

void with_ranks(const std::function<void(int)>& body) {
  const auto store = c10::make_intrusive<HashStore>();
  testing::run_ranks(kSize, [&](int rank) {
    init_process_group(
        "gloo", {.timeout = std::chrono::milliseconds(20000), .world_size = kSize, .rank = rank, .store = store});
    body(rank);
    destroy_process_group();
  });
}

// Different on each rank, exact in float64.
Tensor input_of(int rank, int64_t rows) {
  return at::add(at::mul(at::view(at::arange(rows * 2, at::kDouble), {rows, 2}), rank + 1), rank);
}
Tensor weight_of(int rank, int64_t rows) {
  return at::add(at::view(at::arange(rows * 2, at::kDouble), {rows, 2}), 10 * rank + 1);
}

// A function of a rank's input, and the same of all inputs, for a rank.
using Own = std::function<Tensor(const Tensor& input)>;
using Whole = std::function<Tensor(const Tensors& inputs, int rank)>;

// Of the sum over ranks of weight * f(input)^2, which all ranks differentiate together.
void expect_same(int64_t rows, const Own& own, const Whole& whole) {
  with_ranks([&](int rank) {
    Tensors inputs;
    Tensor loss;
    for (int r = 0; r < kSize; ++r) inputs.push_back(input_of(r, rows).requires_grad_());
    Tensor expected;
    for (int r = 0; r < kSize; ++r) {
      const Tensor y = whole(inputs, r);
      if (r == rank) expected = y;
      const Tensor part = at::sum(at::mul(weight_of(r, y.size(0)), at::mul(y, y)));
      loss = loss.defined() ? at::add(loss, part) : part;
    }
    const Tensor first = torch::autograd::grad({loss}, {inputs[static_cast<size_t>(rank)]}, {}, true, true)[0];

    Tensor x = input_of(rank, rows).requires_grad_();
    const Tensor y = own(x);
    EXPECT_TRUE(at::equal(y, expected)) << rank;
    const Tensor mine = at::sum(at::mul(weight_of(rank, y.size(0)), at::mul(y, y)));
    const Tensor gradient = torch::autograd::grad({mine}, {x}, {}, true, true)[0];
    EXPECT_TRUE(at::equal(gradient, first)) << rank;

    // A second time: of the sum of all ranks' gradients.
    Tensor all;
    for (int r = 0; r < kSize; ++r) {
      const Tensor g = torch::autograd::grad({loss}, {inputs[static_cast<size_t>(r)]}, {}, true, true)[0];
      all = all.defined() ? at::add(all, at::sum(g)) : at::sum(g);
    }
    const Tensor second = torch::autograd::grad({all}, {inputs[static_cast<size_t>(rank)]}, {}, true)[0];
    EXPECT_TRUE(at::equal(torch::autograd::grad({at::sum(gradient)}, {x})[0], second)) << rank;
  });
}

Tensor sum_of(const Tensors& inputs) {
  return at::add(at::add(inputs[0], inputs[1]), inputs[2]);
}

TEST(Functional, AllReduce) {
  expect_same(
      2, [](const Tensor& x) { return all_reduce(x, "sum", "0"); },
      [](const Tensors& all, int) { return sum_of(all); });
}

TEST(Functional, AllGather) {
  expect_same(
      2, [](const Tensor& x) { return all_gather_into_tensor(x, kSize, get_default_group()); },
      [](const Tensors& all, int) { return at::cat(all); });
}

TEST(Functional, ReduceScatter) {
  expect_same(
      6, [](const Tensor& x) { return reduce_scatter_tensor(x, "sum", kSize, "0"); },
      [](const Tensors& all, int rank) { return at::narrow(sum_of(all), 0, 2 * rank, 2); });
}

TEST(Functional, AllToAll) {
  expect_same(
      3, [](const Tensor& x) { return all_to_all_single(x, {}, {}, "0"); },
      [](const Tensors& all, int rank) {
        Tensors parts;
        for (const Tensor& x : all) parts.push_back(at::narrow(x, 0, rank, 1));
        return at::cat(parts);
      });
  // One row for rank 0, two for rank 1, none for rank 2.
  expect_same(
      3,
      [](const Tensor& x) {
        const int64_t n = std::vector<int64_t>{1, 2, 0}[static_cast<size_t>(get_rank())];
        return all_to_all_single(x, {n, n, n}, {1, 2, 0}, "0");
      },
      [](const Tensors& all, int rank) {
        Tensors parts;
        for (const Tensor& x : all) parts.push_back(at::narrow(x, 0, rank == 0 ? 0 : 1, rank == 2 ? 0 : rank + 1));
        return at::cat(parts);
      });
}

TEST(Functional, Broadcast) {
  expect_same(
      2, [](const Tensor& x) { return broadcast(x, 1, "0"); },
      [](const Tensors& all, int) { return at::add(all[1], at::mul(at::add(all[0], all[2]), 0)); });
}

// A third is no exact number: compared with a tolerance.
TEST(Functional, Averages) {
  with_ranks([](int rank) {
    Tensor x = input_of(rank, 3).requires_grad_();
    const Tensor y = all_reduce(x, "avg", "0");
    EXPECT_TRUE(at::allclose(y, at::div(sum_of({input_of(0, 3), input_of(1, 3), input_of(2, 3)}), 3)));
    const Tensor g = torch::autograd::grad({at::sum(at::mul(y, rank + 1))}, {x})[0];
    EXPECT_TRUE(at::allclose(g, at::full({3, 2}, 2.0, at::kDouble)));
    const Tensor part = reduce_scatter_tensor(x, "AVG", kSize, "0");
    const Tensor h = torch::autograd::grad({at::sum(at::mul(part, rank + 1))}, {x})[0];
    for (int r = 0; r < kSize; ++r)
      EXPECT_TRUE(at::allclose(at::narrow(h, 0, r, 1), at::full({1, 2}, (r + 1) / 3.0, at::kDouble)));
  });
}

TEST(Functional, OtherForms) {
  with_ranks([](int rank) {
    const auto group = get_default_group();
    Tensor t = at::full({2}, rank + 1.0);
    EXPECT_EQ(&all_reduce_(t, "max", group), &t);
    EXPECT_TRUE(at::equal(t, at::full({2}, 3.0)));
    const Tensors two = all_reduce_coalesced({at::ones({1}), at::ones({2})}, "sum", group);
    EXPECT_TRUE(at::equal(two[1], at::full({2}, 3.0)));
    EXPECT_TRUE(at::equal(all_reduce_coalesced_({at::ones({1})}, "sum", group)[0], at::full({1}, 3.0)));
    Tensor all = at::zeros({3});
    all_gather_into_tensor_out(at::full({1}, rank + 0.0), kSize, group, all);
    EXPECT_TRUE(at::equal(all, at::arange(3, at::kFloat)));
    EXPECT_EQ(all_gather_into_tensor_coalesced({at::ones({2}), at::ones({1, 4})}, kSize, group)[1].size(0), 3);
    EXPECT_EQ(reduce_scatter_tensor_coalesced({at::ones({6})}, "sum", kSize, group)[0].size(0), 2);
    Tensor from = at::full({1}, rank + 0.0);
    broadcast_(from, 2, group);
    EXPECT_TRUE(at::equal(wait_tensor(from), at::full({1}, 2.0)));

    Tensor x = at::ones({2}).requires_grad_();
    EXPECT_THROW(all_reduce_(x, "sum", group), c10::Error);
    EXPECT_THROW(at::sum(all_reduce(x, "max", group)).backward(), c10::NotImplementedError);
    EXPECT_THROW(all_reduce(x, "mean", group), c10::ValueError);
    EXPECT_THROW(all_reduce(x, "sum", "none such"), c10::Error);
    EXPECT_THROW(all_reduce(x, "sum", ProcessGroupPtr()), c10::ValueError);
    EXPECT_THROW(all_gather_into_tensor(x, 2, group), c10::ValueError);
    EXPECT_THROW(reduce_scatter_tensor(x, "sum", kSize, group), c10::ValueError);
    EXPECT_THROW(all_to_all_single(x, {}, {1, 1, 0}, group), c10::ValueError);
  });
}

}  // namespace
}  // namespace c10d
