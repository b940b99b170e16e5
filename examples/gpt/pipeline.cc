#include "examples/gpt/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "distributed/pipeline/schedules.h"
#include "examples/gpt/process_ranks.h"

namespace gpt {
namespace {

namespace pipelining = torch::distributed::pipelining;

// Some of a model's layers: the embeddings in the first part, norm and head in the last.
struct PartImpl : torch::nn::Module {
  PartImpl(Gpt& model, int64_t part, int64_t parts) {
    const auto children = model->named_children();
    if (part == 0) {
      for (const char* name : {"token_embedding", "position_embedding"}) register_module(name, children[name]);
      tokens = children["token_embedding"]->as<torch::nn::Embedding>();
      positions = children["position_embedding"]->as<torch::nn::Embedding>();
    }
    const auto all = children["blocks"]->children();
    const auto count = static_cast<int64_t>(all.size());
    for (int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      register_module("block" + std::to_string(i), all[static_cast<size_t>(i)]);
      blocks.push_back(all[static_cast<size_t>(i)]->as<Block>());
    }
    if (part + 1 == parts) {
      for (const char* name : {"final_norm", "head"}) register_module(name, children[name]);
      norm = children["final_norm"]->as<torch::nn::LayerNorm>();
      head = children["head"]->as<torch::nn::Linear>();
    }
  }
  torch::Tensor forward(torch::Tensor x) {
    if (tokens != nullptr) x = tokens->forward(x) + positions->forward(torch::arange(x.size(1), x.options()));
    for (BlockImpl* block : blocks) x = block->forward(x);
    return head == nullptr ? x : head->forward(norm->forward(x));
  }

  torch::nn::EmbeddingImpl *tokens = nullptr, *positions = nullptr;
  std::vector<BlockImpl*> blocks;
  torch::nn::LayerNormImpl* norm = nullptr;
  torch::nn::LinearImpl* head = nullptr;
};
TORCH_MODULE(Part);

torch::Tensor loss_of(const torch::Tensor& logits, const torch::Tensor& targets) {
  return torch::nn::functional::cross_entropy(logits.reshape({-1, logits.size(-1)}), targets.reshape({-1}));
}

class PipelineRanks final : public ProcessRanks {
 public:
  int64_t parts_of_batch() const override { return 1; }

  void check(const RunSettings& settings) const override {
    TORCH_CHECK_VALUE(settings.dtype == "float32", "dtype=", settings.dtype, " is not for --parallel=pp");
    // Ranks would draw different numbers of them, and then other batches.
    TORCH_CHECK_VALUE(settings.model.dropout == 0, "dropout=", settings.model.dropout, " is not for --parallel=pp");
    TORCH_CHECK_VALUE(settings.batch >= size(), "batch=", settings.batch, " has fewer pieces than there are ranks, ",
                      size());
  }

  void take(Gpt& model) override {
    for (torch::Tensor& p : model->parameters()) broadcast(p.detach(), 0);
    for (int64_t part = 0; part < size(); ++part) {
      Part of_rank(model, part, size());
      parameters_.push_back(of_rank->parameters());
      if (part == rank()) own_ = of_rank;
    }
  }

  torch::Tensor forward_backward(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    if (schedule_ == nullptr) {
      const pipelining::PipelineStage stage(own_, rank(), size(), tokens.device(), {group()});
      schedule_ = std::make_unique<pipelining::Schedule1F1B>(stage, microbatches(tokens.size(0)), loss_of);
    }
    std::vector<torch::Tensor> losses;
    schedule_->step({tokens}, {.target = targets, .losses = &losses, .return_outputs = false});
    const int64_t last = size() - 1;
    torch::Tensor loss = rank() == last ? torch::stack(losses).mean() : torch::empty({}, torch::kFloat);
    broadcast(loss, last);
    for (int64_t part = 0; part < size(); ++part) spread_gradients(part);
    return loss;
  }

  double mean(double value) override { return value; }

 private:
  // As many that two for each rank are there, if the batch can be split so.
  int64_t microbatches(int64_t batch) const {
    for (int64_t n = std::min(batch, 2 * size()); n < batch; ++n) {
      if (batch % n == 0) return n;
    }
    return batch;
  }

  void broadcast(torch::Tensor tensor, int64_t from) {
    std::vector<torch::Tensor> tensors{std::move(tensor)};
    group()->broadcast(tensors, {.rootRank = from})->wait();
  }

  // Those of a part's parameters, from its rank to all, as one message.
  void spread_gradients(int64_t part) {
    auto& parameters = parameters_[static_cast<size_t>(part)];
    std::vector<torch::Tensor> flat;
    for (torch::Tensor& p : parameters)
      flat.push_back((part == rank() ? p.grad() : torch::empty_like(p)).reshape({-1}));
    if (flat.empty()) return;
    const torch::Tensor all = torch::cat(flat);
    broadcast(all, part);
    if (part == rank()) return;
    int64_t at = 0;
    for (torch::Tensor& p : parameters) {
      p.mutable_grad() = all.narrow(0, at, p.numel()).view(p.sizes());
      at += p.numel();
    }
  }

  std::vector<std::vector<torch::Tensor>> parameters_;  // by rank
  Part own_{nullptr};
  std::unique_ptr<pipelining::Schedule1F1B> schedule_;
};

}  // namespace

std::unique_ptr<Ranks> pipeline_ranks() {
  return std::make_unique<PipelineRanks>();
}

}  // namespace gpt
