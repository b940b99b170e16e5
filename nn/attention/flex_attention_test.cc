// flex_attention and block masks, against attention whose scores are stored, and against what PyTorch 2.15 gives.
#include "nn/attention/flex_attention.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "aten/aten.h"
#include "aten/autocast/autocast.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/forward_ad.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/nested.h"
#include "c10/memory/cpu_allocator.h"
#include "c10/testing/message_of.h"
#include "func/transforms.h"
#include "func/vmap.h"

namespace torch::nn::attention {
namespace {

using at::Tensor;
using at::indexing::Slice;
using c10::testing::message_of;
using ::testing::HasSubstr;
using torch::autograd::gradcheck;
using torch::autograd::variable_list;

const double kInfinity = std::numeric_limits<double>::infinity();

Tensor random(at::IntArrayRef sizes, at::ScalarType dtype = at::kDouble) {
  return at::to(at::randn(sizes, at::TensorOptions(at::kDouble)), dtype);
}

struct Problem {
  const char* name;
  ScoreMod score_mod;
  MaskMod mask_mod;
  int64_t batch = 2, heads = 2, key_heads = 2, queries = 5, keys = 7;
  BlockSize block = {2, 3};
  int64_t mask_batch = 1, mask_heads = 1;
};

// What the header says, with all scores at once.
std::pair<Tensor, Tensor> stored(const Problem& p, const Tensor& q, const Tensor& key, const Tensor& value) {
  const int64_t group = q.size(1) / key.size(1);
  const Tensor k = key.repeat_interleave(group, 1), v = value.repeat_interleave(group, 1);
  const auto range = [](int64_t n, int64_t dim) { return detail::index_range(0, n, dim, at::kCPU); };
  const Tensor b = range(q.size(0), 0), h = range(q.size(1), 1), qi = range(q.size(2), 2), ki = range(k.size(2), 3);
  Tensor s = q.matmul(k.transpose(-2, -1)) * (1 / std::sqrt(static_cast<double>(q.size(3))));
  if (p.score_mod) s = p.score_mod(s, b, h, qi, ki);
  if (p.mask_mod) s = s.masked_fill(p.mask_mod(b, h, qi, ki).logical_not(), -kInfinity);
  const Tensor hidden = (s == -kInfinity).all(-1, true);
  const Tensor weights = s.masked_fill(hidden, 0).softmax(-1).masked_fill(hidden, 0);
  return {weights.matmul(v), s.logsumexp(at::IntArrayRef{-1})};
}

const MaskMod kCausal = [](auto&, auto&, auto& q, auto& k) { return q >= k; };
const MaskMod kWindow = [](auto&, auto&, auto& q, auto& k) { return (q - k).abs() <= 2; };
const MaskMod kPrefix = or_masks({kCausal, [](auto&, auto&, auto&, auto& k) { return k < 3; }});

std::vector<Problem> problems() {
  const Tensor document = torch::tensor({0, 0, 1, 1, 1, 2, 2, 2, 2});
  const Tensor lengths = torch::tensor({4, 0});
  const Tensor bias = random({3, 11, 13});
  const MaskMod same = [=](auto&, auto&, auto& q, auto& k) { return document.index({q}) == document.index({k}); };
  const ScoreMod alibi = [](auto& s, auto&, auto& h, auto& q, auto& k) {
    return s + (k - q) * at::exp2((h + 1) * -2.0);
  };
  std::vector<Problem> list{
      {"plain", {}, {}},
      {"causal", {}, kCausal},
      {"window", {}, kWindow},
      {"document", {}, same},
      {"documents and causal", {}, and_masks({same, kCausal})},
      {"prefix", {}, kPrefix},
      {"alibi", alibi, kCausal},
      {"softcap", [](auto& s, auto&, auto&, auto&, auto&) { return 2 * at::tanh(s / 2); }, {}},
      {"relative",
       [=](auto& s, auto&, auto& h, auto& q, auto& k) {
         return s + bias.index({h, q, k});
       },
       kWindow},
      {"lengths", {}, [=](auto& b, auto&, auto&, auto& k) { return k < lengths.index({b}); }},
      {"a mask a head", {}, [](auto&, auto& h, auto& q, auto& k) { return q + h >= k; }},
      {"empty rows", {}, [](auto&, auto&, auto& q, auto& k) { return at::logical_and(q % 2 == 0, k >= 0); }},
      {"score hides", [](auto& s, auto&, auto&, auto& q, auto& k) { return at::where(q >= k, s, -kInfinity); }, {}},
      {"nothing to see", {}, [](auto&, auto&, auto&, auto& k) { return k < 0; }},
  };
  list[9].mask_batch = 2;
  list[10].mask_heads = 2;
  // Grouped heads, one with masks of their own, and lengths that blocks do not divide.
  for (const size_t i : {size_t{1}, size_t{6}, size_t{10}}) {
    Problem grouped = list[i];
    grouped.heads = 4;
    if (grouped.mask_heads > 1) grouped.mask_heads = 4;
    list.push_back(grouped);
  }
  for (const size_t i : {size_t{0}, size_t{3}, size_t{6}}) {
    Problem odd = list[i];
    odd.queries = 9;
    odd.keys = 1;
    list.push_back(odd);
  }
  return list;
}

std::optional<BlockMask> mask_of(const Problem& p) {
  if (!p.mask_mod) return std::nullopt;
  return create_block_mask(p.mask_mod, p.mask_batch, p.mask_heads, p.queries, p.keys, at::kCPU, p.block);
}

TEST(FlexAttention, GivesWhatStoredScoresGive) {
  at::manual_seed(1);
  for (const Problem& p : problems()) {
    SCOPED_TRACE(p.name);
    const Tensor q = random({p.batch, p.heads, p.queries, 4}).requires_grad_();
    const Tensor k = random({p.batch, p.key_heads, p.keys, 4}).requires_grad_();
    const Tensor v = random({p.batch, p.key_heads, p.keys, 3}).requires_grad_();
    const auto [out, aux] = flex_attention(q, k, v, p.score_mod, mask_of(p), std::nullopt, true,
                                           AuxRequest{.lse = true, .max_scores = true});
    const auto [expected, lse] = stored(p, q, k, v);
    EXPECT_TRUE(at::allclose(out, expected, 1e-12, 1e-12)) << out << expected;
    EXPECT_TRUE(at::allclose(aux.lse, lse, 1e-12, 1e-12)) << aux.lse << lse;
    EXPECT_FALSE(aux.max_scores.requires_grad());
    const Tensor weight = random(out.sizes()), lse_weight = random(lse.sizes());
    const auto loss = [&](const Tensor& y, const Tensor& l) {
      return (y * weight).sum() + (l.masked_fill(l == -kInfinity, 0) * lse_weight).sum();
    };
    const variable_list got = autograd::grad({loss(out, aux.lse)}, {q, k, v});
    const variable_list wanted = autograd::grad({loss(expected, lse)}, {q, k, v});
    for (size_t i = 0; i < 3; ++i) {
      const Tensor expected_grad = wanted[i].nan_to_num(0);  // stored: NaN where a row of scores is minus infinity
      EXPECT_TRUE(at::allclose(got[i], expected_grad, 1e-11, 1e-11)) << i << got[i] << expected_grad;
    }
  }
}

TEST(FlexAttention, DerivativesAreThoseOfDifferences) {
  at::manual_seed(2);
  const std::vector<Problem> list = problems();
  // documents and causal, relative, empty rows, and a mask a head of grouped heads
  for (const size_t i : {4, 8, 11, 16}) {
    const Problem& p = list[i];
    SCOPED_TRACE(p.name);
    const std::optional<BlockMask> mask = mask_of(p);
    const auto f = [&](const variable_list& x) -> variable_list {
      return {flex_attention(x[0], x[1], x[2], p.score_mod, mask, 0.7, true)};
    };
    const auto result = gradcheck(f, {random({p.batch, p.heads, p.queries, 2}).requires_grad_(),
                                      random({p.batch, p.key_heads, p.keys, 2}).requires_grad_(),
                                      random({p.batch, p.key_heads, p.keys, 2}).requires_grad_()});
    EXPECT_TRUE(result.ok) << result.message;
  }
}

// Second derivatives, those of forward mode, and tangents of gradients; of what scores capture, too, in all its uses.
TEST(FlexAttention, DerivativesOfDerivatives) {
  at::manual_seed(11);
  const ScoreMod softcap = [](auto& s, auto&, auto&, auto&, auto&) { return 2 * at::tanh(s / 2); };
  Problem some{"softcap", softcap, [](auto&, auto&, auto& q, auto& k) { return at::logical_and(q >= k, q != 1); }};
  Problem grouped{"grouped", {}, [](auto&, auto& h, auto& q, auto& k) { return q + h >= k; }};
  grouped.heads = grouped.mask_heads = 4;
  for (Problem* p : {&some, &grouped}) {
    SCOPED_TRACE(p->name);
    p->batch = 1, p->queries = 3, p->keys = 4;
    const std::optional<BlockMask> mask = mask_of(*p);
    const auto f = [&](const variable_list& x) -> variable_list {
      const auto [out, aux] = flex_attention(x[0], x[1], x[2], p->score_mod, mask, 0.7, true, AuxRequest{.lse = true});
      return {out, aux.lse.masked_fill(aux.lse == -kInfinity, 0)};
    };
    const variable_list inputs{random({1, p->heads, 3, 2}).requires_grad_(), random({1, 2, 4, 2}).requires_grad_(),
                               random({1, 2, 4, 2}).requires_grad_()};
    const auto second = autograd::gradgradcheck(f, inputs, {.check_forward_ad = true});
    EXPECT_TRUE(second.ok) << second.message;
    const auto forward = gradcheck(f, inputs, {.check_forward_ad = true});
    EXPECT_TRUE(forward.ok) << forward.message;
  }
  const Tensor q = random({1, 2, 3, 2}), k = random({1, 2, 4, 2});
  const auto captures = [&](const variable_list& x) -> variable_list {
    const Tensor made = x[0] * x[0];
    const ScoreMod score = [=](auto& s, auto&, auto& h, auto& qi, auto&) {
      return s * made.index({h}) + x[1].index({h, qi}) * x[0].index({h});
    };
    return {flex_attention(q * x[0].sum(), k, at::sin(k), score, create_block_mask(kCausal, 1, 1, 3, 4, at::kCPU, 2))};
  };
  const variable_list inputs{random({2}).requires_grad_(), random({2, 3}).requires_grad_()};
  const auto second = autograd::gradgradcheck(captures, inputs, {.check_forward_ad = true});
  EXPECT_TRUE(second.ok) << second.message;
  const auto forward = gradcheck(captures, inputs, {.check_forward_ad = true});
  EXPECT_TRUE(forward.ok) << forward.message;
}

TEST(FlexAttention, UnderTransforms) {
  at::manual_seed(12);
  const Tensor q = random({3, 1, 2, 3, 2}), k = random({1, 2, 4, 2}), slopes = random({3, 2});
  const BlockMask mask = create_block_mask(kCausal, 1, 1, 3, 4, at::kCPU, 2);
  const auto one = [&](const Tensor& query, const Tensor& slope) {
    const ScoreMod score = [=](auto& s, auto&, auto& h, auto& qi, auto& ki) {
      return s + slope.index({h}) * (ki - qi);
    };
    return flex_attention(query, k, k, score, mask);
  };
  const auto loss = [&](const Tensor& query, const Tensor& slope) { return one(query, slope).pow(2).sum(); };
  const auto gradients = func::grad(loss, func::argnums<0, 1>);
  // Samples of both, of one alone, and their gradients; the second derivatives by both modes.
  const Tensor both = func::vmap(one)(q, slopes), captured = func::vmap(one, {std::nullopt, 0})(q[0], slopes);
  const auto [grad_q, grad_slope] = func::vmap(gradients)(q, slopes);
  const Tensor hessian = func::hessian(loss, func::argnums<1>)(q[0], slopes[0]);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(at::allclose(both[i], one(q[i], slopes[i]), 1e-12));
    EXPECT_TRUE(at::allclose(captured[i], one(q[0], slopes[i]), 1e-12));
    const auto [of_q, of_slope] = gradients(q[i], slopes[i]);
    EXPECT_TRUE(at::allclose(grad_q[i], of_q, 1e-11));
    EXPECT_TRUE(at::allclose(grad_slope[i], of_slope, 1e-11));
  }
  const Tensor x = slopes[0].clone().requires_grad_();
  const Tensor g = autograd::grad({loss(q[0], x)}, {x}, {}, {}, /*create_graph=*/true)[0];
  for (int64_t i = 0; i < 2; ++i)
    EXPECT_TRUE(at::allclose(hessian[i], autograd::grad({g[i]}, {x}, {}, /*retain_graph=*/true)[0], 1e-10));
}

TEST(FlexAttention, DifferentiatesWhatScoresCapture) {
  at::manual_seed(3);
  // A leaf, a result of the graph, one twice, and one that a part of the blocks uses.
  const Tensor slope = random({2}).requires_grad_(), table = random({5, 7}).requires_grad_();
  const Tensor late = random({}).requires_grad_(), q = random({1, 2, 5, 3}), k = random({1, 2, 7, 3}),
               v = random({1, 2, 7, 3});
  const BlockMask mask = create_block_mask(kCausal, 1, 1, 5, 7, at::kCPU, 2);
  const auto f = [&](const variable_list& x) -> variable_list {
    const Tensor squared = x[1] * x[1], tripled = x[0] * 3;
    const ScoreMod score_mod = [=](auto& s, auto&, auto& h, auto& qi, auto& ki) {
      Tensor t = s * tripled.index({h}) + squared.index({qi, ki}) + x[0].index({h});
      if (qi.min().template item<int64_t>() >= 4) t = t * x[2];
      return t;
    };
    return {flex_attention(q, k, v, score_mod, mask)};
  };
  const auto result = gradcheck(f, {slope, table, late});
  EXPECT_TRUE(result.ok) << result.message;
  // The graph behind lives until its own backward, and the gradient of another use is added.
  const Tensor y = f({slope, table, late})[0].sum() + slope.sum();
  y.backward();
  EXPECT_TRUE(slope.grad().defined() && table.grad().defined() && late.grad().defined());
  EXPECT_THAT(message_of([&] { y.backward(); }), HasSubstr("Trying to backward through the graph a second time"));
  // Hooks see the sum over the blocks, once.
  int64_t calls = 0;
  const Tensor made = slope * 1;
  made.register_hook([&](const Tensor&) { ++calls; });
  slope.register_hook([&](const Tensor&) { ++calls; });
  const ScoreMod scaled = [=](auto& s, auto&, auto& h, auto&, auto&) { return s * made.index({h}) + slope.index({h}); };
  flex_attention(q, k, v, scaled, mask).sum().backward();
  EXPECT_EQ(calls, 2);
  // What a function returns may be what it captured, or not depend on anything.
  const Tensor scores = random({1, 2, 5, 7}).requires_grad_();
  const Tensor y2 = flex_attention(q, k, v, [=](auto&, auto&, auto&, auto&, auto&) { return scores; });
  EXPECT_TRUE(at::allclose(autograd::grad({y2.select(-1, 0).sum()}, {scores})[0],
                           autograd::grad({scores.softmax(-1).matmul(v).select(-1, 0).sum()}, {scores})[0], 1e-10));
  const Tensor leaf = q.clone().requires_grad_();
  flex_attention(leaf, k, v, [](auto& s, auto&, auto&, auto&, auto&) { return at::zeros_like(s); }).sum().backward();
  EXPECT_TRUE(at::equal(leaf.grad(), at::zeros_like(q)));
}

TEST(FlexAttention, DifferentiatesWhatAnotherThreadMade) {
  const Tensor slope = torch::ones({2}, at::kDouble).requires_grad_();
  Tensor made;
  std::thread([&] {
    for (int i = 0; i < 50; ++i) (slope * 1).sum();  // numbers its nodes beyond this thread's
    made = slope * 2;
  }).join();
  const Tensor q = random({1, 2, 4, 3}), k = random({1, 2, 300, 3});
  const ScoreMod f = [&](auto& s, auto&, auto& h, auto&, auto&) { return s * made.index({h}); };
  const Tensor y = flex_attention(q, k, k, f, create_block_mask(noop_mask, 1, 1, 4, 300, at::kCPU, 2));
  y.sum().backward();
  const Problem same{"", [&](auto& s, auto&, auto& h, auto&, auto&) { return s * (slope * 2).index({h}); }, {}};
  const Tensor expected = autograd::grad({stored(same, q, k, k).first.sum()}, {slope})[0];
  EXPECT_TRUE(at::allclose(slope.grad(), expected, 1e-10)) << slope.grad() << expected;
}

TEST(FlexAttention, TakesLargeBlocksAndOtherDtypes) {
  at::manual_seed(4);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const Tensor q = random({1, 4, 300, 16}, dtype), k = random({1, 2, 700, 16}, dtype),
                 v = random({1, 2, 700, 8}, dtype);
    Problem p{"", [](auto& s, auto&, auto&, auto&, auto&) { return s * 0.5; }, kCausal};
    const Tensor expected = stored(p, q.to(at::kDouble), k.to(at::kDouble), v.to(at::kDouble)).first;
    for (const BlockSize block : {BlockSize(128), BlockSize(64, 200), BlockSize(1 << 30)}) {
      const Tensor y = flex_attention(
          q, k, v, p.score_mod,
          create_block_mask(kCausal, {}, {}, 300, 700, at::kCPU, block.query > 1000 ? BlockSize(512, 1024) : block), {},
          true);
      EXPECT_EQ(y.scalar_type(), dtype);
      const double bound = dtype == at::kFloat ? 1e-5 : dtype == at::kHalf ? 2e-3 : 2e-2;
      EXPECT_TRUE(at::allclose(y.to(at::kDouble), expected, bound, bound));
    }
  }
  // Without keys, queries, heads or batch there is nothing, or zeros.
  const auto of = [](int64_t b, int64_t h, int64_t l, int64_t s) {
    return flex_attention(at::ones({b, h, l, 2}), at::ones({b, h, s, 2}), at::ones({b, h, s, 3}));
  };
  EXPECT_TRUE(at::equal(of(1, 1, 2, 0), at::zeros({1, 1, 2, 3})));
  EXPECT_EQ(of(1, 1, 0, 2).sizes(), at::IntArrayRef({1, 1, 0, 3}));
  EXPECT_EQ(of(1, 0, 2, 2).sizes(), at::IntArrayRef({1, 0, 2, 3}));
  EXPECT_EQ(of(0, 1, 2, 2).sizes(), at::IntArrayRef({0, 1, 2, 3}));
}

TEST(FlexAttention, OneBatchOfKeysStandsForAll) {
  at::manual_seed(5);
  const Tensor q = random({3, 2, 4, 2}).requires_grad_(), k = random({1, 2, 5, 2}).requires_grad_();
  const Problem p{"", {}, [](auto& b, auto&, auto&, auto& ki) { return ki <= b; }};
  const BlockMask mask = create_block_mask(p.mask_mod, 3, 1, 4, 5, at::kCPU, 2);
  const Tensor y = flex_attention(q, k, k, {}, mask), expected = stored(p, q, k, k).first;
  EXPECT_TRUE(at::allclose(y, expected, 1e-12));
  const Tensor g = random(y.sizes());
  const variable_list got = autograd::grad({y}, {q, k}, {g}), wanted = autograd::grad({expected}, {q, k}, {g});
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::allclose(got[i], wanted[i], 1e-11, 1e-12));
}

// Scores of 2048 x 2048 in 2 heads are 32 MiB.
TEST(FlexAttention, MemoryIsThatOfBlocks) {
  const Tensor q = at::randn({1, 2, 2048, 16}).requires_grad_(), bias = at::zeros({2048}).requires_grad_();
  const BlockMask mask = create_block_mask(kCausal, 1, 1, 2048, 2048);
  const ScoreMod f = [&](auto& s, auto&, auto&, auto& qi, auto& ki) {
    return s + bias.index({(qi - ki).clamp_min(0)});
  };
  const auto peak_of = [](const auto& run) {
    c10::reset_peak_cpu_memory_stats();
    const int64_t before = c10::cpu_memory_stats().allocated_bytes;
    run();
    return c10::cpu_memory_stats().peak_allocated_bytes - before;
  };
  Tensor y;
  const int64_t mib = int64_t{1} << 20;
  const int64_t forward = peak_of([&] { y = flex_attention(q, q, q, f, mask); });
  const int64_t backward = peak_of([&] { y.sum().backward(); });
  const int64_t masks = peak_of([&] { create_block_mask(kCausal, 1, 1, 16384, 16384); });  // 256 MiB as a tensor
  RecordProperty("forward_bytes", std::to_string(forward));
  RecordProperty("backward_bytes", std::to_string(backward));
  std::cout << "peaks: forward " << forward / 1024 << " KiB, backward " << backward / 1024 << " KiB, mask "
            << masks / 1024 << " KiB\n";
  EXPECT_LT(forward, 5 * mib);
  EXPECT_LT(backward, 10 * mib);
  EXPECT_LT(masks, 5 * mib);
}

TEST(FlexAttention, SkipsBlocks) {
  int64_t calls = 0;
  const ScoreMod counted = [&](auto& s, auto&, auto&, auto&, auto&) {
    ++calls;
    return s;
  };
  const BlockMask mask = create_block_mask(kWindow, 1, 1, 1024, 1024);
  flex_attention(at::ones({1, 1, 1024, 4}), at::ones({1, 1, 1024, 4}), at::ones({1, 1, 1024, 4}), counted, mask);
  EXPECT_EQ(calls, 8);  // of 8 rows of up to three blocks side by side
  // full blocks do without the mask
  BlockMask wrong = create_block_mask(noop_mask, 1, 1, 256, 256);
  wrong.mask_mod = [](auto&, auto&, auto&, auto& k) { return k < 0; };
  EXPECT_TRUE(at::allclose(
      flex_attention(at::ones({1, 1, 256, 4}), at::ones({1, 1, 256, 4}), at::ones({1, 1, 256, 4}), {}, wrong),
      at::ones({1, 1, 256, 4})));
}

TEST(FlexAttention, JaggedTensorsAreTheirParts) {
  at::manual_seed(7);
  const auto jagged = [](std::vector<int64_t> lengths, int64_t heads, int64_t width) {
    std::vector<Tensor> parts;
    for (const int64_t n : lengths) parts.push_back(random({n, heads, width}));
    return nested::nested_tensor(parts, at::kJagged).transpose(1, 2).requires_grad_();
  };
  const Tensor q = jagged({3, 5, 1}, 4, 2), k = jagged({4, 2, 6}, 2, 2);
  const ScoreMod score = [](auto& s, auto& b, auto& h, auto& qi, auto& ki) { return s + 0.3 * b * (ki - qi) + h; };
  for (const bool masked : {false, true}) {
    const Problem p{"", score, masked ? kCausal : MaskMod()};
    const Tensor v = at::mul(k, 2);
    std::optional<BlockMask> mask;
    if (masked) mask = create_nested_block_mask(kCausal, 1, 1, q, k, 2);
    const auto [y, aux] = flex_attention(q, k, v, score, mask, std::nullopt, true, AuxRequest{.lse = true});
    EXPECT_EQ(y.layout(), at::kJagged);
    const variable_list grads = autograd::grad({y.values().sum()}, {q, k});
    const std::vector<Tensor> ys = y.unbind(), lses = aux.lse.unbind(), qs = q.unbind(), ks = k.unbind();
    const std::vector<Tensor> grad_qs = grads[0].unbind(), grad_ks = grads[1].unbind();
    for (size_t i = 0; i < ys.size(); ++i) {
      Problem part = p;  // whose batch index is i
      part.score_mod = [&, i](auto& s, auto& b, auto& h, auto& qi, auto& ki) {
        return score(s, b + static_cast<int64_t>(i), h, qi, ki);
      };
      const Tensor a = qs[i].detach().unsqueeze(0).requires_grad_(), b = ks[i].detach().unsqueeze(0).requires_grad_();
      const auto [expected, lse] = stored(part, a, b, b * 2);
      const variable_list wanted = autograd::grad({expected.sum()}, {a, b});
      EXPECT_TRUE(at::allclose(ys[i].unsqueeze(0), expected, 1e-11)) << i;
      EXPECT_TRUE(at::allclose(lses[i].unsqueeze(0), lse, 1e-11)) << i;
      EXPECT_TRUE(at::allclose(grad_qs[i].unsqueeze(0), wanted[0], 1e-10, 1e-11)) << i;
      EXPECT_TRUE(at::allclose(grad_ks[i].unsqueeze(0), wanted[1], 1e-10, 1e-11)) << i;
    }
  }
  const BlockMask mask = create_nested_block_mask(kCausal, 1, 1, q, k, 2);
  EXPECT_EQ(mask.shape(), (std::vector<int64_t>{1, 1, 9, 12}));
  EXPECT_THAT(message_of([&] {
                create_nested_block_mask(kCausal, 1, 1, q, jagged({2, 3}, 1, 1));
              }),
              HasSubstr("2 and 3"));
  EXPECT_THAT(message_of([&] { create_nested_block_mask(kCausal, 1, 1, at::ones({2})); }), HasSubstr("jagged layout"));
  EXPECT_THAT(message_of([&] { flex_attention(q, at::ones({3, 2, 4, 2}), k); }), HasSubstr("must all be jagged"));
}

TEST(FlexAttention, ModesOfTheThread) {
  at::manual_seed(8);
  const Tensor q = at::randn({1, 2, 4, 8}).requires_grad_(), k = at::randn({1, 2, 5, 8});
  Tensor y;
  {
    // Query, key and value are cast; what is computed of them is not, in backward neither.
    const torch::autocast region(at::kCPU, at::kBFloat16);
    const ScoreMod score = [](auto& s, auto&, auto&, auto&, auto&) {
      EXPECT_EQ(at::matmul(s, at::transpose(s, -2, -1)).scalar_type(), at::kFloat);
      return s;
    };
    y = flex_attention(q, k, k, score);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    y.sum().backward();
  }
  const Tensor b = q.detach().to(at::kBFloat16).to(at::kFloat).requires_grad_(), c = k.to(at::kBFloat16).to(at::kFloat);
  const Tensor expected = stored({"", {}, {}}, b, c, c).first;
  EXPECT_TRUE(at::allclose(y.to(at::kFloat), expected, 1e-2, 1e-2));
  EXPECT_TRUE(at::allclose(q.grad(), autograd::grad({expected.sum()}, {b})[0], 2e-2, 2e-2));
  {
    const at::NoGradGuard no_grad;
    EXPECT_FALSE(flex_attention(q, k, k).requires_grad());
  }
  {
    const at::InferenceMode inference;
    EXPECT_TRUE(flex_attention(q, k, k).is_inference());
  }
  const autograd::forward_ad::dual_level level;
  const Tensor dual = autograd::forward_ad::make_dual(q.detach(), at::ones_like(q));
  EXPECT_TRUE(autograd::forward_ad::unpack_dual(flex_attention(dual, k, k)).tangent.defined());
}

TEST(FlexAttention, Errors) {
  const Tensor q = at::ones({1, 2, 4, 8}), one = at::ones({1, 1, 4, 8});
  const auto error = [](auto... arguments) { return message_of([&] { flex_attention(arguments...); }); };
  EXPECT_EQ(error(q, at::ones({1, 2, 4, 4}), q),
            "Expect query and key/value to have the same embedding dimension but got E=8 and E=4.");
  EXPECT_EQ(error(q, one, one),
            "Expect query and key/value to have the same number of heads but got Hq=2 and Hkv=1. Try "
            "setting enable_gqa=True for GQA.");
  EXPECT_EQ(error(q[0], q[0], q[0]), "NYI: query, key, and value must be 4D tensors");
  EXPECT_THAT(error(at::ones({3, 2, 4, 8}), q, q), HasSubstr("Bq=3, and Bkv=1."));
  EXPECT_THAT(error(q, q, at::ones({1, 2, 5, 8})), HasSubstr("[1, 2, 4, 8] and [1, 2, 5, 8]"));
  EXPECT_THAT(error(q.to(at::kLong), q.to(at::kLong), q.to(at::kLong)), HasSubstr("not implemented for 'Long'"));
  const auto masked = [&](const BlockMask& mask) { return error(q, q, q, ScoreMod(), std::optional<BlockMask>(mask)); };
  EXPECT_THAT(masked(create_block_mask(kCausal, 1, 1, 3, 4)), HasSubstr("smaller length"));
  EXPECT_THAT(masked(create_block_mask(kCausal, 1, 1, 5, 4)), HasSubstr("larger length"));
  EXPECT_THAT(masked(create_block_mask(kCausal, 1, 3, 4, 4)), HasSubstr("does not broadcast"));
  EXPECT_THAT(masked(create_block_mask(kCausal, 1, 1, 4, 4).index({0})), HasSubstr("sliced BlockMask"));
  EXPECT_THAT(message_of([] { create_mask(MaskMod([](auto&, auto&, auto& a, auto&) { return a; }), 1, 1, 2, 2); }),
              HasSubstr("expected a result of bool, but got Long"));
}

std::vector<int64_t> numbers(const Tensor& t) {
  const Tensor c = t.to(at::kLong).contiguous();
  return {c.data_ptr<int64_t>(), c.data_ptr<int64_t>() + c.numel()};
}

using Values = std::vector<int64_t>;

TEST(BlockMask, ListsAndPictureArePyTorchs) {
  const BlockMask m = create_block_mask(kCausal, 2, 1, 300, 200, at::kCPU, {64, 32});
  EXPECT_EQ(
      m.str(),
      "BlockMask(shape=(2, 1, 300, 200), sparsity=25.71%, \n(0, 0)\n████          \n████████      \n████████████  "
      "\n██████████████\n██████████████\n\n(1, 0)\n████          \n████████      \n████████████  \n██████████████\n"
      "██████████████\n)");
  EXPECT_EQ(m.repr(),
            "BlockMask(\n    kv_num_blocks=torch.Size([2, 1, 5]),\n    kv_indices=torch.Size([2, 1, 5, 7]),\n"
            "    full_kv_num_blocks=torch.Size([2, 1, 5]),\n    full_kv_indices=torch.Size([2, 1, 5, 7]),\n"
            "    q_num_blocks=torch.Size([2, 1, 7]),\n    q_indices=torch.Size([2, 1, 7, 5]),\n"
            "    full_q_num_blocks=torch.Size([2, 1, 7]),\n    full_q_indices=torch.Size([2, 1, 7, 5]),\n"
            "    BLOCK_SIZE=(64, 32),\n    shape=(2, 1, 300, 200),\n    sparsity=25.71%\n)");
  EXPECT_EQ(m.numel(), 120000);
  EXPECT_EQ(m.to_string(2, 1),
            "(0, 0)\n░░░░\n████\n\n...\nTo print out more, set BlockMask.to_string(limit=N)\nYou can also "
            "index (BlockMask[batch, head]) to choose a specific batch or head");
  EXPECT_EQ(m.kv_num_blocks.scalar_type(), at::kInt);
  EXPECT_EQ(numbers(m.kv_num_blocks[0]), (Values{2, 2, 2, 1, 7}));
  EXPECT_EQ(numbers(m.full_kv_num_blocks[0]), (Values{0, 2, 4, 6, 0}));
  EXPECT_EQ(numbers(m.kv_indices[0][0][0]), (Values{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers(m.q_num_blocks[0]), (Values{2, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(numbers(m.q_indices[0][0][0]), (Values{0, 4, 1, 2, 3}));
  EXPECT_EQ(m.to_dense().sum().item<int64_t>(), 52);
  const BlockMask together = create_block_mask(kCausal, 2, 1, 300, 200, at::kCPU, {64, 32}, false);
  EXPECT_FALSE(together.full_kv_indices.defined());
  EXPECT_TRUE(at::equal(together.to_dense(), m.to_dense()));
}

TEST(BlockMask, SlicesAndAdjusts) {
  const BlockMask m = create_block_mask(kCausal, 2, 1, 300, 200, at::kCPU, {64, 32});
  EXPECT_EQ(m.index({0, 0}).shape(), (Values{1, 1, 300, 200}));
  EXPECT_EQ(m.index({-1}).shape(), (Values{1, 1, 300, 200}));
  EXPECT_EQ(m.index({Slice(), Slice(), 4}).shape(), (Values{2, 1, 44, 200}));
  EXPECT_EQ(m.index({Slice(), Slice(), Slice(1)}).shape(), (Values{2, 1, 236, 200}));
  EXPECT_EQ(m.index({Slice(), Slice(), torch::tensor({0, 4})}).shape(), (Values{2, 1, 128, 200}));
  EXPECT_EQ(numbers(m.index({0, 0, Slice(1, 3)}).full_kv_num_blocks), (Values{2, 4}));
  EXPECT_EQ(message_of([&] {
              m.index({0, 0, 0, 0});
            }),
            "BlockMask indexing supports batch, head, and Q-block dimensions");
  const BlockMask cut = m._adjust(200, 100);
  EXPECT_EQ(cut.shape(), (Values{2, 1, 200, 100}));
  EXPECT_EQ(numbers(cut.kv_num_blocks[0]), (Values{2, 2, 0, 0}));
  EXPECT_EQ(numbers(cut.full_kv_num_blocks[0]), (Values{0, 2, 4, 4}));
  // A slice of the queries, with a mask that knows where they begin, gives those rows of the whole.
  at::manual_seed(6);
  const Tensor q = random({2, 1, 300, 4}), k = random({2, 1, 200, 4});
  BlockMask rows = m.index({Slice(), Slice(), Slice(1, 3)});
  rows.mask_mod = [&](auto& b, auto& h, auto& qi, auto& ki) { return m.mask_mod(b, h, qi + 64, ki); };
  EXPECT_TRUE(at::allclose(flex_attention(q.slice(2, 64, 192), k, k, {}, rows),
                           flex_attention(q, k, k, {}, m).slice(2, 64, 192)));
}

TEST(BlockMask, FromLists) {
  const auto int32 = [](Tensor t) { return t.to(at::kInt); };
  const Tensor counts = int32(torch::tensor({1, 2}).view({1, 1, 2}));
  const Tensor indices = int32(torch::tensor({2, 0, 0, 0, 1, 0}).view({1, 1, 2, 3}));
  const BlockMask m = BlockMask::from_kv_blocks(counts, indices, {}, {}, 4);
  EXPECT_EQ(m.shape(), (Values{1, 1, 8, 12}));
  EXPECT_EQ(numbers(m.to_dense()), (Values{0, 0, 1, 1, 1, 0}));
  EXPECT_EQ(numbers(m.q_num_blocks), (Values{1, 1, 1}));
  EXPECT_EQ(numbers(m.q_indices), (Values{1, 0, 1, 0, 0, 1}));
  EXPECT_FALSE(m.full_q_indices.defined());
  EXPECT_FALSE(BlockMask::from_kv_blocks(counts, indices, {}, {}, 4, {}, {}, false).q_indices.defined());
  EXPECT_EQ(message_of([&] { BlockMask::from_kv_blocks(counts, indices, counts); }),
            "full_kv_num_blocks and full_kv_indices must be both provided or omitted");
  EXPECT_EQ(message_of([&] { BlockMask::from_kv_blocks(counts[0][0], counts[0][0]); }),
            "BlockMask must have at least 2 dimensions");
  // Rows of no order, of which those after the first are not read.
  const Tensor q = at::randn({1, 1, 8, 2}), k = at::randn({1, 1, 12, 2});
  const Problem p{"", {}, [](auto&, auto&, auto& qi, auto& ki) { return (qi < 4).logical_xor(ki < 8); }};
  EXPECT_TRUE(at::allclose(flex_attention(q, k, k, {}, m), stored(p, q, k, k).first, 1e-5, 1e-6));
}

TEST(Masks, CombineAndBecomeTensors) {
  const auto mask = [](const MaskMod& f) { return numbers(create_mask(f, {}, {}, 2, 3)); };
  const MaskMod first = [](auto&, auto&, auto&, auto& k) { return k == 0; };
  EXPECT_EQ(mask(kCausal), (Values{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(mask(noop_mask), (Values{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(mask(and_masks({kCausal, first})), (Values{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(mask(or_masks({first, kWindow})), (Values{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(mask(and_masks({})), (Values{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(mask(or_masks({})), (Values{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(create_mask(kCausal, 2, 3, 4, 5).sizes(), at::IntArrayRef({2, 3, 4, 5}));
  const ScoreMod hides = [](auto& s, auto&, auto&, auto& q, auto& k) { return at::where(q > k, s, -kInfinity); };
  EXPECT_EQ(numbers(create_mask(hides, {}, {}, 2, 3)), (Values{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(message_of([] { or_masks({MaskMod()}); }), "All inputs should be callable mask_mods, but one is empty");
}

}  // namespace
}  // namespace torch::nn::attention
