#pragma once

#include "optim/options.h"
#include "optim/step_lists.h"

namespace torch::optim {

/// Settings of Muon. `adjust_lr_fn` scales the rate with a matrix of A x B: "original" (the default) by sqrt(max(1, A /
/// B)), "match_rms_adamw" by 0.2 sqrt(max(A, B)), "spectral_unclamped" by sqrt(A / B). ValueError for another one, for
/// negative lr, momentum, weight_decay, and for 100 ns_steps or more.
struct MuonOptions : public LrOptions<MuonOptions> {
  MuonOptions(double lr = 1e-3) : LrOptions(lr) {}
  TORCH_ARG(double, weight_decay) = 0.1;
  TORCH_ARG(double, momentum) = 0.95;
  TORCH_ARG(bool, nesterov) = true;
  TORCH_ARG(FieldVisitor::Coefficients, ns_coefficients) = std::make_tuple(3.4445, -4.7750, 2.0315);
  TORCH_ARG(double, eps) = 1e-7;
  TORCH_ARG(int64_t, ns_steps) = 5;
  TORCH_ARG(std::optional<std::string>, adjust_lr_fn);

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
  void check_parameter(const at::Tensor& parameter) const override;
};

struct MuonParamState : public OptimizerCloneableParamState<MuonParamState> {
  TORCH_ARG(at::Tensor, momentum_buffer);

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const MuonParamState& a, const MuonParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, Muon)

/// Muon (Jordan et al., 2024): steps along the momentum made orthogonal by a Newton-Schulz iteration in bfloat16. For
/// the matrices of hidden layers: parameters of other than two dimensions are a ValueError.
class Muon : public ListOptimizer<MuonOptions, MuonParamState> {
 public:
  using ListOptimizer::ListOptimizer;

 protected:
  const char* name() const override { return "Muon"; }
  void update(StepLists& lists, const MuonOptions& options) override;
};

}  // namespace torch::optim
