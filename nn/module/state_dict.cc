#include "nn/module/state_dict.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/string_util.h"
#include "nn/module/hook_lists.h"

namespace torch::nn {

namespace {

using detail::class_name;
using detail::hooks_of;

constexpr const char* kExtraState = "_extra_state";

std::string quoted(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "\"" : ", \"") + key + "\"";
  return text;
}

std::string listed(const std::vector<std::string>& keys) {
  std::string text = "[";
  for (const std::string& key : keys) text += (text.size() == 1 ? "'" : ", '") + key + "'";
  return text + "]";
}

std::string python_size(at::IntArrayRef sizes) {
  return c10::str("torch.Size(", sizes, ")");
}

void gather(Module& m, StateDict& state, const std::string& prefix, bool keep_vars) {
  state.versions.insert(prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1), m.state_dict_version());
  const detail::ModuleHooks* const hooks = hooks_of(m);
  if (hooks != nullptr) {
    for (const auto& hook : hooks->state_dict_pre.list()) (*hook.call)(m, prefix, keep_vars);
  }
  const auto put = [&](const std::string& name, const at::Tensor& t) {
    if (t.defined()) state.insert(prefix + name, keep_vars ? t : at::detach(t));
  };
  for (const auto& item : ModuleAccess::parameters(m)) put(item.key(), item.value());
  for (const auto& item : ModuleAccess::buffers(m)) {
    if (ModuleAccess::is_persistent(m, item.key())) put(item.key(), item.value());
  }
  if (c10::IValue extra = m.get_extra_state(); !extra.isNone())
    state.extra_state.insert(prefix + kExtraState, std::move(extra));
  for (const auto& child : ModuleAccess::children(m)) {
    if (child.value() != nullptr) gather(*child.value(), state, prefix + child.key() + ".", keep_vars);
  }
  if (hooks != nullptr) {
    for (const auto& hook : hooks->state_dict_post.list()) (*hook.call)(m, state, prefix);
  }
}

// Collects what is to be loaded and what is wrong, then loads.
class Loader {
 public:
  Loader(StateDict state, bool assign) : state_(std::move(state)), assign_(assign) {}

  IncompatibleKeys load(Module& m, bool strict) {
    plan(m, "");
    find_unexpected(m);
    const bool in_order = errors_.empty() && (!strict || (keys_.missing_keys.empty() && keys_.unexpected_keys.empty()));
    if (in_order || (errors_.empty() && has_post_hooks_)) run();
    if (has_post_hooks_) run_post_hooks(m);
    if (strict) add_key_errors();
    TORCH_CHECK(errors_.empty(), "Error(s) in loading state_dict for ", class_name(m), ":\n\t",
                c10::Join("\n\t", errors_));
    return std::move(keys_);
  }

 private:
  struct Copy {
    std::string name;
    at::Tensor from, to;
  };
  struct Extra {
    Module* module;
    std::string name;
  };
  struct Unexpected {
    size_t module, position;
    std::string name;
    auto operator<=>(const Unexpected&) const = default;
  };

  void plan(Module& m, const std::string& prefix) {
    order_.emplace(prefix, order_.size());
    const std::string path = prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1);
    const int64_t* const version = state_.versions.find(path);
    const detail::ModuleHooks* const hooks = hooks_of(m);
    if (hooks != nullptr) {
      has_post_hooks_ |= !hooks->load_post.empty();
      for (const auto& hook : hooks->load_pre.list()) {
        (*hook.call)(m, state_, prefix, /*strict=*/true, keys_.missing_keys, keys_.unexpected_keys, errors_);
      }
    }
    m.upgrade_state_dict(state_, prefix, version == nullptr ? std::nullopt : std::optional<int64_t>(*version));
    if (m.has_uninitialized_params()) ModuleAccess::initialize_from(m, state_, prefix);
    for (const auto& item : ModuleAccess::parameters(m)) plan_tensor(prefix + item.key(), item.value());
    for (const auto& item : ModuleAccess::buffers(m)) {
      if (ModuleAccess::is_persistent(m, item.key())) plan_tensor(prefix + item.key(), item.value());
    }
    if (!m.get_extra_state().isNone()) {
      const std::string name = prefix + kExtraState;
      if (state_.extra_state.contains(name)) {
        extras_.push_back({&m, name});
      } else {
        keys_.missing_keys.push_back(name);
      }
    }
    for (const auto& child : ModuleAccess::children(m)) {
      if (child.value() != nullptr) plan(*child.value(), prefix + child.key() + ".");
    }
  }

  void plan_tensor(const std::string& name, const at::Tensor& to) {
    if (!to.defined()) return;
    const at::Tensor* const found = state_.find(name);
    if (found == nullptr) {
      keys_.missing_keys.push_back(name);
      return;
    }
    if (!found->defined()) {
      errors_.push_back(c10::str("While copying the parameter named \"", name,
                                 "\", expected a Tensor from checkpoint but received an undefined one."));
      return;
    }
    at::Tensor from = *found;
    // Files of old have numbers as lists of one.
    if (to.dim() == 0 && from.dim() == 1 && from.size(0) == 1) from = at::select(from, 0, 0);
    if (from.sizes() != to.sizes()) {
      errors_.push_back(c10::str("size mismatch for ", name, ": copying a param with shape ", python_size(from.sizes()),
                                 " from checkpoint, the shape in current model is ", python_size(to.sizes()), "."));
      return;
    }
    copies_.push_back({name, std::move(from), to});
  }

  // In the order of the modules that the names should belong to.
  void find_unexpected(const Module& root) {
    std::vector<Unexpected> found;
    for (const auto& item : state_.extra_state) check_expected(root, item.key(), found);
    for (const auto& item : state_) check_expected(root, item.key(), found);
    std::sort(found.begin(), found.end());
    for (Unexpected& key : found) keys_.unexpected_keys.push_back(std::move(key.name));
  }
  void check_expected(const Module& root, const std::string& name, std::vector<Unexpected>& found) {
    const Module* m = &root;
    size_t begin = 0;
    for (size_t dot; (dot = name.find('.', begin)) != std::string::npos; begin = dot + 1) {
      const auto* child = ModuleAccess::children(*m).find(name.substr(begin, dot - begin));
      if (child == nullptr || *child == nullptr) break;
      m = child->get();
    }
    if (has(const_cast<Module&>(*m), name.substr(begin))) return;
    found.push_back({order_[name.substr(0, begin)], found.size(), name});
  }
  static bool has(Module& m, const std::string& name) {
    if (name == kExtraState) return !m.get_extra_state().isNone();
    const at::Tensor* t = ModuleAccess::parameters(m).find(name);
    if (t == nullptr && ModuleAccess::is_persistent(m, name)) t = ModuleAccess::buffers(m).find(name);
    return t != nullptr && t->defined();
  }

  void run() {
    c10::NoGradGuard no_grad;
    for (const Copy& copy : copies_) {
      try {
        run(copy);
      } catch (const std::exception& e) {
        errors_.push_back(c10::str("While copying the parameter named \"", copy.name,
                                   "\", whose dimensions in the model are ", python_size(copy.to.sizes()),
                                   " and whose dimensions in the checkpoint are ", python_size(copy.from.sizes()),
                                   ", an exception occurred : ", e.what(), "."));
      }
    }
    for (const Extra& extra : extras_) extra.module->set_extra_state(state_.extra_state[extra.name]);
  }
  void run(const Copy& copy) const {
    if (assign_) {
      const bool requires_grad = copy.to.requires_grad();
      copy.to.set_data(at::detach(copy.from));
      copy.to.set_requires_grad(requires_grad);
      return;
    }
    if (copy.to.is_meta() && !copy.from.is_meta()) {
      TORCH_WARN(
          "for ", copy.name,
          ": copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
          "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to "
          "their corresponding key in the module instead of copying them in place?)");
      return;
    }
    at::Tensor to = copy.to;
    at::copy_(to, copy.from);
  }

  void run_post_hooks(Module& m) {
    for (const auto& child : ModuleAccess::children(m)) {
      if (child.value() != nullptr) run_post_hooks(*child.value());
    }
    const detail::ModuleHooks* const hooks = hooks_of(m);
    if (hooks == nullptr) return;
    for (const auto& hook : hooks->load_post.list()) (*hook.call)(m, keys_);
  }

  void add_key_errors() {
    if (!keys_.unexpected_keys.empty()) {
      errors_.insert(errors_.begin(),
                     c10::str("Unexpected key(s) in state_dict: ", quoted(keys_.unexpected_keys), ". "));
    }
    if (!keys_.missing_keys.empty()) {
      errors_.insert(errors_.begin(), c10::str("Missing key(s) in state_dict: ", quoted(keys_.missing_keys), ". "));
    }
  }

  StateDict state_;
  const bool assign_;
  std::unordered_map<std::string, size_t> order_;  // of the modules, by prefix
  std::vector<Copy> copies_;
  std::vector<Extra> extras_;
  IncompatibleKeys keys_;
  std::vector<std::string> errors_;
  bool has_post_hooks_ = false;
};

}  // namespace

StateDict Module::state_dict(const std::string& prefix, bool keep_vars) const {
  StateDict state;
  gather(const_cast<Module&>(*this), state, prefix, keep_vars);
  return state;
}

IncompatibleKeys Module::load_state_dict(const StateDict& state, bool strict, bool assign) {
  return Loader(state, assign).load(*this, strict);
}

std::ostream& operator<<(std::ostream& stream, const IncompatibleKeys& keys) {
  if (keys.missing_keys.empty() && keys.unexpected_keys.empty()) {
    detail::put_text(stream, "<All keys matched successfully>");
  } else {
    detail::put_text(stream, "_IncompatibleKeys(missing_keys=" + listed(keys.missing_keys) +
                                 ", unexpected_keys=" + listed(keys.unexpected_keys) + ")");
  }
  return stream;
}

}  // namespace torch::nn
