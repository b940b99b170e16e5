// Pixels as PNG.
#pragma once

#include <cstdint>
#include <string>

namespace torch::utils::plot {

// `pixels` holds height x width x channels bytes, row by row; 1 (grey), 3 (RGB) or 4 (RGBA) channels. Throws
// c10::ValueError for other numbers of channels, an empty image and one that libpng does not take (a side above 1,000,000).
//
//   const uint8_t red_and_blue[] = {255, 0, 0, 0, 0, 255};
//   std::string png = encode_png(red_and_blue, /*height=*/1, /*width=*/2, /*channels=*/3);
std::string encode_png(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels);

}  // namespace torch::utils::plot
