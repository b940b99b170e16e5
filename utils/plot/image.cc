#include "utils/plot/image.h"

#include <zlib.h>

#include <algorithm>
#include <string_view>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::utils::plot {
namespace {

void append_number(std::string& out, uint32_t v) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(v >> shift);
}

const Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

// Length, type, data, CRC of type and data (https://www.w3.org/TR/png-3/#5Chunk-layout).
void append_chunk(std::string& out, std::string_view type, std::string_view data) {
  append_number(out, static_cast<uint32_t>(data.size()));
  const size_t begin = out.size();
  out += type;
  out += data;
  append_number(out, static_cast<uint32_t>(crc32_z(0, bytes_of(out) + begin, out.size() - begin)));
}

std::string deflated(const std::string& data) {
  uLongf size = compressBound(static_cast<uLong>(data.size()));
  std::string out(size, '\0');
  const int status =
      compress(reinterpret_cast<Bytef*>(out.data()), &size, bytes_of(data), static_cast<uLong>(data.size()));
  TORCH_CHECK(status == Z_OK, "to_png: zlib fails with ", status);
  out.resize(size);
  return out;
}

// NaN is black.
char level(float v) {
  return static_cast<char>(v > 0 ? static_cast<int>(std::min(v, 1.0f) * 255 + 0.5f) : 0);
}
char level(uint8_t v) {
  return static_cast<char>(v);
}

// Each row behind a zero, which says that it is as it is.
template <typename T>
std::string scan_lines(const at::Tensor& image) {
  const int64_t channels = image.size(0), height = image.size(1), width = image.size(2);
  const T* const pixels = image.const_data_ptr<T>();
  std::string out;
  out.reserve(static_cast<size_t>(height * (1 + width * channels)));
  for (int64_t y = 0; y < height; ++y) {
    out += '\0';
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c) out += level(pixels[(c * height + y) * width + x]);
  }
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

  std::string header;
  append_number(header, static_cast<uint32_t>(width));
  append_number(header, static_cast<uint32_t>(height));
  header += '\x08';                                 // bits a channel
  header += pixels.size(0) == 1 ? '\x00' : '\x02';  // grey or colour
  header += std::string_view("\0\0\0", 3);          // deflate, the five filters, not interlaced
  std::string out("\x89PNG\r\n\x1a\n", 8);
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", deflated(bytes ? scan_lines<uint8_t>(pixels) : scan_lines<float>(pixels)));
  append_chunk(out, "IEND", {});
  return out;
}

void write_png(const std::string& path, const at::Tensor& image) {
  const std::string png = to_png(image);
  serialize::AtomicFile file(path);
  file.write(png);
  file.commit();
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
