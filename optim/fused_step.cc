#include "optim/fused_step.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"
#include "c10/util/complex.h"
#include "c10/util/exception.h"

namespace torch::optim {

namespace {

// Elements that are worth a thread: a step reads and writes several arrays.
constexpr int64_t kGrain = 16384;

bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && (a.strides() == b.strides() || (a.is_contiguous() && b.is_contiguous()));
}

at::Tensor in_layout_of(const at::Tensor& source, const at::Tensor& like) {
  at::Tensor copy = at::empty_like(like);
  at::copy_(copy, source);
  return copy;
}

}  // namespace

at::Tensor make_state_tensor(const at::Tensor& param, double value) {
  at::Tensor state = at::empty_like(param);
  // A complex parameter is stepped as pairs of reals: both parts begin with the value.
  at::fill_(state, param.is_complex() ? at::Scalar(c10::complex<double>(value, value)) : at::Scalar(value));
  return state;
}

size_t FusedParameters::add(at::Tensor& param, std::initializer_list<at::Tensor*> states) {
  Entry entry;
  entry.param = param;
  const at::Tensor& grad = param.grad();
  TORCH_CHECK(param.is_cpu(), "optimizer step: expected a parameter on the CPU, but got one on ", param.device());
  TORCH_CHECK(grad.device() == param.device(), "optimizer step: expected a gradient on ", param.device(), ", but got one on ",
              grad.device());
  TORCH_CHECK(grad.layout() == at::kStrided, "optimizer step: expected a dense gradient");
  TORCH_CHECK_TYPE(grad.scalar_type() == param.scalar_type(), "optimizer step: expected a gradient of type ",
                   c10::toString(param.scalar_type()), ", but got ", c10::toString(grad.scalar_type()));
  TORCH_CHECK(grad.sizes() == param.sizes(), "optimizer step: expected a gradient of size ", param.sizes(), ", but got ",
              grad.sizes());
  entry.working = param.is_non_overlapping_and_dense() ? param : at::contiguous(param);
  entry.grad = same_layout(grad, entry.working) ? grad : in_layout_of(grad, entry.working);
  entry.operands.data[0] = entry.working.mutable_data_ptr();
  entry.operands.data[1] = entry.grad.mutable_data_ptr();
  int k = 2;
  for (at::Tensor* state : states) {
    if (state != nullptr) {
      if (!state->defined()) {
        *state = make_state_tensor(entry.working);
      } else if (!same_layout(*state, entry.working)) {
        *state = in_layout_of(*state, entry.working);
      }
      entry.operands.data[static_cast<size_t>(k)] = state->mutable_data_ptr();
    }
    ++k;
  }
  entry.operands.numel = param.numel() * (param.is_complex() ? 2 : 1);
  entry.operands.dtype = c10::toRealValueType(param.scalar_type());
  entries_.push_back(std::move(entry));
  return entries_.size() - 1;
}

void FusedParameters::run(void (*step)(const void* context, size_t index, const FusedOperands& piece), const void* context) {
  // Where each parameter begins in the concatenation of all.
  std::vector<int64_t> begin(entries_.size() + 1, 0);
  for (size_t i = 0; i < entries_.size(); ++i) begin[i + 1] = begin[i] + entries_[i].operands.numel;
  at::parallel_for(0, begin.back(), kGrain, [&](int64_t b, int64_t e) {
    size_t i = 0;
    for (size_t step_size = entries_.size(); step_size > 0; step_size /= 2)
      while (i + step_size < entries_.size() && begin[i + step_size] <= b) i += step_size;
    for (; i < entries_.size() && begin[i] < e; ++i) {
      const FusedOperands& whole = entries_[i].operands;
      const int64_t from = b > begin[i] ? b - begin[i] : 0;
      const int64_t to = e < begin[i + 1] ? e - begin[i] : whole.numel;
      if (from >= to) continue;
      FusedOperands piece = whole;
      const int64_t offset = from * static_cast<int64_t>(c10::elementSize(whole.dtype));
      for (void*& p : piece.data)
        if (p != nullptr) p = static_cast<char*>(p) + offset;
      piece.numel = to - from;
      step(context, i, piece);
    }
  });
  for (Entry& entry : entries_) {
    if (entry.working.is_same(entry.param)) {
      entry.param.unsafeGetTensorImpl()->bump_version();
    } else {
      at::copy_(entry.param, entry.working);
    }
  }
}

}  // namespace torch::optim
