// The descriptors of cuBLASLt: attributes by name. As the library, it takes any value of the right size and looks at it
// later.
#include <cublasLt.h>

#include "tests/cuda_on_host/blas/state.h"
#include "tests/cuda_on_host/runtime/own_time.h"

namespace cublas_standin {
namespace {

constexpr Attribute kMatmulAttributes[] = {
    {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4, 0},
    {CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4, 0},
    {CUBLASLT_MATMUL_DESC_POINTER_MODE, 4, CUBLASLT_POINTER_MODE_HOST},
    {CUBLASLT_MATMUL_DESC_TRANSA, 4, CUBLAS_OP_N},
    {CUBLASLT_MATMUL_DESC_TRANSB, 4, CUBLAS_OP_N},
    {CUBLASLT_MATMUL_DESC_TRANSC, 4, CUBLAS_OP_N},
    {CUBLASLT_MATMUL_DESC_FILL_MODE, 4, CUBLAS_FILL_MODE_FULL},
    {CUBLASLT_MATMUL_DESC_EPILOGUE, 4, CUBLASLT_EPILOGUE_DEFAULT},
    {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 8, 0},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 8, 0},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, 8, 0},
    {CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, 8, 0},
    {CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 4, 0},
    {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, 4, 0xFFFFFFFF},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1, 0},
    {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 4, 0xFFFFFFFF},
    {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 4, 0},
    {CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 4, 0},
    {CUBLASLT_MATMUL_DESC_C_SCALE_MODE, 4, 0},
    {CUBLASLT_MATMUL_DESC_D_SCALE_MODE, 4, 0},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, 4, 0},
    {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, 8, 0},
    {CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, 4, 0},
};

constexpr Attribute kLayoutAttributes[] = {
    {CUBLASLT_MATRIX_LAYOUT_TYPE, 4, 0},
    {CUBLASLT_MATRIX_LAYOUT_ORDER, 4, CUBLASLT_ORDER_COL},
    {CUBLASLT_MATRIX_LAYOUT_ROWS, 8, 0},
    {CUBLASLT_MATRIX_LAYOUT_COLS, 8, 0},
    {CUBLASLT_MATRIX_LAYOUT_LD, 8, 0},
    {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1},
    {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0},
    {CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 8, 0},
    {CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, 4, CUBLASLT_BATCH_MODE_STRIDED},
};

constexpr Attribute kPreferenceAttributes[] = {
    {CUBLASLT_MATMUL_PREF_SEARCH_MODE, 4, CUBLASLT_SEARCH_BEST_FIT},
    {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8, 0},
    {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4, CUBLASLT_REDUCTION_SCHEME_MASK},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4, 256},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4, 256},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4, 256},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4, 256},
    {CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, 4, 0},
    {CUBLASLT_MATMUL_PREF_IMPL_MASK, 8, ~uint64_t{0}},
};

template <size_t kCount>
Descriptor* filled(Kind kind, const Attribute (&attributes)[kCount]) {
  Descriptor* made = new_descriptor(kind);
  for (const Attribute& attribute : attributes) {
    std::vector<char>& bytes = made->values[attribute.name];
    bytes.resize(attribute.size);
    std::memcpy(bytes.data(), &attribute.initial, attribute.size);
  }
  return made;
}

cublasStatus_t set(Kind kind, void* descriptor, int name, const void* value, size_t size, const char* call) {
  const cuda_standin::OwnTime own_time;
  if (const cublasStatus_t status = enter(call); status != CUBLAS_STATUS_SUCCESS) return status;
  auto* d = const_cast<Descriptor*>(find_descriptor(descriptor, kind, call));
  if (d == nullptr || value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const auto place = d->values.find(name);
  if (place == d->values.end() || place->second.size() != size) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(place->second.data(), value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get(Kind kind, void* descriptor, int name, void* value, size_t size, size_t* written, const char* call) {
  const cuda_standin::OwnTime own_time;
  if (const cublasStatus_t status = enter(call); status != CUBLAS_STATUS_SUCCESS) return status;
  const Descriptor* d = find_descriptor(descriptor, kind, call);
  if (d == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const auto place = d->values.find(name);
  if (place == d->values.end()) return CUBLAS_STATUS_INVALID_VALUE;
  if (size == 0 ? written == nullptr : value == nullptr || size != place->second.size())
    return CUBLAS_STATUS_INVALID_VALUE;
  if (size != 0) std::memcpy(value, place->second.data(), size);
  if (written != nullptr) *written = place->second.size();
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace cublas_standin

using cublas_standin::Descriptor;
using cublas_standin::Kind;

extern "C" {

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute, cudaDataType_t scale) {
  const cuda_standin::OwnTime own_time;
  if (const cublasStatus_t status = cublas_standin::enter(__func__); status != CUBLAS_STATUS_SUCCESS) return status;
  if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Descriptor* d = cublas_standin::filled(Kind::kMatmul, cublas_standin::kMatmulAttributes);
  d->set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, static_cast<int32_t>(compute));
  d->set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, static_cast<int32_t>(scale));
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(d);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t size) {
  return cublas_standin::set(Kind::kMatmul, d, name, value, size, __func__);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t name, void* value,
                                              size_t size, size_t* written) {
  return cublas_standin::get(Kind::kMatmul, d, name, value, size, written, __func__);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  const cuda_standin::OwnTime own_time;
  if (const cublasStatus_t status = cublas_standin::enter(__func__); status != CUBLAS_STATUS_SUCCESS) return status;
  if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Descriptor* d = cublas_standin::filled(Kind::kLayout, cublas_standin::kLayoutAttributes);
  d->set(CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<int32_t>(type));
  d->set(CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
  d->set(CUBLASLT_MATRIX_LAYOUT_COLS, columns);
  d->set(CUBLASLT_MATRIX_LAYOUT_LD, ld);
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(d);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t d, cublasLtMatrixLayoutAttribute_t name,
                                                const void* value, size_t size) {
  return cublas_standin::set(Kind::kLayout, d, name, value, size, __func__);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t d, cublasLtMatrixLayoutAttribute_t name,
                                                void* value, size_t size, size_t* written) {
  return cublas_standin::get(Kind::kLayout, d, name, value, size, written, __func__);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  const cuda_standin::OwnTime own_time;
  if (const cublasStatus_t status = cublas_standin::enter(__func__); status != CUBLAS_STATUS_SUCCESS) return status;
  if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(
      cublas_standin::filled(Kind::kPreference, cublas_standin::kPreferenceAttributes));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t d,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void* value,
                                                    size_t size) {
  return cublas_standin::set(Kind::kPreference, d, name, value, size, __func__);
}
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t d,
                                                    cublasLtMatmulPreferenceAttributes_t name, void* value, size_t size,
                                                    size_t* written) {
  return cublas_standin::get(Kind::kPreference, d, name, value, size, written, __func__);
}

}  // extern "C"
