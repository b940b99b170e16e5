// What modules on quantized tensors share: a scale and a zero point of the result, and their state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"
#include "c10/value/ivalue.h"
#include "nn/module/cloneable.h"
#include "nn/module/module_holder.h"

namespace torch::nn::quantized {

/// A module whose state is more than parameters and buffers: values under PyTorch's names, tensors or others.
class StatefulLayer : public virtual Module {
 public:
  StatefulLayer();
  c10::IValue get_extra_state() const override;
  void set_extra_state(const c10::IValue& state) override;

 protected:
  using Parts = std::vector<std::pair<std::string, c10::IValue>>;
  /// What the layer keeps, in PyTorch's order.
  virtual Parts parts() const = 0;
  /// Values of those names, all of them or some, that fit what parts() gave: tensors of its sizes, tuples of as many.
  virtual void set_parts(const Parts& parts) = 0;
};

/// One whose result has a scale and a zero point, "scale" (float) and "zero_point" (int64) of its state.
class QuantizedLayer : public StatefulLayer {
 public:
  double scale;
  int64_t zero_point;

 protected:
  /// Throws ValueError for a scale that is not positive and finite.
  QuantizedLayer(double scale, int64_t zero_point);
  Parts parts() const override;
  void set_parts(const Parts& parts) override;
  /// "scale=0.5, zero_point=3"
  std::string qparams_text() const;
};

namespace detail {
/// Calls an operator by its name, and gives its results.
std::vector<c10::IValue> call(const std::string& name, const std::string& overload, c10::Stack stack);
at::Tensor call_for_tensor(const c10::OperatorHandle& op, c10::Stack stack);
c10::OperatorHandle find_operator(const std::string& name, const std::string& overload = "");
/// None for an undefined tensor, and the other way round.
c10::IValue maybe(const at::Tensor& t);
at::Tensor tensor_or_none(const c10::IValue& v);
/// A copy without gradient, undefined where `t` is.
at::Tensor constant(const at::Tensor& t);
/// As Python prints it: enough digits to read the same number.
std::string float_text(double number);
/// "(3, 3)"
std::string list_text(at::IntArrayRef list);
}  // namespace detail

}  // namespace torch::nn::quantized

namespace torch::ao {
namespace nn = torch::nn;
}  // namespace torch::ao
