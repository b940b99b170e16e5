#include "autograd/graph.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "autograd/engine/engine.h"
#include "autograd/engine/hooks.h"
#include "c10/util/exception.h"

namespace torch::autograd::graph {
namespace {

struct OnCpu {
  at::Device device;
  at::Tensor kept;
};

std::unique_ptr<SavedVariableHooks> make_cpu_hooks(bool pin_memory) {
  const auto pack = [pin_memory](const at::Tensor& t) {
    if (t.device().is_cpu()) return OnCpu{t.device(), t};
    at::Tensor kept = at::empty(t.sizes(), t.options().device(at::kCPU).pinned_memory(pin_memory));
    at::copy_(kept, t);
    return OnCpu{t.device(), std::move(kept)};
  };
  const auto unpack = [pin_memory](const OnCpu& packed) {
    if (packed.device.is_cpu()) return packed.kept;
    return at::_to_copy(packed.kept, packed.kept.options().device(packed.device).pinned_memory(false), pin_memory);
  };
  using Hooks = detail::FunctionHooks<std::decay_t<decltype(pack)>, std::decay_t<decltype(unpack)>>;
  return std::make_unique<Hooks>(std::make_shared<Hooks::Pair>(pack, unpack));
}

// The gradients of several tensors, collected for each running pass by itself.
class Collector {
 public:
  explicit Collector(std::vector<std::shared_ptr<NodeHandle>> nodes) : nodes_(std::move(nodes)) {}
  virtual ~Collector() = default;

  void note(size_t index, const at::Tensor& grad) {
    const std::shared_ptr<State> state = state_of_this_pass();
    const std::lock_guard<std::mutex> lock(state->mutex);
    state->grads[index] = grad;
    ++state->seen;
    step(*state, grad);
  }

 protected:
  struct State {
    std::mutex mutex;
    size_t expected = 0;
    size_t seen = 0;
    bool called = false;
    variable_list grads;
  };
  virtual void step(State& state, const at::Tensor& grad) = 0;

 private:
  std::shared_ptr<State> state_of_this_pass() {
    const uint64_t pass = Engine::current_pass();
    std::shared_ptr<State> state;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::erase_if(states_, [](const auto& entry) { return entry.second.expired(); });
      if (const auto found = states_.find(pass); found != states_.end()) state = found->second.lock();
      if (state != nullptr) return state;
      state = std::make_shared<State>();
      states_[pass] = state;
      state->grads.resize(nodes_.size());
      for (const auto& node : nodes_) {
        const std::lock_guard<std::mutex> alive(node->mutex);
        state->expected += node->node != nullptr && Engine::will_execute(*node->node);
      }
    }
    // The pass owns it: it goes with the pass, however that ends.
    Engine::get_default_engine().queue_callback([state] {});
    return state;
  }

  const std::vector<std::shared_ptr<NodeHandle>> nodes_;  // by tensor
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::weak_ptr<State>> states_;  // by pass
};

class AllCollector final : public Collector {
 public:
  AllCollector(std::vector<std::shared_ptr<NodeHandle>> nodes, std::function<void(const variable_list&)> hook)
      : Collector(std::move(nodes)), hook_(std::move(hook)) {}

 private:
  void step(State& state, const at::Tensor&) override {
    if (state.seen == state.expected) hook_(state.grads);
  }
  const std::function<void(const variable_list&)> hook_;
};

class AnyCollector final : public Collector {
 public:
  AnyCollector(std::vector<std::shared_ptr<NodeHandle>> nodes, std::function<void(const at::Tensor&)> hook)
      : Collector(std::move(nodes)), hook_(std::move(hook)) {}

 private:
  void step(State& state, const at::Tensor& grad) override {
    if (!std::exchange(state.called, true)) hook_(grad);
  }
  const std::function<void(const at::Tensor&)> hook_;
};

struct Place {
  std::shared_ptr<NodeHandle> node;
  uint64_t key;
};

void remove_all(const std::vector<Place>& places) {
  for (const Place& place : places) {
    const std::lock_guard<std::mutex> lock(place.node->mutex);
    if (place.node->node != nullptr) remove_tensor_hook(*place.node->node, place.key);
  }
}

template <class Kind, class Hook>
RemovableHandle register_on_all(const variable_list& tensors, Hook hook) {
  TORCH_CHECK(hook != nullptr, "register_multi_grad_hook: the hook is empty");
  for (const at::Tensor& t : tensors) {
    TORCH_CHECK(
        requires_grad(t), "register_multi_grad_hook: cannot register a hook on a tensor that doesn't require gradient");
  }
  std::vector<Edge> edges;
  std::vector<std::shared_ptr<NodeHandle>> nodes;
  for (const at::Tensor& t : tensors) {
    edges.push_back(gradient_edge(t));
    nodes.push_back(handle_of(*edges.back().function));
  }
  const auto collector = std::make_shared<Kind>(nodes, std::move(hook));
  std::vector<Place> places;
  for (size_t i = 0; i < edges.size(); ++i) {
    const auto note = [collector, i](const at::Tensor& grad) {
      collector->note(i, grad);
      return at::Tensor();
    };
    places.push_back({nodes[i], add_tensor_hook(*edges[i].function, edges[i].input_nr, note, /*even_undefined=*/true)});
  }
  return RemovableHandle([places] { remove_all(places); });
}

class PostHook final : public FunctionPostHook {
 public:
  using Function = std::function<variable_list(const variable_list&, const variable_list&)>;
  explicit PostHook(Function function) : function_(std::move(function)) {}
  variable_list operator()(const variable_list& outputs, const variable_list& inputs) override {
    variable_list replaced = function_(outputs, inputs);
    return replaced.empty() ? outputs : replaced;
  }

 private:
  Function function_;
};

class PreHook final : public FunctionPreHook {
 public:
  using Function = std::function<variable_list(const variable_list&)>;
  explicit PreHook(Function function) : function_(std::move(function)) {}
  variable_list operator()(const variable_list& grads) override {
    variable_list replaced = function_(grads);
    return replaced.empty() ? grads : replaced;
  }

 private:
  Function function_;
};

}  // namespace

GradientEdge get_gradient_edge(const at::Tensor& t) {
  TORCH_CHECK(
      t.defined() && requires_grad(t),
      "It is not possible to get the gradient edge of a Tensor that does not require gradients");
  Edge edge = gradient_edge(t);
  return {std::move(edge.function), edge.input_nr};
}

save_on_cpu::save_on_cpu(bool pin_memory) : guard_([pin_memory] { return make_cpu_hooks(pin_memory); }) {}

disable_saved_tensors_hooks::disable_saved_tensors_hooks(const std::string& error_message)
    : before_(SavedTensorDefaultHooks::get_disabled_error_message()) {
  try {
    SavedTensorDefaultHooks::disable(error_message);
  } catch (...) {
    SavedTensorDefaultHooks::enable();
    throw;
  }
}

disable_saved_tensors_hooks::~disable_saved_tensors_hooks() {
  if (before_.has_value()) {
    SavedTensorDefaultHooks::disable(*before_);
  } else {
    SavedTensorDefaultHooks::enable();
  }
}

RemovableHandle register_multi_grad_hook(
    const variable_list& tensors, std::function<void(const variable_list&)> hook) {
  return register_on_all<AllCollector>(tensors, std::move(hook));
}

RemovableHandle register_any_grad_hook(const variable_list& tensors, std::function<void(const at::Tensor&)> hook) {
  return register_on_all<AnyCollector>(tensors, std::move(hook));
}

RemovableHandle register_hook(
    const NodePtr& node, std::function<variable_list(const variable_list&, const variable_list&)> hook) {
  TORCH_CHECK(node != nullptr && hook != nullptr, "register_hook: the node and the hook must be given");
  const uintptr_t key = node->add_post_hook(std::make_unique<PostHook>(std::move(hook)));
  return RemovableHandle([handle = handle_of(*node), key] {
    const std::lock_guard<std::mutex> lock(handle->mutex);
    if (handle->node != nullptr) handle->node->del_post_hook(key);
  });
}

RemovableHandle register_prehook(const NodePtr& node, std::function<variable_list(const variable_list&)> hook) {
  TORCH_CHECK(node != nullptr && hook != nullptr, "register_prehook: the node and the hook must be given");
  const uintptr_t key = node->add_pre_hook(std::make_unique<PreHook>(std::move(hook)));
  return RemovableHandle([handle = handle_of(*node), key] {
    const std::lock_guard<std::mutex> lock(handle->mutex);
    if (handle->node != nullptr) handle->node->del_pre_hook(key);
  });
}

namespace detail {

void throw_bad_mode(std::string_view mode, bool takes_list) {
  TORCH_CHECK_VALUE(mode == "all" || mode == "any", "Expects mode to be one of ('all', 'any') but got ", mode);
  TORCH_CHECK_VALUE(
      false, "register_multi_grad_hook: mode '", mode, "' takes a hook of a ", takes_list ? "tensor" : "variable_list");
}

}  // namespace detail
}  // namespace torch::autograd::graph
