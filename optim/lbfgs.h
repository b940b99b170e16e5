#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "optim/line_search.h"
#include "optim/options.h"

namespace torch::optim {

/// Settings of LBFGS. `max_iter` iterations and `max_eval` calls of the closure (by default a quarter more than
/// iterations) a step at most; it ends where no gradient element is larger than `tolerance_grad`, or the parameters or
/// the loss change by `tolerance_change` at most. `line_search_fn` is nothing or "strong_wolfe".
struct LBFGSOptions : public LrOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1) : LrOptions(lr) {}
  TORCH_ARG(int64_t, max_iter) = 20;
  TORCH_ARG(std::optional<int64_t>, max_eval) = std::nullopt;
  TORCH_ARG(double, tolerance_grad) = 1e-7;
  TORCH_ARG(double, tolerance_change) = 1e-9;
  TORCH_ARG(int64_t, history_size) = 100;
  TORCH_ARG(std::optional<std::string>, line_search_fn) = std::nullopt;
  TORCH_ARG(bool, maximize) = false;

 public:
  void visit(FieldVisitor& visitor) override;
  void check() const override;
};

/// All parameters as one vector; kept as the state of the first one.
struct LBFGSParamState : public OptimizerCloneableParamState<LBFGSParamState> {
  TORCH_ARG(int64_t, func_evals) = 0;
  TORCH_ARG(int64_t, n_iter) = 0;
  TORCH_ARG(double, t) = 0;
  TORCH_ARG(double, prev_loss) = 0;
  TORCH_ARG(at::Tensor, d) = {};
  TORCH_ARG(at::Tensor, H_diag) = {};
  TORCH_ARG(at::Tensor, prev_flat_grad) = {};
  TORCH_ARG(std::deque<at::Tensor>, old_dirs);
  TORCH_ARG(std::deque<at::Tensor>, old_stps);
  TORCH_ARG(std::deque<at::Tensor>, ro);
  TORCH_ARG(std::optional<std::vector<at::Tensor>>, al) = std::nullopt;

 public:
  void visit(FieldVisitor& visitor) override;
  friend bool operator==(const LBFGSParamState& a, const LBFGSParamState& b) { return same_fields(a, b); }
};
TORCH_OPTIM_CLASSES_OF(extern, LBFGS)

/// The quasi-Newton method of Broyden, Fletcher, Goldfarb and Shanno with limited memory. It needs a closure, which it
/// calls several times a step, and returns the loss of the first call. One group of parameters (else ValueError),
/// complex ones as pairs of reals.
///
///   torch::optim::LBFGS lbfgs(net->parameters(), torch::optim::LBFGSOptions(1).line_search_fn("strong_wolfe"));
///   lbfgs.step([&] {
///     lbfgs.zero_grad();
///     at::Tensor loss = compute_loss();
///     loss.backward();
///     return loss;
///   });
class LBFGS : public Optimizer {
 public:
  explicit LBFGS(const std::vector<OptimizerParamGroup>& param_groups, LBFGSOptions defaults = {});
  explicit LBFGS(std::vector<at::Tensor> params, LBFGSOptions defaults = {});

  at::Tensor step(LossClosure closure) override;

 protected:
  std::unique_ptr<OptimizerParamState> make_state() const override { return std::make_unique<LBFGSParamState>(); }

 private:
  at::Tensor iterate(const LossClosure& closure);
  void set_direction(LBFGSParamState& state, const at::Tensor& flat_grad) const;
  at::Tensor gather_flat_grad() const;
  double call(const LossClosure& closure, at::Tensor* loss = nullptr) const;
  void add_direction(double t, const at::Tensor& direction);
  /// The loss at start + t * direction; the parameters are at `start` again then.
  LinePoint evaluate(const LossClosure& closure, const std::vector<at::Tensor>& start, const at::Tensor& direction,
                     double t);
  const std::vector<at::Tensor>& params() const { return param_groups_.at(0).params(); }
  const LBFGSOptions& options() const { return static_cast<const LBFGSOptions&>(param_groups_.at(0).options()); }
};

}  // namespace torch::optim
