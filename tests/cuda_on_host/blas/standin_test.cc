// What the stand-in for cuBLASLt computes, refuses and reports.
#include "tests/cuda_on_host/blas/standin.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda_on_host/runtime/standin.h"

namespace {

// Elements in device memory.
template <class T>
class Array {
 public:
  explicit Array(const std::vector<T>& values) : size_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, size_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~Array() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  T* data() const { return static_cast<T*>(data_); }
  std::vector<T> values() const {
    std::vector<T> out(size_);
    EXPECT_EQ(cudaMemcpy(out.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return out;
  }

 private:
  void* data_ = nullptr;
  size_t size_;
};

struct Layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batches = 1;
  int64_t stride = 0;
};

// A product with its descriptors; D is C.
class Product {
 public:
  Product(cublasComputeType_t compute, cudaDataType scale, Layout a, Layout b, Layout d) {
    EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulDescCreate(&operation, compute, scale), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    const Layout layouts[] = {a, b, d, d};
    for (int i = 0; i < 4; ++i) {
      const Layout& l = layouts[i];
      EXPECT_EQ(cublasLtMatrixLayoutCreate(&matrices[i], l.type, l.rows, l.columns, l.ld), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(matrices[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &l.batches, 4),
                CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(
          cublasLtMatrixLayoutSetAttribute(matrices[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &l.stride, 8),
          CUBLAS_STATUS_SUCCESS);
    }
  }
  ~Product() {
    for (cublasLtMatrixLayout_t m : matrices) EXPECT_EQ(cublasLtMatrixLayoutDestroy(m), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulDescDestroy(operation), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_SUCCESS);
  }
  template <class T>
  Product& with(cublasLtMatmulDescAttributes_t name, T value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(operation, name, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
    return *this;
  }
  template <class T>
  Product& wish(cublasLtMatmulPreferenceAttributes_t name, T value) {
    EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
    return *this;
  }
  // The status, and the proposals in `found`.
  cublasStatus_t choose() {
    found.resize(4);
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation, matrices[0], matrices[1], matrices[2], matrices[3], preference, 4, found.data(), &count);
    found.resize(static_cast<size_t>(count));
    return status;
  }
  template <class Factor = float>
  cublasStatus_t run(const void* a, const void* b, void* d, Factor alpha = 1, Factor beta = 0,
                     const cublasLtMatmulAlgo_t* algo = nullptr, void* workspace = nullptr, size_t bytes = 0) {
    return cublasLtMatmul(handle, operation, &alpha, a, matrices[0], b, matrices[1], &beta, d, matrices[2], d,
                          matrices[3], algo, workspace, bytes, nullptr);
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatrixLayout_t matrices[4] = {};
  std::vector<cublasLtMatmulHeuristicResult_t> found;
};

class CublasStandin : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_standin::reset();
    cublas_standin::reset();
  }
  void TearDown() override {
    EXPECT_EQ(cuda_standin::misuse(), expected_misuse_);
    EXPECT_EQ(cublas_standin::live_descriptors(), 0u);
    EXPECT_EQ(cublas_standin::live_handles(), 0u);
    EXPECT_EQ(cuda_standin::live_allocations(), 0u);
  }
  void expect_misuse(const std::string& line) { expected_misuse_ += line + "\n"; }

 private:
  std::string expected_misuse_;
};

constexpr Layout kFloat2x2{CUDA_R_32F, 2, 2, 2};

TEST_F(CublasStandin, MultipliesByColumns) {
  const Array<float> a({1, 3, 2, 4}), b({5, 7, 6, 8}), d({1, 1, 1, 1});
  Product p(CUBLAS_COMPUTE_32F, CUDA_R_32F, kFloat2x2, kFloat2x2, kFloat2x2);
  ASSERT_EQ(p.run(a.data(), b.data(), d.data(), 2.0f, 10.0f), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values(), (std::vector<float>{48, 96, 54, 110}));
  p.with(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  ASSERT_EQ(p.run(a.data(), b.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values(), (std::vector<float>{26, 38, 30, 44}));
}

TEST_F(CublasStandin, BatchesAndLeadingDimensions) {
  // 1 x 2 times 2 x 1, three times, with gaps; B is one for all.
  const Array<double> a({1, 0, 2, 3, 0, 4, 5, 0, 6}), b({10, 100}), d({-1, -1, -1, -1, -1, -1});
  Product p(CUBLAS_COMPUTE_64F, CUDA_R_64F, {CUDA_R_64F, 1, 2, 2, 3, 3}, {CUDA_R_64F, 2, 1, 2, 3, 0},
            {CUDA_R_64F, 1, 1, 1, 3, 2});
  ASSERT_EQ(p.run<double>(a.data(), b.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values(), (std::vector<double>{210, -1, 430, -1, 650, -1}));
}

TEST_F(CublasStandin, ComplexNumbers) {
  using C = std::complex<float>;
  const Array<C> a({{1, 2}}), b({{3, -1}}), d({{0, 0}});
  const Layout one{CUDA_C_32F, 1, 1, 1};
  Product p(CUBLAS_COMPUTE_32F, CUDA_C_32F, one, one, one);
  ASSERT_EQ(p.run<C>(a.data(), b.data(), d.data(), C(0, 1), C(0)), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values()[0], C(0, 1) * C(1, 2) * C(3, -1));
  p.with(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_C});
  ASSERT_EQ(p.run<C>(a.data(), b.data(), d.data(), C(1), C(0)), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values()[0], C(1, -2) * C(3, -1));
}

TEST_F(CublasStandin, Epilogues) {
  // D(2 x 2) = A(2 x 1) * B(1 x 2): columns {-2, 1} and {-4, 2}.
  const Array<float> a({-2, 1}), b({1, 2}), d({0, 0, 0, 0}), bias({3, -1.5f});
  Product p(CUBLAS_COMPUTE_32F, CUDA_R_32F, {CUDA_R_32F, 2, 1, 2}, {CUDA_R_32F, 1, 2, 1}, kFloat2x2);
  const auto run = [&](uint32_t epilogue) {
    p.with(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    EXPECT_EQ(p.run(a.data(), b.data(), d.data()), CUBLAS_STATUS_SUCCESS) << epilogue;
    return d.values();
  };
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_RELU), (std::vector<float>{0, 1, 0, 2}));
  p.with(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_BIAS), (std::vector<float>{1, -0.5f, -1, 0.5f}));
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_RELU_BIAS), (std::vector<float>{1, 0, 0, 0.5f}));
  EXPECT_NEAR(run(CUBLASLT_EPILOGUE_GELU_BIAS)[0], 0.841192f, 1e-5);
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_BGRADA)[0], -2);
  EXPECT_EQ(bias.values(), (std::vector<float>{-2, 1}));
  run(CUBLASLT_EPILOGUE_BGRADB);
  EXPECT_EQ(bias.values(), (std::vector<float>{1, 2}));

  const Array<float> kept(std::vector<float>(16, 7));
  p.with(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept.data()).with(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{8});
  run(CUBLASLT_EPILOGUE_GELU_AUX);
  EXPECT_EQ(kept.values()[0], -2);
  EXPECT_EQ(kept.values()[9], 2);
  // GELU'(-2), GELU'(1), GELU'(-4), GELU'(2) times the product.
  const std::vector<float> gradient = run(CUBLASLT_EPILOGUE_DGELU_BGRAD);
  EXPECT_NEAR(gradient[0], -2 * -0.08610f, 1e-4);
  EXPECT_NEAR(gradient[1], 1.08296f, 1e-4);
  EXPECT_NEAR(bias.values()[1], gradient[1] + gradient[3], 1e-5);

  const Array<uint8_t> mask(std::vector<uint8_t>(32, 0xFF));
  p.with(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, mask.data())
      .with(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{128});
  run(CUBLASLT_EPILOGUE_RELU_AUX);
  EXPECT_EQ(mask.values()[0] & 3, 2);
  EXPECT_EQ(mask.values()[16] & 3, 2);
  EXPECT_EQ(run(CUBLASLT_EPILOGUE_DRELU_BGRAD), (std::vector<float>{0, 1, 0, 2}));
  EXPECT_EQ(bias.values(), (std::vector<float>{0, 3}));
}

TEST_F(CublasStandin, IntegersAndScaledQuarters) {
  const Array<int8_t> a({100, 100, 100, 100, 1, 2, 3, 4, 0, 0, 0, 1, -1, -1, -1, -1}), b({100, 100, 100, 100});
  const Array<int32_t> d({0, 0, 0, 0});
  Product p(CUBLAS_COMPUTE_32I, CUDA_R_32I, {CUDA_R_8I, 4, 4, 4}, {CUDA_R_8I, 4, 1, 4}, {CUDA_R_32I, 4, 1, 4});
  EXPECT_EQ(p.choose(), CUBLAS_STATUS_NOT_SUPPORTED);  // A is not transposed
  p.with(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  EXPECT_EQ(p.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(p.run<int32_t>(a.data(), b.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values(), (std::vector<int32_t>{40000, 1000, 100, -400}));

  const auto quarter = [](float x) {
    return static_cast<uint8_t>(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3));
  };
  const Array<uint8_t> x(std::vector<uint8_t>(256, quarter(2))), y(std::vector<uint8_t>(16, quarter(0.5f)));
  const Array<float> scale({0.25f, 3});
  const Array<__nv_bfloat16> out(std::vector<__nv_bfloat16>(16));
  Product q(CUBLAS_COMPUTE_32F, CUDA_R_32F, {CUDA_R_8F_E4M3, 16, 16, 16}, {CUDA_R_8F_E4M3, 16, 1, 16},
            {CUDA_R_16BF, 16, 1, 16});
  EXPECT_EQ(q.choose(), CUBLAS_STATUS_NOT_SUPPORTED);
  q.with(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T}).with(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale.data());
  q.with(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale.data() + 1);
  EXPECT_EQ(q.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(q.run(x.data(), y.data(), out.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(__bfloat162float(out.values()[15]), 16 * 2 * 0.5f * 0.25f * 3);
}

TEST_F(CublasStandin, TheFirstProposalTakesAllWorkspaceTheSecondNone) {
  Product p(CUBLAS_COMPUTE_32F, CUDA_R_32F, kFloat2x2, kFloat2x2, kFloat2x2);
  p.wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{4096});
  ASSERT_EQ(p.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(p.found.size(), 2u);
  EXPECT_EQ(p.found[0].workspaceSize, 4096u);
  EXPECT_EQ(p.found[1].workspaceSize, 0u);
  const Array<float> a({1, 0, 0, 1}), d({0, 0, 0, 0}), workspace(std::vector<float>(1024));
  ASSERT_EQ(p.run(a.data(), a.data(), d.data(), 1.0f, 0.0f, &p.found[0].algo, workspace.data(), 4096),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values(), a.values());
  EXPECT_TRUE(std::isnan(workspace.values()[1023]));
  EXPECT_EQ(p.run(a.data(), a.data(), d.data(), 1.0f, 0.0f, &p.found[0].algo, workspace.data(), 4095),
            CUBLAS_STATUS_INVALID_VALUE);
  expect_misuse("cublasLtMatmul: less workspace than the algorithm asked for");
  EXPECT_EQ(p.run(a.data(), a.data(), d.data(), 1.0f, 0.0f, nullptr, workspace.data() + 1, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  expect_misuse("cublasLtMatmul: the workspace is no device memory at a multiple of 256 bytes");
  EXPECT_EQ(cublas_standin::heuristic_calls(), 1u);
}

TEST_F(CublasStandin, PartsOfSumsAreRoundedWhereThatIsAllowed) {
  // 257 is no bfloat16 number: the half of the sum becomes 256.
  const auto bf16 = [](float x) { return __float2bfloat16(x); };
  const Array<__nv_bfloat16> a({bf16(256), bf16(1), bf16(-256), bf16(0)}), b({bf16(1), bf16(1), bf16(1), bf16(1)}),
      d({bf16(0)});
  Product p(CUBLAS_COMPUTE_32F, CUDA_R_32F, {CUDA_R_16BF, 1, 4, 1}, {CUDA_R_16BF, 4, 1, 4}, {CUDA_R_16BF, 1, 1, 1});
  ASSERT_EQ(p.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(p.run(a.data(), b.data(), d.data(), 1.0f, 0.0f, &p.found[0].algo), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(__bfloat162float(d.values()[0]), 0);
  p.wish(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  ASSERT_EQ(p.choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(p.run(a.data(), b.data(), d.data(), 1.0f, 0.0f, &p.found[0].algo), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(__bfloat162float(d.values()[0]), 1);
}

TEST_F(CublasStandin, ReducedComputeTypesRoundFactors) {
  const float x = 1 + 0x1p-11f;  // between two TF32 numbers
  const Array<float> a({x}), one({1}), d({0});
  const Layout single{CUDA_R_32F, 1, 1, 1};
  Product exact(CUBLAS_COMPUTE_32F, CUDA_R_32F, single, single, single);
  Product fast(CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, single, single, single);
  ASSERT_EQ(exact.run(a.data(), one.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values()[0], x);
  ASSERT_EQ(fast.run(a.data(), one.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d.values()[0], 1 + 0x1p-10f);
}

TEST_F(CublasStandin, RefusesWhatDoesNotFit) {
  const Array<float> a({1, 2, 3, 4}), d({0, 0, 0, 0});
  const auto refused = [&](Product& p, const void* x, const void* y, void* z, const std::string& why) {
    EXPECT_EQ(p.run(x, y, z), CUBLAS_STATUS_INVALID_VALUE) << why;
    expect_misuse("cublasLtMatmul: " + why);
  };
  Product sizes(CUBLAS_COMPUTE_32F, CUDA_R_32F, {CUDA_R_32F, 2, 1, 2}, kFloat2x2, kFloat2x2);
  refused(sizes, a.data(), a.data(), d.data(), "sizes do not fit");
  Product narrow(CUBLAS_COMPUTE_32F, CUDA_R_32F, {CUDA_R_32F, 2, 2, 1}, kFloat2x2, kFloat2x2);
  refused(narrow, a.data(), a.data(), d.data(), "matrix A: leading dimension");
  Product empty(CUBLAS_COMPUTE_32F, CUDA_R_32F, {CUDA_R_32F, 2, 0, 2}, {CUDA_R_32F, 0, 2, 1}, kFloat2x2);
  refused(empty, a.data(), a.data(), d.data(), "matrix A: no elements");
  Product good(CUBLAS_COMPUTE_32F, CUDA_R_32F, kFloat2x2, kFloat2x2, kFloat2x2);
  const float on_host[4] = {};
  refused(good, on_host, a.data(), d.data(), "A leaves the device's memory");
  refused(good, a.data() + 1, a.data(), d.data(), "A leaves the device's memory");
  refused(good, a.data(), a.data(), a.data(), "D overlaps A or B");
  good.with(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_BIAS});
  refused(good, a.data(), a.data(), d.data(), "no bias pointer");
  good.with(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const float*>(a.data() + 3));
  refused(good, a.data(), a.data(), d.data(), "the bias leaves the device's memory");
  Product mixed(CUBLAS_COMPUTE_32F, CUDA_R_32F, kFloat2x2, {CUDA_R_16F, 2, 2, 2}, kFloat2x2);
  EXPECT_EQ(mixed.choose(), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(mixed.run(a.data(), a.data(), d.data()), CUBLAS_STATUS_NOT_SUPPORTED);
  expect_misuse("cublasLtMatmul: types of compute, scale, A, B, C and D");
}

TEST_F(CublasStandin, AnAlgorithmServesWhatItWasChosenFor) {
  const Array<float> a({1, 2, 3, 4, 5}), d({0, 0, 0, 0});
  Product p(CUBLAS_COMPUTE_32F, CUDA_R_32F, kFloat2x2, kFloat2x2, kFloat2x2);
  ASSERT_EQ(p.choose(), CUBLAS_STATUS_SUCCESS);
  const cublasLtMatmulAlgo_t algo = p.found[0].algo;
  EXPECT_EQ(p.run(a.data() + 1, a.data(), d.data(), 1.0f, 0.0f, &algo), CUBLAS_STATUS_INVALID_VALUE);
  expect_misuse(
      "cublasLtMatmul: an address that is aligned to fewer bytes than was promised when the algorithm was chosen");
  p.with(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{CUBLAS_OP_T});
  EXPECT_EQ(p.run(a.data(), a.data(), d.data(), 1.0f, 0.0f, &algo), CUBLAS_STATUS_INVALID_VALUE);
  expect_misuse("cublasLtMatmul: the algorithm was chosen for another problem");
  const cublasLtMatmulAlgo_t none{};
  EXPECT_EQ(p.run(a.data(), a.data(), d.data(), 1.0f, 0.0f, &none), CUBLAS_STATUS_INVALID_VALUE);
  expect_misuse("cublasLtMatmul: an algorithm that cublasLtMatmulAlgoGetHeuristic did not give");
}

TEST_F(CublasStandin, WaitsForItsTurn) {
  cuda_standin::reset({.execution = cuda_standin::Execution::kLazy});
  const Array<float> a({2}), b({3}), d({0});
  const Layout single{CUDA_R_32F, 1, 1, 1};
  Product p(CUBLAS_COMPUTE_32F, CUDA_R_32F, single, single, single);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cuda_standin::clear_trace();
  ASSERT_EQ(p.run(a.data(), b.data(), d.data()), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(cuda_standin::trace().empty());
  EXPECT_EQ(d.values()[0], 6);
  EXPECT_EQ(cuda_standin::trace()[0].name, "cublasLtMatmul");
}

TEST_F(CublasStandin, CallsOfCublas) {
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
  cudaStream_t got = nullptr;
  ASSERT_EQ(cublasGetStream(handle, &got), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(got, stream);
  const float one = 1, zero = 0, two = 2;
  {
    // By columns: {{1, 3}, {2, 4}}.
    const Array<float> a({1, 2, 3, 4}), x({1, -1, 10, -1}), d({0, 0, 0, 0}), y({1, 2}), batch(std::vector<float>(8));
    const Array<float> workspace(std::vector<float>(64));
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the stream does not wait for the copies
    ASSERT_EQ(cublasSetWorkspace(handle, workspace.data(), 256), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, a.data(), 2, a.data(), 2, &zero, d.data(), 2),
        CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(d.values(), (std::vector<float>{10, 14, 14, 20}));
    EXPECT_TRUE(std::isnan(workspace.values()[0]));
    ASSERT_EQ(cublasSgemv(handle, CUBLAS_OP_N, 2, 2, &two, a.data(), 2, x.data(), 2, &one, y.data(), 1),
              CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 2, &one, a.data(), 2, 0, a.data(), 2, 2,
                                        &zero, batch.data(), 2, 4, 2),
              CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(y.values(), (std::vector<float>{63, 86}));
    EXPECT_EQ(batch.values(), (std::vector<float>{7, 10, 0, 0, 15, 22, 0, 0}));
    float sum = 0;
    ASSERT_EQ(cublasSdot(handle, 2, a.data(), 1, x.data(), 2, &sum), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(sum, 21);
    ASSERT_EQ(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSdot(handle, 2, a.data(), 1, x.data(), 2, &sum), CUBLAS_STATUS_INVALID_VALUE);
    expect_misuse("cublasSdot: the result is not on the device");
    ASSERT_EQ(cublasSdot(handle, 2, a.data(), 1, x.data(), 2, y.data()), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(y.values()[0], 21);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasStandin, TriangularSystemsAndFactorsOfBatches) {
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  {
    // By columns: {{2, 0}, {1, 4}}, {{1, 3}, {2, 4}}.
    const Array<double> a({2, 1, 0, 4, 1, 2, 3, 4}), b({4, 10, 7, 10});
    const Array<const double*> all_a({a.data(), a.data() + 4});
    const Array<double*> matrices({a.data(), a.data() + 4}), sides({b.data(), b.data() + 2});
    const Array<int> pivots({0, 0, 0, 0}), info({7, 7});
    const double one = 1, two = 2;
    ASSERT_EQ(cublasDtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 2, 1,
                          &two, a.data(), 2, b.data(), 2),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(b.values(), (std::vector<double>{4, 4, 7, 10}));
    ASSERT_EQ(cublasDtrsmBatched(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 2, 1,
                                 &one, all_a.data(), 2, sides.data(), 2, 2),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(b.values(), (std::vector<double>{4, 0, 7, -4}));
    ASSERT_EQ(cublasDgetrfBatched(handle, 2, matrices.data(), 2, pivots.data(), info.data(), 2), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(a.values(), (std::vector<double>{2, 0.5, 0, 4, 2, 0.5, 4, 1}));
    EXPECT_EQ(pivots.values(), (std::vector<int>{1, 2, 2, 2}));
    EXPECT_EQ(info.values(), (std::vector<int>{0, 0}));
    int wrong = 7;
    ASSERT_EQ(
        cublasDgetrsBatched(handle, CUBLAS_OP_N, 2, 1, all_a.data(), 2, pivots.data(), sides.data(), 2, &wrong, 2),
        CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(b.values(), (std::vector<double>{2, -0.5, -20, 9}));

    const Array<double> column({3, 4}), tau({0});
    const Array<double*> columns({column.data()}), scales({tau.data()});
    ASSERT_EQ(cublasDgeqrfBatched(handle, 2, 1, columns.data(), 2, scales.data(), &wrong, 1), CUBLAS_STATUS_SUCCESS);
    EXPECT_NEAR(column.values()[0], -5, 1e-14);

    // Without an array of pivots rows stay; a zero on the diagonal is told.
    const Array<double> plain({1, 2, 3, 4, 0, 0, 0, 0});
    const Array<double*> both({plain.data(), plain.data() + 4});
    ASSERT_EQ(cublasDgetrfBatched(handle, 2, both.data(), 2, nullptr, info.data(), 2), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(plain.values()[3], -2);
    EXPECT_EQ(info.values(), (std::vector<int>{0, 1}));

    double on_host[4] = {};
    double* addresses_on_host[1] = {a.data()};
    int info_on_host = 0;
    EXPECT_EQ(cublasDtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 2, 1, &one,
                          on_host, 2, b.data(), 2),
              CUBLAS_STATUS_INVALID_VALUE);
    expect_misuse("cublasDtrsm: A leaves the device's memory");
    EXPECT_EQ(cublasDtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 2, 3, &one,
                          a.data(), 2, b.data(), 2),
              CUBLAS_STATUS_INVALID_VALUE);
    expect_misuse("cublasDtrsm: B leaves the device's memory");
    EXPECT_EQ(cublasDtrsm(handle, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 1, 2, &one,
                          a.data(), 1, b.data(), 1),
              CUBLAS_STATUS_INVALID_VALUE);
    expect_misuse("cublasDtrsm: leading dimension of A");
    EXPECT_EQ(cublasDgetrfBatched(handle, 2, addresses_on_host, 2, pivots.data(), info.data(), 1),
              CUBLAS_STATUS_INVALID_VALUE);
    expect_misuse("cublasDgetrfBatched: an array of addresses leaves the device's memory");
    EXPECT_EQ(cublasDgetrfBatched(handle, 2, matrices.data(), 2, pivots.data(), &info_on_host, 1),
              CUBLAS_STATUS_INVALID_VALUE);
    expect_misuse("cublasDgetrfBatched: info leaves the device's memory");
    EXPECT_EQ(
        cublasDgetrsBatched(handle, CUBLAS_OP_N, 2, 1, all_a.data(), 2, pivots.data(), sides.data(), 1, &wrong, 2),
        CUBLAS_STATUS_INVALID_VALUE);
    expect_misuse("cublasDgetrsBatched: leading dimension of B");
    EXPECT_EQ(cublasDgeqrfBatched(handle, 2, 1, columns.data(), 2, scales.data(), info.data(), 1),
              CUBLAS_STATUS_INVALID_VALUE);
    expect_misuse("cublasDgeqrfBatched: info is not on the host");
  }
  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasStandin, CallsFailWhenAsked) {
  cublas_standin::reset({.fail_call = 1});
  cublasLtHandle_t handle = nullptr, other = nullptr;
  ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtCreate(&other), CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(cublas_standin::calls(), 2u);
  EXPECT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtDestroy(handle), CUBLAS_STATUS_INVALID_VALUE);
  expect_misuse("destruction of a handle: a handle that is none, or was destroyed");
}

}  // namespace
