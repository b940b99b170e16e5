// Operators that are other operators under another name or in another form, against these.
#include <cmath>
#include <limits>
#include <vector>

#include "aten/ops/activation/ops.h"
#include "aten/ops/attention/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/norm/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"

namespace at {
namespace {

using testing::blank;
using testing::expect_close;
using testing::expect_error;
using testing::indices_of;
using testing::sample;
using testing::tensor_of;
using testing::values;

TEST(Forms, CopiesOfViewsShareNothing) {
  const Tensor x = sample({2, 3});
  const std::vector<std::pair<Tensor, Tensor>> pairs = {
      {at::alias_copy(x), x},
      {at::as_strided_copy(x, {2, 2}, {1, 2}, 1), at::as_strided(x, {2, 2}, {1, 2}, 1)},
      {at::detach_copy(x), x},
      {at::diagonal_copy(x, 1), at::diagonal(x, 1)},
      {at::expand_copy(at::select_copy(x, 0, 1), {2, 3}), at::expand(at::select(x, 0, 1), {2, 3})},
      {at::permute_copy(x, {1, 0}), at::transpose(x, 0, 1)},
      {at::slice_copy(x, 1, 0, 3, 2), at::slice(x, 1, 0, 3, 2)},
      {at::squeeze_copy(at::unsqueeze_copy(x, 0)), x},
      {at::t_copy(x), at::t(x)},
      {at::transpose_copy(x, 0, 1), at::t(x)},
      {at::unfold_copy(x, 1, 2, 1), at::unfold(x, 1, 2, 1)},
      {at::view_copy(at::t(x), {6}), at::reshape(at::t(x), {6})},
      {at::unbind_copy(x, 1)[2], at::select(x, 1, 2)},
      {at::split_copy(x, 2, 1)[1], at::narrow(x, 1, 2, 1)},
      {at::split_with_sizes_copy(x, {1, 2}, 1)[1], at::narrow(x, 1, 1, 2)}};
  for (const auto& [copy, view] : pairs) {
    EXPECT_FALSE(copy.is_alias_of(x));
    EXPECT_TRUE(copy.is_contiguous());
    expect_close(copy, view);
  }
  Tensor out = blank({0}), first = blank({2, 2}), second = blank({0});
  at::t_copy_out(out, x);
  expect_close(out, at::t(x));
  at::split_copy_outf(x, 2, 1, {first, second});
  expect_close(second, at::narrow(x, 1, 2, 1));
  Tensor square = sample({2, 2});
  const Tensor before = at::t_copy(square);
  at::t_copy_out(square, square);
  expect_close(square, before);
  EXPECT_EQ(at::view_copy(x, kInt).scalar_type(), kInt);
  EXPECT_EQ(at::_unsafe_view(x, {3, 2}).sizes(), IntArrayRef({3, 2}));
  EXPECT_EQ(at::_reshape_from_tensor(x, indices_of({3, 2}, {2})).sizes(), IntArrayRef({3, 2}));
  expect_error<Error>([&] { at::_reshape_from_tensor(x, x); }, "a vector of int64");
}

TEST(Forms, BatchNormalization) {
  const Tensor x = sample({4, 3, 2}), w = sample({3}), b = sample({3}, kFloat, 2);
  Tensor mean = tensor_of({0.5, 1, 2}, {3}), var = tensor_of({1, 2, 3}, {3}), mean2 = at::clone(mean),
         var2 = at::clone(var);
  const auto [y, m, s] = at::native_batch_norm(x, w, b, mean2, var2, true, 0.1, 1e-5);
  const auto functional = at::_native_batch_norm_legit_functional(x, w, b, mean, var, true, 0.1, 1e-5);
  expect_close(mean, {0.5, 1, 2});
  expect_close(std::get<3>(functional), mean2);
  const auto [y2, m2, v2, reserve] = at::_batch_norm_with_update(x, w, b, mean, var, 0.1, 1e-5);
  expect_close(y2, y);
  expect_close(m2, m);
  expect_close(mean, mean2);
  expect_close(var, var2);
  EXPECT_EQ(reserve.numel(), 0);
  expect_close(std::get<0>(at::_batch_norm_no_update(x, w, b, mean, var, 0.1, 1e-5)),
               at::batch_norm(x, w, b, mean, var, false, 0.1, 1e-5, false));
  expect_close(std::get<0>(at::_native_batch_norm_legit(x, w, b, true, 0.1, 1e-5)), y);
  Tensor out = blank({0}), save = blank({0}), invstd = blank({0});
  at::_native_batch_norm_legit_outf(x, w, b, mean, var, true, 0.1, 1e-5, out, save, invstd);
  expect_close(out, y);
  // By hand: one channel of two numbers.
  Tensor running_mean = tensor_of({0}, {1}), running_var = tensor_of({0}, {1});
  const auto [of, biased] = at::batch_norm_update_stats(tensor_of({1, 3}, {2, 1}), running_mean, running_var, 0.5);
  EXPECT_EQ(values(of)[0], 2);
  EXPECT_EQ(values(biased)[0], 1);
  EXPECT_EQ(values(running_mean)[0], 1);
  EXPECT_EQ(values(running_var)[0], 1);
  expect_error<Error>([&] { at::batch_norm_update_stats(x, tensor_of({0}, {1}), {}, 0.5); },
                      "running_mean should contain 3 elements");
  const auto [normal, rstd] = at::_fused_rms_norm(tensor_of({1, 7}, {1, 2}), {2}, {}, 0.0);
  expect_close(normal, {0.2, 1.4});
  expect_close(rstd, {0.2});
  EXPECT_EQ(std::get<1>(at::_fused_rms_norm(sample({2, 2}, kHalf), {2}, {}, 1e-3)).scalar_type(), kFloat);
}

TEST(Forms, WeightNormalization) {
  const Tensor v = tensor_of({3, 4, 6, 8}, {2, 2}), g = tensor_of({10, 5}, {2, 1});
  expect_close(at::_weight_norm(v, g), {6, 8, 3, 4});
  const auto [w, norms] = at::_weight_norm_interface(v, g);
  expect_close(w, {6, 8, 3, 4});
  expect_close(norms, {5, 10});
  expect_error<Error>([] { at::_weight_norm_interface(sample({2, 2, 2}), sample({1, 2, 1}), 1); }, "first or last dim");
}

TEST(Forms, Convolutions) {
  const Tensor x = sample({1, 2, 5, 4}), w = sample({3, 2, 2, 3}), b = sample({3});
  const Tensor y = at::conv2d(x, w, b, {2, 1}, {1, 1});
  expect_close(at::thnn_conv2d(x, w, {2, 3}, b, {2, 1}, {1, 1}), y);
  expect_close(at::slow_conv_dilated2d(x, w, {2, 3}, b, {2, 1}, {1, 1}), y);
  expect_close(at::_convolution(x, w, b, {2, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1, false, false, true), y);
  expect_close(at::_convolution_mode(x, w, b, {1, 1}, "same", {1, 1}, 1), at::conv2d(x, w, b, {1, 1}, "same"));
  const Tensor wt = sample({2, 3, 2, 3});
  expect_close(at::slow_conv_transpose2d(x, wt, {2, 3}, b, {2, 1}), at::conv_transpose2d(x, wt, b, {2, 1}));
  const Tensor x3 = sample({1, 2, 3, 3, 3}), w3 = sample({2, 2, 2, 2, 2});
  expect_close(at::slow_conv3d(x3, w3, {2, 2, 2}), at::conv3d(x3, w3));
  expect_close(at::slow_conv_dilated3d(x3, w3, {2, 2, 2}, {}, 1, 1, 2), at::conv3d(x3, w3, {}, 1, 1, 2));
  expect_close(at::slow_conv_transpose3d(x3, w3, {2, 2, 2}), at::conv_transpose3d(x3, w3));
  expect_error<Error>([&] { at::thnn_conv2d(x, w, {3, 3}); }, "expected kernel_size to be that of a weight");
}

TEST(Forms, AttentionInOneCall) {
  const int64_t heads = 2, width = 4;
  const Tensor x = sample({2, 3, width}), w = sample({3 * width, width}), b = sample({3 * width}),
               wo = sample({width, width}), bo = sample({width});
  const auto [q, k, v] = at::_transform_bias_rescale_qkv(at::matmul(x, at::t(w)), b, heads);
  const Tensor plain = at::scaled_dot_product_attention(q, k, v, {}, 0.0, false, 1.0);
  const Tensor expected = at::linear(at::reshape(at::transpose(plain, 1, 2), {2, 3, width}), wo, bo);
  const auto [y, weights] = at::_native_multi_head_attention(x, x, x, width, heads, w, b, wo, bo);
  expect_close(y, expected, 1e-4, 1e-5);
  EXPECT_EQ(weights.sizes(), IntArrayRef({2, 3, 3}));
  expect_close(at::sum(weights, IntArrayRef{-1}), std::vector<double>(6, 1.0));
  const Tensor padding = tensor_of({0, 0, 1, 0, 1, 1}, {2, 3}, kBool);
  const auto masked = at::_native_multi_head_attention(x, x, x, width, heads, w, b, wo, bo, padding, true, false, 1);
  expect_close(at::select(std::get<1>(masked), -1, 2), std::vector<double>(12, 0.0));
  EXPECT_FALSE(std::get<1>(at::_native_multi_head_attention(x, x, x, width, heads, w, b, wo, bo, {}, false)).defined());
  const Tensor one = tensor_of({1}, {width}), zero = tensor_of({0}, {width});
  const Tensor layer =
      at::_transformer_encoder_layer_fwd(x, width, heads, w, b, wo, bo, true, false, 1e-5, one, zero, one, zero,
                                         sample({6, width}), sample({6}), sample({width, 6}), bo);
  expect_close(at::mean(layer, IntArrayRef{-1}), std::vector<double>(6, 0.0), 1e-5, 1e-5);
  expect_error<Error>([&] { at::_native_multi_head_attention(x, x, x, width, 3, w, b, wo, bo); }, "must divide evenly");
  expect_error<Error>([&] { at::_masked_softmax(x, x); }, "Mask should be a boolean tensor");
  const double inf = std::numeric_limits<double>::infinity();
  expect_close(at::_safe_softmax(tensor_of({-inf, -inf, 0, 0}, {2, 2}), -1), {0, 0, 0.5, 0.5});
}

TEST(Forms, ProductsAndDistances) {
  const Tensor a = sample({2, 3}), b = sample({2, 3}, kFloat, 2);
  expect_close(at::_euclidean_dist(a, b), at::cdist(a, b));
  expect_close(at::_cdist_forward(a, b, 1, std::nullopt), at::cdist(a, b, 1));
  expect_close(at::_pdist_forward(a, 2), at::pdist(a));
  expect_close(at::_compute_linear_combination(a, sample({4, 2})), at::mm(sample({4, 2}), a));
  const Tensor w = sample({4, 3, 3});
  expect_close(at::_trilinear(a, w, b, {1, 3}, {0}, {1, 2}, {2, 3}), at::bilinear(a, b, w), 1e-4, 1e-4);
  // Two products and a sum of 16-bit numbers are rounded once.
  const auto half = [](const Tensor& t) { return at::to(t, kBFloat16); };
  const auto single = [&](const Tensor& t) { return at::to(half(t), kFloat); };
  expect_close(at::_trilinear(half(a), half(w), half(b), {1, 3}, {0}, {1, 2}, {2, 3}),
               half(at::bilinear(single(a), single(b), single(w))), 4e-3, 0);
  expect_close(at::_addmm_activation(sample({2}), a, sample({3, 2})),
               at::relu(at::addmm(sample({2}), a, sample({3, 2}))));
  expect_close(at::_addmm_activation(sample({2}), a, sample({3, 2}), 1, 1, true),
               at::gelu(at::addmm(sample({2}), a, sample({3, 2}))));
  expect_close(at::_add_relu(a, b, 2), at::relu(at::add(a, b, 2)));
  Tensor c = at::clone(a);
  at::_add_relu_(c, b, 2);
  expect_close(c, at::relu(at::add(a, b, 2)));
  expect_close(at::_prelu_kernel(a, tensor_of({2, 3, 4}, {3})), at::prelu(a, tensor_of({2, 3, 4}, {3})));
  expect_error<Error>([&] { at::_compute_linear_combination(a, b); }, "expected coefficients of 2 columns");
}

TEST(Forms, OneAfterTheOther) {
  const Tensor a = sample({3, 2}), b = sample({5});
  const Tensor flat = at::flatten_dense_tensors({a, b});
  const std::vector<Tensor> parts = at::unflatten_dense_tensors(flat, {a, b});
  expect_close(parts[0], a);
  EXPECT_TRUE(parts[1].is_alias_of(flat));
  const Tensor chunks = at::_chunk_cat({tensor_of({1, 2, 3, 4, 5, 6}, {3, 2}), tensor_of({7, 8, 9}, {3})}, 0, 2);
  expect_close(chunks, {1, 2, 3, 4, 7, 8, 5, 6, 0, 0, 9, 0});
  expect_error<Error>([] { at::_chunk_cat({}, 0, 2); }, "non-empty input tensor list");
  const Tensor values_of = tensor_of({1, 2, 3, 4, 5}, {5, 1}), offsets = indices_of({0, 2, 2, 5}, {4});
  const Tensor dense = at::_jagged_to_padded_dense_forward(values_of, {offsets}, {2}, -1);
  expect_close(dense, {1, 2, -1, -1, 3, 4});
  expect_close(at::_padded_dense_to_jagged_forward(dense, {offsets}, 5), {1, 2, 3, 4, 0});
  expect_close(at::_padded_dense_to_jagged_forward(dense, {offsets}), {1, 2, 3, 4, 0});
  expect_error<Error>([&] { at::_jagged_to_padded_dense_forward(values_of, {}, {2}); }, "only one jagged dimension");
}

TEST(Forms, OfConversionsPaddingAndHistograms) {
  const Tensor x = tensor_of({1.5, -2.5}, {2});
  EXPECT_EQ(values(at::_cast_Int(x)), (std::vector<double>{1, -2}));
  EXPECT_TRUE(at::_cast_Float(x).is_same(x));
  EXPECT_EQ(x.chalf().scalar_type(), kComplexHalf);
  const Tensor row = tensor_of({1, 2, 3}, {1, 3});
  expect_close(at::_pad_circular(row, {1, 0}), {3, 1, 2, 3});
  expect_close(at::_pad_enum(row, {1, 0}, 0), {2, 1, 2, 3});
  expect_close(at::_pad_enum(row, {1, 0}, 1), {1, 1, 2, 3});
  expect_close(at::_pad_enum(row, {1, 0}, 3, 9.0), {9, 1, 2, 3});
  expect_error<Error>([&] { at::_pad_enum(row, {1, 0}, 4); }, "Unrecognised padding mode");
  const Tensor points = sample({7, 2});
  expect_close(at::_histogramdd_from_bin_cts(points, {2, 3}), std::get<0>(at::histogramdd(points, {2, 3})));
  const std::vector<Tensor> edges = at::_histogramdd_bin_edges(points, {2, 3});
  expect_close(edges[1], std::get<1>(at::histogramdd(points, {2, 3}))[1]);
  expect_close(at::_histogramdd_from_bin_tensors(points, edges), at::_histogramdd_from_bin_cts(points, {2, 3}));
  EXPECT_EQ(values(at::_is_all_true(tensor_of({1, 0}, {2}, kBool)))[0], 0);
  EXPECT_EQ(values(at::_is_any_true(tensor_of({1, 0}, {2}, kBool)))[0], 1);
  expect_close(std::get<1>(at::_aminmax(x)), {1.5});
  const Tensor bits = at::hash_tensor(tensor_of({1, 2, 4, 1, 1, 1}, {2, 3}, kLong), {1});
  EXPECT_EQ(testing::elements<uint64_t>(bits), (std::vector<uint64_t>{7, 1}));
  EXPECT_EQ(testing::elements<uint64_t>(at::hash_tensor(tensor_of({1.0}, {1}, kHalf)))[0], 0x3FF0000000000000u);
  const Tensor z = sample({2, 2}, kComplexFloat);
  expect_close(at::imag(at::_conj(z)), at::neg(at::imag(z)));
  expect_close(at::_neg_view(x), {-1.5, 2.5});
  expect_error<Error>([&] { at::_conj(x); }, "expected a complex tensor");
}

// Values and gradients are those of recorded calls, in //tests/conformance.
TEST(Gradients, BadArguments) {
  const Tensor x = sample({2, 3});
  expect_error<IndexError>(
      [&] {
        at::value_selecting_reduction_backward(x, 2, indices_of({0, 0}, {2}), {2, 3}, true);
      },
      "Dimension out of range");
  expect_error<Error>([&] { at::trace_backward(sample({}), {3}); }, "expected matrix input");
  expect_error<Error>([&] { at::unfold_backward(x, {4}, 0, 3, 0); }, "expected a step above 0 and a size up to 4");
  expect_error<Error>([&] { at::unfold_backward(x, {4}, 0, 2, 1); }, "expected grad_in of size [3, 2], but got [2, 3]");
  expect_error<Error>(
      [&] {
        at::masked_select_backward(sample({1}), x, tensor_of({1, 0}, {2, 1}, kBool));
      },
      "Number of elements of source < number of ones in mask");
  expect_error<Error>([&] { at::_masked_softmax_backward(x, x, x, 1); }, "Mask should be a boolean tensor");
  expect_error<Error>([&] { at::glu_backward_jvp(x, x, x, x, x, 1); },
                      "Halving dimension must be even, but dimension 1 is size 3");
  expect_error<Error>([&] { at::_segment_reduce_backward(x, x, x, "median"); }, "unsupported reduction median");
  expect_error<Error>([&] { at::_segment_reduce_backward(x, x, x, "sum"); }, "expected lengths or offsets");
  const Tensor none = indices_of({}, {0}), bags = indices_of({0, 0, 1}, {3}), sizes = indices_of({2, 1}, {2});
  expect_error<Error>([&] { at::_embedding_bag_dense_backward(x, bags, bags, sizes, none, 4, false, 3, {}); },
                      "mode must be 0 (sum), 1 (mean) or 2 (max), but got 3");
  expect_error<Error>([&] { at::_embedding_bag_dense_backward(x, bags, none, sizes, none, 4, false, 0, {}); },
                      "expected offset2bag of 3 elements, but got 0");
  expect_error<Error>(
      [&] {
        at::_weight_norm_interface_backward(x, sample({3, 2}), x, x, 0);
      },
      "expected grad_w of size [3, 2]");
  expect_error<Error>([&] { at::conv_tbc_backward(x, x, x, x, 0); }, "expected tensors of 3 dimensions");
  expect_error<Error>(
      [&] {
        at::_slow_conv2d_backward(x, x, x, {2, 2}, {1, 1}, {0, 0}, {true, true, true});
      },
      "expected a weight of 4 dimensions");
  expect_error<Error>([&] { at::_thnn_differentiable_lstm_cell_backward(x, {}, x, x, {}, {}, x, x); },
                      "expected matrices of four gates");
  expect_error<Error>(
      [&] {
        at::_thnn_differentiable_gru_cell_backward(x, sample({2, 4}), x, x, {}, {});
      },
      "expected matrices of three gates");
  expect_error<Error>(
      [&] {
        at::_thnn_differentiable_gru_cell_backward(x, sample({1, 3}), sample({1, 3}), x, {}, sample({2, 1, 3}));
      },
      "expected biases of size [3], but got [2, 1, 3]");
  expect_error<Error>(
      [&] {
        at::_thnn_differentiable_lstm_cell_backward(x, {}, sample({1, 4}), sample({1, 4}), sample({2, 4}), {}, x, x);
      },
      "expected biases of size [4], but got [2, 4]");
}

TEST(Forms, ResultsThatAreLeftOutHaveNoPlaceInAnOutput) {
  Tensor first = blank({0}), second = blank({0}), third = blank({0});
  const Tensor grad = sample({1, 2, 3, 3}), x = sample({1, 1, 4, 4}), weight = sample({2, 1, 2, 2});
  const auto backward = [&](std::array<bool, 3> mask) {
    at::convolution_backward_out(first, second, third, grad, x, weight, IntArrayRef{2}, {1, 1}, {0, 0}, {1, 1}, false,
                                 {0, 0}, 1, mask);
  };
  backward({true, true, true});
  EXPECT_EQ(first.sizes(), x.sizes());
  EXPECT_EQ(second.sizes(), weight.sizes());
  expect_close(third, at::sum(grad, {0, 2, 3}));
  expect_error<Error>([&] { backward({true, false, true}); }, "an output was given for a result that is left out");
}

}  // namespace
}  // namespace at
