#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "aten/core/printing.h"
#include "aten/extension/dl_convertor.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/nested.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using c10::testing::message_of;
using Tensors = std::vector<Tensor>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Values that differ from place to place.
Tensor counted(at::IntArrayRef sizes, double first = -1.0) {
  int64_t numel = 1;
  for (const int64_t s : sizes) numel *= s;
  return (at::arange(numel, at::kDouble) * 0.25 + first).reshape(sizes);
}

Tensors two() {
  return {counted({2, 3}), counted({4, 3}, 0.3)};
}
Tensor nested_two() {
  return torch::nested::nested_tensor(two());
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-8, /*equal_nan=*/true)) << a << b;
}
void expect_parts(const Tensor& nested, const Tensors& parts) {
  ASSERT_TRUE(nested.is_nested());
  const Tensors own = nested.unbind();
  ASSERT_EQ(own.size(), parts.size());
  for (size_t i = 0; i < own.size(); ++i) expect_equal(own[i], parts[i]);
}

// The same parts, not packed: every second dimension of a part of three is left out.
Tensor with_gaps(const Tensors& parts) {
  Tensors wide;
  for (const Tensor& t : parts) wide.push_back(at::stack({t, t + 100.0}, 0));
  return torch::nested::as_nested_tensor(wide).select(1, 0);
}

// --- what it is ---
TEST(Nested, PartsOfDifferentSizesAreOneTensor) {
  const Tensor t = nested_two();
  EXPECT_TRUE(t.is_nested());
  EXPECT_FALSE(two()[0].is_nested());
  EXPECT_EQ(t.dim(), 3);
  EXPECT_EQ(t.numel(), 18);
  EXPECT_EQ(t.layout(), at::kStrided);
  EXPECT_EQ(t.scalar_type(), at::kDouble);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_TRUE(t.is_leaf());
  EXPECT_EQ(t.size(0), 2);
  EXPECT_EQ(t.size(-1), 3);
  EXPECT_EQ(at::size(t, 0), 2);
  EXPECT_EQ(t.sizes(), at::IntArrayRef({2, -1, 3}));
  EXPECT_TRUE(contains(message_of([&] { t.size(1); }), "Given dimension 1 is irregular and does not have a size."));
  EXPECT_THROW(t.size(3), c10::IndexError);
  expect_equal(t._nested_tensor_size(), torch::tensor({{2, 3}, {4, 3}}));
  expect_equal(t._nested_tensor_strides(), torch::tensor({{3, 1}, {3, 1}}));
  expect_equal(t._nested_tensor_storage_offsets(), torch::tensor({0, 6}));
  expect_parts(t, two());
}

TEST(Nested, AreMadeOfListsAndBraces) {
  expect_parts(torch::nested::nested_tensor({{1, 2}, {3}}), {torch::tensor({1, 2}), torch::tensor({3})});
  expect_parts(torch::nested::nested_tensor({{1., 2.}, {3.}}, at::kDouble),
               {torch::tensor({1., 2.}, at::kDouble), torch::tensor({3.}, at::kDouble)});
  const Tensor numbers = torch::nested::nested_tensor({torch::tensor(1.f), torch::tensor(2.f)});
  EXPECT_EQ(numbers.dim(), 1);
  expect_parts(numbers, {torch::tensor(1.f), torch::tensor(2.f)});
  EXPECT_EQ(torch::nested::nested_tensor(two(), at::kFloat).scalar_type(), at::kFloat);
  // The first tensor's dtype counts.
  expect_parts(torch::nested::as_nested_tensor({torch::tensor({1, 2}), torch::tensor({2.7})}),
               {torch::tensor({1, 2}), torch::tensor({2})});
  EXPECT_TRUE(torch::nested::nested_tensor(two(), at::TensorOptions().requires_grad(true)).requires_grad());
  // Copies, of strided ones too.
  Tensor source = counted({3, 2});
  const Tensor t = torch::nested::nested_tensor({source.t(), source.t()});
  source.zero_();
  expect_parts(t, {counted({3, 2}).t(), counted({3, 2}).t()});
  // Without parts, and with empty ones.
  const Tensor none = torch::nested::nested_tensor(Tensors());
  EXPECT_EQ(none.dim(), 1);
  EXPECT_EQ(none.numel(), 0);
  EXPECT_EQ(none.scalar_type(), at::kFloat);
  EXPECT_TRUE(none.unbind().empty());
  EXPECT_EQ((none * 2).numel(), 0);
  expect_parts(torch::nested::nested_tensor({at::zeros({0, 3}), at::ones({2, 3})}),
               {at::zeros({0, 3}), at::ones({2, 3})});
}

TEST(Nested, BadPartsAreRefused) {
  EXPECT_TRUE(contains(
      message_of([] {
        torch::nested::nested_tensor({at::ones({2}), at::ones({2, 3})});
      }),
      "All Tensors given to nested_tensor must have the same dimension. Found dimension 2 for Tensor at index 1 "
      "and dimension 1 for Tensor at index 0."));
  EXPECT_TRUE(contains(message_of([] { torch::nested::nested_tensor({at::ones({2}), Tensor()}); }), "undefined"));
  EXPECT_THROW(torch::nested::nested_tensor({nested_two()}), c10::NotImplementedError);
  EXPECT_THROW(torch::nested::nested_tensor(two(), at::TensorOptions(at::kMeta)), c10::NotImplementedError);
  EXPECT_THROW(torch::nested::nested_tensor(two(), at::TensorOptions(at::kSparse)), c10::NotImplementedError);
  EXPECT_THROW(torch::nested::nested_tensor({at::ones({2}, at::kMeta)}), c10::Error);
}

TEST(Nested, UnbindAndSelectShareMemory) {
  const Tensor t = nested_two();
  const Tensors parts = t.unbind();
  EXPECT_EQ(parts[0].data_ptr(), t.data_ptr());
  EXPECT_TRUE(parts[1].is_alias_of(t));
  const int64_t version = t._version();
  parts[1].select(0, 0).fill_(7.0);
  EXPECT_GT(t._version(), version);
  expect_equal(t.select(0, 1)[0], at::full({3}, 7.0, at::kDouble));
  expect_equal(t[-2], two()[0]);
  EXPECT_TRUE(contains(message_of([&] { t.unbind(1); }),
                       "NestedTensor can only be unbound along dimension 0 got dimension 1 instead."));
  EXPECT_THROW(t.select(0, 2), c10::IndexError);
  EXPECT_THROW(t.select(1, 2), c10::IndexError);
  expect_parts(t.select(2, -1), {t[0].select(1, 2), t[1].select(1, 2)});
}

TEST(Nested, PartsAtTheEndMayBeEmpty) {
  const Tensor t = torch::nested::nested_tensor({at::ones({2, 3}), at::ones({0, 3})});
  expect_parts(t.select(2, 1), {at::ones({2}), at::ones({0})});
  expect_parts(t.chunk(3, -1)[2], {at::ones({2, 1}), at::ones({0, 1})});
  const int64_t large = int64_t{1} << 40;
  EXPECT_TRUE(contains(message_of([&] {
                         at::_nested_compute_contiguous_strides_offsets(torch::tensor({{int64_t{0}, large, large}}));
                       }),
                       "overflow"));
}

TEST(Nested, DataOfAnotherLayoutIsRefusedBeforeAnythingChanges) {
  Tensor t = nested_two();
  const Tensor jagged = torch::nested::nested_tensor({at::ones({1}, at::kDouble)}, at::TensorOptions().layout(at::kJagged));
  EXPECT_TRUE(contains(message_of([&] { t.set_data(jagged); }), "cannot take the data"));
  expect_parts(t, two());
}

TEST(Nested, ViewsOfABufferAreChecked) {
  const Tensor buffer = counted({10}), sizes = torch::tensor({{2, 2}, {3, 2}}),
               strides = torch::tensor({{2, 1}, {1, 3}}), offsets = torch::tensor({0, 4});
  const Tensor t = at::_nested_view_from_buffer(buffer, sizes, strides, offsets);
  expect_parts(t, {buffer.slice(0, 0, 4).reshape({2, 2}), buffer.slice(0, 4, 10).reshape({2, 3}).t()});
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_TRUE(t.contiguous().is_contiguous());
  expect_parts(t.contiguous(), t.unbind());
  EXPECT_EQ(t.data_ptr(), buffer.data_ptr());
  expect_parts(at::_nested_view_from_buffer_copy(buffer, sizes, strides, offsets), t.unbind());
  const auto fails = [&](const Tensor& size, const Tensor& stride, const Tensor& offset, const char* text) {
    EXPECT_TRUE(contains(message_of([&] { at::_nested_view_from_buffer(buffer, size, stride, offset); }), text));
  };
  fails(sizes, strides, torch::tensor({0, 5}), "part 1 of size [3, 2]");
  fails(sizes, torch::tensor({{INT64_MAX, int64_t{1}}, {int64_t{2}, int64_t{1}}}), offsets,
        "does not lie in the buffer");
  fails(sizes, strides, torch::tensor({0, -4}), "negative number");
  fails(sizes, strides, torch::tensor({0}), "one offset a part");
  fails(sizes, torch::tensor({{2, 1}}), offsets, "do not go with nested_size");
  fails(sizes.to(at::kInt), strides, offsets, "int64");
  fails(torch::tensor({2, 2}), strides, offsets, "2 dimension(s)");
  EXPECT_TRUE(contains(message_of([&] {
                         at::_nested_view_from_buffer(counted({2, 5}), sizes, strides, offsets);
                       }),
                       "one dimension"));
  const auto [steps, starts] = at::_nested_compute_contiguous_strides_offsets(torch::tensor({{2, 3}, {4, 5}}));
  expect_equal(steps, torch::tensor({{3, 1}, {5, 1}}));
  expect_equal(starts, torch::tensor({0, 6}));
}

TEST(Nested, TextsShowTheParts) {
  const Tensor t = torch::nested::nested_tensor({{1., 2.}, {3.}});
  std::ostringstream out;
  out << t;
  EXPECT_EQ(out.str(), "nested_tensor([\n 1\n 2\n[ CPUFloatType{2} ],\n 3\n[ CPUFloatType{1} ]\n])");
}

// --- to and from padded tensors ---
TEST(Nested, PaddedTensorsHoldThePartsAtTheStart) {
  const Tensor t = torch::nested::nested_tensor({{1, 2, 3}, {4}});
  expect_equal(t.to_padded_tensor(-1), torch::tensor({{1, 2, 3}, {4, -1, -1}}));
  expect_equal(torch::nested::to_padded_tensor(t, 0, at::IntArrayRef({2, 4})),
               torch::tensor({{1, 2, 3, 0}, {4, 0, 0, 0}}));
  expect_equal(at::nested_to_padded_tensor(with_gaps({counted({2}), counted({1})}), 9),
               at::cat({counted({2}), counted({1}), at::full({1}, 9, at::kDouble)}).reshape({2, 2}));
  const Tensor both =
      torch::nested::to_padded_tensor(torch::nested::nested_tensor({counted({2, 3}), counted({4, 5})}), 0.5);
  EXPECT_EQ(both.sizes(), at::IntArrayRef({2, 4, 5}));
  expect_equal(both[0].slice(0, 0, 2).slice(1, 0, 3), counted({2, 3}));
  expect_equal(both[0].slice(1, 3), at::full({4, 2}, 0.5, at::kDouble));
  expect_equal(both[1], counted({4, 5}));
  EXPECT_TRUE(contains(message_of([&] {
                         t.to_padded_tensor(0, at::IntArrayRef({2, 2}));
                       }),
                       "Truncation is not supported"));
  EXPECT_TRUE(contains(message_of([&] { t.to_padded_tensor(0, at::IntArrayRef({2})); }),
                       "Length of output_size does not match"));
  EXPECT_TRUE(contains(message_of([&] {
                         torch::nested::nested_tensor({at::ones({0}), at::ones({0})}).to_padded_tensor(0);
                       }),
                       "non-zero numel"));
  EXPECT_EQ(torch::nested::nested_tensor(Tensors()).to_padded_tensor(0).numel(), 0);
  EXPECT_THROW(at::ones({2}).to_padded_tensor(0), c10::NotImplementedError);

  const Tensor padded = counted({2, 3, 4}), sizes = torch::tensor({{2, 4}, {3, 1}});
  const Tensors parts{padded[0].slice(0, 0, 2), padded[1].slice(1, 0, 1)};
  expect_parts(at::_nested_from_padded(padded, sizes), parts);
  expect_parts(at::_nested_from_padded_and_nested_example(padded, at::_nested_from_padded(padded, sizes)), parts);
  expect_parts(at::_nested_from_padded(padded.reshape({2, 2, 3, 2}), torch::tensor({{3, 4}, {1, 4}}), true),
               {padded[0].reshape({2, 3, 2}).transpose(0, 1).reshape({3, 4}),
                padded[1].reshape({2, 3, 2}).transpose(0, 1).reshape({3, 4}).slice(0, 0, 1)});
  EXPECT_TRUE(contains(message_of([&] {
                         at::_nested_from_padded(padded, torch::tensor({{2, 5}, {3, 4}}));
                       }),
                       "larger than its slice"));
  EXPECT_TRUE(contains(message_of([&] {
                         at::_nested_from_padded(padded, torch::tensor({{2, 4}}));
                       }),
                       "does not go with"));

  const Tensor mask = torch::tensor({{true, true, false}, {true, false, false}});
  EXPECT_TRUE(at::_nested_tensor_from_mask_left_aligned(padded, mask));
  expect_parts(at::_nested_tensor_from_mask(padded, mask), {padded[0].slice(0, 0, 2), padded[1].slice(0, 0, 1)});
  EXPECT_FALSE(at::_nested_tensor_from_mask_left_aligned(padded, mask.flip({1})));
  EXPECT_TRUE(contains(message_of([&] { at::_nested_tensor_from_mask(padded, mask.flip({1})); }), "left-aligned"));
  EXPECT_THROW(at::_nested_tensor_from_mask(padded, mask.to(at::kInt)), c10::Error);
}

// --- copies ---
TEST(Nested, CopiesKeepTheParts) {
  const Tensor t = nested_two(), gaps = with_gaps(two()), turned = t.transpose(1, 2);
  for (const Tensor& one : {t, gaps, turned}) {
    expect_parts(one.clone(), one.unbind());
    expect_parts(one.contiguous(), one.unbind());
    EXPECT_TRUE(one.contiguous().is_contiguous());
    EXPECT_FALSE(one.clone().is_alias_of(one));
    expect_parts(one.detach(), one.unbind());
    EXPECT_TRUE(one.detach().is_alias_of(one));
    EXPECT_EQ(one.to(at::kFloat).scalar_type(), at::kFloat);
    expect_parts(one.to(at::kFloat).to(at::kDouble),
                 Tensors{one[0].to(at::kFloat).to(at::kDouble), one[1].to(at::kFloat).to(at::kDouble)});
    expect_parts(at::zeros_like(one), {at::zeros_like(one[0]), at::zeros_like(one[1])});
    expect_parts(at::ones_like(one, at::kInt), {at::ones_like(one[0], at::kInt), at::ones_like(one[1], at::kInt)});
    expect_parts(at::full_like(one, 3), {at::full_like(one[0], 3), at::full_like(one[1], 3)});
    EXPECT_TRUE(at::empty_like(one).is_same_size(one));
    Tensor copy = at::zeros_like(one);
    expect_parts(copy.copy_(one), one.unbind());
    EXPECT_TRUE(at::equal(copy, one));
    expect_parts(copy.fill_(2), {at::full_like(one[0], 2), at::full_like(one[1], 2)});
    EXPECT_FALSE(at::equal(copy, one));
    expect_parts(copy.zero_(), {at::zeros_like(one[0]), at::zeros_like(one[1])});
  }
  EXPECT_TRUE(t.contiguous().is_same(t));
  EXPECT_THROW(at::toDLPack(t), c10::Error);
  EXPECT_FALSE(t.is_same_size(turned));
  EXPECT_FALSE(at::equal(t, turned));
  Tensor copy = t.clone();
  EXPECT_TRUE(contains(message_of([&] { copy.copy_(turned); }), "copy_ only supports tensors that are the same size"));
  EXPECT_THROW(copy.copy_(two()[0]), c10::Error);
  EXPECT_THROW(two()[0].copy_(t), c10::Error);
  EXPECT_THROW(t.clone(at::MemoryFormat::ChannelsLast), c10::Error);
  EXPECT_THROW(t.to(at::kMeta), c10::NotImplementedError);
  // Two parts that share an element, and an element that is in none.
  const Tensor buffer = counted({4}), twos = torch::tensor({{2}, {2}}), ones = torch::tensor({{1}, {1}});
  Tensor shared = at::_nested_view_from_buffer(buffer, twos, ones, torch::tensor({0, 1}));
  shared.fill_(9);
  expect_equal(buffer, torch::tensor({9., 9., 9., -0.25}, at::kDouble));
  // What stands between the parts is not touched.
  Tensor wide = torch::nested::nested_tensor({counted({2, 2}), counted({2, 1})});
  wide.select(1, 0).fill_(5);
  expect_equal(wide[0][1], counted({2, 2})[1]);
  EXPECT_TRUE(at::equal(wide[0][0], at::full({2}, 5.0, at::kDouble)));
}

// --- element by element ---
using Unary = std::function<Tensor(const Tensor&)>;
void expect_each(const Unary& f) {
  for (const Tensor& t : {nested_two(), with_gaps(two()), nested_two().transpose(1, 2)}) {
    Tensors expected;
    for (const Tensor& part : t.unbind()) expected.push_back(f(part));
    expect_parts(f(t), expected);
  }
}

TEST(Nested, OperatorsOfOneTensorWorkOnEachElement) {
  const std::vector<Unary> all{[](const Tensor& t) { return t.abs(); },
                               [](const Tensor& t) { return t.neg(); },
                               [](const Tensor& t) { return -t; },
                               [](const Tensor& t) { return t.sin(); },
                               [](const Tensor& t) { return t.exp(); },
                               [](const Tensor& t) { return t.tanh(); },
                               [](const Tensor& t) { return t.sigmoid(); },
                               [](const Tensor& t) { return t.abs().sqrt(); },
                               [](const Tensor& t) { return t.sgn(); },
                               [](const Tensor& t) { return at::relu(t); },
                               [](const Tensor& t) { return at::gelu(t); },
                               [](const Tensor& t) { return at::gelu(t, "tanh"); },
                               [](const Tensor& t) { return at::silu(t); },
                               [](const Tensor& t) { return at::leaky_relu(t, 0.1); },
                               [](const Tensor& t) { return t.isnan(); },
                               [](const Tensor& t) { return t.logical_not(); },
                               [](const Tensor& t) { return t + 2; },
                               [](const Tensor& t) { return 2 - t; },
                               [](const Tensor& t) { return t * 3; },
                               [](const Tensor& t) { return t / 4; },
                               [](const Tensor& t) { return t.pow(2); },
                               [](const Tensor& t) { return t.ge(0.25); },
                               [](const Tensor& t) { return t == 0; },
                               [](const Tensor& t) { return t + torch::tensor(2.5); },
                               [](const Tensor& t) { return torch::tensor(2.5) - t; },
                               [](const Tensor& t) { return t.masked_fill(t.gt(0), 7); },
                               [](const Tensor& t) { return t.clone().neg_(); },
                               [](const Tensor& t) { return t.clone().relu_(); },
                               [](const Tensor& t) { return t.clone().mul_(3); },
                               [](const Tensor& t) { return t.clone().add_(t, 2); },
                               [](const Tensor& t) { return t.clone().div_(torch::tensor(4.0)); },
                               [](const Tensor& t) { return at::dropout(t, 0.5, false); },
                               [](const Tensor& t) { return at::maximum(t, -t); },
                               [](const Tensor& t) { return at::where(t.gt(0), t, t * 2); },
                               [](const Tensor& t) { return t.clamp(0, 1) + t.expm1() + at::lerp(t, t.sin(), 0.5); },
                               [](const Tensor& t) { return std::get<1>(at::frexp(t)); }};
  for (const Unary& f : all) expect_each(f);
  const Tensor t = at::dropout(torch::nested::nested_tensor({at::ones({50, 3}), at::ones({70, 3})}), 0.5, true);
  for (const Tensor& part : t.unbind()) EXPECT_TRUE((part.eq(0) | part.eq(2)).all().item<bool>());
}

TEST(Nested, OperatorsOfTwoTensorsTakeTheSameSizesOrOneThatBroadcastsToTheParts) {
  const Tensor a = nested_two(), b = a.cos(), turned = a.transpose(1, 2).contiguous().transpose(1, 2);
  const Tensor rows = counted({2, 1, 3}), ones = counted({2, 1, 1}), numbers = counted({2, 1, 1}, 3);
  for (const Tensor& other : {b, turned, with_gaps(b.unbind())}) {
    expect_parts(a + other, {a[0] + other[0], a[1] + other[1]});
    expect_parts(a.sub(other, 2), {a[0].sub(other[0], 2), a[1].sub(other[1], 2)});
    expect_parts(a * other, {a[0] * other[0], a[1] * other[1]});
    expect_parts(a / other, {a[0] / other[0], a[1] / other[1]});
    expect_parts(a == other, {a[0] == other[0], a[1] == other[1]});
    expect_parts(a.clone().mul_(other), {a[0] * other[0], a[1] * other[1]});
  }
  for (const Tensor& other : {rows, ones, numbers}) {
    expect_parts(a * other, {a[0] * other[0], a[1] * other[1]});
    expect_parts(other - a, {other[0] - a[0], other[1] - a[1]});
    expect_parts(a.clone().add_(other), {a[0] + other[0], a[1] + other[1]});
  }
  EXPECT_EQ((a.to(at::kFloat) + a).scalar_type(), at::kDouble);
  EXPECT_TRUE(contains(message_of([&] { a + a.transpose(1, 2); }),
                       "add does not support broadcasting when given a NestedTensor"));
  EXPECT_TRUE(contains(message_of([&] { a + two()[0]; }),
                       "Expected both self and other to be nested, but got a nested self and non-nested other"));
  EXPECT_TRUE(contains(message_of([&] { two()[0] + a; }),
                       "Expected both self and other to be nested, but got a non-nested self and nested other"));
  EXPECT_TRUE(contains(message_of([&] { a + counted({2, 2, 3}); }), "does not broadcast"));
  Tensor dense = two()[0];
  EXPECT_THROW(dense.add_(a), c10::Error);
  EXPECT_THROW(a.clone().add_(a.transpose(1, 2)), c10::Error);
}

TEST(Nested, OperatorsWithoutAKernelSayTheirNames) {
  const Tensor t = nested_two();
  const std::vector<std::pair<const char*, std::function<void()>>> calls{
      {"sort", [&] { t.sort(); }},
      {"std", [&] { t.std(); }},
      {"permute",
       [&] {
         t.permute({0, 2, 1});
       }},
      {"expand",
       [&] {
         t.expand({2, 2, 3});
       }},
      {"abs.out",
       [&] {
         Tensor out = t.clone();
         at::abs_out(out, t);
       }},
      {"mm",
       [&] {
         at::mm(t, counted({3, 2}));
       }},
      {"mm",
       [&] {
         at::mm(counted({3, 2}), t);
       }},
      {"index_select", [&] { t.index_select(1, torch::tensor({0})); }},
      {"cumsum", [&] { t.cumsum(1); }},
      {"conv",
       [&] {
         at::conv1d(t, counted({2, 2, 1}));
       }},
      {"gather", [&] { t.gather(1, torch::tensor({0})); }},
      {"narrow", [&] { t.narrow(2, 0, 1); }},
      {"amax", [&] { t.amax(1); }},
      {"item", [&] { t.item(); }}};
  for (const auto& [name, call] : calls) {
    const std::string text = message_of(call);
    EXPECT_TRUE(name == std::string("item") || contains(text, name)) << name << ": " << text;
    EXPECT_THROW(call(), c10::Error) << name;
  }
}

}  // namespace
