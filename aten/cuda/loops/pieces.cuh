// Pointwise operators on floats of several dtypes and on broadcast operands, four neighbours at a time.
#pragma once

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/loops/pieces.h"
#include "aten/cuda/reduce/load_elements.cuh"

namespace at::cuda {

// The innermost dimension and its strides are in pieces; an input is `contiguous` whose neighbours lie together, and
// the same number all along it else.
template <class Fn>
__global__ void elementwise_pieces(const __grid_constant__ ElementwiseCall call) {
  const auto* params = reinterpret_cast<const float*>(call.params);
  const uint32_t step = gridDim.x * blockDim.x, pieces = call.numel / kElementwisePiece;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < pieces; i += step) {
    int64_t offsets[1 + Fn::kInputs] = {};
    uint32_t rest = i;
    for (int d = 0; d < call.dims; ++d) {
      const uint32_t above = divide(rest, call.sizes[d]), index = rest - above * call.sizes[d].divisor;
      rest = above;
#pragma unroll
      for (int k = 0; k <= Fn::kInputs; ++k) offsets[k] += call.operands[k].strides[d] * index;
    }
    float in[kElementwisePiece][Fn::kInputs];
#pragma unroll
    for (int k = 0; k < Fn::kInputs; ++k) {
      const ElementwiseCall::Operand& operand = call.operands[1 + k];
      float x[kElementwisePiece];
      if (operand.data != nullptr && operand.contiguous) {
        load_vector_as(operand.data + offsets[1 + k], operand.dtype, x);
      } else {
        const float same = operand.data != nullptr ? load_as<float>(operand.data + offsets[1 + k], operand.dtype)
                                                   : *reinterpret_cast<const float*>(call.numbers[k]);
#pragma unroll
        for (int j = 0; j < kElementwisePiece; ++j) x[j] = same;
      }
#pragma unroll
      for (int j = 0; j < kElementwisePiece; ++j) in[j][k] = x[j];
    }
    visit_stored<float>(call.operands[0].dtype, [&](auto tag) {
      using Stored = typename decltype(tag)::type;
      struct alignas(sizeof(Stored) * kElementwisePiece) Vector {
        Stored v[kElementwisePiece];
      };
      Vector out;
#pragma unroll
      for (int j = 0; j < kElementwisePiece; ++j) out.v[j] = convert<Stored>(Fn::run(in[j], params));
      c10::cuda::store_aligned(call.operands[0].data + offsets[0], out);
    });
  }
}

/// Of a function of floats that gives a float.
template <class Fn>
void launch_floats(const ElementwiseCall& call) {
  ElementwiseCall pieces = call;
  if (!in_pieces(pieces)) return launch_elementwise<Fn, float>(call);
  c10::cuda::launch_or_throw(call.name, elementwise_pieces<Fn>,
                             shape_for(call.numel, kElementwisePiece, c10::cuda::getCurrentCUDAStream()), pieces);
}
template <class Fn>
constexpr ElementKernels with_pieces(ElementKernels kernels) {
  kernels.float32 = &launch_floats<Fn>;
  return kernels;
}

}  // namespace at::cuda
