#include "distributed/tensor/parallel/context_parallel.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/autocast/autocast.h"
#include "autograd/autograd.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/redistribute.h"
#include "distributed/tensor/run_mesh.h"

namespace torch::distributed::tensor::experimental {
namespace {

using at::Tensor;

Tensor sample(at::IntArrayRef sizes, double first = 1) {
  return at::sin(at::arange(at::empty(sizes, at::kMeta).numel(), at::kDouble).mul(1.7).add(first)).view(sizes);
}

struct Way {
  int64_t ranks;
  const char* method;
  bool balanced, causal;
  std::string text() const {
    return std::to_string(ranks) + " ranks, " + method + (balanced ? ", balanced" : "") + (causal ? ", causal" : "");
  }
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const int64_t ranks : {1, 2, 3, 4}) {
    for (const char* method : {"allgather", "alltoall"}) {
      for (const bool balanced : {true, false}) {
        for (const bool causal : {true, false}) all.push_back({ranks, method, balanced, causal});
      }
    }
  }
  return all;
}

struct Attended {
  Tensor result, query, key, value;  // and gradients
};

// Of the whole sequence on this thread.
Attended on_one_device(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& weights, bool causal,
                       std::optional<double> scale = std::nullopt, bool gqa = false, const Tensor& mask = {}) {
  Tensor q = query.clone().requires_grad_(), k = key.clone().requires_grad_(), v = value.clone().requires_grad_();
  const Tensor result = at::scaled_dot_product_attention(q, k, v, mask, 0, causal, scale, gqa);
  at::sum(result * weights).backward();
  return {result.detach(), q.grad(), k.grad(), v.grad()};
}

// Of the ranks' parts, put together again.
Attended on_ranks(const DeviceMesh& mesh, const Tensor& query, const Tensor& key, const Tensor& value,
                  const Tensor& weights, bool causal, std::optional<double> scale = std::nullopt, bool gqa = false,
                  const Tensor& mask = {}) {
  Tensor q = query.clone(), k = key.clone(), v = value.clone(), w = weights.clone(), m = mask, result;
  {
    std::vector<Tensor> buffers{q, k, v, w};
    std::vector<int64_t> dims{2, 2, 2, -2};
    if (m.defined() && m.size(-2) > 1) {
      buffers.push_back(m = m.clone());
      dims.push_back(-2);
    }
    const auto guard = context_parallel(mesh, buffers, dims, buffers);
    q.requires_grad_();
    k.requires_grad_();
    v.requires_grad_();
    result = at::scaled_dot_product_attention(q, k, v, m, 0, causal, scale, gqa);
  }
  at::sum(result * w).backward();  // also after the guard
  const auto wholes = context_parallel_unshard(mesh, {result, q.grad(), k.grad(), v.grad()}, {2, 2, 2, 2});
  return {wholes[0], wholes[1], wholes[2], wholes[3]};
}

void expect_same(const Attended& actual, const Attended& expected, double tolerance, const std::string& what) {
  const auto near = [&](const Tensor& a, const Tensor& b, const char* of) {
    ASSERT_EQ(a.sizes(), b.sizes()) << what << " " << of;
    EXPECT_EQ(a.scalar_type(), b.scalar_type());
    EXPECT_TRUE(at::allclose(a.to(at::kDouble), b.to(at::kDouble), tolerance, tolerance)) << what << " " << of;
  };
  near(actual.result, expected.result, "result");
  near(actual.query, expected.query, "gradient of the queries");
  near(actual.key, expected.key, "gradient of the keys");
  near(actual.value, expected.value, "gradient of the values");
}

TEST(ContextParallel, IsTheAttentionOfOneDevice) {
  const Tensor q = sample({2, 4, 24, 6}), k = sample({2, 4, 24, 6}, 7), v = sample({2, 4, 24, 5}, 20),
               w = sample({2, 4, 24, 5}, 31);
  for (const Way& way : ways()) {
    const Attended expected = on_one_device(q, k, v, w, way.causal);
    tensor::testing::run_mesh({way.ranks}, [&](const DeviceMesh& mesh) {
      set_rotate_method(way.method);
      set_load_balance(way.balanced);
      expect_same(on_ranks(mesh, q, k, v, w, way.causal), expected, 1e-12, way.text());
    });
  }
}

// Of all kinds: some queries see the keys of one rank alone, others none at all.
TEST(ContextParallel, Masks) {
  const Tensor q = sample({2, 4, 24, 6}), k = sample({2, 2, 24, 6}, 7), v = sample({2, 2, 24, 5}, 20),
               w = sample({2, 4, 24, 5}, 31);
  Tensor some = sample({24, 24}, 3) > 0.2;
  some[3].fill_(false);
  some[17].fill_(false);
  some[5].fill_(false)[20].fill_(true);
  const Tensor added = at::where(some, sample({2, 1, 24, 24}, 11), at::full({}, -INFINITY, at::kDouble));
  const Tensor padding = (at::arange(24) < at::tensor({24, 7}).view({2, 1, 1, 1}));
  const Tensor window = at::ones({24, 24}, at::kBool).tril(2).triu(-4);
  const Tensor by_head = at::where(window, sample({4, 24, 24}, 5), at::full({}, -INFINITY, at::kDouble)).to(at::kFloat);
  for (const auto& [name, mask] : std::vector<std::pair<const char*, Tensor>>{{"some", some},
                                                                              {"added", added},
                                                                              {"padding", padding},
                                                                              {"window", window},
                                                                              {"of heads, in float", by_head},
                                                                              {"one column", some.narrow(1, 0, 1)}}) {
    const Attended expected = on_one_device(q, k, v, w, false, std::nullopt, true, mask);
    for (const int64_t ranks : {1, 2, 3, 4}) {
      for (const char* method : {"allgather", "alltoall"}) {
        for (const bool balanced : {true, false}) {
          tensor::testing::run_mesh({ranks}, [&, name = name, mask = mask](const DeviceMesh& mesh) {
            set_rotate_method(method);
            set_load_balance(balanced);
            expect_same(on_ranks(mesh, q, k, v, w, false, std::nullopt, true, mask), expected, 1e-12,
                        name + (" over " + std::to_string(ranks)) + " " + method);
          });
        }
      }
    }
  }
  // Queries and masks of half the width.
  const auto half = [](const Tensor& t) { return t.to(at::kBFloat16); };
  const Attended expected = on_one_device(half(q), half(k), half(v), half(w), false, std::nullopt, true, half(added));
  tensor::testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    expect_same(on_ranks(mesh, half(q), half(k), half(v), half(w), false, std::nullopt, true, half(added)), expected,
                2e-2, "bfloat16");
  });
}

TEST(ContextParallel, GroupedHeadsAndScale) {
  const Tensor q = sample({1, 4, 8, 6}), k = sample({1, 2, 8, 6}, 7), v = sample({1, 2, 8, 6}, 20),
               w = sample({1, 4, 8, 6});
  const Attended expected = on_one_device(q, k, v, w, true, 0.7, true);
  tensor::testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    expect_same(on_ranks(mesh, q, k, v, w, true, 0.7, true), expected, 1e-12, "grouped");
  });
}

TEST(ContextParallel, HalfPrecisionIsMergedInFloat) {
  const auto half = [](const Tensor& t) { return t.to(at::kBFloat16); };
  const Tensor q = half(sample({1, 2, 16, 8})), k = half(sample({1, 2, 16, 8}, 7)), v = half(sample({1, 2, 16, 8}, 20)),
               w = half(sample({1, 2, 16, 8}, 31));
  const Attended expected = on_one_device(q, k, v, w, true);
  tensor::testing::run_mesh(
      {4}, [&](const DeviceMesh& mesh) { expect_same(on_ranks(mesh, q, k, v, w, true), expected, 2e-2, "bfloat16"); });
}

TEST(ContextParallel, ManySequencesOverTheOtherDimensionOfAMesh) {
  const Tensor q = sample({2, 4, 8, 6}), k = sample({2, 4, 8, 6}, 7), v = sample({2, 4, 8, 6}, 20);
  const Tensor expected = at::scaled_dot_product_attention(q, k, v, {}, 0, true);
  tensor::testing::run_mesh(
      {2, 2},
      [&](const DeviceMesh& mesh) {
        Tensor mine_q = q.clone(), mine_k = k.clone(), mine_v = v.clone();
        const auto guard = context_parallel(mesh["cp"], {mine_q, mine_k, mine_v}, {2, 2, 2});
        const auto by_heads = [&](const Tensor& t) {
          return distribute_tensor(t, mesh["tp"], {Shard(1)}, std::nullopt);
        };
        const DTensor part(
            at::scaled_dot_product_attention(by_heads(mine_q), by_heads(mine_k), by_heads(mine_v), {}, 0, true));
        EXPECT_EQ(part.placements()[0], Shard(1));
        EXPECT_TRUE(
            at::allclose(context_parallel_unshard(mesh["cp"], {part.full_tensor()}, {2})[0], expected, 1e-12, 1e-12));
      },
      {"cp", "tp"});
}

TEST(ContextParallel, SendsWhatTheMethodSays) {
  const Tensor t = sample({1, 1, 8, 4});
  tensor::testing::run_mesh({4}, [&](const DeviceMesh& mesh) {
    const auto counts = [&](const char* method, const char* collective) {
      set_rotate_method(method);
      Tensor mine = t.clone();
      const auto guard = context_parallel(mesh, {mine}, {2}, {mine});
      mine.requires_grad_();
      const CommDebugMode counted;
      at::sum(at::scaled_dot_product_attention(mine, mine, mine, {}, 0, true)).backward();
      const auto found = counted.get_comm_counts().find(collective);
      return found == counted.get_comm_counts().end() ? 0 : found->second;
    };
    EXPECT_EQ(counts("allgather", "all_gather"), 2);
    EXPECT_EQ(counts("allgather", "reduce_scatter"), 1);
    EXPECT_EQ(counts("allgather", "all_to_all"), 0);
    EXPECT_EQ(counts("alltoall", "all_gather"), 0);
    EXPECT_EQ(counts("alltoall", "all_to_all"), 3 + 3 + 4);
    EXPECT_EQ(get_rotate_method(), RotateMethod::kAllToAll);
    EXPECT_THROW(set_rotate_method("no such"), c10::NotImplementedError);
  });
}

TEST(ContextParallel, BuffersAreCutAndRestored) {
  tensor::testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    Tensor tokens = at::arange(16).view({2, 8}), positions = at::arange(8), kept = positions.clone();
    const Tensor before = tokens.clone(), handle = tokens;
    {
      const auto guard = context_parallel(mesh, {tokens, positions, kept}, {1, 0, 0}, {kept});
      const bool first = mesh.get_rank() == 0;
      const Tensor expected = first ? at::tensor({0, 1, 6, 7}) : at::tensor({2, 3, 4, 5});
      EXPECT_TRUE(at::equal(positions, expected.to(at::kLong)));
      EXPECT_EQ(handle.sizes(), at::IntArrayRef({2, 4}));
      EXPECT_TRUE(at::equal(handle[1], expected.to(at::kLong).add(8)));
      EXPECT_TRUE(at::equal(context_parallel_unshard(mesh, {tokens}, {-1})[0], before));
    }
    EXPECT_TRUE(at::equal(handle, before));
    EXPECT_EQ(positions.size(0), 8);
    EXPECT_EQ(kept.size(0), 4);
    set_load_balance(false);
    {
      const auto guard = context_parallel(mesh, {positions}, {0});
      EXPECT_EQ(positions[0].item<int64_t>(), mesh.get_rank() * 4);
      EXPECT_TRUE(at::equal(context_parallel_unshard(mesh, {positions}, {0})[0], at::arange(8)));
    }
  });
}

TEST(ContextParallel, BuffersMayBeViews) {
  tensor::testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const Tensor base = at::arange(20);
    Tensor view = base.narrow(0, 2, 16);
    {
      const auto guard = context_parallel(mesh, {view}, {0});
      EXPECT_EQ(view.size(0), 8);
      view.zero_();  // the part's own memory
    }
    EXPECT_TRUE(at::equal(base, at::arange(20)));
    EXPECT_TRUE(at::equal(view, at::arange(20).narrow(0, 2, 16)));
    view.zero_();
    EXPECT_EQ(base[2].item<int64_t>(), 0);
  });
}

TEST(ContextParallel, OnlyWhileItLasts) {
  const Tensor t = sample({1, 2, 8, 4});
  const Tensor expected = at::scaled_dot_product_attention(t, t, t);
  tensor::testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    Tensor half = t.narrow(2, 0, 4).clone();
    {
      const auto guard = context_parallel(mesh);
      const auto inner = context_parallel(mesh);
    }
    EXPECT_TRUE(at::equal(at::scaled_dot_product_attention(t, t, t), expected));
    const CommDebugMode counted;
    at::scaled_dot_product_attention(half, half, half);
    EXPECT_EQ(counted.get_total_counts(), 0);
  });
}

// What else the operator has stays: the casts before it.
TEST(ContextParallel, KnowsMixedPrecision) {
  const Tensor t = sample({1, 2, 8, 4}).to(at::kFloat);
  tensor::testing::run_mesh({2}, [&](const DeviceMesh& mesh) {
    const torch::autocast region(at::kCPU, at::kBFloat16);
    const auto call = [&] { return at::scaled_dot_product_attention(t, t, t); };
    {
      const auto guard = context_parallel(mesh);
      EXPECT_EQ(call().scalar_type(), at::kBFloat16);
    }
    EXPECT_EQ(call().scalar_type(), at::kBFloat16);
  });
}

TEST(ContextParallel, DropsWeightsOnEachRank) {
  tensor::testing::run_mesh({2}, [](const DeviceMesh& mesh) {
    const auto guard = context_parallel(mesh);
    const Tensor q = at::zeros({1, 2, 64, 4}), v = at::ones({1, 2, 64, 4}).requires_grad_();
    const Tensor y = at::scaled_dot_product_attention(q, q, v, {}, 0.5);
    EXPECT_NEAR(y.mean().item<double>(), 1, 0.1);
    EXPECT_GT(y.std().item<double>(), 0.01);
    y.sum().backward();
    EXPECT_NEAR(v.grad().mean().item<double>(), 1, 0.1);
  });
}

TEST(ContextParallel, Errors) {
  tensor::testing::run_mesh(
      {2, 2},
      [](const DeviceMesh& mesh) {
        EXPECT_THROW(static_cast<void>(context_parallel(mesh)), c10::ValueError);
        const DeviceMesh cp = mesh["cp"];
        Tensor good = at::zeros({8}), odd = at::zeros({6}), trained = at::zeros({8}).requires_grad_();
        EXPECT_THROW(static_cast<void>(context_parallel(cp, {good}, {})), c10::ValueError);
        EXPECT_THROW(static_cast<void>(context_parallel(cp, {good, odd}, {0, 0})), c10::ValueError);
        EXPECT_THROW(static_cast<void>(context_parallel(cp, {good}, {1})), c10::ValueError);
        EXPECT_THROW(static_cast<void>(context_parallel(cp, {good, trained}, {0, 0})), c10::ValueError);
        EXPECT_THROW(static_cast<void>(context_parallel(cp, {good}, {0}, {odd})), c10::ValueError);
        EXPECT_THROW(context_parallel_unshard(cp, {good}, {}), c10::ValueError);
        EXPECT_EQ(good.size(0), 8);  // nothing was touched
        const auto guard = context_parallel(cp);
        const Tensor t = at::zeros({1, 2, 4, 4});
        const auto masked = [&](const Tensor& mask, bool causal = false) {
          at::scaled_dot_product_attention(t, t, t, mask, 0, causal);
        };
        masked(at::zeros({4, 8}));
        EXPECT_THROW(masked(at::zeros({4, 8}).requires_grad_()), c10::NotImplementedError);
        EXPECT_THROW(masked(at::zeros({4, 4})), c10::ValueError);
        EXPECT_THROW(masked(at::zeros({8, 8})), c10::ValueError);
        EXPECT_THROW(masked(at::zeros({4, 8}), true), c10::Error);
        EXPECT_THROW(masked(at::zeros({4, 8}, at::kLong)), c10::Error);
        EXPECT_THROW(at::scaled_dot_product_attention(t[0], t[0], t[0]), c10::ValueError);
        EXPECT_THROW(at::scaled_dot_product_attention(t, t.narrow(1, 0, 1), t.narrow(1, 0, 1)), c10::ValueError);
        EXPECT_THROW(at::scaled_dot_product_attention(t, t.narrow(2, 0, 2), t.narrow(2, 0, 2), {}, 0, true),
                     c10::ValueError);
        const Tensor three = at::zeros({1, 2, 3, 4});
        EXPECT_THROW(at::scaled_dot_product_attention(three, three, three, {}, 0, true), c10::ValueError);
      },
      {"cp", "other"});
}

}  // namespace
}  // namespace torch::distributed::tensor::experimental
