#include "optim/optimizer.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::optim {
namespace {

// Hooks of all optimizers.
struct GlobalHooks {
  struct Hook {
    size_t id;
    bool before;
    Optimizer::StepHook call;
  };
  std::mutex mutex;
  std::vector<Hook> hooks;
  size_t next = 0;
  std::atomic<size_t> count{0};

  size_t add(bool before, Optimizer::StepHook call) {
    const std::lock_guard<std::mutex> lock(mutex);
    hooks.push_back({next, before, std::move(call)});
    count = hooks.size();
    return next++;
  }
  void remove(size_t id) {
    const std::lock_guard<std::mutex> lock(mutex);
    std::erase_if(hooks, [id](const Hook& hook) { return hook.id == id; });
    count = hooks.size();
  }
  void call(bool before, Optimizer& optimizer) {
    if (count == 0) return;
    std::vector<Hook> now;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      now = hooks;
    }
    for (const Hook& hook : now) {
      if (hook.before == before) hook.call(optimizer);
    }
  }
};

GlobalHooks& global_hooks() {
  static GlobalHooks* const hooks = new GlobalHooks;  // optimizers may step while statics are destroyed
  return *hooks;
}

}  // namespace

double OptimizerOptions::get_lr() const {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "these optimizer options have no learning rate: override get_lr()");
}

void OptimizerOptions::set_lr(double) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "these optimizer options have no learning rate: override set_lr()");
}

void OptimizerOptions::check_parameter(const at::Tensor& parameter) const {
  TORCH_CHECK_VALUE(parameter.is_leaf(), "can't optimize a non-leaf Tensor");
}

OptimizerStateKey::OptimizerStateKey(const std::string& address) : address_(nullptr) {
  const size_t begin = address.starts_with("0x") ? 2 : 0;
  uintptr_t number = 0;
  const char* const last = address.data() + address.size();
  const auto [end, error] = std::from_chars(address.data() + begin, last, number, 16);
  TORCH_CHECK_VALUE(error == std::errc() && end == last, "no parameter has the address '", address, "'");
  address_ = reinterpret_cast<const void*>(number);
}

OptimizerParamGroup& OptimizerParamGroup::operator=(const OptimizerParamGroup& other) {
  params_ = other.params_;
  param_names_ = other.param_names_;
  options_ = other.options_ ? other.options_->clone() : nullptr;
  extras_ = other.extras_;
  return *this;
}

OptimizerParamGroup OptimizerParamGroup::named(std::vector<std::pair<std::string, at::Tensor>> params,
                                               std::unique_ptr<OptimizerOptions> options) {
  OptimizerParamGroup group(std::vector<at::Tensor>{}, std::move(options));
  for (auto& [name, tensor] : params) {
    group.param_names_.push_back(std::move(name));
    group.params_.push_back(std::move(tensor));
  }
  return group;
}

const c10::IValue* OptimizerParamGroup::extra(std::string_view name) const {
  for (const auto& [key, value] : extras_) {
    if (key == name) return &value;
  }
  return nullptr;
}

void OptimizerParamGroup::set_extra(std::string_view name, c10::IValue value) {
  for (auto& [key, old] : extras_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  extras_.emplace_back(std::string(name), std::move(value));
}

OptimizerOptions& OptimizerParamGroup::options() {
  TORCH_CHECK(has_options(), "this parameter group has no options yet");
  return *options_;
}

const OptimizerOptions& OptimizerParamGroup::options() const {
  TORCH_CHECK(has_options(), "this parameter group has no options yet");
  return *options_;
}

Optimizer::Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  TORCH_CHECK_VALUE(defaults_ != nullptr, "an optimizer needs default options");
  for (const OptimizerParamGroup& group : param_groups) add_param_group(group);
}

Optimizer::Optimizer(std::vector<at::Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {}

void Optimizer::add_param_group(const OptimizerParamGroup& param_group) {
  OptimizerParamGroup group(param_group);
  if (group.has_options()) {
    inherit_fields(group.options(), *defaults_);
  } else {
    group.set_options(defaults_->clone());
  }
  group.options().check();
  std::unordered_set<const void*> elsewhere, here;
  for (const OptimizerParamGroup& other : param_groups_)
    for (const at::Tensor& p : other.params()) elsewhere.insert(p.unsafeGetTensorImpl());
  TORCH_CHECK_TYPE(param_groups_.empty() || group.param_names_.empty() == param_groups_[0].param_names_.empty(),
                   "all optimizer params should be with/without names. Some param names are missing");
  std::vector<at::Tensor> kept;
  std::vector<std::string> names;
  for (size_t i = 0; i < group.params().size(); ++i) {
    const at::Tensor& p = group.params()[i];
    TORCH_CHECK_VALUE(p.defined(), "can't optimize an undefined Tensor");
    group.options().check_parameter(p);
    TORCH_CHECK_TYPE(p.is_floating_point() || p.is_complex(), "can't optimize a Tensor of type ",
                     c10::toString(p.scalar_type()), ": expected a floating-point or complex one");
    TORCH_CHECK_VALUE(!elsewhere.count(p.unsafeGetTensorImpl()),
                      "some parameters appear in more than one parameter group");
    if (here.insert(p.unsafeGetTensorImpl()).second) {
      kept.push_back(p);
      if (!group.param_names_.empty()) names.push_back(group.param_names_[i]);
    } else {
      TORCH_WARN("optimizer contains a parameter group with duplicate parameters; each is updated once a step");
    }
  }
  group.params() = std::move(kept);
  group.param_names_ = std::move(names);
  param_groups_.push_back(std::move(group));
}

void Optimizer::add_parameters(const std::vector<at::Tensor>& parameters) {
  TORCH_WARN("Optimizer::add_parameters() will be removed: use add_param_group()");
  TORCH_CHECK(!param_groups_.empty(), "add_parameters: the optimizer has no parameter group");
  // Through the checks of a group of its own, then into the first.
  add_param_group(OptimizerParamGroup(parameters));
  std::vector<at::Tensor> checked = std::move(param_groups_.back().params());
  param_groups_.pop_back();
  std::vector<at::Tensor>& first = param_groups_.front().params();
  first.insert(first.end(), checked.begin(), checked.end());
}

void Optimizer::set_amp_scaling(std::optional<at::Tensor> grad_scale, std::optional<at::Tensor> found_inf) {
  grad_scale_ = std::move(grad_scale);
  found_inf_ = std::move(found_inf);
}

bool Optimizer::found_inf() const {
  return found_inf_.has_value() && at::item(*found_inf_).toDouble() != 0;
}

void Optimizer::zero_grad(bool set_to_none) {
  row_gradients_.clear();
  for (OptimizerParamGroup& group : param_groups_) {
    for (at::Tensor& p : group.params()) {
      at::Tensor& grad = p.mutable_grad();
      if (!grad.defined()) continue;
      if (set_to_none) {
        grad.reset();
      } else {
        c10::NoGradGuard no_grad;
        if (grad.requires_grad()) grad = at::detach(grad);
        at::zero_(grad);
      }
    }
  }
}

namespace {

const std::vector<at::Tensor>& parameters_of_first(const std::vector<OptimizerParamGroup>& groups) {
  static const std::vector<at::Tensor> none;
  return groups.empty() ? none : groups.front().params();
}

}  // namespace

const std::vector<at::Tensor>& Optimizer::parameters() const noexcept {
  TORCH_WARN("Optimizer::parameters() will be removed: use param_groups()");
  return parameters_of_first(param_groups_);
}

size_t Optimizer::size() const noexcept {
  TORCH_WARN("Optimizer::size() will be removed: use param_groups()");
  size_t count = 0;
  for (const OptimizerParamGroup& group : param_groups_) count += group.params().size();
  return count;
}

// --- hooks ---

size_t Optimizer::add_hook(Moment moment, std::function<void(Optimizer&, StateDict*)> call, bool prepend) {
  hooks_.insert(prepend ? hooks_.begin() : hooks_.end(), Hook{next_hook_, moment, std::move(call)});
  return next_hook_++;
}

size_t Optimizer::register_step_pre_hook(StepHook hook) {
  return add_hook(
      Moment::kBeforeStep, [hook = std::move(hook)](Optimizer& o, StateDict*) { hook(o); }, false);
}

size_t Optimizer::register_step_post_hook(StepHook hook) {
  return add_hook(
      Moment::kAfterStep, [hook = std::move(hook)](Optimizer& o, StateDict*) { hook(o); }, false);
}

size_t Optimizer::register_state_dict_pre_hook(StateDictPreHook hook, bool prepend) {
  return add_hook(
      Moment::kBeforeState, [hook = std::move(hook)](Optimizer& o, StateDict*) { hook(o); }, prepend);
}

size_t Optimizer::register_state_dict_post_hook(StateDictPostHook hook, bool prepend) {
  return add_hook(
      Moment::kAfterState, [hook = std::move(hook)](Optimizer& o, StateDict* d) { hook(o, *d); }, prepend);
}

size_t Optimizer::register_load_state_dict_pre_hook(LoadStateDictPreHook hook, bool prepend) {
  return add_hook(
      Moment::kBeforeLoad, [hook = std::move(hook)](Optimizer& o, StateDict* d) { hook(o, *d); }, prepend);
}

size_t Optimizer::register_load_state_dict_post_hook(LoadStateDictPostHook hook, bool prepend) {
  return add_hook(
      Moment::kAfterLoad, [hook = std::move(hook)](Optimizer& o, StateDict*) { hook(o); }, prepend);
}

void Optimizer::remove_hook(size_t id) {
  std::erase_if(hooks_, [id](const Hook& hook) { return hook.id == id; });
}

void Optimizer::call_hooks(Moment moment, StateDict* dict) {
  // By number: a hook may add or remove hooks.
  for (size_t i = 0; i < hooks_.size(); ++i) {
    if (hooks_[i].moment != moment) continue;
    const auto call = hooks_[i].call;
    call(*this, dict);
  }
}

size_t register_optimizer_step_pre_hook(Optimizer::StepHook hook) {
  return global_hooks().add(true, std::move(hook));
}
size_t register_optimizer_step_post_hook(Optimizer::StepHook hook) {
  return global_hooks().add(false, std::move(hook));
}
void remove_optimizer_step_hook(size_t id) {
  global_hooks().remove(id);
}

// --- steps ---

at::Tensor Optimizer::run_whole_step(const std::function<at::Tensor()>& update) {
  c10::NoGradGuard no_grad;
  global_hooks().call(true, *this);
  call_hooks(Moment::kBeforeStep);
  at::Tensor loss = update();
  row_gradients_.clear();
  call_hooks(Moment::kAfterStep);
  global_hooks().call(false, *this);
  return loss;
}

at::Tensor Optimizer::run_step(const LossClosure& closure, const std::function<void(OptimizerParamGroup&)>& update) {
  const auto whole = [&] {
    at::Tensor loss;
    if (closure) {
      c10::AutoGradMode with_grad(true);
      loss = closure();
    }
    for (OptimizerParamGroup& group : param_groups_) {
      c10::AutoGradMode recording(group.options().records_steps());
      update(group);
    }
    return loss;
  };
  return run_whole_step(std::ref(whole));  // by reference: a copy would be allocated
}

}  // namespace torch::optim
