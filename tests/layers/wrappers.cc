#include "tests/layers/wrappers.h"

#include <set>

#include "aten/ops/copy/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/thread_state.h"

namespace layers {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;

// What a wrapper does inside is nobody's gradient.
Tensor whole_of(const HalvesTensor& t) {
  return at::cat({t.first(), t.second()});
}

const std::set<std::string>& element_wise() {
  static const std::set<std::string> names{"aten::add.Tensor",  "aten::add_.Tensor", "aten::sub.Tensor", "aten::mul.Tensor",
                                           "aten::mul.Scalar",  "aten::mul_.Scalar", "aten::neg",        "aten::exp",
                                           "aten::tanh",        "aten::relu",        "aten::sigmoid",    "aten::detach",
                                           "aten::clone",       "aten::div.Tensor",  "aten::alias",      "aten::ones_like",
                                           "aten::zeros_like",  "aten::copy_",
                                           "aten::add.out",     "aten::empty_like",  "aten::mul_.Tensor",
                                           "aten::sub_.Tensor", "aten::add_.Scalar"};
  return names;
}

// The arguments with half `which` of every tensor in place of it; false where one cannot be halved alike.
bool take_halves(const Stack& from, const HalvesTensor& like, bool second, Stack* to) {
  for (const IValue& value : from) {
    if (!value.isTensor()) {
      to->push_back(value);
      continue;
    }
    const Tensor t = value.toTensor();
    if (const auto* wrapper = at::wrapper_of<HalvesTensor>(t)) {
      to->push_back(second ? wrapper->second() : wrapper->first());
    } else if (t.dim() == 0) {
      to->push_back(t);
    } else if (t.sizes() == like.sizes()) {
      const int64_t half = t.size(0) / 2;
      to->push_back(at::narrow(t, 0, second ? half : 0, half));
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::string>& LoggingTensor::log() {
  static std::vector<std::string>& instance = *new std::vector<std::string>;
  return instance;
}

void LoggingTensor::handle(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) const {
  log().push_back(toString(op.operator_name()));
  at::transform_tensors(*stack, [](const Tensor& t) {
    const auto* wrapper = at::wrapper_of<LoggingTensor>(t);
    return wrapper != nullptr ? wrapper->inner() : t;
  });
  op.callBoxed(*stack);
  at::transform_tensors(*stack, [](const Tensor& t) { return logging(t); });
}

c10::intrusive_ptr<c10::TensorImpl> LoggingTensor::shallow_copy() const {
  auto copy = c10::make_intrusive<LoggingTensor>(inner_);
  copy->copy_metadata_from(*this);
  return copy;
}

void LoggingTensor::shallow_copy_from(const c10::TensorImpl& other) {
  WrapperTensorImpl::shallow_copy_from(other);
  inner_ = static_cast<const LoggingTensor&>(other).inner_;
}

Tensor logging(const Tensor& t) { return t.defined() ? Tensor(c10::make_intrusive<LoggingTensor>(t)) : t; }

HalvesTensor::HalvesTensor(Tensor first, Tensor second)
    : WrapperTensorImpl(
          first.scalar_type(), first.device(),
          [&] {
            c10::DimVector sizes(first.sizes().begin(), first.sizes().end());
            sizes[0] *= 2;
            return sizes;
          }(),
          [&] {
            c10::DimVector strides(first.dim());
            int64_t step = 1;
            for (int64_t d = first.dim() - 1; d >= 0; --d) {
              strides[d] = step;
              step *= d == 0 ? 1 : first.size(d);
            }
            return strides;
          }()),
      first_(std::move(first)),
      second_(std::move(second)) {}

int& HalvesTensor::done_on_halves() {
  static int count = 0;
  return count;
}

void HalvesTensor::handle(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) const {
  Stack a, b;
  const bool alike = element_wise().count(toString(op.operator_name())) > 0;
  if (alike && take_halves(*stack, *this, false, &a) && take_halves(*stack, *this, true, &b)) {
    ++done_on_halves();
    op.callBoxed(a);
    op.callBoxed(b);
    *stack = {IValue(Tensor(c10::make_intrusive<HalvesTensor>(a[0].toTensor(), b[0].toTensor())))};
    return;
  }
  TORCH_CHECK(!op.schema().is_mutable(), toString(op.operator_name()), ": halves cannot be written to by this operator");
  at::transform_tensors(*stack, [](const Tensor& t) {
    const auto* wrapper = at::wrapper_of<HalvesTensor>(t);
    return wrapper != nullptr ? whole_of(*wrapper) : t;
  });
  op.callBoxed(*stack);
}

c10::intrusive_ptr<c10::TensorImpl> HalvesTensor::shallow_copy() const {
  auto copy = c10::make_intrusive<HalvesTensor>(first_, second_);
  copy->copy_metadata_from(*this);
  return copy;
}

Tensor halves(const Tensor& t) {
  const int64_t half = t.size(0) / 2;
  return Tensor(c10::make_intrusive<HalvesTensor>(at::clone(at::narrow(t, 0, 0, half)), at::clone(at::narrow(t, 0, half, half))));
}

Tensor unwrapped(const Tensor& t) {
  if (const auto* wrapper = at::wrapper_of<LoggingTensor>(t)) return wrapper->inner();
  if (const auto* wrapper = at::wrapper_of<HalvesTensor>(t)) return whole_of(*wrapper);
  return t;
}

}  // namespace layers
