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

/// ResNet-18 (K. He et al., "Deep residual learning for image recognition", 2015): float32 [N, 3, 224, 224] to [N,
/// 1000].
Model resnet18(const MakeWeight& make);
/// MobileNetV2 (M. Sandler et al., 2018): the same sizes.
Model mobilenet_v2(const MakeWeight& make);
/// The blocks and the head of a GPT of 4 layers, width 256, 4 heads: float32 [1, 128, 256] to [1, 128, 512].
Model gpt(const MakeWeight& make);
/// Linear layers with relu between them: float32 [N, widths[0]] to [N, widths.back()].
Model mlp(const MakeWeight& make, std::vector<int64_t> widths);

}  // namespace torch::graph::testing
