#include "aten/ops/foreach/fused_step.h"

#include <algorithm>

#include "aten/core/empty.h"
#include "aten/core/structured.h"
#include "aten/cpu/optimizer/optimizer_step.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/foreach/multi_tensor.h"
#include "c10/core/grad_mode.h"
#include "c10/parallel/parallel.h"

namespace at::foreach {
namespace {

// Elements that are worth a thread: a step reads and writes several arrays.
constexpr int64_t kGrain = 16384;

void check_like(const char* op, const char* what, const Tensor& t, const Tensor& param) {
  TORCH_CHECK(t.defined(), op, "(): expected ", what, " to be defined tensors");
  TORCH_CHECK_TYPE(t.scalar_type() == param.scalar_type(), op, "(): expected ", what, " of type ",
                   c10::toString(param.scalar_type()), ", but got ", c10::toString(t.scalar_type()));
  TORCH_CHECK(t.layout() == param.layout(), op, "(): expected ", what, " of layout ", param.layout(), ", but got ",
              t.layout());
  TORCH_CHECK(t.device() == param.device(), op, "(): expected ", what, " on ", param.device(), ", but got one on ",
              t.device());
  TORCH_CHECK(t.sizes() == param.sizes(), op, "(): expected ", what, " of size ", param.sizes(), ", but got ",
              t.sizes());
  if (t.is_inference()) structured::mark_written(t);
}

void check_length(const char* op, const char* what, TensorList list, TensorList self) {
  TORCH_CHECK(list.size() == self.size(), op, "(): expected ", self.size(), " tensors in ", what, ", but got ",
              list.size());
}

}  // namespace

void check_step(const char* op, TensorList self, TensorList grads, std::initializer_list<StateList> states) {
  check_length(op, "grads", grads, self);
  for (const StateList& state : states) {
    if (state.used) check_length(op, state.name, state.tensors, self);
  }
  for (size_t i = 0; i < self.size(); ++i) {
    const Tensor& param = self[i];
    TORCH_CHECK(param.defined(), op, "(): expected self to be defined tensors");
    const ScalarType dtype = toRealValueType(param.scalar_type());
    TORCH_CHECK_TYPE(dtype == ScalarType::Float || dtype == ScalarType::Double || dtype == ScalarType::Half ||
                         dtype == ScalarType::BFloat16,
                     op, "(): expected floating-point or complex parameters, but got ",
                     c10::toString(param.scalar_type()));
    TORCH_CHECK(param.layout() == kStrided, op, "(): expected dense parameters, but got one of layout ",
                param.layout());
    if (param.is_inference()) structured::mark_written(param);
    check_like(op, "grads", grads[i], param);
    for (const StateList& state : states) {
      if (state.used) check_like(op, state.name, state.tensors[i], param);
    }
  }
}

double number_in(const char* op, const char* name, const Tensor& t) {
  TORCH_CHECK(t.defined() && t.numel() == 1, op, "(): expected ", name, " of one element, but got ",
              t.defined() ? t.numel() : 0);
  TORCH_CHECK_NOT_IMPLEMENTED(!(t.requires_grad() && c10::GradMode::is_enabled()), op, "(): ", name,
                              " requires a gradient, but the step is not differentiable in it");
  return at::item(t).toDouble();
}

bool skips_step(const char* op, const std::optional<Tensor>& found_inf) {
  return found_inf.has_value() && found_inf->defined() && number_in(op, "found_inf", *found_inf) != 0;
}

StepTensors::StepTensors(const char* op, TensorList self, TensorList grads, std::initializer_list<StateList> states,
                         const std::optional<Tensor>& grad_scale) {
  check_step(op, self, grads, states);
  if (grad_scale.has_value() && grad_scale->defined()) {
    scale_ = number_in(op, "grad_scale", *grad_scale);
    scaled_ = true;
  }
  entries_.reserve(self.size());
  int64_t begin = 0;
  for (size_t i = 0; i < self.size(); ++i) {
    const Tensor& param = self[i];
    StepOperands& entry = entries_.emplace_back();
    entry.data[0] = run_of(param, param, true);
    entry.data[1] = run_of(grads[i], param, scaled_);
    size_t k = 2;
    for (const StateList& state : states) {
      if (state.used) entry.data[k] = run_of(state.tensors[i], param, true);
      ++k;
    }
    entry.begin = begin;
    entry.numel = param.numel() * (param.is_complex() ? 2 : 1);
    begin += entry.numel;
    entry.dtype = toRealValueType(param.scalar_type());
  }
}

// The memory of `t` in the order of the parameter's elements: its own, or that of a copy.
void* StepTensors::run_of(const Tensor& t, const Tensor& param, bool written) {
  if (is_run(t) && same_layout(t, param)) {
    return written ? t.mutable_data_ptr() : const_cast<void*>(t.const_data_ptr());
  }
  Tensor run = empty_with_strides(param.sizes(), strides_like(param), t.scalar_type());
  at::copy_(run, t);
  copies_.push_back({run, written ? t : Tensor()});
  return run.mutable_data_ptr();
}

void StepTensors::run_pieces(void (*step)(const void* context, size_t index, const StepOperands& piece),
                             const void* context) {
  const int64_t all = entries_.empty() ? 0 : entries_.back().begin + entries_.back().numel;
  at::parallel_for(0, all, kGrain, [&](int64_t b, int64_t e) {
    const auto after = std::upper_bound(entries_.begin(), entries_.end(), b,
                                        [](int64_t at, const StepOperands& entry) { return at < entry.begin; });
    for (auto i = static_cast<size_t>(after - entries_.begin()) - 1; i < entries_.size() && entries_[i].begin < e;
         ++i) {
      const int64_t from = std::max(b - entries_[i].begin, int64_t{0});
      const int64_t to = std::min(e - entries_[i].begin, entries_[i].numel);
      if (from >= to) continue;
      StepOperands piece = entries_[i];
      const int64_t offset = from * static_cast<int64_t>(c10::elementSize(piece.dtype));
      for (void*& p : piece.data) {
        if (p != nullptr) p = static_cast<char*>(p) + offset;
      }
      piece.numel = to - from;
      if (scaled_) cpu::unscale_gradient(piece.dtype, piece.data[1], piece.numel, scale_);
      step(context, i, piece);
    }
  });
  for (Copy& copy : copies_) {
    if (copy.to.defined()) at::copy_(copy.to, copy.from);
  }
}

}  // namespace at::foreach
