#include "utils/plot/image.h"

#include <algorithm>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "utils/plot/png.h"
#include "utils/serialize/file_io.h"

namespace torch::utils::plot {
namespace {

// NaN is black.
uint8_t level(float v) {
  return static_cast<uint8_t>(v > 0 ? static_cast<int>(std::min(v, 1.0f) * 255 + 0.5f) : 0);
}
uint8_t level(uint8_t v) {
  return v;
}

// Pixel by pixel, as files have them.
template <typename T>
std::vector<uint8_t> interleaved(const at::Tensor& image) {
  const int64_t channels = image.size(0), plane = image.size(1) * image.size(2);
  const T* const pixels = image.const_data_ptr<T>();
  std::vector<uint8_t> out;
  out.reserve(static_cast<size_t>(channels * plane));
  for (int64_t i = 0; i < plane; ++i)
    for (int64_t c = 0; c < channels; ++c) out.push_back(level(pixels[c * plane + i]));
  return out;
}

}  // namespace

std::string to_png(const at::Tensor& image) {
  const bool flat = image.dim() == 2;
  TORCH_CHECK_VALUE(flat || (image.dim() == 3 && (image.size(0) == 1 || image.size(0) == 3)),
                    "to_png: expected an image [H, W], [1, H, W] or [3, H, W], got ", image.sizes());
  const int64_t height = image.size(-2), width = image.size(-1);
  TORCH_CHECK_VALUE(std::min(height, width) > 0 && std::max(height, width) <= 65535, "to_png: an image of ", height,
                    " by ", width, " pixels");
  const bool bytes = image.scalar_type() == at::kByte;
  TORCH_CHECK_TYPE(bytes || image.is_floating_point(), "to_png: expected uint8 or a floating dtype, got ",
                   image.scalar_type());
  at::Tensor pixels = at::to(at::detach(image), at::Device(at::kCPU), bytes ? at::kByte : at::kFloat);
  pixels = at::contiguous(flat ? at::unsqueeze(pixels, 0) : pixels);
  const std::vector<uint8_t> bytes_of_pixels = bytes ? interleaved<uint8_t>(pixels) : interleaved<float>(pixels);
  return encode_png(bytes_of_pixels.data(), height, width, pixels.size(0));
}

void write_png(const std::string& path, const at::Tensor& image) {
  serialize::write_file(path, to_png(image));
}

at::Tensor make_grid(const at::Tensor& images, int64_t nrow, int64_t padding, double pad_value) {
  TORCH_CHECK_VALUE(images.dim() == 4 && images.size(0) > 0, "make_grid: expected images [N, C, H, W], got ",
                    images.sizes());
  TORCH_CHECK_VALUE(nrow >= 1 && padding >= 0, "make_grid: ", nrow, " images a row with a padding of ", padding);
  const int64_t count = images.size(0), columns = std::min(nrow, count), rows = (count + columns - 1) / columns;
  const int64_t height = images.size(2) + padding, width = images.size(3) + padding;
  at::Tensor grid =
      at::full({images.size(1), rows * height + padding, columns * width + padding}, pad_value, images.options());
  for (int64_t i = 0; i < count; ++i) {
    at::Tensor row = at::narrow(grid, 1, i / columns * height + padding, images.size(2));
    at::Tensor place = at::narrow(row, 2, i % columns * width + padding, images.size(3));
    at::copy_(place, at::detach(at::select(images, 0, i)));
  }
  return grid;
}

}  // namespace torch::utils::plot
