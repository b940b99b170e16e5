#include "autograd/derivatives/fft_functions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/fft/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/view/ops.h"

namespace torch::autograd::generated {

// What a half leaves out has no gradient: zeros.
Tensor fft_r2c_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization, bool onesided, IntArrayRef sizes) {
  Tensor whole = grad;
  if (onesided) {
    const int64_t rank = grad.dim(), last = maybe_wrap_dim(dim.back(), rank);
    DimVector pad(static_cast<size_t>(2 * rank), 0);
    pad[pad.size() - 1 - 2 * static_cast<size_t>(last)] = sizes[static_cast<size_t>(last)] - grad.size(last);
    whole = at::constant_pad_nd(grad, pad);
  }
  return at::real(at::_fft_c2c(whole, dim, normalization, false));
}

// Numbers that stand for their mirror images too count twice.
Tensor fft_c2r_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization) {
  const Tensor half = at::_fft_r2c(grad, dim, normalization, true);
  const int64_t last = maybe_wrap_dim(dim.back(), grad.dim()), twice = grad.size(last) - half.size(last);
  if (twice <= 0) return half;
  const TensorOptions options = grad.options();
  const Tensor weights = at::cat(
      {at::ones({1}, options), at::full({twice}, 2, options), at::ones({half.size(last) - 1 - twice}, options)});
  DimVector shape(static_cast<size_t>(grad.dim()), 1);
  shape[static_cast<size_t>(last)] = half.size(last);
  return at::mul(half, at::reshape(weights, shape));
}

}  // namespace torch::autograd::generated
