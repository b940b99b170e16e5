#include "nn/layers/rnn.h"

#include <cmath>
#include <set>

#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/rnn/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/util/warning.h"
#include "nn/functional/optional_tensor.h"
#include "nn/init/init.h"

namespace torch::nn {
namespace detail {
namespace {

using utils::rnn::PackedSequence;

bool is_lstm(const RNNOptionsBase& o) {
  return std::holds_alternative<enumtype::kLSTM>(o.mode());
}
int64_t gates_of(const RNNOptionsBase& o) {
  return is_lstm(o) ? 4 : std::holds_alternative<enumtype::kGRU>(o.mode()) ? 3 : 1;
}
int64_t directions(const RNNOptionsBase& o) {
  return o.bidirectional() ? 2 : 1;
}
const char* text(bool b) {
  return b ? "true" : "false";
}

void check_options(const RNNOptionsBase& o) {
  TORCH_CHECK_VALUE(o.input_size() >= 0, "input_size must not be negative, got ", o.input_size());
  TORCH_CHECK_VALUE(o.hidden_size() > 0, "hidden_size must be greater than zero, got ", o.hidden_size());
  TORCH_CHECK_VALUE(o.num_layers() > 0, "num_layers must be greater than zero, got ", o.num_layers());
  TORCH_CHECK_VALUE(
      o.dropout() >= 0 && o.dropout() <= 1,
      "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, got ",
      o.dropout());
  TORCH_CHECK_VALUE(o.proj_size() >= 0, "proj_size should be a positive integer or zero to disable projections, got ",
                    o.proj_size());
  TORCH_CHECK_VALUE(o.proj_size() < o.hidden_size(), "proj_size has to be smaller than hidden_size, got ",
                    o.proj_size(), " and ", o.hidden_size());
  TORCH_CHECK_VALUE(o.proj_size() == 0 || is_lstm(o), "proj_size argument is only supported for LSTM, not RNN or GRU");
  if (o.dropout() > 0 && o.num_layers() == 1) {
    TORCH_WARN(
        "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
        "greater "
        "than 1, but got dropout=",
        o.dropout(), " and num_layers=", o.num_layers());
  }
}

// Calls f(name, sizes) for each parameter, in the order of registration.
template <typename F>
void for_parameters(const RNNOptionsBase& o, const F& f) {
  const int64_t rows = gates_of(o) * o.hidden_size(), state = o.proj_size() > 0 ? o.proj_size() : o.hidden_size();
  for (int64_t layer = 0; layer < o.num_layers(); ++layer) {
    for (int64_t direction = 0; direction < directions(o); ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      const int64_t width = layer == 0 ? o.input_size() : state * directions(o);
      f("weight_ih" + suffix, std::vector<int64_t>{rows, width});
      f("weight_hh" + suffix, std::vector<int64_t>{rows, state});
      if (o.bias()) {
        f("bias_ih" + suffix, std::vector<int64_t>{rows});
        f("bias_hh" + suffix, std::vector<int64_t>{rows});
      }
      if (o.proj_size() > 0) f("weight_hr" + suffix, std::vector<int64_t>{o.proj_size(), o.hidden_size()});
    }
  }
}

void make_uniform(Module& module, int64_t hidden_size) {
  const double bound = hidden_size > 0 ? 1 / std::sqrt(static_cast<double>(hidden_size)) : 0;
  for (at::Tensor& weight : module.parameters(/*recurse=*/false)) init::uniform_(weight, -bound, bound);
}

at::Tensor permuted(const at::Tensor& states, const at::Tensor& order) {
  return order.defined() ? at::index_select(states, 1, order) : states;
}

template <typename T>
std::vector<at::Tensor> list_of(const T& states) {
  return states.has_value() ? std::vector<at::Tensor>{std::get<0>(*states), std::get<1>(*states)}
                            : std::vector<at::Tensor>();
}
std::vector<at::Tensor> list_of(const at::Tensor& state) {
  return state.defined() ? std::vector<at::Tensor>{state} : std::vector<at::Tensor>();
}

template <typename Options>
RNNOptionsBase base_of(RNNOptionsBase::rnn_options_base_mode_t mode, const Options& o, int64_t proj_size = 0) {
  return RNNOptionsBase(mode, o.input_size(), o.hidden_size(), o.num_layers(), o.bias(), o.batch_first(), o.dropout(),
                        o.bidirectional(), proj_size);
}
RNNOptionsBase::rnn_options_base_mode_t mode_of(const RNNOptions::nonlinearity_t& nonlinearity) {
  if (std::holds_alternative<enumtype::kReLU>(nonlinearity)) return torch::kRNN_RELU;
  return torch::kRNN_TANH;
}

PackedSequence packed_like(const PackedSequence& input, const at::Tensor& data) {
  return PackedSequence(data, input.batch_sizes(), input.sorted_indices(), input.unsorted_indices());
}

}  // namespace

void RNNLayer::make_parameters() {
  check_options(options_base);
  for_parameters(options_base, [&](const std::string& name, const std::vector<int64_t>& sizes) {
    register_parameter(name, at::empty(sizes));
  });
  reset_parameters();
}

at::Tensor* RNNLayer::tensor_member(const std::string& name) {
  if (at::Tensor* weight = parameters_.find(name)) {
    // Where it is about to be taken off the list, its place is known already.
    if (!computed_weights_.contains(name)) computed_weights_.insert(name, at::Tensor());
    return weight;
  }
  return computed_weights_.find(name);
}

void RNNLayer::reset_parameters() {
  make_uniform(*this, options_base.hidden_size());
}

std::vector<at::Tensor> RNNLayer::all_weights() const {
  std::vector<at::Tensor> weights;
  for_parameters(options_base, [&](const std::string& name, const std::vector<int64_t>&) {
    const at::Tensor* weight = parameters_.find(name);
    if (weight == nullptr) weight = computed_weights_.find(name);
    TORCH_CHECK(weight != nullptr && weight->defined(), class_name(*this), " has no parameter ", name);
    weights.push_back(*weight);
  });
  return weights;
}

void RNNLayer::flatten_parameters() {
  const RNNOptionsBase& o = options_base;
  std::vector<at::Tensor> weights;
  bool fit = o.input_size() > 0;
  for_parameters(o, [&](const std::string& name, const std::vector<int64_t>& sizes) {
    const at::Tensor* weight = parameters_.find(name);
    fit =
        fit && weight != nullptr && weight->defined() && weight->is_cuda() && weight->sizes() == at::IntArrayRef(sizes);
    if (fit) weights.push_back(*weight);
  });
  if (!fit || !at::_use_cudnn_rnn_flatten_weight()) return;
  const at::ScalarType dtype = weights[0].scalar_type();
  if (dtype != at::kFloat && dtype != at::kDouble && dtype != at::kHalf && dtype != at::kBFloat16) return;
  std::set<const void*> places;
  for (const at::Tensor& weight : weights) {
    if (weight.scalar_type() != dtype || weight.device() != weights[0].device()) return;
    if (!places.insert(weight.const_data_ptr()).second) return;
  }
  const int64_t mode = is_lstm(o)                                              ? 2
                       : std::holds_alternative<enumtype::kGRU>(o.mode())      ? 3
                       : std::holds_alternative<enumtype::kRNN_TANH>(o.mode()) ? 1
                                                                               : 0;
  const c10::NoGradGuard no_grad;
  at::_cudnn_rnn_flatten_weight(weights, static_cast<int64_t>(weights.size()) / (o.num_layers() * directions(o)),
                                o.input_size(), mode, o.hidden_size(), o.proj_size(), o.num_layers(), o.batch_first(),
                                o.bidirectional());
}

void RNNLayer::convert(const std::optional<c10::Device>& device, const std::optional<Dtype>& dtype, bool non_blocking) {
  Module::convert(device, dtype, non_blocking);
  flatten_parameters();
}

void RNNLayer::pretty_print(std::ostream& stream) const {
  const RNNOptionsBase& o = options_base;
  const std::string projection = o.proj_size() > 0 ? c10::str(", proj_size=", o.proj_size()) : "";
  put_text_with_words(stream, c10::str("torch::nn::", class_name(*this), "(input_size=", o.input_size(),
                                       ", hidden_size=", o.hidden_size(), ", num_layers=", o.num_layers(),
                                       ", bias=", text(o.bias()), ", batch_first=", text(o.batch_first()), ", dropout=",
                                       o.dropout(), ", bidirectional=", text(o.bidirectional()), projection, ")"));
}

void RNNLayer::check_input(const at::Tensor& input) const {
  const at::Tensor weight = all_weights()[0];
  TORCH_CHECK_VALUE(input.scalar_type() == weight.scalar_type(), "RNN input dtype (", input.scalar_type(),
                    ") does not match weight dtype (", weight.scalar_type(), "). Convert input: input.to(",
                    weight.scalar_type(), "), or convert model: model.to(", input.scalar_type(), ")");
  TORCH_CHECK(input.size(-1) == options_base.input_size(), "input.size(-1) must be equal to input_size. Expected ",
              options_base.input_size(), ", got ", input.size(-1));
}

void RNNLayer::check_states(const std::vector<at::Tensor>& states, int64_t batch, bool batched) const {
  const RNNOptionsBase& o = options_base;
  for (size_t i = 0; i < states.size(); ++i) {
    const std::string which = states.size() == 1 ? "" : c10::str("[", i, "]");
    TORCH_CHECK(states[i].defined(), class_name(*this), ": Expected hidden", which, " to be defined");
    TORCH_CHECK(states[i].dim() == (batched ? 3 : 2), class_name(*this), ": For ",
                batched ? "batched 3-D" : "unbatched 2-D", " input, hidden", which, " should also be ", batched ? 3 : 2,
                "-D but got ", states[i].dim(), "-D tensor");
    const int64_t width = i == 0 && o.proj_size() > 0 ? o.proj_size() : o.hidden_size();
    std::vector<int64_t> expected{o.num_layers() * directions(o), batch, width};
    if (!batched) expected.erase(expected.begin() + 1);
    TORCH_CHECK(states[i].sizes() == at::IntArrayRef(expected), "Expected hidden", which, " size ",
                at::IntArrayRef(expected), ", got ", states[i].sizes());
  }
}

std::vector<at::Tensor> RNNLayer::states_or_zeros(const std::vector<at::Tensor>& states, const at::Tensor& input,
                                                  int64_t batch) const {
  if (!states.empty()) return states;
  const RNNOptionsBase& o = options_base;
  const int64_t parts = o.num_layers() * directions(o);
  const at::Tensor h = at::zeros({parts, batch, o.proj_size() > 0 ? o.proj_size() : o.hidden_size()}, input.options());
  if (!is_lstm(o)) return {h};
  return {h, at::zeros({parts, batch, o.hidden_size()}, input.options())};
}

RNNLayer::Call RNNLayer::begin(const at::Tensor& input, const std::vector<at::Tensor>& states) const {
  TORCH_CHECK_VALUE(input.dim() == 2 || input.dim() == 3, class_name(*this),
                    ": input must have 2 or 3 dimensions, got ", input.dim());
  check_input(input);
  const bool batched = input.dim() == 3;
  const int64_t batch_dim = options_base.batch_first() ? 0 : 1;
  Call call{batched ? input : at::unsqueeze(input, batch_dim), {}, {}, batched};
  check_states(states, call.input.size(batch_dim), batched);
  call.states = states_or_zeros(states, input, call.input.size(batch_dim));
  if (batched || states.empty()) return call;
  for (at::Tensor& state : call.states) state = at::unsqueeze(state, 1);
  return call;
}

RNNLayer::Call RNNLayer::begin(const PackedSequence& input, const std::vector<at::Tensor>& states) const {
  TORCH_CHECK(input.data().dim() == 2, "input must have 2 dimensions, got ", input.data().dim());
  TORCH_CHECK(input.batch_sizes().defined() && input.batch_sizes().numel() > 0, class_name(*this),
              ": the packed sequence has no batch_sizes");
  check_input(input.data());
  const int64_t batch = at::contiguous(input.batch_sizes()).data_ptr<int64_t>()[0];
  check_states(states, batch, true);
  Call call{input.data(), input.batch_sizes(), states_or_zeros(states, input.data(), batch), true};
  if (states.empty()) return call;
  for (at::Tensor& state : call.states) state = permuted(state, input.sorted_indices());
  return call;
}

std::vector<at::Tensor> RNNLayer::run(const Call& call) const {
  const RNNOptionsBase& o = options_base;
  const std::vector<at::Tensor> weights = all_weights();
  // An operator's dense and packed forms are overloads of one name.
  const auto call_with = [&](auto op, const auto& states) {
    return call.batch_sizes.defined() ? op(call.input, call.batch_sizes, states, weights, o.bias(), o.num_layers(),
                                           o.dropout(), is_training(), o.bidirectional())
                                      : op(call.input, states, weights, o.bias(), o.num_layers(), o.dropout(),
                                           is_training(), o.bidirectional(), o.batch_first());
  };
  const auto of_one_state = [&]() -> std::tuple<at::Tensor, at::Tensor> {
    const at::Tensor& h = call.states[0];
    if (std::holds_alternative<enumtype::kGRU>(o.mode()))
      return call_with([](const auto&... a) { return at::gru(a...); }, h);
    if (std::holds_alternative<enumtype::kRNN_RELU>(o.mode()))
      return call_with([](const auto&... a) { return at::rnn_relu(a...); }, h);
    return call_with([](const auto&... a) { return at::rnn_tanh(a...); }, h);
  };
  std::vector<at::Tensor> r;
  if (is_lstm(o)) {
    auto [output, h, c] = call_with([](const auto&... a) { return at::lstm(a...); }, call.states);
    r = {output, h, c};
  } else {
    auto [output, h] = of_one_state();
    r = {output, h};
  }
  if (call.batched) return r;
  r[0] = at::squeeze(r[0], o.batch_first() ? 0 : 1);
  for (size_t i = 1; i < r.size(); ++i) r[i] = at::squeeze(r[i], 1);
  return r;
}

std::tuple<at::Tensor, at::Tensor> RNNLayer::run_one(const at::Tensor& input, const at::Tensor& hx) const {
  const std::vector<at::Tensor> r = run(begin(input, list_of(hx)));
  return {r[0], r[1]};
}

std::tuple<PackedSequence, at::Tensor> RNNLayer::run_one(const PackedSequence& input, const at::Tensor& hx) const {
  const std::vector<at::Tensor> r = run(begin(input, list_of(hx)));
  return {packed_like(input, r[0]), permuted(r[1], input.unsorted_indices())};
}

void RNNCellLayer::make_parameters() {
  const RNNCellOptionsBase& o = options_base;
  TORCH_CHECK_VALUE(o.input_size() >= 0 && o.hidden_size() >= 0, class_name(*this),
                    ": input_size and hidden_size must not be negative, got ", o.input_size(), " and ",
                    o.hidden_size());
  const int64_t rows = o.num_chunks() * o.hidden_size();
  const auto bias = [&](const char* name) {
    return o.bias() ? register_parameter(name, at::empty({rows})) : register_parameter(name, at::Tensor(), false);
  };
  weight_ih = register_parameter("weight_ih", at::empty({rows, o.input_size()}));
  weight_hh = register_parameter("weight_hh", at::empty({rows, o.hidden_size()}));
  bias_ih = bias("bias_ih");
  bias_hh = bias("bias_hh");
  reset_parameters();
}

void RNNCellLayer::reset_parameters() {
  make_uniform(*this, options_base.hidden_size());
}

std::string RNNCellLayer::get_nonlinearity_str() const {
  return "";
}

void RNNCellLayer::pretty_print(std::ostream& stream) const {
  const RNNCellOptionsBase& o = options_base;
  const std::string nonlinearity = get_nonlinearity_str();
  put_text(stream,
           c10::str("torch::nn::", class_name(*this), "(", o.input_size(), ", ", o.hidden_size(),
                    o.bias() ? "" : ", bias=false",
                    nonlinearity.empty() || nonlinearity == "kTanh" ? "" : ", nonlinearity=" + nonlinearity, ")"));
}

at::Tensor RNNCellLayer::batched_input(const at::Tensor& input) const {
  TORCH_CHECK_VALUE(input.dim() == 1 || input.dim() == 2, class_name(*this), ": Expected input to be 1D or 2D, got ",
                    input.dim(), "D instead");
  TORCH_CHECK(input.size(-1) == options_base.input_size(), "input has inconsistent input_size: got ", input.size(-1),
              " expected ", options_base.input_size());
  return input.dim() == 2 ? input : at::unsqueeze(input, 0);
}

at::Tensor RNNCellLayer::batched_state(const at::Tensor& input, const at::Tensor& state, const char* label) const {
  const int64_t batch = input.dim() == 2 ? input.size(0) : 1;
  if (!state.defined()) return at::zeros({batch, options_base.hidden_size()}, input.options());
  TORCH_CHECK_VALUE(state.dim() == 1 || state.dim() == 2, class_name(*this), ": Expected hidden", label,
                    " to be 1D or 2D, got ", state.dim(), "D instead");
  const at::Tensor rows = state.dim() == 2 ? state : at::unsqueeze(state, 0);
  TORCH_CHECK(rows.size(0) == batch, "Input batch size ", batch, " doesn't match hidden", label, " batch size ",
              rows.size(0));
  TORCH_CHECK(rows.size(1) == options_base.hidden_size(), "hidden", label, " has inconsistent hidden_size: got ",
              rows.size(1), ", expected ", options_base.hidden_size());
  return rows;
}

namespace {

// A cell's result as the input was given.
at::Tensor unbatched(const at::Tensor& input, const at::Tensor& state) {
  return input.dim() == 2 ? state : at::squeeze(state, 0);
}

}  // namespace
}  // namespace detail

using detail::if_defined;
using utils::rnn::PackedSequence;

RNNImpl::RNNImpl(const RNNOptions& options_)
    : RNNImplBase(detail::base_of(detail::mode_of(options_.nonlinearity()), options_)), options(options_) {}
std::tuple<at::Tensor, at::Tensor> RNNImpl::forward(const at::Tensor& input, at::Tensor hx) {
  return run_one(input, hx);
}
std::tuple<PackedSequence, at::Tensor> RNNImpl::forward_with_packed_input(const PackedSequence& packed_input,
                                                                          at::Tensor hx) {
  return run_one(packed_input, hx);
}

LSTMImpl::LSTMImpl(const LSTMOptions& options_)
    : RNNImplBase(detail::base_of(torch::kLSTM, options_, options_.proj_size())), options(options_) {}
std::tuple<at::Tensor, LSTMImpl::States> LSTMImpl::forward(const at::Tensor& input, std::optional<States> hx_opt) {
  const std::vector<at::Tensor> r = run(begin(input, detail::list_of(hx_opt)));
  return {r[0], {r[1], r[2]}};
}
std::tuple<PackedSequence, LSTMImpl::States> LSTMImpl::forward_with_packed_input(const PackedSequence& packed_input,
                                                                                 std::optional<States> hx_opt) {
  const std::vector<at::Tensor> r = run(begin(packed_input, detail::list_of(hx_opt)));
  const at::Tensor& order = packed_input.unsorted_indices();
  return {detail::packed_like(packed_input, r[0]), {detail::permuted(r[1], order), detail::permuted(r[2], order)}};
}

GRUImpl::GRUImpl(const GRUOptions& options_) : RNNImplBase(detail::base_of(torch::kGRU, options_)), options(options_) {}
std::tuple<at::Tensor, at::Tensor> GRUImpl::forward(const at::Tensor& input, at::Tensor hx) {
  return run_one(input, hx);
}
std::tuple<PackedSequence, at::Tensor> GRUImpl::forward_with_packed_input(const PackedSequence& packed_input,
                                                                          at::Tensor hx) {
  return run_one(packed_input, hx);
}

RNNCellImpl::RNNCellImpl(const RNNCellOptions& options_)
    : RNNCellImplBase(detail::RNNCellOptionsBase(options_.input_size(), options_.hidden_size(), options_.bias(), 1)),
      options(options_) {}
at::Tensor RNNCellImpl::forward(const at::Tensor& input, const at::Tensor& hx) {
  const at::Tensor x = batched_input(input), h = batched_state(input, hx, "");
  const bool relu = std::holds_alternative<enumtype::kReLU>(options.nonlinearity());
  return detail::unbatched(
      input, relu ? at::rnn_relu_cell(x, h, weight_ih, weight_hh, if_defined(bias_ih), if_defined(bias_hh))
                  : at::rnn_tanh_cell(x, h, weight_ih, weight_hh, if_defined(bias_ih), if_defined(bias_hh)));
}
std::string RNNCellImpl::get_nonlinearity_str() const {
  return std::holds_alternative<enumtype::kReLU>(options.nonlinearity()) ? "kReLU" : "kTanh";
}

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& options_)
    : RNNCellImplBase(detail::RNNCellOptionsBase(options_.input_size(), options_.hidden_size(), options_.bias(), 4)),
      options(options_) {}
LSTMCellImpl::States LSTMCellImpl::forward(const at::Tensor& input, std::optional<States> hx_opt) {
  const States states = hx_opt.value_or(States());
  const at::Tensor x = batched_input(input);
  const at::Tensor h = batched_state(input, std::get<0>(states), "[0]"),
                   c = batched_state(input, std::get<1>(states), "[1]");
  const auto [hy, cy] = at::lstm_cell(x, {h, c}, weight_ih, weight_hh, if_defined(bias_ih), if_defined(bias_hh));
  return {detail::unbatched(input, hy), detail::unbatched(input, cy)};
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& options_)
    : RNNCellImplBase(detail::RNNCellOptionsBase(options_.input_size(), options_.hidden_size(), options_.bias(), 3)),
      options(options_) {}
at::Tensor GRUCellImpl::forward(const at::Tensor& input, const at::Tensor& hx) {
  const at::Tensor x = batched_input(input), h = batched_state(input, hx, "");
  return detail::unbatched(input, at::gru_cell(x, h, weight_ih, weight_hh, if_defined(bias_ih), if_defined(bias_hh)));
}

template class Cloneable<RNNImpl>;
template class Cloneable<LSTMImpl>;
template class Cloneable<GRUImpl>;
template class Cloneable<RNNCellImpl>;
template class Cloneable<LSTMCellImpl>;
template class Cloneable<GRUCellImpl>;

}  // namespace torch::nn
