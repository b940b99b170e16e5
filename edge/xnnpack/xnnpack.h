// XNNPACK as a delegate: float32 networks for ARM and x86, with weights packed when a part is compiled.
//
// It runs convolution, conv2d, linear, addmm, max_pool2d, avg_pool2d, adaptive_avg_pool2d and mean over a picture to
// one number a channel, softmax over the last dimension or the channels, prelu, constant_pad_nd, flatten and view of
// what was pooled to one number a channel, add, sub, mul, div, maximum, minimum, relu, relu6, hardtanh, clamp, sigmoid,
// silu, hardswish, leaky_relu, elu, abs, neg, floor, ceil, round, sqrt, square, and dropout in evaluation.
//
// Tensors of four dimensions lie channels-last within a part: they are copied where it begins and ends. A part is built
// once for each set of input sizes, of which the last few are kept. Results agree with eager ones to rounding; NaN does
// not pass through relu, clamps and max_pool2d as it does there.
#pragma once

#include "edge/delegate.h"

namespace torch::edge {

class XnnpackDelegate final : public Delegate {
 public:
  /// Throws Error where the library does not run on this processor.
  XnnpackDelegate();
  std::string_view name() const override { return "xnnpack"; }
  std::string why_not(const graph::Node& node) const override;
  std::unique_ptr<CompiledPart> compile(std::unique_ptr<graph::Graph> part) const override;
};

}  // namespace torch::edge
