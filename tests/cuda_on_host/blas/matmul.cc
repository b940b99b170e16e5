// Choice of an algorithm and execution.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>

#include "tests/cuda_on_host/blas/elements.h"
#include "tests/cuda_on_host/blas/problem.h"
#include "tests/cuda_on_host/blas/product.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cublas_standin {
namespace {

// What an algorithm holds: it serves the problem and the alignments that it was chosen for.
struct Algorithm {
  uint64_t mark = kMark;
  uint64_t workspace = 0;
  uint64_t problem = 0;
  uint64_t in_result_type = 0;
  uint32_t alignments[6] = {};  // of A, B, C, D, bias, the epilogue's matrix

  static constexpr uint64_t kMark = 0x6B64616C676F7221;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return address == 0 ? 256 : uint32_t{1} << std::min(std::countr_zero(address), 8);
}

// The five descriptors of a call; false where one is none.
bool read(const char* call, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, Problem& problem) {
  const Descriptor* const op = find_descriptor(operation, Kind::kMatmul, call);
  const Descriptor* layouts[4];
  const cublasLtMatrixLayout_t given[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    layouts[i] = find_descriptor(given[i], Kind::kLayout, call);
    if (layouts[i] == nullptr) return false;
  }
  if (op == nullptr) return false;
  problem = read_problem(*op, *layouts[0], *layouts[1], *layouts[2], *layouts[3]);
  return true;
}

bool adds_in_result_type(const Problem& p, uint32_t schemes) {
  return bytes_of(p.d.type) == 2 && p.k >= 2 && (schemes & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) != 0;
}

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

bool same_layout(const Matrix& a, const Matrix& b) {
  return a.type == b.type && a.order == b.order && a.ld == b.ld && (a.batches == 1 || a.batch_stride == b.batch_stride);
}

// What is wrong with the addresses, "" if nothing.
std::string wrong_memory(const Problem& p, const Pointers& x, bool reads_c) {
  const auto reachable = [](const void* pointer, size_t bytes) {
    return pointer != nullptr && cuda_standin::device_accessible(pointer, bytes);
  };
  if (!reachable(x.a, p.a.span_bytes())) return "A leaves the device's memory";
  if (!reachable(x.b, p.b.span_bytes())) return "B leaves the device's memory";
  if (!reachable(x.d, p.d.span_bytes())) return "D leaves the device's memory";
  if (reads_c && !reachable(x.c, p.c.span_bytes())) return "C leaves the device's memory";
  if (overlap(x.a, p.a.span_bytes(), x.d, p.d.span_bytes()) || overlap(x.b, p.b.span_bytes(), x.d, p.d.span_bytes()))
    return "D overlaps A or B";
  if (reads_c && overlap(x.c, p.c.span_bytes(), x.d, p.d.span_bytes()) && (x.c != x.d || !same_layout(p.c, p.d)))
    return "D overlaps C, and is not C";
  if (p.has_bias() || p.writes_bias()) {
    const auto elements = static_cast<size_t>((p.d.batches - 1) * p.bias_stride + p.bias_length());
    if (!reachable(p.bias, elements * bytes_of(p.bias_type))) return "the bias leaves the device's memory";
  }
  if (p.has_aux() && !reachable(p.aux, p.aux_bytes())) return "the epilogue's matrix leaves the device's memory";
  for (int i = 0; i < 4; ++i) {
    const bool vector = p.scale_modes[i] == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    const auto count = static_cast<size_t>(!vector ? 1 : i == 0 ? p.m : p.n);
    if (p.scale_pointers[i] != nullptr && !reachable(p.scale_pointers[i], count * sizeof(float)))
      return "a scale is not in the device's memory";
  }
  if (p.amax != nullptr && !reachable(p.amax, sizeof(float))) return "the maximum is not in the device's memory";
  return "";
}

std::string wrong_algorithm(const Problem& p, const Pointers& x, const Algorithm& algorithm, size_t workspace_bytes) {
  if (algorithm.mark != Algorithm::kMark) return "an algorithm that cublasLtMatmulAlgoGetHeuristic did not give";
  if (algorithm.problem != fingerprint(p)) return "the algorithm was chosen for another problem";
  if (algorithm.workspace > workspace_bytes) return "less workspace than the algorithm asked for";
  const void* const pointers[] = {x.a, x.b, x.c, x.d, p.bias, p.aux};
  for (int i = 0; i < 6; ++i) {
    if (alignment_of(pointers[i]) < algorithm.alignments[i])
      return "an address that is aligned to fewer bytes than was promised when the algorithm was chosen";
  }
  return "";
}

// All of it where it is small, else both ends: a large one would cost more than the product.
void overwrite(void* workspace, size_t bytes) {
  constexpr size_t kEnd = size_t{64} << 10;
  std::memset(workspace, 0xFF, std::min(bytes, kEnd));
  if (bytes > kEnd) std::memset(static_cast<char*>(workspace) + bytes - kEnd, 0xFF, kEnd);
}

cublasStatus_t choose(const Problem& p, const Descriptor& preference, int wanted,
                      cublasLtMatmulHeuristicResult_t* results, int& count) {
  count_heuristic_call();
  if (const std::string why = contradiction(p); !why.empty()) return refuse("cublasLtMatmulAlgoGetHeuristic", why);
  const bool has_epilogue = p.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  if (!unsupported(p).empty() || (has_epilogue && options().refuse_epilogues)) return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm;
  constexpr int kAlignments[] = {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                                 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  for (int i = 0; i < 4; ++i) {
    algorithm.alignments[i] = preference.get<uint32_t>(kAlignments[i]);
    if (!std::has_single_bit(algorithm.alignments[i]))
      return refuse("cublasLtMatmulAlgoGetHeuristic", "an alignment that is none");
    if (is_fp8(p.a.type) && algorithm.alignments[i] < 16) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (p.a.type == CUDA_R_8I && algorithm.alignments[i] < 4) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  algorithm.alignments[4] = p.has_bias() || p.writes_bias() ? alignment_of(p.bias) : 1;
  algorithm.alignments[5] = p.has_aux() ? alignment_of(p.aux) : 1;
  algorithm.problem = fingerprint(p);
  const auto schemes = preference.get<uint32_t>(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  const auto most = preference.get<uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  if (most == 0 && options().needs_workspace) return CUBLAS_STATUS_NOT_SUPPORTED;
  const int proposals = options().needs_workspace ? 1 : 2;
  for (int i = 0; i < wanted && i < proposals; ++i) {
    algorithm.workspace = i == 0 ? most : 0;
    algorithm.in_result_type = i == 0 && adds_in_result_type(p, schemes);
    results[i] = {};
    std::memcpy(&results[i].algo, &algorithm, sizeof algorithm);
    results[i].workspaceSize = algorithm.workspace;
    results[i].state = CUBLAS_STATUS_SUCCESS;
    results[i].wavesCount = 1;
    ++count;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace cublas_standin

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  using namespace cublas_standin;
  if (const cublasStatus_t status = enter(__func__); status != CUBLAS_STATUS_SUCCESS) return status;
  if (find_handle(handle, __func__) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Descriptor* const wish = find_descriptor(preference, Kind::kPreference, __func__);
  Problem problem;
  if (wish == nullptr || wanted <= 0 || results == nullptr || count == nullptr ||
      !read(__func__, operation, a, b, c, d, problem))
    return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  return choose(problem, *wish, wanted, results, *count);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  using namespace cublas_standin;
  if (const cublasStatus_t status = enter(__func__); status != CUBLAS_STATUS_SUCCESS) return status;
  const Handle* const owner = find_handle(handle, __func__);
  if (owner == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  Problem p;
  if (!read(__func__, operation, a_layout, b_layout, c_layout, d_layout, p)) return CUBLAS_STATUS_INVALID_VALUE;
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (device != owner->device) return refuse(__func__, "the handle is another device's");
  if (const std::string why = contradiction(p); !why.empty()) return refuse(__func__, why);
  if (const std::string why = unsupported(p); !why.empty()) {
    refuse(__func__, why);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (alpha == nullptr || beta == nullptr) return refuse(__func__, "no factors");
  Pointers x{.a = a, .b = b, .c = c, .d = d, .alpha = alpha, .beta = beta};
  std::array<char, 16> factors[2] = {};
  const bool on_host = p.pointer_mode == CUBLASLT_POINTER_MODE_HOST;
  if (on_host) {
    if (cuda_standin::device_accessible(alpha) || cuda_standin::device_accessible(beta))
      return refuse(__func__, "factors on the device");
    std::memcpy(factors[0].data(), alpha, bytes_of(p.scale));
    std::memcpy(factors[1].data(), beta, bytes_of(p.scale));
  } else if (!cuda_standin::device_accessible(alpha, bytes_of(p.scale)) ||
             !cuda_standin::device_accessible(beta, bytes_of(p.scale))) {
    return refuse(__func__, "factors that are not on the device");
  }
  const bool reads_c = !on_host || load(factors[1].data(), p.scale, 0) != Number(0);
  if (const std::string why = wrong_memory(p, x, reads_c); !why.empty()) return refuse(__func__, why);
  Algorithm algorithm;
  if (algo != nullptr) {
    std::memcpy(&algorithm, algo, sizeof algorithm);
    if (!reads_c) algorithm.alignments[2] = 1;
    if (const std::string why = wrong_algorithm(p, x, algorithm, workspace_bytes); !why.empty())
      return refuse(__func__, why);
  }
  if (workspace_bytes != 0 && (!cuda_standin::device_accessible(workspace, workspace_bytes) ||
                               reinterpret_cast<uintptr_t>(workspace) % 256 != 0)) {
    return refuse(__func__, "the workspace is no device memory at a multiple of 256 bytes");
  }
  const cudaError_t status = cuda_standin::enqueue(
      stream, __func__, [p, x, factors, on_host, algorithm, workspace, workspace_bytes]() mutable {
        if (on_host) {
          x.alpha = factors[0].data();
          x.beta = factors[1].data();
        }
        if (workspace_bytes != 0) overwrite(workspace, workspace_bytes);
        compute(p, x, algorithm.in_result_type != 0);
      });
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
