#include "utils/plot/png.h"

#include <png.h>

#include <algorithm>

#include "c10/util/exception.h"

namespace torch::utils::plot {

std::string encode_png(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels) {
  constexpr int64_t kLongestSide = 1'000'000;
  TORCH_CHECK_VALUE(channels == 1 || channels == 3 || channels == 4, "encode_png: an image has 1, 3 or 4 channels, not ",
                    channels);
  TORCH_CHECK_VALUE(std::min(height, width) > 0 && std::max(height, width) <= kLongestSide, "encode_png: an image of ",
                    height, " x ", width, " pixels");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = 0;
  const auto write = [&](void* to) {
    constexpr int kAsItIs = 0, kDenseRows = 0;
    const int done = png_image_write_to_memory(&image, to, &size, kAsItIs, pixels, kDenseRows, nullptr);
    TORCH_CHECK_VALUE(done != 0, "encode_png: libpng says: ", static_cast<const char*>(image.message));
  };
  write(nullptr);  // only counts the bytes
  std::string out(size, '\0');
  write(out.data());
  return out;
}

}  // namespace torch::utils::plot
