#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "optim/optimizer.h"

// The parameters of a group as the lists that operators like at::_fused_adam_ take.
namespace torch::optim {

/// Parameters on one device that have a gradient, their gradients, and what the optimizer lists beside them.
struct StepLists {
  std::vector<at::Tensor> params, grads, state[3], counts;
  std::vector<OptimizerParamState*> states;
  std::vector<int64_t*> counters;
  bool recorded = false;  ///< by autograd: states are replaced, not written to

  /// The numbers of the parameters' next steps.
  std::vector<double> next_counts() const;
};

/// The lists of a step, device by device. Their memory is used again by the next step; what they refer to is let go
/// with the Step.
class StepScratch {
 public:
  class Step {
   public:
    explicit Step(StepScratch& scratch) : scratch_(scratch) {}
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { scratch_.clear(); }
    StepLists* begin() const { return scratch_.lists_.data(); }
    StepLists* end() const { return scratch_.lists_.data() + scratch_.used_lists_; }

   private:
    StepScratch& scratch_;
  };

  /// Lists all parameters that have a gradient. Throws for gradients that are not dense (in the name of `optimizer`) or
  /// lie elsewhere.
  Step list(const std::vector<at::Tensor>& params, const char* optimizer);
  /// lists.counts becomes the numbers of the next steps as tensors of one element; runs of equal numbers share one.
  void list_counts(StepLists& lists);

 private:
  void take(const std::vector<at::Tensor>& params, const char* optimizer);
  StepLists& lists_of(at::Device device);
  void add_count(StepLists& lists, int64_t count);
  void clear();

  std::vector<StepLists> lists_;
  size_t used_lists_ = 0;
  std::vector<at::Tensor> counts_;
  size_t used_counts_ = 0;
  int64_t last_count_ = -1;
};

/// A tensor like `param`, filled with `value`: both parts of a complex one, which is stepped as pairs of reals.
at::Tensor make_state_tensor(const at::Tensor& param, double value = 0);

/// The tensors, complex ones as pairs of reals.
std::vector<at::Tensor> as_reals(const std::vector<at::Tensor>& list);

/// The gradients with the sign of the step and, where it is part of them, the weight decay. `params` are reals.
std::vector<at::Tensor> step_gradients(const StepLists& lists, const std::vector<at::Tensor>& params, bool maximize,
                                       double weight_decay);

namespace detail {
at::Tensor copy_of(const at::Tensor& tensor);
}  // namespace detail

/// Throws where steps are captured on the device, which would not count them when they are replayed.
void check_not_captured(at::Device device, const char* optimizer);

bool any_sparse_gradient(const std::vector<at::Tensor>& params);
[[noreturn]] void refuse_sparse_gradient(const char* optimizer);

/// An optimizer whose step is a function of lists: all parameters of a group on one device, their gradients and states.
/// A class derives from it and says update(), and for gradients of rows, sparse ones among them, update_rows().
template <class Options, class State>
class ListOptimizer : public Optimizer {
 public:
  explicit ListOptimizer(const std::vector<OptimizerParamGroup>& param_groups, Options defaults = {})
      : Optimizer(param_groups, std::make_unique<Options>(defaults)) {
    defaults.check();
  }
  explicit ListOptimizer(std::vector<at::Tensor> params, Options defaults = {})
      : Optimizer(std::move(params), std::make_unique<Options>(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override {
    return run_step(closure, [this](OptimizerParamGroup& group) {
      const Options& options = static_cast<const Options&>(group.options());
      if (!has_row_gradients() && !any_sparse_gradient(group.params())) return update_listed(group.params(), options);
      // Of a parameter with a gradient of rows that one counts alone.
      std::vector<at::Tensor> dense;
      for (const at::Tensor& param : group.params()) {
        const RowGradient rows = row_gradient(param);
        if (rows.indices.defined()) {
          update_rows(rows, options);
        } else {
          dense.push_back(param);
        }
      }
      update_listed(dense, options);
    });
  }

  bool step_supports_amp_scaling() const override {
    if constexpr (requires(const Options& options) { options.fused(); }) {
      return static_cast<const Options&>(defaults()).fused().value_or(false);
    } else {
      return false;
    }
  }

 protected:
  /// For messages.
  virtual const char* name() const = 0;
  virtual void update(StepLists& lists, const Options& options) = 0;
  virtual void update_rows(const RowGradient& /*rows*/, const Options& /*options*/) { refuse_sparse_gradient(name()); }

  std::unique_ptr<OptimizerParamState> make_state() const override { return std::make_unique<State>(); }

  /// The states of the listed parameters; with `counted` their steps are counted.
  void list_states(StepLists& lists, bool counted = true) {
    if (counted) check_not_captured(lists.params[0].device(), name());
    for (const at::Tensor& param : lists.params) {
      State& state = state_of<State>(param);
      lists.states.push_back(&state);
      if constexpr (requires { state.step(); }) {
        if (counted) lists.counters.push_back(&state.step());
      }
    }
  }
  /// A tensor of each listed state, made where it is missing.
  const std::vector<at::Tensor>& take(StepLists& lists, size_t place, at::Tensor& (State::*field)() noexcept,
                                      double value = 0) {
    for (size_t i = 0; i < lists.params.size(); ++i) {
      at::Tensor& tensor = (static_cast<State&>(*lists.states[i]).*field)();
      if (!tensor.defined()) {
        tensor = make_state_tensor(lists.params[i], value);
      } else if (lists.recorded) {
        tensor = detail::copy_of(tensor);
      }
      lists.state[place].push_back(tensor);
    }
    return lists.state[place];
  }
  static State& state_at(const StepLists& lists, size_t i) { return static_cast<State&>(*lists.states[i]); }

  StepScratch scratch_;

 private:
  void update_listed(const std::vector<at::Tensor>& params, const Options& options) {
    for (StepLists& lists : scratch_.list(params, name())) {
      lists.recorded = options.records_steps();
      update(lists, options);
      if (lists.counters.empty() || found_inf()) continue;
      // Counted only now, when nothing can throw any more for a bad gradient.
      for (int64_t* counter : lists.counters) *counter = next_count(*counter);
    }
  }
};

}  // namespace torch::optim
