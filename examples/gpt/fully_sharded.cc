#include "examples/gpt/fully_sharded.h"

#include "distributed/fsdp/clip_grad.h"
#include "distributed/fsdp/full_state_dict.h"
#include "distributed/fsdp/fully_shard.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/init_device_mesh.h"

namespace gpt {

namespace fsdp = torch::distributed::fsdp;

void FullySharded::check(const RunSettings& settings) const {
  TORCH_CHECK_VALUE(settings.dtype != "fp16", "dtype=fp16 is not for --parallel=fsdp or 2d");
}

void FullySharded::take(Gpt& model) {
  shard(model, torch::distributed::init_device_mesh(torch::kCPU, {size()}));
}

// All ranks made it from one seed.
void FullySharded::shard(Gpt& model, const torch::distributed::tensor::DeviceMesh& mesh) {
  for (const Block& block : model->layers()) fsdp::fully_shard(block, {mesh});
  loss_ = Loss(model);
  fsdp::fully_shard(loss_, {mesh});
}

torch::Tensor FullySharded::loss(const torch::Tensor& tokens, const torch::Tensor& targets) {
  return loss_(tokens, targets);
}

void FullySharded::clip_gradients(const std::vector<torch::Tensor>& parameters, double max_norm) {
  fsdp::clip_grad_norm_(parameters, max_norm);
}

void FullySharded::save_file(const torch::serialize::Checkpoint& checkpoint, const std::string& path) {
  const fsdp::FullStateDict of_model(*checkpoint.model), of_optimizer(*checkpoint.optimizer);
  if (rank() == 0) return save_checkpoint(checkpoint, path);
  // What rank 0 does, but for the file.
  checkpoint.model->state_dict();
  checkpoint.optimizer->state_dict();
}

void FullySharded::load_file(torch::serialize::Checkpoint& checkpoint, const std::string& path) {
  const fsdp::FullStateDict of_optimizer(*checkpoint.optimizer);
  const torch::distributed::tensor::ImplicitReplication whole_in_the_file;
  load_checkpoint(checkpoint, path);
}

std::unique_ptr<Ranks> fully_sharded_ranks() {
  return std::make_unique<FullySharded>();
}

}  // namespace gpt
