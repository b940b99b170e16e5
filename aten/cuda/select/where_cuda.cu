// One of two elements, as a third one says.
#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/select/where.h"

namespace at::cuda {
namespace {

// Operands that are all contiguous, or numbers: the condition in bytes, the others `Stored`.
template <class Compute, class Stored, int kLanes>
__global__ void where_vectors(const __grid_constant__ ElementwiseCall call) {
  struct alignas(sizeof(Stored) * kLanes) Vector {
    Stored v[kLanes];
  };
  struct alignas(kLanes) Mask {
    uint8_t v[kLanes];
  };
  const uint32_t step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x,
                 vectors = call.numel / kLanes;
  char* const out = call.operands[0].data;
  const char* const mask = call.operands[1].data;
  const auto number = [&call](int k) { return convert<Stored>(*reinterpret_cast<const Compute*>(call.numbers[k])); };
  for (uint32_t i = first; i < vectors; i += step) {
    const Mask chosen = c10::cuda::load_aligned<Mask>(mask + int64_t{i} * sizeof(Mask));
    Vector in[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const char* const data = call.operands[2 + k].data;
      if (data != nullptr) {
        in[k] = c10::cuda::load_aligned<Vector>(data + int64_t{i} * sizeof(Vector));
      } else {
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) in[k].v[lane] = number(1 + k);
      }
    }
    Vector result;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) result.v[lane] = chosen.v[lane] != 0 ? in[0].v[lane] : in[1].v[lane];
    c10::cuda::store_aligned(out + int64_t{i} * sizeof(Vector), result);
  }
  for (uint32_t i = vectors * kLanes + first; i < call.numel; i += step) {
    const int k = mask[i] != 0 ? 0 : 1;
    const auto* const data = reinterpret_cast<const Stored*>(call.operands[2 + k].data);
    reinterpret_cast<Stored*>(out)[i] = data != nullptr ? data[i] : number(1 + k);
  }
}

struct Where {
  static constexpr int kInputs = 3;
  template <class T>
  static KD_DEVICE T run(const T* in, const T*) {
    return in[0] == T(0) ? in[2] : in[1];
  }
};

template <class Compute, class Stored>
bool launch_where_vectors(const ElementwiseCall& call) {
  constexpr int kLanes = sizeof(Stored) >= 16 ? 1 : static_cast<int>(16 / sizeof(Stored));
  const ElementwiseCall::Operand& mask = call.operands[1];
  if (mask.data == nullptr || !mask.contiguous || reinterpret_cast<uintptr_t>(mask.data) % kLanes != 0 ||
      (mask.dtype != ScalarType::Bool && mask.dtype != ScalarType::Byte)) {
    return false;
  }
  for (int k : {0, 2, 3}) {
    const ElementwiseCall::Operand& operand = call.operands[k];
    if (operand.data == nullptr) continue;
    if (operand.dtype != c10::CppTypeToScalarType<Stored>::value || !operand.contiguous ||
        reinterpret_cast<uintptr_t>(operand.data) % (kLanes * sizeof(Stored)) != 0) {
      return false;
    }
  }
  c10::cuda::launch_or_throw(call.name, where_vectors<Compute, Stored, kLanes>,
                             shape_for(call.numel, kLanes, c10::cuda::getCurrentCUDAStream()), call);
  return true;
}

template <class Compute>
void launch_where(const ElementwiseCall& call) {
  if constexpr (std::is_same_v<Compute, float>) {
    if (launch_where_vectors<float, Half>(call) || launch_where_vectors<float, BFloat16>(call)) return;
  }
  if (launch_where_vectors<Compute, Compute>(call)) return;
  c10::cuda::launch_or_throw(call.name, elementwise_strided<Where, Compute>,
                             shape_for(call.numel, 1, c10::cuda::getCurrentCUDAStream()), call);
}

}  // namespace

constinit const ElementKernels kWhereKernels = {&launch_where<float>,
                                                &launch_where<double>,
                                                &launch_where<int32_t>,
                                                &launch_where<int64_t>,
                                                &launch_where<c10::complex<float>>,
                                                &launch_where<c10::complex<double>>,
                                                &launch_where<uint64_t>};

}  // namespace at::cuda
