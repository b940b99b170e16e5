#include "examples/gpt/tensor_parallel.h"

#include <string>
#include <utility>
#include <vector>

#include "distributed/process_group/init.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/parallel/loss_parallel.h"
#include "distributed/tensor/parallel/style.h"

namespace gpt {
namespace {

namespace tensor = torch::distributed::tensor;
namespace parallel = torch::distributed::tensor::parallel;

parallel::ParallelizePlan plan() {
  // Attention goes over distributed tensors, whose heads are sharded and whose dropout is that of one process.
  const parallel::LinearStyleOptions distributed{.use_local_output = false};
  return {{"token_embedding", parallel::RowwiseParallel()},
          {"blocks.*.qkv", parallel::ColwiseParallel(distributed, /*fused=*/3)},
          {"blocks.*.attention_out", parallel::RowwiseParallel()},
          {"blocks.*.expand", parallel::ColwiseParallel()},
          {"blocks.*.contract", parallel::RowwiseParallel()},
          {"head", parallel::ColwiseParallel(distributed)}};
}

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

class TensorParallel final : public Ranks {
 public:
  TensorParallel() : group_(torch::distributed::get_default_group()) {}
  ~TensorParallel() override {
    parallel_ = nullptr;
    group_.reset();
    try {
      torch::distributed::destroy_process_group();
    } catch (const std::exception&) {
      // Whoever still waits is told by its own group.
    }
  }
  TensorParallel(const TensorParallel&) = delete;
  TensorParallel& operator=(const TensorParallel&) = delete;

  int64_t rank() const override { return group_->getRank(); }
  int64_t size() const override { return group_->getSize(); }

  void take(Gpt& model) override {
    TORCH_CHECK_VALUE(model->options().heads % size() == 0, "heads=", model->options().heads, " is no multiple of the ",
                      size(), " ranks");
    for (const torch::Tensor& p : model->parameters()) {
      std::vector<torch::Tensor> tensors{p.detach()};
      group_->broadcast(tensors)->wait();
    }
    const auto mesh = tensor::DeviceMesh::from_group(group_, model->parameters()[0].device().type(), "tp");
    {
      // Its first weights are not used; the numbers drawn for them are drawn again.
      torch::Generator generator = at::detail::getDefaultCPUGenerator();
      const torch::Tensor state = generator.get_state();
      parallel_ = Gpt(model->options());
      generator.set_state(state);
    }
    parallel::parallelize_module(parallel_, mesh, plan());
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
    const tensor::DTensor mean(parallel_->loss(gathered(tokens), gathered(targets)));
    return mean.to_local();
  }
  double mean(double value) override { return sum(value) / static_cast<double>(size()); }
  bool any(bool here) override { return sum(here ? 1 : 0) > 0; }

 private:
  double sum(double value) {
    std::vector<torch::Tensor> all{torch::full({1}, value, torch::kDouble)};
    group_->allreduce(all)->wait();
    return all[0].item<double>();
  }

  // The whole batch, of which the trainer gives each rank a part.
  torch::Tensor gathered(torch::Tensor part) {
    torch::Tensor whole = torch::empty({size() * part.size(0), part.size(1)}, part.options());
    group_->all_gather_single(whole, part)->wait();
    return whole;
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  Gpt parallel_{nullptr};
};

}  // namespace

std::unique_ptr<Ranks> tensor_parallel_ranks() {
  return std::make_unique<TensorParallel>();
}

}  // namespace gpt
