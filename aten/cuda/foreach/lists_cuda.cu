// Pointwise operators on lists of tensors.
#include "aten/cuda/foreach/block_of_list.cuh"
#include "aten/cuda/foreach/list_call.h"
#include "aten/cuda/foreach/list_kernels.h"
#include "aten/cuda/loops/arithmetic.cuh"

namespace at::cuda {
namespace {

AT_CUDA_FN(Sqrt, 1, static_cast<T>(::sqrt(a)))

// A block computes one chunk of one tensor, several elements of 16 bytes together at a time where the addresses allow
// it.
template <class Fn, class Stored>
__global__ void __launch_bounds__(kThreadsPerBlock) list_tensors(const __grid_constant__ ListCall call) {
  using T = std::conditional_t<std::is_same_v<Stored, double>, double, float>;
  constexpr int kInputs = Fn::kInputs, kLanes = 16 / sizeof(Stored);
  struct alignas(16) Vector {
    Stored v[kLanes];
  };
  const int tensor = tensor_of_block(call.first_block, call.tensors, blockIdx.x);
  const ListCall::Entry& entry = call.entries[tensor];
  const int64_t begin = int64_t{blockIdx.x - call.first_block[tensor]} * kListChunk;
  const int n = static_cast<int>(entry.numel - begin < kListChunk ? entry.numel - begin : kListChunk);
  const T number = *reinterpret_cast<const T*>(entry.number), parameter = *reinterpret_cast<const T*>(entry.parameter);
  Stored* const out = static_cast<Stored*>(entry.out) + begin;
  const Stored* in[kInputs];
  bool aligned = reinterpret_cast<uintptr_t>(out) % 16 == 0;
#pragma unroll
  for (int k = 0; k < kInputs; ++k) {
    in[k] = entry.inputs[k] == nullptr ? nullptr : static_cast<const Stored*>(entry.inputs[k]) + begin;
    aligned = aligned && reinterpret_cast<uintptr_t>(in[k]) % 16 == 0;
  }
  const int vectors = aligned ? n / kLanes : 0;
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += static_cast<int>(kThreadsPerBlock)) {
    T x[kLanes][kInputs];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) {
      if (in[k] != nullptr) {
        const Vector loaded = c10::cuda::load_aligned<Vector>(in[k] + i * kLanes);
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) x[lane][k] = convert<T>(loaded.v[lane]);
      } else {
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) x[lane][k] = number;
      }
    }
    Vector result;
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) result.v[lane] = convert<Stored>(Fn::run(x[lane], &parameter));
    c10::cuda::store_aligned(out + i * kLanes, result);
  }
  for (int i = vectors * kLanes + static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(kThreadsPerBlock)) {
    T x[kInputs];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) x[k] = in[k] != nullptr ? convert<T>(in[k][i]) : number;
    out[i] = convert<Stored>(Fn::run(x, &parameter));
  }
}

template <class Fn>
void launch_lists(const char* name, ScalarType dtype, const ListCall& call) {
  const c10::cuda::Launch shape{
      .grid = call.first_block[call.tensors], .block = kThreadsPerBlock, .stream = c10::cuda::getCurrentCUDAStream()};
  switch (dtype) {
    case ScalarType::Float:
      return c10::cuda::launch_or_throw(name, list_tensors<Fn, float>, shape, call);
    case ScalarType::Double:
      return c10::cuda::launch_or_throw(name, list_tensors<Fn, double>, shape, call);
    case ScalarType::Half:
      return c10::cuda::launch_or_throw(name, list_tensors<Fn, Half>, shape, call);
    default:
      return c10::cuda::launch_or_throw(name, list_tensors<Fn, BFloat16>, shape, call);
  }
}

}  // namespace

#define AT_CUDA_LIST_OP(name, Fn) \
  KD_CUDA_IF_HAS(name, void name##_lists(ScalarType dtype, const ListCall& call) { launch_lists<Fn>(#name, dtype, call); })

AT_CUDA_LIST_OP(add, Add)
AT_CUDA_LIST_OP(add_scaled, AddScaled)
AT_CUDA_LIST_OP(sub, Sub)
AT_CUDA_LIST_OP(mul, Mul)
AT_CUDA_LIST_OP(div, Div)
AT_CUDA_LIST_OP(addcmul, Addcmul)
AT_CUDA_LIST_OP(addcdiv, Addcdiv)
AT_CUDA_LIST_OP(lerp, Lerp)
AT_CUDA_LIST_OP(lerp_scalar, LerpScalar)
AT_CUDA_LIST_OP(sqrt, Sqrt)

}  // namespace at::cuda
