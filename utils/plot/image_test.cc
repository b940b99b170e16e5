#include "utils/plot/image.h"

#include <gtest/gtest.h>
#include <zlib.h>

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

uint32_t number(const std::string& bytes, size_t at) {
  uint32_t v = 0;
  for (size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}

// The data of the chunk at `at`, whose checksum must be right; `at` then is behind it.
std::string chunk(const std::string& png, size_t& at, const std::string& type) {
  const uint32_t size = number(png, at);
  EXPECT_EQ(png.substr(at + 4, 4), type);
  EXPECT_EQ(number(png, at + 8 + size), crc32(0, reinterpret_cast<const Bytef*>(png.data()) + at + 4, size + 4));
  const std::string data = png.substr(at + 8, size);
  at += size + 12;
  return data;
}

struct Decoded {
  uint32_t width, height;
  std::string settings, rows;
};

Decoded decode(const std::string& png) {
  EXPECT_EQ(png.substr(0, 8), std::string("\x89PNG\r\n\x1a\n", 8));
  size_t at = 8;
  const std::string header = chunk(png, at, "IHDR");
  std::string data = chunk(png, at, "IDAT");
  while (png.substr(at + 4, 4) == "IDAT") data += chunk(png, at, "IDAT");
  EXPECT_EQ(chunk(png, at, "IEND"), "");
  EXPECT_EQ(at, png.size());
  uLongf size = 1 << 20;
  std::string rows(size, '\0');
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                       data.size()),
            Z_OK);
  return {number(header, 0), number(header, 4), header.substr(8), rows.substr(0, size)};
}

TEST(Png, GreyFloatsAreClamped) {
  const Decoded image = decode(to_png(image_of({0, 0.5, 1, -1, 2, NAN}, {2, 3})));
  EXPECT_EQ(image.width, 3u);
  EXPECT_EQ(image.height, 2u);
  EXPECT_EQ(image.settings, std::string("\x08\0\0\0\0", 5));
  EXPECT_EQ(image.rows, std::string("\0\0\x80\xff\0\0\xff\0", 8));
}

TEST(Png, ColoursComePixelByPixel) {
  const at::Tensor planes = image_of({0, 1, 0.2f, 0.4f, 1, 0}, {3, 1, 2});
  const Decoded image = decode(to_png(planes));
  EXPECT_EQ(image.settings, std::string("\x08\x02\0\0\0", 5));
  EXPECT_EQ(image.rows, std::string("\0\0\x33\xff\xff\x66\0", 7));
  EXPECT_EQ(to_png(at::to(planes, at::kDouble)), to_png(planes));
}

TEST(Png, BytesAndStridesAreTakenAsTheyAre) {
  std::vector<uint8_t> values = {1, 2, 3, 4, 5, 6};
  const at::Tensor image = at::from_blob(values.data(), {2, 3}, at::kByte);
  EXPECT_EQ(decode(to_png(image)).rows, std::string("\0\1\2\3\0\4\5\6", 8));
  EXPECT_EQ(decode(to_png(at::t(image))).rows, std::string("\0\1\4\0\2\5\0\3\6", 9));
}

// A chunk's size has 31 bits.
TEST(Png, DataComeInPieces) {
  const uint8_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::string png = encode_png(pixels, 1, 2, 4, /*largest_chunk=*/3);
  EXPECT_EQ(number(png, 33), 3u);  // behind the header
  const Decoded image = decode(png);
  EXPECT_EQ(image.settings, std::string("\x08\x06\0\0\0", 5));
  EXPECT_EQ(image.rows, std::string("\0\1\2\3\4\5\6\7\x08", 9));
  EXPECT_THROW(encode_png(pixels, 1, 4, 2), c10::ValueError);
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
