#pragma once

#include <string>
#include <vector>

#include "aten/core/wrapper_tensor.h"

namespace layers {

// Holds one tensor, and logs every operator.
class LoggingTensor final : public at::WrapperTensorImpl {
 public:
  explicit LoggingTensor(at::Tensor inner) : WrapperTensorImpl(inner), inner_(std::move(inner)) {}
  const at::Tensor& inner() const { return inner_; }

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) const override;
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "LoggingTensor"; }

  // "aten::add.Tensor", in the order of the calls.
  static std::vector<std::string>& log();

 private:
  at::Tensor inner_;
};

at::Tensor logging(const at::Tensor& t);

// Holds a tensor as two halves along its first dimension. Operators that work element by element are done on the halves, all
// others on the whole, whose result is no wrapper.
class HalvesTensor final : public at::WrapperTensorImpl {
 public:
  HalvesTensor(at::Tensor first, at::Tensor second);
  const at::Tensor& first() const { return first_; }
  const at::Tensor& second() const { return second_; }

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) const override;
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  const char* kind() const override { return "HalvesTensor"; }

  // How many operators were done on the halves.
  static int& done_on_halves();

 private:
  at::Tensor first_;
  at::Tensor second_;
};

// `t` has an even first dimension.
at::Tensor halves(const at::Tensor& t);

// The plain tensor that a wrapper stands for; other tensors are what they are.
at::Tensor unwrapped(const at::Tensor& t);

}  // namespace layers
