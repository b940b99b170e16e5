#include "quantization/eager/quantize.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "nn/layers/activation.h"
#include "nn/layers/dropout.h"
#include "nn/module/replacement.h"
#include "quantization/eager/module_tree.h"
#include "quantization/eager/quantizable.h"

namespace torch::quantization {

using c10::ScalarType;
using detail::for_modules;
using detail::Replacing;

namespace {

template <class M>
bool is_a(const nn::Module& module) {
  return dynamic_cast<const M*>(&module) != nullptr;
}

std::string parent_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

bool observes(const std::optional<QConfig>& qconfig) {
  return qconfig.has_value() && qconfig->activation != nullptr;
}

// The fixed scale of what has one in training.
ObserverFactory fixed_fake_quantizer(const nn::Module& module) {
  if (is_a<nn::SigmoidImpl>(module) || is_a<nn::HardsigmoidImpl>(module) || is_a<nn::SoftmaxImpl>(module)) {
    return default_fixed_qparams_range_0to1_fake_quant();
  }
  return is_a<nn::TanhImpl>(module) ? default_fixed_qparams_range_neg1to1_fake_quant() : nullptr;
}

bool is_observed(const nn::Module& module) {
  return get_default_static_quant_module_mappings().find(module) != nullptr && !is_a<DeQuantStubImpl>(module) &&
         !is_a<nn::DropoutImpl>(module) && !is_a<nn::quantizable::LSTMImpl>(module) &&
         !is_a<nn::quantizable::MultiheadAttentionImpl>(module);
}

void remove_qconfigs(nn::Module& model) {
  detail::for_all(model, [](nn::Module& module) {
    remove_qconfig(module);
    if (!is_a<ObserverBase>(module)) detail::stop_observing(module);
  });
}

// What `mapping` makes of all modules below that have a QConfig; the new ones.
std::vector<std::shared_ptr<nn::Module>> replace_all(nn::Module& model, const ModuleMapping& mapping, bool forget,
                                                     bool keep_qconfig) {
  const c10::NoGradGuard no_grad;
  Replacing replacing(model);
  std::vector<std::shared_ptr<nn::Module>> made;
  std::string within;
  for_modules(model, [&](const std::string& path, nn::Module& module) {
    if (!within.empty() && path.starts_with(within)) return;
    Replacement replacement = swap_module(module, mapping);
    if (replacement.module.is_empty()) return;
    if (keep_qconfig) set_qconfig(*replacement.module.ptr(), *qconfig_of(module));
    made.push_back(replacement.module.ptr());
    if (!replacement.shares_children) within = path + ".";
    replacing.add(path, std::move(replacement));
  });
  replacing.apply(forget);
  return made;
}

// Takes QConfigs that were propagated away again, unless it was all done.
class Propagated {
 public:
  Propagated(nn::Module& model, const QConfigMapping* mapping);
  ~Propagated() {
    for (const auto& module : modules_) remove_qconfig(*module);
  }
  void keep() { modules_.clear(); }

 private:
  std::vector<std::shared_ptr<nn::Module>> modules_;
};

void check_unobserved(nn::Module& model, const char* who) {
  for_modules(model, [&](const std::string& path, nn::Module& module) {
    TORCH_CHECK_VALUE(is_a<ObserverBase>(module) || detail::observer_of(module) == nullptr, who,
                      ": the model has observers already, at '", path, "'");
  });
}

void add_observers(nn::Module& model) {
  bool any = false;
  std::vector<std::pair<std::shared_ptr<nn::Module>, ObserverFactory>> all;
  for_modules(model, [&](const std::string&, nn::Module& module) {
    const auto* const qconfig = qconfig_of(module);
    if (qconfig == nullptr || !qconfig->has_value()) return;
    any = true;
    const ObserverFactory fixed = module.is_training() ? fixed_fake_quantizer(module) : nullptr;
    if (fixed != nullptr) {
      all.emplace_back(module.shared_from_this(), fixed);
    } else if (is_observed(module) && observes(*qconfig)) {
      all.emplace_back(module.shared_from_this(), (*qconfig)->activation);
    }
  });
  if (!any) {
    TORCH_WARN(
        "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` "
        "or by assigning the `.qconfig` attribute directly on submodules");
  }
  for (const auto& [module, make] : all) detail::observe(*module, make());
}

}  // namespace

Propagated::Propagated(nn::Module& model, const QConfigMapping* mapping) {
  struct Choice {
    std::optional<QConfig> qconfig;
    bool was_set = false;
  };
  std::map<std::string, Choice> choices;
  const auto choose = [&](const std::string& path, nn::Module& module) {
    Choice& choice = choices[path];
    const auto* const own = qconfig_of(module);
    const Choice parent = path.empty() ? Choice() : choices[parent_of(path)];
    if (own != nullptr) {
      choice = {*own, true};
    } else if (mapping == nullptr || parent.was_set) {
      choice = parent;
    } else {
      choice.qconfig = mapping->get(path, object_type(module), 0);
    }
    if (own != nullptr || path.empty() || !choice.qconfig.has_value()) return;
    set_qconfig(module, choice.qconfig);
    modules_.push_back(module.shared_from_this());
  };
  choose("", model);
  for_modules(model, choose);
}

void propagate_qconfig_(nn::ModuleRef model, const QConfigMapping* mapping) {
  Propagated(*model, mapping).keep();
}

Replacement swap_module(nn::Module& module, const ModuleMapping& mapping) {
  const auto* const qconfig = qconfig_of(module);
  if (qconfig == nullptr || !qconfig->has_value()) return {};
  const auto* const make = mapping.find(module);
  return make == nullptr ? Replacement{} : (*make)(module);
}

namespace {

// Modules whose layers are observed in their place; these have their QConfig.
void replace_custom_modules(nn::Module& model, const ModuleMapping& custom) {
  for (const auto& made : replace_all(model, custom, /*forget=*/false, /*keep_qconfig=*/true)) {
    propagate_qconfig_(*made);
  }
}

void prepare(nn::Module& model, const QConfigMapping* mapping, const ModuleMapping& custom) {
  check_unobserved(model, "prepare");
  Propagated propagated(model, mapping);
  replace_custom_modules(model, custom);
  add_observers(model);
  propagated.keep();
}

void prepare_for_training(nn::Module& model, const QConfigMapping* mapping, const ModuleMapping& modules) {
  TORCH_CHECK_VALUE(model.is_training(), "prepare_qat only works on models in training mode");
  check_unobserved(model, "prepare_qat");
  Propagated propagated(model, mapping);
  replace_custom_modules(model, get_default_custom_module_mappings());
  replace_all(model, modules, /*forget=*/false, /*keep_qconfig=*/true);
  add_observers(model);
  propagated.keep();
}

}  // namespace

void prepare(nn::ModuleRef model, const ModuleMapping& custom_modules) {
  prepare(*model, nullptr, custom_modules);
}
void prepare(nn::ModuleRef model, const QConfigMapping& mapping, const ModuleMapping& custom_modules) {
  prepare(*model, &mapping, custom_modules);
}
void prepare(nn::ModuleRef model, const QConfig& qconfig, const ModuleMapping& custom_modules) {
  prepare(model, QConfigMapping().set_global(qconfig), custom_modules);
}

void prepare_qat(nn::ModuleRef model, const ModuleMapping& modules) {
  prepare_for_training(*model, nullptr, modules);
}
void prepare_qat(nn::ModuleRef model, const QConfigMapping& mapping, const ModuleMapping& modules) {
  prepare_for_training(*model, &mapping, modules);
}
void prepare_qat(nn::ModuleRef model, const QConfig& qconfig, const ModuleMapping& modules) {
  prepare_qat(model, QConfigMapping().set_global(qconfig), modules);
}

namespace {
bool is_observers(const std::string& key) {
  return key.find(detail::kObserver) != std::string::npos;
}
}  // namespace

nn::StateDict get_observer_state_dict(nn::ModuleRef model) {
  nn::StateDict all;
  for (const auto& item : model->state_dict()) {
    if (is_observers(item.key())) all.insert(item.key(), item.value());
  }
  return all;
}

void load_observer_state_dict(nn::ModuleRef model, const nn::StateDict& state) {
  // The rest of the state is the model's own.
  nn::StateDict all = model->state_dict();
  for (const auto& item : state) {
    TORCH_CHECK_VALUE(is_observers(item.key()) && all.contains(item.key()),
                      "load_observer_state_dict: the model has no observer for '", item.key(), "'");
  }
  for (const auto& item : get_observer_state_dict(model)) {
    const at::Tensor* const given = state.find(item.key());
    TORCH_CHECK_VALUE(given != nullptr, "load_observer_state_dict: the state has no '", item.key(), "'");
    all[item.key()] = *given;
  }
  model->load_state_dict(all);
}

void convert(nn::ModuleRef model, const ModuleMapping& mapping) {
  replace_all(*model, mapping, /*forget=*/true, /*keep_qconfig=*/false);
  remove_qconfigs(*model);
}

void quantize(nn::ModuleRef model, const QConfigMapping& mapping, const std::function<void()>& calibrate) {
  TORCH_CHECK_VALUE(calibrate != nullptr, "quantize: expected a function that calibrates, but got none");
  model->eval();
  prepare(model, mapping);
  calibrate();
  convert(model);
}
void quantize(nn::ModuleRef model, const QConfig& qconfig, const std::function<void()>& calibrate) {
  quantize(model, QConfigMapping().set_global(qconfig), calibrate);
}
void quantize_qat(nn::ModuleRef model, const QConfig& qconfig, const std::function<void()>& train) {
  TORCH_CHECK_VALUE(train != nullptr, "quantize_qat: expected a function that trains, but got none");
  model->train();
  prepare_qat(model, qconfig);
  train();
  convert(model);
}

void quantize_dynamic(nn::ModuleRef model, const QConfigMapping& mapping) {
  const Propagated propagated(*model, &mapping);
  replace_all(*model, get_default_dynamic_quant_module_mappings(), /*forget=*/true, /*keep_qconfig=*/false);
  remove_qconfigs(*model);
}

namespace {
QConfig dynamic_qconfig(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::QInt8:
      return default_dynamic_qconfig();
    case ScalarType::Half:
      return float16_dynamic_qconfig();
    case ScalarType::QUInt8:
      return float_qparams_weight_only_qconfig();
    case ScalarType::QUInt4x2:
      return float_qparams_weight_only_qconfig_4bit();
    default:
      TORCH_CHECK_VALUE(false, "quantize_dynamic: expected dtype QInt8, Half, QUInt8 or QUInt4x2, but got ", dtype);
  }
}
}  // namespace

void quantize_dynamic(nn::ModuleRef model, const std::set<std::string>& which, ScalarType dtype) {
  const QConfig qconfig = dynamic_qconfig(dtype);
  QConfigMapping mapping;
  for (const std::string& one : which) mapping.set_object_type(one, qconfig).set_module_name(one, qconfig);
  quantize_dynamic(model, mapping);
}
void quantize_dynamic(nn::ModuleRef model, ScalarType dtype) {
  if (dtype == ScalarType::QUInt8 || dtype == ScalarType::QUInt4x2) {
    return quantize_dynamic(model, {"Embedding", "EmbeddingBag"}, dtype);
  }
  std::set<std::string> which{"Linear", "LSTM", "GRU"};
  // There are no cells with weights in half precision.
  if (dtype != ScalarType::Half) which.insert({"LSTMCell", "GRUCell", "RNNCell"});
  quantize_dynamic(model, which, dtype);
}

void add_quant_dequant(nn::ModuleRef model) {
  std::vector<std::pair<std::string, nn::AnyModule>> all;
  for_modules(*model, [&](const std::string& path, nn::Module& module) {
    const auto* const qconfig = qconfig_of(module);
    if (qconfig == nullptr || !qconfig->has_value()) return;
    nn::AnyModule layer = twin(module);
    if (layer.is_empty()) return;
    nn::AnyModule wrapper{QuantWrapper(std::move(layer))};
    set_qconfig(*wrapper.ptr(), *qconfig);
    all.emplace_back(path, std::move(wrapper));
  });
  for (const auto& [path, wrapper] : all) {
    const auto old = model->get_submodule(path);
    model->set_submodule(path, wrapper);
    nn::remove_forward_hooks(*old);
    nn::call_instead(*old, wrapper);
  }
}

}  // namespace torch::quantization
