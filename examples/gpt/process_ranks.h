// What all kinds of ranks have that are the processes of the default group.
#pragma once

#include <exception>
#include <vector>

#include "distributed/process_group/init.h"
#include "examples/gpt/trainer.h"

namespace gpt {

// Calls the model for its loss, as modules that distribute others call them.
struct LossImpl : torch::nn::Module {
  explicit LossImpl(const Gpt& gpt) : model(register_module("model", gpt)) {}
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& targets) {
    return model->loss(tokens, targets);
  }
  Gpt model;
};
TORCH_MODULE(Loss);

// Derive from it, and say in take() and loss() how the ranks train. Leaves the group at the end.
class ProcessRanks : public Ranks {
 public:
  ProcessRanks() : group_(torch::distributed::get_default_group()) {}
  ~ProcessRanks() override {
    group_.reset();
    try {
      torch::distributed::destroy_process_group();
    } catch (const std::exception&) {
      // Whoever still waits is told by its own group.
    }
  }
  ProcessRanks(const ProcessRanks&) = delete;
  ProcessRanks& operator=(const ProcessRanks&) = delete;

  int64_t rank() const override { return group_->getRank(); }
  int64_t size() const override { return group_->getSize(); }
  double mean(double value) override { return sum(value) / static_cast<double>(size()); }
  bool any(bool here) override { return sum(here ? 1 : 0) > 0; }

 protected:
  const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }
  // Over all ranks.
  double sum(double value) {
    std::vector<torch::Tensor> all{torch::full({1}, value, torch::kDouble)};
    group_->allreduce(all)->wait();
    return all[0].item<double>();
  }

 private:
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
};

}  // namespace gpt
