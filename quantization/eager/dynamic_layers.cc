#include "quantization/eager/dynamic_layers.h"

#include <utility>
#include <variant>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::nn::quantized::dynamic {

using at::Tensor;
using c10::IValue;

namespace {

const at::TensorOptions& floats() {
  static const at::TensorOptions options = at::TensorOptions().dtype(c10::ScalarType::Float);
  return options;
}

// As the state has it: quantized, or in half precision.
Tensor stored(const Tensor& weight, const WeightQuantizer& quantize) {
  const Tensor w = detail::constant(weight);
  return quantize != nullptr ? quantize(w) : at::to(w, c10::ScalarType::Half);
}

IValue packed(const Tensor& weight, const Tensor& bias) {
  if (weight.is_quantized()) return detail::call("quantized::linear_prepack", "", {weight, detail::maybe(bias)})[0];
  return detail::call("quantized::linear_prepack_fp16", "",
                      {at::to(weight, c10::ScalarType::Float), detail::maybe(bias)})[0];
}

const IValue& part(const std::vector<std::pair<std::string, IValue>>& parts, const std::string& name) {
  for (const auto& [key, value] : parts) {
    if (key == name) return value;
  }
  TORCH_CHECK(false, "quantized::dynamic: there is no '", name, "'");
}

void check_weight(const Tensor& own, const Tensor& other, const std::string& name) {
  TORCH_CHECK(own.scalar_type() == other.scalar_type(), "quantized::dynamic: expected '", name, "' of dtype ",
              own.scalar_type(), ", but got ", other.scalar_type());
}

void replace_parts(std::vector<std::pair<std::string, IValue>>& own,
                   const std::vector<std::pair<std::string, IValue>>& parts) {
  for (const auto& [name, value] : parts) check_weight(part(own, name).toTensor(), value.toTensor(), name);
  for (const auto& [name, value] : parts) {
    for (auto& [key, mine] : own) {
      if (key == name) mine = detail::constant(value.toTensor());
    }
  }
}

}  // namespace

template <bool kRelu>
LinearOf<kRelu>::LinearOf(const Tensor& weight, const Tensor& bias)
    : Module(kRelu ? "DynamicQuantizedLinearReLU" : "DynamicQuantizedLinear"), QuantizedLayer(1, 0) {
  set_weight_bias(weight, bias);
}
template <bool kRelu>
void LinearOf<kRelu>::set_weight_bias(const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK(weight.defined() && weight.dim() == 2 &&
                  (weight.is_quantized() ? weight.scalar_type() == c10::ScalarType::QInt8 : weight.is_floating_point()),
              "quantized::dynamic::Linear: expected a weight of 2 dimensions, QInt8 or floating-point");
  half_ = !weight.is_quantized();
  packed_ = packed(detail::constant(weight), detail::constant(bias));
  op_ = detail::find_operator(std::string("quantized::linear") + (kRelu ? "_relu" : "") + "_dynamic" +
                              (half_ ? "_fp16" : ""));
}
template <bool kRelu>
Tensor LinearOf<kRelu>::forward(const Tensor& x) {
  if (half_) return detail::call_for_tensor(*op_, {x, packed_});
  // Sums of products of bytes are exact here, but PyTorch's default is a range of seven bits.
  return detail::call_for_tensor(*op_, {x, packed_, true});
}
template <bool kRelu>
std::tuple<Tensor, Tensor> LinearOf<kRelu>::_weight_bias() const {
  const auto both = detail::call(half_ ? "quantized::linear_unpack_fp16" : "quantized::linear_unpack", "", {packed_});
  return {both.at(0).toTensor(), detail::tensor_or_none(both.at(1))};
}
template <bool kRelu>
StatefulLayer::Parts LinearOf<kRelu>::parts() const {
  Parts all = QuantizedLayer::parts();
  const auto [weight, bias] = _weight_bias();
  const auto dtype = half_ ? c10::ScalarType::Half : c10::ScalarType::QInt8;
  all.emplace_back("_packed_params.dtype", static_cast<int64_t>(dtype));
  all.emplace_back("_packed_params._packed_params", c10::ivalue::Tuple::create({IValue(weight), detail::maybe(bias)}));
  return all;
}
template <bool kRelu>
void LinearOf<kRelu>::set_parts(const Parts& parts) {
  for (const auto& [name, value] : parts) {
    if (name != "_packed_params._packed_params") continue;
    const auto& both = value.toTupleRef().elements();
    set_weight_bias(both.at(0).toTensor(), detail::tensor_or_none(both.at(1)));
  }
}
template <bool kRelu>
std::string LinearOf<kRelu>::extra_repr() const {
  const Tensor w = weight();
  return c10::str("in_features=", w.size(1), ", out_features=", w.size(0), ", dtype=torch.",
                  half_ ? "float16" : "qint8");
}
template class LinearOf<false>;
template class LinearOf<true>;

RecurrentLayer::RecurrentLayer(const nn::detail::RNNLayer& of, const char* op, const WeightQuantizer& quantize)
    : options(of.options_base), op_(detail::find_operator(op, "input")), half_(quantize == nullptr) {
  TORCH_CHECK_NOT_IMPLEMENTED(options.proj_size() == 0, op, ": projections");
  for (const auto& item : of.named_parameters(false)) {
    const Tensor& t = item.value();
    weights_.emplace_back(item.key(), t.dim() == 2 ? stored(t, quantize) : detail::constant(t));
  }
  pack();
}

void RecurrentLayer::pack() {
  std::vector<IValue> cells;
  for (int64_t layer = 0; layer < options.num_layers(); ++layer) {
    for (const char* direction : {"", "_reverse"}) {
      if (*direction != 0 && !options.bidirectional()) continue;
      const std::string end = "_l" + std::to_string(layer) + direction;
      const auto both = [&](const std::string& which) {
        const Tensor w = part(weights_, "weight_" + which + end).toTensor();
        const Tensor b =
            options.bias() ? part(weights_, "bias_" + which + end).toTensor() : at::zeros({w.size(0)}, floats());
        return std::pair(packed(w, b), b);
      };
      const auto [of_input, input_bias] = both("ih");
      const auto [of_hidden, hidden_bias] = both("hh");
      cells.push_back(half_ ? detail::call("quantized::make_quantized_cell_params_fp16", "", {of_input, of_hidden})[0]
                            : detail::call("quantized::make_quantized_cell_params_dynamic", "",
                                           {of_input, of_hidden, input_bias, hidden_bias, true})[0]);
    }
  }
  cells_ = std::move(cells);
}

void RecurrentLayer::set_parts(const Parts& parts) {
  replace_parts(weights_, parts);
  pack();
}

std::string RecurrentLayer::extra_repr() const {
  std::string text = c10::str(options.input_size(), ", ", options.hidden_size());
  if (options.num_layers() != 1) text += c10::str(", num_layers=", options.num_layers());
  if (!options.bias()) text += ", bias=False";
  if (options.batch_first()) text += ", batch_first=True";
  if (options.dropout() != 0) text += ", dropout=" + detail::float_text(options.dropout());
  if (options.bidirectional()) text += ", bidirectional=True";
  return text;
}

std::vector<Tensor> RecurrentLayer::run(const Tensor& input, std::vector<Tensor> states) {
  TORCH_CHECK(input.defined() && (input.dim() == 2 || input.dim() == 3), name(),
              ": Expected input to be 2D or 3D, got ", input.defined() ? input.dim() : 0, "D instead");
  const bool batched = input.dim() == 3;
  const int64_t batch_dim = options.batch_first() ? 0 : 1;
  const Tensor x = batched ? input : at::unsqueeze(input, batch_dim);
  TORCH_CHECK(x.size(2) == options.input_size(), name(), ": input.size(-1) must be equal to input_size. Expected ",
              options.input_size(), ", got ", x.size(2));
  const std::vector<int64_t> sizes{options.num_layers() * (options.bidirectional() ? 2 : 1), x.size(batch_dim),
                                   options.hidden_size()};
  for (Tensor& state : states) {
    if (!state.defined()) {
      state = at::zeros(sizes, x.options());
      continue;
    }
    if (!batched && state.dim() == 2) state = at::unsqueeze(state, 1);
    TORCH_CHECK(state.sizes() == at::IntArrayRef(sizes), name(), ": Expected hidden size ", at::IntArrayRef(sizes),
                ", got ", state.sizes());
  }
  c10::impl::GenericList params(cells_.at(0).type());
  for (const IValue& cell : cells_) params.push_back(cell);
  const bool lstm = states.size() == 2;
  c10::Stack stack{x,
                   lstm ? IValue(states) : IValue(states[0]),
                   params,
                   options.bias(),
                   options.num_layers(),
                   options.dropout(),
                   is_training(),
                   options.bidirectional(),
                   options.batch_first()};
  if (lstm) {
    stack.emplace_back(half_ ? c10::ScalarType::Half : c10::ScalarType::QInt8);
    stack.emplace_back(true);
  }
  op_.callBoxed(stack);
  std::vector<Tensor> results;
  for (size_t i = 0; i < stack.size(); ++i) {
    Tensor t = stack[i].toTensor();
    results.push_back(batched ? t : at::squeeze(t, i == 0 ? batch_dim : 1));
  }
  return results;
}

std::tuple<Tensor, LSTMImpl::States> LSTMImpl::forward(const Tensor& x, std::optional<States> states) {
  const States given = states.value_or(States());
  auto all = run(x, {std::get<0>(given), std::get<1>(given)});
  return {all.at(0), {all.at(1), all.at(2)}};
}
std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& x, Tensor state) {
  auto all = run(x, {std::move(state)});
  return {all.at(0), all.at(1)};
}

RecurrentCell::RecurrentCell(const nn::detail::RNNCellLayer& of, const std::string& op, const WeightQuantizer& quantize)
    : options(of.options_base), op_(detail::find_operator(op)) {
  TORCH_CHECK_NOT_IMPLEMENTED(quantize != nullptr, op, ": weights in half precision");
  const auto zeros = [&](const Tensor& w) { return at::zeros({w.size(0)}, floats()); };
  const auto bias = [&](const Tensor& b, const Tensor& w) { return b.defined() ? detail::constant(b) : zeros(w); };
  weights_ = {{"weight_ih", stored(of.weight_ih, quantize)},
              {"weight_hh", stored(of.weight_hh, quantize)},
              {"bias_ih", bias(of.bias_ih, of.weight_ih)},
              {"bias_hh", bias(of.bias_hh, of.weight_hh)}};
  pack();
}
void RecurrentCell::pack() {
  packed_ih_ = packed(part(weights_, "weight_ih").toTensor(), part(weights_, "bias_ih").toTensor());
  packed_hh_ = packed(part(weights_, "weight_hh").toTensor(), part(weights_, "bias_hh").toTensor());
}
void RecurrentCell::set_parts(const Parts& parts) {
  replace_parts(weights_, parts);
  pack();
}
std::string RecurrentCell::extra_repr() const {
  return c10::str(options.input_size(), ", ", options.hidden_size(), options.bias() ? "" : ", bias=False");
}
std::vector<Tensor> RecurrentCell::run(const Tensor& x, std::vector<Tensor> states) const {
  TORCH_CHECK(x.defined() && (x.dim() == 1 || x.dim() == 2) && x.size(-1) == options.input_size(), name(),
              ": expected an input of 1 or 2 dimensions with ", options.input_size(), " features, but got sizes ",
              x.defined() ? x.sizes() : at::IntArrayRef());
  const bool batched = x.dim() == 2;
  const Tensor input = batched ? x : at::unsqueeze(x, 0);
  for (Tensor& state : states) {
    if (!state.defined()) state = at::zeros({input.size(0), options.hidden_size()}, input.options());
    if (state.dim() == 1) state = at::unsqueeze(state, 0);
    TORCH_CHECK(state.dim() == 2 && state.size(0) == input.size(0) && state.size(1) == options.hidden_size(), name(),
                ": expected a state of sizes [", input.size(0), ", ", options.hidden_size(), "], but got ",
                state.sizes());
  }
  c10::Stack stack{input,
                   states.size() == 2 ? IValue(states) : IValue(states[0]),
                   packed_ih_,
                   packed_hh_,
                   part(weights_, "bias_ih").toTensor(),
                   part(weights_, "bias_hh").toTensor()};
  op_.callBoxed(stack);
  std::vector<Tensor> results;
  for (const IValue& v : stack) results.push_back(batched ? v.toTensor() : at::squeeze(v.toTensor(), 0));
  return results;
}

LSTMCellImpl::States LSTMCellImpl::forward(const Tensor& x, std::optional<States> states) {
  const States given = states.value_or(States());
  auto both = run(x, {std::get<0>(given), std::get<1>(given)});
  return {both.at(0), both.at(1)};
}

RNNCellImpl::RNNCellImpl(const nn::RNNCellImpl& of, const WeightQuantizer& quantize)
    : RecurrentCell(of,
                    std::holds_alternative<enumtype::kTanh>(of.options.nonlinearity())
                        ? "quantized::quantized_rnn_tanh_cell_dynamic"
                        : "quantized::quantized_rnn_relu_cell_dynamic",
                    quantize) {}

}  // namespace torch::nn::quantized::dynamic
