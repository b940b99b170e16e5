// Programs that change buffers and inputs, or give numbers: KINDLING_PROGRAM names a function below.
#include <utility>

#include "compile/aot/capture.h"
#include "export/capture/export.h"
#include "torch/torch.h"

namespace torch {
namespace {

// A model of language, one word a call: keys and values of the words before lie in buffers.
struct DecoderImpl : nn::Module {
  static constexpr int64_t kWords = 16, kWidth = 32, kHeads = 2, kVocabulary = 11;
  DecoderImpl()
      : words(register_module("words", nn::Embedding(kVocabulary, kWidth))),
        qkv(register_module("qkv", nn::Linear(kWidth, 3 * kWidth))),
        out(register_module("out", nn::Linear(kWidth, kVocabulary))) {
    for (const char* name : {"keys", "values"})
      register_buffer(name, torch::zeros({1, kHeads, kWords, kWidth / kHeads}));
    places = register_buffer("places", torch::arange(kWords));
    length = register_buffer("length", torch::zeros({1}, kLong));
  }
  Tensor forward(const Tensor& word) {
    Tensor keys = named_buffers()["keys"], values = named_buffers()["values"];
    const auto parts = qkv(words(word)).chunk(3, -1);
    const auto heads = [](const Tensor& t) { return t.view({1, 1, kHeads, kWidth / kHeads}).transpose(1, 2); };
    keys.index_copy_(2, length, heads(parts[1]));
    values.index_copy_(2, length, heads(parts[2]));
    const Tensor seen = (places <= length).view({1, 1, 1, kWords});
    const Tensor mixed = at::scaled_dot_product_attention(heads(parts[0]), keys, values, seen);
    length.add_(1);
    return out(mixed.transpose(1, 2).reshape({1, kWidth}));
  }
  nn::Embedding words;
  nn::Linear qkv, out;
  Tensor places, length;
};
TORCH_MODULE(Decoder);

ExportedProgram decoder(bool functional) {
  const Decoder net;
  ExportOptions options;
  options.argument_names = {"word"};
  options.functional = functional;
  return export_(net, std::tuple(torch::full({1}, 3, kLong)), options);
}

// Two numbers that depend on each other, parts that are written by slices, places and masks, and what they were.
struct FilterImpl : nn::Module {
  FilterImpl() {
    a = register_buffer("a", torch::randn({3, 4}));
    b = register_buffer("b", torch::randn({3, 4}));
    line = register_buffer("line", torch::zeros({8}));
    untouched = register_buffer("untouched", torch::ones({4}));
  }
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x) {
    const Tensor before = a * 1, sum = a + b;
    a.copy_(b);
    b.copy_((sum * 0.5).tanh());
    line.slice(0, 1, 8).copy_(line.slice(0, 0, 7).clone());
    line.select(0, 0).copy_(x.sum());
    line.slice(0, 0, 8, 3).mul_(untouched[0] * 2);
    return {before, a + x, line};
  }
  Tensor a, b, line, untouched;
};
TORCH_MODULE(Filter);

ExportedProgram filter(bool functional) {
  torch::manual_seed(2);
  const Filter net;
  ExportOptions options;
  options.argument_names = {"x"};
  options.functional = functional;
  return export_(net, std::tuple(torch::randn({3, 4})), options);
}

// Inputs that are changed: one of any number of rows in place, one by what is computed of it and of the other.
Tensor smooth(Tensor rows, Tensor mean) {
  rows.mul_(0.5).add_(mean);
  const Tensor old = mean * 2;
  mean.copy_(rows.mean(0) + mean.flip({0}));
  return old + rows.sum();
}

ExportedProgram inputs(bool functional) {
  ExportOptions options;
  options.argument_names = {"rows", "mean"};
  options.functional = functional;
  options.dynamic_shapes = {{{0, Dim("n", 2, 9)}}, {}};
  return export_(smooth, std::tuple(torch::randn({4, 3}), torch::randn({3})), options);
}

// Numbers beside tensors.
std::tuple<Tensor, std::vector<int64_t>, double> measured(const Tensor& x) {
  const int64_t n = x.size(0);
  return {x.sum(), {n, n / 2, 3}, 0.25};
}

ExportedProgram numbers() {
  ExportOptions options;
  options.argument_names = {"x"};
  options.dynamic_shapes = {{{0, Dim("n", 2, 9)}}};
  return export_(measured, std::tuple(torch::randn({5, 3})), options);
}

}  // namespace

ExportedProgram make_model() {
  const c10::NoGradGuard no_grad;
  torch::manual_seed(1);
  return KINDLING_PROGRAM;
}

}  // namespace torch
