// What all kinds of ranks have that are the processes of the default group.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "distributed/process_group/init.h"
#include "examples/gpt/shared_checkpoint.h"
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
  void save(const torch::serialize::Checkpoint& checkpoint, const std::string& path) final {
    is_shared(path) ? save_shared(checkpoint, path) : save_file(checkpoint, path);
  }
  void load(torch::serialize::Checkpoint& checkpoint, const std::string& path) final {
    is_shared(path) ? load_shared(checkpoint, path) : load_file(checkpoint, path);
  }
  void read_values(torch::serialize::Checkpoint& checkpoint, const std::string& path) final {
    gpt::read_values(checkpoint, path);
  }

 protected:
  // The whole model, in rank 0's file.
  virtual void save_file(const torch::serialize::Checkpoint& checkpoint, const std::string& path) {
    save_checkpoint(checkpoint, path);
  }
  virtual void load_file(torch::serialize::Checkpoint& checkpoint, const std::string& path) {
    load_checkpoint(checkpoint, path);
  }
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
