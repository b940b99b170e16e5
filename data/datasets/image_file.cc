#include "data/datasets/image_file.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <jpeglib.h>
#include <jerror.h>
#include <png.h>

#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"
#include "utils/serialize/file_io.h"

namespace torch::data::datasets {

namespace {

// Both libraries report errors by a long jump: functions that may be left that way hold nothing that has a destructor.

struct Failure {
  jmp_buf jump;
  char text[256];
};

[[noreturn]] void throw_damaged(const std::string& name, const char* format, size_t offset, const char* text) {
  serialize::throw_format_error(c10::str(name, ": damaged ", format, " image, at byte ", offset, ": ", text));
}

[[noreturn]] void throw_too_large(const std::string& name, const char* format, uint64_t width, uint64_t height) {
  serialize::throw_format_error(
      c10::str(name, ": a ", format, " image that claims ", width, " x ", height,
               " pixels (in its header, at byte 0), more than a file of its length can hold"));
}

// [H, W, C] to [C, H, W].
at::Tensor planes(const std::vector<uint8_t>& interleaved, int64_t height, int64_t width, int64_t channels) {
  at::Tensor image = at::empty({channels, height, width}, at::kByte);
  uint8_t* const to = image.mutable_data_ptr<uint8_t>();
  const int64_t pixels = height * width;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < pixels; ++i) to[c * pixels + i] = interleaved[static_cast<size_t>(i * channels + c)];
  return image;
}

// --- JPEG ---

class JpegReader {
 public:
  JpegReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = &failure_;
    errors_.error_exit = [](j_common_ptr info) {
      auto* const failure = static_cast<Failure*>(info->client_data);
      char text[JMSG_LENGTH_MAX];
      (*info->err->format_message)(info, text);
      std::snprintf(failure->text, sizeof failure->text, "%s", text);
      longjmp(failure->jump, 1);
    };
    errors_.emit_message = [](j_common_ptr info, int level) {
      // Warnings are damage, but for these: bytes that nobody needs, and markers of programs that know no better.
      const int code = info->err->msg_code;
      if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR)
        (*info->err->error_exit)(info);
    };
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  at::Tensor read(ImageMode mode) {
    check(header());
    if (info_.arith_code)
      serialize::throw_format_error(
          c10::str(name_, ": arithmetic-coded JPEG images are not read (byte ", offset(), ")"));
    // A Huffman code is at least one bit, and each block of 64 pixels has one.
    const uint64_t pixels_most = (uint64_t{bytes_.size()} + 1) * 8 * 64;
    if (uint64_t{info_.image_width} * info_.image_height > pixels_most)
      throw_too_large(name_, "JPEG", info_.image_width, info_.image_height);
    const bool gray = mode == ImageMode::kGray || (mode == ImageMode::kUnchanged && info_.num_components == 1);
    const bool cmyk = info_.num_components == 4;
    info_.out_color_space = cmyk ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
    const size_t channels = cmyk ? 4 : gray ? 1 : 3;
    std::vector<uint8_t> pixels(channels * info_.image_width * info_.image_height);
    check(rows(pixels.data(), channels * info_.image_width));
    const int64_t height = info_.image_height, width = info_.image_width;
    if (!cmyk || mode == ImageMode::kUnchanged) return planes(pixels, height, width, static_cast<int64_t>(channels));
    return planes(from_cmyk(pixels, gray), height, width, gray ? 1 : 3);
  }

 private:
  bool header() {
    if (setjmp(failure_.jump)) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool rows(uint8_t* to, size_t stride) {
    if (setjmp(failure_.jump)) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = to + stride * info_.output_scanline;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  void check(bool ok) const {
    if (!ok) throw_damaged(name_, "JPEG", offset(), failure_.text);
  }
  size_t offset() const {
    return info_.src == nullptr ? 0 : bytes_.size() - std::min(bytes_.size(), info_.src->bytes_in_buffer);
  }

  // Files of four inks hold them inverted, as Adobe's programs write them.
  static std::vector<uint8_t> from_cmyk(const std::vector<uint8_t>& inks, bool gray) {
    std::vector<uint8_t> pixels;
    for (size_t i = 0; i + 3 < inks.size(); i += 4) {
      unsigned rgb[3];
      for (size_t c = 0; c < 3; ++c) rgb[c] = inks[i + c] * inks[i + 3] / 255u;
      if (gray) {
        pixels.push_back(static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000));
      } else {
        for (const unsigned x : rgb) pixels.push_back(static_cast<uint8_t>(x));
      }
    }
    return pixels;
  }

  std::string_view bytes_;
  const std::string& name_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  Failure failure_{};
};

// --- PNG ---

class PngReader {
 public:
  PngReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure_,
                                  [](png_structp png, png_const_charp text) {
                                    auto* const failure = static_cast<Failure*>(png_get_error_ptr(png));
                                    std::snprintf(failure->text, sizeof failure->text, "%s", text);
                                    longjmp(failure->jump, 1);
                                  },
                                  [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    TORCH_CHECK_WITH(OutOfMemoryError, info_ != nullptr, "read_image: can't allocate memory for libpng");
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, size_t count) {
      auto* const self = static_cast<PngReader*>(png_get_io_ptr(png));
      if (count > self->bytes_.size() - self->at_) png_error(png, "the file ends too early");
      std::memcpy(to, self->bytes_.data() + self->at_, count);
      self->at_ += count;
    });
  }
  ~PngReader() { png_destroy_read_struct(&png_, info_ != nullptr ? &info_ : nullptr, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  at::Tensor read(ImageMode mode) {
    check(header());
    // Deflate makes at most 1032 bytes of one.
    const uint64_t bytes_most = (uint64_t{bytes_.size()} + 1) * 1032;
    if (png_get_image_height(png_, info_) > bytes_most / std::max<uint64_t>(png_get_rowbytes(png_, info_), 1))
      throw_too_large(name_, "PNG", png_get_image_width(png_, info_), png_get_image_height(png_, info_));
    check(transforms(mode));
    const size_t height = png_get_image_height(png_, info_), width = png_get_image_width(png_, info_),
                 stride = png_get_rowbytes(png_, info_);
    const size_t channels = png_get_channels(png_, info_);
    TORCH_CHECK(stride == width * channels, "read_image: ", name_, ": rows of ", stride, " bytes for ", width,
                " pixels");
    std::vector<uint8_t> pixels(stride * height);
    std::vector<png_bytep> rows(height);
    for (size_t y = 0; y < height; ++y) rows[y] = pixels.data() + y * stride;
    check(pixels_into(rows.data()));
    return planes(pixels, static_cast<int64_t>(height), static_cast<int64_t>(width), static_cast<int64_t>(channels));
  }

 private:
  bool header() {
    if (setjmp(failure_.jump)) return false;
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);
    png_set_chunk_cache_max(png_, 16);
    png_set_chunk_malloc_max(png_, 1 << 20);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_read_info(png_, info_);
    return true;
  }
  bool transforms(ImageMode mode) {
    if (setjmp(failure_.jump)) return false;
    png_set_expand(png_);
    png_set_scale_16(png_);
    if (mode != ImageMode::kUnchanged) png_set_strip_alpha(png_);
    if (mode == ImageMode::kRGB) png_set_gray_to_rgb(png_);
    const auto colours = png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR;
    if (mode == ImageMode::kGray && colours != 0) png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool pixels_into(png_bytepp rows) {
    if (setjmp(failure_.jump)) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }
  void check(bool ok) const {
    if (!ok) throw_damaged(name_, "PNG", at_, failure_.text);
  }

  std::string_view bytes_;
  const std::string& name_;
  size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Failure failure_{};
};

}  // namespace

at::Tensor decode_image(std::string_view bytes, ImageMode mode, const std::string& name) {
  if (bytes.substr(0, 2) == "\xff\xd8") return JpegReader(bytes, name).read(mode);
  if (bytes.substr(0, 8) == "\x89PNG\r\n\x1a\n") return PngReader(bytes, name).read(mode);
  serialize::throw_format_error(c10::str(name, ": neither a JPEG nor a PNG image (byte 0)"));
}

at::Tensor read_image(const std::string& path, ImageMode mode) {
  const serialize::MappedFile file(path);
  return decode_image(file.bytes(), mode, path);
}

}  // namespace torch::data::datasets
