// softmax, log_softmax, their gradients; how rows are given to threads.
#include "aten/core/tensor.h"
#include "aten/cuda/launch_shape.h"
#include "aten/cuda/rows/rows_call.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/softmax/kernels.h"

namespace at {
namespace cuda {
namespace {

constexpr int64_t kManyColumns = 1024;  // so many neighbouring rows are given a thread each

int64_t computed_bytes(const RowsCall& call) {
  return call.in_dtype[0] == ScalarType::Double ? 8 : 4;
}

// Neighbours that are read and written together in all operands.
int piece_of(const RowsCall& call) {
  size_t widest = c10::elementSize(call.out_dtype);
  for (int i = 0; i < kMaxRowInputs; ++i) {
    if (call.in[i] != nullptr) widest = std::max(widest, c10::elementSize(call.in_dtype[i]));
  }
  const int piece = piece_of_rows(call.size, static_cast<int64_t>(widest));
  const auto fits = [&](const char* data, ScalarType dtype) {
    return reinterpret_cast<uintptr_t>(data) % (static_cast<size_t>(piece) * c10::elementSize(dtype)) == 0;
  };
  bool together = call.inner == 1 && fits(call.out, call.out_dtype);
  for (int i = 0; i < kMaxRowInputs; ++i) together = together && fits(call.in[i], call.in_dtype[i]);
  return together ? piece : 1;
}

}  // namespace

void run_rows(const RowsLaunchers& launchers, RowsCall call) {
  if (call.rows == 0) return;
  const ScalarType dtype = call.in_dtype[0];
  const int64_t bytes = computed_bytes(call);
  call.piece = piece_of(call);
  call.lanes = call.inner > 1 && call.rows >= kManyColumns ? 1 : lanes_of_rows(call.rows, call.size, bytes);
  call.holds = call.piece > 1 && holds_row(call.size, call.lanes, bytes);
  (dtype == ScalarType::Double ? launchers.float64 : launchers.float32)(call);
}

int prepare_layer_norm_gradients(RowsCall& rows) {
  constexpr int64_t kRowsOfBlock = 16, kSharedBytes = int64_t{48} << 10;
  if (rows.rows == 0 || rows.size == 0) return 0;
  rows.piece = piece_of(rows);
  const int64_t bytes = computed_bytes(rows), shared = kLayerNormWarps * 2 * rows.size * bytes;
  if (!holds_row(rows.size, 32, bytes) || shared > kSharedBytes || rows.piece == 1) return 0;
  return static_cast<int>(std::min<int64_t>((rows.rows - 1) / kRowsOfBlock + 1, kMostBlocks / 4));
}

namespace {

void check_floating(const char* name, ScalarType dtype) {
  TORCH_CHECK_NOT_IMPLEMENTED(dtype == ScalarType::Half || dtype == ScalarType::BFloat16 ||
                                  dtype == ScalarType::Float || dtype == ScalarType::Double,
                              "\"", name, "\" not implemented for '", dtype, "'");
}

RowsCall rows_along(const char* name, const Tensor& x, int64_t dim) {
  const native::DimSplit s = native::split_at_dim(x.sizes(), maybe_wrap_dim(dim, x.dim()));
  RowsCall call{};
  call.name = name;
  call.of_columns = kMaxRowInputs;
  call.rows = s.outer * s.inner;
  call.size = s.size;
  call.inner = s.inner;
  return call;
}

void set_input(RowsCall& call, int i, const Tensor& t) {
  call.in[i] = static_cast<const char*>(t.const_data_ptr());
  call.in_dtype[i] = t.scalar_type();
}

void softmax(const char* name, const RowsLaunchers& launchers, const Tensor& self, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  check_floating(name, out.scalar_type());
  // Half becomes float on the way, where the result is that.
  const bool widens = self.scalar_type() == ScalarType::Half && out.scalar_type() == ScalarType::Float;
  const Tensor x = native::dense(self, widens ? ScalarType::Half : out.scalar_type());
  native::DenseOut y(out);
  RowsCall call = rows_along(name, x, dim);
  set_input(call, 0, x);
  call.out = y.data<char>();
  call.out_dtype = out.scalar_type();
  run_rows(launchers, call);
  y.commit();
}

void softmax_backward(const char* name, const RowsLaunchers& launchers, const Tensor& grad, const Tensor& output,
                      int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  check_floating(name, grad.scalar_type());
  const Tensor g = native::dense(grad), y = native::dense(output);
  // A double result of float gradients is converted to.
  const bool narrows = g.scalar_type() != ScalarType::Double && out.scalar_type() != ScalarType::Double;
  native::DenseOut gx(out, narrows ? out.scalar_type() : g.scalar_type());
  RowsCall call = rows_along(name, y, dim);
  set_input(call, 0, g);
  set_input(call, 1, y);
  call.out = gx.data<char>();
  call.out_dtype = gx.tensor().scalar_type();
  run_rows(launchers, call);
  gx.commit();
}

}  // namespace
}  // namespace cuda

namespace native {

void softmax_cuda(const Tensor& self, int64_t dim, std::optional<ScalarType>, Tensor& out) {
  cuda::softmax("softmax", cuda::kSoftmaxRows, self, dim, out);
}
void log_softmax_cuda(const Tensor& self, int64_t dim, std::optional<ScalarType>, Tensor& out) {
  cuda::softmax("log_softmax", cuda::kLogSoftmaxRows, self, dim, out);
}
void _softmax_cuda(const Tensor& self, int64_t dim, bool, Tensor& out) {
  cuda::softmax("softmax", cuda::kSoftmaxRows, self, dim, out);
}
void _log_softmax_cuda(const Tensor& self, int64_t dim, bool, Tensor& out) {
  cuda::softmax("log_softmax", cuda::kLogSoftmaxRows, self, dim, out);
}
void _softmax_backward_data_cuda(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType,
                                 Tensor& out) {
  cuda::softmax_backward("softmax_backward", cuda::kSoftmaxBackwardRows, grad_output, output, dim, out);
}
void _log_softmax_backward_data_cuda(const Tensor& grad_output, const Tensor& output, int64_t dim, ScalarType,
                                     Tensor& out) {
  cuda::softmax_backward("log_softmax_backward", cuda::kLogSoftmaxBackwardRows, grad_output, output, dim, out);
}

}  // namespace native
}  // namespace at
