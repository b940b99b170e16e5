// softmax, log_softmax, their gradients; how rows are given to threads.
#include "aten/core/tensor.h"
#include "aten/cuda/launch_shape.h"
#include "aten/cuda/rows/rows_call.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/softmax/kernels.h"

namespace at {
namespace cuda {
namespace {

constexpr int64_t kVector = kRowVectorElements;
constexpr int64_t kManyColumns = 1024;  // so many neighbouring rows are given a thread each

bool reads_vectors(const RowsCall& call) {
  const auto fits = [&](const char* data, ScalarType dtype) {
    const auto bytes = std::min<size_t>(16, kVector * c10::elementSize(dtype));
    return data == nullptr || reinterpret_cast<uintptr_t>(data) % bytes == 0;
  };
  if (call.inner != 1 || call.size % kVector != 0) return false;
  for (int i = 0; i < kMaxRowInputs; ++i) {
    if (!fits(call.in[i], call.in_dtype[i])) return false;
  }
  return fits(call.out, call.out_dtype);
}

}  // namespace

void run_rows(const RowsLaunchers& launchers, RowsCall call) {
  if (call.rows == 0) return;
  call.vectors = reads_vectors(call);
  call.lanes = call.inner > 1 && call.rows >= kManyColumns ? 1 : lanes_of_rows(call.rows, call.size);
  const ScalarType dtype = call.in_dtype[0];
  (dtype == ScalarType::Double ? launchers.float64 : launchers.float32)(call);
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
