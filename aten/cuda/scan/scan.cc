// cumsum, cumprod, cummax, cummin, logcumsumexp of CUDA tensors.
#include <algorithm>

#include "aten/core/tensor.h"
#include "aten/cuda/launch_shape.h"
#include "aten/cuda/scan/scan_call.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/scan/kernels.h"
#include "c10/memory/allocator.h"

namespace at::native {
namespace {

using cuda::ScanCall;
using cuda::ScanLaunchers;

constexpr int64_t kTile = 1024;         // elements that a block takes together
constexpr int64_t kShortRow = 64;       // rows at most so long are left to a thread each
constexpr int64_t kManyColumns = 4096;  // so many neighbouring rows keep a device busy with a thread each

void run_scan(ScanLaunchers launchers, ScanCall& call, const Tensor& x, int64_t dim) {
  const DimSplit s = split_at_dim(x.sizes(), maybe_wrap_dim(dim, x.dim()));
  const auto item = static_cast<int64_t>(x.itemsize()), vector = std::min<int64_t>(16, 4 * item);
  call.dtype = x.scalar_type();
  call.in = static_cast<const char*>(x.const_data_ptr());
  call.rows = s.outer * s.inner;
  call.size = s.size;
  call.inner = s.inner;
  if (launchers.one_by_one || s.size <= kShortRow || (s.inner > 1 && call.rows >= kManyColumns))
    return launchers.columns(call);
  const auto places = reinterpret_cast<uintptr_t>(call.in) | reinterpret_cast<uintptr_t>(call.out);
  call.vectors = s.inner == 1 && s.size * item % vector == 0 && places % static_cast<uintptr_t>(vector) == 0 &&
                 reinterpret_cast<uintptr_t>(call.indices) % 16 == 0;
  const int64_t tiles = (s.size - 1) / kTile + 1;
  const int64_t wanted = std::clamp<int64_t>(std::min(int64_t{cuda::kMostBlocks} / call.rows, tiles / 4), 1, 1024);
  call.piece_length = ((tiles - 1) / wanted + 1) * kTile;
  call.pieces = (s.size - 1) / call.piece_length + 1;
  c10::DataPtr states;
  if (call.pieces > 1) {
    states = c10::GetAllocator(c10::DeviceType::CUDA)
                 ->allocate(static_cast<size_t>(call.rows * call.pieces * launchers.state_size));
    call.states = static_cast<char*>(states.get());
  }
  launchers.rows(call);
}

void run_cumulative(const char* name, ScanLaunchers (*find)(ScalarType), const Tensor& self, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = dense(self, out.scalar_type());
  DenseOut y(out);
  ScanCall call{};
  call.name = name;
  call.out = static_cast<char*>(y.tensor().mutable_data_ptr());
  run_scan(find(x.scalar_type()), call, x, dim);
  y.commit();
}

void run_extreme(const char* name, ScanLaunchers (*find)(ScalarType), const Tensor& self, int64_t dim, Tensor& values,
                 Tensor& indices) {
  if (self.numel() == 0) return;
  const Tensor x = dense(self);
  DenseOut v(values), i(indices);
  ScanCall call{};
  call.name = name;
  call.out = static_cast<char*>(v.tensor().mutable_data_ptr());
  call.indices = i.data<int64_t>();
  run_scan(find(x.scalar_type()), call, x, dim);
  v.commit();
  i.commit();
}

void check_supported(const char* name, ScalarType dtype) {
  const bool small = dtype == ScalarType::Half || dtype == ScalarType::BFloat16 || dtype == ScalarType::Float ||
                     dtype == ScalarType::Double;
  const bool complex = dtype == ScalarType::ComplexFloat || dtype == ScalarType::ComplexDouble;
  const bool integer = c10::isIntegralType(dtype, true) && dtype != ScalarType::UInt16 && dtype != ScalarType::UInt32 &&
                       dtype != ScalarType::UInt64;
  TORCH_CHECK_NOT_IMPLEMENTED(small || complex || integer, "\"", name, "\" not implemented for '", dtype, "'");
}

}  // namespace

void cumsum_cuda(const Tensor& self, int64_t dim, std::optional<ScalarType>, Tensor& out) {
  check_supported("cumsum", out.scalar_type());
  run_cumulative("cumsum", &cuda::cumsum_launchers, self, dim, out);
}
void cumprod_cuda(const Tensor& self, int64_t dim, std::optional<ScalarType>, Tensor& out) {
  check_supported("cumprod", out.scalar_type());
  run_cumulative("cumprod", &cuda::cumprod_launchers, self, dim, out);
}
void cummax_cuda(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  check_supported("cummax", self.scalar_type());
  run_extreme("cummax", &cuda::cummax_launchers, self, dim, values, indices);
}
void cummin_cuda(const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  check_supported("cummin", self.scalar_type());
  run_extreme("cummin", &cuda::cummin_launchers, self, dim, values, indices);
}
void logcumsumexp_cuda(const Tensor& self, int64_t dim, Tensor& out) {
  check_supported("logcumsumexp", self.scalar_type());
  run_cumulative("logcumsumexp", &cuda::logcumsumexp_launchers, self, dim, out);
}

}  // namespace at::native
