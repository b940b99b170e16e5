#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"

// What the fused optimizer steps share: the checks, and all tensors of a call in one parallel region. Complex tensors
// are stepped as pairs of reals.

namespace at::foreach {

/// One state of a step: a tensor for each parameter, of its size and dtype. Unused lists may have any length.
struct StateList {
  const char* name;
  TensorList tensors;
  bool used = true;
};

/// Throws for lists of different lengths, for parameters that are not floating-point or complex, and for gradients and
/// states of another size, dtype, device or layout than their parameter, before anything is written.
void check_step(const char* op, TensorList self, TensorList grads, std::initializer_list<StateList> states);
/// Whether the step is to be left out: `found_inf` is there and not 0.
bool skips_step(const char* op, const std::optional<Tensor>& found_inf);
/// One number of a tensor of one element. Throws where the call records a gradient of it, which would be lost.
double number_in(const char* op, const char* name, const Tensor& t);

/// What the scaling of gradients takes: numbers are Floats of one element (the tracker an Int), gradients dense and
/// floating-point.
void check_scaled_gradients(TensorList grads, const Tensor& found_inf, const Tensor& inv_scale);
void check_scale(const Tensor& scale, const Tensor& growth_tracker, const Tensor& found_inf);

/// A parameter with its gradient and state, as operands of aten/cpu/optimizer: [parameter, gradient, state...], null
/// where a state is not used.
struct StepOperands {
  static constexpr size_t kMax = 5;
  std::array<void*, kMax> data{};
  int64_t begin = 0;  // of its first element, counted over all parameters
  int64_t numel = 0;
  ScalarType dtype = ScalarType::Float;
};

/// The tensors of one step on the CPU, checked and brought to runs of memory.
class StepTensors {
 public:
  /// `grad_scale`: gradients are divided by it, in place.
  StepTensors(const char* op, TensorList self, TensorList grads, std::initializer_list<StateList> states,
              const std::optional<Tensor>& grad_scale);

  /// Calls step(index, operands) on pieces of all parameters, in parallel. What is computed for an element may not
  /// depend on how the parameters are cut.
  template <class Step>
  void run(const Step& step) {
    run_pieces([](const void* context, size_t index,
                  const StepOperands& piece) { (*static_cast<const Step*>(context))(index, piece); },
               &step);
  }

 private:
  struct Copy {
    Tensor from, to;
  };
  void* run_of(const Tensor& t, const Tensor& param, bool written);
  void run_pieces(void (*step)(const void* context, size_t index, const StepOperands& piece), const void* context);

  std::vector<StepOperands> entries_;
  std::vector<Copy> copies_;  // of tensors in another layout; `to` is undefined where they are only read
  double scale_ = 1;
  bool scaled_ = false;
};

}  // namespace at::foreach
