// Choice of an algorithm and execution.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>
#include <string>

#include "tests/cuda_on_host/blas/elements.h"
#include "tests/cuda_on_host/blas/execute.h"
#include "tests/cuda_on_host/blas/problem.h"
#include "tests/cuda_on_host/runtime/own_time.h"
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

std::string wrong_algorithm(const Problem& p, const Pointers& x, const Algorithm& algorithm, size_t workspace_bytes) {
  if (algorithm.mark != Algorithm::kMark) return "an algorithm that cublasLtMatmulAlgoGetHeuristic did not give";
  if (algorithm.problem != fingerprint(p)) return "the algorithm was chosen for another problem";
  if (algorithm.workspace > workspace_bytes) return "less workspace than the algorithm asked for";
  // What C is aligned to matters where it is read.
  const void* const pointers[] = {x.a, x.b, reads_c(p, x) ? x.c : nullptr, x.d, p.bias, p.aux};
  for (int i = 0; i < 6; ++i) {
    if (alignment_of(pointers[i]) < algorithm.alignments[i])
      return "an address that is aligned to fewer bytes than was promised when the algorithm was chosen";
  }
  return "";
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
  const cuda_standin::OwnTime own_time;
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
  const cuda_standin::OwnTime own_time;
  if (const cublasStatus_t status = enter(__func__); status != CUBLAS_STATUS_SUCCESS) return status;
  const Handle* const owner = find_handle(handle, __func__);
  if (owner == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  Problem p;
  if (!read(__func__, operation, a_layout, b_layout, c_layout, d_layout, p)) return CUBLAS_STATUS_INVALID_VALUE;
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (device != owner->device) return refuse(__func__, "the handle is another device's");
  if (const std::string why = contradiction(p); !why.empty()) return refuse(__func__, why);
  Execution how{.workspace = workspace, .workspace_bytes = workspace_bytes};
  const Pointers x{.a = a, .b = b, .c = c, .d = d, .alpha = alpha, .beta = beta};
  if (algo != nullptr) {
    Algorithm algorithm;
    std::memcpy(&algorithm, algo, sizeof algorithm);
    if (const std::string why = wrong_algorithm(p, x, algorithm, workspace_bytes); !why.empty())
      return refuse(__func__, why);
    how.in_result_type = algorithm.in_result_type != 0;
  }
  return execute(__func__, p, x, how, stream);
}

}  // extern "C"
