// Accessors, dispatch by dtype, types to compute in, checks of arguments, broadcasting: what operators of programs use.
#include <ATen/AccumulateType.h>
#include <ATen/CPUFunctions.h>
#include <ATen/Dispatch.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/ExpandUtils.h>
#include <ATen/InferSize.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/MetaFunctions.h>
#include <ATen/NativeFunctions.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorUtils.h>
#include <ATen/ceil_div.h>
#include <c10/util/MaybeOwned.h>
#include <gtest/gtest.h>
#include <torch/csrc/utils/tensor_flatten.h>
#include <torch/special.h>
#include <torch/torch.h>

#include <cmath>
#include <complex>
#include <string>
#include <type_traits>

#include "c10/testing/message_of.h"

namespace {

using c10::testing::message_of;

template <class T, int factor>
int64_t bytes() {
  return static_cast<int64_t>(sizeof(T)) * factor;
}

template <typename scalar_t>
void fill_diagonal(torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> a, scalar_t value) {
  for (int32_t i = 0; i < a.size(0); ++i) a[i][i] = value;
}

TEST(PackedAccessor, IndexesAndTransposes) {
  torch::Tensor x = torch::zeros({3, 3});
  fill_diagonal<float>(x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(), 2.f);
  EXPECT_TRUE(torch::equal(x, 2 * torch::eye(3)));

  torch::Tensor y = torch::arange(24).reshape({2, 3, 4});
  auto a = y.packed_accessor64<int64_t, 3>();
  EXPECT_EQ(a[1][2][3], 23);
  auto t = a.transpose(0, 2);
  EXPECT_EQ(t.size(0), 4);
  EXPECT_EQ(t.stride(0), 1);
  EXPECT_EQ(t[3][2][1], 23);
  EXPECT_THROW(a.transpose(0, 3), c10::IndexError);
  at::TensorAccessor<int64_t, 2> row = a[1];
  EXPECT_EQ(row.size(0), 3);
  EXPECT_EQ((y.generic_packed_accessor<int64_t, 3, at::DefaultPtrTraits, int32_t>()[0][1][1]), 5);
  EXPECT_EQ(message_of([&] { y.packed_accessor32<int64_t, 2>(); }), "TensorAccessor expected 2 dims but tensor has 3");
  EXPECT_THROW((y.packed_accessor32<float, 3>()), c10::Error);
  torch::Tensor huge = torch::zeros({1}).expand({int64_t{1} << 31});
  EXPECT_EQ(message_of([&] { huge.packed_accessor32<float, 1>(); }),
            "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
  EXPECT_EQ((huge.packed_accessor64<float, 1>().size(0)), int64_t{1} << 31);
}

TEST(Tensor, AnswersOfNewerReleases) {
  torch::Tensor x = torch::zeros({2, 3});
  EXPECT_FALSE(x.is_mps() || x.is_xpu() || x.is_hpu() || x.is_xla() || x.is_mtia() || x._is_zerotensor());
  EXPECT_EQ(x.sym_size(1), 3);
  EXPECT_EQ(x.sym_numel(), 6);
  EXPECT_EQ(x.sym_sizes(), c10::SymIntArrayRef({2, 3}));
  EXPECT_EQ(x.sym_strides()[0], 3);
  EXPECT_EQ(x.sym_storage_offset(), 0);
  EXPECT_TRUE(x.is_uniquely_owned());
  EXPECT_TRUE(x.toBackend(at::Backend::CPU).is_same(x));
  c10::MaybeOwned<torch::Tensor> same = x.expect_contiguous();
  EXPECT_TRUE(same.unsafeIsBorrowed());
  torch::Tensor turned = x.t();
  c10::MaybeOwned<torch::Tensor> copy = turned.expect_contiguous();
  EXPECT_FALSE(copy.unsafeIsBorrowed());
  EXPECT_TRUE(copy->is_contiguous());
  torch::Tensor taken = *std::move(copy);
  EXPECT_EQ(taken.size(0), 3);
}

TEST(Dispatch, GroupsWithFurtherTypes) {
  using torch::ScalarType;
  const auto size = [](ScalarType t) {
    return AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND5(ScalarType::Half, ScalarType::BFloat16, ScalarType::Bool,
                                                  ScalarType::UInt16, ScalarType::UInt32, t, "size",
                                                  [] { return sizeof(scalar_t); });
  };
  EXPECT_EQ(size(torch::kHalf), 2u);
  EXPECT_EQ(size(torch::kUInt32), 4u);
  EXPECT_EQ(size(torch::kComplexDouble), 16u);
  EXPECT_EQ(message_of([&] { size(torch::kUInt64); }), "\"size\" not implemented for 'UInt64'");
  EXPECT_THROW(size(torch::kUInt64), c10::NotImplementedError);

  EXPECT_EQ(AT_DISPATCH_REDUCED_FLOATING_TYPES(torch::kBFloat16, "f", [] { return sizeof(scalar_t); }), 2u);
  EXPECT_EQ(AT_DISPATCH_FLOATING_TYPES_AND3(torch::kHalf, torch::kBFloat16, torch::kLong, torch::kLong, "f",
                                            [] { return sizeof(scalar_t); }), 8u);
  EXPECT_EQ(
      AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(torch::kHalf, torch::kHalf, "f", [] { return sizeof(scalar_t); }),
      2u);
  EXPECT_EQ(AT_DISPATCH_BIT_TYPES(torch::kBits16, "f", [] { return sizeof(scalar_t); }), 2u);
  const bool quantized = AT_DISPATCH_QINT_TYPES(torch::kQInt8, "f", [] {
    return std::is_same_v<scalar_t, c10::qint8> && std::is_same_v<underlying_t, int8_t> &&
           UNDERLYING_TYPE == torch::kChar;
  });
  EXPECT_TRUE(quantized);
  EXPECT_EQ(AT_DISPATCH_QINT_AND_SUB_BYTE_TYPES(torch::kQUInt4x2, "f", [] { return bit_width * 100 + quant_max; }),
            415);
  const auto switched =
      AT_DISPATCH_SWITCH(torch::kDouble, "f", AT_DISPATCH_CASE_INTEGRAL_TYPES([] {
                           return 1;
                         }) AT_DISPATCH_CASE_FLOATING_TYPES_AND2(torch::kHalf, torch::kBFloat16, [] { return 2; }));
  EXPECT_EQ(switched, 2);
  EXPECT_EQ(AT_DISPATCH_INDEX_TYPES(torch::kInt, "f", [] { return sizeof(index_t); }), 4u);
  EXPECT_EQ(message_of([] { AT_DISPATCH_INDEX_TYPES(torch::kFloat, "pick", [] {}); }),
            "\"pick\" not implemented for 'Float'");
}

TEST(Dispatch, Version2) {
  const auto size = [](torch::ScalarType t) {
    return AT_DISPATCH_V2(t, "size", AT_WRAP([&] { return bytes<scalar_t, 2>(); }), torch::kHalf, torch::kBool,
                          AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES),
                          AT_EXPAND(AT_FLOAT8_TYPES));
  };
  EXPECT_EQ(size(torch::kHalf), 4);
  EXPECT_EQ(size(torch::kUInt64), 16);
  EXPECT_EQ(size(torch::kFloat8_e8m0fnu), 2);
  EXPECT_THROW(size(torch::kBFloat16), c10::NotImplementedError);
}

TEST(AccumulateType, OfTypesAndDtypes) {
  static_assert(std::is_same_v<at::acc_type<float, false>, double> && std::is_same_v<at::acc_type<float, true>, float>);
  static_assert(std::is_same_v<at::acc_type<c10::Half, false>, float> &&
                std::is_same_v<at::acc_type<int8_t, true>, int64_t>);
  static_assert(std::is_same_v<at::acc_type<c10::complex<float>, false>, c10::complex<double>>);
  static_assert(std::is_same_v<at::acc_type_device<float, torch::kMPS>, float>);
  static_assert(std::is_same_v<at::opmath_type<c10::BFloat16>, float> &&
                std::is_same_v<at::opmath_type<double>, double>);
  static_assert(std::is_same_v<at::opmath_type<c10::complex<c10::Half>>, c10::complex<float>>);
  EXPECT_EQ(at::toAccumulateType(torch::kFloat, /*is_cuda=*/false), torch::kDouble);
  EXPECT_EQ(at::toAccumulateType(torch::kShort, /*is_cuda=*/true), torch::kLong);
  EXPECT_EQ(at::toAccumulateType(torch::kComplexFloat, torch::kCUDA), torch::kComplexFloat);
  EXPECT_THROW(at::toAccumulateType(torch::kQInt8, false), c10::Error);
  EXPECT_EQ(at::toOpMathType(torch::kHalf), torch::kFloat);
  EXPECT_EQ(at::toOpMathType(torch::kInt), torch::kInt);
}

TEST(TensorUtils, ChecksNameTheArgument) {
  torch::Tensor x = torch::zeros({2, 3}), y = torch::zeros({2, 3}, torch::kDouble), none;
  at::TensorArg x_arg{x, "x", 1}, y_arg{y, "y", 2}, none_arg{none, "z", 0};
  at::CheckedFrom c = "scale";
  at::checkDim(c, x_arg, 2);
  EXPECT_EQ(message_of([&] { at::checkDim(c, x_arg, 3); }),
            "Expected 3-dimensional tensor, but got 2-dimensional tensor for argument #1 'x' (while checking arguments "
            "for scale)");
  EXPECT_EQ(message_of([&] { at::checkDimRange(c, x_arg, 3, 5); }),
            "Expected 3 to 4 dimensions, but got 2-dimensional tensor for argument #1 'x' (while checking arguments "
            "for scale)");
  at::checkAllSameType(c, {x_arg, none_arg});
  EXPECT_EQ(message_of([&] {
              at::checkAllSameType(c, {x_arg, y_arg});
            }),
            "Expected tensor for argument #1 'x' to have the same type as tensor for argument #2 'y'; but type "
            "CPUFloatType does "
            "not equal CPUDoubleType (while checking arguments for scale)");
  EXPECT_EQ(message_of([&] {
              at::checkSize(c, x_arg, {2, 4});
            }),
            "Expected tensor of size [2, 4], but got tensor of size [2, 3] for argument #1 'x' (while checking "
            "arguments for scale)");
  EXPECT_EQ(message_of([&] { at::checkSize(c, x_arg, 1, 4); }),
            "Expected tensor to have size 4 at dimension 1, but got size 3 for argument #1 'x' (while checking "
            "arguments for scale)");
  EXPECT_EQ(message_of([&] { at::checkAllDefined(c, {x_arg, none_arg}); }),
            "Expected tensor for 'z' to be non-null, but it was undefined (while checking arguments for scale)");
  EXPECT_EQ(
      message_of([&] {
        at::checkScalarTypes(c, x_arg, {torch::kInt, torch::kLong});
      }),
      "Expected tensor for argument #1 'x' to have one of the following scalar types: Int, Long; but got CPUFloatType "
      "instead (while checking arguments for scale)");
  EXPECT_EQ(message_of([&] { at::checkSameGPU(c, x_arg, y_arg); }),
            "Tensor for argument #1 'x' is on CPU, Tensor for argument #2 'y' is on CPU, but expected them to be on "
            "GPU (while "
            "checking arguments for scale)");
  torch::Tensor turned = x.t();
  EXPECT_THROW(at::checkContiguous(c, at::TensorArg(turned, "t", 1)), c10::Error);
  at::checkNumel(c, x_arg, 6);
  at::checkAllSameNumel(c, {x_arg, y_arg});
  at::checkAllSameSize(c, {x_arg, y_arg});
  at::checkDeviceType(c, {x, y}, torch::kCPU);
  at::checkLayout(c, x, torch::kStrided);
  at::checkBackend(c, x, at::Backend::CPU);
  EXPECT_THROW(at::checkBackend(c, x, at::Backend::CUDA), c10::Error);
  EXPECT_THROW(at::checkLayout(c, x, torch::kSparse), c10::Error);
  EXPECT_EQ(c10::str(x_arg, " and ", none_arg), "argument #1 'x' and 'z'");
  EXPECT_EQ(at::maybe_data_ptr(none), nullptr);
  EXPECT_EQ(at::detail::defaultStrides({2, 0, 3}), (std::vector<int64_t>{3, 3, 1}));
  EXPECT_EQ(*at::detail::computeStride({2, 3}, {3, 1}, c10::IntArrayRef({6})), (std::vector<int64_t>{1}));
  EXPECT_FALSE(at::detail::computeStride({2, 3}, {1, 2}, c10::IntArrayRef({6})).has_value());

  at::TensorGeometry g(turned);
  EXPECT_FALSE(g.is_contiguous());
  EXPECT_TRUE(g.transpose(0, -1).is_contiguous());
  EXPECT_EQ(at::TensorGeometry(at::IntArrayRef({4, 5})).stride(0), 5);
  EXPECT_EQ(at::TensorGeometry(none).numel(), 0);
}

TEST(ExpandUtils, Broadcasts) {
  torch::Tensor a = torch::rand({3, 1}), b = torch::rand({4}), c = torch::rand({3, 4});
  const auto [x, y] = at::expand_outplace(a, b);
  EXPECT_EQ(x->sizes(), (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(torch::equal(*x + *y, a + b));
  EXPECT_TRUE(at::expand_inplace(c, c).unsafeIsBorrowed());
  EXPECT_EQ(at::expand_outplace({a, b, torch::Tensor()})[1].dim(), 2);
  EXPECT_EQ(at::infer_size(at::IntArrayRef({3, 1}), at::IntArrayRef({4})), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(at::infer_size(at::IntArrayRef({3, -1}), 12), (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(at::is_expandable_to({3, 1}, {2, 3, 4}));
  EXPECT_FALSE(at::is_expandable_to({3, 2}, {2, 3, 4}));
  EXPECT_TRUE(at::are_expandable({3, 1}, {4}));
  EXPECT_TRUE(torch::allclose(at::sum_to(c, {3, 1}), c.sum(1, true)));
  EXPECT_TRUE(torch::allclose(at::sum_to(c, {4}), c.sum(0)));
  EXPECT_THROW(at::sum_to(c, {5}), c10::Error);
}

TEST(MemoryOverlap, TellsWhatLiesOverWhat) {
  torch::Tensor x = torch::zeros({4});
  EXPECT_EQ(at::has_internal_overlap(x.narrow(0, 0, 1).expand({3})), at::MemOverlap::Yes);
  EXPECT_EQ(at::has_internal_overlap(x), at::MemOverlap::No);
  EXPECT_EQ(at::get_overlap_status(x, x.view({2, 2})), at::MemOverlapStatus::Partial);
  EXPECT_EQ(at::get_overlap_status(x, x.alias()), at::MemOverlapStatus::Full);
  EXPECT_EQ(at::get_overlap_status(x.narrow(0, 0, 2), x.narrow(0, 2, 2)), at::MemOverlapStatus::No);
  EXPECT_THROW(at::assert_no_overlap(x, x.narrow(0, 0, 2)), c10::Error);
  EXPECT_THROW(at::assert_no_internal_overlap(x.narrow(0, 0, 1).expand({3})), c10::Error);
  at::assert_no_partial_overlap(x, x.alias());
  EXPECT_EQ(at::ceil_div(7, 2), 4);
  EXPECT_EQ(at::round_up(7, 4), 8);
}

TEST(TensorFlatten, ThereAndBack) {
  const std::vector<torch::Tensor> parts = {torch::rand({2, 2}), torch::empty({0}), torch::rand({3})};
  torch::Tensor flat = torch::utils::flatten_dense_tensors(parts);
  EXPECT_EQ(flat.numel(), 7);
  const auto back = torch::utils::unflatten_dense_tensors(flat, parts);
  EXPECT_TRUE(torch::equal(back[0], parts[0]) && torch::equal(back[2], parts[2]));
  EXPECT_EQ(back[2].data_ptr<float>(), flat.data_ptr<float>() + 4);
  EXPECT_EQ(back[1].data_ptr(), nullptr);
  EXPECT_THROW(torch::utils::unflatten_dense_tensors(flat, {parts[0]}), c10::Error);
  EXPECT_THROW(torch::utils::flatten_dense_tensors({}), c10::Error);

  std::vector<torch::Tensor> mixed = {torch::zeros(3), torch::zeros(2, torch::kDouble), torch::ones(1), torch::ones(2)};
  const auto groups = torch::utils::take_tensors(mixed, 16);
  ASSERT_EQ(groups.size(), 3u);
  std::vector<torch::Tensor> taken;
  for (const auto& group : groups) {
    EXPECT_LE(group.size, 16u);
    taken.insert(taken.end(), group.tensors.begin(), group.tensors.end());
  }
  torch::utils::reorder_tensors_like(taken, mixed);
  for (size_t i = 0; i < mixed.size(); ++i) EXPECT_TRUE(taken[i].is_same(mixed[i])) << i;
}

TEST(Namespaces, HaveTheOperators) {
  const torch::Tensor x = torch::rand({3, 4}), y = torch::rand({4});
  EXPECT_TRUE(torch::equal(torch::special::gammaln(x), torch::lgamma(x)));
  EXPECT_TRUE(torch::equal(torch::special::xlogy(2, x), torch::xlogy(2, x)));
  torch::Tensor out = torch::empty({3, 4});
  EXPECT_TRUE(torch::special::expm1_out(out, x).is_same(out));
  EXPECT_TRUE(torch::equal(out, torch::expm1(x)));
  EXPECT_TRUE(torch::equal(at::cpu::add(x, y), x + y));
  EXPECT_TRUE(torch::equal(at::native::empty_like(x).fill_(1), torch::ones_like(x)));
  const torch::Tensor sum = at::meta::add(x, y);
  EXPECT_TRUE(sum.is_meta());
  EXPECT_EQ(sum.sizes(), x.sizes());
  EXPECT_EQ(at::meta::cat({x, x}, 1).sizes(), torch::IntArrayRef({3, 8}));
}

TEST(Overloads, AmbiguousDefaultsFindOne) {
  const torch::Tensor dummy = torch::empty({});
  EXPECT_EQ(at::_test_ambiguous_defaults(dummy).item<int>(), 5);
  EXPECT_EQ(at::_test_ambiguous_defaults(dummy, 1).item<int>(), 5);
  EXPECT_EQ(at::_test_ambiguous_defaults(dummy, 2, "2").item<int>(), 5);
  EXPECT_THROW(at::_test_ambiguous_defaults(dummy, 3, 1), c10::Error);
}

TEST(ReshapeAlias, IsAView) {
  const torch::Tensor x = torch::arange(9.).view({3, 3});
  EXPECT_TRUE(torch::equal(torch::_reshape_alias(x, {2, 2}, {1, 2}), torch::as_strided(x, {2, 2}, {1, 2})));
  EXPECT_EQ(x._reshape_alias({9}, {1}).data_ptr(), x.data_ptr());
  EXPECT_NE(torch::_reshape_alias_copy(x, {9}, {1}).data_ptr(), x.data_ptr());
  const torch::Tensor z = torch::ones({3, 3}, torch::requires_grad());
  torch::_reshape_alias(z * z, {9}, {1}).sum().backward();
  EXPECT_TRUE(torch::equal(z.grad(), torch::full({3, 3}, 2.)));
}

TEST(InferenceMode, ShowsInTheThreadsKeys) {
  using c10::DispatchKey;
  EXPECT_TRUE(c10::impl::tls_is_dispatch_key_included(DispatchKey::ADInplaceOrView));
  EXPECT_FALSE(c10::impl::tls_is_dispatch_keyset_excluded(c10::autograd_dispatch_keyset));
  torch::autograd::InferenceMode guard;
  EXPECT_FALSE(c10::impl::tls_is_dispatch_key_included(DispatchKey::ADInplaceOrView));
  EXPECT_TRUE(c10::impl::tls_is_dispatch_keyset_excluded(c10::autograd_dispatch_keyset));
}

TEST(Complex, FunctionsAreFoundInStd) {
  const c10::complex<double> z(3, -4);
  EXPECT_EQ(std::abs(z), 5);
  EXPECT_NEAR(std::exp(z).real(), std::exp(std::complex<double>(3, -4)).real(), 1e-12);
  EXPECT_NEAR(std::log2(z).imag(), std::log(std::complex<double>(3, -4)).imag() / std::log(2.), 1e-12);
  EXPECT_NEAR(std::log10(z).real(), std::log10(5.), 1e-12);
}

TEST(Versions, StartAtNoughtAndAreAskedForByLibtorchsName) {
  torch::Tensor x = torch::ones(3);
  EXPECT_EQ(x._version(), 0);
  x.mul_(2);
  EXPECT_EQ(x.unsafeGetTensorImpl()->version_counter().current_version(), 1u);
  for (const torch::Tensor& t : {torch::rand({2}), torch::zeros({2}), torch::tensor({1.0, 2.0}), torch::full({2}, 3)})
    EXPECT_EQ(t._version(), 0);
  torch::Tensor inside;
  {
    c10::InferenceMode guard;
    inside = torch::ones(3);
    inside.unsafeGetTensorImpl()->bump_version();
  }
  EXPECT_THROW(inside.unsafeGetTensorImpl()->version_counter().current_version(), c10::Error);
  EXPECT_THROW(inside.unsafeGetTensorImpl()->bump_version(), c10::Error);
}

TEST(FromBlob, HasAllForms) {
  std::vector<double> v = {1, 2, 3, 4, 5, 6};
  const auto options = torch::dtype(torch::kDouble).requires_grad(true);
  EXPECT_TRUE(torch::from_blob(v.data(), {6}, options).requires_grad());
  EXPECT_TRUE(torch::from_blob(v.data(), {2}, {3}, options).requires_grad());
  EXPECT_FALSE(at::from_blob(v.data(), {6}, options).requires_grad());
  int released = 0;
  const auto count = [&released](void*) { ++released; };
  const torch::Tensor late = at::from_blob(v.data(), {2, 2}, {2, 1}, 1, count, torch::kDouble);
  EXPECT_EQ(late[1][1].item<double>(), 5);
  static int owners = 0;
  owners = 1;
  {
    torch::Tensor t = torch::for_blob(v.data(), {3}).strides({2}).context(&owners, [](void* n) { --*static_cast<int*>(n); })
                          .options(torch::kDouble).resizeable_storage().make_tensor();
    EXPECT_EQ(t[2].item<double>(), 5);
    t.resize_({20});
    EXPECT_EQ(t[0].item<double>(), 1);
    EXPECT_NE(t.data_ptr(), v.data());
    EXPECT_EQ(owners, 0);
  }
  EXPECT_THROW(at::for_blob(v.data(), {3}).strides({2, 1}).make_tensor(), c10::Error);
  EXPECT_THROW(at::for_blob(v.data(), {3}).storage_offset(-1).make_tensor(), c10::Error);
  EXPECT_THROW(at::for_blob(v.data(), {3}).target_device(torch::kCUDA).options(torch::kCPU).make_tensor(), c10::Error);
  EXPECT_THROW(at::for_blob(nullptr, {3}).make_tensor(), c10::Error);
}

TEST(Loading, ReplacesParametersOfOtherSizes) {
  torch::nn::Linear small(3, 2), large(4, 5);
  torch::Tensor handle = large->weight;
  large->forward(torch::ones({1, 4})).sum().backward();  // an accumulator that expects gradients of the old sizes
  large->zero_grad();
  std::stringstream file;
  torch::save(small, file);
  torch::load(large, file);
  EXPECT_TRUE(torch::equal(handle, small->weight));
  EXPECT_TRUE(handle.requires_grad() && handle.is_leaf());
  large->forward(torch::ones({1, 3})).sum().backward();
  EXPECT_EQ(handle.grad().sizes(), torch::IntArrayRef({2, 3}));
}

TEST(Loading, KeepsTheDtypeOfTheTensorThatIsThere) {
  std::stringstream file;
  torch::save(torch::full({2, 2}, 1.5, torch::kDouble), file);
  torch::Tensor t = torch::zeros({3}), handle = t;
  torch::load(t, file);
  EXPECT_EQ(handle.scalar_type(), torch::kFloat);
  EXPECT_TRUE(torch::equal(handle, torch::full({2, 2}, 1.5)));
}

TEST(Tensors, GetDeviceIsADeviceIndex) {
  static_assert(std::is_same_v<decltype(torch::Tensor().get_device()), c10::DeviceIndex>);
  EXPECT_EQ(torch::ones({1}).get_device(), -1);
}

TEST(Literals, OfComplexNumbersBecomeNoRealOnes) {
  const c10::complex<float> z(1, 2);
  EXPECT_THROW(at::tensor(z, at::kFloat), c10::NotImplementedError);
  EXPECT_THROW(torch::tensor(std::vector<c10::complex<float>>{z}, torch::kFloat), c10::Error);
}

TEST(OlderNames, Work) {
  int x = 3;
  EXPECT_EQ(c10::to_string(x), "3");
  EXPECT_EQ(c10::guts::to_string(&x), c10::str(&x));
  EXPECT_EQ(*torch::make_unique<int>(4), 4);
  at::AutoNonVariableTypeMode guard;
  EXPECT_FALSE((torch::ones(2, torch::requires_grad()) * 2).requires_grad());
}

}  // namespace
