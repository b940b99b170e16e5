// Tensors as pictures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::utils::tensorboard {

struct Picture {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;
  std::string png() const;
};

// `dataformats` names the dimensions: N (a grid of `columns`, with as many rows where it is to be `square`), C, H, W.
// Grey becomes RGB. ValueError.
Picture picture_of(const at::Tensor& tensor, std::string_view dataformats, int64_t columns = 8, bool square = false);

}  // namespace torch::utils::tensorboard
