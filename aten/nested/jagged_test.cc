// Nested tensors of the jagged layout: what they are, and each operator against what it gives for each part.
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/core/printing.h"
#include "aten/core/tensor_indexing.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/nested.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using c10::testing::message_of;
using Tensors = std::vector<Tensor>;
using torch::nested::nested_tensor_from_jagged;

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-8, /*equal_nan=*/true)) << a << b;
}
void expect_parts(const Tensor& nested, const Tensors& parts) {
  ASSERT_TRUE(nested.is_nested());
  EXPECT_EQ(nested.layout(), at::kJagged);
  const Tensors own = nested.unbind();
  ASSERT_EQ(own.size(), parts.size());
  for (size_t i = 0; i < own.size(); ++i) expect_equal(own[i], parts[i]);
}
void expect_error(const std::function<void()>& call, const char* text) {
  const std::string message = message_of(call);
  EXPECT_NE(message.find(text), std::string::npos) << "expected: " << text << "\nbut got: " << message;
}

// How a sample is cut, and where its dimensions are: `parts_off` is what to take off a dimension of the nested tensor
// to have that of a part.
struct Where {
  int64_t ragged, dense, parts_off;
};
using Function = std::function<Tensor(const Tensor&, const Where&)>;

struct Sample {
  Tensor values, offsets, lengths;
  int64_t ragged;
  std::vector<int64_t> begin, length;

  Tensor nested(const Tensor& of) const {
    const auto given = lengths.defined() ? std::optional<Tensor>(lengths) : std::nullopt;
    return nested_tensor_from_jagged(of, offsets, given, ragged);
  }
  Tensors parts(const Tensor& of) const {
    Tensors all;
    for (size_t i = 0; i < begin.size(); ++i) all.push_back(of.narrow(ragged - 1, begin[i], length[i]));
    return all;
  }
  // Of a tensor of three dimensions, of a part of two.
  Where where(bool part) const { return {ragged - part, 3 - ragged - part, part}; }
};

int64_t below(int64_t n) {
  return at::randint(n, {1}).item<int64_t>();
}

// Parts of 0 to 4 places, with holes or without, values of 4 in the other dimension.
Sample sample(int64_t parts, int64_t ragged, bool holes, at::ScalarType dtype = at::kDouble) {
  Sample s;
  s.ragged = ragged;
  std::vector<int64_t> places;
  int64_t next = holes ? below(2) : 0;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t length = below(5), step = length + (holes ? below(3) : 0);
    s.begin.push_back(next);
    s.length.push_back(length);
    places.push_back(next);
    next += step;
  }
  places.push_back(next);
  s.offsets = torch::tensor(places, below(2) == 0 ? at::kLong : at::kInt);
  if (holes) s.lengths = torch::tensor(s.length, at::kLong);
  const int64_t size = next + (holes ? 1 : 0);
  Tensor values = at::randn({size, 4}, at::kDouble).mul(3).to(dtype);
  s.values = ragged == 1 ? values : values.t();
  return s;
}

std::vector<Sample> samples(int64_t ragged_dims = 2) {
  std::vector<Sample> all;
  for (int64_t ragged = 1; ragged <= ragged_dims; ++ragged) {
    for (const int64_t parts : {0, 1, 3, 5}) {
      for (const bool holes : {false, true}) all.push_back(sample(parts, ragged, holes));
    }
  }
  return all;
}

// The parts of a result, jagged or dense.
Tensors parts_of(const Tensor& t) {
  return t.unbind();
}

Tensor weighted(const Tensors& parts, const Tensors& weights) {
  Tensor sum = at::zeros({}, at::kDouble);
  for (size_t i = 0; i < parts.size(); ++i) sum = sum + (parts[i] * weights[i]).sum();
  return sum;
}

// f of a jagged tensor gives what f of each part gives, and so do the gradients of the values and of `shared`, which f
// may use.
void check(const Sample& s, const Function& f, const Tensors& shared = {}) {
  const Tensor one = s.values.detach().requires_grad_(), each = s.values.detach().requires_grad_();
  const auto gradients = [&](const Tensor& values, const Tensor& loss) {
    Tensors all, inputs{values};
    inputs.insert(inputs.end(), shared.begin(), shared.end());
    if (!loss.requires_grad()) return Tensors();
    for (const Tensor& g : torch::autograd::grad({loss}, inputs, {}, std::nullopt, false, /*allow_unused=*/true)) {
      all.push_back(g.defined() ? g : at::zeros_like(inputs[all.size()]));
    }
    return all;
  };
  const Tensors found = parts_of(f(s.nested(one), s.where(false)));
  Tensors expected, weights;
  for (const Tensor& part : s.parts(each)) {
    expected.push_back(f(part, s.where(true)));
    weights.push_back(at::randn(expected.back().sizes(), at::kDouble));
  }
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) expect_equal(found[i], expected[i]);
  if (expected.empty()) return;
  const Tensors a = gradients(one, weighted(found, weights)), b = gradients(each, weighted(expected, weights));
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) expect_equal(a[i], b[i]);
}
void check_all(const Function& f, const Tensors& shared = {}, int64_t ragged_dims = 2) {
  for (const Sample& s : samples(ragged_dims)) check(s, f, shared);
}

Tensor three() {
  return nested_tensor_from_jagged(at::arange(20, at::kDouble).reshape({5, 4}), torch::tensor({0, 2, 2, 5}));
}

// --- what it is ---
TEST(Jagged, ValuesAndOffsetsAreOneTensor) {
  const Tensor values = at::arange(20, at::kDouble).reshape({5, 4}), offsets = torch::tensor({0, 2, 2, 5});
  const Tensor t = nested_tensor_from_jagged(values, offsets);
  EXPECT_TRUE(t.is_nested());
  EXPECT_EQ(t.layout(), torch::kJagged);
  EXPECT_EQ(t.dim(), 3);
  EXPECT_EQ(t.numel(), 20);
  EXPECT_EQ(t.sizes(), at::IntArrayRef({3, -1, 4}));
  EXPECT_EQ(t.size(0), 3);
  expect_error([&] { t.size(1); }, "Given dimension 1 is irregular and does not have a size.");
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_TRUE(t.contiguous().is_same(t));
  EXPECT_TRUE(t.is_leaf());
  EXPECT_TRUE(torch::nested::offsets(t).is_same(offsets));
  EXPECT_FALSE(torch::nested::lengths(t).defined());
  EXPECT_EQ(t.values().data_ptr(), values.data_ptr());
  expect_equal(t.values(), values);
  expect_parts(t, {values.slice(0, 0, 2), values.slice(0, 2, 2), values.slice(0, 2, 5)});
  t.unbind()[2].mul_(-1);
  expect_equal(values.select(0, 4), torch::tensor({-16., -17., -18., -19.}, at::kDouble));
  EXPECT_EQ(at::_nested_get_ragged_idx(t), 1);
  EXPECT_FALSE(at::_nested_get_max_seqlen(t).defined());
  expect_equal(t._nested_tensor_size(), torch::tensor({{2, 4}, {0, 4}, {3, 4}}));

  const Tensor turned = nested_tensor_from_jagged(values.t(), offsets, {}, 2, 0, 5);
  EXPECT_EQ(turned.sizes(), at::IntArrayRef({3, 4, -1}));
  EXPECT_FALSE(turned.is_contiguous());
  EXPECT_EQ(turned.contiguous().sizes(), turned.sizes());
  EXPECT_TRUE(turned.contiguous().is_contiguous());
  EXPECT_EQ(at::_nested_get_max_seqlen(turned).size(0), 5);
  EXPECT_EQ(turned.to_padded_tensor(0).sizes(), at::IntArrayRef({3, 4, 5}));

  // With holes.
  const Tensor holes = nested_tensor_from_jagged(at::arange(6), torch::tensor({0, 2, 3, 6}), torch::tensor({1, 0, 2}));
  expect_parts(holes, {torch::tensor({0}), torch::tensor({0}).slice(0, 1), torch::tensor({3, 4})});
  EXPECT_FALSE(holes.is_contiguous());
  EXPECT_EQ(holes.numel(), 3);
  const Tensor dense = holes.contiguous();
  EXPECT_TRUE(dense.is_contiguous());
  expect_parts(dense, holes.unbind());
  expect_equal(dense.values(), torch::tensor({0, 3, 4}));
  expect_equal(torch::nested::lengths(holes), torch::tensor({1, 0, 2}));
  // By lengths alone.
  const Tensor by_lengths = nested_tensor_from_jagged(at::arange(5), {}, torch::tensor({2, 3}));
  expect_equal(torch::nested::offsets(by_lengths), torch::tensor({0, 2, 5}));
}

TEST(Jagged, AreMadeOfLists) {
  const Tensor a = at::randn({2, 3}), b = at::randn({4, 3});
  const Tensor t = torch::nested::nested_tensor({a, b}, torch::kJagged);
  expect_parts(t, {a, b});
  EXPECT_TRUE(t.is_leaf());
  EXPECT_TRUE(
      torch::nested::nested_tensor({a, b}, at::TensorOptions(torch::kJagged).requires_grad(true)).requires_grad());
  EXPECT_EQ(torch::nested::nested_tensor({a, b}, at::TensorOptions(torch::kJagged).dtype(at::kDouble)).scalar_type(),
            at::kDouble);
  expect_parts(torch::nested::nested_tensor({{1, 2}, {3}}, torch::kJagged),
               {torch::tensor({1, 2}), torch::tensor({3})});
  EXPECT_EQ(torch::nested::nested_tensor({at::ones({3, 2, 5}), at::ones({3, 4, 5})}, torch::kJagged).sizes(),
            at::IntArrayRef({2, 3, -1, 5}));
  EXPECT_EQ(torch::nested::nested_tensor({at::ones({3, 2}), at::ones({3, 2})}, torch::kJagged).sizes(),
            at::IntArrayRef({2, -1, 2}));
  const Tensor x = at::randn({2, 3}, at::kDouble).requires_grad_(), y = at::randn({1, 3}, at::kDouble).requires_grad_();
  const Tensor listed = torch::nested::as_nested_tensor({x, y}, {}, {}, torch::kJagged);
  (listed * listed).sum().backward();
  expect_equal(x.grad(), x.detach() * 2);
  expect_equal(y.grad(), y.detach() * 2);
  // Of a batch, and of a nested tensor.
  const Tensor batch = at::randn({2, 3, 4});
  const Tensor of_batch = torch::nested::as_nested_tensor(batch, {}, {}, torch::kJagged);
  expect_parts(of_batch, batch.unbind());
  EXPECT_EQ(of_batch.values().data_ptr(), batch.data_ptr());
  EXPECT_EQ(torch::nested::as_nested_tensor(batch).unbind()[1].data_ptr(), batch[1].data_ptr());
  EXPECT_TRUE(torch::nested::as_nested_tensor(t, {}, {}, torch::kJagged).is_same(t));
  EXPECT_EQ(torch::nested::as_nested_tensor(t, at::kDouble, {}, torch::kJagged).scalar_type(), at::kDouble);

  // narrow and masked_select.
  const Tensor padded = at::randn({3, 5, 4}, at::kDouble).requires_grad_();
  const Tensor narrowed =
      torch::nested::narrow(padded, 1, torch::tensor({0, 1, 2}), torch::tensor({3, 2, 3}), torch::kJagged);
  expect_parts(narrowed, {padded[0].slice(0, 0, 3), padded[1].slice(0, 1, 3), padded[2].slice(0, 2, 5)});
  EXPECT_EQ(narrowed.data_ptr(), padded.data_ptr());
  EXPECT_FALSE(narrowed.is_contiguous());
  expect_equal(torch::nested::offsets(narrowed), torch::tensor({0, 6, 12, 15}));
  (narrowed * 2).contiguous().sum().backward();
  EXPECT_EQ(padded.grad().sum().item<double>(), 64);
  expect_parts(torch::nested::narrow(padded, 1, 1, 2, torch::kJagged),
               {padded[0].slice(0, 1, 3), padded[1].slice(0, 1, 3), padded[2].slice(0, 1, 3)});
  EXPECT_EQ(torch::nested::narrow(padded, 1, 0, torch::tensor({3, 2, 5}), torch::kJagged).numel(), 40);
  EXPECT_EQ(torch::nested::narrow(padded, 2, 1, 2).sizes(), at::IntArrayRef({3, 5, 2}));
  const Tensor mask = torch::tensor({{true, false, true}, {false, false, true}});
  expect_parts(torch::nested::masked_select(at::arange(6).reshape({2, 3}), mask),
               {torch::tensor({0, 2}), torch::tensor({5})});
  EXPECT_EQ(torch::nested::masked_select(at::ones({6, 5}), torch::tensor({false})).sizes(), at::IntArrayRef({6, -1}));
}

TEST(Jagged, BadPartsAreRefused) {
  const Tensor v = at::randn({5, 4}), off = torch::tensor({0, 2, 2, 5});
  const auto jagged = [](std::initializer_list<Tensor> list) {
    torch::nested::nested_tensor(Tensors(list), torch::kJagged);
  };
  expect_error([&] { jagged({at::ones({3, 2}), at::ones({4, 4})}); }, "only allows for a single ragged dimension");
  expect_error([&] { jagged({at::ones({3, 2}), at::ones({3})}); }, "all tensors in list must have the same dim");
  expect_error(
      [&] {
        jagged({at::ones({3}), at::ones({3}, at::kInt)});
      },
      "all tensors in list must have the same dtype");
  expect_error([&] { jagged({at::ones({}), at::ones({})}); }, "from a list of zero-dim tensors");
  expect_error([&] { jagged({}); }, "from an empty tensor list");
  expect_error([&] { jagged({at::ones({3}), Tensor()}); }, "undefined");
  EXPECT_THROW(torch::nested::nested_tensor({v}, torch::kSparse), c10::NotImplementedError);
  expect_error([&] { nested_tensor_from_jagged(v); }, "At least one of offsets or lengths is required.");
  const auto from = [&](const Tensor& offsets, std::optional<Tensor> lengths = {}, int64_t dim = 1,
                        std::optional<int64_t> least = {}, std::optional<int64_t> most = {}) {
    return [=] { nested_tensor_from_jagged(v, offsets, lengths, dim, least, most); };
  };
  expect_error(from(torch::tensor({{0, 5}})), "offsets must be 1D, but got 2D");
  expect_error(from(at::empty({0}, at::kLong)), "at least one number");
  expect_error(from(torch::tensor({0, 3, 2, 5})), "not decrease");
  expect_error(from(torch::tensor({-1, 3})), "not decrease");
  expect_error(from(torch::tensor({0, 2, 9})), "reach to 9, beyond the values, which have size 5");
  expect_error(from(off, torch::tensor({1, 0})),
               "offsets and lengths batch sizes must match: offsets.shape[0] - 1 = 3, lengths.shape[0] = 2");
  expect_error(from(off, torch::tensor({1, 0, 9})), "beyond the values");
  expect_error(from(off, torch::tensor({1, 0, -1})), "must not be negative");
  expect_error(from(off, torch::tensor({int64_t{1}, int64_t{0}, INT64_MAX})), "end within the values");
  const int64_t half = int64_t{1} << 62;
  expect_error(from(torch::tensor({0, 0, 0}), torch::tensor({half, half})), "a sum of 2^63 or more");
  expect_error(from(off, {}, 0), "Expected jagged_dim >=1, but got 0.");
  expect_error(from(off, {}, 3), "out of range");
  expect_error(from(off, {}, 1, {}, 2), "max_seqlen is 2, but a part has length 3");
  expect_error(from(off, {}, 1, 1), "min_seqlen is 1, but a part has length 0");
  expect_error(from(off, {}, 1, -1), "negative");
  EXPECT_THROW(from(torch::tensor({0., 3., 5.}))(), c10::TypeError);
  EXPECT_THROW(from(torch::tensor({{0, 5}}))(), c10::ValueError);
  EXPECT_THROW(from(off, {}, 4)(), c10::IndexError);
  EXPECT_THROW(nested_tensor_from_jagged(three(), off), c10::Error);
  EXPECT_THROW(nested_tensor_from_jagged(v.to_sparse(), off), c10::Error);
  expect_error([&] { torch::nested::narrow(v, 0, 0, 1, torch::kJagged); }, "jagged layout only supports dim=1");
  expect_error(
      [&] {
        torch::nested::narrow(v, 1, 0, torch::tensor({3, 2}), torch::kJagged);
      },
      "broadcast to input.shape[0]");
  expect_error([&] { torch::nested::narrow(v, 1, 0, torch::tensor({3, 2, 1, 9, 1}), torch::kJagged); }, "reaches out");
  expect_error([&] { torch::nested::narrow(v, 1, 0, off); }, "must be integers for the strided layout");
  expect_error([&] { torch::nested::masked_select(v, v); }, "expected BoolTensor for mask");
  expect_error([&] { torch::nested::masked_select(three(), v > 0); }, "requires a strided tensor, given Jagged");
  expect_error([&] { torch::nested::as_nested_tensor(three()); }, "Converting between nested tensor layouts");
  expect_error([&] { torch::nested::as_nested_tensor(at::ones({2})); }, "dim() > 1");
  EXPECT_THROW(at::_nested_get_offsets(v), c10::Error);
  EXPECT_THROW(at::_nested_get_values(torch::nested::nested_tensor({v})), c10::Error);
  // Offsets that were changed are other ones.
  Tensor changed = torch::tensor({0, 2, 5});
  const Tensor before = nested_tensor_from_jagged(v, changed);
  changed[1] = 3;
  const Tensor after = nested_tensor_from_jagged(v, changed);
  EXPECT_EQ(before.unbind()[0].size(0), 2);
  EXPECT_EQ(after.unbind()[0].size(0), 3);
  EXPECT_THROW(before + after, c10::Error);
}

TEST(Jagged, CopiesKeepTheParts) {
  for (const Sample& s : samples()) {
    const Tensor t = s.nested(s.values);
    const Tensors parts = s.parts(s.values);
    expect_parts(t.clone(), parts);
    EXPECT_TRUE(at::is_same_size(t, t.clone()));
    expect_parts(t.contiguous(), parts);
    EXPECT_TRUE(t.contiguous().is_contiguous());
    expect_parts(t.detach(), parts);
    EXPECT_TRUE(t.detach().is_alias_of(t));
    EXPECT_EQ(t.to(at::kFloat).scalar_type(), at::kFloat);
    Tensors zeros, sevens, ones;
    for (const Tensor& part : parts) {
      zeros.push_back(at::zeros_like(part));
      sevens.push_back(at::full_like(part, 7));
      ones.push_back(at::ones_like(part, at::kInt));
    }
    expect_parts(at::zeros_like(t), zeros);
    expect_parts(at::ones_like(t, at::kInt), ones);
    expect_parts(at::full_like(t, 7), sevens);
    expect_parts(at::zeros_like(t, t.options()), zeros);
    EXPECT_TRUE(at::is_same_size(at::rand_like(t) + at::randn_like(t) + at::randint_like(t, 5) + at::empty_like(t), t));
    Tensor copy = at::zeros_like(t);
    expect_parts(copy.copy_(t), parts);
    EXPECT_TRUE(at::equal(copy, t));
    expect_parts(copy.copy_(t.contiguous()), parts);
    expect_parts(copy.fill_(7), sevens);
    expect_parts(copy.zero_(), zeros);
    // In place nothing between the parts is touched.
    const Tensor values = at::ones_like(s.values);
    Tensor holes = s.nested(values);
    holes.mul_(3).add_(t).sub_(t);
    holes.relu_();
    EXPECT_EQ(values.sum().item<double>(), static_cast<double>(values.numel() + 2 * t.numel()));
  }
  expect_error([] { three().copy_(at::ones({3, 3, 4})); }, "between dense and nested tensors");
  EXPECT_THROW(three().to(at::kMeta), c10::NotImplementedError);
  EXPECT_THROW(three().clone(at::MemoryFormat::ChannelsLast), c10::Error);
}

TEST(Jagged, TextsShowTheParts) {
  std::ostringstream out;
  out << torch::nested::nested_tensor({{1., 2.}, {3.}}, torch::kJagged);
  EXPECT_EQ(out.str(), "nested_tensor([\n 1\n 2\n[ CPUFloatType{2} ],\n 3\n[ CPUFloatType{1} ]\n])");
}

// --- operators ---
TEST(JaggedOperators, WorkElementByElement) {
  const Tensor row = at::randn({4}, at::kDouble).requires_grad_();
  const auto in_dense = [](const Tensor& one, const Where& w) {  // a row as it is broadcast along the dense dimension
    return w.dense - w.ragged > 0 ? one : one.unsqueeze(1);
  };
  const std::vector<Function> all{
      [](const Tensor& t, const Where&) { return t.sin() * t + 2; },
      [](const Tensor& t, const Where&) { return at::relu(t) - t.exp2() / 3; },
      [](const Tensor& t, const Where&) { return at::gelu(t, "tanh") / (t * t + 1); },
      [](const Tensor& t, const Where&) { return at::silu(t).tanh().neg() * at::elu(t) * at::softplus(t); },
      [](const Tensor& t, const Where&) { return t.sigmoid().logit().abs().sqrt().log1p().erf(); },
      [](const Tensor& t, const Where&) { return at::where(t > 0, t, t.cos()) + at::where(t > 1, 2 * t, t); },
      [](const Tensor& t, const Where&) {
        return t.clamp(-1, 1) + at::lerp(t, t.sin(), 0.25) + at::addcmul(t, t, t, 2);
      },
      [](const Tensor& t, const Where&) { return at::maximum(t, -t) + at::atan2(t, t.square() + 1); },
      [](const Tensor& t, const Where&) { return t.masked_fill(t > 0, 1) * t + (1 - t) + 2 / (t.abs() + 1); },
      [](const Tensor& t, const Where&) { return std::get<0>(at::frexp(t.detach())) + t; },
      [](const Tensor& t, const Where&) { return (t * 2).tanh_() * (t * 3).sigmoid_() + (t + 1).mul_(t).add_(2); },
      [](const Tensor& t, const Where&) { return at::special_entr(t.abs() + 0.1) + t.pow(2) + at::pow(2, t * 0.1); },
      [](const Tensor& t, const Where&) { return t + torch::tensor(2.5) - torch::tensor(1.0) * t * 3; },
      [&](const Tensor& t, const Where& w) { return t * in_dense(row, w) - in_dense(row, w); },
      [](const Tensor& t, const Where&) { return at::dropout(t, 0.5, false) + at::dropout(t, 0.0, true); },
      [](const Tensor& t, const Where&) { return t.clone().detach_() * t + at::clone(t); }};
  for (const Function& f : all) check_all(f, {row});
  // Comparisons.
  for (const Sample& s : samples()) {
    const Tensor t = s.nested(s.values), same = t.clone();
    Tensors equal, greater;
    for (const Tensor& part : s.parts(s.values)) {
      equal.push_back(at::ones_like(part, at::kBool));
      greater.push_back(part > 0.5);
    }
    expect_parts(t == same, equal);
    expect_parts(at::isclose(t, same), equal);
    expect_parts(t.isfinite(), equal);
    expect_parts(t > 0.5, greater);
    expect_parts((t > 0.5).logical_not().logical_not(), greater);
    // A dense tensor with a row for each part, and one row for all.
    const int64_t parts = t.size(0);
    const Tensor rows =
        at::randn(s.ragged == 1 ? at::IntArrayRef({parts, 1, 4}) : at::IntArrayRef({parts, 4, 1}), at::kDouble)
            .requires_grad_();
    Tensors sums;
    for (const Tensor& part : s.parts(s.values)) sums.push_back(rows[static_cast<int64_t>(sums.size())] - part);
    expect_parts(rows - t, sums);
    expect_parts(t.clone().mul_(-1).add_(rows.detach()), sums);
    const Tensor weight = t.sin();
    if (t.numel() == 0) continue;
    (rows * weight).sum().backward();
    expect_equal(rows.grad(), weight.sum(s.ragged, true));
    EXPECT_TRUE(at::is_same_size(t * rows.slice(0, 0, 1), t));
  }
  for (const Tensor& part : at::dropout(at::ones_like(three()), 0.5, true).unbind()) {
    EXPECT_TRUE((part.eq(0) | part.eq(2)).all().item<bool>());
  }
}

TEST(JaggedOperators, KeepTheDtype) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kLong}) {
    for (const int64_t ragged : {1, 2}) {
      const Sample s = sample(4, ragged, false, dtype);
      const Tensor t = s.nested(s.values);
      const std::vector<Function> all{[](const Tensor& x, const Where&) { return x + x * 2; },
                                      [](const Tensor& x, const Where& w) { return x.sum(w.dense); },
                                      [](const Tensor& x, const Where&) { return x.sin(); },
                                      [](const Tensor& x, const Where&) { return x.to(at::kDouble); },
                                      [](const Tensor& x, const Where&) { return x >= 1; },
                                      [](const Tensor& x, const Where& w) { return x.sum(w.ragged); },
                                      [](const Tensor& x, const Where& w) { return x.prod(w.ragged, true); },
                                      [](const Tensor& x, const Where& w) { return x.any(w.ragged); }};
      for (const Function& f : all) {
        const Tensors found = f(t, s.where(false)).unbind();
        for (size_t i = 0; i < found.size(); ++i) {
          const Tensor expected = f(s.parts(s.values)[i], s.where(true));
          ASSERT_EQ(found[i].scalar_type(), expected.scalar_type());
          EXPECT_TRUE(at::allclose(found[i].to(at::kDouble), expected.to(at::kDouble), 0.02, 0.02));
        }
      }
    }
  }
}

TEST(JaggedOperators, Reduce) {
  const std::vector<Function> all{
      [](const Tensor& t, const Where& w) { return t.sum(w.dense) + t.mean(w.dense); },
      [](const Tensor& t, const Where& w) {
        return t.sum(w.dense, true) * t.amax(w.dense, true) - t.amin(w.dense, true);
      },
      [](const Tensor& t, const Where& w) { return t.sum(w.ragged); },
      [](const Tensor& t, const Where& w) { return t.sum(w.ragged, true); },
      [](const Tensor& t, const Where& w) { return t.mean(w.ragged, true); },
      [](const Tensor& t, const Where& w) { return t.mean(w.ragged); },
      [](const Tensor& t, const Where& w) { return t.prod(w.ragged) + t.prod(w.ragged, false, at::kDouble); },
      [](const Tensor& t, const Where& w) { return std::get<0>(t.max(w.dense)) - std::get<0>(t.min(w.dense, false)); },
      [](const Tensor& t, const Where& w) { return t.argmax(w.dense) + t.argmin(w.dense); },
      [](const Tensor& t, const Where& w) {
        return (t > 0).all(w.dense).to(at::kDouble) + (t > 0).any(w.dense).to(at::kDouble);
      },
      [](const Tensor& t, const Where& w) { return (t > 0).all(w.ragged).logical_or((t > 1).any(w.ragged)); }};
  for (const Function& f : all) check_all(f);
  for (const Sample& s : samples()) {
    const Tensor t = s.nested(s.values);
    const Tensor dense = at::cat(
        [&] {
          Tensors parts = s.parts(s.values);
          if (parts.empty()) parts.push_back(s.values.slice(s.ragged - 1, 0, 0));
          return parts;
        }(),
        s.ragged - 1);
    expect_equal(t.sum(), dense.sum());
    expect_equal(t.mean(), dense.mean());
    expect_equal(t.prod(), dense.prod());
    expect_equal(t.sum(at::IntArrayRef({0, s.ragged})), dense.sum(s.ragged - 1));
    expect_equal(t.sum(at::IntArrayRef({0, 1, 2}), true), dense.sum().reshape({1, 1, 1}));
    EXPECT_EQ(t.isfinite().all().item<bool>(), true);
    EXPECT_EQ(t.isnan().any().item<bool>(), false);
    if (dense.numel() == 0) continue;
    expect_equal(t.amax(at::IntArrayRef({0, s.ragged}), true), dense.amax(s.ragged - 1, true).unsqueeze(0));
    expect_equal(t.max(), dense.max());
    expect_equal(t.min(), dense.min());
    expect_equal(t.argmax(), dense.argmax());
    // Of parts without elements what padding says.
    const Tensors most = at::amax(t, s.ragged).unbind(), least = std::get<0>(t.min(s.ragged)).unbind();
    const Tensors places = t.argmax(s.ragged).unbind();
    for (size_t i = 0; i < most.size(); ++i) {
      const Tensor part = s.parts(s.values)[i];
      if (part.numel() == 0) {
        EXPECT_TRUE(most[i].isneginf().all().item<bool>());
        continue;
      }
      expect_equal(most[i], part.amax(s.ragged - 1));
      expect_equal(least[i], part.amin(s.ragged - 1));
      expect_equal(places[i], part.argmax(s.ragged - 1));
    }
  }
  const Tensor numbers = nested_tensor_from_jagged(torch::tensor({3, -5, 7}), torch::tensor({0, 2, 3}));
  expect_equal(numbers.amax(1), torch::tensor({3, 7}));
  expect_equal(numbers.amin(1), torch::tensor({-5, 7}));
  expect_equal(numbers.sum(1), torch::tensor({-2, 7}));
}

TEST(JaggedOperators, ChangeTheGeometry) {
  using at::indexing::Slice;
  const std::vector<Function> all{
      [](const Tensor& t, const Where& w) { return t.transpose(w.ragged, w.dense) * 2; },
      [](const Tensor& t, const Where& w) { return t.select(w.dense, 1).sin(); },
      [](const Tensor& t, const Where& w) { return t.narrow(w.dense, 1, 2).exp(); },
      [](const Tensor& t, const Where& w) { return t.slice(w.dense, 0, 4, 2) * t.slice(w.dense, 1, 4, 2); },
      [](const Tensor& t, const Where& w) { return t.split(3, w.dense)[1] + t.chunk(4, w.dense)[0]; },
      [](const Tensor& t, const Where& w) {
        return t.split_with_sizes({1, 3}, w.dense)[1].abs();
      },
      [](const Tensor& t, const Where& w) { return t.unsqueeze(1 - w.parts_off).sin().squeeze(1 - w.parts_off).cos(); },
      [](const Tensor& t, const Where& w) {
        return t.unsqueeze(-1).expand(
                   w.parts_off == 0
                       ? (w.ragged == 1 ? at::IntArrayRef({-1, -1, 4, 3}) : at::IntArrayRef({-1, 4, -1, 3}))
                       : (w.ragged == 0 ? at::IntArrayRef({-1, 4, 3}) : at::IntArrayRef({4, -1, 3}))) *
               1.5;
      },
      [](const Tensor& t, const Where& w) {
        return t.unflatten(w.dense, {2, 2}).sin();
      },
      [](const Tensor& t, const Where& w) {
        return t.unflatten(w.dense, {2, 2}).flatten(w.dense, w.dense + 1) * 3;
      },
      [](const Tensor& t, const Where& w) {
        return at::cat({t, t * 2}, w.dense);
      },
      [](const Tensor& t, const Where&) {
        return at::stack({t, t * 2}, -1);
      },
      [](const Tensor& t, const Where&) { return t.mT().contiguous() * 2; },
      [](const Tensor& t, const Where& w) {
        return w.parts_off == 0 ? t.permute({0, 2, 1}).sin() : t.permute({1, 0}).sin();
      }};
  for (const Function& f : all) check_all(f);
  // Views.
  const Tensor t = three();
  const auto parts = [&](const std::function<Tensor(const Tensor&)>& f) {
    Tensors all_parts;
    for (const Tensor& part : t.unbind()) all_parts.push_back(f(part));
    return all_parts;
  };
  expect_parts(t.view({3, -1, 2, 2}), parts([](const Tensor& x) { return x.reshape({x.size(0), 2, 2}); }));
  expect_parts(t.view({3, -1, 4}), t.unbind());
  expect_parts(t.reshape({-1, -1, 2, 2}).reshape({3, -1, 4}), t.unbind());
  expect_parts(t.view({3, -1, 2, -1}).flatten(-2), t.unbind());
  expect_parts(t.transpose(1, 2).view({3, 2, 2, -1}), parts([](const Tensor& x) {
                 return x.t().reshape({2, 2, x.size(0)});
               }));
  EXPECT_TRUE(t.view({3, -1, 2, 2}).is_alias_of(t));
  expect_parts(t.index({Slice(), Slice(), Slice(1, 3)}), parts([](const Tensor& x) { return x.slice(1, 1, 3); }));
  expect_parts(t.index({"...", 0}), parts([](const Tensor& x) { return x.select(1, 0); }));
  expect_equal(t[2], t.unbind()[2]);
  expect_equal(t.select(0, -1), t.unbind()[2]);
  const Tensors pieces = t.chunk(2, 0);
  ASSERT_EQ(pieces.size(), 2u);
  expect_parts(pieces[0], {t[0], t[1]});
  expect_parts(pieces[1], {t[2]});
  EXPECT_TRUE(pieces[1].is_alias_of(t));
  EXPECT_EQ(t.broadcast_to({3, -1, 4}).sizes(), t.sizes());
  EXPECT_EQ(t.unsqueeze(-1).expand_as(t.unsqueeze(-1) * at::ones({2})).sizes(), at::IntArrayRef({3, -1, 4, 2}));
  EXPECT_EQ(t.movedim(1, 2).sizes(), at::IntArrayRef({3, 4, -1}));
}

TEST(JaggedOperators, MultiplyAndNormalize) {
  const Tensor weight = at::randn({5, 4}, at::kDouble).requires_grad_(),
               bias = at::randn({5}, at::kDouble).requires_grad_(), gain = at::randn({4}, at::kDouble).requires_grad_(),
               square = at::randn({4, 4}, at::kDouble).requires_grad_();
  check_all([&](const Tensor& t, const Where&) { return at::linear(t, weight, bias); }, {weight, bias}, 1);
  check_all([&](const Tensor& t, const Where&) { return at::matmul(t, square); }, {square}, 1);
  check_all([&](const Tensor& t, const Where&) { return at::layer_norm(t, {4}, gain, gain * 2); }, {gain}, 1);
  check_all([&](const Tensor& t, const Where&) { return at::rms_norm(t, {4}, gain, 1e-5); }, {gain}, 1);
  check_all([&](const Tensor& t, const Where& w) { return at::softmax(t, w.dense) + at::log_softmax(t, w.dense); });
  check_all(
      [&](const Tensor& t, const Where& w) { return at::softmax(t, w.ragged) + at::_softmax(t, w.ragged, false); });
  check_all([&](const Tensor& t, const Where& w) { return at::log_softmax(t, w.ragged); });
  check_all([&](const Tensor& t, const Where&) { return at::matmul(t.mT(), t); }, {}, 1);
  check_all([&](const Tensor& t, const Where&) { return at::matmul(t, t.mT()); }, {}, 0);
  check_all([&](const Tensor& t,
                const Where& w) { return w.parts_off == 0 ? at::bmm(t.transpose(1, 2), t * 2) : at::mm(t.t(), t * 2); },
            {}, 1);
  for (const Sample& s : samples(1)) {
    const Tensor t = s.nested(s.values), right = at::randn({t.size(0), 4, 3}, at::kDouble);
    Tensors products;
    for (const Tensor& part : s.parts(s.values))
      products.push_back(at::mm(part, right[static_cast<int64_t>(products.size())]));
    expect_parts(at::matmul(t, right), products);
    expect_parts(at::bmm(t, right), products);
    EXPECT_EQ(at::matmul(t, right).sizes(), at::IntArrayRef({t.size(0), -1, 3}));
    // Attention with two heads, each sequence by itself, and to sequences of other lengths.
    const auto heads = [](const Tensor& x, int64_t off) {
      return x.unflatten(2 - off, {2, 2}).transpose(1 - off, 2 - off);
    };
    for (const bool causal : {false, true}) {
      check(s, [&](const Tensor& x, const Where& w) {
        const Tensor q = heads(x, w.parts_off);
        return at::scaled_dot_product_attention(q, q * 2, q.sin(), {}, 0, causal)
            .transpose(1 - w.parts_off, 2 - w.parts_off);
      });
    }
    const Sample other = sample(t.size(0), 1, false);
    const Tensor keys = heads(other.nested(other.values), 0), queries = heads(t, 0);
    Tensors attended;
    for (int64_t i = 0; i < t.size(0); ++i) {
      attended.push_back(at::scaled_dot_product_attention(queries[i], keys[i], keys[i]));
    }
    expect_parts(at::scaled_dot_product_attention(queries, keys, keys), attended);
  }
  const auto [normed, mean, rstd] = at::native_layer_norm(three(), {4}, {}, {}, 1e-5);
  EXPECT_EQ(normed.sizes(), three().sizes());
  EXPECT_EQ(mean.sizes(), at::IntArrayRef({5, 1}));
  const Tensor table = at::randn({7, 2}, at::kDouble).requires_grad_();
  const Tensor words = nested_tensor_from_jagged(torch::tensor({1, 2, 6}), torch::tensor({0, 2, 3}));
  expect_parts(at::one_hot(words), {at::one_hot(words[0], 7), at::one_hot(words[1])});
  const Tensor vectors = at::embedding(table, words);
  expect_parts(vectors, {at::embedding(table, words[0]), at::embedding(table, words[1])});
  vectors.sum().backward();
  EXPECT_EQ(table.grad().sum().item<double>(), 6);
}

TEST(JaggedOperators, ConvertToAndFromPadded) {
  for (const Sample& s : samples()) {
    const Tensor t = s.nested(s.values);
    int64_t longest = 0;
    for (const int64_t length : s.length) longest = std::max(longest, length);
    const Tensor padded = torch::nested::to_padded_tensor(t, -3);
    EXPECT_EQ(padded.size(s.ragged), longest);
    for (size_t i = 0; i < s.length.size(); ++i) {
      const Tensor row = padded[static_cast<int64_t>(i)];
      expect_equal(row.narrow(s.ragged - 1, 0, s.length[i]), s.parts(s.values)[i]);
      EXPECT_TRUE(row.narrow(s.ragged - 1, s.length[i], longest - s.length[i]).eq(-3).all().item<bool>());
    }
    check(s, [&](const Tensor& x, const Where& w) {
      return w.parts_off == 1 ? x.sin().sum() : (x.sin().to_padded_tensor(0)).sum(at::IntArrayRef({1, 2}));
    });
    if (s.lengths.defined()) continue;
    const Tensor back = at::_nested_from_padded_tensor(padded, s.offsets, t, s.ragged);
    expect_parts(back, s.parts(s.values));
    EXPECT_TRUE(at::is_same_size(back, t));
  }
  expect_error([] { three().to_padded_tensor(0, at::IntArrayRef({3, 2, 4})); }, "Truncation is not supported");
  expect_error([] { three().to_padded_tensor(0, at::IntArrayRef({3, 5})); }, "Length of output_size does not match");
  EXPECT_EQ(three().to_padded_tensor(0, at::IntArrayRef({4, 6, 5})).sizes(), at::IntArrayRef({4, 6, 5}));
}

TEST(JaggedOperators, ReadAndWritePlaces) {
  at::manual_seed(4);
  const Tensor values = at::randn({9, 4}, at::kDouble), offsets = torch::tensor({0, 3, 4, 9});
  const Tensor nt = nested_tensor_from_jagged(values, offsets), turned = nt.transpose(1, 2);
  const Tensor holes = nested_tensor_from_jagged(values, offsets, torch::tensor({2, 1, 3}));
  const Tensor part = torch::tensor({0, 2, -1}), place = torch::tensor({1, 4, -2}), column = torch::tensor({3, 0, 2});
  const Tensor rows = torch::tensor({1, 8, 7});
  expect_equal(nt.index({part, place}), values.index({rows}));
  expect_equal(nt.index({part, place, column}), values.index({rows, column}));
  expect_equal(turned.index({part, column, place}), values.index({rows, column}));
  expect_equal(holes.index({part, torch::tensor({1, 2, -3})}), values.index({torch::tensor({1, 6, 4})}));
  // What is written is in the values, and adds up where a place comes twice.
  const Tensor given = at::randn({3, 4}, at::kDouble);
  expect_equal(nt.index_put({part, place}, given).values(), values.index_put({rows}, given));
  const Tensor twice = torch::tensor({0, 0}), ones = at::ones({2, 4}, at::kDouble);
  expect_equal(nt.index_put({twice, twice}, ones, true).values(), values.index_put({twice}, ones, true));
  const Tensor copy = turned.clone();
  const auto version = copy._version();
  copy.index_put_({part, column, place}, torch::tensor(7.0, at::kDouble));
  expect_equal(copy.transpose(1, 2).values(), values.index_put({rows, column}, torch::tensor(7.0, at::kDouble)));
  EXPECT_GT(copy._version(), version);
  const auto f = [&](const Tensors& x) -> Tensors {
    const Tensor whole = nested_tensor_from_jagged(x[0], offsets);
    const Tensor written = whole.mul(2);
    written.index_put_({part, place}, x[1]);
    return {whole.index({part, place}), whole.index_put({twice, twice}, x[1][0], true).values(), written.values()};
  };
  const auto result = torch::autograd::gradcheck(f, {values.clone().requires_grad_(), given.clone().requires_grad_()});
  EXPECT_TRUE(result.ok) << result.message;
  expect_error(
      [&] {
        nt.index_put_({torch::tensor({1}), torch::tensor({3})}, torch::tensor(7.0, at::kDouble));
      },
      "Some indices in the ragged dimension are out of bounds!");
  expect_error([&] { holes.index({torch::tensor({0}), torch::tensor({2})}); }, "ragged dimension are out of bounds!");
  expect_error([&] { nt.index({torch::tensor({3}), torch::tensor({0})}); }, "batch dimension are out of bounds!");
  expect_error([&] { nt.index({part}); }, "integer index tensors for its dimensions 0 to 1");
  expect_error([&] { nt.index({part, place, column, column}); }, "too many indices");
}

TEST(JaggedOperators, WhatTheyRefuse) {
  const Tensor t = three(), other = three(), t4 = t.unflatten(2, {2, 2}), turned = t.transpose(1, 2);
  const std::vector<std::pair<std::function<void()>, const char*>> calls{
      {[&] { t + other; }, "cannot call binary pointwise function add.Tensor with inputs of shapes (3, j"},
      {[&] { at::maximum(t, other); }, "cannot call binary pointwise function maximum.default with inputs"},
      {[&] { t.clone().mul_(other); }, "cannot call binary pointwise function mul_.Tensor"},
      {[&] { at::where(t > 0, t, other); }, "cannot call pointwise function where.self"},
      {[&] { t + turned; }, ", 4) and (3, 4, j"},
      {[&] { t + t4; }, "cannot call binary pointwise function add.Tensor"},
      {[&] {
         t + at::ones({5, 4});
       },
       ", 4) and [5, 4]"},
      {[&] {
         t + at::ones({2, 1, 4});
       },
       ", 4) and [2, 1, 4]"},
      {[&] {
         t + at::ones({3, 3, 4});
       },
       ", 4) and [3, 3, 4]"},
      {[&] {
         t + at::ones({1, 3, 1, 4});
       },
       "broadcasting NT with T with larger dim"},
      {[&] { t + at::ones({3}); }, "must match the size of tensor"},
      {[&] {
         at::ones({5, 4}).add_(t);
       },
       "Expected both self and other to be nested"},
      {[&] { t + torch::nested::nested_tensor({at::ones({2})}); }, "do not go together"},
      {[&] { t.sum(0); }, "sum(): reducing along the batch dimension but not the ragged dimension is not supported"},
      {[&] {
         t.amax(at::IntArrayRef({1, 2}));
       },
       "amax(): reducing along a ragged and non-batch dimension is not supported"},
      {[&] { t.sum(5); }, "Dimension out of range"},
      {[&] { t.transpose(0, 1); }, "Transpose is not supported on the batch dimension for jagged NT"},
      {[&] {
         t.permute({1, 0, 2});
       },
       "Permute is not supported on the batch dimension for jagged NT"},
      {[&] { t.unsqueeze(0); }, "unsqueeze(): not supported for NestedTensor on dim=0"},
      {[&] { t.squeeze(0); }, "squeeze(): not supported for NestedTensor on dim=0"},
      {[&] { t.squeeze(1); }, "squeeze(): not supported for NestedTensor on ragged dim"},
      {[&] { t.select(1, 0); }, "select(): not supported for NestedTensor on ragged dim"},
      {[&] { t.select(0, 5); }, "out of bounds"},
      {[&] { t.select(2, 7); }, "index 7"},
      {[&] { t.narrow(1, 0, 1); }, "narrow(): not supported for NestedTensor on ragged dim"},
      {[&] {
         t.index({at::indexing::Slice(), at::indexing::Slice(0, 1)});
       },
       "slice(): not supported for NestedTensor on ragged dim"},
      {[&] { t.slice(0, 1, 2); }, "slice(): not supported for NestedTensor on dim=0"},
      {[&] { t.split(2, 0); }, "split(): not supported for NestedTensor on dim=0"},
      {[&] {
         t.split_with_sizes({1, 2}, 1);
       },
       "split_with_sizes(): not supported for NestedTensor on ragged dim"},
      {[&] {
         t.split_with_sizes({1, 2}, 2);
       },
       "sum exactly to 4"},
      {[&] { t.chunk(2, 1); }, "chunk(): not supported for NestedTensor on ragged dim"},
      {[&] { t.chunk(0, 2); }, "greater than 0"},
      {[&] { t.unbind(1); }, "unbind(): only supported for NestedTensor on dim=0"},
      {[&] {
         at::cat({t, t}, 0);
       },
       "cat(): not supported for NestedTensor on dim=0"},
      {[&] {
         at::cat({t, t}, 1);
       },
       "cat(): not supported for NestedTensor on ragged dim"},
      {[&] {
         at::cat({t, t4}, 2);
       },
       "equal numbers of dimensions"},
      {[&] {
         at::cat({t, at::ones({3, 3, 4})}, 2);
       },
       "to be nested"},
      {[&] {
         at::stack({t, t}, 0);
       },
       "stack(): not supported for NestedTensor on dim=0"},
      {[&] {
         at::stack({t, t.narrow(2, 0, 1)}, 2);
       },
       "stack"},
      {[&] {
         at::stack({t, at::ones({3, 1, 4})}, 2);
       },
       "stack(): expected all nested tensors inputs"},
      {[&] {
         t4.view({3, -1});
       },
       "view(): cannot view shape (3, j"},
      {[&] {
         t.view({2, -1, 4});
       },
       "as [2, -1, 4]"},
      {[&] {
         t.view({3, -1, 5});
       },
       "cannot view shape"},
      {[&] {
         turned.view({3, -1, 2, 2});
       },
       "cannot view shape"},
      {[&] { t4.flatten(1, 2); }, "flatten(): not supported for NestedTensor on ragged dim"},
      {[&] { t4.flatten(); }, "flatten(): not supported for NestedTensor on dim=0"},
      {[&] {
         t.unflatten(1, {2, 2});
       },
       "unflatten(): not supported for NestedTensor on ragged dim"},
      {[&] {
         t.expand({3, 5, 4});
       },
       "expand(): cannot expand shape"},
      {[&] { at::softmax(t, 0); },
       "softmax(): not supported when reducing across the batch dimension for NestedTensor"},
      {[&] { at::layer_norm(t, {3}); }, "Given normalized_shape=[3]"},
      {[&] { at::layer_norm(turned, {5}); }, "Given normalized_shape=[5]"},
      {[&] {
         at::layer_norm(t, {5, 4});
       },
       "Given normalized_shape=[5, 4]"},
      {[&] {
         at::linear(t, at::ones({3, 5}, at::kDouble));
       },
       "cannot be multiplied"},
      {[&] {
         at::linear(turned, at::ones({3, 5}, at::kDouble));
       },
       "linear(): not supported for NestedTensor on ragged dim"},
      {[&] { at::matmul(t, t); }, "matmul(): not supported between inputs of shapes (3, j"},
      {[&] { at::matmul(t, turned); }, "matmul(): not supported between inputs of shapes"},
      {[&] { at::matmul(turned, other); }, "matmul(): not supported between inputs of shapes"},
      {[&] {
         at::matmul(turned, at::ones({3, 3, 7}, at::kDouble));
       },
       "matmul(): not supported between inputs of shapes"},
      {[&] { at::bmm(t4, t4); }, "batch1 must be a 3D tensor"},
      {[&] {
         at::scaled_dot_product_attention(t4, t4, t4, at::ones({3, 3}));
       },
       "no mask"},
      {[&] {
         at::scaled_dot_product_attention(t4, t4, at::ones({3, 2, 2, 2}));
       },
       "to be nested, or none"},
      {[&] {
         at::embedding(at::ones({2, 3}), nested_tensor_from_jagged(torch::tensor({0, 9}), torch::tensor({0, 2})));
       },
       "out of range"}};
  for (const auto& [call, text] : calls) expect_error(call, text);
  for (const auto& [name, call] : std::vector<std::pair<const char*, std::function<void()>>>{
           {"sort", [&] { t.sort(); }},
           {"std", [&] { t.std(); }},
           {"cumsum", [&] { t.cumsum(1); }},
           {"gather", [&] { t.gather(1, torch::tensor({0})); }}}) {
    expect_error(call, name);
    EXPECT_THROW(call(), c10::Error);
  }
}

// --- gradients ---
TEST(JaggedGradients, AreThoseOfDifferences) {
  const Tensor offsets = torch::tensor({0, 2, 2, 5}), weight = at::randn({3, 4}, at::kDouble).requires_grad_();
  const Tensor holes = torch::tensor({0, 3, 6}), lengths = torch::tensor({2, 1});
  const auto passes = [&](const std::function<Tensor(const Tensor&)>& f, bool second = false) {
    for (const bool with_holes : {false, true}) {
      const Tensor values = at::randn({with_holes ? 6 : 5, 4}, at::kDouble).requires_grad_();
      const auto of_values = [&](const Tensors& in) {
        const auto given = with_holes ? std::optional<Tensor>(lengths) : std::nullopt;
        const Tensor result = f(nested_tensor_from_jagged(in[0], with_holes ? holes : offsets, given));
        return Tensors{result.is_nested() ? at::cat(result.contiguous().unbind()).sin() : result.sin()};
      };
      const auto report = torch::autograd::gradcheck(of_values, {values});
      EXPECT_TRUE(report.ok) << report.message;
      if (!second) continue;
      const auto twice = torch::autograd::gradgradcheck(of_values, {values});
      EXPECT_TRUE(twice.ok) << twice.message;
    }
  };
  passes([](const Tensor& t) { return t * t.sin(); }, true);
  passes([](const Tensor& t) { return t.sum(1) * t.mean(1, true).squeeze(1).nan_to_num(); });
  passes([](const Tensor& t) { return t.to_padded_tensor(1.5); }, true);
  passes([](const Tensor& t) { return at::softmax(t, 1); }, true);
  passes([&](const Tensor& t) { return at::linear(t, weight); });
  passes([](const Tensor& t) { return at::layer_norm(t, {4}); });
  passes([](const Tensor& t) { return at::cat({t, t.narrow(2, 0, 2)}, 2); });
  passes([](const Tensor& t) {
    const Tensor q = t.unflatten(2, {2, 2}).transpose(1, 2);
    return at::scaled_dot_product_attention(q, q, q).transpose(1, 2).flatten(2, 3);
  });
}

TEST(JaggedGradients, OfLeavesAreJagged) {
  const Tensor leaf = torch::nested::nested_tensor({at::randn({2, 3}), at::randn({1, 3})},
                                                   at::TensorOptions(torch::kJagged).requires_grad(true));
  (leaf * leaf).sum().backward();
  EXPECT_EQ(leaf.grad().layout(), torch::kJagged);
  EXPECT_TRUE(torch::nested::offsets(leaf.grad()).is_same(torch::nested::offsets(leaf)));
  expect_equal(leaf.grad().values(), leaf.values().detach() * 2);
  leaf.unbind()[1].sum().backward();
  expect_equal(leaf.grad().unbind()[1], leaf.unbind()[1].detach() * 2 + 1);
  leaf.sin().backward(at::ones_like(leaf));
  expect_equal(leaf.grad().unbind()[0], leaf.unbind()[0].detach() * 2 + leaf.unbind()[0].detach().cos());
  Tensor changed = leaf.detach();
  EXPECT_FALSE(changed.requires_grad());
  Tensor in_place = leaf;
  EXPECT_THROW(in_place.mul_(2), c10::Error);
}

// A layer of an encoder, of parts of different lengths at once.
TEST(JaggedGradients, GoThroughALayerOfATransformer) {
  const int64_t width = 8, heads = 2;
  const auto parameter = [](at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble).mul(0.3).requires_grad_(); };
  const Tensor table = parameter({11, width}), in = parameter({3 * width, width}), out = parameter({width, width}),
               up = parameter({16, width}), down = parameter({width, 16}), gain = parameter({width});
  const Tensors parameters{table, in, out, up, down, gain};
  const auto layer = [&](const Tensor& words, int64_t off) {
    const Tensor x = at::embedding(table, words);
    const Tensors qkv = at::linear(at::layer_norm(x, {width}, gain), in).chunk(3, -1);
    const auto split = [&](const Tensor& t) {
      return t.unflatten(-1, {heads, width / heads}).transpose(1 - off, 2 - off);
    };
    const Tensor attended = at::scaled_dot_product_attention(split(qkv[0]), split(qkv[1]), split(qkv[2]), {}, 0, true);
    const Tensor y = x + at::linear(attended.transpose(1 - off, 2 - off).flatten(-2), out);
    return y + at::linear(at::gelu(at::linear(at::rms_norm(y, {width}, gain), up)), down);
  };
  const Tensors sentences{torch::tensor({1, 2, 3}), torch::tensor({4}), torch::tensor({5, 6, 7, 10, 0})};
  const Tensor all = layer(torch::nested::nested_tensor(sentences, torch::kJagged), 0);
  const Tensor loss = all.square().sum();
  const Tensors found = torch::autograd::grad({loss}, parameters);
  Tensor expected = at::zeros({}, at::kDouble);
  for (size_t i = 0; i < sentences.size(); ++i) {
    const Tensor one = layer(sentences[i], 1);
    expect_equal(all[static_cast<int64_t>(i)].detach(), one.detach());
    expected = expected + one.square().sum();
  }
  const Tensors right = torch::autograd::grad({expected}, parameters);
  for (size_t i = 0; i < right.size(); ++i) expect_equal(found[i], right[i]);
}

}  // namespace
