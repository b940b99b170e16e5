// stft and istft.
#include <optional>
#include <string_view>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/fft/kernels.h"
#include "aten/ops/fft/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

using Flag = std::optional<bool>;
using Size = std::optional<int64_t>;

constexpr int64_t kNone = 0, kByRoot = 1, kByNumber = 2;

std::string text(const Flag& flag) {
  return flag ? *flag ? "1" : "0" : "None";
}
std::string text(const Size& size) {
  return size ? c10::str(*size) : "None";
}
std::string text(const std::optional<Tensor>& window) {
  if (!window || !window->defined()) return "None";
  return c10::str("torch.", window->scalar_type(), "Tensor{", window->sizes(), "}");
}

// The window in the middle of n_fft numbers; one without numbers is ones.
Tensor centered_window(const std::optional<Tensor>& window, int64_t win_length, int64_t n_fft, TensorOptions options) {
  const Tensor w = window && window->defined() ? *window : at::ones({win_length}, options);
  if (win_length == n_fft) return w;
  const int64_t left = (n_fft - win_length) / 2;
  return at::constant_pad_nd(w, {left, n_fft - win_length - left});
}

struct Frames {
  int64_t n_fft, hop_length, win_length;
};

// Signals of up to two dimensions, padded as a batch of one channel, which messages then name.
Tensor padded(const Tensor& signal, int64_t amount, std::string_view mode) {
  Tensor batch = signal;
  while (batch.dim() < 3) batch = at::unsqueeze(batch, 0);
  batch = at::pad(batch, {amount, amount}, mode);
  while (batch.dim() > signal.dim()) batch = at::squeeze(batch, 0);
  return batch;
}

// [signals, numbers] to [signals, frames, frequencies].
Tensor transformed_frames(const Tensor& signal, const Frames& f, const Tensor& window, bool normalized, bool onesided) {
  Tensor frames = at::unfold(signal, -1, f.n_fft, f.hop_length);
  if (window.defined()) frames = at::mul(frames, window);
  const int64_t norm = normalized ? kByRoot : kNone;
  if (frames.is_complex()) return at::_fft_c2c(frames, {2}, norm, true);
  // As fft_rfft on devices other than the CPU.
  if (frames.scalar_type() == kBFloat16 && !frames.is_cpu()) frames = at::to(frames, kFloat);
  return at::_fft_r2c(frames, {2}, norm, onesided);
}

// Frames [signals, frames, n_fft] added where they overlap: cut into blocks of a hop, block j of frame t falls on place
// t + j.
Tensor overlap_added(const Tensor& frames, int64_t hop) {
  const int64_t n_fft = frames.size(2), count = frames.size(1), blocks = (n_fft + hop - 1) / hop;
  const Tensor whole = at::constant_pad_nd(frames, {0, blocks * hop - n_fft});
  Tensor sum;
  for (int64_t j = 0; j < blocks; ++j) {
    const Tensor placed = at::constant_pad_nd(at::narrow(whole, 2, j * hop, hop), {0, 0, j, blocks - 1 - j});
    sum = sum.defined() ? at::add(sum, placed) : placed;
  }
  const Tensor line = at::reshape(sum, {frames.size(0), (count + blocks - 1) * hop});
  return at::narrow(line, 1, 0, n_fft + hop * (count - 1));
}

}  // namespace

Tensor stft_center(const Tensor& self, int64_t n_fft, Size hop_length, Size win_length,
                   const std::optional<Tensor>& window, bool center, std::string_view pad_mode, bool normalized,
                   Flag onesided, Flag return_complex, Flag align_to_window) {
  const bool windowed = window && window->defined();
  const Frames f{n_fft, hop_length.value_or(n_fft >> 2), win_length.value_or(n_fft)};
  Tensor input = self;
  const auto call = [&] {
    return c10::str("stft(torch.", self.scalar_type(), "Tensor", input.sizes(), ", n_fft=", n_fft,
                    ", hop_length=", f.hop_length, ", win_length=", f.win_length, ", window=", text(window),
                    ", normalized=", normalized ? 1 : 0, ", onesided=", text(onesided),
                    ", return_complex=", text(return_complex), ", align_to_window=", text(align_to_window), ") ");
  };
  const bool complex = self.is_complex() || (windowed && window->is_complex());
  if (!return_complex.value_or(complex)) {
    TORCH_CHECK(return_complex.has_value(),
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release.");
  }
  TORCH_CHECK(!(center && align_to_window.has_value()), "stft align_to_window should only be set when center = false");
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(self.scalar_type()) || self.is_complex(), call(),
                              ": expected a tensor of floating point or complex values");
  if (center && self.dim() > 0 && self.dim() <= 3) input = padded(input, n_fft / 2, pad_mode);
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, call(), ": expected a 1D or 2D tensor");
  const int64_t length = input.size(-1);
  TORCH_CHECK(n_fft > 0 && n_fft <= length, call(), ": expected 0 < n_fft < ", length, ", but got n_fft=", n_fft);
  TORCH_CHECK(f.hop_length > 0, call(), ": expected hop_length > 0, but got hop_length=", f.hop_length);
  TORCH_CHECK(f.win_length > 0 && f.win_length <= n_fft, call(),
              ": expected 0 < win_length <= n_fft, but got win_length=", f.win_length);
  TORCH_CHECK(!windowed || (window->dim() == 1 && window->size(0) == f.win_length), call(),
              ": expected a 1D window tensor of size equal to win_length=", f.win_length, ", but got window with size ",
              windowed ? window->sizes() : IntArrayRef());
  const bool half = onesided.value_or(!complex);
  TORCH_CHECK(!half || !complex, "Cannot have onesided output if window or input is complex");

  if (self.dim() == 1) input = at::unsqueeze(input, 0);
  if (align_to_window.value_or(false)) input = padded(input, (n_fft - f.win_length) / 2, pad_mode);
  Tensor w;
  if (windowed || f.win_length < n_fft) w = centered_window(window, f.win_length, n_fft, self.options());
  Tensor out = at::transpose(transformed_frames(input, f, w, normalized, half), 1, 2);
  if (self.dim() == 1) out = at::squeeze(out, 0);
  return return_complex.value_or(complex) ? out : at::view_as_real(out);
}

Tensor stft(const Tensor& self, int64_t n_fft, Size hop_length, Size win_length, const std::optional<Tensor>& window,
            bool normalized, Flag onesided, Flag return_complex, Flag align_to_window) {
  return stft_center(self, n_fft, hop_length, win_length, window, false, "constant", normalized, onesided,
                     return_complex, align_to_window);
}

Tensor istft(const Tensor& self, int64_t n_fft, Size hop_length, Size win_length, const std::optional<Tensor>& window,
             bool center, bool normalized, Flag onesided, Size length, bool return_complex) {
  const bool windowed = window && window->defined();
  const Frames f{n_fft, hop_length.value_or(n_fft >> 2), win_length.value_or(n_fft)};
  const auto call = [&] {
    return c10::str("istft(", self.toString(), self.sizes(), ", n_fft=", n_fft, ", hop_length=", f.hop_length,
                    ", win_length=", f.win_length, ", window=", text(window), ", center=", center ? 1 : 0,
                    ", normalized=", normalized ? 1 : 0, ", onesided=", text(onesided), ", length=", text(length),
                    ", return_complex=", return_complex ? 1 : 0, ") ");
  };
  TORCH_CHECK_TYPE(
      self.is_complex(),
      "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.");
  TORCH_CHECK(self.numel() > 0, call(), ": input tensor cannot be empty.");
  TORCH_CHECK(self.dim() == 2 || self.dim() == 3, call(), ": expected a tensor with 3 or 4 dimensions, but got ",
              self.dim() + 1);
  const int64_t frequencies = self.size(-2), frames = self.size(-1);
  const bool half = onesided.value_or(frequencies != n_fft);
  if (half) {
    TORCH_CHECK(n_fft / 2 + 1 == frequencies, call(),
                ": expected the frequency dimension (3rd to the last) of the input ",
                "tensor to match n_fft / 2 + 1 when onesided=True, but got ", frequencies);
  } else {
    TORCH_CHECK(n_fft == frequencies, call(),
                ": expected the frequency dimension (3rd to the last) of the input tensor to ",
                "match n_fft when onesided=False, but got ", frequencies);
  }
  TORCH_CHECK(0 < f.hop_length && f.hop_length <= f.win_length, call(), ": expected 0 < hop_length <= win_length");
  TORCH_CHECK(0 < f.win_length && f.win_length <= n_fft, call(), ": expected 0 < win_length <= n_fft");
  TORCH_CHECK(!windowed || (window->dim() == 1 && window->size(0) == f.win_length), call(),
              ": Invalid window shape. window has to be 1D and length of `win_length`");
  if (return_complex) {
    TORCH_CHECK(!half, "Cannot have onesided output if window or input is complex");
  } else {
    TORCH_CHECK(!windowed || !window->is_complex(), "Complex windows are incompatible with return_complex=False");
  }

  const Tensor w =
      centered_window(window, f.win_length, n_fft, self.options().dtype(toRealValueType(self.scalar_type())));
  Tensor input = at::transpose(self.dim() == 2 ? at::unsqueeze(self, 0) : self, 1, 2);
  const int64_t norm = normalized ? kByRoot : kByNumber;
  if (return_complex) {
    input = at::_fft_c2c(input, {2}, norm, false);
  } else {
    input = at::_fft_c2r(half ? input : at::narrow(input, 2, 0, n_fft / 2 + 1), {2}, norm, n_fft);
  }
  Tensor signal = overlap_added(at::mul(input, w), f.hop_length);
  const Tensor squares = at::expand(at::mul(w, w), {1, frames, n_fft});
  Tensor weight = overlap_added(squares, f.hop_length);

  const int64_t whole = signal.size(1), start = center ? n_fft / 2 : 0;
  const int64_t end = length ? start + *length : center ? whole - n_fft / 2 : whole;
  const int64_t kept = std::max<int64_t>(std::min(end, whole) - start, 0);
  signal = at::narrow(signal, 1, start, kept);
  weight = at::narrow(weight, 1, start, kept);
  if (kept > 0 && !weight.is_meta()) {
    const double lowest = at::_local_scalar_dense(at::min(at::abs(weight))).toDouble();
    TORCH_CHECK(lowest > 1e-11, call(), "window overlap add min: ", lowest);
  }
  signal = at::div(signal, weight);
  if (self.dim() == 2) signal = at::squeeze(signal, 0);
  if (end > whole) {
    TORCH_WARN(
        "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
        "Please check your center and hop_length settings.");
    signal = at::constant_pad_nd(signal, {0, end - whole});
  }
  return signal;
}

}  // namespace at::native
