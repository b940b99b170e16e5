// What scaling of gradients is made of: they are computed from a loss that was multiplied by a scale, so that those of
// 16 bits do not vanish, and divided by it before the step.
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cpu/optimizer/optimizer_step.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/foreach/fused_step.h"
#include "aten/ops/foreach/kernels.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::foreach {
namespace {

void check_number(const char* name, const Tensor& t, ScalarType dtype) {
  TORCH_CHECK(t.defined() && t.numel() == 1, name, " must be a 1-element tensor.");
  TORCH_CHECK(t.scalar_type() == dtype, name, " must be ", dtype == ScalarType::Int ? "an int" : "a float", " tensor.");
}

}  // namespace

void check_scaled_gradients(TensorList grads, const Tensor& found_inf, const Tensor& inv_scale) {
  check_number("inv_scale", inv_scale, ScalarType::Float);
  check_number("found_inf", found_inf, ScalarType::Float);
  for (const Tensor& t : grads) {
    TORCH_CHECK(t.defined(), "one of scaled_grads is an undefined tensor.");
    TORCH_CHECK(t.layout() == kStrided, "one of scaled_grads was not a strided tensor.");
    TORCH_CHECK_TYPE(t.is_floating_point(), "scaled_grads must be floating-point tensors, but got ",
                     c10::toString(t.scalar_type()));
    if (t.is_inference()) structured::mark_written(t);
  }
}

void check_scale(const Tensor& scale, const Tensor& growth_tracker, const Tensor& found_inf) {
  check_number("growth_tracker", growth_tracker, ScalarType::Int);
  check_number("current_scale", scale, ScalarType::Float);
  check_number("found_inf", found_inf, ScalarType::Float);
}

}  // namespace at::foreach

namespace at::native {
namespace {

constexpr int64_t kGrain = 32768;

std::vector<Tensor> copies(TensorList list) {
  std::vector<Tensor> result;
  result.reserve(list.size());
  for (const Tensor& t : list) result.push_back(at::clone(t));
  return result;
}

}  // namespace

void _amp_foreach_non_finite_check_and_unscale_cpu(TensorList self, Tensor& found_inf, const Tensor& inv_scale) {
  foreach::check_scaled_gradients(self, found_inf, inv_scale);
  const double factor = at::item(inv_scale).toDouble();
  bool finite = true;
  for (const Tensor& t : self) {
    const bool dense = t.is_non_overlapping_and_dense();
    const Tensor run = dense ? t : at::contiguous(t);
    auto* const data = static_cast<char*>(run.mutable_data_ptr());
    at::parallel_for(0, run.numel(), kGrain, [&](int64_t begin, int64_t end) {
      char* const from = data + begin * static_cast<int64_t>(run.itemsize());
      if (!cpu::scale_gradient(run.scalar_type(), from, end - begin, factor)) {
        __atomic_store_n(&finite, false, __ATOMIC_RELAXED);
      }
    });
    Tensor target = t;
    if (!dense) at::copy_(target, run);
  }
  if (!finite) at::fill_(found_inf, 1);
}

void _amp_foreach_non_finite_check_and_unscale_composed(TensorList self, Tensor& found_inf, const Tensor& inv_scale) {
  foreach::check_scaled_gradients(self, found_inf, inv_scale);
  if (self.empty() || self[0].is_meta()) return;
  bool finite = true;
  for (const Tensor& t : self) finite = finite && at::item(at::all(at::isfinite(t))).toBool();
  at::_foreach_mul_(self, at::item(inv_scale));
  if (!finite) at::fill_(found_inf, 1);
}

std::tuple<std::vector<Tensor>, Tensor> _amp_foreach_non_finite_check_and_unscale(TensorList self,
                                                                                  const Tensor& found_inf,
                                                                                  const Tensor& inv_scale) {
  std::vector<Tensor> gradients = copies(self);
  Tensor found = at::clone(found_inf);
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found, inv_scale);
  return {std::move(gradients), std::move(found)};
}

void _amp_foreach_non_finite_check_and_unscale_out(TensorList self, Tensor& found_inf, const Tensor& inv_scale,
                                                   TensorList out) {
  const auto [gradients, found] = at::_amp_foreach_non_finite_check_and_unscale(self, found_inf, inv_scale);
  structured::assign_out("_amp_foreach_non_finite_check_and_unscale", out, gradients);
  at::copy_(found_inf, found);
}

Tensor& _amp_update_scale_composed_(Tensor& self, Tensor& growth_tracker, const Tensor& found_inf,
                                    double scale_growth_factor, double scale_backoff_factor, int64_t growth_interval) {
  foreach::check_scale(self, growth_tracker, found_inf);
  if (self.is_meta()) return self;
  const double scale = at::item(self).toDouble();
  if (at::item(found_inf).toDouble() != 0) {
    at::fill_(self, scale * scale_backoff_factor);
    at::fill_(growth_tracker, 0);
    return self;
  }
  const int64_t successes = at::item(growth_tracker).toLong() + 1;
  if (successes == growth_interval) {
    const auto grown = static_cast<float>(scale * scale_growth_factor);
    if (std::isfinite(grown)) at::fill_(self, grown);
    at::fill_(growth_tracker, 0);
  } else {
    at::fill_(growth_tracker, successes);
  }
  return self;
}

Tensor& _amp_update_scale_cpu_(Tensor& self, Tensor& growth_tracker, const Tensor& found_inf, double scale_growth_factor,
                               double scale_backoff_factor, int64_t growth_interval) {
  return _amp_update_scale_composed_(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor,
                                     growth_interval);
}

std::tuple<Tensor, Tensor> _amp_update_scale(const Tensor& self, const Tensor& growth_tracker, const Tensor& found_inf,
                                             double scale_growth_factor, double scale_backoff_factor,
                                             int64_t growth_interval) {
  Tensor scale = at::clone(self), tracker = at::clone(growth_tracker);
  at::_amp_update_scale_(scale, tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval);
  return {std::move(scale), std::move(tracker)};
}

Tensor& _amp_update_scale_out(const Tensor& self, Tensor& growth_tracker, const Tensor& found_inf,
                              double scale_growth_factor, double scale_backoff_factor, int64_t growth_interval,
                              Tensor& out) {
  const auto [scale, tracker] = at::_amp_update_scale(self, growth_tracker, found_inf, scale_growth_factor,
                                                      scale_backoff_factor, growth_interval);
  structured::assign_out("_amp_update_scale", out, scale);
  at::copy_(growth_tracker, tracker);
  return out;
}

}  // namespace at::native
