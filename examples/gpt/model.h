// A small GPT over bytes: pre-norm blocks, GELU, learned positions, causal attention that never forms the attention
// matrix. Written against libtorch's C++ API alone, so that the same source compiles with Kindling and with libtorch.
#pragma once

#include <torch/torch.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpt {

struct ModelOptions {
  int64_t vocabulary = 256;  // one token a byte value
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t width = 128;
  int64_t context = 64;
  double dropout = 0.0;
};

// x + attention(norm(x)), then x + mlp(norm(x)).
class BlockImpl : public torch::nn::Module {
 public:
  explicit BlockImpl(const ModelOptions& options);
  // (batch, time, width) -> (batch, time, width)
  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::Tensor attend(const torch::Tensor& x);

  int64_t heads_;
  double dropout_;
  torch::nn::LayerNorm attention_norm_, mlp_norm_;
  torch::nn::Linear qkv_, attention_out_, expand_, contract_;
  torch::nn::Dropout attention_dropout_, mlp_dropout_;
};
TORCH_MODULE(Block);

class GptImpl : public torch::nn::Module {
 public:
  explicit GptImpl(const ModelOptions& options);

  // tokens: int64 (batch, time), time <= context. Returns the logits of each next token: (batch, time, vocabulary).
  torch::Tensor forward(const torch::Tensor& tokens);

  // Mean cross entropy in nats of `targets` (batch, time), a 0-dim tensor.
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& targets);

  const ModelOptions& options() const { return options_; }
  const std::vector<Block>& layers() const { return layers_; }

  // How forward calls its blocks, instead of block(x).
  using BlockCall = std::function<torch::Tensor(Block& block, const torch::Tensor& x)>;
  void set_block_call(BlockCall call) { block_call_ = std::move(call); }

 private:
  BlockCall block_call_;
  ModelOptions options_;
  torch::nn::Embedding token_embedding_, position_embedding_;
  torch::nn::Dropout dropout_;
  torch::nn::ModuleList blocks_;
  std::vector<Block> layers_;  // the blocks, by their type
  torch::nn::LayerNorm final_norm_;
  torch::nn::Linear head_;
};
TORCH_MODULE(Gpt);

struct OptimizerSettings {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.1;
};

// AdamW in two groups: matrices (dim >= 2) are decayed, biases and norms are not.
torch::optim::AdamW make_optimizer(const Gpt& model, const OptimizerSettings& settings);

// The learning rate of a step counted from 0: linear warm-up to `peak`, then half a cosine down to `floor` at `steps`.
double learning_rate_at(int64_t step, int64_t steps, int64_t warmup, double peak, double floor);

struct SamplingSettings {
  double temperature = 0.8;
  int64_t top_k = 40;  // 0: all tokens
  const std::atomic<bool>* stop = nullptr;  // once this is set, no more bytes are drawn
};

// Continues `prompt` by `count` bytes, drawn with the default generator. The model is left in the mode it was in.
std::string generate(Gpt& model, const std::string& prompt, int64_t count, const SamplingSettings& settings);

}  // namespace gpt
