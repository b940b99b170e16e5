#include "aten/cuda/cudnn/convolution.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "aten/core/context.h"
#include "aten/cuda/conv/epilogue_call.h"
#include "aten/cuda/cudnn/data_type.h"
#include "aten/cuda/cudnn/plan.h"
#include "aten/ops/dense/dense.h"

namespace at::cuda::cudnn {
namespace {

int64_t alignment_of(const Tensor& t) {
  const auto address = reinterpret_cast<uintptr_t>(t.const_data_ptr());
  return int64_t{1} << std::min(std::countr_zero(address), 4);
}

// One direction is two, the first of size 1.
ConvolutionProblem problem_of(ConvolutionPart part, cudnnDataType_t type, const matrix::Convolution& c) {
  ConvolutionProblem p;
  p.part = part;
  p.type = type;
  const int directions = std::max(c.dims, 2);
  p.dims = 2 + directions;
  p.x = {c.batch, c.in_channels};
  p.w = {c.out_channels, c.in_channels / c.groups};
  p.y = {c.batch, c.out_channels};
  for (int i = 0; i < directions; ++i) {
    const int d = 3 - directions + i;
    const auto to = static_cast<size_t>(i);
    p.x[2 + to] = c.input[d];
    p.w[2 + to] = c.kernel[d];
    p.y[2 + to] = c.output[d];
    p.padding[to] = c.padding[d];
    p.stride[to] = c.stride[d];
    p.dilation[to] = c.dilation[d];
  }
  return p;
}

bool is_too_large(const Tensor& t) {
  return t.numel() == 0 || t.numel() > INT32_MAX;
}

// What is left to do with sums that lie in `y`, dense in `format`.
void finish_sums(const ConvolutionTensors& t, const Tensor& y, MemoryFormat format) {
  if (t.bias == nullptr && t.add == nullptr && !t.sizes.relu) return;
  const bool last = format != MemoryFormat::Contiguous;
  const int64_t channels = y.size(1), places = y.numel() / (y.size(0) * channels);
  const Tensor bias = t.bias != nullptr ? native::dense(*t.bias) : Tensor();
  const Tensor add = t.add != nullptr ? native::dense(*t.add, format) : Tensor();
  const auto memory = [](const Tensor& of) {
    return of.defined() ? static_cast<const char*>(of.const_data_ptr()) : nullptr;
  };
  EpilogueCall call{};
  call.name = t.name;
  call.dtype = y.scalar_type();
  call.numel = static_cast<uint32_t>(y.numel());
  call.inner = FastDivisor(static_cast<uint32_t>(last ? 1 : places));
  call.channels = FastDivisor(static_cast<uint32_t>(channels));
  call.y = static_cast<char*>(y.mutable_data_ptr());
  call.bias = memory(bias);
  call.add = memory(add);
  call.alpha = t.sizes.alpha;
  call.relu = t.sizes.relu;
  launch_epilogue(call);
}

}  // namespace

bool try_convolve(ConvolutionPart part, const ConvolutionTensors& t, MemoryFormat format) {
  const std::optional<cudnnDataType_t> type = data_type_of(t.x.scalar_type());
  if (!type || !globalContext().userEnabledCuDNN() || is_too_large(t.x) || is_too_large(t.w) || is_too_large(t.y))
    return false;
  ConvolutionProblem p = problem_of(part, *type, t.sizes);
  if (!is_consistent(p)) return false;
  p.channels_last = format != MemoryFormat::Contiguous;

  // The result is written where it lies if its layout is that of the others.
  const bool writes[] = {part == ConvolutionPart::kGradInput, part == ConvolutionPart::kGradWeight,
                         part == ConvolutionPart::kForward};
  const Tensor* const given[] = {&t.x, &t.w, &t.y};
  Tensor result = writes[0] ? t.x : writes[1] ? t.w : t.y, operands[3];
  native::DenseOut out(result, format);
  for (int i = 0; i < 3; ++i) operands[i] = writes[i] ? out.tensor() : native::dense(*given[i], format);
  p.x_alignment = alignment_of(operands[0]);
  p.w_alignment = alignment_of(operands[1]);
  p.y_alignment = alignment_of(operands[2]);
  Binding bindings[5] = {{TensorId::kX, operands[0].const_data_ptr()},
                         {TensorId::kW, operands[1].const_data_ptr()},
                         {TensorId::kY, operands[2].const_data_ptr()}};

  // With all of it in one graph, which rounds once; where there is no such engine, in steps.
  bool done = false;
  if (t.sizes.relu && part == ConvolutionPart::kForward) {
    ConvolutionProblem fused = p;
    size_t count = 3;
    fused.relu = true;
    Tensor bias, add;
    if (t.bias != nullptr) {
      bias = native::dense(*t.bias);
      fused.has_bias = true;
      fused.bias_alignment = alignment_of(bias);
      bindings[count++] = {TensorId::kBias, bias.const_data_ptr()};
    }
    if (t.add != nullptr) {
      add = native::dense(*t.add, format);
      fused.has_add = true;
      fused.alpha = t.sizes.alpha;
      fused.add_alignment = alignment_of(add);
      bindings[count++] = {TensorId::kAdd, add.const_data_ptr()};
    }
    done = try_run(fused, bindings, count);
  }
  if (!done) {
    if (!try_run(p, bindings, 3)) return false;
    finish_sums(t, out.tensor(), format);
  }
  out.commit();
  return true;
}

}  // namespace at::cuda::cudnn
