#include "optim/optimizer.h"

#include <unordered_set>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::optim {

namespace {

// Collects fields into a StateDict under a prefix.
class Saver : public FieldVisitor {
 public:
  Saver(StateDict& dict, std::string prefix) : dict_(dict), prefix_(std::move(prefix)) {}
  void tensor(const char* name, at::Tensor& value) override {
    if (value.defined()) dict_.tensors.emplace_back(prefix_ + name, value);
  }
  void number(const char* name, double& value) override { dict_.scalars.emplace_back(prefix_ + name, value); }
  void integer(const char* name, int64_t& value) override { dict_.scalars.emplace_back(prefix_ + name, value); }
  void flag(const char* name, bool& value) override { dict_.scalars.emplace_back(prefix_ + name, value); }

 private:
  StateDict& dict_;
  std::string prefix_;
};

// A StateDict by name.
class Index {
 public:
  explicit Index(const StateDict& dict) {
    for (const auto& [name, value] : dict.tensors) {
      TORCH_CHECK_VALUE(tensors_.emplace(name, &value).second, "load_state_dict: ", name, " is there twice");
      note_prefix(name);
    }
    for (const auto& [name, value] : dict.scalars) {
      TORCH_CHECK_VALUE(scalars_.emplace(name, &value).second, "load_state_dict: ", name, " is there twice");
      note_prefix(name);
    }
  }
  const at::Tensor* tensor(const std::string& name) const { return find(tensors_, name); }
  const at::Scalar* scalar(const std::string& name) const { return find(scalars_, name); }
  const at::Scalar& required_scalar(const std::string& name) const {
    const at::Scalar* const found = scalar(name);
    TORCH_CHECK_VALUE(found != nullptr, "load_state_dict: ", name, " is missing");
    return *found;
  }
  // Whether any name begins with `prefix`, "state.3.".
  bool has_prefix(const std::string& prefix) const { return prefixes_.count(prefix) != 0; }

 private:
  template <class Map>
  static auto find(const Map& map, const std::string& name) -> typename Map::mapped_type {
    const auto found = map.find(name);
    return found == map.end() ? nullptr : found->second;
  }
  void note_prefix(std::string_view name) {
    const size_t first = name.find('.');
    const size_t second = first == std::string_view::npos ? first : name.find('.', first + 1);
    if (second != std::string_view::npos) prefixes_.insert(name.substr(0, second + 1));
  }

  std::unordered_map<std::string_view, const at::Tensor*> tensors_;
  std::unordered_map<std::string_view, const at::Scalar*> scalars_;
  std::unordered_set<std::string_view> prefixes_;
};

// Reads fields; tensors are copied, and must fit `like` (then into its layout) where that is known.
class Loader : public FieldVisitor {
 public:
  Loader(const Index& index, std::string prefix, const at::Tensor* like)
      : index_(index), prefix_(std::move(prefix)), like_(like) {}

  void tensor(const char* name, at::Tensor& value) override {
    const at::Tensor* const found = index_.tensor(prefix_ + name);
    if (found == nullptr) {
      value = at::Tensor();
      return;
    }
    ++used_tensors;
    if (like_ == nullptr) {
      value = at::clone(*found);
      return;
    }
    TORCH_CHECK_VALUE(found->defined() && found->sizes() == like_->sizes(), "load_state_dict: ", prefix_, name,
                      " has the wrong size: expected ", like_->sizes(), ", but got ",
                      found->defined() ? found->sizes() : at::IntArrayRef());
    TORCH_CHECK_VALUE(found->scalar_type() == like_->scalar_type(), "load_state_dict: ", prefix_, name, " is of type ",
                      c10::toString(found->scalar_type()), ", but its parameter is ", c10::toString(like_->scalar_type()));
    at::Tensor copy = at::empty_like(*like_);
    at::copy_(copy, *found);
    value = copy;
  }
  void number(const char* name, double& value) override {
    value = required(name).toDouble();
  }
  void integer(const char* name, int64_t& value) override {
    value = required(name).toLong();
  }
  void count(const char* name, int64_t& value) override {
    value = checked_count(required(name), prefix_ + name);
  }
  void flag(const char* name, bool& value) override {
    value = required(name).toBool();
  }

  size_t used_tensors = 0;
  size_t used_scalars = 0;

 private:
  const at::Scalar& required(const char* name) {
    ++used_scalars;
    return index_.required_scalar(prefix_ + name);
  }

  const Index& index_;
  std::string prefix_;
  const at::Tensor* like_;
};

// Lists fields, to compare two objects.
class Collector : public FieldVisitor {
 public:
  void tensor(const char* name, at::Tensor& value) override { add(name, 't', 0, value.unsafeGetTensorImpl()); }
  void number(const char* name, double& value) override { add(name, 'd', value, nullptr); }
  void integer(const char* name, int64_t& value) override { add(name, 'i', static_cast<double>(value), nullptr); }
  void flag(const char* name, bool& value) override { add(name, 'b', value ? 1 : 0, nullptr); }

  struct Field {
    std::string name;
    char kind;
    double value;
    const void* tensor;
    bool operator==(const Field&) const = default;
  };
  std::vector<Field> fields;

 private:
  void add(const char* name, char kind, double value, const void* tensor) {
    fields.push_back(Field{name, kind, value, tensor});
  }
};

template <class T>
bool same(const T& a, const T& b) {
  Collector x, y;
  const_cast<T&>(a).visit(x);
  const_cast<T&>(b).visit(y);
  return x.fields == y.fields;
}

std::string path(const char* head, size_t index) { return c10::str(head, '.', index, '.'); }

}  // namespace

const at::Tensor* StateDict::tensor(std::string_view name) const {
  for (const auto& [key, value] : tensors)
    if (key == name) return &value;
  return nullptr;
}

const at::Scalar* StateDict::scalar(std::string_view name) const {
  for (const auto& [key, value] : scalars)
    if (key == name) return &value;
  return nullptr;
}

int64_t checked_count(const at::Scalar& value, std::string_view name) {
  constexpr int64_t kMost = int64_t{1} << 53;
  TORCH_CHECK_VALUE(value.isIntegral(/*includeBool=*/false), "load_state_dict: ", name, " is no integer");
  const int64_t count = value.toLong();
  TORCH_CHECK_VALUE(count >= 0 && count <= kMost, "load_state_dict: ", name, " is ", count, "; expected a number from 0 to ", kMost);
  return count;
}

double OptimizerOptions::get_lr() const {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "these optimizer options have no learning rate: override get_lr()");
}

void OptimizerOptions::set_lr(double) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "these optimizer options have no learning rate: override set_lr()");
}

// Defined where archives are (//utils/serialize), so that a program without archives links none.
namespace detail {
[[gnu::weak]] void write_state(torch::serialize::OutputArchive& archive, const StateDict& state);
[[gnu::weak]] StateDict read_state(const torch::serialize::InputArchive& archive);
}  // namespace detail

namespace {

void write(torch::serialize::OutputArchive& archive, const StateDict& state) {
  TORCH_CHECK(detail::write_state != nullptr,
              "saving an optimizer: archives are not linked; add //utils/serialize:optimizer_archive");
  detail::write_state(archive, state);
}

StateDict read(const torch::serialize::InputArchive& archive) {
  TORCH_CHECK(detail::read_state != nullptr,
              "loading an optimizer: archives are not linked; add //utils/serialize:optimizer_archive");
  return detail::read_state(archive);
}

template <class T>
void write_fields(torch::serialize::OutputArchive& archive, const T& object) {
  StateDict state;
  Saver saver(state, "");
  const_cast<T&>(object).visit(saver);
  write(archive, state);
}

template <class T>
void read_fields(const torch::serialize::InputArchive& archive, T& object) {
  const StateDict state = read(archive);
  const Index index(state);
  c10::NoGradGuard no_grad;
  Loader loader(index, "", nullptr);
  object.visit(loader);
}

}  // namespace

void OptimizerParamState::serialize(torch::serialize::InputArchive& archive) { read_fields(archive, *this); }
void OptimizerParamState::serialize(torch::serialize::OutputArchive& archive) const { write_fields(archive, *this); }
void OptimizerOptions::serialize(torch::serialize::InputArchive& archive) { read_fields(archive, *this); }
void OptimizerOptions::serialize(torch::serialize::OutputArchive& archive) const { write_fields(archive, *this); }

void Optimizer::save(torch::serialize::OutputArchive& archive) const { write(archive, state_dict()); }
void Optimizer::load(torch::serialize::InputArchive& archive) { load_state_dict(read(archive)); }

bool same_fields(const OptimizerOptions& a, const OptimizerOptions& b) { return same(a, b); }
bool same_fields(const OptimizerParamState& a, const OptimizerParamState& b) { return same(a, b); }

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
  if (!group.has_options()) group.set_options(defaults_->clone());
  group.options().check();
  std::unordered_set<const void*> elsewhere, here;
  for (const OptimizerParamGroup& other : param_groups_)
    for (const at::Tensor& p : other.params()) elsewhere.insert(p.unsafeGetTensorImpl());
  std::vector<at::Tensor> kept;
  for (const at::Tensor& p : group.params()) {
    TORCH_CHECK_VALUE(p.defined(), "can't optimize an undefined Tensor");
    TORCH_CHECK_VALUE(p.is_leaf(), "can't optimize a non-leaf Tensor");
    TORCH_CHECK_TYPE(p.is_floating_point() || p.is_complex(), "can't optimize a Tensor of type ",
                     c10::toString(p.scalar_type()), ": expected a floating-point or complex one");
    TORCH_CHECK_VALUE(!elsewhere.count(p.unsafeGetTensorImpl()), "some parameters appear in more than one parameter group");
    if (here.insert(p.unsafeGetTensorImpl()).second) {
      kept.push_back(p);
    } else {
      TORCH_WARN("optimizer contains a parameter group with duplicate parameters; each is updated once a step");
    }
  }
  group.params() = std::move(kept);
  param_groups_.push_back(std::move(group));
}

void Optimizer::add_parameters(const std::vector<at::Tensor>& parameters) {
  TORCH_CHECK(!param_groups_.empty(), "add_parameters: the optimizer has no parameter group");
  // Through the checks of a group of its own, then into the first.
  add_param_group(OptimizerParamGroup(parameters));
  std::vector<at::Tensor> checked = std::move(param_groups_.back().params());
  param_groups_.pop_back();
  std::vector<at::Tensor>& first = param_groups_.front().params();
  first.insert(first.end(), checked.begin(), checked.end());
}

void Optimizer::zero_grad(bool set_to_none) {
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

const std::vector<at::Tensor>& Optimizer::parameters() const noexcept {
  static const std::vector<at::Tensor> none;
  return param_groups_.empty() ? none : param_groups_.front().params();
}

size_t Optimizer::size() const noexcept { return parameters().size(); }

StateDict Optimizer::state_dict() const {
  StateDict dict;
  size_t index = 0;
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    const OptimizerParamGroup& group = param_groups_[g];
    for (const at::Tensor& p : group.params()) {
      const auto found = state_.find(p.unsafeGetTensorImpl());
      if (found != state_.end()) {
        Saver saver(dict, path("state", index));
        found->second->visit(saver);
      }
      ++index;
    }
    Saver saver(dict, path("param_groups", g));
    const_cast<OptimizerOptions&>(group.options()).visit(saver);
    dict.scalars.emplace_back(path("param_groups", g) + "size", static_cast<int64_t>(group.params().size()));
  }
  dict.scalars.emplace_back("param_groups.size", static_cast<int64_t>(param_groups_.size()));
  return dict;
}

void Optimizer::load_state_dict(const StateDict& dict) {
  const Index index(dict);
  const int64_t groups = index.required_scalar("param_groups.size").toLong();
  TORCH_CHECK_VALUE(groups == static_cast<int64_t>(param_groups_.size()),
                    "loaded state dict has a different number of parameter groups: expected ", param_groups_.size(),
                    ", but got ", groups);
  c10::NoGradGuard no_grad;
  StateMap state;
  std::vector<std::unique_ptr<OptimizerOptions>> options;
  size_t number = 0, used_tensors = 0, used_scalars = 1;
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    const OptimizerParamGroup& group = param_groups_[g];
    const int64_t size = index.required_scalar(path("param_groups", g) + "size").toLong();
    TORCH_CHECK_VALUE(size == static_cast<int64_t>(group.params().size()),
                      "loaded state dict contains a parameter group that has a different size than the optimizer's "
                      "parameter group: expected ",
                      group.params().size(), ", but got ", size);
    options.push_back(group.options().clone());
    Loader loader(index, path("param_groups", g), nullptr);
    options.back()->visit(loader);
    options.back()->check();
    used_scalars += loader.used_scalars + 1;
    for (const at::Tensor& p : group.params()) {
      const std::string prefix = path("state", number++);
      if (!index.has_prefix(prefix)) continue;
      std::unique_ptr<OptimizerParamState> fresh = make_state();
      TORCH_CHECK_NOT_IMPLEMENTED(fresh != nullptr, "load_state_dict: this optimizer keeps no state");
      Loader state_loader(index, prefix, &p);
      fresh->visit(state_loader);
      used_tensors += state_loader.used_tensors;
      used_scalars += state_loader.used_scalars;
      state[p.unsafeGetTensorImpl()] = std::move(fresh);
    }
  }
  TORCH_CHECK_VALUE(used_tensors == dict.tensors.size() && used_scalars == dict.scalars.size(),
                    "load_state_dict: the state dict holds ", dict.tensors.size(), " tensors and ", dict.scalars.size(),
                    " numbers, of which this optimizer knows ", used_tensors, " and ", used_scalars);
  state_ = std::move(state);
  for (size_t g = 0; g < param_groups_.size(); ++g) param_groups_[g].set_options(std::move(options[g]));
}

size_t Optimizer::register_step_pre_hook(StepHook hook) {
  hooks_.push_back(Hook{next_hook_, true, std::move(hook)});
  return next_hook_++;
}

size_t Optimizer::register_step_post_hook(StepHook hook) {
  hooks_.push_back(Hook{next_hook_, false, std::move(hook)});
  return next_hook_++;
}

void Optimizer::remove_hook(size_t id) {
  std::erase_if(hooks_, [id](const Hook& hook) { return hook.id == id; });
}

void Optimizer::call_hooks(bool before) {
  for (const Hook& hook : hooks_)
    if (hook.before == before) hook.call(*this);
}

at::Tensor Optimizer::run_step(const LossClosure& closure, const std::function<void(OptimizerParamGroup&)>& update) {
  c10::NoGradGuard no_grad;
  call_hooks(true);
  at::Tensor loss;
  if (closure) {
    c10::AutoGradMode with_grad(true);
    loss = closure();
  }
  for (OptimizerParamGroup& group : param_groups_) update(group);
  call_hooks(false);
  return loss;
}

}  // namespace torch::optim
