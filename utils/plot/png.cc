#include "utils/plot/png.h"

#include <zlib.h>

#include <algorithm>
#include <string_view>

#include "c10/util/exception.h"

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
  TORCH_CHECK(status == Z_OK, "encode_png: zlib fails with ", status);
  out.resize(size);
  return out;
}

}  // namespace

std::string encode_png(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels, size_t largest_chunk) {
  constexpr int64_t kLongestSide = INT32_MAX;
  TORCH_CHECK_VALUE(channels == 1 || channels == 3 || channels == 4, "encode_png: an image has 1, 3 or 4 channels, not ",
                    channels);
  TORCH_CHECK_VALUE(std::min(height, width) > 0 && std::max(height, width) <= kLongestSide, "encode_png: an image of ",
                    height, " x ", width, " pixels");
  // Each row behind a zero, which says that it is as it is.
  const auto row = static_cast<size_t>(width * channels);
  std::string rows;
  rows.reserve(static_cast<size_t>(height) * (1 + row));
  for (int64_t y = 0; y < height; ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(pixels) + static_cast<size_t>(y) * row, row);
  }

  std::string header;
  append_number(header, static_cast<uint32_t>(width));
  append_number(header, static_cast<uint32_t>(height));
  header += '\x08';                                                    // bits a channel
  header += channels == 1 ? '\x00' : channels == 3 ? '\x02' : '\x06';  // grey, colour, colour and transparency
  header += std::string_view("\0\0\0", 3);                             // deflate, the five filters, not interlaced
  std::string out("\x89PNG\r\n\x1a\n", 8);
  append_chunk(out, "IHDR", header);
  const std::string data = deflated(rows);
  for (size_t at = 0; at < data.size(); at += largest_chunk) {
    append_chunk(out, "IDAT", std::string_view(data).substr(at, largest_chunk));
  }
  append_chunk(out, "IEND", {});
  return out;
}

}  // namespace torch::utils::plot
