#include "tests/cuda_on_host/blas/execute.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "tests/cuda_on_host/blas/elements.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cublas_standin {
namespace {

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
  return x < y + b_bytes && y < x + a_bytes;
}

bool same_layout(const Matrix& a, const Matrix& b) {
  return a.type == b.type && a.order == b.order && a.ld == b.ld && (a.batches == 1 || a.batch_stride == b.batch_stride);
}

// What is wrong with the addresses, "" if nothing.
std::string wrong_memory(const Problem& p, const Pointers& x, bool with_c) {
  const auto reachable = [](const void* pointer, size_t bytes) {
    return pointer != nullptr && cuda_standin::device_accessible(pointer, bytes);
  };
  if (!reachable(x.a, p.a.span_bytes())) return "A leaves the device's memory";
  if (!reachable(x.b, p.b.span_bytes())) return "B leaves the device's memory";
  if (!reachable(x.d, p.d.span_bytes())) return "D leaves the device's memory";
  if (with_c && !reachable(x.c, p.c.span_bytes())) return "C leaves the device's memory";
  if (overlap(x.a, p.a.span_bytes(), x.d, p.d.span_bytes()) || overlap(x.b, p.b.span_bytes(), x.d, p.d.span_bytes()))
    return "D overlaps A or B";
  if (with_c && overlap(x.c, p.c.span_bytes(), x.d, p.d.span_bytes()) && (x.c != x.d || !same_layout(p.c, p.d)))
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

// What is read and written.
size_t moved_bytes(const Problem& p, bool with_c) {
  const auto of = [](const Matrix& m) {
    return static_cast<size_t>(m.rows * m.columns) * bytes_of(m.type) *
           static_cast<size_t>(m.batches > 1 && m.batch_stride == 0 ? 1 : m.batches);
  };
  size_t bytes = of(p.a) + of(p.b) + of(p.d) + (with_c ? of(p.c) : 0);
  if (p.has_bias() || p.writes_bias()) bytes += static_cast<size_t>(p.bias_length()) * bytes_of(p.bias_type);
  return p.has_aux() ? bytes + p.aux_bytes() : bytes;
}

// All of it where it is small, else both ends: a large one would cost more than the product.
void overwrite(void* workspace, size_t bytes) {
  constexpr size_t kEnd = size_t{64} << 10;
  std::memset(workspace, 0xFF, std::min(bytes, kEnd));
  if (bytes > kEnd) std::memset(static_cast<char*>(workspace) + bytes - kEnd, 0xFF, kEnd);
}

}  // namespace

bool reads_c(const Problem& p, const Pointers& x) {
  if (p.pointer_mode != CUBLASLT_POINTER_MODE_HOST || x.beta == nullptr) return true;
  return load(x.beta, p.scale, 0) != Number(0);
}

cublasStatus_t execute(const char* call, const Problem& p, const Pointers& x, const Execution& how,
                       cudaStream_t stream) {
  if (const std::string why = contradiction(p); !why.empty()) return refuse(call, why);
  if (const std::string why = unsupported(p); !why.empty()) {
    refuse(call, why);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (x.alpha == nullptr || x.beta == nullptr) return refuse(call, "no factors");
  const size_t bytes = bytes_of(p.scale);
  const bool on_host = p.pointer_mode == CUBLASLT_POINTER_MODE_HOST;
  for (const void* factor : {x.alpha, x.beta}) {
    if (cuda_standin::device_accessible(factor, bytes) == on_host)
      return refuse(call, on_host ? "factors on the device" : "factors that are not on the device");
  }
  std::array<char, 16> factors[2] = {};
  if (on_host) {
    std::memcpy(factors[0].data(), x.alpha, bytes);
    std::memcpy(factors[1].data(), x.beta, bytes);
  }
  if (const std::string why = wrong_memory(p, x, reads_c(p, x)); !why.empty()) return refuse(call, why);
  if (how.workspace_bytes != 0 && (!cuda_standin::device_accessible(how.workspace, how.workspace_bytes) ||
                                   reinterpret_cast<uintptr_t>(how.workspace) % 256 != 0)) {
    return refuse(call, "the workspace is no device memory at a multiple of 256 bytes");
  }
  const auto work = [p, x, factors, on_host, how] {
    Pointers pointers = x;
    if (on_host) {
      pointers.alpha = factors[0].data();
      pointers.beta = factors[1].data();
    }
    if (how.workspace_bytes != 0) overwrite(how.workspace, how.workspace_bytes);
    compute(p, pointers, how.in_result_type);
  };
  const cudaError_t status = cuda_standin::enqueue(stream, call, work, moved_bytes(p, reads_c(p, x)));
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace cublas_standin
