// Derivatives, first and second, of the matrix, convolution, pooling, padding and attention families.
#include <functional>
#include <string>
#include <vector>

#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pool/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "gtest/gtest.h"

namespace torch::autograd {
namespace {

using namespace at;
using List = variable_list;

Tensor leaf(std::vector<int64_t> sizes, ScalarType dtype = kDouble) {
  Tensor t = at::randn(sizes, TensorOptions().dtype(dtype));
  t.set_requires_grad(true);
  return t;
}

struct Case {
  std::string name;
  std::function<List(const List&)> f;
  std::vector<std::vector<int64_t>> sizes;
  bool complex = false;
};

std::vector<Case> cases() {
  std::vector<Case> c = {
      {"mm", [](const List& v) { return List{at::mm(v[0], v[1])}; }, {{2, 3}, {3, 4}}, true},
      {"bmm", [](const List& v) { return List{at::bmm(v[0], v[1])}; }, {{2, 2, 3}, {2, 3, 4}}, true},
      {"addmm", [](const List& v) { return List{at::addmm(v[0], v[1], v[2], 0.5, 2)}; }, {{4}, {2, 3}, {3, 4}}, true},
      {"baddbmm", [](const List& v) { return List{at::baddbmm(v[0], v[1], v[2], 0.5, 2)}; }, {{2, 1}, {2, 2, 3}, {2, 3, 4}}, true},
      {"addbmm", [](const List& v) { return List{at::addbmm(v[0], v[1], v[2], 0.5, 2)}; }, {{2, 1}, {2, 2, 3}, {2, 3, 4}}, true},
      {"addmv", [](const List& v) { return List{at::addmv(v[0], v[1], v[2], 0.5, 2)}; }, {{2}, {2, 3}, {3}}, true},
      {"mv", [](const List& v) { return List{at::mv(v[0], v[1])}; }, {{2, 3}, {3}}, true},
      {"dot", [](const List& v) { return List{at::dot(v[0], v[1])}; }, {{3}, {3}}, true},
      {"vdot", [](const List& v) { return List{at::vdot(v[0], v[1])}; }, {{3}, {3}}, true},
      {"addr", [](const List& v) { return List{at::addr(v[0], v[1], v[2], 0.5, 2)}; }, {{2, 3}, {2}, {3}}, true},
      {"outer", [](const List& v) { return List{at::outer(v[0], v[1])}; }, {{2}, {3}}, true},
      {"inner", [](const List& v) { return List{at::inner(v[0], v[1])}; }, {{2, 3}, {4, 3}}},
      {"kron", [](const List& v) { return List{at::kron(v[0], v[1])}; }, {{2, 3}, {2, 2}}},
      {"tensordot", [](const List& v) { return List{at::tensordot(v[0], v[1], {1}, {0})}; }, {{2, 3}, {3, 2}}},
      {"cross", [](const List& v) { return List{at::cross(v[0], v[1])}; }, {{2, 3}, {2, 3}}},
      {"bilinear", [](const List& v) { return List{at::bilinear(v[0], v[1], v[2], v[3])}; }, {{2, 3}, {2, 2}, {2, 3, 2}, {2}}},
      {"chain_matmul", [](const List& v) { return List{at::chain_matmul({v[0], v[1], v[2]})}; }, {{2, 3}, {3, 2}, {2, 2}}},
      {"linear", [](const List& v) { return List{at::linear(v[0], v[1], v[2])}; }, {{2, 2, 3}, {4, 3}, {4}}, true},
      {"linear of a vector", [](const List& v) { return List{at::linear(v[0], v[1])}; }, {{2, 3}, {3}}},
      {"matmul 1x3", [](const List& v) { return List{at::matmul(v[0], v[1])}; }, {{3}, {2, 3, 2}}},
      {"matmul 4x3", [](const List& v) { return List{at::matmul(v[0], v[1])}; }, {{2, 1, 2, 3}, {2, 3, 2}}},
      {"conv1d", [](const List& v) { return List{at::conv1d(v[0], v[1], v[2], 2, 1)}; }, {{2, 2, 5}, {2, 2, 3}, {2}}},
      {"conv2d", [](const List& v) { return List{at::conv2d(v[0], v[1], v[2], {1, 2}, 1, {2, 1})}; }, {{1, 2, 4, 5}, {2, 2, 2, 3}, {2}}},
      {"conv2d groups", [](const List& v) { return List{at::conv2d(v[0], v[1], {}, 1, 1, 1, 2)}; }, {{2, 2, 3, 3}, {2, 1, 2, 2}}},
      {"conv2d same", [](const List& v) { return List{at::conv2d(v[0], v[1], {}, 1, "same")}; }, {{1, 1, 3, 3}, {1, 1, 2, 3}}},
      {"conv3d", [](const List& v) { return List{at::conv3d(v[0], v[1], v[2])}; }, {{1, 1, 2, 3, 2}, {2, 1, 2, 2, 1}, {2}}},
      {"conv_transpose2d", [](const List& v) { return List{at::conv_transpose2d(v[0], v[1], v[2], 2, 1, 1)}; }, {{1, 2, 2, 3}, {2, 2, 2, 2}, {2}}},
      {"conv_tbc", [](const List& v) { return List{at::conv_tbc(v[0], v[1], v[2], 1)}; }, {{3, 2, 2}, {2, 2, 2}, {2}}},
      {"max_pool1d", [](const List& v) { return List{at::max_pool1d(v[0], 2)}; }, {{2, 2, 5}}},
      {"max_pool2d", [](const List& v) { return List{at::max_pool2d(v[0], {2, 3}, {1, 2}, {1, 1})}; }, {{1, 2, 4, 5}}},
      {"max_pool3d", [](const List& v) { return List{at::max_pool3d(v[0], 2)}; }, {{1, 2, 2, 4, 3}}},
      {"avg_pool1d", [](const List& v) { return List{at::avg_pool1d(v[0], 2, 1, 1)}; }, {{2, 2, 5}}},
      {"avg_pool2d", [](const List& v) { return List{at::avg_pool2d(v[0], {2, 3}, {1, 2}, {1, 1}, true, false)}; }, {{1, 2, 4, 5}}},
      {"avg_pool3d", [](const List& v) { return List{at::avg_pool3d(v[0], 2)}; }, {{1, 2, 2, 4, 3}}},
      {"adaptive_avg_pool1d", [](const List& v) { return List{at::adaptive_avg_pool1d(v[0], 3)}; }, {{2, 2, 5}}},
      {"adaptive_avg_pool2d", [](const List& v) { return List{at::adaptive_avg_pool2d(v[0], {2, 3})}; }, {{1, 2, 4, 5}}},
      {"adaptive_avg_pool3d", [](const List& v) { return List{at::adaptive_avg_pool3d(v[0], {1, 2, 2})}; }, {{1, 2, 2, 3, 3}}},
      {"adaptive_max_pool2d", [](const List& v) { return List{std::get<0>(at::adaptive_max_pool2d(v[0], {2, 3}))}; }, {{1, 2, 4, 5}}},
      {"adaptive_max_pool3d", [](const List& v) { return List{std::get<0>(at::adaptive_max_pool3d(v[0], {1, 2, 2}))}; }, {{1, 2, 2, 3, 3}}},
      {"max_unpool2d", [](const List& v) {
         const Tensor index = at::arange(0, 16, 4, TensorOptions().dtype(kLong));
         return List{at::max_unpool2d(v[0], at::reshape(index, {1, 1, 2, 2}), {4, 4})};
       }, {{1, 1, 2, 2}}},
      {"constant_pad_nd", [](const List& v) { return List{at::constant_pad_nd(v[0], {1, 2, -1, 1}, 3)}; }, {{2, 3, 2}}, true},
      {"pad circular", [](const List& v) { return List{at::pad(v[0], {1, 2, 2, 1}, "circular")}; }, {{1, 3, 3}}},
  };
  for (const char* mode : {"reflect", "replicate"}) {
    c.push_back({std::string("pad 1d ") + mode, [mode](const List& v) { return List{at::pad(v[0], {1, 2}, mode)}; }, {{2, 3}}, true});
    c.push_back({std::string("pad 2d ") + mode, [mode](const List& v) { return List{at::pad(v[0], {1, 2, 1, 1}, mode)}; }, {{2, 3, 3}}});
    c.push_back({std::string("pad 3d ") + mode, [mode](const List& v) { return List{at::pad(v[0], {1, 0, 0, 1, 1, 1}, mode)}; }, {{1, 2, 2, 2}}});
  }
  auto attention = [&](const char* name, std::function<Tensor(const List&)> f, std::vector<std::vector<int64_t>> sizes) {
    c.push_back({name, [f](const List& v) { return List{f(v)}; }, std::move(sizes)});
  };
  attention("attention", [](const List& v) { return at::scaled_dot_product_attention(v[0], v[1], v[2]); }, {{1, 2, 3, 2}, {1, 2, 4, 2}, {1, 2, 4, 3}});
  attention("attention causal", [](const List& v) { return at::scaled_dot_product_attention(v[0], v[1], v[2], {}, 0, true, 0.7); }, {{1, 2, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}});
  attention("attention grouped", [](const List& v) { return at::scaled_dot_product_attention(v[0], v[1], v[2], {}, 0, false, std::nullopt, true); }, {{1, 4, 2, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}});
  attention("attention with a learned mask", [](const List& v) { return at::scaled_dot_product_attention(v[0], v[1], v[2], v[3]); }, {{2, 3, 2}, {2, 4, 2}, {2, 4, 3}, {3, 4}});
  attention("attention with a boolean mask", [](const List& v) {
    const Tensor flags = at::reshape(at::to(at::arange(0, 12, 1, TensorOptions().dtype(kLong)), kBool), {3, 4});
    return at::scaled_dot_product_attention(v[0], v[1], v[2], flags);
  }, {{2, 3, 2}, {2, 4, 2}, {2, 4, 3}});
  attention("attention with dropout", [](const List& v) {
    at::manual_seed(3);
    return at::scaled_dot_product_attention(v[0], v[1], v[2], {}, 0.4);
  }, {{1, 1, 3, 2}, {1, 1, 4, 2}, {1, 1, 4, 3}});
  return c;
}

TEST(MatrixGradients, FirstAndSecondDerivatives) {
  at::manual_seed(1);
  for (const Case& c : cases()) {
    for (ScalarType dtype : {kDouble, kComplexDouble}) {
      if (dtype == kComplexDouble && !c.complex) continue;
      List inputs;
      for (const auto& s : c.sizes) inputs.push_back(leaf(s, dtype));
      try {
        const GradcheckResult first = gradcheck(c.f, inputs);
        EXPECT_TRUE(first.ok) << c.name << ": " << first.message;
        if (!first.ok) continue;
        const GradcheckResult second = gradgradcheck(c.f, inputs);
        EXPECT_TRUE(second.ok) << c.name << " (second derivative): " << second.message;
      } catch (const std::exception& e) {
        ADD_FAILURE() << c.name << ": " << e.what();
      }
    }
  }
}

// Recording the backward pass must not change the fused attention's gradient.
TEST(MatrixGradients, AttentionWithAndWithoutRecording) {
  at::manual_seed(2);
  const Tensor q = leaf({2, 4, 5, 3}), k = leaf({2, 2, 6, 3}), v = leaf({2, 2, 6, 3});
  const auto out = at::_fused_attention(q, k, v, std::nullopt, 0.3, false, 0.5, 7);
  const Tensor grad = at::randn(std::get<0>(out).sizes(), TensorOptions().dtype(kDouble));
  const List plain = torch::autograd::grad({std::get<0>(out)}, {q, k, v}, {grad}, true, false, false);
  const List recorded = torch::autograd::grad({std::get<0>(out)}, {q, k, v}, {grad}, true, true, false);
  for (size_t i = 0; i < 3; ++i) {
    const Tensor a = plain[i], b = recorded[i];
    EXPECT_TRUE(at::allclose(a, b, 1e-10, 1e-12)) << i;
    EXPECT_TRUE(b.requires_grad());
    EXPECT_FALSE(a.requires_grad());
  }
}

// Gradients of the parts of one tensor, which lie in one themselves, and may be held by others.
TEST(MatrixGradients, AttentionOfThirds) {
  at::manual_seed(3);
  const auto heads = [](const Tensor& t) { return at::transpose(at::view(t, {2, 5, 2, 4}), 1, 2); };
  const auto attend = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return std::get<0>(at::_fused_attention(heads(q), heads(k), heads(v), std::nullopt, 0, true, 0.5, 0));
  };
  const Tensor all = leaf({2, 5, 24}), grad = at::randn({2, 2, 5, 4}, TensorOptions().dtype(kDouble));
  for (const bool held : {false, true}) {
    const std::vector<Tensor> parts = at::chunk(all, 3, -1);
    Tensor seen;
    if (held) Tensor(parts[1]).register_hook([&](Tensor g) { seen = g; });
    const Tensor joined = torch::autograd::grad({attend(parts[0], parts[1], parts[2])}, {all}, {grad})[0];
    List apart;
    for (const Tensor& part : parts) {
      const Tensor copy = at::clone(part.detach(), MemoryFormat::Contiguous);
      apart.push_back(copy.requires_grad_(true));
    }
    const List expected = torch::autograd::grad({attend(apart[0], apart[1], apart[2])}, apart, {grad});
    EXPECT_TRUE(at::allclose(joined, at::cat(expected, -1), 1e-12, 1e-12));
    EXPECT_EQ(joined.strides(), all.strides());
    EXPECT_EQ(joined.is_view(), !held) << "whether nothing was copied";
    if (!held) continue;
    // What a hook keeps is not changed by what becomes of the whole.
    const Tensor kept = at::clone(seen, MemoryFormat::Contiguous);
    Tensor whole = joined;
    at::zero_(whole);
    EXPECT_TRUE(at::allclose(seen, kept, 0, 0));
  }
}

}  // namespace
}  // namespace torch::autograd
