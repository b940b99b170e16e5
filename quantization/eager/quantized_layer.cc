#include "quantization/eager/quantized_layer.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "nn/module/state_dict.h"

namespace torch::nn::quantized {

using at::Tensor;
using c10::IValue;

namespace {

constexpr const char* kExtraState = "_extra_state";

// Why a value cannot take the place of another; empty: it can.
std::string difference(const IValue& own, const IValue& other) {
  if (own.isTuple()) {
    const auto& a = own.toTupleRef().elements();
    if (!other.isTuple() || other.toTupleRef().elements().size() != a.size()) {
      return c10::str("expected a tuple of ", a.size(), " values");
    }
    for (size_t i = 0; i < a.size(); ++i) {
      const std::string text = difference(a[i], other.toTupleRef().elements()[i]);
      if (!text.empty()) return text;
    }
    return {};
  }
  if (own.isTensor()) {
    if (!other.isTensor() || !other.toTensor().defined()) return "expected a tensor";
    const Tensor &a = own.toTensor(), &b = other.toTensor();
    if (a.is_quantized() != b.is_quantized() || (a.is_quantized() && a.scalar_type() != b.scalar_type())) {
      return c10::str("expected a tensor of dtype ", a.scalar_type(), ", but got ", b.scalar_type());
    }
    // Numbers may be lists of one.
    if (a.sizes() == b.sizes() || (a.dim() == 0 && b.numel() == 1)) return {};
    return c10::str("copying a param with shape torch.Size(", b.sizes(),
                    ") from checkpoint, the shape in current model is torch.Size(", a.sizes(), ")");
  }
  if (own.isNone() != other.isNone()) return own.isNone() ? "expected nothing" : "expected a value";
  return {};
}

}  // namespace

StatefulLayer::StatefulLayer() {
  // State dictionaries have the parts under their own names.
  register_state_dict_post_hook([](Module& module, StateDict& state, const std::string& prefix) {
    const std::string key = prefix + kExtraState;
    if (!state.extra_state.contains(key)) return;
    state.extra_state.erase(key);
    for (auto& [name, value] : dynamic_cast<StatefulLayer&>(module).parts()) {
      if (value.isTensor()) {
        state.insert(prefix + name, value.toTensor());
      } else {
        state.extra_state.insert(prefix + name, std::move(value));
      }
    }
  });
  register_load_state_dict_pre_hook([](Module& module, StateDict& state, const std::string& prefix, bool,
                                       std::vector<std::string>& missing, std::vector<std::string>&,
                                       std::vector<std::string>& errors) {
    std::vector<IValue> found;
    for (const auto& [name, own] : dynamic_cast<StatefulLayer&>(module).parts()) {
      const std::string key = prefix + name;
      IValue value;
      if (const Tensor* tensor = state.find(key)) {
        value = *tensor;
        state.erase(key);
      } else if (const IValue* other = state.extra_state.find(key)) {
        value = *other;
        state.extra_state.erase(key);
      } else {
        missing.push_back(key);
        continue;
      }
      const std::string text = difference(own, value);
      if (!text.empty()) errors.push_back("size mismatch for " + key + ": " + text + ".");
      found.push_back(c10::ivalue::Tuple::create({IValue(name), value}));
    }
    state.extra_state.insert(prefix + kExtraState, c10::ivalue::Tuple::create(std::move(found)));
  });
}

IValue StatefulLayer::get_extra_state() const {
  std::vector<IValue> all;
  for (auto& [name, value] : parts()) all.push_back(c10::ivalue::Tuple::create({IValue(name), std::move(value)}));
  return c10::ivalue::Tuple::create(std::move(all));
}

void StatefulLayer::set_extra_state(const IValue& state) {
  TORCH_CHECK_VALUE(state.isTuple(), name(), ": expected the state that get_extra_state() gives");
  Parts all;
  for (const IValue& one : state.toTupleRef().elements()) {
    const bool is_part =
        one.isTuple() && one.toTupleRef().elements().size() == 2 && one.toTupleRef().elements()[0].isString();
    TORCH_CHECK_VALUE(is_part, name(), ": expected pairs of a name and a value in the state");
    const auto& pair = one.toTupleRef().elements();
    all.emplace_back(pair[0].toStringRef(), pair[1]);
  }
  if (!all.empty()) set_parts(all);
}

QuantizedLayer::QuantizedLayer(double scale_, int64_t zero_point_) : scale(scale_), zero_point(zero_point_) {
  TORCH_CHECK_VALUE(scale > 0 && std::isfinite(scale), "a quantized layer needs a positive scale, but got ", scale);
}

StatefulLayer::Parts QuantizedLayer::parts() const {
  return {{"scale", at::full({}, scale, at::TensorOptions().dtype(c10::ScalarType::Float))},
          {"zero_point", at::full({}, zero_point, at::TensorOptions().dtype(c10::ScalarType::Long))}};
}

void QuantizedLayer::set_parts(const Parts& parts) {
  for (const auto& [name, value] : parts) {
    if (name == "scale") {
      const double given = at::item(value.toTensor()).toDouble();
      TORCH_CHECK_VALUE(given > 0 && std::isfinite(given), this->name(), ": expected a positive scale, but got ",
                        given);
      scale = given;
    }
    if (name == "zero_point") zero_point = at::item(value.toTensor()).toLong();
  }
}

std::string QuantizedLayer::qparams_text() const {
  return "scale=" + detail::float_text(scale) + ", zero_point=" + std::to_string(zero_point);
}

namespace detail {

std::vector<IValue> call(const std::string& name, const std::string& overload, c10::Stack stack) {
  find_operator(name, overload).callBoxed(stack);
  return {stack.begin(), stack.end()};
}
Tensor call_for_tensor(const c10::OperatorHandle& op, c10::Stack stack) {
  op.callBoxed(stack);
  return std::move(stack.at(0)).toTensor();
}
c10::OperatorHandle find_operator(const std::string& name, const std::string& overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

IValue maybe(const Tensor& t) {
  return t.defined() ? IValue(t) : IValue();
}
Tensor tensor_or_none(const IValue& v) {
  return v.isNone() ? Tensor() : v.toTensor();
}
Tensor constant(const Tensor& t) {
  if (!t.defined()) return t;
  const c10::NoGradGuard no_grad;
  return at::clone(at::detach(t), std::nullopt);
}

std::string float_text(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  std::string all(text, end);
  if (all.find_first_of(".en") == std::string::npos) all += ".0";
  return all;
}
std::string list_text(at::IntArrayRef list) {
  std::string text = "(";
  for (size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(list[i]);
  return text + (list.size() == 1 ? ",)" : ")");
}

}  // namespace detail
}  // namespace torch::nn::quantized
