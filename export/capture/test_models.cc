#include "export/capture/test_models.h"

#include <torch/torch.h>

#include <utility>

#include "graph/capture/control_flow.h"

namespace torch::testing {
namespace {

using c10::IValue;

std::vector<IValue> leaves_of(const IValue& value) {
  if (!value.isTuple() && !value.isList()) return {value};
  std::vector<IValue> all;
  const auto parts = value.isTuple() ? value.toTupleRef().elementsArrayRef() : value.toListRef();
  for (const IValue& part : parts) {
    for (IValue& leaf : leaves_of(part)) all.push_back(std::move(leaf));
  }
  return all;
}

// What the leaves are when they lie as in `like`.
IValue nested_as(const IValue& like, const std::vector<IValue>& leaves, size_t& next) {
  if (!like.isTuple() && !like.isList()) return leaves.at(next++);
  std::vector<IValue> parts;
  for (const IValue& part : like.isTuple() ? like.toTupleRef().elementsArrayRef() : like.toListRef()) {
    parts.push_back(nested_as(part, leaves, next));
  }
  if (like.isTuple()) return c10::ivalue::Tuple::create(std::move(parts));
  return parts;
}

// Of a function or holder, and the type of its arguments.
template <class F, class... Args>
ExportedModel model(std::string name, F f, std::tuple<Args...> example, std::vector<std::map<int64_t, Dim>> dims,
                    std::vector<std::vector<IValue>> inputs) {
  ExportedModel made;
  made.name = std::move(name);
  made.program = [f, example, dims](ExportOptions options) mutable {
    options.dynamic_shapes = dims;
    return export_(f, example, options);
  };
  made.call = [f, example](const std::vector<IValue>& in) mutable {
    size_t next = 0;
    const IValue arguments = nested_as(example, in, next);
    return leaves_of(export_detail::call<Args...>(f, arguments.toTupleRef().elementsArrayRef().vec()));
  };
  made.inputs = std::move(inputs);
  if constexpr (nn::detail::is_module_holder<F>) made.module = f.ptr();
  return made;
}

struct ConvNetImpl : nn::Module {
  ConvNetImpl()
      : conv1(register_module("conv1", nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1).bias(false)))),
        bn1(register_module("bn1", nn::BatchNorm2d(4))),
        conv2(register_module("conv2", nn::Conv2d(nn::Conv2dOptions(4, 6, 2).stride(2).groups(2)))),
        bn2(register_module("bn2", nn::BatchNorm2d(6))),
        fc(register_module("fc", nn::Linear(6, 5))) {}
  Tensor forward(const Tensor& x) {
    const Tensor first = max_pool2d(relu(bn1(conv1(x))), 2);
    const Tensor second = bn2(conv2(first)).relu_();
    return fc(adaptive_avg_pool2d(second, {1, 1}).flatten(1));
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Linear fc;
};
TORCH_MODULE(ConvNet);

// A weight under two names, a buffer that is saved and one that is not, a tensor of neither, unused state.
struct SharedImpl : nn::Module {
  SharedImpl()
      : embedding(register_module("embedding", nn::Embedding(11, 6))),
        decoder(register_module("decoder", nn::Linear(nn::LinearOptions(6, 11).bias(false)))),
        calls(register_buffer("calls", torch::zeros({}, kLong))),
        scale(register_buffer("scale", torch::full({6}, 0.5), /*persistent=*/false)),
        table(torch::arange(6, kFloat)) {
    decoder->weight = decoder->replace_parameter("weight", embedding->weight);
    register_parameter("unused", torch::ones({2}));
  }
  Tensor forward(const Tensor& ids) {
    calls.add_(1);
    return decoder(embedding(ids) * scale + table);
  }
  nn::Embedding embedding;
  nn::Linear decoder;
  Tensor calls, scale, table;
};
TORCH_MODULE(Shared);

// The last hidden state of each sequence, and the state.
struct RecurrentImpl : nn::Module {
  RecurrentImpl() : lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(5, 7).num_layers(2).batch_first(true)))) {}
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(const Tensor& x) {
    auto [out, state] = lstm(x);
    return {out.select(1, -1), state};
  }
  nn::LSTM lstm;
};
TORCH_MODULE(Recurrent);

struct EncoderImpl : nn::Module {
  EncoderImpl()
      : layer(register_module(
            "layer", nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16)))) {
    eval();
  }
  Tensor forward(const Tensor& x) { return layer(x); }
  nn::TransformerEncoderLayer layer;
};
TORCH_MODULE(Encoder);

// Language model in small: positions by the length, causal attention.
struct GptImpl : nn::Module {
  GptImpl()
      : tokens(register_module("tokens", nn::Embedding(13, 8))),
        positions(register_module("positions", nn::Embedding(32, 8))),
        norm(register_module("norm", nn::LayerNorm(nn::LayerNormOptions({8})))),
        qkv(register_module("qkv", nn::Linear(8, 24))),
        out(register_module("out", nn::Linear(8, 13))) {}
  Tensor forward(const Tensor& ids) {
    const int64_t batch = ids.size(0), length = ids.size(1);
    const Tensor x = tokens(ids) + positions(torch::arange(length));
    const auto parts = qkv(norm(x)).chunk(3, -1);
    const auto heads = [&](const Tensor& t) { return t.view({batch, length, 2, 4}).transpose(1, 2); };
    const Tensor mixed = at::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]),
                                                          /*attn_mask=*/{}, /*dropout_p=*/0.0, /*is_causal=*/true);
    return out(x + mixed.transpose(1, 2).reshape({batch, length, 8}));
  }
  nn::Embedding tokens, positions;
  nn::LayerNorm norm;
  nn::Linear qkv, out;
};
TORCH_MODULE(Gpt);

Tensor branches(const Tensor& x, const Tensor& w) {
  const Tensor y = torch::cond(
      x.sum() > 0, [&](const Tensor& t) { return (t * w).sin(); }, [](const Tensor& t) { return t.cos() - 1; }, x);
  const auto [turns, grown] =
      torch::while_loop([](const Tensor& i, const Tensor&) { return i < 3; },
                        [&](const Tensor& i, const Tensor& t) { return std::tuple(i + 1, t * 0.5 + w); },
                        std::tuple(torch::zeros({}, kLong), y));
  return grown + turns;
}
std::tuple<Tensor, Tensor, Tensor> loops(const Tensor& x, const Tensor& w) {
  const Tensor rows = torch::map([](const Tensor& row, const Tensor& v) { return row.dot(v).exp(); }, x, w);
  const auto [total, sums] = torch::scan(
      [](const Tensor& c, const Tensor& row) { return std::pair(c * 0.5 + row, c.sum()); }, w, x, 0, /*reverse=*/true);
  const Tensor products = torch::associative_scan([](const Tensor& a, const Tensor& b) { return a * b; }, x, 0);
  return {rows, total + sums.sum(), products};
}
std::tuple<Tensor, std::vector<Tensor>, int64_t> nested(const Tensor& x, const std::vector<Tensor>& more, int64_t n,
                                                        const std::optional<Tensor>& none) {
  Tensor sum = x * n;
  if (none.has_value()) sum = sum + *none;
  for (const Tensor& t : more) sum = sum + t;
  return {sum, {sum.relu(), more[0]}, n};
}
// Sizes that are multiples, sums and quotients of the named ones; a view of an input is written.
Tensor sizes(Tensor x, const Tensor& y) {
  const int64_t n = x.size(0);
  x.slice(0, 1).mul_(2);
  const Tensor padded = at::constant_pad_nd(x, {0, 0, 0, 3});
  const Tensor halves = torch::ones({(n + 1) / 2}) * padded.reshape({3 * (n + 3)}).sum();
  return halves.sum() + y.slice(0, 0, n).view({n * y.size(1)}).expand({2, n * y.size(1)});
}

}  // namespace

std::vector<ExportedModel> exported_models() {
  torch::manual_seed(11);
  const Dim batch("batch"), length("length", 2, 20);
  std::vector<ExportedModel> all;
  const auto ids = [](at::IntArrayRef sizes, int64_t high) { return torch::randint(0, high, sizes, kLong); };

  nn::Sequential mlp(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 3), nn::LogSoftmax(1));
  all.push_back(model("mlp", mlp, std::tuple(torch::randn({3, 4})), {{{0, Dim("batch", 1, 64)}}},
                      {{torch::randn({3, 4})}, {torch::randn({1, 4})}, {torch::randn({64, 4})}}));
  for (const bool training : {false, true}) {
    ConvNet net;
    // Statistics of something.
    for (int i = 0; i < 3; ++i) net(torch::randn({4, 3, 8, 8}) + 1);
    net->train(training);
    all.push_back(model(training ? "conv_net_training" : "conv_net", net, std::tuple(torch::randn({2, 3, 8, 8})),
                        {{{0, batch}}}, {{torch::randn({2, 3, 8, 8})}, {torch::randn({5, 3, 8, 8})}}));
  }
  all.push_back(model("lstm", Recurrent(), std::tuple(torch::randn({2, 6, 5})), {{{0, Dim("batch", 1, 30)}}},
                      {{torch::randn({2, 6, 5})}, {torch::randn({4, 6, 5})}, {torch::randn({1, 6, 5})}}));
  all.push_back(model("encoder", Encoder(), std::tuple(torch::randn({5, 3, 8})), {{{0, length}, {1, Dim::DYNAMIC}}},
                      {{torch::randn({5, 3, 8})}, {torch::randn({9, 2, 8})}}));
  all.push_back(model("gpt", Gpt(), std::tuple(ids({2, 6}, 13)), {{{0, batch}, {1, length}}},
                      {{ids({2, 6}, 13)}, {ids({3, 20}, 13)}, {ids({1, 6}, 13)}}));
  all.push_back(model("shared", Shared(), std::tuple(ids({4}, 11)), {{{0, batch}}}, {{ids({4}, 11)}, {ids({7}, 11)}}));
  all.push_back(model("branches", &branches, std::tuple(torch::randn({4, 3}), torch::randn({3})), {{{0, batch}}},
                      {{torch::rand({4, 3}), torch::randn({3})}, {-torch::rand({2, 3}), torch::randn({3})}}));
  all.push_back(model("loops", &loops, std::tuple(torch::randn({4, 3}), torch::randn({3})), {{{0, Dim("rows", 2)}}},
                      {{torch::randn({4, 3}), torch::randn({3})}, {torch::randn({6, 3}), torch::randn({3})}}));
  all.push_back(model("nested", &nested,
                      std::tuple(torch::randn({3}), std::vector<Tensor>{torch::randn({3}), torch::randn({1})},
                                 int64_t{4}, std::optional<Tensor>()),
                      {}, {{torch::randn({3}), torch::randn({3}), torch::randn({1}), 4, IValue()}}));
  const Dim half("half", 2, 40);
  all.push_back(model("sizes", &sizes, std::tuple(torch::randn({4, 3}), torch::randn({9, 2})),
                      {{{0, half}}, {{0, 2 * half + 1}}},
                      {{torch::randn({4, 3}), torch::randn({9, 2})}, {torch::randn({7, 3}), torch::randn({15, 2})}}));
  return all;
}

}  // namespace torch::testing
