// Fake quantization of CUDA tensors; scales and zero points stay on the device.
#include <limits>
#include <tuple>

#include "aten/core/empty.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/elementwise.h"
#include "aten/cuda/mixed_kernels.h"
#include "aten/cuda/quantized/observer_call.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/quantized/checks.h"
#include "aten/ops/quantized/kernels.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void fake_quantize(const char* op, const Tensor& self, const pointwise::Input& scale,
                   const pointwise::Input& zero_point, const pointwise::Input& enabled, bool whole, int64_t quant_min,
                   int64_t quant_max, Tensor& output, Tensor* mask) {
  const ScalarType compute = cpu::compute_type(self.scalar_type());
  const pointwise::Params params(compute, {Scalar(quant_min), Scalar(quant_max), Scalar(whole ? 1 : 0)});
  // The mask first: the result may be written over self.
  if (mask != nullptr) {
    cuda::elementwise(op, cuda::kFakeQuantizeMaskKernels, compute, params.get(), *mask,
                      {self, scale, zero_point, enabled});
  }
  cuda::elementwise(op, cuda::kFakeQuantizeKernels, compute, params.get(), output, {self, scale, zero_point, enabled});
}

// One element for all.
Tensor single(const Tensor& t) {
  return make_view(t, {}, {}, t.storage_offset());
}
// The zero points of learnable forms: whole numbers within the range.
Tensor rounded_within(const Tensor& zero_point, int64_t quant_min, int64_t quant_max) {
  return at::clamp(at::round(at::to(zero_point, kFloat)), Scalar(quant_min), Scalar(quant_max));
}
// One for each index of a dimension.
Tensor along(const Tensor& t, int64_t axis, int64_t dims) {
  DimVector sizes(static_cast<size_t>(dims), 1), strides(static_cast<size_t>(dims), 1);
  sizes[static_cast<size_t>(axis)] = t.numel();
  strides[static_cast<size_t>(axis)] = t.strides()[0];
  return make_view(t, sizes, strides, t.storage_offset());
}

using Gradients = std::tuple<Tensor, Tensor, Tensor>;

// `step` and `zero`, which is rounded, meet the elements of self; sums are those of each of their elements.
Gradients learnable_gradients(const char* op, const Tensor& grad, const Tensor& self, const Tensor& scale,
                              const Tensor& zero_point, const Tensor& step, const Tensor& zero, DimSplit split,
                              int64_t quant_min, int64_t quant_max, double grad_factor) {
  TORCH_CHECK(grad.sizes() == self.sizes(), "`X` and `dY` are not the same size");
  const ScalarType wide = self.scalar_type() == kDouble ? kDouble : kFloat;
  const pointwise::Params params(wide, {Scalar(quant_min), Scalar(quant_max), Scalar(1)});
  Tensor mask = empty_contiguous(self.sizes(), kBool, self.device()),
         terms = empty_contiguous(self.sizes(), wide, self.device());
  if (self.numel() > 0) {
    cuda::elementwise(op, cuda::kFakeQuantizeMaskKernels, wide, params.get(), mask, {self, step, zero, Scalar(1)});
    cuda::elementwise(op, cuda::kFakeQuantizeOfScaleKernels, wide, params.get(), terms, {self, grad, step, zero});
  }
  const auto sum = [&](const Tensor& t, const Tensor& like) {
    const Tensor parts = at::reshape(t, {split.outer, split.size, split.inner});
    return at::reshape(at::mul(at::sum(parts, IntArrayRef{0, 2}), grad_factor), like.sizes());
  };
  const Tensor g = at::to(grad, wide), outside = at::contiguous(at::mul(g, at::logical_not(mask)));
  const Tensor of_scale = sum(terms, scale);
  const Tensor of_zero =
      at::mul(sum(outside, zero_point), at::reshape(at::neg(at::to(scale, wide)), zero_point.sizes()));
  return {at::to(at::mul(g, mask), self.scalar_type()), at::to(of_scale, scale.scalar_type()),
          at::to(of_zero, zero_point.scalar_type())};
}

}  // namespace

void fake_quantize_per_tensor_affine_cachemask_cuda(const Tensor& self, double scale, int64_t zero_point,
                                                    int64_t quant_min, int64_t quant_max, Tensor& output,
                                                    Tensor& mask) {
  fake_quantize("fake_quantize_per_tensor_affine_cachemask", self,
                Scalar(static_cast<double>(static_cast<float>(scale))), Scalar(zero_point), Scalar(1), true, quant_min,
                quant_max, output, &mask);
}
void fake_quantize_tensor_qparams_cuda(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                       const Tensor& fake_quant_enabled, int64_t quant_min, int64_t quant_max,
                                       Tensor& output, Tensor& mask) {
  fake_quantize("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", self, single(scale), single(zero_point),
                single(fake_quant_enabled), true, quant_min, quant_max, output, &mask);
}
void fake_quantize_per_channel_affine_cachemask_cuda(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                                     int64_t axis, int64_t quant_min, int64_t quant_max, Tensor& output,
                                                     Tensor& mask) {
  fake_quantize("fake_quantize_per_channel_affine_cachemask", self, along(scale, axis, self.dim()),
                along(zero_point, axis, self.dim()), Scalar(1), !zero_point.is_floating_point(), quant_min, quant_max,
                output, &mask);
}

// --- with scales and zero points that are learnt ---
void learnable_per_tensor_cuda(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t quant_min,
                               int64_t quant_max, double, Tensor& out) {
  fake_quantize("_fake_quantize_learnable_per_tensor_affine", self, single(scale),
                single(rounded_within(zero_point, quant_min, quant_max)), Scalar(1), true, quant_min, quant_max, out,
                nullptr);
}
Gradients learnable_per_tensor_backward_cuda(const Tensor& grad, const Tensor& self, const Tensor& scale,
                                             const Tensor& zero_point, int64_t quant_min, int64_t quant_max,
                                             double grad_factor) {
  const char* const op = "_fake_quantize_learnable_per_tensor_affine_backward";
  check_learnable(op, self, scale, zero_point, quant_min, quant_max);
  check_single(op, "scale", scale);
  check_single(op, "zero_point", zero_point);
  return learnable_gradients(op, grad, self, scale, zero_point, single(scale),
                             single(rounded_within(zero_point, quant_min, quant_max)), {1, 1, self.numel()}, quant_min,
                             quant_max, grad_factor);
}
void learnable_per_channel_cuda(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t axis,
                                int64_t quant_min, int64_t quant_max, double, Tensor& out) {
  fake_quantize("_fake_quantize_learnable_per_channel_affine", self, along(scale, axis, self.dim()),
                along(rounded_within(zero_point, quant_min, quant_max), axis, self.dim()), Scalar(1), true, quant_min,
                quant_max, out, nullptr);
}
Gradients learnable_per_channel_backward_cuda(const Tensor& grad, const Tensor& self, const Tensor& scale,
                                              const Tensor& zero_point, int64_t axis, int64_t quant_min,
                                              int64_t quant_max, double grad_factor) {
  const char* const op = "_fake_quantize_learnable_per_channel_affine_backward";
  check_learnable(op, self, scale, zero_point, quant_min, quant_max);
  check_channels(self, scale, zero_point, axis);
  return learnable_gradients(op, grad, self, scale, zero_point, along(scale, axis, self.dim()),
                             along(rounded_within(zero_point, quant_min, quant_max), axis, self.dim()),
                             split_at_dim(self.sizes(), axis), quant_min, quant_max, grad_factor);
}

// --- with scales and zero points that follow what was seen ---
namespace {

// What is kept of numbers seen, as the kernel takes it: the tensor itself, or another, which write_back() copies to it.
class Kept {
 public:
  Kept(Tensor& to, ScalarType dtype, int64_t channels, bool unseen, double initial) : to_(to), channels_(channels) {
    const bool direct = !unseen && to.scalar_type() == dtype && to.is_contiguous();
    direct_ = direct;
    if (direct) {
      work_ = to;
    } else if (unseen) {
      work_ = at::full({channels}, Scalar(initial), TensorOptions(to.device()).dtype(dtype));
    } else {
      work_ = at::clone(at::to(to, dtype), MemoryFormat::Contiguous);
    }
  }
  template <class T>
  T* data() const {
    return work_.mutable_data_ptr<T>();
  }
  Tensor line() const { return make_view(work_, {channels_}, {1}, work_.storage_offset()); }
  void write_back(bool unseen) {
    if (direct_) return;
    if (unseen) resize_output(to_, {channels_});
    at::copy_(to_, at::view(work_, to_.sizes()));
  }

 private:
  Tensor& to_;
  Tensor work_;
  int64_t channels_;
  bool direct_;
};

}  // namespace

// Whether anything is observed and quantized is read by kernels, where it lies.
std::tuple<Tensor, Tensor> _fused_moving_avg_obs_fq_helper_cuda(const Tensor& self, const Tensor& observer_on,
                                                                const Tensor& fake_quant_on, Tensor& running_min,
                                                                Tensor& running_max, Tensor& scale, Tensor& zero_point,
                                                                double averaging_const, int64_t quant_min,
                                                                int64_t quant_max, int64_t ch_axis,
                                                                bool per_row_fake_quant, bool symmetric_quant) {
  const char* const op = "_fused_moving_avg_obs_fq_helper";
  check_observed(op, self, {&running_min, &running_max, &scale, &zero_point}, quant_min, quant_max, ch_axis,
                 per_row_fake_quant);
  check_single(op, "observer_on", observer_on);
  check_single(op, "fake_quant_on", fake_quant_on);
  // Where nothing was seen yet, it was not known either how many channels there are.
  const bool unseen = per_row_fake_quant && running_min.numel() == 0;
  const int64_t channels = per_row_fake_quant ? self.size(ch_axis) : 1;
  for (const Tensor* t : {&running_min, &running_max, &scale, &zero_point}) {
    TORCH_CHECK(unseen || t->numel() == channels, op, ": expected ", channels,
                " running values, scales and zero points, but got ", t->numel());
  }
  const Tensor numbers = at::detach(self);
  Tensor least, most;
  if (per_row_fake_quant) {
    const Tensor rows = at::reshape(at::transpose(numbers, 0, ch_axis), {channels, -1});
    std::tie(least, most) = at::aminmax(at::contiguous(rows), 1);
  } else {
    std::tie(least, most) = at::aminmax(numbers);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Kept low(running_min, kFloat, channels, unseen, kInfinity), high(running_max, kFloat, channels, unseen, -kInfinity),
      step(scale, kFloat, channels, unseen, 1), zero(zero_point, kInt, channels, unseen, 0);
  const auto flag = [&](const Tensor& t) { return at::to(t, self.device(), kFloat); };
  const Tensor observes = flag(observer_on), quantizes = flag(fake_quant_on);
  cuda::ObserverCall call{};
  call.channels = channels;
  call.least = least.const_data_ptr<float>(), call.most = most.const_data_ptr<float>();
  call.observes = observes.const_data_ptr<float>(), call.quantizes = quantizes.const_data_ptr<float>();
  call.low = low.data<float>(), call.high = high.data<float>();
  call.scale = step.data<float>(), call.zero_point = zero.data<int32_t>();
  call.averaging_constant = static_cast<float>(averaging_const);
  call.quant_min = quant_min, call.quant_max = quant_max;
  call.symmetric = symmetric_quant;
  cuda::launch_observer(call);

  Tensor output = empty_contiguous(self.sizes(), self.scalar_type(), self.device()),
         mask = empty_contiguous(self.sizes(), kBool, self.device());
  const auto meets = [&](const Kept& kept) {
    return per_row_fake_quant ? along(kept.line(), ch_axis, self.dim()) : single(kept.line());
  };
  fake_quantize(op, self, meets(step), meets(zero), single(quantizes), true, quant_min, quant_max, output, &mask);
  for (Kept* kept : {&low, &high, &step, &zero}) kept->write_back(unseen);
  return {output, mask};
}

}  // namespace at::native
