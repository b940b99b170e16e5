// What cuBLASLt's descriptors do, of which the library and its stand-in must think alike: sizes and initial values of
// attributes, and what is refused. No device is needed.
#include <cublasLt.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace {

struct Expected {
  int name;
  size_t size;
  uint64_t initial;
};

constexpr Expected kMatmul[] = {
    {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4, CUBLAS_COMPUTE_32F},
    {CUBLASLT_MATMUL_DESC_SCALE_TYPE, 4, CUDA_R_32F},
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
constexpr Expected kLayout[] = {
    {CUBLASLT_MATRIX_LAYOUT_TYPE, 4, CUDA_R_16BF},
    {CUBLASLT_MATRIX_LAYOUT_ORDER, 4, CUBLASLT_ORDER_COL},
    {CUBLASLT_MATRIX_LAYOUT_ROWS, 8, 5},
    {CUBLASLT_MATRIX_LAYOUT_COLS, 8, 7},
    {CUBLASLT_MATRIX_LAYOUT_LD, 8, 3},
    {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4, 1},
    {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8, 0},
    {CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 8, 0},
    {CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, 4, CUBLASLT_BATCH_MODE_STRIDED},
};
constexpr Expected kPreference[] = {
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

// Reads and writes every attribute of a new descriptor, in its size and in others.
template <class Name, class Descriptor, class Set, class Get, size_t kCount>
void check_attributes(Descriptor descriptor, Set set, Get get, const Expected (&attributes)[kCount]) {
  for (const Expected& attribute : attributes) {
    SCOPED_TRACE(attribute.name);
    const auto name = static_cast<Name>(attribute.name);
    size_t written = 99;
    EXPECT_EQ(get(descriptor, name, nullptr, 0, &written), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(written, attribute.size);
    uint64_t value = 0;
    EXPECT_EQ(get(descriptor, name, &value, attribute.size, &written), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(written, attribute.size);
    EXPECT_EQ(value, attribute.initial);
    EXPECT_EQ(get(descriptor, name, &value, attribute.size, nullptr), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(get(descriptor, name, nullptr, 0, nullptr), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(get(descriptor, name, nullptr, attribute.size, &written), CUBLAS_STATUS_INVALID_VALUE);
    uint64_t other[2] = {3, 0};
    for (const size_t size : {size_t{1}, size_t{2}, size_t{4}, size_t{8}, size_t{16}}) {
      if (size == attribute.size) continue;
      EXPECT_EQ(get(descriptor, name, other, size, &written), CUBLAS_STATUS_INVALID_VALUE) << size;
      EXPECT_EQ(set(descriptor, name, other, size), CUBLAS_STATUS_INVALID_VALUE) << size;
    }
    EXPECT_EQ(set(descriptor, name, nullptr, attribute.size), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(get(descriptor, name, &value, attribute.size, nullptr), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(value, attribute.initial);
    const uint64_t three = 3;
    EXPECT_EQ(set(descriptor, name, &three, attribute.size), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(get(descriptor, name, &value, attribute.size, nullptr), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(value, three);
  }
  const uint64_t value = 0;
  EXPECT_EQ(set(descriptor, static_cast<Name>(99), &value, 4), CUBLAS_STATUS_INVALID_VALUE);
  size_t written = 0;
  EXPECT_EQ(get(descriptor, static_cast<Name>(99), nullptr, 0, &written), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(set(nullptr, static_cast<Name>(attributes[0].name), &value, 4), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(CublasLtContract, AttributesOfProducts) {
  cublasLtMatmulDesc_t descriptor = nullptr;
  ASSERT_EQ(cublasLtMatmulDescCreate(&descriptor, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  check_attributes<cublasLtMatmulDescAttributes_t>(descriptor, cublasLtMatmulDescSetAttribute,
                                                   cublasLtMatmulDescGetAttribute, kMatmul);
  EXPECT_EQ(cublasLtMatmulDescDestroy(descriptor), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescDestroy(nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(CublasLtContract, AttributesOfLayouts) {
  cublasLtMatrixLayout_t layout = nullptr;
  // A leading dimension that is too small is taken, and refused later.
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, 5, 7, 3), CUBLAS_STATUS_SUCCESS);
  check_attributes<cublasLtMatrixLayoutAttribute_t>(layout, cublasLtMatrixLayoutSetAttribute,
                                                    cublasLtMatrixLayoutGetAttribute, kLayout);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(nullptr), CUBLAS_STATUS_SUCCESS);
}

TEST(CublasLtContract, AttributesOfPreferences) {
  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  check_attributes<cublasLtMatmulPreferenceAttributes_t>(preference, cublasLtMatmulPreferenceSetAttribute,
                                                         cublasLtMatmulPreferenceGetAttribute, kPreference);
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(nullptr), CUBLAS_STATUS_SUCCESS);
}

TEST(CublasLtContract, HandlesThatAreNone) {
  EXPECT_EQ(cublasLtCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtDestroy(nullptr), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(CublasLtContract, NamesOfStatuses) {
  for (int status = 0; status < 20; ++status) {
    SCOPED_TRACE(status);
    const std::string name = cublasLtGetStatusName(static_cast<cublasStatus_t>(status));
    const std::string text = cublasLtGetStatusString(static_cast<cublasStatus_t>(status));
    EXPECT_EQ(name == "unrecognized status", text == "unrecognized status");
  }
  EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_ALLOC_FAILED), "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_STREQ(cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "the requested functionality is not supported");
  EXPECT_STREQ(cublasLtGetStatusString(CUBLAS_STATUS_EXECUTION_FAILED), "the function failed to launch on the GPU");
}

}  // namespace
