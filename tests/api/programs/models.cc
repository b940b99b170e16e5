// Nets of common shapes: residual, encoder and decoder, attention; copied, saved, frozen, hooked.
#include <torch/torch.h>

#include <iostream>
#include <sstream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

namespace nn = torch::nn;

struct BlockImpl : nn::Module {
  BlockImpl(int64_t in, int64_t out, int64_t stride)
      : conv1(nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false)),
        bn1(out),
        conv2(nn::Conv2dOptions(out, out, 3).padding(1).bias(false)),
        bn2(nn::BatchNorm2dOptions(out).momentum(0.2)) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    if (stride != 1 || in != out) {
      shortcut->push_back("conv", nn::Conv2d(nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)));
      shortcut->push_back("bn", nn::BatchNorm2d(out));
    }
    register_module("shortcut", shortcut);
  }
  torch::Tensor forward(torch::Tensor x) {
    auto y = bn2(conv2(torch::relu(bn1(conv1(x)))));
    return torch::relu(y + (shortcut->is_empty() ? x : shortcut->forward(x)));
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential shortcut;
};
TORCH_MODULE(Block);

struct ResNetImpl : nn::Module {
  explicit ResNetImpl(int64_t classes) : stem(nn::Conv2dOptions(3, 4, 3).padding(1)), fc(8, classes) {
    layers = register_module("layers", nn::Sequential());
    layers->push_back(Block(4, 4, 1));
    layers->push_back(Block(4, 8, 2));
    register_module("stem", stem);
    register_module("fc", fc);
    scale = register_parameter("scale", torch::ones({1}));
    steps = register_buffer("steps", torch::zeros({1}, torch::kLong));
  }
  torch::Tensor forward(torch::Tensor x) {
    steps += 1;
    x = layers->forward(stem(x));
    x = torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1);
    return fc(x) * scale;
  }
  nn::Conv2d stem;
  nn::Sequential layers{nullptr};
  nn::Linear fc;
  torch::Tensor scale, steps;
};
TORCH_MODULE(ResNet);

class DecoderImpl : public nn::Cloneable<DecoderImpl> {
 public:
  DecoderImpl(int64_t width, int64_t heads) : width_(width), heads_(heads) { reset(); }
  void reset() override {
    embed = register_module("embed", nn::Embedding(11, width_));
    attention =
        register_module("attention", nn::MultiheadAttention(nn::MultiheadAttentionOptions(width_, heads_).dropout(0)));
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width_}).eps(1e-6)));
    mlp = register_module("mlp", nn::Sequential());
    mlp->push_back(nn::Linear(width_, 2 * width_));
    mlp->push_back(nn::GELU());
    mlp->push_back(nn::Linear(2 * width_, width_));
    head = register_module("head", nn::Linear(nn::LinearOptions(width_, 11).bias(false)));
  }
  torch::Tensor forward(const torch::Tensor& tokens) {
    auto x = embed(tokens).transpose(0, 1);
    const auto mask = torch::triu(torch::full({x.size(0), x.size(0)}, -INFINITY), 1);
    const auto [y, weights] = attention(x, x, x, torch::Tensor(), false, mask);
    x = norm(x + y);
    x = x + mlp->forward(x);
    return head(x).transpose(0, 1);
  }
  nn::Embedding embed{nullptr};
  nn::MultiheadAttention attention{nullptr};
  nn::LayerNorm norm{nullptr};
  nn::Sequential mlp{nullptr};
  nn::Linear head{nullptr};

 private:
  int64_t width_, heads_;
};
TORCH_MODULE(Decoder);

struct UNet : nn::Module {
  UNet() {
    down = register_module("down", nn::Conv2d(nn::Conv2dOptions(1, 2, 3).stride(2).padding(1)));
    up = register_module("up", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 1, 4).stride(2).padding(1)));
    out = register_module("out", nn::Conv2d(2, 1, 1));
  }
  torch::Tensor forward(torch::Tensor x) {
    const auto y = torch::leaky_relu(down->forward(x), 0.1);
    return torch::sigmoid(out(torch::cat({up->forward(y, std::vector<int64_t>{x.size(2), x.size(3)}), x}, 1)));
  }
  nn::Conv2d down{nullptr};
  nn::ConvTranspose2d up{nullptr};
  nn::Conv2d out{nullptr};
};

void residual() {
  torch::manual_seed(0);
  ResNet net(5);
  std::cout << net << "\n";
  SHOW(net->parameters().size());
  for (const auto& p : net->named_parameters()) std::cout << p.key() << " " << p.value().sizes() << "\n";
  for (const auto& b : net->named_buffers()) std::cout << b.key() << " " << b.value().dtype() << "\n";
  for (const auto& m : net->named_modules("net")) std::cout << m.key() << ": " << m.value()->name() << "\n";
  for (const auto& m : net->named_children()) std::cout << m.key() << "\n";
  const auto x = torch::randn({2, 3, 8, 8});
  const auto target = torch::tensor({1, 4});
  torch::optim::SGD optimizer(net->parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(1e-3).nesterov(true));
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    const auto loss = nn::functional::cross_entropy(net(x), target);
    loss.backward();
    std::cout << "norm " << nn::utils::clip_grad_norm_(net->parameters(), 1.0) << "\n";
    optimizer.step();
    std::cout << "loss " << loss.item<float>() << "\n";
  }
  net->eval();
  SHOW(net->is_training());
  {
    torch::NoGradGuard no_grad;
    SHOW(net(x).argmax(1));
  }
  SHOW(net->steps);
  std::stringstream file;
  torch::save(net, file);
  std::stringstream state;
  torch::save(optimizer, state);
  ResNet again(5);
  torch::load(again, file);
  torch::optim::SGD resumed(again->parameters(), torch::optim::SGDOptions(1));
  torch::load(resumed, state);
  SHOW(resumed.param_groups().size());
  again->eval();
  SHOW(torch::allclose(net(x), again(x)));
  for (auto& p : net->layers->parameters()) p.requires_grad_(false);
  int64_t trained = 0;
  for (const auto& p : net->parameters()) trained += p.requires_grad() ? p.numel() : 0;
  SHOW(trained);
  net->to(torch::kDouble);
  SHOW(net->stem->weight.dtype());
  SHOW(net->steps.dtype());
  net->apply([](nn::Module& m) {
    if (auto* linear = m.as<nn::Linear>()) nn::init::ones_(linear->weight);
  });
  SHOW(net->fc->weight.sum());
  REFUSED(net->clone());
  REFUSED(net->register_module("fc", nn::Linear(1, 1)));
  REFUSED(net->register_parameter("scale", torch::ones({1})));
  REFUSED(net->register_buffer("a.b", torch::ones({1})));
  REFUSED(net->forward(torch::ones({1, 2, 8, 8}, torch::kDouble)));
}

void decoding() {
  torch::manual_seed(3);
  Decoder net(8, 2);
  std::cout << *net << "\n";
  const auto tokens = torch::randint(11, {2, 5});
  SHOW(net(tokens).sizes());
  SHOW(net(tokens).sum());
  torch::optim::AdamW optimizer(net->parameters(),
                                torch::optim::AdamWOptions(1e-2).betas({0.9, 0.98}).weight_decay(0.1));
  torch::optim::StepLR schedule(optimizer, 2, 0.5);
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    const auto scores = net(tokens.slice(1, 0, -1));
    const auto loss = torch::nn::CrossEntropyLoss()(scores.reshape({-1, 11}), tokens.slice(1, 1).reshape({-1}));
    loss.backward();
    optimizer.step();
    schedule.step();
    std::cout << loss.item().toDouble() << " " << optimizer.param_groups()[0].options().get_lr() << "\n";
  }
  auto copy = std::dynamic_pointer_cast<DecoderImpl>(net->clone());
  SHOW(torch::equal(copy->forward(tokens), net(tokens)));
  {
    torch::NoGradGuard no_grad;
    copy->head->weight.zero_();
  }
  SHOW(copy->forward(tokens).sum());
  SHOW(net(tokens).sum());
  SHOW(copy->modules().size());
  SHOW(copy->children().size());
}

void pictures() {
  torch::manual_seed(4);
  auto net = std::make_shared<UNet>();
  std::cout << *net << "\n";
  const auto x = torch::rand({1, 1, 6, 6});
  const auto y = net->forward(x);
  SHOW(y.sizes());
  SHOW(y.mean());
  auto hooked = torch::zeros({});
  const auto handle = net->out->weight.register_hook([&](torch::Tensor grad) {
    hooked = grad.sum();
    return grad * 2;
  });
  const auto loss = torch::binary_cross_entropy(y, (x > 0.5).to(torch::kFloat));
  loss.backward();
  SHOW(hooked);
  SHOW(net->out->weight.grad().sum());
  net->out->weight.remove_hook(handle);
  net->zero_grad();
  SHOW(net->out->weight.grad().defined());
  const auto vector = nn::utils::parameters_to_vector(net->parameters());
  SHOW(vector.sizes());
  nn::utils::vector_to_parameters(torch::zeros_like(vector), net->parameters());
  SHOW(net->forward(x).mean());
}

void sequences() {
  torch::manual_seed(6);
  nn::Transformer transformer(nn::TransformerOptions(8, 2)
                                  .num_encoder_layers(1)
                                  .num_decoder_layers(1)
                                  .dim_feedforward(16)
                                  .dropout(0)
                                  .activation(torch::kGELU));
  const auto source = torch::randn({4, 2, 8}), target = torch::randn({3, 2, 8});
  const auto out =
      transformer(source, target, torch::Tensor(), nn::TransformerImpl::generate_square_subsequent_mask(3));
  SHOW(out.sizes());
  SHOW(out.abs().sum());
  nn::TransformerEncoder encoder(
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(8).dropout(0.), 2)
          .norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({8})))));
  SHOW(encoder(source).abs().sum());
  nn::GRU gru(nn::GRUOptions(8, 3).num_layers(2).bidirectional(true).batch_first(true));
  const auto [seen, state] = gru(source.transpose(0, 1));
  SHOW(seen.sizes());
  SHOW(state.sum({1, 2}));
  nn::LSTM lstm(nn::LSTMOptions(8, 3).proj_size(2));
  const auto [every, last] = lstm(source);
  SHOW(every.sum());
  SHOW(std::get<1>(last).sizes());
  const auto packed = nn::utils::rnn::pack_padded_sequence(source, torch::tensor({4, 2}));
  const auto [packed_out, packed_state] = lstm->forward_with_packed_input(packed);
  const auto [padded, lengths] = nn::utils::rnn::pad_packed_sequence(packed_out);
  SHOW(padded.sum(0));
  SHOW(lengths);
  nn::RNNCell cell(nn::RNNCellOptions(8, 3).nonlinearity(torch::kReLU));
  SHOW(cell(source[0]));
  std::cout << transformer << "\n" << gru << "\n" << lstm << "\n" << cell << "\n";
}

void run() {
  residual();
  decoding();
  pictures();
  sequences();
}

}  // namespace

KINDLING_PROGRAM(models, run);
