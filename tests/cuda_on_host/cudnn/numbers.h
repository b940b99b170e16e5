// Numbers of the library's data types as float or double.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cudnn_graph.h>

#include <cstdint>

namespace cudnn_standin {

template <class C>
C load(const void* base, cudnnDataType_t type, int64_t i) {
  switch (static_cast<int>(type)) {
    case CUDNN_DATA_HALF:
      return static_cast<C>(__half2float(static_cast<const __half*>(base)[i]));
    case CUDNN_DATA_BFLOAT16:
      return static_cast<C>(__bfloat162float(static_cast<const __nv_bfloat16*>(base)[i]));
    case CUDNN_DATA_DOUBLE:
      return static_cast<C>(static_cast<const double*>(base)[i]);
    default:
      return static_cast<C>(static_cast<const float*>(base)[i]);
  }
}

template <class C>
void store(void* base, cudnnDataType_t type, int64_t i, C value) {
  switch (static_cast<int>(type)) {
    case CUDNN_DATA_HALF:
      static_cast<__half*>(base)[i] = __float2half(static_cast<float>(value));
      break;
    case CUDNN_DATA_BFLOAT16:
      static_cast<__nv_bfloat16*>(base)[i] = __float2bfloat16(static_cast<float>(value));
      break;
    case CUDNN_DATA_DOUBLE:
      static_cast<double*>(base)[i] = value;
      break;
    default:
      static_cast<float*>(base)[i] = static_cast<float>(value);
  }
}

template <class C>
C rounded_to(cudnnDataType_t type, C value) {
  alignas(8) char memory[8];
  store(memory, type, 0, value);
  return load<C>(memory, type, 0);
}

}  // namespace cudnn_standin
