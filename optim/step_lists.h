#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aten/core/tensor.h"
#include "optim/state_dict.h"

// The parameters of a group as the lists that operators like at::_fused_adam_ take.
namespace torch::optim {

/// Parameters on one device that have a gradient, their gradients, and what the optimizer lists beside them.
struct StepLists {
  std::vector<at::Tensor> params, grads, state[3], counts;
  std::vector<int64_t*> counters;
};

/// The lists of a step, device by device. Their memory is used again by the next step; what they refer to is let go with the
/// Step.
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

  /// Lists all parameters that have a gradient. Throws for gradients that are not dense or lie elsewhere.
  Step list(const std::vector<at::Tensor>& params);
  /// Adds the number of a parameter's next step, next_count(`counter`), as a tensor of one element to lists.counts; runs of
  /// equal numbers share one.
  void add_count(StepLists& lists, int64_t& counter);
  /// The step is made: counts it.
  static void count(StepLists& lists) {
    for (int64_t* counter : lists.counters) *counter = next_count(*counter);
  }

 private:
  void take(const std::vector<at::Tensor>& params);
  StepLists& lists_of(at::Device device);
  void clear();

  std::vector<StepLists> lists_;
  size_t used_lists_ = 0;
  std::vector<at::Tensor> counts_;
  size_t used_counts_ = 0;
  int64_t last_count_ = -1;
};

/// A tensor like `param`, filled with `value`: both parts of a complex one, which is stepped as pairs of reals.
at::Tensor make_state_tensor(const at::Tensor& param, double value = 0);

}  // namespace torch::optim
