#include "examples/gpt/pipeline.h"

#include <algorithm>
#include <cmath>
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
      if (part == rank()) {
        own_ = of_rank;
      } else {
        forget(part);
      }
    }
    const pipelining::PipelineStage stage(own_, rank(), size(), torch::kCPU, {group()});
    validation_ = std::make_unique<pipelining::ScheduleGPipe>(stage, 1);
  }

  torch::Tensor forward_backward(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    if (schedule_ == nullptr) {
      const pipelining::PipelineStage stage(own_, rank(), size(), tokens.device(), {group()});
      schedule_ = std::make_unique<pipelining::Schedule1F1B>(stage, microbatches(tokens.size(0)), loss_of);
    }
    std::vector<torch::Tensor> losses;
    schedule_->step({tokens}, {.target = targets, .losses = &losses, .return_outputs = false});
    return of_last_rank([&] { return torch::stack(losses).mean(); });
  }

  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets) override {
    if (torch::GradMode::is_enabled()) return {};  // forward_backward() does it
    const std::vector<torch::Tensor> outputs = validation_->eval({tokens});
    return of_last_rank([&] { return loss_of(outputs[0], targets); });
  }

  void clip_gradients(const std::vector<torch::Tensor>&, double max_norm) override {
    const std::vector<torch::Tensor>& own = parameters_[static_cast<size_t>(rank())];
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& p : own) gradients.push_back(p.grad());
    const double norm = torch::nn::utils::get_total_norm(gradients).item<double>();
    torch::nn::utils::clip_grads_with_norm_(own, max_norm, std::sqrt(sum(norm * norm)));
  }

  double mean(double value) override { return value; }
  bool is_sharded() const override { return true; }

 protected:
  void save_file(const torch::serialize::Checkpoint& checkpoint, const std::string& path) override {
    if (rank() != 0) return send_part(checkpoint);
    for (int64_t part = 1; part < size(); ++part) receive_part(part, checkpoint);
    save_checkpoint(checkpoint, path);
    for (int64_t part = 1; part < size(); ++part) forget(part, checkpoint.optimizer);
  }

  // What is read for parameters without memory is gone at once.
  void load_file(torch::serialize::Checkpoint& checkpoint, const std::string& path) override {
    load_checkpoint(checkpoint, path);
    for (int64_t part = 0; part < size(); ++part) {
      if (part != rank()) forget(part, checkpoint.optimizer);
    }
  }

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

  template <class Compute>
  torch::Tensor of_last_rank(const Compute& compute) {
    const int64_t last = size() - 1;
    torch::Tensor result = rank() == last ? compute() : torch::empty({}, torch::kFloat);
    broadcast(result, last);
    return result;
  }

  // A part's parameters stay without memory, and without what an optimizer remembers of them.
  void forget(int64_t part, torch::optim::Optimizer* optimizer = nullptr) {
    for (torch::Tensor& p : parameters_[static_cast<size_t>(part)]) {
      p.set_data(torch::empty_like(p, p.options().device(torch::kMeta)));
      if (optimizer != nullptr) optimizer->state().erase(p.unsafeGetTensorImpl());
    }
  }

  // This rank's parameters and moments to rank 0, one message for each parameter.
  void send_part(const torch::serialize::Checkpoint& checkpoint) {
    for (const torch::Tensor& p : parameters_[static_cast<size_t>(rank())]) {
      std::vector<torch::Tensor> values{p.detach()};
      if (checkpoint.step > 0) {
        const auto& state = moments(*checkpoint.optimizer, p);
        values.insert(values.end(), {state.exp_avg(), state.exp_avg_sq()});
      }
      std::vector<torch::Tensor> message{torch::stack(values)};
      group()->send(message, 0, 0)->wait();
    }
  }

  void receive_part(int64_t part, const torch::serialize::Checkpoint& checkpoint) {
    for (torch::Tensor& p : parameters_[static_cast<size_t>(part)]) {
      std::vector<int64_t> sizes = p.sizes().vec();
      sizes.insert(sizes.begin(), checkpoint.step > 0 ? 3 : 1);
      std::vector<torch::Tensor> message{torch::empty(sizes)};
      group()->recv(message, static_cast<int>(part), 0)->wait();
      p.set_data(message[0][0]);
      if (checkpoint.step == 0) continue;
      auto state = std::make_unique<torch::optim::AdamWParamState>();
      state->step(checkpoint.step);  // every step of a run is one of every parameter
      state->exp_avg(message[0][1]);
      state->exp_avg_sq(message[0][2]);
      checkpoint.optimizer->state()[p.unsafeGetTensorImpl()] = std::move(state);
    }
  }

  static const torch::optim::AdamWParamState& moments(torch::optim::Optimizer& optimizer, const torch::Tensor& p) {
    return static_cast<const torch::optim::AdamWParamState&>(*optimizer.state().at(p.unsafeGetTensorImpl()));
  }

  std::vector<std::vector<torch::Tensor>> parameters_;  // by rank
  Part own_{nullptr};
  std::unique_ptr<pipelining::Schedule1F1B> schedule_;
  std::unique_ptr<pipelining::ScheduleGPipe> validation_;  // of a batch as one piece
};

}  // namespace

std::unique_ptr<Ranks> pipeline_ranks() {
  return std::make_unique<PipelineRanks>();
}

}  // namespace gpt
