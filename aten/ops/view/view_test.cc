#include "aten/ops/view/ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "aten/core/from_blob.h"
#include "aten/core/view.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/testing/testing.h"
#include "c10/core/grad_mode.h"
#include "c10/parallel/parallel.h"

namespace at {
namespace {

Tensor counting(IntArrayRef sizes) { return at::view(at::arange(checked_numel(sizes)), sizes); }

std::vector<int64_t> values(const Tensor& t) { return testing::elements<int64_t>(t); }

TEST(View, SharesStorageVersionAndBase) {
  Tensor t = counting({2, 6});
  const Tensor v = at::transpose(at::view(t, {3, 4}), 0, 1);
  EXPECT_TRUE(v.is_alias_of(t));
  EXPECT_TRUE(v.is_view());
  EXPECT_EQ(v.unsafeGetTensorImpl()->base().get(), t.unsafeGetTensorImpl()->base().get());
  const int64_t before = v._version();
  at::fill_(t, 1);
  EXPECT_EQ(v._version(), before + 1);
  EXPECT_EQ(values(v), std::vector<int64_t>(12, 1));
}

TEST(View, InfersOneDimension) {
  const Tensor t = counting({2, 6});
  EXPECT_EQ(at::view(t, {-1, 3}).sizes(), IntArrayRef({4, 3}));
  EXPECT_EQ(at::view(at::empty({0, 3}), {-1, 3}).sizes(), IntArrayRef({0, 3}));
  EXPECT_THROW(at::view(t, {5}), Error);
  EXPECT_THROW(at::view(t, {-1, -1}), Error);
  EXPECT_THROW(at::view(t, {-1, 5}), Error);
  EXPECT_THROW(at::view(at::empty({0}), {-1, 0}), Error);
  EXPECT_THROW(at::view(t, {int64_t{1} << 62, 8}), Error);
}

TEST(View, OfStridedTensors) {
  const Tensor t = at::transpose(counting({2, 3}), 0, 1);
  EXPECT_THROW(at::view(t, {6}), Error);
  EXPECT_EQ(values(at::reshape(t, {6})), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  const Tensor halves = at::slice(counting({4, 6}), 1, 0, 6, 2);  // rows of three, stride two
  EXPECT_TRUE(at::view(halves, {2, 2, 3}).is_alias_of(halves));
  EXPECT_EQ(values(at::view(halves, {2, 2, 3})), values(halves));
}

TEST(View, ShapesOfTheFamily) {
  const Tensor t = counting({2, 3, 4});
  EXPECT_EQ(at::permute(t, {2, 0, 1}).sizes(), IntArrayRef({4, 2, 3}));
  EXPECT_EQ(at::movedim(t, 0, -1).sizes(), IntArrayRef({3, 4, 2}));
  EXPECT_EQ(at::flatten(t, 1).sizes(), IntArrayRef({2, 12}));
  EXPECT_EQ(at::unflatten(t, 2, {2, -1}).sizes(), IntArrayRef({2, 3, 2, 2}));
  EXPECT_EQ(at::unsqueeze(t, -1).sizes(), IntArrayRef({2, 3, 4, 1}));
  EXPECT_EQ(at::squeeze(at::empty({1, 2, 1})).sizes(), IntArrayRef({2}));
  EXPECT_EQ(at::squeeze(at::empty({1, 2, 1}), 1).sizes(), IntArrayRef({1, 2, 1}));
  EXPECT_EQ(at::expand(at::empty({3, 1}), {2, -1, 4}).strides(), IntArrayRef({0, 1, 0}));
  EXPECT_EQ(at::unfold(counting({7}), 0, 3, 2).sizes(), IntArrayRef({3, 3}));
  EXPECT_EQ(values(at::unfold(counting({7}), 0, 3, 2)), (std::vector<int64_t>{0, 1, 2, 2, 3, 4, 4, 5, 6}));
  EXPECT_EQ(values(at::diagonal(counting({3, 4}), 1)), (std::vector<int64_t>{1, 6, 11}));
  EXPECT_EQ(values(at::diagonal(counting({3, 4}), -1)), (std::vector<int64_t>{4, 9}));
  EXPECT_EQ(at::diagonal(counting({3, 4}), 9).numel(), 0);
  EXPECT_EQ(values(at::diag(counting({2}))), (std::vector<int64_t>{0, 0, 0, 1}));
}

TEST(View, Pieces) {
  const Tensor t = counting({7, 2});
  const auto parts = at::split(t, 3, 0);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].sizes(), IntArrayRef({1, 2}));
  EXPECT_EQ(at::chunk(t, 3, 0)[2].sizes(), IntArrayRef({1, 2}));
  EXPECT_EQ(at::tensor_split(t, 3, 0)[1].sizes(), IntArrayRef({2, 2}));
  EXPECT_EQ(at::unbind(t, 1)[1].sizes(), IntArrayRef({7}));
  EXPECT_THROW(at::split_with_sizes(t, {3, 3}, 0), Error);
  EXPECT_THROW(at::split(t, 0, 0), Error);
  EXPECT_THROW(at::chunk(t, 0, 0), Error);
}

TEST(View, BadArgumentsThrowBeforeAnythingChanges) {
  const Tensor t = counting({2, 3});
  EXPECT_THROW(at::transpose(t, 0, 2), IndexError);
  EXPECT_THROW(at::permute(t, {0, 0}), Error);
  EXPECT_THROW(at::permute(t, {0}), Error);
  EXPECT_THROW(at::select(t, 0, 2), IndexError);
  EXPECT_THROW(at::slice(t, 0, 0, 2, 0), Error);
  EXPECT_THROW(at::expand(t, {4, 3}), Error);
  EXPECT_THROW(at::narrow(t, 1, 2, 2), Error);
  EXPECT_THROW(at::as_strided(t, {3, 3}, {3, 1}), Error);
  EXPECT_THROW(at::as_strided(t, {2}, {-1}), Error);
  EXPECT_THROW(at::as_strided(t, {2}, {INT64_MAX}), Error);
  EXPECT_THROW(at::unfold(t, 0, 3, 1), Error);
  EXPECT_THROW(at::view_as_complex(t), Error);
  EXPECT_THROW(at::transpose(Tensor(), 0, 0), Error);
  EXPECT_EQ(t.sizes(), IntArrayRef({2, 3}));
}

TEST(View, InPlaceFormsChangeTheTensorItself) {
  Tensor t = counting({1, 6});
  t.squeeze_(0);
  EXPECT_EQ(t.sizes(), IntArrayRef({6}));
  t.unsqueeze_(1);
  t.t_();
  EXPECT_EQ(t.sizes(), IntArrayRef({1, 6}));
  t.resize_({2, 4});
  EXPECT_EQ(t.sizes(), IntArrayRef({2, 4}));
}

TEST(View, OfAnotherDtype) {
  const Tensor t = at::zeros({2, 4}, kFloat);
  EXPECT_EQ(at::view(t, kByte).sizes(), IntArrayRef({2, 16}));
  EXPECT_EQ(at::view(t, kDouble).sizes(), IntArrayRef({2, 2}));
  EXPECT_THROW(at::view(at::zeros({3}, kFloat), kDouble), Error);
  EXPECT_EQ(at::view_as_complex(at::view(t, {2, 2, 2})).sizes(), IntArrayRef({2, 2}));
}

TEST(View, MarksViewsMadeWithoutGradients) {
  const Tensor t = counting({2, 3});
  const NoGradGuard no_grad;
  EXPECT_EQ(at::alias(t).unsafeGetTensorImpl()->creation_meta(), CreationMeta::kNoGrad);
  EXPECT_FALSE(at::detach(t).is_view());
}

TEST(View, NoTensorHasMoreThan64Dimensions) {
  const Tensor t = at::ones(DimVector(64, 1), kLong);
  EXPECT_EQ(t.dim(), 64);
  EXPECT_EQ(values(at::clone(at::transpose(t, 0, 63))), (std::vector<int64_t>{1}));
  Tensor named = at::ones({1}, kLong);
  const DimVector many(1000, 1);
  const std::vector<std::function<void()>> calls = {
      [&] { at::ones(DimVector(65, 1)); },
      [&] { at::empty(many); },
      [&] { at::empty(many, TensorOptions().device(kMeta)); },
      [&] { at::empty_strided(many, many); },
      [&] { at::view(t, DimVector(65, 1)); },
      [&] { at::reshape(t, many); },
      [&] { at::unsqueeze(t, 0); },
      [&] { at::expand(t, many); },
      [&] { at::as_strided(t, many, many); },
      [&] { at::unfold(t, 0, 1, 1); },
      [&] { at::view_as_real(at::ones(DimVector(64, 1), kComplexFloat)); },
      [&] { at::one_hot(t, 3); },
      [&] { at::diag_embed(t); },
      [&] { at::repeat(t, many); },
      [&] { at::tile(t, many); },
      [&] { at::resize_(named, many); },
      [&] { at::unsqueeze_(named = at::ones(DimVector(64, 1), kLong), 0); },
      [&] { from_blob(named.data_ptr(), many, kLong); },
      [&] { at::meshgrid(std::vector<Tensor>(65, at::ones({1}))); },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    try {
      calls[i]();
      ADD_FAILURE() << "call " << i << ": no error";
    } catch (const Error& e) {
      EXPECT_NE(e.msg().find("max supported is 64"), std::string::npos) << "call " << i << ": " << e.msg();
    }
  }
}

TEST(View, MetaTensorsHaveShapesOnly) {
  const Tensor t = at::empty({2, 3}, TensorOptions(kFloat).device(kMeta));
  EXPECT_EQ(at::transpose(t, 0, 1).sizes(), IntArrayRef({3, 2}));
  EXPECT_TRUE(at::view(t, {6}).is_meta());
  // Strides are products of the other sizes, even where nothing is stored.
  const Tensor nothing = at::empty({int64_t{1} << 55, 0}, t.options());
  const std::vector<int64_t> huge{0, int64_t{1} << 40, int64_t{1} << 62, 3, 0};
  EXPECT_THROW(at::view(nothing, huge), c10::Error);
  EXPECT_THROW(at::reshape(nothing, huge), c10::Error);
}

TEST(Creation, RangesAndGrids) {
  EXPECT_EQ(values(at::arange(2, 9, 3)), (std::vector<int64_t>{2, 5, 8}));
  EXPECT_EQ(values(at::arange(5, 0, -2)), (std::vector<int64_t>{5, 3, 1}));
  EXPECT_EQ(at::arange(0, 1, 0.1).numel(), 10);
  EXPECT_EQ(at::arange(1.5).scalar_type(), kFloat);
  EXPECT_THROW(at::arange(0, 5, 0), Error);
  EXPECT_THROW(at::arange(0, 5, -1), Error);
  const Tensor line = at::linspace(-1, 1, 5, kDouble);
  EXPECT_EQ(testing::elements<double>(line), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
  EXPECT_THROW(at::linspace(0, 1, -1), Error);
  EXPECT_EQ(values(at::eye(2, 3, kLong)), (std::vector<int64_t>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(values(at::tril(at::ones({2, 3}, kLong))), (std::vector<int64_t>{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(values(at::triu(at::ones({3, 2}, kLong), 1)), (std::vector<int64_t>{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(values(at::tril_indices(2, 2)), (std::vector<int64_t>{0, 1, 1, 0, 0, 1}));
}

TEST(Creation, BySeveralThreadsAsByOne) {
  const int threads = at::get_num_threads();
  const Tensor matrices = at::transpose(counting({3, 200, 301}), 1, 2);
  const auto all = [&] {
    return std::vector<Tensor>{at::linspace(-3, 5, 100'001, kDouble), at::linspace(-3, 5, 100'001, kFloat),
                               at::logspace(-3, 2, 100'001, 10, kDouble), at::arange(0, 50'000, 0.5, kDouble),
                               at::triu(matrices, -7), at::tril(matrices, 20), at::triu(at::contiguous(matrices), 9)};
  };
  at::set_num_threads(3);
  const std::vector<Tensor> by_three = all();
  at::set_num_threads(1);
  const std::vector<Tensor> by_one = all();
  at::set_num_threads(threads);
  for (size_t i = 0; i < by_one.size(); ++i) EXPECT_EQ(testing::values(by_one[i]), testing::values(by_three[i])) << i;
  EXPECT_DOUBLE_EQ(testing::elements<double>(by_one[0])[75'000], 3);
  const std::vector<int64_t> upper = values(by_three[4]);
  for (int64_t m = 0; m < 3; ++m) {
    for (int64_t r = 0; r < 301; ++r) {
      for (int64_t c = 0; c < 200; ++c) {
        const size_t at = static_cast<size_t>((m * 301 + r) * 200 + c);
        const int64_t element = m * 60'200 + c * 301 + r;
        ASSERT_EQ(upper[at], c >= r - 7 ? element : 0);
      }
    }
  }
}

TEST(Creation, ChecksSizesBeforeItAllocates) {
  EXPECT_THROW(at::empty({-1}), Error);
  EXPECT_THROW(at::zeros({int64_t{1} << 40, int64_t{1} << 40}), Error);
  EXPECT_THROW(at::empty_strided({2}, {-1}), Error);
  EXPECT_THROW(at::empty({2}, TensorOptions(Device("cuda"))), Error);
  EXPECT_EQ(at::empty({0, int64_t{1} << 40}).numel(), 0);
  EXPECT_EQ(at::full({}, true).scalar_type(), kBool);
  EXPECT_EQ(at::full({}, 3).scalar_type(), kLong);
  EXPECT_EQ(at::scalar_tensor(3).scalar_type(), kFloat);
  const Tensor last = at::empty({2, 3, 4, 5}, {}, MemoryFormat::ChannelsLast);
  EXPECT_TRUE(last.is_contiguous(MemoryFormat::ChannelsLast));
  // Not with gaps; sizes of 1 do not matter.
  EXPECT_FALSE(at::slice(last, 3, 0, 4).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_FALSE(at::slice(last, 0, 0, 2, 1).slice(2, 0, 3).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::empty({2, 1, 4, 5}).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::empty({2, 3, 1, 1}).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_FALSE(at::empty({2, 3, 1, 2}).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_FALSE(at::empty({2, 3, 4, 5, 6}).slice(4, 0, 2).is_contiguous(MemoryFormat::ChannelsLast3d));
  EXPECT_EQ(at::contiguous(at::slice(last, 3, 0, 4), MemoryFormat::ChannelsLast).stride(0), 3 * 4 * 4);
  EXPECT_EQ(at::empty_like(last).strides(), last.strides());
  EXPECT_TRUE(at::zeros_like(last, {}, MemoryFormat::Contiguous).is_contiguous());
}

TEST(Creation, PutTogether) {
  EXPECT_EQ(values(at::block_diag({at::ones({1, 2}, kLong), at::full({1, 1}, 5, kLong)})),
            (std::vector<int64_t>{1, 1, 0, 0, 0, 5}));
  EXPECT_EQ(values(at::combinations(at::arange(4))),
            (std::vector<int64_t>{0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3}));
  EXPECT_EQ(values(at::cartesian_prod({at::arange(2), at::arange(2)})), (std::vector<int64_t>{0, 0, 0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(values(at::one_hot(at::arange(2), 3)), (std::vector<int64_t>{1, 0, 0, 0, 1, 0}));
  const auto grids = at::meshgrid({at::arange(2), at::arange(3)}, "xy");
  EXPECT_EQ(grids[0].sizes(), IntArrayRef({3, 2}));
  EXPECT_EQ(values(grids[1]), (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_THROW(at::one_hot(at::arange(3), 2), Error);
  EXPECT_EQ(values(at::combinations(at::arange(3), 2, true)), (std::vector<int64_t>{0, 0, 0, 1, 0, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values(at::combinations(at::arange(4), 3)), (std::vector<int64_t>{0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3}));
  EXPECT_EQ(values(at::combinations(at::arange(3), 3)), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(values(at::combinations(at::arange(1), 4, true)), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_THROW(at::combinations(at::arange(3), int64_t{1} << 40, true), Error);
  EXPECT_THROW(at::combinations(at::arange(1000), 500), ValueError);
  EXPECT_EQ(at::combinations(at::arange(3), int64_t{1} << 40).sizes(), IntArrayRef({0, int64_t{1} << 40}));
}

TEST(Creation, SpacesOfOneStepAreTheirStart) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor start = at::scalar_tensor(2.0), end = at::scalar_tensor(inf);
  for (const Tensor& t : {at::linspace(2, inf, 1), at::linspace(start, end, 1), at::linspace(start, inf, 1), at::linspace(2, end, 1)}) {
    EXPECT_EQ(at::item(t).toDouble(), 2);
  }
  EXPECT_EQ(at::item(at::logspace(start, end, 1, 10)).toDouble(), 100);
}

TEST(Creation, SpacesOfIntegersHaveIntegerEndsAndComplexOnesComplexNumbers) {
  EXPECT_EQ(values(at::logspace(0.5, 1.9, 2, 5.0, kLong)), (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(values(at::linspace(0.5, 4.9, 3, kLong)), (std::vector<int64_t>{0, 2, 4}));
  const Tensor powers = at::logspace(0, c10::Scalar(c10::complex<double>(2, 1)), 2, 2.0, kComplexDouble);
  const std::complex<double> last = std::pow(std::complex<double>(2), std::complex<double>(2, 1));
  const std::vector<double> parts = testing::values(at::view_as_real(powers));
  EXPECT_NEAR(parts[2], last.real(), 1e-12);
  EXPECT_NEAR(parts[3], last.imag(), 1e-12);
  EXPECT_EQ(testing::values(at::logspace(0, 2, 3, 2.0, kComplexFloat)), (std::vector<double>{1, 2, 4}));
}

TEST(View, ResultTypes) {
  const Tensor ints = at::zeros({2}, at::kInt), halves = at::zeros({2}, at::kHalf), number = at::zeros({}, at::kDouble);
  EXPECT_EQ(at::result_type(ints, halves), at::kHalf);
  EXPECT_EQ(at::result_type(halves, number), at::kHalf);
  EXPECT_EQ(at::result_type(ints, number), at::kDouble);
  EXPECT_EQ(at::result_type(ints, at::zeros({}, at::kLong)), at::kInt);
  EXPECT_EQ(at::result_type(ints, Scalar(1.5)), at::kFloat);
  EXPECT_EQ(at::result_type(Scalar(2), halves), at::kHalf);
  EXPECT_EQ(at::result_type(Scalar(2), Scalar(1.5)), at::kFloat);
  EXPECT_EQ(at::result_type(Scalar(2), Scalar(true)), at::kLong);
  const Tensor unsigned_ints = at::zeros({2}, c10::kUInt16);
  EXPECT_EQ(at::result_type(unsigned_ints, Scalar(c10::complex<double>(0, 1))), at::kComplexFloat);
  EXPECT_EQ(at::result_type(unsigned_ints, at::zeros({}, at::kComplexDouble)), at::kComplexDouble);
}

TEST(View, SetWithoutChange) {
  const Tensor self = at::testing::sample({3}), source = at::testing::sample({2, 2});
  const Tensor shown = at::set(self, source);
  EXPECT_EQ(shown.sizes(), source.sizes());
  EXPECT_TRUE(shown.is_alias_of(source));
  EXPECT_EQ(self.sizes(), IntArrayRef({3}));
  EXPECT_EQ(at::set(self).sizes(), IntArrayRef({0}));
  EXPECT_EQ(at::set(self, source.storage()).sizes(), IntArrayRef({4}));
  const Tensor second = at::set(self, source.storage(), 1, {2}, {2});
  at::testing::expect_close(second, at::reshape(at::select(source, 1, 1), {2}));
  Tensor out = at::testing::blank({0});
  at::set_out(out, self, source);
  EXPECT_FALSE(out.is_alias_of(source));
  at::testing::expect_close(out, source);
  at::testing::expect_error<Error>([&] { at::set(self, at::testing::sample({2}, kDouble)); },
                                   "Could not set tensor of type Double");
}

}  // namespace
}  // namespace at
