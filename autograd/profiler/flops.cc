// What with_flops counts.

#include "aten/core/tensor.h"
#include "autograd/profiler/profiler.h"

namespace torch::autograd::profiler::detail {
namespace {

using Inputs = std::vector<c10::IValue>;

// Undefined where the argument is no tensor, or one of other dimensions (-1: any).
at::Tensor tensor_at(const Inputs& inputs, size_t i, int64_t dim) {
  if (i >= inputs.size() || !inputs[i].isTensor()) return {};
  at::Tensor tensor = inputs[i].toTensor();
  return tensor.defined() && (dim < 0 || tensor.dim() == dim) ? tensor : at::Tensor();
}

// 2 b m k n of [b, m, k] times [b, k, n]; without b for matrices.
uint64_t product(const Inputs& inputs, size_t first, int64_t dim) {
  const at::Tensor a = tensor_at(inputs, first, dim), b = tensor_at(inputs, first + 1, dim);
  if (!a.defined() || !b.defined()) return 0;
  return 2 * static_cast<uint64_t>(a.numel()) * static_cast<uint64_t>(b.size(-1));
}

// conv2d(input, weight, bias, stride, padding, dilation, groups): two a weight and position of the output.
uint64_t conv2d(const Inputs& inputs) {
  const at::Tensor input = tensor_at(inputs, 0, 4), weight = tensor_at(inputs, 1, 4);
  if (!input.defined() || !weight.defined() || inputs.size() < 7 || !inputs[3].isIntList() || !inputs[4].isIntList() ||
      !inputs[5].isIntList()) {
    return 0;
  }
  const std::vector<int64_t> stride = inputs[3].toIntVector(), padding = inputs[4].toIntVector(),
                             dilation = inputs[5].toIntVector();
  uint64_t flops = 2 * static_cast<uint64_t>(weight.numel()) * static_cast<uint64_t>(input.size(0));
  for (size_t d = 0; d < 2; ++d) {
    const auto of = [&](const std::vector<int64_t>& values) { return values.size() > 1 ? values[d] : values[0]; };
    const int64_t axis = static_cast<int64_t>(d) + 2;
    const int64_t reach = of(dilation) * (weight.size(axis) - 1) + 1;
    flops *= static_cast<uint64_t>((input.size(axis) + 2 * of(padding) - reach) / of(stride) + 1);
  }
  return flops;
}

}  // namespace

uint64_t operator_flops(const std::string& name, const std::vector<c10::IValue>& inputs) {
  if (name == "aten::mm") return product(inputs, 0, 2);
  if (name == "aten::addmm") return product(inputs, 1, 2);
  if (name == "aten::bmm") return product(inputs, 0, 3);
  if (name == "aten::baddbmm") return product(inputs, 1, 3);
  if (name == "aten::conv2d") return conv2d(inputs);
  if (name == "aten::mul" || name == "aten::add") {
    const at::Tensor tensor = tensor_at(inputs, 0, -1);
    return tensor.defined() ? static_cast<uint64_t>(tensor.numel()) : 0;
  }
  return 0;
}

}  // namespace torch::autograd::profiler::detail
