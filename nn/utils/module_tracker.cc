#include "nn/utils/module_tracker.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "autograd/engine/engine.h"
#include "autograd/graph.h"
#include "nn/module/module.h"

namespace torch::utils {
namespace {

std::vector<at::Tensor> differentiable(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.requires_grad()) out.push_back(tensor);
  }
  return out;
}

}  // namespace

// Hooks hold it weakly: they may outlive the tracker for as long as a graph does.
struct ModuleTracker::State : std::enable_shared_from_this<State> {
  mutable std::mutex mutex;
  std::vector<std::string> running;
  std::map<const nn::Module*, std::string> names, root_names;
  std::vector<nn::RemovableHandle> handles;
  const std::thread::id thread = std::this_thread::get_id();
  bool is_backward = false, ends_with_pass = false;

  static void name_below(const nn::Module& module, const std::string& name,
                         std::map<const nn::Module*, std::string>& names) {
    if (!names.emplace(&module, name).second) return;
    for (const auto& child : module.named_children()) name_below(*child.value(), name + "." + child.key(), names);
  }

  std::string name_of(const nn::Module& module) {
    const auto below_root = root_names.find(&module);
    if (below_root != root_names.end()) return below_root->second;
    // Addresses may be those of other modules by now.
    if (running.empty()) names.clear();
    const auto known = names.find(&module);
    if (known != names.end()) return known->second;
    name_below(module, type_name(module), names);
    return names[&module];
  }

  void enter(const std::string& name, bool backward) {
    const std::lock_guard lock(mutex);
    // What an earlier pass left open ends with it.
    if (is_backward && !backward) running.clear();
    running.push_back(name);
    is_backward = backward;
  }
  void leave(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto last = std::find(running.rbegin(), running.rend(), name);
    if (last != running.rend()) running.erase(std::next(last).base());
  }
  void enter_backward(const std::string& name) {
    bool first;
    {
      const std::lock_guard lock(mutex);
      first = !std::exchange(ends_with_pass, true);
    }
    if (first) {
      autograd::Engine::get_default_engine().queue_callback([weak = weak_from_this()] {
        const std::shared_ptr<State> state = weak.lock();
        if (state == nullptr) return;
        const std::lock_guard lock(state->mutex);
        state->running.clear();
        state->ends_with_pass = false;
      });
    }
    enter(name, true);
  }

  void before(const nn::Module& module, const std::vector<at::Tensor>& inputs) {
    if (std::this_thread::get_id() != thread) return;
    std::string name;
    {
      const std::lock_guard lock(mutex);
      name = name_of(module);
    }
    enter(name, false);
    const std::vector<at::Tensor> tensors = differentiable(inputs);
    if (tensors.empty()) return;
    handles.push_back(autograd::graph::register_multi_grad_hook(
        tensors, std::function<void(const std::vector<at::Tensor>&)>([weak = weak_from_this(), name](const auto&) {
          if (const std::shared_ptr<State> state = weak.lock()) state->leave(name);
        })));
  }

  void after(const nn::Module& module, const std::vector<at::Tensor>& outputs) {
    if (std::this_thread::get_id() != thread) return;
    std::string name;
    {
      const std::lock_guard lock(mutex);
      name = name_of(module);
    }
    leave(name);
    const std::vector<at::Tensor> tensors = differentiable(outputs);
    if (tensors.empty()) return;
    handles.push_back(autograd::graph::register_multi_grad_hook(
        tensors, std::function<void(const std::vector<at::Tensor>&)>([weak = weak_from_this(), name](const auto&) {
          if (const std::shared_ptr<State> state = weak.lock()) state->enter_backward(name);
        })));
  }
};

ModuleTracker::ModuleTracker(const nn::Module* root) : state_(std::make_shared<State>()) {
  if (root != nullptr) State::name_below(*root, type_name(*root), state_->root_names);
  const std::weak_ptr<State> weak = state_;
  const auto before = [weak](nn::Module& module, const std::vector<at::Tensor>& inputs) {
    if (const std::shared_ptr<State> state = weak.lock()) state->before(module, inputs);
  };
  const auto after = [weak](nn::Module& module, const std::vector<at::Tensor>&,
                            const std::vector<at::Tensor>& outputs) {
    if (const std::shared_ptr<State> state = weak.lock()) state->after(module, outputs);
  };
  state_->handles.push_back(nn::modules::register_module_forward_pre_hook(before));
  state_->handles.push_back(nn::modules::register_module_forward_hook(after, /*always_call=*/true));
}

ModuleTracker::~ModuleTracker() {
  for (nn::RemovableHandle& handle : state_->handles) handle.remove();
}

std::set<std::string> ModuleTracker::parents() const {
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> all(state_->running.begin(), state_->running.end());
  all.insert("Global");
  return all;
}

bool ModuleTracker::is_bw() const {
  const std::lock_guard lock(state_->mutex);
  return state_->is_backward;
}

std::string ModuleTracker::type_name(const nn::Module& module) {
  std::string_view name = module.name();
  const std::string_view type = name.substr(0, name.find('<'));
  const size_t colons = type.rfind("::");
  if (colons != std::string_view::npos) name.remove_prefix(colons + 2);
  const size_t end = std::min(name.find('<'), name.size());
  std::string out(name.substr(0, end));
  if (out.size() > 4 && out.ends_with("Impl")) out.resize(out.size() - 4);
  return out;
}

}  // namespace torch::utils
