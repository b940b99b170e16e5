#include "utils/plot/image.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "aten/core/from_blob.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/testing/files.h"
#include "c10/util/exception.h"
#include "utils/plot/png.h"
#include "utils/serialize/file_io.h"

namespace torch::utils::plot {
namespace {

at::Tensor image_of(std::vector<float> values, at::IntArrayRef sizes) {
  return at::clone(at::from_blob(values.data(), sizes, at::kFloat));
}

struct Decoded {
  uint32_t width = 0, height = 0, format = 0;
  std::string pixels;
};

Decoded decode(const std::string& png) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, png.data(), png.size()), 0) << image.message;
  Decoded result{image.width, image.height, image.format, std::string(PNG_IMAGE_SIZE(image), '\0')};
  EXPECT_NE(png_image_finish_read(&image, nullptr, result.pixels.data(), 0, nullptr), 0) << image.message;
  return result;
}

TEST(Png, GreyFloatsAreClamped) {
  const Decoded image = decode(to_png(image_of({0, 0.5, 1, -1, 2, NAN}, {2, 3})));
  EXPECT_EQ(image.width, 3u);
  EXPECT_EQ(image.height, 2u);
  EXPECT_EQ(image.format, uint32_t{PNG_FORMAT_GRAY});
  EXPECT_EQ(image.pixels, std::string("\0\x80\xff\0\xff\0", 6));
}

TEST(Png, ColoursComePixelByPixel) {
  const at::Tensor planes = image_of({0, 1, 0.2f, 0.4f, 1, 0}, {3, 1, 2});
  const Decoded image = decode(to_png(planes));
  EXPECT_EQ(image.format, uint32_t{PNG_FORMAT_RGB});
  EXPECT_EQ(image.pixels, std::string("\0\x33\xff\xff\x66\0", 6));
  EXPECT_EQ(to_png(at::to(planes, at::kDouble)), to_png(planes));
}

TEST(Png, BytesAndStridesAreTakenAsTheyAre) {
  std::vector<uint8_t> values = {1, 2, 3, 4, 5, 6};
  const at::Tensor image = at::from_blob(values.data(), {2, 3}, at::kByte);
  EXPECT_EQ(decode(to_png(image)).pixels, "\1\2\3\4\5\6");
  EXPECT_EQ(decode(to_png(at::t(image))).pixels, "\1\4\2\5\3\6");
}

TEST(Png, TransparencyIsTheFourthChannel) {
  const uint8_t pixels[] = {1, 2, 3, 255, 5, 6, 7, 0};
  const Decoded image = decode(encode_png(pixels, 1, 2, 4));
  EXPECT_EQ(image.format, uint32_t{PNG_FORMAT_RGBA});
  EXPECT_EQ(image.pixels, std::string("\1\2\3\xff\5\6\7\0", 8));
  EXPECT_THROW(encode_png(pixels, 1, 4, 2), c10::ValueError);
  EXPECT_THROW(encode_png(pixels, 1, int64_t{1} << 32, 1), c10::ValueError);
}

TEST(Png, RejectsBadInputAndIsWritten) {
  EXPECT_THROW(to_png(at::zeros({2, 4, 4})), c10::ValueError);
  EXPECT_THROW(to_png(at::zeros({4})), c10::ValueError);
  EXPECT_THROW(to_png(at::zeros({0, 4})), c10::ValueError);
  EXPECT_THROW(to_png(at::zeros({1, 65536})), c10::ValueError);
  EXPECT_THROW(to_png(at::zeros({4, 4}, at::kLong)), c10::TypeError);
  const std::string path = c10::testing::fresh_folder() + "/image.png";
  write_png(path, at::zeros({1, 4, 4}));
  EXPECT_EQ(serialize::read_file(path), to_png(at::zeros({4, 4})));
}

TEST(MakeGrid, PutsImagesInRows) {
  const at::Tensor grid = make_grid(image_of({1, 2, 3}, {3, 1, 1, 1}), /*nrow=*/2, /*padding=*/1, /*pad_value=*/9);
  const float expected[] = {9, 9, 9, 9, 9,  //
                            9, 1, 9, 2, 9,  //
                            9, 9, 9, 9, 9,  //
                            9, 3, 9, 9, 9,  //
                            9, 9, 9, 9, 9};
  ASSERT_EQ(grid.sizes(), at::IntArrayRef({1, 5, 5}));
  EXPECT_EQ(std::memcmp(grid.const_data_ptr<float>(), expected, sizeof expected), 0);
  EXPECT_EQ(make_grid(at::zeros({3, 3, 4, 6}), 8, 0).sizes(), at::IntArrayRef({3, 4, 18}));
  EXPECT_THROW(make_grid(at::zeros({1, 4, 4})), c10::ValueError);
  EXPECT_THROW(make_grid(at::zeros({0, 1, 4, 4})), c10::ValueError);
  EXPECT_THROW(make_grid(at::zeros({1, 1, 4, 4}), 0), c10::ValueError);
  EXPECT_THROW(make_grid(at::zeros({1, 1, 4, 4}), 8, -1), c10::ValueError);
}

}  // namespace
}  // namespace torch::utils::plot
