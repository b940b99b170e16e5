// float32 convolutions of many small groups: what samples with weights of their own are to one call.
#include <algorithm>
#include <cstring>
#include <optional>

#include "aten/cpu/matrix/convolution_internal.h"
#include "aten/cpu/matrix/group_convolution_tile.h"
#include "aten/cpu/matrix/internal.h"
#include "c10/parallel/parallel.h"

namespace at::matrix::internal {
namespace {

// Where it was measured to be the fastest, with vectors of 512 bits.
const char* refusal(const Convolution& c, ConvolutionPart part) {
  if (c.type != Type::kFloat32 || c.dims > 2) return "only float32 in up to two dimensions";
  if (c.groups == 1 || c.batch != 1) return "one group or several images";
  const int64_t in = c.in_channels / c.groups, out = c.out_channels / c.groups;
  const int64_t window = c.kernel[1] * c.kernel[2], outputs = c.output[1] * c.output[2];
  if (in * out == 1) return "depthwise";
  if (in * out * window > 8192) return "large groups";
  if (in % 8 == 0 && out % 8 == 0 && outputs > 16) return "whole blocks of channels";
  if (part == ConvolutionPart::kGradInput && outputs > 1024) return "large planes to fold";
  if (part == ConvolutionPart::kGradWeight && c.kernel[2] == 1) return "a window of single values";
  return nullptr;
}

// The channels of a group with their padding, where there is any: copies that later groups take over.
class Padded {
 public:
  explicit Padded(const Convolution& c)
      : c_(c),
        height_(std::max(c.input[1], reach(c, 1))),
        width_(std::max(c.input[2], reach(c, 2))),
        channels_(c.in_channels / c.groups) {
    if (!has_padding()) return;
    copy_.emplace(static_cast<size_t>(channels_ * height_ * width_) * sizeof(float));
    clear();
  }
  GroupShape shape() const {
    GroupShape s;
    s.in = channels_;
    s.out = c_.out_channels / c_.groups;
    s.plane = height_ * width_;
    s.pitch = width_;
    for (int d = 0; d < 2; ++d) {
      s.kernel[d] = c_.kernel[d + 1];
      s.output[d] = c_.output[d + 1];
      s.stride[d] = c_.stride[d + 1];
      s.dilation[d] = c_.dilation[d + 1];
    }
    return s;
  }
  int64_t plane() const { return c_.input[1] * c_.input[2]; }
  // The channels that begin at `input`.
  const float* read(const float* input) {
    if (!copy_) return input;
    visit([&](float* inside, int64_t at) { std::memcpy(inside, input + at, bytes()); });
    return copy_->as<float>();
  }
  // Zeros in the place of `input`, or the copy in which its gradient is summed.
  float* zeros(float* input) {
    if (copy_)
      clear();
    else
      std::memset(input, 0, static_cast<size_t>(channels_ * plane()) * sizeof(float));
    return copy_ ? copy_->as<float>() : input;
  }
  void write_back(float* input) {
    if (copy_) visit([&](const float* inside, int64_t at) { std::memcpy(input + at, inside, bytes()); });
  }

 private:
  // How far windows see, padding in front included.
  static int64_t reach(const Convolution& c, int d) {
    return std::max((c.output[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d] + 1, c.input[d] + c.padding[d]);
  }
  bool has_padding() const {
    return height_ != c_.input[1] || width_ != c_.input[2] || c_.padding[1] != 0 || c_.padding[2] != 0;
  }
  size_t bytes() const { return static_cast<size_t>(c_.input[2]) * sizeof(float); }
  void clear() {
    std::memset(copy_->as<float>(), 0, static_cast<size_t>(channels_ * height_ * width_) * sizeof(float));
  }
  template <class F>
  void visit(const F& f) {
    for (int64_t i = 0; i < channels_; ++i)
      for (int64_t y = 0; y < c_.input[1]; ++y)
        f(copy_->as<float>() + (i * height_ + y + c_.padding[1]) * width_ + c_.padding[2],
          (i * c_.input[1] + y) * c_.input[2]);
  }

  const Convolution& c_;
  const int64_t height_, width_, channels_;
  std::optional<Scratch> copy_;
};

// Calls run(i, padded, shape, scratch) for i in [0, count), several at once.
template <class F>
void for_each_group(const Convolution& c, int64_t count, const F& run) {
  constexpr int64_t kWorthAThread = int64_t{1} << 18;  // multiply-adds
  const GroupShape shape = Padded(c).shape();
  const int64_t images = c.batch * c.groups / count;
  const int64_t grain = at::divup(kWorthAThread, images * shape.unfolded() * shape.out * shape.outputs());
  at::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    Padded padded(c);
    const Scratch scratch(static_cast<size_t>(group_scratch(shape)) * sizeof(float));
    for (int64_t i = begin; i < end; ++i) run(i, padded, shape, scratch.as<float>());
  });
}

bool forward(const Convolution& c, const void* input, const void* weight, const void* bias, void* output) {
  const auto *in = static_cast<const float*>(input), *w = static_cast<const float*>(weight),
             *b = static_cast<const float*>(bias);
  for_each_group(c, c.batch * c.groups, [&](int64_t i, Padded& padded, const GroupShape& s, float* scratch) {
    const int64_t group = i % c.groups;
    group_forward(s, padded.read(in + i * s.in * padded.plane()), w + group * s.out * s.unfolded(),
                  b == nullptr ? nullptr : b + group * s.out, scratch,
                  static_cast<float*>(output) + i * s.out * s.outputs());
  });
  return true;
}

bool backward_input(const Convolution& c, const void* grad_output, const void* weight, void* grad_input) {
  const auto *grad = static_cast<const float*>(grad_output), *w = static_cast<const float*>(weight);
  for_each_group(c, c.batch * c.groups, [&](int64_t i, Padded& padded, const GroupShape& s, float* scratch) {
    float* const to = static_cast<float*>(grad_input) + i * s.in * padded.plane();
    group_backward_input(s, grad + i * s.out * s.outputs(), w + i % c.groups * s.out * s.unfolded(), scratch,
                         padded.zeros(to));
    padded.write_back(to);
  });
  return true;
}

bool backward_weight(const Convolution& c, const void* grad_output, const void* input, void* grad_weight) {
  const auto *grad = static_cast<const float*>(grad_output), *in = static_cast<const float*>(input);
  for_each_group(c, c.groups, [&](int64_t group, Padded& padded, const GroupShape& s, float* scratch) {
    for (int64_t n = 0; n < c.batch; ++n) {
      const int64_t i = n * c.groups + group;
      group_backward_weight(s, grad + i * s.out * s.outputs(), padded.read(in + i * s.in * padded.plane()), n > 0,
                            scratch, static_cast<float*>(grad_weight) + group * s.out * s.unfolded());
    }
  });
  return true;
}

}  // namespace

constinit const ConvolutionCandidate kGroupConvolution{"groups", false,          false,          refusal,
                                                       forward,  backward_input, backward_weight};

}  // namespace at::matrix::internal
