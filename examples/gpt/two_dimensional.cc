#include "examples/gpt/two_dimensional.h"

#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/init_device_mesh.h"
#include "distributed/tensor/parallel/loss_parallel.h"
#include "examples/gpt/fully_sharded.h"
#include "examples/gpt/tensor_parallel.h"

namespace gpt {
namespace {

namespace tensor = torch::distributed::tensor;

tensor::DeviceMesh mesh_of(int64_t ranks, int64_t columns) {
  TORCH_CHECK_VALUE(columns > 0 && ranks % columns == 0, "--tensor_parallel=", columns, " does not divide the ", ranks,
                    " ranks");
  return tensor::init_device_mesh(torch::kCPU, {ranks / columns, columns}, {"dp", "tp"});
}

class TwoDimensional final : public FullySharded {
 public:
  explicit TwoDimensional(int64_t columns) : mesh_(mesh_of(size(), columns)) {}

  int64_t parts_of_batch() const override { return mesh_.size(0); }
  int64_t part_of_batch() const override { return mesh_.get_local_rank("dp"); }

  void check(const RunSettings& settings) const override {
    FullySharded::check(settings);
    TORCH_CHECK_VALUE(settings.model.heads % mesh_.size(1) == 0, "heads=", settings.model.heads,
                      " is no multiple of --tensor_parallel=", mesh_.size(1));
  }

  void take(Gpt& model) override {
    tensor::parallel::parallelize_module(model, mesh_["tp"], tensor_parallel_plan());
    shard(model, mesh_["dp"]);
  }

  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    const auto guard = tensor::parallel::loss_parallel();
    return tensor::DTensor(FullySharded::loss(tokens, targets)).to_local();
  }

 private:
  tensor::DeviceMesh mesh_;
};

}  // namespace

std::unique_ptr<Ranks> two_dimensional_ranks(int64_t tensor) {
  return std::make_unique<TwoDimensional>(tensor);
}

}  // namespace gpt
