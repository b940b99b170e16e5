// Nested tensors: layers, products, other geometries, and gradients.
#include <functional>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/nested.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using c10::testing::message_of;
using Tensors = std::vector<Tensor>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Tensor random(at::IntArrayRef sizes) {
  return at::randn(sizes, at::kDouble);
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(at::allclose(a, b)) << a << b;
}
void expect_parts(const Tensor& nested, const Tensors& parts) {
  ASSERT_TRUE(nested.is_nested());
  const Tensors own = nested.unbind();
  ASSERT_EQ(own.size(), parts.size());
  for (size_t i = 0; i < own.size(); ++i) expect_equal(own[i], parts[i]);
}

// f of a nested tensor gives what f of each part gives, and so do the gradients of the parts and of `shared`, which f
// may use.
using Function = std::function<Tensor(const Tensor&)>;
void expect_as_parts(const Tensors& values, const Tensors& shared, const Function& of_nested, const Function& of_part) {
  const auto leaves = [](const Tensors& from) {
    Tensors all;
    for (const Tensor& t : from) all.push_back(t.detach().requires_grad_());
    return all;
  };
  const auto gradients = [&](const Tensors& parts) {
    Tensors all;
    for (const Tensors& list : {parts, shared}) {
      for (const Tensor& t : list) {
        all.push_back(t.grad().defined() ? t.grad().clone() : at::zeros_like(t));
        if (t.grad().defined()) t.mutable_grad().reset();
      }
    }
    return all;
  };
  const Tensors one = leaves(values), each = leaves(values);
  const Tensor result = of_nested(torch::nested::as_nested_tensor(one));
  Tensors expected, weights;
  for (const Tensor& part : each) {
    expected.push_back(of_part(part));
    weights.push_back(random(expected.back().sizes()));
  }
  expect_parts(result, expected);
  ASSERT_TRUE(result.requires_grad());
  result.backward(torch::nested::nested_tensor(weights));
  const Tensors found = gradients(one);
  for (size_t i = 0; i < expected.size(); ++i) expected[i].backward(weights[i]);
  const Tensors right = gradients(each);
  for (size_t i = 0; i < right.size(); ++i) expect_equal(found[i], right[i]);
}

TEST(NestedGradients, FlowThroughConstructionPartsAndPadding) {
  const Tensor a = random({2}).requires_grad_(), b = random({3}).requires_grad_();
  const Tensor t = torch::nested::as_nested_tensor({a, b});
  EXPECT_FALSE(t.is_leaf());
  EXPECT_TRUE(t.requires_grad());
  t.backward(torch::nested::nested_tensor({at::ones_like(a), at::zeros_like(b)}));
  expect_equal(a.grad(), at::ones_like(a));
  expect_equal(b.grad(), at::zeros_like(b));

  const Tensor leaf = torch::nested::nested_tensor({a, b}, at::TensorOptions().requires_grad(true));
  EXPECT_TRUE(leaf.is_leaf());
  const Tensors parts = leaf.unbind();
  (parts[1] * 3).sum().backward();
  expect_parts(leaf.grad(), {at::zeros_like(a), at::full_like(b, 3)});
  (leaf * leaf).sum().backward();
  expect_parts(leaf.grad(), {a.detach() * 2, b.detach() * 2 + 3});

  leaf.mutable_grad().reset();
  const Tensor weight = random({2, 4});
  (leaf.to_padded_tensor(0, at::IntArrayRef({2, 4})) * weight).sum().backward();
  expect_parts(leaf.grad(), {weight[0].slice(0, 0, 2), weight[1].slice(0, 0, 3)});

  // From a padded tensor, and through other dtypes.
  const Tensor padded = random({2, 3}).requires_grad_();
  at::_nested_from_padded(padded, torch::tensor({{2}, {3}})).to(at::kFloat).sum().backward();
  expect_equal(padded.grad(), torch::tensor({{1., 1., 0.}, {1., 1., 1.}}, at::kDouble));
  // Through a buffer that two parts share.
  const Tensor buffer = random({3}).requires_grad_();
  at::_nested_view_from_buffer(buffer, torch::tensor({{2}, {2}}), torch::tensor({{1}, {1}}), torch::tensor({0, 1}))
      .sum()
      .backward();
  expect_equal(buffer.grad(), torch::tensor({1., 2., 1.}, at::kDouble));
  // Twice.
  const Tensor c = random({2}).requires_grad_();
  const Tensor squares = torch::nested::as_nested_tensor({c, c}).pow(3).sum();
  const Tensor first = torch::autograd::grad({squares}, {c}, {}, std::nullopt, true)[0];
  expect_equal(torch::autograd::grad({first.sum()}, {c})[0], c.detach() * 12);
}

TEST(NestedGradients, AreThoseOfThePartsElementByElement) {
  const Tensors values{random({2, 3}), random({4, 3})};
  for (const Function& f : std::vector<Function>{[](const Tensor& t) { return t.sin() * t + 2; },
                                                 [](const Tensor& t) { return at::relu(t) - t.exp(); },
                                                 [](const Tensor& t) { return at::gelu(t) / (t * t + 1); },
                                                 [](const Tensor& t) { return at::silu(t).tanh().neg(); },
                                                 [](const Tensor& t) { return t.clone().mul_(3).add_(t).relu_(); },
                                                 [](const Tensor& t) { return (t * 2).tanh_() * (t * 3).sigmoid_(); },
                                                 [](const Tensor& t) {
                                                   Tensor x = t * 1.5;
                                                   at::gelu_(x);
                                                   return at::silu_(x).clone();
                                                 },
                                                 [](const Tensor& t) { return t.masked_fill(t.gt(0), 1) * t; },
                                                 [](const Tensor& t) { return t.pow(2).contiguous(); }}) {
    expect_as_parts(values, {}, f, f);
  }
  // A dense tensor that is broadcast to the parts.
  const Tensor rows = random({2, 1, 3}).requires_grad_();
  const Tensor t = torch::nested::nested_tensor(values);
  (t * rows).sum().backward();
  expect_equal(rows.grad(), at::stack({values[0].sum(0, true), values[1].sum(0, true)}));
  // A leaf is not changed in place, and a kept value is not changed unseen.
  Tensor leaf = torch::nested::nested_tensor(values, at::TensorOptions().requires_grad(true));
  EXPECT_THROW(leaf.mul_(2), c10::Error);
  Tensor kept = leaf * 2;
  const Tensor product = (kept * kept).sum();
  kept.mul_(3);
  EXPECT_THROW(product.backward(), c10::Error);
}

TEST(NestedLayers, WorkOnEachPart) {
  const Tensors values{random({2, 3}), random({4, 3})};
  const Tensor weight = random({5, 3}).requires_grad_(), bias = random({5}).requires_grad_(),
               gain = random({3}).requires_grad_(), shift = random({3}).requires_grad_(),
               square = random({3, 3}).requires_grad_();
  const auto both = [&](const Function& f, const Tensors& shared) { expect_as_parts(values, shared, f, f); };
  both([&](const Tensor& t) { return at::linear(t, weight, bias); }, {weight, bias});
  both([&](const Tensor& t) { return at::linear(t, weight); }, {weight});
  both([&](const Tensor& t) { return at::layer_norm(t, {3}, gain, shift); }, {gain, shift});
  both([&](const Tensor& t) { return at::layer_norm(t, {3}); }, {});
  both([&](const Tensor& t) { return at::softmax(t, -1); }, {});
  both([&](const Tensor& t) { return at::log_softmax(t, -1); }, {});
  both([&](const Tensor& t) { return at::_softmax(t, -1, false); }, {});
  both([&](const Tensor& t) { return at::matmul(t, square); }, {square});
  both([&](const Tensor& t) { return t.sum(-1, true); }, {});
  both([&](const Tensor& t) { return t.mean(-1); }, {});
  // Along the dimension in which parts differ, and of parts that are not packed.
  expect_as_parts(
      values, {}, [](const Tensor& t) { return at::softmax(t, 1); }, [](const Tensor& t) { return at::softmax(t, 0); });
  expect_as_parts(
      values, {}, [](const Tensor& t) { return t.sum(1); }, [](const Tensor& t) { return t.sum(0); });
  expect_as_parts(
      values, {}, [](const Tensor& t) { return at::softmax(t.transpose(1, 2), 1); },
      [](const Tensor& t) { return at::softmax(t.t(), 0); });
  expect_as_parts(
      values, {weight},
      [&](const Tensor& t) { return at::linear(t.transpose(1, 2).contiguous().transpose(1, 2), weight); },
      [&](const Tensor& t) { return at::linear(t, weight); });
  expect_as_parts(
      values, {}, [](const Tensor& t) { return at::matmul(t, t.transpose(1, 2)); },
      [](const Tensor& t) { return at::matmul(t, t.t()); });
  expect_as_parts(
      values, {}, [](const Tensor& t) { return at::bmm(t, t.transpose(1, 2)); },
      [](const Tensor& t) { return at::mm(t, t.t()); });
  expect_as_parts(
      {random({2, 3, 4}), random({2, 5, 4})}, {},
      [](const Tensor& t) { return at::scaled_dot_product_attention(t, t * 2, t.sin(), {}, 0, true); },
      [](const Tensor& t) { return at::scaled_dot_product_attention(t, t * 2, t.sin(), {}, 0, true); });

  const Tensor t = torch::nested::nested_tensor(values);
  const Tensor dense = random({2, 3, 2});
  expect_parts(at::matmul(t, dense), {at::mm(values[0], dense[0]), at::mm(values[1], dense[1])});
  expect_parts(at::bmm(t, dense), {at::mm(values[0], dense[0]), at::mm(values[1], dense[1])});
  const auto [normed, mean, rstd] = at::native_layer_norm(t, {3}, gain, shift, 1e-5);
  expect_equal(mean, at::cat(values).mean(-1));
  EXPECT_EQ(rstd.sizes(), at::IntArrayRef({6}));
  const Tensor table = random({7, 2}).requires_grad_();
  const Tensor words = torch::nested::nested_tensor({torch::tensor({1, 2}), torch::tensor({6})});
  const Tensor vectors = at::embedding(table, words);
  expect_parts(vectors, {at::embedding(table, words[0]), at::embedding(table, words[1])});
  vectors.sum().backward();
  EXPECT_EQ(table.grad().sum().item<double>(), 6);
  expect_equal(at::_nested_tensor_softmax_with_shape(
                   at::zeros({2, 1, 2, 2}), torch::nested::nested_tensor({at::ones({1, 3}), at::ones({2, 3})})),
               torch::tensor({1.f, 0.f, 0.f, 0.f, .5f, .5f, .5f, .5f}).reshape({2, 1, 2, 2}));
  expect_equal(t.sum(), at::cat(values).sum());
  expect_equal(t.mean(), at::cat(values).mean());
}

// What a padding mask leaves of each sequence is what an encoder layer makes of it.
TEST(NestedLayers, EncodeEachSequence) {
  const Tensor w = random({12, 4}), b = random({12}), wo = random({4, 4}), bo = random({4}), n = random({4});
  const Tensor up = random({6, 4}), down = random({4, 6}), c = random({6});
  for (const bool norm_first : {false, true}) {
    const Function layer = [&](const Tensor& t) {
      return at::_transformer_encoder_layer_fwd(t, 4, 2, w, b, wo, bo, true, norm_first, 1e-5, n, bo, n, bo, up, c,
                                                down, bo);
    };
    expect_as_parts({random({3, 4}), random({1, 4}), random({5, 4})}, {}, layer,
                    [&](const Tensor& t) { return layer(t.unsqueeze(0)).squeeze(0); });
  }
}

TEST(NestedLayers, BadArgumentsAreRefused) {
  const Tensor t = torch::nested::nested_tensor({random({2, 3}), random({4, 3})});
  const auto fails = [](const std::function<void()>& call, const char* text) {
    EXPECT_TRUE(contains(message_of(call), text)) << message_of(call);
  };
  fails(
      [&] {
        at::linear(t, random({2, 4}));
      },
      "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim'");
  fails([&] { at::linear(random({2, 3}), t); }, "nested input and dense weights");
  fails([&] { at::softmax(t, 0); }, "Cannot apply softmax across nested dimension 0");
  fails([&] { at::softmax(t, 3); }, "Dimension out of range");
  fails([&] { at::layer_norm(t, {4}); }, "normalized_shape");
  fails([&] { at::layer_norm(t, {4, 3}); }, "normalized_shape");
  fails([&] { at::matmul(t, t); }, "mat1 and mat2 shapes cannot be multiplied");
  fails([&] { at::matmul(t, random({3, 3, 2})); }, "does not go with 2 parts");
  fails([&] { at::_native_multi_head_attention(t, t, t, 3, 1, t, t, t, t, random({2, 2}), false); }, "no mask");
  fails([&] { at::_native_multi_head_attention(t, t, t, 3, 1, t, t, t, t); }, "need_weights");
  fails([&] { at::scaled_dot_product_attention(t, t, random({2, 3})); }, "to be nested, or none");
  fails([&] { at::scaled_dot_product_attention(t, t, t, random({2, 2})); }, "no mask");
  fails([&] { t.sum(0); }, "not along dimension 0");
  fails([&] { t.transpose(0, 1); }, "Nested tensor dimension 0 cannot be transposed");
  fails([&] { t.view({3, -1}); }, "view: For now nested view cannot change or infer the implicit batch dimension");
  fails([&] { t.transpose(1, 2).view({2, 6}); }, "is invalid for input of size");
  fails([&] { t.unsqueeze(0); }, "unsqueezing dimension 0 is not supported");
  fails([&] { t.squeeze(0); }, "squeezing dimension 0 is not supported");
  fails([&] { t.chunk(2, 1); }, "irregular");
  fails([&] { t.split_with_sizes({1, 1}, 2); }, "sum exactly to 3");
  fails([&] { t.split_with_sizes({1, INT64_MAX, 2}, 2); }, "add up to 3");
  fails([&] { at::cat({t, random({2, 3, 3})}); }, "to be nested");
  fails([&] { at::cat({t, t[0]}); }, "to be nested");
}

TEST(NestedViews, ShareTheBuffer) {
  const Tensors values{random({2, 4}), random({3, 4})};
  const Tensor t = torch::nested::nested_tensor(values);
  expect_parts(t.transpose(1, 2), {values[0].t(), values[1].t()});
  EXPECT_TRUE(t.transpose(1, -1).is_alias_of(t));
  EXPECT_FALSE(t.transpose(1, 2).is_contiguous());
  EXPECT_EQ(t.transpose(1, 2).sizes(), at::IntArrayRef({2, 4, -1}));
  expect_parts(t.view({2, -1, 2, 2}), {values[0].view({2, 2, 2}), values[1].view({3, 2, 2})});
  expect_parts(t.reshape({2, -1, 4, 1}), {values[0].view({2, 4, 1}), values[1].view({3, 4, 1})});
  expect_parts(t.transpose(1, 2).reshape({2, 2, 2, -1}),
               {values[0].t().reshape({2, 2, 2}), values[1].t().reshape({2, 2, 3})});
  expect_parts(t.unsqueeze(1), {values[0].unsqueeze(0), values[1].unsqueeze(0)});
  expect_parts(t.unsqueeze(-1).squeeze(-1), values);
  expect_parts(t.squeeze(1), values);
  const std::vector<Tensor> halves = t.chunk(2, -1), pieces = t.split_with_sizes({1, 3}, -1);
  expect_parts(halves[1], {values[0].slice(1, 2), values[1].slice(1, 2)});
  expect_parts(pieces[1], {values[0].slice(1, 1), values[1].slice(1, 1)});
  EXPECT_TRUE(pieces[0].is_alias_of(t));
  expect_equal(t.values(), at::cat({values[0].flatten(), values[1].flatten()}));
  expect_parts(at::cat({t, t}), {values[0], values[1], values[0], values[1]});
  expect_parts(at::cat({t, t}, 2), {at::cat({values[0], values[0]}, 1), at::cat({values[1], values[1]}, 1)});
  const auto same = [&](const Function& of_nested, const Function& of_part) {
    expect_as_parts(values, {}, of_nested, of_part);
  };
  same([](const Tensor& x) { return x.transpose(1, 2) * 2; }, [](const Tensor& x) { return x.t() * 2; });
  same([](const Tensor& x) { return x.select(2, 1).sin(); }, [](const Tensor& x) { return x.select(1, 1).sin(); });
  same([](const Tensor& x) { return x.chunk(2, -1)[1] * x.chunk(2, -1)[0]; },
       [](const Tensor& x) { return x.slice(1, 2) * x.slice(1, 0, 2); });
  same(
      [](const Tensor& x) {
        return x.reshape({2, -1, 2, 2}).unsqueeze(2);
      },
      [](const Tensor& x) {
        return x.reshape({-1, 2, 2}).unsqueeze(1);
      });
  same([](const Tensor& x) { return at::cat({x, x * 2}, 1); }, [](const Tensor& x) { return at::cat({x, x * 2}, 0); });
}

}  // namespace
