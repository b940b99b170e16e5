// varlen_attn against sequences one by one, whose scores are stored.
#include "nn/attention/varlen.h"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/testing/message_of.h"

namespace torch::nn::attention::varlen {
namespace {

using at::Tensor;
using c10::testing::message_of;
using ::testing::HasSubstr;
using torch::autograd::variable_list;

const double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<int64_t> kQueries{0, 3, 3, 7, 9}, kKeys{0, 5, 7, 7, 10};

Tensor random(at::IntArrayRef sizes) {
  return at::randn(sizes, at::TensorOptions(at::kDouble));
}
Tensor int32(const std::vector<int64_t>& values) {
  return torch::tensor(values).to(at::kInt);
}

// One sequence: [queries, Hq, D] to its result and lse [Hq, queries].
std::pair<Tensor, Tensor> stored(const Tensor& q, const Tensor& key, const Tensor& value,
                                 std::pair<int64_t, int64_t> window, double scale) {
  const int64_t group = q.size(1) / key.size(1), queries = q.size(0), keys = key.size(0);
  const Tensor k = key.repeat_interleave(group, 1).transpose(0, 1),
               v = value.repeat_interleave(group, 1).transpose(0, 1);
  Tensor s = q.transpose(0, 1).matmul(k.transpose(1, 2)) * scale;
  const Tensor after = at::arange(keys) - (at::arange(queries).unsqueeze(1) + (keys - queries));
  if (window.first >= 0) s = s.masked_fill(after < -window.first, -kInfinity);
  if (window.second >= 0) s = s.masked_fill(after > window.second, -kInfinity);
  const Tensor lse = s.logsumexp(at::IntArrayRef{-1}, true), none = lse == -kInfinity;
  return {(s - lse.masked_fill(none, 0)).exp().matmul(v).transpose(0, 1), lse.squeeze(-1)};
}

TEST(VarlenAttention, IsThatOfEachSequence) {
  at::manual_seed(1);
  const Tensor q = random({11, 4, 3}).requires_grad_(), k = random({10, 2, 3}).requires_grad_();
  const Tensor v = random({10, 2, 5}).requires_grad_();
  const std::pair<int64_t, int64_t> windows[] = {{-1, -1}, {-1, 0}, {2, 0}, {1, 2}, {0, -1}};
  for (const auto& window : windows) {
    const VarlenAttnOptions options{.scale = 0.6, .window_size = window, .enable_gqa = true};
    const auto [out, lse] = varlen_attn(q, k, v, int32(kQueries), int32(kKeys), 4, 5, AuxRequest{.lse = true}, options);
    EXPECT_EQ(out.sizes(), at::IntArrayRef({11, 4, 5}));
    EXPECT_EQ(lse.sizes(), at::IntArrayRef({4, 11}));
    std::vector<Tensor> outs, lses;
    for (size_t i = 0; i < 4; ++i) {
      const auto [o, l] = stored(q.slice(0, kQueries[i], kQueries[i + 1]), k.slice(0, kKeys[i], kKeys[i + 1]),
                                 v.slice(0, kKeys[i], kKeys[i + 1]), window, 0.6);
      outs.push_back(o);
      lses.push_back(l);
    }
    outs.push_back(at::zeros({2, 4, 5}, at::kDouble));  // queries of no sequence
    lses.push_back(at::full({4, 2}, -kInfinity, at::kDouble));
    const Tensor expected = at::cat(outs, 0);
    EXPECT_TRUE(at::allclose(out, expected, 1e-12)) << window.first << window.second << out << expected;
    EXPECT_TRUE(at::allclose(lse, at::cat(lses, 1), 1e-12)) << lse;
    const Tensor weight = random(out.sizes());
    const variable_list got = autograd::grad({out}, {q, k, v}, {weight});
    const variable_list wanted = autograd::grad({expected}, {q, k, v}, {weight});
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(at::allclose(got[i], wanted[i].nan_to_num(0), 1e-10, 1e-12)) << i;
    Tensor given = at::empty({11, 4, 5}, at::kDouble);
    const at::NoGradGuard no_grad;
    const Tensor same = std::get<0>(varlen_attn_out(given, q, k, v, int32(kQueries), int32(kKeys), 4, 5, {}, options));
    EXPECT_TRUE(same.is_same(given));
    EXPECT_TRUE(at::equal(given, out));
  }
  const Tensor half = varlen_attn(q.to(at::kHalf), k.to(at::kHalf), v.to(at::kHalf), int32(kQueries), int32(kKeys), 4,
                                  5, {.enable_gqa = true});
  EXPECT_EQ(half.scalar_type(), at::kHalf);
  EXPECT_EQ(varlen_attn(q, k, v, int32({0}), int32({0}), 0, 0, {.enable_gqa = true}).abs().sum().item<double>(), 0);
}

TEST(VarlenAttention, KeysInPages) {
  at::manual_seed(2);
  const Tensor q = random({5, 2, 3}), pool = random({6, 4, 2, 3}), values = random({6, 4, 2, 3});
  const Tensor table = int32({5, 1, 0, 2, 4, 3}).view({2, 3}), used = int32({6, 9}), begins = int32({0, 2, 5});
  VarlenAttnOptions options{.window_size = {-1, 0}, .seqused_k = used, .block_table = table};
  const Tensor paged = varlen_attn(q, pool, values, begins, {}, 3, 9, options);
  const auto pages = [&](const Tensor& t) {
    return at::cat({t[5], t[1].slice(0, 0, 2), t[2], t[4], t[3].slice(0, 0, 1)});
  };
  const Tensor packed =
      varlen_attn(q, pages(pool), pages(values), begins, int32({0, 6, 15}), 3, 9, {.window_size = {-1, 0}});
  EXPECT_TRUE(at::equal(paged, packed));
  // The first keys of each sequence alone.
  const Tensor k = random({9, 2, 3});
  const Tensor cut = varlen_attn(q, k, k, begins, int32({0, 4, 9}), 3, 5, {.seqused_k = int32({2, 5})});
  const Tensor packed_cut = varlen_attn(q, at::cat({k.slice(0, 0, 2), k.slice(0, 4)}),
                                        at::cat({k.slice(0, 0, 2), k.slice(0, 4)}), begins, int32({0, 2, 7}), 3, 5);
  EXPECT_TRUE(at::equal(cut, packed_cut));
  const auto error = [&](const VarlenAttnOptions& o, const Tensor& query) {
    return message_of([&] { varlen_attn(query, pool, values, begins, {}, 3, 9, o); });
  };
  EXPECT_EQ(error(options, q.clone().requires_grad_()), "seqused_k is an inference-only parameter.");
  options.seqused_k = int32({6, 13});
  EXPECT_THAT(error(options, q), HasSubstr("room for 12 keys"));
  options.seqused_k = {};
  EXPECT_THAT(error(options, q), HasSubstr("requires seqused_k"));
}

TEST(VarlenAttention, Errors) {
  const Tensor q = at::ones({4, 2, 3}), k = at::ones({4, 1, 3}), begins = int32({0, 1, 4});
  const auto error = [&](const Tensor& key, const Tensor& cu_q, const Tensor& cu_k, int64_t max_q,
                         const VarlenAttnOptions& o) {
    return message_of([&] { varlen_attn(q, key, key, cu_q, cu_k, max_q, 3, o); });
  };
  EXPECT_EQ(error(k, begins, begins, 3, {}),
            "Expect query and key/value to have the same number of heads but got Hq=2 and Hkv=1. Try setting "
            "enable_gqa=True for GQA.");
  EXPECT_EQ(error(q, begins, begins, 3, {.scale = 0}), "scale must be greater than 0, got 0");
  EXPECT_THAT(error(q, begins, begins, 2, {}), HasSubstr("max_q is 2"));
  EXPECT_THAT(error(q, begins, int32({0, 2}), 3, {}), HasSubstr("of 1 sequences"));
  EXPECT_THAT(error(q, begins, int32({0, 4, 4}), 3, {}), HasSubstr("max_k is 3"));
  EXPECT_THAT(error(q, int32({0, 3, 1}), begins, 3, {}), HasSubstr("falls after its entry 1"));
  EXPECT_THAT(error(q, int32({0, 3, 9}), begins, 9, {}), HasSubstr("at most 4"));
  EXPECT_THAT(error(q, at::ones({3}), begins, 3, {}), HasSubstr("int32 or int64, but got Float"));
  EXPECT_THAT(error(q[0], begins, begins, 3, {}), HasSubstr("3 dimensions"));
}

}  // namespace
}  // namespace torch::nn::attention::varlen
