#include "data/transforms/image.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "aten/core/tensor_literal.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "c10/core/cpu_generator.h"

namespace torch::data::transforms {
namespace {

namespace F = functional;
using at::Tensor;

Tensor ramp(int64_t h, int64_t w) { return at::reshape(at::arange(h * w, at::TensorOptions(at::kFloat)), {1, h, w}); }

std::vector<float> values(const Tensor& t) {
  const Tensor c = at::contiguous(t);
  return std::vector<float>(c.data_ptr<float>(), c.data_ptr<float>() + c.numel());
}
std::vector<int> bytes(const Tensor& t) {
  const Tensor c = at::contiguous(t);
  return std::vector<int>(c.data_ptr<uint8_t>(), c.data_ptr<uint8_t>() + c.numel());
}
void expect_near(const Tensor& t, const std::vector<float>& expected, float tolerance = 1e-5f) {
  const std::vector<float> got = values(t);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}
// A picture of one pixel.
Tensor pixel(float r, float g, float b) { return at::reshape(at::tensor({r, g, b}), {3, 1, 1}); }

TEST(Image, Crop) {
  const Tensor x = ramp(3, 4);
  EXPECT_EQ(values(F::crop(x, 1, 2, 2, 2)), (std::vector<float>{6, 7, 10, 11}));
  EXPECT_EQ(values(F::crop(x, -1, -1, 2, 2)), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(values(F::crop(x, -1, 3, 3, 2)), (std::vector<float>{0, 0, 3, 0, 7, 0}));
  EXPECT_EQ(values(F::crop(x, 9, 9, 1, 2)), (std::vector<float>{0, 0}));
  EXPECT_EQ(values(F::crop(x, -9, -9, 1, 2)), (std::vector<float>{0, 0}));
  EXPECT_THROW(F::crop(x, 0, 0, 0, 1), c10::ValueError);
  EXPECT_THROW(F::crop(at::tensor({1}), 0, 0, 1, 1), c10::ValueError);
  EXPECT_EQ(values(F::center_crop(x, {1, 2})), (std::vector<float>{5, 6}));
  // (3 - 2) / 2 is rounded to the even 0, as Python's round does.
  EXPECT_EQ(values(F::center_crop(x, 2)), (std::vector<float>{1, 2, 5, 6}));
  EXPECT_EQ(values(F::center_crop(ramp(1, 1), 2)), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(values(F::center_crop(at::add(ramp(1, 1), 1), 3)), (std::vector<float>{0, 0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(values(F::hflip(ramp(2, 2))), (std::vector<float>{1, 0, 3, 2}));
  EXPECT_EQ(values(F::vflip(ramp(2, 2))), (std::vector<float>{2, 3, 0, 1}));
}

TEST(Image, Pad) {
  const Tensor row = ramp(1, 3);
  EXPECT_EQ(values(F::pad(row, {2, 0}, 9)), (std::vector<float>{9, 9, 0, 1, 2, 9, 9}));
  EXPECT_EQ(values(F::pad(row, {1, 0, 2, 1})), (std::vector<float>{0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(values(F::pad(row, {2, 0}, 0, "edge")), (std::vector<float>{0, 0, 0, 1, 2, 2, 2}));
  EXPECT_EQ(values(F::pad(row, {2, 0}, 0, "reflect")), (std::vector<float>{2, 1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(values(F::pad(row, {2, 0}, 0, "symmetric")), (std::vector<float>{1, 0, 0, 1, 2, 2, 1}));
  EXPECT_EQ(F::pad(row, 1).sizes(), (at::IntArrayRef{1, 3, 5}));
  EXPECT_THROW(F::pad(row, {3, 0}, 0, "reflect"), c10::ValueError);
  EXPECT_THROW(F::pad(row, {-1, 0}, 0, "edge"), c10::ValueError);
  EXPECT_THROW(F::pad(row, {-2, 0}), c10::ValueError);
  EXPECT_THROW(F::pad(row, {1, 2, 3}), c10::ValueError);
  EXPECT_THROW(F::pad(row, 1, 0, "mirror"), c10::ValueError);
}

TEST(Image, Colours) {
  const Tensor p = pixel(0.8f, 0.4f, 0.2f);
  const float gray = 0.2989f * 0.8f + 0.587f * 0.4f + 0.114f * 0.2f;
  expect_near(F::rgb_to_grayscale(p), {gray});
  expect_near(F::rgb_to_grayscale(p, 3), {gray, gray, gray});
  expect_near(F::adjust_brightness(p, 0.5), {0.4f, 0.2f, 0.1f});
  expect_near(F::adjust_brightness(p, 2), {1, 0.8f, 0.4f});
  expect_near(F::adjust_saturation(p, 0), {gray, gray, gray});
  expect_near(F::adjust_saturation(p, 2), {std::min(1.0f, 1.6f - gray), 0.8f - gray, std::max(0.0f, 0.4f - gray)});
  expect_near(F::adjust_contrast(p, 0), {gray, gray, gray});
  expect_near(F::adjust_contrast(at::reshape(at::tensor({0.2f, 0.6f}), {1, 1, 2}), 0.5), {0.3f, 0.5f});
  expect_near(F::adjust_gamma(p, 2, 0.5), {0.32f, 0.08f, 0.02f});
  // A third of the circle turns red to green to blue.
  expect_near(F::adjust_hue(p, 1.0 / 3), {0.2f, 0.8f, 0.4f});
  expect_near(F::adjust_hue(p, -1.0 / 3), {0.4f, 0.2f, 0.8f});
  expect_near(F::adjust_hue(p, 0), {0.8f, 0.4f, 0.2f});
  expect_near(F::adjust_hue(pixel(0.5f, 0.5f, 0.5f), 0.3), {0.5f, 0.5f, 0.5f});
  expect_near(F::adjust_hue(pixel(1, 0, 0), 0.5), {0, 1, 1});
  const Tensor small = at::reshape(at::tensor(std::vector<uint8_t>{200, 100, 50}), {3, 1, 1});
  EXPECT_EQ(bytes(F::adjust_brightness(small, 1.5)), (std::vector<int>{255, 150, 75}));
  EXPECT_EQ(bytes(F::rgb_to_grayscale(small)), (std::vector<int>{124}));
  EXPECT_EQ(bytes(F::adjust_hue(small, 1.0 / 3)), (std::vector<int>{50, 200, 100}));
  EXPECT_THROW(F::adjust_brightness(p, -1), c10::ValueError);
  EXPECT_THROW(F::adjust_hue(p, 0.6), c10::ValueError);
  EXPECT_THROW(F::adjust_saturation(at::zeros({2, 1, 1}), 1), c10::ValueError);
}

TEST(Image, NormalizeAndConvert) {
  expect_near(F::normalize(pixel(1, 2, 3), {1, 1, 1}, {1, 2, 4}), {0, 0.5f, 0.5f});
  expect_near(F::normalize(pixel(1, 2, 3), {1}, {2}), {0, 0.5f, 1});
  EXPECT_THROW(F::normalize(pixel(1, 2, 3), {1, 2}, {1}), c10::ValueError);
  EXPECT_THROW(F::normalize(pixel(1, 2, 3), {1}, {0}), c10::ValueError);
  const Tensor small = at::tensor(std::vector<uint8_t>{0, 51, 255});
  expect_near(F::convert_image_dtype(small), {0, 0.2f, 1});
  EXPECT_EQ(bytes(F::convert_image_dtype(F::convert_image_dtype(small), at::kByte)), (std::vector<int>{0, 51, 255}));
}

TEST(Image, ResizeSizes) {
  const Tensor x = at::zeros({3, 20, 40});
  EXPECT_EQ(F::resize(x, 10).sizes(), (at::IntArrayRef{3, 10, 20}));
  EXPECT_EQ(F::resize(F::crop(x, 0, 0, 20, 7), 14).sizes(), (at::IntArrayRef{3, 40, 14}));
  EXPECT_EQ(F::resize(x, {5, 6}).sizes(), (at::IntArrayRef{3, 5, 6}));
  EXPECT_EQ(F::resize(x, 10, Interpolation::kBilinear, 15).sizes(), (at::IntArrayRef{3, 7, 15}));
  EXPECT_THROW(F::resize(x, 10, Interpolation::kBilinear, 10), c10::ValueError);
  EXPECT_THROW(F::resize(x, {0, 1}), c10::ValueError);
  EXPECT_THROW(F::resize(at::zeros({3, 0, 4}), 2), c10::ValueError);
}

TEST(Image, ResizeValues) {
  const Tensor row = ramp(1, 4);
  using I = Interpolation;
  EXPECT_EQ(values(F::resize(row, {1, 2}, I::kNearest)), (std::vector<float>{0, 2}));
  EXPECT_EQ(values(F::resize(row, {1, 2}, I::kNearestExact)), (std::vector<float>{1, 3}));
  expect_near(F::resize(row, {1, 2}, I::kBilinear, std::nullopt, false), {0.5f, 2.5f});
  // Each result stands for two pixels: weights 1/4, 3/4, 3/4, 1/4 around them, of which one falls off at each border.
  expect_near(F::resize(row, {1, 2}),
              {(0.75f * 0 + 0.75f * 1 + 0.25f * 2) / 1.75f, (0.25f * 1 + 0.75f * 2 + 0.75f * 3) / 1.75f});
  expect_near(F::resize(row, {1, 8}), {0, 0.25f, 0.75f, 1.25f, 1.75f, 2.25f, 2.75f, 3});
  expect_near(F::resize(row, {1, 8}, I::kBilinear, std::nullopt, false),
              {0, 0.25f, 0.75f, 1.25f, 1.75f, 2.25f, 2.75f, 3});
  // Both bicubic filters leave constants as they are, and straight lines inside.
  for (const bool antialias : {false, true}) {
    expect_near(F::resize(at::ones({1, 5, 7}), {3, 4}, I::kBicubic, std::nullopt, antialias),
                std::vector<float>(12, 1));
    const std::vector<float> line = values(F::resize(ramp(1, 32), {1, 64}, I::kBicubic, std::nullopt, antialias));
    for (size_t i = 8; i < 56; ++i)
      EXPECT_NEAR(line[i], (static_cast<float>(i) + 0.5f) / 2 - 0.5f, antialias ? 1e-4f : 0.05f);
  }
  // a = -0.75 without antialias: t = 0.5 gives -3/32, 19/32, 19/32, -3/32.
  expect_near(F::resize(row, {1, 2}, I::kBicubic, std::nullopt, false),
              {(-3.f * 0 + 19 * 0 + 19 * 1 - 3 * 2) / 32, (-3.f * 1 + 19 * 2 + 19 * 3 - 3 * 3) / 32});
  const Tensor small = at::reshape(at::tensor(std::vector<uint8_t>{0, 255, 255, 0}), {1, 2, 2});
  EXPECT_EQ(bytes(F::resize(small, {1, 1})), (std::vector<int>{128}));
  EXPECT_EQ(F::resize(at::zeros({2, 3, 4, 4}, at::TensorOptions(at::kDouble)), {2, 2}).sizes(),
            (at::IntArrayRef{2, 3, 2, 2}));
}

TEST(Image, ResizeOfOtherDtypes) {
  using I = Interpolation;
  const int64_t large = (int64_t{1} << 40) + 1;
  const Tensor mask = at::tensor(std::vector<int64_t>{large, 2, 3, large + 2}).view({1, 2, 2});
  for (const I which : {I::kNearest, I::kNearestExact}) {
    const Tensor twice = F::resize(mask, {4, 4}, which);
    EXPECT_EQ(twice.scalar_type(), at::kLong);
    EXPECT_EQ(twice.data_ptr<int64_t>()[1], large);
    EXPECT_EQ(twice.data_ptr<int64_t>()[15], large + 2);
    EXPECT_EQ(F::resize(mask.to(at::kBool), {4, 4}, which).scalar_type(), at::kBool);
  }
  const Tensor half = F::resize(ramp(1, 4).to(at::kHalf), {1, 2}, I::kBilinear, std::nullopt, false);
  EXPECT_EQ(half.scalar_type(), at::kHalf);
  expect_near(half.to(at::kFloat), {0.5f, 2.5f});
  EXPECT_EQ(F::resize(at::zeros({0, 3, 4, 4}), {2, 2}).sizes(), (at::IntArrayRef{0, 3, 2, 2}));
  EXPECT_EQ(F::resize(at::ones({4, 6}), {2, 3}).sizes(), (at::IntArrayRef{2, 3}));
}

// Pillow's results for the same pixels: its filters are those of antialias.
// Resizing is linear in the image: the gradient is its adjoint.
TEST(Image, ResizeHasGradients) {
  using I = Interpolation;
  for (const I which : {I::kNearest, I::kNearestExact, I::kBilinear, I::kBicubic}) {
    for (const bool antialias : {false, true}) {
      for (const auto& size : std::vector<std::vector<int64_t>>{{3, 4}, {9, 13}}) {
        const auto resized = [&](const Tensor& x) { return F::resize(x, size, which, std::nullopt, antialias); };
        const auto normal = [](at::IntArrayRef sizes) { return at::randn(sizes, at::TensorOptions(at::kDouble)); };
        const Tensor x = normal({2, 6, 7}).set_requires_grad(true), v = normal({2, 6, 7});
        const Tensor y = resized(x), g = normal(y.sizes());
        const Tensor gradient = torch::autograd::grad({y}, {x}, {g})[0];
        const auto product = [](const Tensor& a, const Tensor& b) {
          return *at::sum(at::mul(a, b)).const_data_ptr<double>();
        };
        EXPECT_NEAR(product(gradient, v), product(resized(v), g), 1e-12)
            << static_cast<int>(which) << " " << antialias << " " << size[0];
        EXPECT_GT(product(gradient, gradient), 0);
      }
    }
  }
}

TEST(Image, ResizeAsPillow) {
  using I = Interpolation;
  struct Case {
    I interpolation;
    int64_t height, width;
    std::vector<float> pixels;
  };
  const Case cases[] = {
      {I::kBilinear, 3, 2, {3.9169f, 3.2824f, 4.2661f, 4.5736f, 3.6977f, 3.2093f}},
      {I::kBilinear, 4, 9, {1.25f,   2.4167f, 3.4444f, 4.6667f, 7,       4.4722f, 3.0556f, 2.75f,   3.25f,
                            6.6667f, 7.1111f, 5.6667f, 3.1944f, 1.8333f, 2.0278f, 3.3333f, 4.2222f, 4,
                            4.3333f, 2.8333f, 1.9722f, 2.2222f, 3.5833f, 6.5f,    6.963f,  5.5833f, 3.4167f,
                            2.5f,    3.3333f, 5.1944f, 6.3333f, 4,       3.2222f, 2.0278f, 1.3333f, 1.5f}},
      {I::kBicubic, 3, 2, {4.0213f, 3.2252f, 4.2224f, 4.5983f, 3.6965f, 3.2812f}},
      {I::kBicubic, 4, 9, {0.64157f, 1.9844f, 3.2447f, 4.7917f, 7.3872f, 4.5936f, 2.6279f, 2.4092f,  3.2351f,
                           7.1337f,  8.0389f, 6.3416f, 3.0453f, 1.4593f, 1.3006f, 3.1074f, 4.4022f,  4.082f,
                           4.3923f,  2.4223f, 1.1948f, 1.7672f, 3.7294f, 7.3549f, 8.0185f, 5.9175f,  3.2748f,
                           2.132f,   3.0298f, 5.6356f, 7.0731f, 4.0519f, 3.0184f, 1.475f,  0.78346f, 1.3532f}},
  };
  const Tensor x = at::remainder(at::square(ramp(5, 7)), 11);
  for (const Case& c : cases) expect_near(F::resize(x, {c.height, c.width}, c.interpolation), c.pixels, 1e-4f);
}

TEST(RandomTransforms, DrawAsWritten) {
  // One uniform number decides on a flip; one whole number each on a crop's row and column.
  at::manual_seed(5);
  const bool flips = at::rand({1}).item<float>() < 0.5f;
  const int64_t top = at::randint(0, 4, {1}).item<int64_t>(), left = at::randint(0, 6, {1}).item<int64_t>();
  at::manual_seed(5);
  const Tensor x = ramp(6, 9);
  EXPECT_TRUE(at::equal(RandomHorizontalFlip<>()(x), flips ? F::hflip(x) : x));
  EXPECT_TRUE(at::equal(RandomCrop<>({3, 4})(x), F::crop(x, top, left, 3, 4)));
  EXPECT_TRUE(at::equal(RandomHorizontalFlip<>(1)(x), F::hflip(x)));
  EXPECT_TRUE(at::equal(RandomVerticalFlip<>(0)(x), x));
  EXPECT_TRUE(at::equal(RandomVerticalFlip<>(1)(x), F::vflip(x)));
}

TEST(RandomTransforms, StayInBounds) {
  at::manual_seed(1);
  const Tensor x = at::rand({3, 17, 31});
  std::set<float> corners;
  for (int i = 0; i < 50; ++i) {
    const Tensor part = RandomCrop<>(8)(x);
    ASSERT_EQ(part.sizes(), (at::IntArrayRef{3, 8, 8}));
    corners.insert(values(part)[0]);
    ASSERT_EQ(RandomResizedCrop<>({5, 6})(x).sizes(), (at::IntArrayRef{3, 5, 6}));
    const Tensor jittered = ColorJitter<>(0.4, 0.4, 0.4, 0.1)(x);
    ASSERT_EQ(jittered.sizes(), x.sizes());
    ASSERT_GE(at::min(jittered).item<float>(), 0);
    ASSERT_LE(at::max(jittered).item<float>(), 1);
  }
  EXPECT_GT(corners.size(), 20u);
  EXPECT_EQ(RandomCrop<>(20, std::vector<int64_t>{2})(x).sizes(), (at::IntArrayRef{3, 20, 20}));
  EXPECT_EQ(RandomCrop<>(40, std::vector<int64_t>{}, true)(x).sizes(), (at::IntArrayRef{3, 40, 40}));
  EXPECT_THROW(RandomCrop<>(40)(x), c10::ValueError);
  EXPECT_TRUE(at::equal(ColorJitter<>()(x), x));
  EXPECT_THROW(ColorJitter<>(0, 0, 0, 0.7), c10::ValueError);
  EXPECT_THROW(RandomGrayscale<>(2), c10::ValueError);
  // Too narrow for any ratio: the middle, cut.
  EXPECT_EQ(RandomResizedCrop<>(4, {1, 1})(at::rand({1, 2, 50})).sizes(), (at::IntArrayRef{1, 4, 4}));
}

TEST(Compose, AppliesInTurn) {
  Compose<> both(Pad<>({1}), CenterCrop<>({2, 2}), ConvertImageDtype<>(at::kDouble), Grayscale<>(3));
  const Tensor y = both(ramp(2, 2));
  EXPECT_EQ(y.sizes(), (at::IntArrayRef{3, 2, 2}));
  EXPECT_EQ(y.scalar_type(), at::kDouble);
  const std::vector<Example<>> batch = both.apply_batch({{ramp(2, 2), at::tensor(1)}});
  EXPECT_EQ(batch[0].data.sizes(), (at::IntArrayRef{3, 2, 2}));
}

}  // namespace
}  // namespace torch::data::transforms
