#include "examples/gpt/fully_sharded.h"

#include "distributed/fsdp/full_state_dict.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/init_device_mesh.h"
#include "examples/gpt/process_ranks.h"

namespace gpt {
namespace {

namespace fsdp = torch::distributed::fsdp;

class FullySharded final : public ProcessRanks {
 public:
  void check(const RunSettings& settings) const override {
    TORCH_CHECK_VALUE(settings.dtype != "fp16", "dtype=fp16 is not for --parallel=fsdp");
  }
  void take(Gpt& model) override {
    // All ranks made it from one seed.
    const auto mesh = torch::distributed::init_device_mesh(torch::kCPU, {size()});
    for (const Block& block : model->layers()) fsdp::fully_shard(block, {mesh});
    loss_ = Loss(model);
    fsdp::fully_shard(loss_, {mesh});
  }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    return loss_(tokens, targets);
  }
  bool is_sharded() const override { return true; }
  void save(const torch::serialize::Checkpoint& checkpoint, const std::string& path) override {
    const fsdp::FullStateDict of_model(*checkpoint.model), of_optimizer(*checkpoint.optimizer);
    if (rank() == 0) return save_checkpoint(checkpoint, path);
    // What rank 0 does, but for the file.
    checkpoint.model->state_dict();
    checkpoint.optimizer->state_dict();
  }
  void load(torch::serialize::Checkpoint& checkpoint, const std::string& path) override {
    const fsdp::FullStateDict of_optimizer(*checkpoint.optimizer);
    const torch::distributed::tensor::ImplicitReplication whole_in_the_file;
    load_checkpoint(checkpoint, path);
  }

 private:
  Loss loss_{nullptr};
};

}  // namespace

std::unique_ptr<Ranks> fully_sharded_ranks() {
  return std::make_unique<FullySharded>();
}

}  // namespace gpt
