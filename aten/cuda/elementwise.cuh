// How the kernel of a pointwise operator is made of a function of its elements.
#pragma once

#include <algorithm>
#include <cstring>

#include "aten/cuda/convert.cuh"
#include "aten/cuda/elementwise_call.h"
#include "aten/cuda/launch_shape.h"
#include "c10/cuda/exception.h"
#include "c10/cuda/launch.h"
#include "c10/cuda/stream.h"

namespace at::cuda {

// `Fn` is what one operator computes:
//     static constexpr int kInputs;
//     template <class T> static KD_DEVICE auto run(const T* inputs, const T* params);

KD_DEVICE uint32_t divide(uint32_t n, const FastDivisor& by) {
  return (static_cast<uint32_t>(static_cast<uint64_t>(n) * by.multiplier >> 32) + n) >> by.shift;
}

// Operands that are all contiguous and hold `Stored`, or are numbers: vectors of up to 16 bytes a thread.
template <class Fn, class Compute, class Stored, class Out, int kLanes>
__global__ void elementwise_vectors(const __grid_constant__ ElementwiseCall call) {
  struct alignas(sizeof(Stored) * kLanes) Vector {
    Stored v[kLanes];
  };
  struct alignas(sizeof(Out) * kLanes) OutVector {
    Out v[kLanes];
  };
  const auto* params = reinterpret_cast<const Compute*>(call.params);
  const uint32_t step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x,
                 vectors = call.numel / kLanes;
  auto* out = reinterpret_cast<Out*>(call.operands[0].data);
  for (uint32_t i = first; i < vectors; i += step) {
    Compute in[kLanes][Fn::kInputs];
#pragma unroll
    for (int k = 0; k < Fn::kInputs; ++k) {
      const char* data = call.operands[1 + k].data;
      if (data != nullptr) {
        const Vector vector = c10::cuda::load_aligned<Vector>(data + int64_t{i} * sizeof(Vector));
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) in[lane][k] = convert<Compute>(vector.v[lane]);
      } else {
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) in[lane][k] = *reinterpret_cast<const Compute*>(call.numbers[k]);
      }
    }
    OutVector result;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) result.v[lane] = convert<Out>(Fn::run(in[lane], params));
    c10::cuda::store_aligned(out + int64_t{i} * kLanes, result);
  }
  for (uint32_t i = vectors * kLanes + first; i < call.numel; i += step) {
    Compute in[Fn::kInputs];
#pragma unroll
    for (int k = 0; k < Fn::kInputs; ++k) {
      const auto* data = reinterpret_cast<const Stored*>(call.operands[1 + k].data);
      in[k] = data != nullptr ? convert<Compute>(data[i]) : *reinterpret_cast<const Compute*>(call.numbers[k]);
    }
    out[i] = convert<Out>(Fn::run(in, params));
  }
}

// Operands of any layout and dtype.
template <class Fn, class Compute>
__global__ void elementwise_strided(const __grid_constant__ ElementwiseCall call) {
  const auto* params = reinterpret_cast<const Compute*>(call.params);
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < call.numel; i += step) {
    int64_t offsets[1 + Fn::kInputs] = {};
    uint32_t rest = i;
    for (int d = 0; d < call.dims; ++d) {
      const uint32_t above = divide(rest, call.sizes[d]), index = rest - above * call.sizes[d].divisor;
      rest = above;
#pragma unroll
      for (int k = 0; k <= Fn::kInputs; ++k) offsets[k] += call.operands[k].strides[d] * index;
    }
    Compute in[Fn::kInputs];
#pragma unroll
    for (int k = 0; k < Fn::kInputs; ++k) {
      const ElementwiseCall::Operand& operand = call.operands[1 + k];
      in[k] = operand.data != nullptr ? load_as<Compute>(operand.data + offsets[1 + k], operand.dtype)
                                      : *reinterpret_cast<const Compute*>(call.numbers[k]);
    }
    store_as(call.operands[0].data + offsets[0], call.operands[0].dtype, Fn::run(in, params));
  }
}

template <class Fn, class Compute, class Stored, class Out>
bool launch_vectors(const ElementwiseCall& call) {
  constexpr size_t kWidest = sizeof(Stored) > sizeof(Out) ? sizeof(Stored) : sizeof(Out);
  constexpr int kLanes = kWidest >= 16 ? 1 : static_cast<int>(16 / kWidest);
  if (call.operands[0].dtype != c10::CppTypeToScalarType<Out>::value) return false;
  for (int k = 0; k <= Fn::kInputs; ++k) {
    const ElementwiseCall::Operand& operand = call.operands[k];
    if (operand.data == nullptr) continue;
    const size_t vector = kLanes * (k == 0 ? sizeof(Out) : sizeof(Stored));
    if (!operand.contiguous || reinterpret_cast<uintptr_t>(operand.data) % vector != 0) return false;
    if (k > 0 && operand.dtype != c10::CppTypeToScalarType<Stored>::value) return false;
  }
  c10::cuda::launch_or_throw(call.name, elementwise_vectors<Fn, Compute, Stored, Out, kLanes>,
                             shape_for(call.numel, kLanes, c10::cuda::getCurrentCUDAStream()), call);
  return true;
}

template <class Fn, class Compute>
void launch_elementwise(const ElementwiseCall& call) {
  using Result = decltype(Fn::run(static_cast<const Compute*>(nullptr), static_cast<const Compute*>(nullptr)));
  constexpr bool kPredicate = std::is_same_v<Result, bool> && !std::is_same_v<Compute, bool>;
  if constexpr (std::is_same_v<Compute, float>) {
    using OfHalf = std::conditional_t<kPredicate, bool, Half>;
    using OfBFloat16 = std::conditional_t<kPredicate, bool, BFloat16>;
    if (launch_vectors<Fn, float, Half, OfHalf>(call) || launch_vectors<Fn, float, BFloat16, OfBFloat16>(call)) return;
  }
  if (launch_vectors<Fn, Compute, Compute, Result>(call)) return;
  c10::cuda::launch_or_throw(call.name, elementwise_strided<Fn, Compute>,
                             shape_for(call.numel, 1, c10::cuda::getCurrentCUDAStream()), call);
}

/// The kernels of one function.
template <class Fn>
constexpr ElementKernels with_integers(ElementKernels kernels) {
  kernels.int32 = &launch_elementwise<Fn, int32_t>;
  kernels.int64 = &launch_elementwise<Fn, int64_t>;
  return kernels;
}
template <class Fn>
constexpr ElementKernels with_complex(ElementKernels kernels) {
  kernels.complex64 = &launch_elementwise<Fn, c10::complex<float>>;
  kernels.complex128 = &launch_elementwise<Fn, c10::complex<double>>;
  return kernels;
}
template <class Fn>
constexpr ElementKernels with_unsigned(ElementKernels kernels) {
  kernels.uint64 = &launch_elementwise<Fn, uint64_t>;
  return kernels;
}
/// The kernels with one that takes lists of tensors.
constexpr ElementKernels with_lists(ElementKernels kernels, void (*lists)(ScalarType dtype, const ListCall& call)) {
  kernels.lists = lists;
  return kernels;
}
template <class Fn>
constexpr ElementKernels floating_kernels() {
  return {&launch_elementwise<Fn, float>, &launch_elementwise<Fn, double>};
}
template <class Fn>
constexpr ElementKernels floating_and_complex_kernels() {
  return with_complex<Fn>(floating_kernels<Fn>());
}
template <class Fn>
constexpr ElementKernels real_kernels() {
  return with_unsigned<Fn>(with_integers<Fn>(floating_kernels<Fn>()));
}
template <class Fn>
constexpr ElementKernels integer_kernels() {
  return with_unsigned<Fn>(with_integers<Fn>({}));
}

}  // namespace at::cuda

/// Defines the kernels of the CPU's operator of that name (aten/cpu/loops/loops.h).
#define AT_CUDA_ELEMENT_OP(name, ...) KD_CUDA_IF_HAS(name, AT_CUDA_ELEMENT_KERNELS(at::cpu::loops::on_cuda, name, __VA_ARGS__))
#define AT_CUDA_ELEMENT_KERNELS(space, name, ...)                \
  namespace space {                                              \
  extern const ::at::cuda::ElementKernels name;                  \
  constinit const ::at::cuda::ElementKernels name = __VA_ARGS__; \
  }
