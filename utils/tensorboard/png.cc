#include "utils/tensorboard/png.h"

#include <png.h>

#include "c10/util/exception.h"

namespace torch::utils::tensorboard {

std::string encode_png(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels) {
  constexpr int64_t kMostPixels = 1 << 30;
  TORCH_CHECK_VALUE(channels == 1 || channels == 3 || channels == 4, "an image has 1, 3 or 4 channels, not ", channels);
  TORCH_CHECK_VALUE(height > 0 && width > 0 && height <= kMostPixels / width, "an image of ", height, " x ", width,
                    " pixels");
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string out(size, '\0');
  const int ok = png_image_write_to_memory(&image, out.data(), &size, /*convert_to_8_bit=*/0, pixels, /*row_stride=*/0,
                                           /*colormap=*/nullptr);
  TORCH_CHECK(ok != 0, "libpng cannot write the image: ", image.message);
  out.resize(size);
  return out;
}

}  // namespace torch::utils::tensorboard
