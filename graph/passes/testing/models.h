// Known networks, as functions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::graph::testing {

/// Makes a parameter or statistic: of these sizes, with numbers around `offset` with the deviation `scale`.
using MakeWeight = std::function<at::Tensor(at::IntArrayRef sizes, double scale, double offset)>;
using Model = std::function<at::Tensor(const at::Tensor& input)>;

/// Seeded normal numbers in float32.
at::Tensor normal_weight(at::IntArrayRef sizes, double scale, double offset);
/// Seeded multiples of 1/64, of which each row's largest is 127/64: numbers that 16 bits, and bytes with a scale for each
/// row, hold as they are. The scale and the offset do not count.
at::Tensor exact_weight(at::IntArrayRef sizes, double scale, double offset);

/// ResNet-18 (K. He et al., "Deep residual learning for image recognition", 2015): float32 [N, 3, 224, 224] to [N,
/// 1000].
Model resnet18(const MakeWeight& make);
/// MobileNetV2 (M. Sandler et al., 2018): the same sizes.
Model mobilenet_v2(const MakeWeight& make);
/// The blocks and the head of a GPT of 4 layers, width 256, 4 heads: float32 [1, 128, 256] to [1, 128, 512]. Its attention
/// is scaled_dot_product_attention, or spelled out in products and a softmax.
Model gpt(const MakeWeight& make, bool spelled_out = false);
/// Convolutions of all kinds, without norms, and a linear layer: float32 [N, 16, 24, 24] to [N, 10].
Model convolutions(const MakeWeight& make);
/// Linear layers with relu between them: float32 [N, widths[0]] to [N, widths.back()].
Model mlp(const MakeWeight& make, std::vector<int64_t> widths);

}  // namespace torch::graph::testing
