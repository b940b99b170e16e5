// What the stand-in for cuSOLVER computes, refuses and reports.
#include "tests/cuda_on_host/solver/standin.h"

#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
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

class CusolverStandin : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_standin::reset();
    cusolver_standin::reset();
    ASSERT_EQ(cusolverDnCreate(&handle), CUSOLVER_STATUS_SUCCESS);
    ASSERT_EQ(cusolverDnCreateParams(&params), CUSOLVER_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cusolverDnDestroyParams(params), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(cusolverDnDestroy(handle), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(cusolver_standin::live_handles(), 0u);
    EXPECT_EQ(cusolver_standin::live_params(), 0u);
    EXPECT_EQ(cuda_standin::misuse(), "");
    EXPECT_EQ(cuda_standin::leaks(), "");
  }
  // What was reported since the last time, which is then forgotten.
  void expect_misuse(const std::string& text) {
    const std::string all = cuda_standin::misuse();
    const std::string fresh = all.substr(std::min(seen, all.size()));
    EXPECT_NE(fresh.find(text), std::string::npos) << fresh;
    seen = all.size();
  }
  void forget_misuse() {
    cuda_standin::reset();
    seen = 0;
  }

  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
  size_t seen = 0;
};

// The workspace of getrf, and the call with it.
struct Lu {
  cusolverDnHandle_t handle;
  cusolverDnParams_t params;
  int64_t m, n, lda;
  size_t device = 0, host = 0;

  cusolverStatus_t ask(const void* a) {
    return cusolverDnXgetrf_bufferSize(handle, params, m, n, CUDA_R_64F, a, lda, CUDA_R_64F, &device, &host);
  }
  cusolverStatus_t run(void* a, int64_t* pivots, int* info, void* work, size_t bytes, void* host_work) const {
    return cusolverDnXgetrf(handle, params, m, n, CUDA_R_64F, a, lda, pivots, CUDA_R_64F, work, bytes, host_work, host,
                            info);
  }
};

TEST_F(CusolverStandin, FactorsWhenItsTurnComes) {
  cuda_standin::reset({.execution = cuda_standin::Execution::kLazy});
  // By columns: {{1, 3}, {2, 4}}.
  const Array<double> a({1, 2, 3, 4});
  const Array<int64_t> pivots({0, 0});
  const Array<int> info({7});
  Lu lu{handle, params, 2, 2, 2};
  ASSERT_EQ(lu.ask(a.data()), CUSOLVER_STATUS_SUCCESS);
  ASSERT_GT(lu.device, 0u);
  ASSERT_GT(lu.host, 0u);
  const Array<char> work(std::vector<char>(lu.device, 0));
  std::vector<char> host(lu.host, 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cuda_standin::clear_trace();
  ASSERT_EQ(lu.run(a.data(), pivots.data(), info.data(), work.data(), lu.device, host.data()), CUSOLVER_STATUS_SUCCESS);
  EXPECT_TRUE(cuda_standin::trace().empty());
  EXPECT_EQ(static_cast<unsigned char>(host[0]), 0xFF);
  EXPECT_EQ(a.values(), (std::vector<double>{2, 0.5, 4, 1}));
  EXPECT_EQ(pivots.values(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(info.values()[0], 0);
  EXPECT_EQ(static_cast<unsigned char>(work.values()[lu.device - 1]), 0xFF);
  EXPECT_EQ(cuda_standin::trace()[0].name, "cusolverDnXgetrf");

  // op(A) x = b with these factors.
  const Array<double> b({7, 10});
  ASSERT_EQ(cusolverDnXgetrs(handle, params, CUBLAS_OP_N, 2, 1, CUDA_R_64F, a.data(), 2, pivots.data(), CUDA_R_64F,
                             b.data(), 2, info.data()),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(b.values(), (std::vector<double>{1, 2}));
}

TEST_F(CusolverStandin, WithoutPivotsRowsStay) {
  const Array<double> a({1, 2, 3, 4}), singular({0, 0, 0, 0});
  const Array<int> info({7});
  Lu lu{handle, params, 2, 2, 2};
  ASSERT_EQ(lu.ask(a.data()), CUSOLVER_STATUS_SUCCESS);
  const Array<char> work(std::vector<char>(lu.device, 0));
  std::vector<char> host(lu.host, 0);
  ASSERT_EQ(lu.run(a.data(), nullptr, info.data(), work.data(), lu.device, host.data()), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(a.values(), (std::vector<double>{1, 2, 3, -2}));
  EXPECT_EQ(info.values()[0], 0);
  ASSERT_EQ(lu.run(singular.data(), nullptr, info.data(), work.data(), lu.device, host.data()),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(info.values()[0], 1);
}

TEST_F(CusolverStandin, ReportsMisuse) {
  {
    const Array<double> a({1, 2, 3, 4});
    const Array<int64_t> pivots({0, 0});
    const Array<int> info({7});
    Lu lu{handle, params, 2, 2, 2};
    ASSERT_EQ(lu.ask(a.data()), CUSOLVER_STATUS_SUCCESS);
    const Array<char> work(std::vector<char>(lu.device, 0));
    std::vector<char> host(lu.host, 0);
    const auto refused = [&](cusolverStatus_t status, const std::string& why) {
      EXPECT_EQ(status, CUSOLVER_STATUS_INVALID_VALUE) << why;
      expect_misuse("cusolverDnXgetrf: " + why);
    };
    double on_host[4] = {};
    int info_on_host = 0;
    refused(lu.run(on_host, pivots.data(), info.data(), work.data(), lu.device, host.data()),
            "A leaves the device's memory");
    refused(lu.run(a.data() + 1, pivots.data(), info.data(), work.data(), lu.device, host.data()),
            "A leaves the device's memory");
    refused(lu.run(a.data(), pivots.data() + 1, info.data(), work.data(), lu.device, host.data()),
            "ipiv leaves the device's memory");
    refused(lu.run(a.data(), pivots.data(), &info_on_host, work.data(), lu.device, host.data()),
            "info leaves the device's memory");
    refused(lu.run(a.data(), pivots.data(), info.data(), work.data(), lu.device - 1, host.data()),
            "another workspace than was asked for");
    refused(lu.run(a.data(), pivots.data(), info.data(), work.data() + 1, lu.device, host.data()),
            "the workspace leaves the device's memory");
    refused(lu.run(a.data(), pivots.data(), info.data(), work.data(), lu.device, nullptr),
            "the workspace of the host is not the host's");
    Lu narrow{handle, params, 2, 2, 1};
    EXPECT_EQ(narrow.ask(a.data()), CUSOLVER_STATUS_INVALID_VALUE);
    expect_misuse("leading dimension of A");
    Lu lost{nullptr, params, 2, 2, 2};
    EXPECT_EQ(lost.ask(a.data()), CUSOLVER_STATUS_INVALID_VALUE);
    expect_misuse("a handle that is none, or was destroyed");
    Lu bare{handle, nullptr, 2, 2, 2};
    EXPECT_EQ(bare.ask(a.data()), CUSOLVER_STATUS_INVALID_VALUE);
    expect_misuse("parameters that are none, or were destroyed");
    size_t device = 0, on = 0;
    EXPECT_EQ(cusolverDnXgetrf_bufferSize(handle, params, 2, 2, CUDA_R_64F, a.data(), 2, CUDA_R_32F, &device, &on),
              CUSOLVER_STATUS_INVALID_VALUE);
    expect_misuse("types of operands and of the computation");
    // Fewer rows than columns, left eigenvectors, matrices too large for a batch, Q^T of complex reflectors.
    EXPECT_EQ(cusolverDnXgesvd_bufferSize(handle, params, 'N', 'N', 1, 2, CUDA_R_64F, a.data(), 1, CUDA_R_64F, a.data(),
                                          CUDA_R_64F, nullptr, 1, CUDA_R_64F, nullptr, 1, CUDA_R_64F, &device, &on),
              CUSOLVER_STATUS_INVALID_VALUE);
    expect_misuse("cusolverDnXgesvd_bufferSize: fewer rows than columns");
    EXPECT_EQ(cusolverDnXgeev_bufferSize(handle, params, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_MODE_NOVECTOR, 1,
                                         CUDA_R_64F, a.data(), 1, CUDA_C_64F, a.data(), CUDA_R_64F, a.data(), 1,
                                         CUDA_R_64F, nullptr, 1, CUDA_R_64F, &device, &on),
              CUSOLVER_STATUS_INVALID_VALUE);
    int size = 0;
    const Array<cuComplex> z(std::vector<cuComplex>(4));
    EXPECT_EQ(cusolverDnCunmqr_bufferSize(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, 2, 1, 1, z.data(), 2, z.data(),
                                          z.data(), 2, &size),
              CUSOLVER_STATUS_INVALID_VALUE);
    expect_misuse("neither Q nor its adjoint");
    gesvdjInfo_t jacobi = nullptr;
    ASSERT_EQ(cusolverDnCreateGesvdjInfo(&jacobi), CUSOLVER_STATUS_SUCCESS);
    const Array<float> many(std::vector<float>(2 * 33));
    EXPECT_EQ(cusolverDnSgesvdjBatched_bufferSize(handle, CUSOLVER_EIG_MODE_NOVECTOR, 33, 1, many.data(), 33,
                                                  many.data(), nullptr, 33, nullptr, 1, &size, jacobi, 2),
              CUSOLVER_STATUS_INVALID_VALUE);
    EXPECT_EQ(cusolverDnDestroyGesvdjInfo(jacobi), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(cusolverDnDestroyGesvdjInfo(jacobi), CUSOLVER_STATUS_INVALID_VALUE);
    expect_misuse("cusolverDnDestroyGesvdjInfo: an object that is none, or was destroyed");
  }
  forget_misuse();
}

TEST_F(CusolverStandin, EigenvaluesAndSingularValues) {
  const Array<double> a({2, 1, 1, 2, 5, 0, 0, 3}), w(std::vector<double>(4));
  const Array<int> info({7, 7});
  size_t device = 0, on_host = 0;
  ASSERT_EQ(cusolverDnXsyevBatched_bufferSize(handle, params, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_LOWER, 2,
                                              CUDA_R_64F, a.data(), 2, CUDA_R_64F, w.data(), CUDA_R_64F, &device,
                                              &on_host, 2),
            CUSOLVER_STATUS_SUCCESS);
  {
    const Array<char> work(std::vector<char>(device, 0));
    std::vector<char> host(on_host, 0);
    ASSERT_EQ(cusolverDnXsyevBatched(handle, params, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_LOWER, 2, CUDA_R_64F,
                                     a.data(), 2, CUDA_R_64F, w.data(), CUDA_R_64F, work.data(), device, host.data(),
                                     on_host, info.data(), 2),
              CUSOLVER_STATUS_SUCCESS);
    const std::vector<double> found = w.values(), expected{1, 3, 3, 5};
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 1e-14);
    EXPECT_TRUE(std::isnan(a.values()[0]));
    EXPECT_EQ(info.values(), (std::vector<int>{0, 0}));
  }
  // {{0, -4}, {1, 0}}: +-2i, vectors (2, -+i) / sqrt(5), of which the two columns hold the parts.
  const Array<double> turn({0, 1, -4, 0}), vectors(std::vector<double>(4)), values(std::vector<double>(4));
  ASSERT_EQ(cusolverDnXgeev_bufferSize(handle, params, CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR, 2,
                                       CUDA_R_64F, turn.data(), 2, CUDA_C_64F, values.data(), CUDA_R_64F, nullptr, 1,
                                       CUDA_R_64F, vectors.data(), 2, CUDA_R_64F, &device, &on_host),
            CUSOLVER_STATUS_SUCCESS);
  const Array<char> work(std::vector<char>(device, 0));
  std::vector<char> host(on_host, 0);
  ASSERT_EQ(cusolverDnXgeev(handle, params, CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR, 2, CUDA_R_64F,
                            turn.data(), 2, CUDA_C_64F, values.data(), CUDA_R_64F, nullptr, 1, CUDA_R_64F,
                            vectors.data(), 2, CUDA_R_64F, work.data(), device, host.data(), on_host, info.data()),
            CUSOLVER_STATUS_SUCCESS);
  const std::vector<double> v = values.values(), x = vectors.values();
  EXPECT_NEAR(v[1], 2, 1e-14);
  EXPECT_NEAR(v[3], -2, 1e-14);
  // A re = -imag(w) im, A im = imag(w) re.
  EXPECT_NEAR(-4 * x[1], -2 * x[2], 1e-14);
  EXPECT_NEAR(x[0], -2 * x[3], 1e-14);
  EXPECT_NEAR(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3], 1, 1e-14);

  // V, and not V^H, of an upper triangular complex matrix.
  gesvdjInfo_t jacobi = nullptr;
  ASSERT_EQ(cusolverDnCreateGesvdjInfo(&jacobi), CUSOLVER_STATUS_SUCCESS);
  const Array<cuDoubleComplex> z({{0, 2}});
  const Array<cuDoubleComplex> u(std::vector<cuDoubleComplex>(1)), right(std::vector<cuDoubleComplex>(1));
  const Array<double> s({0});
  int size = 0;
  ASSERT_EQ(cusolverDnZgesvdj_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, 1, 1, 1, z.data(), 1, s.data(), u.data(), 1,
                                         right.data(), 1, &size, jacobi),
            CUSOLVER_STATUS_SUCCESS);
  const Array<cuDoubleComplex> jacobi_work(std::vector<cuDoubleComplex>(static_cast<size_t>(size)));
  ASSERT_EQ(cusolverDnZgesvdj(handle, CUSOLVER_EIG_MODE_VECTOR, 1, 1, 1, z.data(), 1, s.data(), u.data(), 1,
                              right.data(), 1, jacobi_work.data(), size, info.data(), jacobi),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(s.values()[0], 2, 1e-14);
  const cuDoubleComplex l = u.values()[0], r = right.values()[0];
  EXPECT_NEAR(2 * (l.x * r.x + l.y * r.y), 0, 1e-14);  // u s conj(v) is 2i
  EXPECT_NEAR(2 * (l.y * r.x - l.x * r.y), 2, 1e-14);
  EXPECT_EQ(cusolverDnDestroyGesvdjInfo(jacobi), CUSOLVER_STATUS_SUCCESS);
}

TEST_F(CusolverStandin, CallsFailWhenAsked) {
  cusolver_standin::reset({.fail_call = 1});
  cusolverDnHandle_t first = nullptr, second = nullptr;
  ASSERT_EQ(cusolverDnCreate(&first), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(cusolverDnCreate(&second), CUSOLVER_STATUS_ALLOC_FAILED);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(cusolver_standin::calls(), 2u);
  EXPECT_EQ(cusolverDnDestroy(first), CUSOLVER_STATUS_SUCCESS);
}

TEST_F(CusolverStandin, AHandleIsOfItsDevice) {
  {
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    const Array<double> a({1, 2, 3, 4});
    Lu lu{handle, params, 2, 2, 2};
    EXPECT_EQ(lu.ask(a.data()), CUSOLVER_STATUS_INVALID_VALUE);
    expect_misuse("the handle is another device's");
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  }
  forget_misuse();
}

}  // namespace
