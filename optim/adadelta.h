#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of Adadelta. ValueError unless rho lies in [0, 1] and all numbers are >= 0.
struct AdadeltaOptions : public StepOptions<AdadeltaOptions> {
  AdadeltaOptions(double lr = 1.0) : StepOptions(lr) {}
  TORCH_ARG(double, rho) = 0.9;
  TORCH_ARG(double, eps) = 1e-6;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(bool, capturable) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

struct AdadeltaParamState : public OptimizerCloneableParamState<AdadeltaParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, square_avg);
  TORCH_ARG(at::Tensor, acc_delta);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const AdadeltaParamState& a, const AdadeltaParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, Adadelta)

/// Adadelta (Zeiler, 2012): steps in the ratio of the running sizes of past steps and of gradients,
///   v = rho v + (1 - rho) g^2,  d = sqrt(u + eps) / sqrt(v + eps) g,  u = rho u + (1 - rho) d^2,  p -= lr d.
class Adadelta : public ListOptimizer<AdadeltaOptions, AdadeltaParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "Adadelta"; }
  void update(StepLists& lists, const AdadeltaOptions& options) override;
};

}  // namespace torch::optim
