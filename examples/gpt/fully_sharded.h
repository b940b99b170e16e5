// Ranks that have a part of every parameter each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/tensor/device_mesh.h"
#include "examples/gpt/process_ranks.h"

namespace gpt {

// Parameters, gradients and optimizer state spread over the ranks: each computes all layers for its part of the batch,
// and has a block's parameters only while it computes that block.
class FullySharded : public ProcessRanks {
 public:
  void check(const RunSettings& settings) const override;
  void take(Gpt& model) override;
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override;
  void clip_gradients(const std::vector<torch::Tensor>& parameters, double max_norm) override;
  bool is_sharded() const override { return true; }

 protected:
  void save_file(const torch::serialize::Checkpoint& checkpoint, const std::string& path) override;
  void load_file(torch::serialize::Checkpoint& checkpoint, const std::string& path) override;
  // Over the ranks of a mesh of one dimension.
  void shard(Gpt& model, const torch::distributed::tensor::DeviceMesh& mesh);

 private:
  Loss loss_{nullptr};
};

// The ranks of the default group.
std::unique_ptr<Ranks> fully_sharded_ranks();

}  // namespace gpt
