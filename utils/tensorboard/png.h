// Pictures as PNG.
#pragma once

#include <cstdint>
#include <string>

namespace torch::utils::tensorboard {

// `pixels` holds height x width x channels bytes, row by row; 1 (grey), 3 (RGB) or 4 (RGBA) channels. Throws
// c10::Error.
std::string encode_png(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels);

}  // namespace torch::utils::tensorboard
