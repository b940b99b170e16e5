#include "examples/gpt/ranks.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/process_group/init.h"
#include "examples/gpt/fully_sharded.h"
#include "examples/gpt/pipeline.h"
#include "examples/gpt/process_ranks.h"
#include "examples/gpt/tensor_parallel.h"
#include "examples/gpt/two_dimensional.h"

namespace gpt {
namespace {

class DataParallel final : public ProcessRanks {
 public:
  void take(Gpt& model) override {
    ddp_ = torch::nn::parallel::DistributedDataParallel<LossImpl>(Loss(model).ptr(), {group()});
  }
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    return ddp_->forward(tokens, targets);
  }

 private:
  torch::nn::parallel::DistributedDataParallel<LossImpl> ddp_{nullptr};
};

struct Kind {
  const char* name;
  std::unique_ptr<Ranks> (*make)(int64_t tensor);
};
constexpr Kind kKinds[] = {
    {"ddp", [](int64_t) -> std::unique_ptr<Ranks> { return std::make_unique<DataParallel>(); }},
    {"fsdp", [](int64_t) { return fully_sharded_ranks(); }},
    {"tp", [](int64_t) { return tensor_parallel_ranks(); }},
    {"pp", [](int64_t) { return pipeline_ranks(); }},
    {"2d", two_dimensional_ranks},
};

const Kind& kind_of(const std::string& parallel) {
  const auto* const found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) { return kind.name == parallel; });
  if (found != std::end(kKinds)) return *found;
  std::string known;
  for (const Kind& kind : kKinds) known += (known.empty() ? "" : " or ") + std::string(kind.name);
  TORCH_CHECK_VALUE(false, "--parallel=", parallel, " is not ", known);
}

}  // namespace

void check_parallel(const std::string& parallel) {
  kind_of(parallel);
}

std::unique_ptr<Ranks> start_ranks(int64_t expected, const std::string& parallel, int64_t tensor) {
  const char* const text = std::getenv("WORLD_SIZE");
  const int64_t there = text == nullptr ? 1 : std::strtoll(text, nullptr, 10);
  TORCH_CHECK(expected == 0 || expected == there, "--ranks=", expected, ", but ", there,
              there == 1 ? " process was" : " processes were", " started: a launcher such as torchrun starts them");
  if (text == nullptr) return nullptr;
  torch::distributed::init_process_group("gloo");
  return kind_of(parallel).make(tensor);
}

}  // namespace gpt
