#include "distributed/checkpoint/state_dict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/checkpoint/coordination.h"
#include "distributed/ddp/distributed_data_parallel.h"
#include "distributed/process_group/init.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/zero/zero_redundancy_optimizer.h"
#include "utils/serialize/archive.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;
using c10::IValue;
using GenericDict = c10::Dict<IValue, IValue>;
using tensor::DTensor;

// What a wrapper holds whose names are not those of the model.
torch::nn::Module& unwrapped(torch::nn::Module& model) {
  auto* ddp = dynamic_cast<torch::nn::parallel::DistributedDataParallelBase*>(&model);
  return ddp == nullptr ? model : unwrapped(*ddp->get_submodule("module"));
}

c10::intrusive_ptr<c10d::ProcessGroup> group_of(const StateDictOptions& options) {
  if (options.process_group != nullptr) return options.process_group;
  return c10d::is_initialized() ? c10d::get_default_group() : nullptr;
}

// Whether this rank is to have no state.
bool gives_nothing(const StateDictOptions& options) {
  const auto group = group_of(options);
  return options.full_state_dict && options.cpu_offload && group != nullptr && group->getRank() != 0;
}

Tensor as_asked(Tensor tensor, const StateDictOptions& options) {
  if (options.full_state_dict && DTensor::is(tensor)) tensor = DTensor(tensor).full_tensor();
  if (options.cpu_offload && !tensor.is_cpu() && !DTensor::is(tensor)) tensor = at::to(tensor, c10::Device(c10::kCPU));
  return tensor;
}

IValue as_asked(const IValue& value, const StateDictOptions& options) {
  if (value.isTensor()) return as_asked(value.toTensor(), options);
  if (value.isGenericDict()) {
    GenericDict dict;
    for (const auto& entry : value.toGenericDict()) dict.insert(entry.key(), as_asked(entry.value(), options));
    return dict;
  }
  if (!value.isList() || value.toListRef().empty() || !value.toListRef()[0].isTensor()) return value;
  std::vector<Tensor> tensors;
  for (const IValue& element : value.toListRef()) tensors.push_back(as_asked(element.toTensor(), options));
  return tensors;
}

// By which prefixes names are taken: those of submodules, or "".
std::vector<std::string> prefixes_of(torch::nn::Module& model, const Submodules& submodules,
                                     const StateDictOptions& options) {
  if (submodules.empty()) return {""};
  TORCH_CHECK_VALUE(options.keep_submodule_prefixes || submodules.size() == 1,
                    "get_state_dict: names without the prefixes of ", submodules.size(),
                    " submodules would be in each other's way: expected one submodule");
  std::vector<std::string> prefixes;
  for (const torch::nn::Module* wanted : submodules) {
    std::optional<std::string> prefix;
    for (const auto& item : model.named_modules()) {
      if (item.value().get() == wanted) prefix = item.key().empty() ? "" : item.key() + ".";
    }
    TORCH_CHECK_VALUE(prefix.has_value(), "get_state_dict: a submodule is not in the model");
    prefixes.push_back(*prefix);
  }
  return prefixes;
}

// The name as it is asked for; nullopt where it is not.
std::optional<std::string> name_below(const std::string& name, const std::vector<std::string>& prefixes,
                                      const StateDictOptions& options) {
  for (const std::string& prefix : prefixes) {
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    return options.keep_submodule_prefixes ? name : name.substr(prefix.size());
  }
  return std::nullopt;
}

// Names of parameters by what they are; of a shared one its first.
std::unordered_map<c10::TensorImpl*, std::string> names_of(torch::nn::Module& model) {
  std::unordered_map<c10::TensorImpl*, std::string> names;
  for (const auto& item : model.named_parameters()) names.emplace(item.value().unsafeGetTensorImpl(), item.key());
  return names;
}

const std::string& name_in(const std::unordered_map<c10::TensorImpl*, std::string>& names, const Tensor& parameter) {
  const auto found = names.find(parameter.unsafeGetTensorImpl());
  TORCH_CHECK_VALUE(found != names.end(), "optimizer state_dict: the optimizer has a parameter of sizes ",
                    parameter.sizes(), " that is none of the model's");
  return found->second;
}

// The state of an optimizer that has none yet, as it is before the first step: that of a step with zeros as gradients
// and learning rates, after which the optimizer has none again.
torch::optim::StateDict state_before_first_step(torch::optim::Optimizer& optimizer) {
  std::vector<Tensor> parameters;
  for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) {
      if (p.grad().defined()) return optimizer.state_dict();
      if (p.requires_grad()) parameters.push_back(p);
    }
  }
  struct Restore {
    torch::optim::Optimizer& optimizer;
    const std::vector<Tensor>& parameters;
    std::vector<double> rates;
    void set_rates() const {
      for (size_t g = 0; g < rates.size(); ++g) optimizer.param_groups()[g].options().set_lr(rates[g]);
    }
    ~Restore() {
      for (const Tensor& p : parameters) p.mutable_grad() = Tensor();
      set_rates();
      optimizer.state().clear();
    }
  };
  Restore restore{optimizer, parameters, {}};
  for (torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    restore.rates.push_back(group.options().get_lr());
  }
  const c10::NoGradGuard no_grad;
  for (const Tensor& p : parameters) p.mutable_grad() = at::zeros_like(p);
  for (torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) group.options().set_lr(0);
  optimizer.step();
  restore.set_rates();
  torch::optim::StateDict state = optimizer.state_dict().clone();
  for (const auto& entry : state.at("state").toGenericDict()) {
    const GenericDict fields = entry.value().toGenericDict();
    if (!fields.contains("step")) continue;
    const IValue step = fields.at("step");
    fields.insert_or_assign("step", step.isTensor() ? IValue(at::zeros_like(step.toTensor())) : IValue(int64_t{0}));
  }
  return state;
}

// Parameters that have had no gradient have no state, and get that of step 0, so that names do not depend on how far
// training has come: zeros where another parameter's state has tensors of its own sizes. Optimizers whose states are
// otherwise stay as they are.
void add_states_without_step(const torch::optim::Optimizer& optimizer, const GenericDict& states) {
  std::optional<GenericDict> other;
  Tensor of_other;
  int64_t number = 0;
  for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) {
      if (!other && states.contains(number)) {
        other = states.at(number).toGenericDict();
        of_other = p;
      }
      ++number;
    }
  }
  if (!other || !other->contains("step")) return;
  for (const auto& field : *other) {
    const bool fits = field.key().toStringRef() == "step" ||
                      (field.value().isTensor() && field.value().toTensor().sizes() == of_other.sizes());
    if (!fits) return;
  }
  number = 0;
  for (const torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    for (const Tensor& p : group.params()) {
      const int64_t own = number++;
      if (states.contains(own) || !p.requires_grad()) continue;
      GenericDict fields;
      for (const auto& field : *other) {
        const IValue value = field.value();
        if (field.key().toStringRef() != "step") {
          fields.insert(field.key(), at::zeros_like(p, value.toTensor().scalar_type()));
        } else {
          fields.insert(field.key(), value.isTensor() ? IValue(at::zeros_like(value.toTensor())) : IValue(int64_t{0}));
        }
      }
      states.insert(own, fields);
    }
  }
}

// An optimizer's state with all names that it may have.
torch::optim::StateDict state_of(torch::optim::Optimizer& optimizer) {
  // Spreads its state over the ranks, and says itself when it can be had.
  const bool is_zero = dynamic_cast<torch::distributed::optim::ZeroRedundancyOptimizerBase*>(&optimizer) != nullptr;
  torch::optim::StateDict state =
      optimizer.state().empty() && !is_zero ? state_before_first_step(optimizer) : optimizer.state_dict();
  const c10::NoGradGuard no_grad;
  add_states_without_step(optimizer, state.at("state").toGenericDict());
  return state;
}

// The dict that all have where rank 0 has it; tensors one by one.
IValue from_rank0(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const char* operation, const IValue& dict) {
  const detail::Ranks ranks(operation, group);
  if (ranks.size() == 1) return dict;
  StateDict own = StateDict::of(ranks.is_coordinator() ? dict : IValue(GenericDict()));
  std::vector<Leaf> leaves;
  const std::string text = ranks.all_reduce(
      "broadcast", [] { return std::string(); }, "broadcast",
      [&](const std::vector<std::string>&) {
        leaves = flatten_state_dict(own);
        std::vector<IValue> described;
        for (const Leaf& leaf : leaves) {
          TORCH_CHECK_VALUE(!leaf.value.isTensor() || !DTensor::is(leaf.value.toTensor()), "'", leaf.name,
                            "' is a DTensor: broadcast_from_rank0 takes whole tensors");
          std::vector<IValue> keys, elements;
          for (const PathItem& item : leaf.path) {
            const auto* name = std::get_if<std::string>(&item.key);
            keys.push_back(name != nullptr ? IValue(*name) : IValue(std::get<int64_t>(item.key)));
            elements.emplace_back(item.is_element);
          }
          const bool is_tensor = leaf.value.isTensor();
          const Tensor tensor = is_tensor ? leaf.value.toTensor() : Tensor();
          described.push_back(
              std::vector<IValue>{keys, elements, IValue(is_tensor), is_tensor ? IValue(tensor.sizes()) : leaf.value,
                                  is_tensor ? IValue(static_cast<int64_t>(tensor.scalar_type())) : IValue()});
        }
        const std::vector<char> bytes = torch::pickle_save(IValue(std::move(described)));
        return std::string(bytes.begin(), bytes.end());
      });
  std::vector<std::pair<std::string, IValue>> values;
  std::map<std::string, Path> paths;
  const IValue described = torch::pickle_load(std::string_view(text));
  const std::vector<IValue> items = described.toListRef().vec();
  for (size_t i = 0; i < items.size(); ++i) {
    const auto parts = items[i].toListRef();
    Path path;
    for (size_t k = 0; k < parts[0].toListRef().size(); ++k) {
      const IValue key = parts[0].toListRef()[k];
      path.push_back({key.isString() ? std::variant<std::string, int64_t>(key.toStringRef()) : key.toInt(),
                      parts[1].toListRef()[k].toBool()});
    }
    IValue value = parts[3];
    if (parts[2].toBool()) {
      std::vector<Tensor> tensor{
          ranks.is_coordinator() ? leaves[i].value.toTensor().detach().contiguous()
                                 : at::empty(parts[3].toIntVector(), static_cast<at::ScalarType>(parts[4].toInt()))};
      group->broadcast(tensor)->wait();
      value = tensor[0];
    }
    const std::string name = std::to_string(i);
    paths[name] = std::move(path);
    values.emplace_back(name, std::move(value));
  }
  return unflatten_state_dict(values, paths);
}

void check_setting(const char* operation, const StateDictOptions& options) {
  TORCH_CHECK_VALUE(!options.broadcast_from_rank0 || options.full_state_dict, operation,
                    ": broadcast_from_rank0 is for whole tensors: expected full_state_dict, too");
  TORCH_CHECK_VALUE(!options.broadcast_from_rank0 || group_of(options) != nullptr, operation,
                    ": broadcast_from_rank0 without a group");
}

// A tensor as `like` lies: of a whole the part.
Tensor placed(const Tensor& tensor, const Tensor& like, const std::string& name) {
  if (!DTensor::is(like) || DTensor::is(tensor)) return tensor;
  TORCH_CHECK_VALUE(tensor.sizes() == like.sizes(), "'", name, "' has sizes ", tensor.sizes(), ", expected ",
                    like.sizes());
  const DTensor place(like);
  return tensor::distribute_tensor(tensor.detach(), place.device_mesh(), place.placements(), std::nullopt);
}

bool is_step_zero(const IValue& fields) {
  const GenericDict dict = fields.toGenericDict();
  if (!dict.contains("step")) return false;
  const IValue step = dict.at("step");
  if (step.isTensor()) {
    return step.toTensor().numel() == 1 && !DTensor::is(step.toTensor()) && step.toTensor().item<double>() == 0;
  }
  return step.isInt() && step.toInt() == 0;
}

constexpr const char *kState = "state", *kGroups = "param_groups", *kParams = "params", *kNames = "param_names";

// {"state.NAME.FIELD": ..., "param_groups.NAME.FIELD": ...}.
GenericDict flat(const GenericDict& states, const std::vector<GenericDict>& groups) {
  GenericDict out;
  for (const auto& entry : states) {
    for (const auto& field : entry.value().toGenericDict()) {
      out.insert(c10::str(kState, ".", entry.key().toStringRef(), ".", field.key().toStringRef()), field.value());
    }
  }
  for (const GenericDict& group : groups) {
    for (const IValue& name : group.at(kParams).toListRef()) {
      for (const auto& field : group) {
        if (field.key().toStringRef() == kParams) continue;
        out.insert(c10::str(kGroups, ".", name.toStringRef(), ".", field.key().toStringRef()), field.value());
      }
    }
  }
  return out;
}

// The fields of what has this name in a state, flat or not; nothing where there is none.
std::optional<GenericDict> fields_of(const GenericDict& state, const char* kind, const std::string& name) {
  const std::string prefix = c10::str(kind, ".", name, ".");
  GenericDict fields;
  for (const auto& entry : state) {
    const std::string key = entry.key().toStringRef();
    // Fields' names have no dots.
    if (key.compare(0, prefix.size(), prefix) == 0 && key.find('.', prefix.size()) == std::string::npos) {
      fields.insert(key.substr(prefix.size()), entry.value());
    }
  }
  if (fields.empty()) return std::nullopt;
  return fields;
}

}  // namespace

torch::nn::StateDict get_model_state_dict(torch::nn::Module& given, const StateDictOptions& options,
                                          const Submodules& submodules) {
  const c10::NoGradGuard no_grad;
  torch::nn::Module& model = unwrapped(given);
  const std::vector<std::string> prefixes = prefixes_of(model, submodules, options);
  std::unordered_set<std::string> frozen;
  if (options.ignore_frozen_params) {
    for (const auto& item : model.named_parameters(/*recurse=*/true, /*remove_duplicate=*/false)) {
      if (!item.value().requires_grad()) frozen.insert(item.key());
    }
  }
  const bool is_empty = gives_nothing(options);
  torch::nn::StateDict state;
  const torch::nn::StateDict all = model.state_dict();
  for (const auto& item : all) {
    const std::optional<std::string> name = name_below(item.key(), prefixes, options);
    if (!name || frozen.count(item.key()) != 0) continue;
    const Tensor tensor = as_asked(item.value(), options);
    if (!is_empty) state.insert(*name, tensor);
  }
  for (const auto& item : all.extra_state) {
    const std::optional<std::string> name = name_below(item.key(), prefixes, options);
    if (name && !is_empty) state.extra_state.insert(*name, item.value());
  }
  if (submodules.empty()) state.versions = all.versions;
  return state;
}

torch::optim::StateDict get_optimizer_state_dict(torch::nn::Module& given, const Optimizers& optimizers,
                                                 const StateDictOptions& options, const Submodules& submodules) {
  torch::nn::Module& model = unwrapped(given);
  const auto names = names_of(model);
  const std::vector<std::string> prefixes = prefixes_of(model, submodules, options);
  GenericDict states;
  std::vector<GenericDict> groups;
  for (torch::optim::Optimizer* optimizer : optimizers) {
    TORCH_CHECK_VALUE(optimizer != nullptr, "get_optimizer_state_dict: an optimizer is null");
    for (const torch::optim::OptimizerParamGroup& group : optimizer->param_groups()) {
      for (const Tensor& p : group.params()) (void)name_in(names, p);
    }
    const torch::optim::StateDict own = state_of(*optimizer);
    const c10::NoGradGuard no_grad;
    const IValue own_states = own.at(kState), own_groups = own.at(kGroups);
    int64_t number = 0;
    for (size_t g = 0; g < optimizer->param_groups().size(); ++g) {
      std::vector<std::string> in_group;
      for (const Tensor& p : optimizer->param_groups()[g].params()) {
        const int64_t own_number = number++;
        const std::optional<std::string> name = name_below(name_in(names, p), prefixes, options);
        if (!name || (options.ignore_frozen_params && !p.requires_grad())) continue;
        in_group.push_back(*name);
        const GenericDict all = own_states.toGenericDict();
        if (all.contains(own_number)) states.insert(*name, as_asked(all.at(own_number), options));
      }
      GenericDict fields = own_groups.toListRef()[g].toGenericDict().copy();
      fields.erase(kNames);
      fields.insert_or_assign(kParams, in_group);
      if (!in_group.empty() || submodules.empty()) groups.push_back(fields);
    }
  }
  if (gives_nothing(options)) return torch::optim::StateDict(IValue(GenericDict()));
  if (options.flatten_optimizer_state_dict) return torch::optim::StateDict(IValue(flat(states, groups)));
  GenericDict whole;
  std::vector<IValue> list(groups.begin(), groups.end());
  whole.insert(kState, states);
  whole.insert(kGroups, IValue(std::move(list)));
  return torch::optim::StateDict(IValue(whole));
}

std::pair<torch::nn::StateDict, torch::optim::StateDict> get_state_dict(torch::nn::Module& model,
                                                                        const Optimizers& optimizers,
                                                                        const StateDictOptions& options,
                                                                        const Submodules& submodules) {
  torch::nn::StateDict model_state = get_model_state_dict(model, options, submodules);
  return {std::move(model_state), get_optimizer_state_dict(model, optimizers, options, submodules)};
}

torch::nn::StateDict model_state_of(const IValue& dict) {
  torch::nn::StateDict state;
  for (const auto& entry : dict.toGenericDict()) {
    const std::string name = entry.key().toStringRef();
    if (entry.value().isTensor()) {
      state.insert(name, entry.value().toTensor());
    } else {
      state.extra_state.insert(name, entry.value());
    }
  }
  return state;
}

torch::nn::IncompatibleKeys set_model_state_dict(torch::nn::Module& given, const torch::nn::StateDict& given_state,
                                                 const StateDictOptions& options) {
  const char* const kOperation = "set_model_state_dict";
  check_setting(kOperation, options);
  const c10::NoGradGuard no_grad;
  torch::nn::Module& model = unwrapped(given);
  torch::nn::StateDict state = given_state;
  if (options.broadcast_from_rank0) {
    state = model_state_of(from_rank0(group_of(options), kOperation, StateDict::Value(given_state).value));
  }
  const torch::nn::StateDict own = model.state_dict();
  torch::nn::StateDict ready;
  for (const auto& item : state) {
    const Tensor* like = own.find(item.key());
    ready.insert(item.key(), like == nullptr ? item.value() : placed(item.value(), *like, item.key()));
  }
  ready.extra_state = state.extra_state;
  ready.versions = given_state.versions;
  if (options.ignore_frozen_params) {
    // What get_model_state_dict() left out stays as it is.
    for (const auto& item : model.named_parameters(/*recurse=*/true, /*remove_duplicate=*/false)) {
      const Tensor* value = own.find(item.key());
      if (value != nullptr && !item.value().requires_grad() && !ready.contains(item.key())) {
        ready.insert(item.key(), *value);
      }
    }
  }
  return model.load_state_dict(ready, options.strict);
}

void set_optimizer_state_dict(torch::nn::Module& given, const Optimizers& optimizers,
                              const torch::optim::StateDict& given_state, const StateDictOptions& options) {
  const char* const kOperation = "set_optimizer_state_dict";
  check_setting(kOperation, options);
  const c10::NoGradGuard no_grad;
  const auto names = names_of(unwrapped(given));
  const IValue tree =
      options.broadcast_from_rank0 ? from_rank0(group_of(options), kOperation, given_state.tree()) : given_state.tree();
  const GenericDict state = tree.toGenericDict();
  // Flat, too, where a checkpoint's format has no place for empty dicts.
  const GenericDict states = !options.flatten_optimizer_state_dict && state.contains(kState)
                                 ? state.at(kState).toGenericDict()
                                 : GenericDict();
  std::unordered_map<std::string, GenericDict> group_of_name;
  if (!options.flatten_optimizer_state_dict) {
    TORCH_CHECK_VALUE(state.contains(kGroups), kOperation, ": the state has no '", kGroups, "'");
    for (const IValue& group : state.at(kGroups).toListRef()) {
      for (const IValue& name : group.toGenericDict().at(kParams).toListRef()) {
        TORCH_CHECK_VALUE(name.isString(), kOperation, ": parameters have numbers in the state, expected their names");
        group_of_name.emplace(name.toStringRef(), group.toGenericDict());
      }
    }
  }
  std::vector<std::pair<torch::optim::Optimizer*, torch::optim::StateDict>> ready;
  for (torch::optim::Optimizer* optimizer : optimizers) {
    TORCH_CHECK_VALUE(optimizer != nullptr, kOperation, ": an optimizer is null");
    GenericDict own_states;
    std::vector<IValue> own_groups;
    int64_t number = 0;
    for (const torch::optim::OptimizerParamGroup& group : optimizer->param_groups()) {
      std::optional<GenericDict> fields;
      std::vector<int64_t> numbers;
      for (const Tensor& p : group.params()) {
        const std::string& name = name_in(names, p);
        const int64_t own_number = number++;
        numbers.push_back(own_number);
        if (options.ignore_frozen_params && !p.requires_grad()) continue;
        if (!fields) {
          if (options.flatten_optimizer_state_dict) {
            fields = fields_of(state, kGroups, name);
          } else if (const auto found = group_of_name.find(name); found != group_of_name.end()) {
            fields = found->second.copy();
          }
          TORCH_CHECK_VALUE(fields.has_value(), kOperation, ": no group of the state has the parameter '", name, "'");
        }
        std::optional<GenericDict> of_param;
        if (options.flatten_optimizer_state_dict) {
          of_param = fields_of(state, kState, name);
        } else if (states.contains(name)) {
          of_param = states.at(name).toGenericDict();
        }
        if (!of_param || is_step_zero(*of_param)) continue;
        GenericDict own_fields;
        for (const auto& field : *of_param) {
          IValue value = field.value();
          if (value.isTensor() && DTensor::is(p) && value.toTensor().sizes() == p.sizes() && p.dim() > 0) {
            value = placed(value.toTensor(), p, name);
          }
          own_fields.insert(field.key(), value);
        }
        own_states.insert(own_number, own_fields);
      }
      if (!fields) fields = GenericDict();
      fields->insert_or_assign(kParams, numbers);
      own_groups.emplace_back(*fields);
    }
    GenericDict own;
    own.insert(kState, own_states);
    own.insert(kGroups, IValue(std::move(own_groups)));
    ready.emplace_back(optimizer, torch::optim::StateDict(IValue(own)));
  }
  for (const auto& [optimizer, own] : ready) optimizer->load_state_dict(own);
}

torch::nn::IncompatibleKeys set_state_dict(torch::nn::Module& model, const Optimizers& optimizers,
                                           const torch::nn::StateDict& model_state,
                                           const torch::optim::StateDict& optimizer_state,
                                           const StateDictOptions& options) {
  torch::nn::IncompatibleKeys keys = set_model_state_dict(model, model_state, options);
  set_optimizer_state_dict(model, optimizers, optimizer_state, options);
  return keys;
}

IValue AppState::state_dict() {
  GenericDict state;
  state.insert("model", StateDict::Value(get_model_state_dict(*model_, options_)).value);
  if (!optimizers_.empty()) state.insert("optimizer", get_optimizer_state_dict(*model_, optimizers_, options_).tree());
  return state;
}

void AppState::load_state_dict(const IValue& state) {
  const GenericDict dict = state.toGenericDict();
  set_model_state_dict(*model_, model_state_of(dict.at("model")), options_);
  if (!optimizers_.empty()) {
    set_optimizer_state_dict(*model_, optimizers_, torch::optim::StateDict(dict.at("optimizer")), options_);
  }
}

}  // namespace torch::distributed::checkpoint
