#pragma once

#include <string>
#include <string_view>

#include "aten/core/tensor.h"

namespace torch::data::datasets {

/// How many channels an image shall have: 3, 1 (the gray value), or those of the file (1 to 4).
enum class ImageMode { kRGB, kGray, kUnchanged };

/// A JPEG or PNG image as uint8 [C, H, W]. Colours of 16 bits are rounded to 8; kRGB and kGray leave out transparency.
///
/// Throws serialize::IoError for a file that can't be read, and serialize::FormatError, with the file, the offset and
/// what the reader said, for one that is neither, is damaged or cut short, or claims more pixels than a file of its
/// length can hold (which is found out before memory is taken for them). Arithmetic-coded JPEG is refused.
at::Tensor read_image(const std::string& path, ImageMode mode = ImageMode::kRGB);
/// The same for a file in memory, which messages call `name`.
at::Tensor decode_image(std::string_view bytes, ImageMode mode = ImageMode::kRGB,
                        const std::string& name = "an image in memory");

}  // namespace torch::data::datasets
