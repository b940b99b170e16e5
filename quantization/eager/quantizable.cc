#include "quantization/eager/quantizable.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/quantized/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "nn/layers/activation.h"
#include "nn/layers/linear.h"
#include "nn/module/module_access.h"
#include "nn/module/module_dict.h"

namespace torch::nn::quantizable {

using at::Tensor;

void ModuleOfParts::add_layer(const std::string& name, AnyModule layer) {
  register_module(name, layer.ptr());
  layers_.insert_or_assign(name, std::move(layer));
}
void ModuleOfParts::add_arithmetic(const std::string& name) {
  nn::quantized::FloatFunctional made;
  register_module(name, made);
  arithmetic_.insert_or_assign(name, std::move(made));
}
void ModuleOfParts::share_parts(const ModuleOfParts& other) {
  for (const auto& child : ModuleAccess::children(other)) register_module(child.key(), child.value());
  layers_ = other.layers_;
  arithmetic_ = other.arithmetic_;
}
void ModuleOfParts::clone_parts(const ModuleOfParts& other, const std::optional<c10::Device>& device) {
  for (const auto& child : ModuleAccess::children(other)) {
    const auto layer = other.layers_.find(child.key());
    if (layer != other.layers_.end()) {
      set_submodule(child.key(), layer->second.clone(device));
    } else {
      set_submodule(child.key(), child.value()->clone(device));
    }
  }
}
void ModuleOfParts::on_set_child(const std::string& name, const std::shared_ptr<Module>& child) {
  const auto layer = layers_.find(name);
  if (layer != layers_.end()) {
    TORCH_CHECK(layer->second.rebind(child), this->name(), ": submodule '", name,
                "' can be replaced by a module of another type only as an AnyModule");
    return;
  }
  const auto found = arithmetic_.find(name);
  if (found == arithmetic_.end()) return;
  if (auto of_numbers = std::dynamic_pointer_cast<nn::quantized::FloatFunctionalImpl>(child)) {
    found->second = nn::quantized::FloatFunctional(of_numbers);
  } else {
    auto of_bytes = std::dynamic_pointer_cast<nn::quantized::QFunctionalImpl>(child);
    TORCH_CHECK(of_bytes != nullptr, this->name(), ": submodule '", name, "' is arithmetic, but got a ",
                detail::class_name(*child));
    // The one before may be another module's, too.
    found->second = nn::quantized::FloatFunctional();
    found->second->call_instead(std::move(of_bytes));
  }
}
void ModuleOfParts::on_set_any_child(const std::string& name, const AnyModule& child) {
  const auto layer = layers_.find(name);
  if (layer != layers_.end()) {
    layer->second = child;
  } else {
    on_set_child(name, child.ptr());
  }
}

namespace {

// With these parameters themselves.
Linear linear_of(const Tensor& weight, const Tensor& bias) {
  Linear made(LinearOptions(weight.size(1), weight.size(0)).bias(bias.defined()));
  made->weight = made->replace_parameter("weight", weight);
  if (bias.defined()) made->bias = made->replace_parameter("bias", bias);
  return made;
}

// Numbers that are zeros, of x's dtype.
Tensor zeros_like(const Tensor& x, at::IntArrayRef sizes) {
  if (!x.is_quantized()) return at::zeros(sizes, x.options());
  const auto floats = at::TensorOptions().dtype(c10::ScalarType::Float).device(x.device());
  return at::quantize_per_tensor(at::zeros(sizes, floats), 1, 0, x.scalar_type());
}

}  // namespace

// --- LSTM ---
LSTMCellImpl::LSTMCellImpl(const nn::LSTMCellImpl& of)
    : LSTMCellImpl(of.weight_ih, of.weight_hh, of.bias_ih, of.bias_hh) {
  train(of.is_training());
}
LSTMCellImpl::LSTMCellImpl(const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& bias_ih,
                           const Tensor& bias_hh)
    : Module("QuantizableLSTMCell"),
      options(LSTMCellOptions(weight_ih.size(1), weight_hh.size(1)).bias(bias_ih.defined())) {
  add_layer("igates", AnyModule(linear_of(weight_ih, bias_ih)));
  add_layer("hgates", AnyModule(linear_of(weight_hh, bias_hh)));
  add_arithmetic("gates");
  add_layer("input_gate", AnyModule(Sigmoid()));
  add_layer("forget_gate", AnyModule(Sigmoid()));
  add_layer("cell_gate", AnyModule(Tanh()));
  add_layer("output_gate", AnyModule(Sigmoid()));
  for (const char* name : {"fgate_cx", "igate_cgate", "fgate_cx_igate_cgate", "ogate_cy"}) add_arithmetic(name);
}

LSTMCellImpl::States LSTMCellImpl::forward(const Tensor& x, std::optional<States> states) {
  TORCH_CHECK_VALUE(x.dim() == 2, "LSTMCell: expected an input [batch, input_size], but got sizes ", x.sizes());
  if (!states.has_value()) {
    const Tensor zeros = zeros_like(x, {x.size(0), options.hidden_size()});
    states = States(zeros, zeros);
  }
  const auto& [h, c] = *states;
  const Tensor gates = arithmetic("gates").add(call("igates", x), call("hgates", h));
  const std::vector<Tensor> parts = at::chunk(gates, 4, 1);
  const Tensor input = call("input_gate", parts[0]), forget = call("forget_gate", parts[1]);
  const Tensor fresh = call("cell_gate", parts[2]), output = call("output_gate", parts[3]);
  const Tensor kept = arithmetic("fgate_cx").mul(forget, c), added = arithmetic("igate_cgate").mul(input, fresh);
  const Tensor cell = arithmetic("fgate_cx_igate_cgate").add(kept, added);
  return {arithmetic("ogate_cy").mul(output, at::tanh(cell)), cell};
}

std::shared_ptr<Module> LSTMCellImpl::clone(const std::optional<c10::Device>& device) const {
  const nn::detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<LSTMCellImpl>(*this);
  copy->clone_parts(*this, device);
  return cloning.finish(copy);
}

template <bool kQuantized>
LSTMOf<kQuantized>::LSTMOf(const nn::LSTMImpl& of) requires(!kQuantized)
    : Module("QuantizableLSTM"), options(of.options) {
  TORCH_CHECK_NOT_IMPLEMENTED(options.proj_size() == 0, "quantizable::LSTM: projections are not supported");
  layers = this->register_module("layers", ModuleList());
  const auto weights = of.named_parameters(/*recurse=*/false);
  const auto weight = [&](const std::string& name) {
    const Tensor* const found = weights.find(name);
    return found == nullptr ? Tensor() : *found;
  };
  const auto direction = [&](int64_t k, const char* suffix) -> std::shared_ptr<Module> {
    const auto named = [&](const char* name) { return weight(c10::str(name, k, suffix)); };
    const LSTMCell cell(named("weight_ih_l"), named("weight_hh_l"), named("bias_ih_l"), named("bias_hh_l"));
    return ModuleDict(std::vector<std::pair<std::string, std::shared_ptr<Module>>>{{"cell", cell.ptr()}}).ptr();
  };
  for (int64_t k = 0; k < options.num_layers(); ++k) {
    std::vector<std::pair<std::string, std::shared_ptr<Module>>> directions{{"layer_fw", direction(k, "")}};
    if (options.bidirectional()) directions.emplace_back("layer_bw", direction(k, "_reverse"));
    layers->push_back(ModuleDict(directions));
  }
  this->train(of.is_training());
}
template <bool kQuantized>
LSTMOf<kQuantized>::LSTMOf(const LSTMOf<false>& observed) requires kQuantized : Module("QuantizedLSTM"),
                                                                                options(observed.options),
                                                                                layers(observed.layers) {
  this->register_module("layers", layers);
  this->train(observed.is_training());
}

template <bool kQuantized>
void LSTMOf<kQuantized>::reset() {
  // A clone gets its layers from the original's.
  layers = this->register_module("layers", ModuleList());
}

template <bool kQuantized>
LSTMCellImpl& LSTMOf<kQuantized>::cell(int64_t layer, bool backward) const {
  const auto found = layers->get_submodule(c10::str(layer, backward ? ".layer_bw.cell" : ".layer_fw.cell"));
  return *std::dynamic_pointer_cast<LSTMCellImpl>(found);
}

template <bool kQuantized>
std::tuple<Tensor, typename LSTMOf<kQuantized>::States> LSTMOf<kQuantized>::forward(const Tensor& x,
                                                                                    std::optional<States> states) {
  const bool batched = x.dim() == 3;
  TORCH_CHECK_VALUE(batched || x.dim() == 2, "LSTM: Expected input to be 2D or 3D, got ", x.dim(), "D instead");
  Tensor y = batched ? x : at::unsqueeze(x, 1);
  if (batched && options.batch_first()) y = at::transpose(y, 0, 1);
  const int64_t directions = options.bidirectional() ? 2 : 1, batch = y.size(1);
  TORCH_CHECK_VALUE(y.size(0) > 0, "LSTM: expected at least one step");
  const std::vector<int64_t> sizes{options.num_layers() * directions, batch, options.hidden_size()};
  if (!states.has_value()) {
    states = States(zeros_like(y, sizes), zeros_like(y, sizes));
  } else if (!batched) {
    states = States(at::unsqueeze(std::get<0>(*states), 1), at::unsqueeze(std::get<1>(*states), 1));
  }
  const auto& [h, c] = *states;
  TORCH_CHECK_VALUE(h.sizes() == at::IntArrayRef(sizes) && c.sizes() == at::IntArrayRef(sizes),
                    "LSTM: expected states of sizes ", at::IntArrayRef(sizes), ", but got ", h.sizes(), " and ",
                    c.sizes());

  std::vector<Tensor> last_h, last_c;
  for (int64_t k = 0; k < options.num_layers(); ++k) {
    std::vector<Tensor> results, layer_h, layer_c;
    for (int64_t d = 0; d < directions; ++d) {
      LSTMCellImpl& step = cell(k, d == 1);
      LSTMCellImpl::States now(at::select(h, 0, k * directions + d), at::select(c, 0, k * directions + d));
      std::vector<Tensor> outputs(static_cast<size_t>(y.size(0)));
      for (int64_t i = 0; i < y.size(0); ++i) {
        const int64_t t = d == 1 ? y.size(0) - 1 - i : i;
        now = step.forward(at::select(y, 0, t), now);
        outputs[static_cast<size_t>(t)] = std::get<0>(now);
      }
      results.push_back(at::stack(outputs, 0));
      layer_h.push_back(std::get<0>(now));
      layer_c.push_back(std::get<1>(now));
    }
    y = directions == 1 ? results[0] : at::cat(results, 2);
    last_h.push_back(at::stack(layer_h, 0));
    last_c.push_back(at::stack(layer_c, 0));
  }
  Tensor hn = last_h.size() == 1 ? last_h[0] : at::cat(last_h, 0);
  Tensor cn = last_c.size() == 1 ? last_c[0] : at::cat(last_c, 0);
  if (!batched) return {at::squeeze(y, 1), States(at::squeeze(hn, 1), at::squeeze(cn, 1))};
  if (options.batch_first()) y = at::transpose(y, 0, 1);
  return {y, States(hn, cn)};
}
template class LSTMOf<false>;
template class LSTMOf<true>;

// --- attention ---
template <bool kQuantized>
MultiheadAttentionOf<kQuantized>::MultiheadAttentionOf(const char* name, const MultiheadAttentionOptions& options_)
    : Module(name), options(options_) {}

template <bool kQuantized>
void MultiheadAttentionOf<kQuantized>::set_biases(const Tensor& k, const Tensor& v) {
  if (!k.defined()) return;
  bias_k = this->register_parameter("bias_k", k, k.requires_grad());
  bias_v = this->register_parameter("bias_v", v, v.requires_grad());
}

template <bool kQuantized>
MultiheadAttentionOf<kQuantized>::MultiheadAttentionOf(const nn::MultiheadAttentionImpl& of) requires(!kQuantized)
    : MultiheadAttentionOf("QuantizableMultiheadAttention", of.options) {
  const bool together = of.in_proj_weight.defined();
  const std::vector<Tensor> weights = together
                                          ? at::chunk(of.in_proj_weight, 3, 0)
                                          : std::vector<Tensor>{of.q_proj_weight, of.k_proj_weight, of.v_proj_weight};
  std::vector<Tensor> biases(3);
  if (of.in_proj_bias.defined()) biases = at::chunk(of.in_proj_bias, 3, 0);
  const auto copy = [](const Tensor& t) {
    return t.defined() ? nn::quantized::detail::constant(t).set_requires_grad(t.requires_grad()) : t;
  };
  set_biases(of.bias_k, of.bias_v);
  add_layer("out_proj", AnyModule(linear_of(of.out_proj->weight, of.out_proj->bias)));
  const char* const names[] = {"linear_Q", "linear_K", "linear_V"};
  for (size_t i = 0; i < 3; ++i) add_layer(names[i], AnyModule(linear_of(copy(weights[i]), copy(biases[i]))));
  add_arithmetic("q_scaling_product");
  for (const char* name : {"quant_attn_output", "quant_attn_output_weights"}) {
    add_layer(name, AnyModule(quantization::QuantStub()));
  }
  for (const char* name : {"dequant_q", "dequant_k", "dequant_v"}) {
    add_layer(name, AnyModule(quantization::DeQuantStub()));
  }
  this->train(of.is_training());
}
template <bool kQuantized>
MultiheadAttentionOf<kQuantized>::MultiheadAttentionOf(const MultiheadAttentionOf<false>& observed) requires kQuantized
    : MultiheadAttentionOf("QuantizedMultiheadAttention", observed.options) {
  set_biases(nn::quantized::detail::constant(observed.bias_k), nn::quantized::detail::constant(observed.bias_v));
  share_parts(observed);
  this->train(observed.is_training());
}

template <bool kQuantized>
std::shared_ptr<Module> MultiheadAttentionOf<kQuantized>::clone(const std::optional<c10::Device>& device) const {
  const nn::detail::Cloning cloning(*this);
  if (auto made = cloning.made()) return made;
  auto copy = std::make_shared<MultiheadAttentionOf>(*this);
  copy->clone_parts(*this, device);
  if (bias_k.defined()) {
    copy->bias_k = copy->replace_parameter("bias_k", cloning.tensor(bias_k, device));
    copy->bias_v = copy->replace_parameter("bias_v", cloning.tensor(bias_v, device));
  }
  return cloning.finish(copy);
}

namespace {

// [L, N, E] as heads, [N * heads, L, E / heads].
Tensor heads_of(const Tensor& x, int64_t heads) {
  const Tensor apart = at::reshape(at::contiguous(x), {x.size(0), x.size(1) * heads, x.size(2) / heads});
  return at::transpose(apart, 0, 1);
}

// The same with a column, or row, more.
Tensor with_more(const Tensor& x, const Tensor& more, int64_t dim) {
  return at::cat({x, at::to(more, x.scalar_type())}, dim);
}
// Masks let all see the key that was added.
Tensor padded_mask(const Tensor& mask) {
  if (!mask.defined()) return mask;
  std::vector<int64_t> sizes = mask.sizes().vec();
  sizes.back() = 1;
  return with_more(mask, at::zeros(sizes, mask.options()), -1);
}

// True, or numbers that are added.
Tensor masked(const Tensor& scores, const Tensor& mask) {
  if (!mask.defined()) return scores;
  if (mask.is_floating_point()) return at::add(scores, mask);
  return at::masked_fill(scores, at::to(mask, c10::ScalarType::Bool), -std::numeric_limits<double>::infinity());
}

}  // namespace

template <bool kQuantized>
std::tuple<Tensor, Tensor> MultiheadAttentionOf<kQuantized>::forward(const Tensor& query, const Tensor& key,
                                                                     const Tensor& value,
                                                                     const Tensor& key_padding_mask, bool need_weights,
                                                                     const Tensor& attn_mask, bool average_attn_weights,
                                                                     bool is_causal) {
  TORCH_CHECK_NOT_IMPLEMENTED(!is_causal, "causal mask not supported by AO MHA module");
  TORCH_CHECK_VALUE(query.dim() == 3 && key.dim() == 3 && value.dim() == 3,
                    "MultiheadAttention: expected inputs of three dimensions, but got ", query.dim(), ", ", key.dim(),
                    " and ", value.dim());
  const auto steps_first = [&](const Tensor& x) { return options.batch_first() ? at::transpose(x, 0, 1) : x; };
  const int64_t heads = options.num_heads(), head_dim = options.embed_dim() / heads;
  const Tensor scaled =
      arithmetic("q_scaling_product").mul_scalar(call("linear_Q", steps_first(query)), 1 / std::sqrt(double(head_dim)));
  Tensor q = call("dequant_q", scaled), k = call("dequant_k", call("linear_K", steps_first(key))),
         v = call("dequant_v", call("linear_V", steps_first(value)));
  const int64_t steps = q.size(0), batch = q.size(1);
  TORCH_CHECK_VALUE(k.size(1) == batch && v.size(1) == batch && k.size(0) == v.size(0),
                    "MultiheadAttention: expected as many keys as values, and a batch of ", batch, ", but got sizes ",
                    k.sizes(), " and ", v.sizes());
  const int64_t keys = k.size(0);
  TORCH_CHECK_VALUE(!attn_mask.defined() || attn_mask.dim() == 2 || attn_mask.dim() == 3, "attn_mask's dimension ",
                    attn_mask.defined() ? attn_mask.dim() : 0, " is not supported");
  if (attn_mask.defined()) {
    const bool fits = attn_mask.size(-2) == steps && attn_mask.size(-1) == keys &&
                      (attn_mask.dim() == 2 || attn_mask.size(0) == batch * heads);
    TORCH_CHECK_VALUE(fits, "The size of the ", attn_mask.dim(), "D attn_mask is not correct.");
  }
  TORCH_CHECK_VALUE(!key_padding_mask.defined() || key_padding_mask.sizes() == at::IntArrayRef({batch, keys}),
                    "MultiheadAttention: expected a key_padding_mask [", batch, ", ", keys, "]");

  Tensor mask = attn_mask, padding = key_padding_mask;
  if (bias_k.defined()) {
    k = with_more(k, at::expand(bias_k, {1, batch, options.embed_dim()}), 0);
    v = with_more(v, at::expand(bias_v, {1, batch, options.embed_dim()}), 0);
    mask = padded_mask(mask);
    padding = padded_mask(padding);
  }
  q = heads_of(q, heads);
  k = heads_of(k, heads);
  v = heads_of(v, heads);
  if (options.add_zero_attn()) {
    const Tensor zero = at::zeros({k.size(0), 1, head_dim}, k.options());
    k = at::cat({k, zero}, 1);
    v = at::cat({v, zero}, 1);
    mask = padded_mask(mask);
    padding = padded_mask(padding);
  }
  Tensor weights = masked(at::bmm(q, at::transpose(k, 1, 2)), mask);
  const std::vector<int64_t> by_head{batch, heads, steps, k.size(1)};
  if (padding.defined()) {
    weights = masked(at::reshape(weights, by_head), at::reshape(padding, {batch, 1, 1, k.size(1)}));
    weights = at::reshape(weights, {batch * heads, steps, k.size(1)});
  }
  weights = at::dropout(at::softmax(weights, -1), options.dropout(), this->is_training());
  const Tensor seen =
      at::reshape(at::contiguous(at::transpose(at::bmm(weights, v), 0, 1)), {steps, batch, options.embed_dim()});
  Tensor output = call("out_proj", call("quant_attn_output", seen));
  if (options.batch_first()) output = at::transpose(output, 0, 1);
  if (!need_weights) return {output, Tensor()};
  weights = call("quant_attn_output_weights", at::reshape(weights, by_head));
  return {output, average_attn_weights ? at::mean(weights, {1}) : weights};
}
template class MultiheadAttentionOf<false>;
template class MultiheadAttentionOf<true>;

}  // namespace torch::nn::quantizable
