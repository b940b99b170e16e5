#include "examples/gpt/tensor_parallel.h"

#include <string>
#include <utility>
#include <vector>

#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/parallel/loss_parallel.h"
#include "distributed/tensor/parallel/style.h"
#include "examples/gpt/process_ranks.h"

namespace gpt {
namespace {

namespace tensor = torch::distributed::tensor;
namespace parallel = torch::distributed::tensor::parallel;

// A parameter as this rank's part of one that is whole; its gradient is whole, too.
class PartOf final : public torch::nn::TensorRule {
 public:
  PartOf(torch::Tensor whole, tensor::SpecPtr spec) : whole_(std::move(whole)), spec_(std::move(spec)) {}
  torch::Tensor compute(torch::nn::Module&, const std::string&) const override {
    const std::vector<tensor::Placement> replicated(spec_->placements().size());
    return tensor::DTensor::from_local(whole_, spec_->mesh(), replicated).redistribute(spec_->placements());
  }

 private:
  torch::Tensor whole_;
  tensor::SpecPtr spec_;
};

class TensorParallel final : public ProcessRanks {
 public:
  int64_t parts_of_batch() const override { return 1; }

  void take(Gpt& model) override {
    TORCH_CHECK_VALUE(model->options().heads % size() == 0, "heads=", model->options().heads, " is no multiple of the ",
                      size(), " ranks");
    for (const torch::Tensor& p : model->parameters()) {
      std::vector<torch::Tensor> tensors{p.detach()};
      group()->broadcast(tensors)->wait();
    }
    const auto mesh = tensor::DeviceMesh::from_group(group(), model->parameters()[0].device().type(), "tp");
    {
      // Its first weights are not used; the numbers drawn for them are drawn again.
      torch::Generator generator = at::detail::getDefaultCPUGenerator();
      const torch::Tensor state = generator.get_state();
      parallel_ = Gpt(model->options());
      generator.set_state(state);
    }
    parallel::parallelize_module(parallel_, mesh, tensor_parallel_plan());
    const auto wholes = model->named_parameters();
    for (const auto& item : parallel_->named_parameters()) {
      const size_t dot = item.key().rfind('.');
      torch::nn::Module& owner = *parallel_->get_submodule(item.key().substr(0, dot));
      const std::string name = item.key().substr(dot + 1);
      const torch::Tensor& whole = wholes[item.key()];
      if (tensor::DTensor::is(item.value())) {
        const auto spec = tensor::DTensor(item.value()).spec();
        torch::nn::compute_tensor(owner, name, std::make_shared<const PartOf>(whole, spec));
      } else {
        torch::nn::tensor_member(owner, name) = owner.replace_parameter(name, whole);
      }
    }
  }

  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    const auto guard = parallel::loss_parallel();
    const tensor::DTensor mean(parallel_->loss(tokens, targets));
    return mean.to_local();
  }
  double mean(double value) override { return value; }

 private:
  Gpt parallel_{nullptr};
};

}  // namespace

parallel::ParallelizePlan tensor_parallel_plan() {
  // Attention goes over distributed tensors, whose heads are sharded and whose dropout is that of one process.
  const parallel::LinearStyleOptions distributed{.use_local_output = false};
  return {{"token_embedding", parallel::RowwiseParallel()},
          {"blocks.*.qkv", parallel::ColwiseParallel(distributed, /*fused=*/3)},
          {"blocks.*.attention_out", parallel::RowwiseParallel()},
          {"blocks.*.expand", parallel::ColwiseParallel()},
          {"blocks.*.contract", parallel::RowwiseParallel()},
          {"head", parallel::ColwiseParallel(distributed)}};
}

std::unique_ptr<Ranks> tensor_parallel_ranks() {
  return std::make_unique<TensorParallel>();
}

}  // namespace gpt
