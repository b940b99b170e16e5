// Convolutions by their definition, a thread or a warp for an element of the result: for what cuDNN does not take.
#pragma once

#include "aten/cuda/conv/convolution_call.h"
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/reduce/block.cuh"

namespace at::cuda {

template <class C>
KD_DEVICE C add_product(C sum, C a, C b) {
  if constexpr (std::is_same_v<C, int64_t>)
    return static_cast<C>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return sum + a * b;
}

/// Element i of a tensor whose sizes are `sizes`, the last first, by its coordinates.
template <int kDims>
KD_DEVICE void split_place(uint32_t i, const FastDivisor (&sizes)[kDims], uint32_t (&at)[kDims]) {
#pragma unroll
  for (int d = kDims - 1; d > 0; --d) {
    const FastDivisor& size = sizes[kDims - 1 - d];
    const uint32_t above = divide(i, size);
    at[d] = i - above * size.divisor;
    i = above;
  }
  at[0] = i;
}

KD_DEVICE int64_t offset_of(const int64_t (&strides)[5], const uint32_t (&at)[5]) {
  int64_t offset = 0;
#pragma unroll
  for (int d = 0; d < 5; ++d) offset += at[d] * strides[d];
  return offset;
}

template <class C, class Stored>
KD_DEVICE C element(const char* data, int64_t at) {
  return convert<C>(reinterpret_cast<const Stored*>(data)[at]);
}

template <class C, class Stored>
KD_DEVICE void finish(const ConvolutionCall& call, const ConvolutionCall::Operand& to, const uint32_t (&at)[5], C sum) {
  if (call.bias != nullptr) sum = sum + element<C, Stored>(call.bias, at[1] * call.bias_stride);
  if constexpr (std::is_floating_point_v<C>) {
    if (call.add.data != nullptr)
      sum = sum + static_cast<C>(call.alpha) * element<C, Stored>(call.add.data, offset_of(call.add.strides, at));
    if (call.relu && sum < C(0)) sum = C(0);
  }
  reinterpret_cast<Stored*>(to.data)[offset_of(to.strides, at)] = convert<Stored>(sum);
}

template <class C, class Stored>
__global__ void convolve(const __grid_constant__ ConvolutionCall call, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x;
  const int64_t* const xs = call.x.strides;
  const int64_t* const ws = call.w.strides;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    uint32_t at[5];
    split_place(i, call.places, at);
    int64_t first[3];
    for (int d = 0; d < 3; ++d) first[d] = int64_t{at[2 + d]} * call.stride[d].divisor - call.padding[d];
    const int64_t group = divide(at[1], call.channels);
    C sum = C(0);
    for (uint32_t c = 0; c < call.inputs; ++c) {
      const int64_t x_plane = at[0] * xs[0] + (group * call.inputs + c) * xs[1];
      const int64_t w_plane = at[1] * ws[0] + c * ws[1];
      for (uint32_t a = 0; a < call.kernel[0]; ++a) {
        const int64_t z = first[0] + int64_t{a} * call.dilation[0];
        if (z < 0 || z >= call.in[0]) continue;
        for (uint32_t b = 0; b < call.kernel[1]; ++b) {
          const int64_t y = first[1] + int64_t{b} * call.dilation[1];
          if (y < 0 || y >= call.in[1]) continue;
          const int64_t x_line = x_plane + z * xs[2] + y * xs[3], w_line = w_plane + a * ws[2] + b * ws[3];
          for (uint32_t k = 0; k < call.kernel[2]; ++k) {
            const int64_t x = first[2] + int64_t{k} * call.dilation[2];
            if (x < 0 || x >= call.in[2]) continue;
            sum = add_product(sum, element<C, Stored>(call.w.data, w_line + k * ws[4]),
                              element<C, Stored>(call.x.data, x_line + x * xs[4]));
          }
        }
      }
    }
    finish<C, Stored>(call, call.y, at, sum);
  }
}

// Which place of the output reads place `at` of the input by number k of the kernel; false: none.
KD_DEVICE bool reader_of(const ConvolutionCall& call, int d, uint32_t at, uint32_t k, uint32_t* place) {
  const int64_t distance = int64_t{at} + call.padding[d] - int64_t{k} * call.dilation[d];
  if (distance < 0) return false;
  *place = divide(static_cast<uint32_t>(distance), call.stride[d]);
  return int64_t{*place} * call.stride[d].divisor == distance && *place < call.out[d];
}

template <class C, class Stored>
__global__ void convolve_backward_input(const __grid_constant__ ConvolutionCall call, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x;
  const int64_t* const ys = call.y.strides;
  const int64_t* const ws = call.w.strides;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    uint32_t at[5];
    split_place(i, call.places, at);
    const int64_t group = divide(at[1], call.channels), channel = at[1] - group * call.inputs;
    C sum = C(0);
    for (uint32_t c = 0; c < call.outputs; ++c) {
      const int64_t y_plane = at[0] * ys[0] + (group * call.outputs + c) * ys[1];
      const int64_t w_plane = (group * call.outputs + c) * ws[0] + channel * ws[1];
      for (uint32_t a = 0; a < call.kernel[0]; ++a) {
        uint32_t z;
        if (!reader_of(call, 0, at[2], a, &z)) continue;
        for (uint32_t b = 0; b < call.kernel[1]; ++b) {
          uint32_t y;
          if (!reader_of(call, 1, at[3], b, &y)) continue;
          const int64_t y_line = y_plane + z * ys[2] + y * ys[3], w_line = w_plane + a * ws[2] + b * ws[3];
          for (uint32_t k = 0; k < call.kernel[2]; ++k) {
            uint32_t x;
            if (!reader_of(call, 2, at[4], k, &x)) continue;
            sum = add_product(sum, element<C, Stored>(call.w.data, w_line + k * ws[4]),
                              element<C, Stored>(call.y.data, y_line + x * ys[4]));
          }
        }
      }
    }
    finish<C, Stored>(call, call.x, at, sum);
  }
}

// kLanes threads for an element: 1, or a warp, all of whose threads take part in every sum.
template <class C, class Stored, int kLanes>
__global__ void convolve_backward_weight(const __grid_constant__ ConvolutionCall call, uint32_t n) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x / kLanes;
  const int64_t* const xs = call.x.strides;
  const int64_t* const ys = call.y.strides;
  for (uint32_t i = thread / kLanes; i < n; i += step) {
    uint32_t at[5];
    split_place(i, call.places, at);
    const int64_t group = divide(at[0], call.channels);
    const int64_t x_plane = (group * call.inputs + at[1]) * xs[1], y_plane = at[0] * ys[1];
    int64_t shift[3];
    for (int d = 0; d < 3; ++d) shift[d] = int64_t{at[2 + d]} * call.dilation[d] - call.padding[d];
    C sum = C(0);
    for (uint32_t t = thread % kLanes; t < call.term_count; t += kLanes) {
      uint32_t of[4];
      {
        uint32_t rest = t;
#pragma unroll
        for (int d = 2; d >= 0; --d) {
          const FastDivisor& size = call.terms[2 - d];
          const uint32_t above = divide(rest, size);
          of[1 + d] = rest - above * size.divisor;
          rest = above;
        }
        of[0] = rest;
      }
      int64_t x_place = x_plane + of[0] * xs[0], y_place = y_plane + of[0] * ys[0];
      bool inside = true;
#pragma unroll
      for (int d = 0; d < 3; ++d) {
        const int64_t place = int64_t{of[1 + d]} * call.stride[d].divisor + shift[d];
        inside = inside && place >= 0 && place < call.in[d];
        x_place += place * xs[2 + d];
        y_place += of[1 + d] * ys[2 + d];
      }
      if (!inside) continue;
      sum = add_product(sum, element<C, Stored>(call.y.data, y_place), element<C, Stored>(call.x.data, x_place));
    }
    if constexpr (kLanes > 1)
      join_lanes(sum, kLanes, [](C& into, const C& from) { into = add_product(into, C(1), from); });
    if (thread % kLanes == 0) {
      reinterpret_cast<Stored*>(call.w.data)[offset_of(call.w.strides, at)] = convert<Stored>(sum);
    }
  }
}

// Sums of more terms are a warp's.
inline constexpr uint32_t kTermsOfThread = 256;

template <class C, class Stored>
void launch_convolution_of(ConvolutionPart part, const ConvolutionCall& call, uint32_t n) {
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  switch (part) {
    case ConvolutionPart::kForward:
      return c10::cuda::launch_or_throw(call.name, convolve<C, Stored>, shape_for(n, 1, stream), call, n);
    case ConvolutionPart::kGradInput:
      return c10::cuda::launch_or_throw(call.name, convolve_backward_input<C, Stored>, shape_for(n, 1, stream), call,
                                        n);
    case ConvolutionPart::kGradWeight:
      if (call.term_count <= kTermsOfThread) {
        return c10::cuda::launch_or_throw(call.name, convolve_backward_weight<C, Stored, 1>, shape_for(n, 1, stream),
                                          call, n);
      }
      constexpr uint32_t kWarps = kThreadsPerBlock / 32;
      return c10::cuda::launch_or_throw(
          call.name, convolve_backward_weight<C, Stored, 32>,
          {.grid = std::min((n - 1) / kWarps + 1, kMostBlocks), .block = kThreadsPerBlock, .stream = stream}, call, n);
  }
}

}  // namespace at::cuda
