#include "examples/gpt/model.h"

#include <algorithm>
#include <cmath>

namespace gpt {
namespace {

torch::Tensor as_tokens(const std::string& text) {
  torch::Tensor tokens = torch::empty({1, static_cast<int64_t>(text.size())}, torch::kLong);
  int64_t* out = tokens.data_ptr<int64_t>();
  for (size_t i = 0; i < text.size(); ++i) out[i] = static_cast<unsigned char>(text[i]);
  return tokens;
}

// GPT-2: normal(0, 0.02); the layers that write to the residual stream are scaled down by sqrt(2 * layers).
void initialise(torch::nn::Module& root, int64_t layers) {
  torch::NoGradGuard no_grad;
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(layers));
  for (auto& item : root.named_parameters()) {
    torch::Tensor& p = item.value();
    const std::string& name = item.key();
    const bool writes_residual =
        name.find("attention_out.") != std::string::npos || name.find("contract.") != std::string::npos;
    if (p.dim() >= 2) {
      torch::nn::init::normal_(p, 0.0, writes_residual ? residual : 0.02);
    } else if (name.size() >= 4 && name.compare(name.size() - 4, 4, "bias") == 0) {
      torch::nn::init::zeros_(p);
    }
  }
}

}  // namespace

BlockImpl::BlockImpl(const ModelOptions& options)
    : heads_(options.heads),
      dropout_(options.dropout),
      attention_norm_(torch::nn::LayerNormOptions({options.width})),
      mlp_norm_(torch::nn::LayerNormOptions({options.width})),
      qkv_(options.width, 3 * options.width),
      attention_out_(options.width, options.width),
      expand_(options.width, 4 * options.width),
      contract_(4 * options.width, options.width),
      attention_dropout_(options.dropout),
      mlp_dropout_(options.dropout) {
  register_module("attention_norm", attention_norm_);
  register_module("qkv", qkv_);
  register_module("attention_out", attention_out_);
  register_module("attention_dropout", attention_dropout_);
  register_module("mlp_norm", mlp_norm_);
  register_module("expand", expand_);
  register_module("contract", contract_);
  register_module("mlp_dropout", mlp_dropout_);
}

torch::Tensor BlockImpl::attend(const torch::Tensor& x) {
  const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
  std::vector<torch::Tensor> parts = qkv_(x).chunk(3, -1);
  for (torch::Tensor& part : parts) part = part.view({batch, time, heads_, width / heads_}).transpose(1, 2);
  torch::Tensor y = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], /*attn_mask=*/{},
                                                     is_training() ? dropout_ : 0.0, /*is_causal=*/true);
  y = y.transpose(1, 2).reshape({batch, time, width});
  return attention_dropout_(attention_out_(y));
}

torch::Tensor BlockImpl::forward(const torch::Tensor& x) {
  torch::Tensor y = x + attend(attention_norm_(x));
  torch::Tensor hidden = torch::gelu(expand_(mlp_norm_(y)));
  return y + mlp_dropout_(contract_(hidden));
}

GptImpl::GptImpl(const ModelOptions& options)
    : options_(options),
      token_embedding_(options.vocabulary, options.width),
      position_embedding_(options.context, options.width),
      dropout_(options.dropout),
      final_norm_(torch::nn::LayerNormOptions({options.width})),
      head_(torch::nn::LinearOptions(options.width, options.vocabulary).bias(false)) {
  register_module("token_embedding", token_embedding_);
  register_module("position_embedding", position_embedding_);
  register_module("dropout", dropout_);
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(options);
    blocks_->push_back(layers_.back());
  }
  register_module("blocks", blocks_);
  register_module("final_norm", final_norm_);
  register_module("head", head_);
  initialise(*this, options.layers);
}

torch::Tensor GptImpl::forward(const torch::Tensor& tokens) {
  const int64_t time = tokens.size(1);
  TORCH_CHECK(time <= options_.context, "Gpt: a sequence of ", time, " tokens is longer than the context of ",
              options_.context);
  torch::Tensor positions = torch::arange(time, tokens.options());
  torch::Tensor x = dropout_(token_embedding_(tokens) + position_embedding_(positions));
  for (Block& layer : layers_) x = block_call_ ? block_call_(layer, x) : layer(x);
  return head_(final_norm_(x));
}

torch::Tensor GptImpl::loss(const torch::Tensor& tokens, const torch::Tensor& targets) {
  torch::Tensor logits = forward(tokens);
  return torch::nn::functional::cross_entropy(logits.view({-1, options_.vocabulary}), targets.reshape({-1}));
}

torch::optim::AdamW make_optimizer(const Gpt& model, const OptimizerSettings& settings) {
  std::vector<torch::Tensor> matrices, vectors;
  for (const torch::Tensor& p : model->parameters()) (p.dim() >= 2 ? matrices : vectors).push_back(p);
  auto options = [&](double decay) {
    return std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(settings.learning_rate)
                                                            .betas(std::make_tuple(settings.beta1, settings.beta2))
                                                            .weight_decay(decay));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::move(matrices), options(settings.weight_decay));
  groups.emplace_back(std::move(vectors), options(0.0));
  return torch::optim::AdamW(groups, torch::optim::AdamWOptions(settings.learning_rate)
                                         .betas(std::make_tuple(settings.beta1, settings.beta2))
                                         .weight_decay(settings.weight_decay));
}

double learning_rate_at(int64_t step, int64_t steps, int64_t warmup, double peak, double floor) {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  if (step >= steps) return floor;
  const double progress = static_cast<double>(step - warmup) / static_cast<double>(std::max<int64_t>(1, steps - warmup));
  return floor + 0.5 * (1.0 + std::cos(3.14159265358979323846 * progress)) * (peak - floor);
}

std::string generate(Gpt& model, const std::string& prompt, int64_t count, const SamplingSettings& settings) {
  torch::NoGradGuard no_grad;
  const bool was_training = model->is_training();
  model->eval();
  std::string text = prompt.empty() ? std::string("\n") : prompt;
  const size_t start = prompt.empty() ? 1 : 0;
  const int64_t context = model->options().context;
  const torch::Device device = model->parameters()[0].device();
  for (int64_t i = 0; i < count && !(settings.stop != nullptr && *settings.stop); ++i) {
    const size_t begin = text.size() > static_cast<size_t>(context) ? text.size() - static_cast<size_t>(context) : 0;
    torch::Tensor logits = model->forward(as_tokens(text.substr(begin)).to(device)).select(1, -1).squeeze(0);
    int64_t next;
    if (settings.temperature <= 0) {
      next = logits.argmax().item<int64_t>();
    } else {
      logits = logits / settings.temperature;
      if (settings.top_k > 0 && settings.top_k < logits.size(0)) {
        torch::Tensor kept = std::get<0>(logits.topk(settings.top_k)).min();
        logits = logits.masked_fill(logits < kept, -INFINITY);
      }
      next = torch::multinomial(torch::softmax(logits, -1), 1).item<int64_t>();
    }
    text.push_back(static_cast<char>(static_cast<unsigned char>(next)));
  }
  if (was_training) model->train();
  return text.substr(start);
}

}  // namespace gpt
