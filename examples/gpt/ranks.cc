#include "examples/gpt/ranks.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/process_group/init.h"
#include "examples/gpt/pipeline.h"

namespace gpt {
namespace {

// What DistributedDataParallel calls: its forward() gives the loss.
struct LossImpl : torch::nn::Module {
  explicit LossImpl(const Gpt& gpt) : model(register_module("model", gpt)) {}
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& targets) {
    return model->loss(tokens, targets);
  }
  Gpt model;
};
TORCH_MODULE(Loss);

class DataParallel final : public Ranks {
 public:
  DataParallel() : group_(torch::distributed::get_default_group()) {}
  ~DataParallel() override {
    ddp_ = nullptr;
    group_.reset();
    try {
      torch::distributed::destroy_process_group();
    } catch (const std::exception&) {
      // Whoever still waits is told by its own group.
    }
  }
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  int64_t rank() const override { return group_->getRank(); }
  int64_t size() const override { return group_->getSize(); }
  void take(Gpt& model) override {
    ddp_ = torch::nn::parallel::DistributedDataParallel<LossImpl>(Loss(model).ptr(), {group_});
  }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    return ddp_->forward(tokens, targets);
  }
  double mean(double value) override { return sum(value) / static_cast<double>(size()); }
  bool any(bool here) override { return sum(here ? 1 : 0) > 0; }

 private:
  double sum(double value) {
    std::vector<torch::Tensor> all{torch::full({1}, value, torch::kDouble)};
    group_->allreduce(all)->wait();
    return all[0].item<double>();
  }

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  torch::nn::parallel::DistributedDataParallel<LossImpl> ddp_{nullptr};
};

}  // namespace

std::unique_ptr<Ranks> start_ranks(int64_t expected, const std::string& parallel) {
  const char* const text = std::getenv("WORLD_SIZE");
  const int64_t there = text == nullptr ? 1 : std::strtoll(text, nullptr, 10);
  TORCH_CHECK(expected == 0 || expected == there, "--ranks=", expected, ", but ", there,
              there == 1 ? " process was" : " processes were", " started: a launcher such as torchrun starts them");
  if (text == nullptr) return nullptr;
  torch::distributed::init_process_group("gloo");
  if (parallel == "pp") return pipeline_ranks();
  return std::make_unique<DataParallel>();
}

}  // namespace gpt
