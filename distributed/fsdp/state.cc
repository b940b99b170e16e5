#include "distributed/fsdp/state.h"

#include <algorithm>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "autograd/engine/engine.h"
#include "autograd/engine/hooks.h"
#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/fsdp/pipelined.h"
#include "nn/module/module.h"
#include "nn/module/replacement.h"
#include "nn/module/state_dict.h"

namespace torch::distributed::fsdp::detail {
namespace {

using at::Tensor;
using nn::detail::Replacement;
using torch::autograd::Engine;
using torch::autograd::variable_list;

struct Attached {
  std::shared_ptr<State> state;
};

// Whether some became another.
bool cast(std::vector<Tensor>& tensors, at::ScalarType dtype) {
  bool changed = false;
  for (Tensor& t : tensors) {
    if (!t.defined() || !t.is_floating_point() || t.scalar_type() == dtype) continue;
    t = t.to(dtype);
    changed = true;
  }
  return changed;
}

}  // namespace

// The identity of a module's arguments: what runs behind it in a backward pass needs the module's parameters no more.
class State::PostBackward final : public torch::autograd::CustomNode {
 public:
  explicit PostBackward(std::weak_ptr<State> state) : state_(std::move(state)) {
    context().set_materialize_grads(false);
  }
  std::string name() const override { return "FullyShardPostBackward"; }

  static bool watch(const std::shared_ptr<State>& state, std::vector<Tensor>& inputs) {
    if (!c10::GradMode::is_enabled()) return false;
    std::vector<size_t> places;
    std::vector<Tensor> watched;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined() || !inputs[i].requires_grad()) continue;
      places.push_back(i);
      watched.push_back(inputs[i]);
    }
    if (watched.empty()) return false;
    auto node = c10::make_intrusive<PostBackward>(state);
    node->add_argument(at::TensorList(watched));
    node->start();
    watched = node->finish(std::move(watched));
    for (size_t i = 0; i < places.size(); ++i) inputs[places[i]] = watched[i];
    return true;
  }

 protected:
  variable_list run_backward(torch::autograd::AutogradContext*, variable_list grads) override {
    if (const auto state = state_.lock()) state->post_backward();
    return grads;
  }

 private:
  const std::weak_ptr<State> state_;
};

// --- which modules ---

std::shared_ptr<State> State::of(const nn::Module& module) {
  const Attached* const attached = nn::attached<Attached>(module);
  return attached == nullptr ? nullptr : attached->state;
}

std::shared_ptr<State> State::attach(std::vector<nn::Module*> modules, std::shared_ptr<ParamGroup> group,
                                     const MixedPrecisionPolicy& precision) {
  auto state = std::make_shared<State>();
  state->modules_ = std::move(modules);
  state->group_ = std::move(group);
  state->precision_ = precision;
  for (nn::Module* const module : state->modules_) {
    nn::attach(*module, std::make_shared<const Attached>(Attached{state}));
    nn::attach(*module, std::make_shared<const Pipelined>(Pipelined{
                            .defer = [state](bool defers) { state->set_defers(defers); },
                            .gather = [state] { state->gather(); },
                            .finish = [state] { state->finish_deferred(); },
                            .abort =
                                [state](const std::string& reason) {
                                  if (state->group_ != nullptr) state->group_->ranks().abort(reason);
                                },
                        }));
    // The module owns the state.
    module->register_forward_pre_hook(
        [state](nn::Module& m, const std::vector<Tensor>& inputs) { return state->pre_forward(m, inputs); },
        /*prepend=*/true);
    module->register_forward_hook(
        [state](nn::Module& m, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
          return state->post_forward(m, outputs);
        });
  }
  if (state->group_ == nullptr) return state;
  // State dictionaries hold shards.
  std::vector<nn::Module*> holders;
  for (const auto& param : state->group_->params()) {
    for (const Place& place : param->places()) holders.push_back(place.module);
  }
  holders.insert(holders.end(), state->modules_.begin(), state->modules_.end());
  std::sort(holders.begin(), holders.end());
  holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  for (nn::Module* const module : holders) {
    module->register_state_dict_pre_hook([state](nn::Module&, const std::string&, bool) { state->use_shards(); });
    module->register_load_state_dict_pre_hook([state](nn::Module&, nn::StateDict&, const std::string&, bool,
                                                      std::vector<std::string>&, std::vector<std::string>&,
                                                      std::vector<std::string>&) { state->use_shards(); });
  }
  return state;
}

std::vector<std::shared_ptr<State>> State::states(bool recurse) const {
  std::vector<std::shared_ptr<State>> all{std::const_pointer_cast<State>(shared_from_this())};
  if (!recurse) return all;
  for (nn::Module* const module : modules_) {
    // By reference: a module on the stack has no shared_ptr.
    module->apply([&](nn::Module& below) {
      const auto state = of(below);
      if (state != nullptr && std::find(all.begin(), all.end(), state) == all.end()) all.push_back(state);
    });
  }
  return all;
}

void State::use_shards() {
  if (group_->is_whole()) group_->reshard();
}

void State::become_root() {
  auto iteration = std::make_shared<Iteration>();
  const auto all = states(/*recurse=*/true);
  for (const auto& state : all) {
    TORCH_CHECK(state->root_ == nullptr, "fully_shard: ", modules_[0]->name(), " is called for the first time, but ",
                state->modules_[0]->name(),
                " below it was called before, and is the root of its own: the outermost module has to be called first");
  }
  for (const auto& state : all) {
    iteration->states.push_back(state);
    state->iteration_ = iteration;
    state->root_ = this;
    if (state->group_ != nullptr && !state->group_->reshards_after_forward && state.get() != this) {
      state->group_->reshards_after_forward = true;
    }
  }
}

// --- forward ---

Replacement State::pre_forward(nn::Module& module, const std::vector<Tensor>& inputs) {
  TORCH_CHECK(std::find(modules_.begin(), modules_.end(), &module) != modules_.end(), "fully_shard: ", module.name(),
              " is a copy of a module that is sharded; copy it before fully_shard()");
  if (root_ == nullptr) become_root();
  // A checkpoint that runs it again: backward has gathered, and will free.
  const bool again = phase_ == Phase::kBackward && iteration_->pass != 0 && iteration_->pass == Engine::current_pass();
  if (again) return std::nullopt;
  // What an exception left: of a forward pass that did not end, or, at the root, of a backward pass.
  const bool did_not_end = std::find(inside_.begin(), inside_.end(), &module) != inside_.end();
  if (is_root() && (did_not_end || (iteration_->pass != 0 && Engine::current_pass() == 0))) {
    reset_iteration();
  } else if (did_not_end) {
    running_.clear();
    inside_.clear();
  }
  inside_.push_back(&module);
  const bool is_first = running_.empty();
  if (is_first) {
    running_ = modules_;
    phase_ = Phase::kForward;
    if (group_ != nullptr) {
      group_->unshard();
      group_->wait_for_unshard();
    }
    prefetch(forward_prefetch);
  }
  std::vector<Tensor> changed = inputs;
  bool replaces =
      precision_.cast_forward_inputs() && precision_.param_dtype() && cast(changed, *precision_.param_dtype());
  if (group_ != nullptr && is_first) replaces = PostBackward::watch(shared_from_this(), changed) || replaces;
  return replaces ? Replacement(std::move(changed)) : std::nullopt;
}

Replacement State::post_forward(nn::Module& module, const std::vector<Tensor>& outputs) {
  if (phase_ == Phase::kBackward) return std::nullopt;
  std::vector<Tensor> changed = outputs;
  const bool replaces = precision_.output_dtype() && cast(changed, *precision_.output_dtype());
  if (c10::GradMode::is_enabled()) {
    for (const Tensor& t : changed) {
      if (!t.defined() || !t.requires_grad()) continue;
      torch::autograd::register_tensor_hook(t, [state = weak_from_this()](const Tensor&) {
        const auto alive = state.lock();
        TORCH_CHECK(alive != nullptr, "fully_shard: the module of this graph is gone, and its parameters with it");
        alive->pre_backward();
        return Tensor();
      });
    }
  }
  std::erase(running_, &module);
  std::erase(inside_, &module);
  if (running_.empty()) {
    phase_ = Phase::kIdle;
    if (group_ != nullptr) {
      // Backward needs the root's first; where none follows, nobody does.
      const bool frees = group_->reshards_after_forward.value_or(!c10::GradMode::is_enabled());
      if (frees) group_->reshard_after_forward();
      if (c10::GradMode::is_enabled()) {
        places_.push_back(iteration_->after_forward.size());
        iteration_->after_forward.push_back(weak_from_this());
      }
    }
  }
  return replaces ? Replacement(std::move(changed)) : std::nullopt;
}

// --- backward ---

void State::pre_backward() {
  const uint64_t pass = Engine::current_pass();
  if (iteration_->pass == 0) {
    iteration_->pass = pass;
    Engine::get_default_engine().queue_callback([iteration = iteration_, root = root_] {
      for (const auto& weak : iteration->states) {
        const auto state = weak.lock();
        if (state.get() == root) return state->end_of_backward();
      }
    });
  }
  if (phase_ == Phase::kBackward) return;
  phase_ = Phase::kBackward;
  if (group_ == nullptr) return;
  if (group_->unshards_in_backward) {
    // Where nobody has gathered ahead memory matters more than time.
    if (!group_->is_gathered()) iteration_->reductions.wait_for_scatter();
    gather();
  }
  if (group_->reshards_after_backward && group_->is_whole() && !defers_) group_->free_early(pass);
  const size_t place = places_.empty() ? 0 : places_.back();
  if (!places_.empty()) places_.pop_back();
  if (!backward_prefetch.empty()) {
    prefetch(backward_prefetch);
  } else if (prefetches == Prefetch::kBefore) {
    prefetch_before(place);
  } else if (prefetches == Prefetch::kBehind) {
    next_place_ = place;
  }
}

void State::prefetch(const std::vector<std::weak_ptr<State>>& states) {
  for (const auto& weak : states) {
    const auto state = weak.lock();
    if (state != nullptr && state->group_ != nullptr) state->group_->unshard();
  }
}

// The module that ended forward before this one.
void State::prefetch_before(size_t place) {
  if (place == 0 || place > iteration_->after_forward.size()) return;
  const auto state = iteration_->after_forward[place - 1].lock();
  if (state != nullptr && state->group_->unshards_in_backward) state->group_->unshard();
}

void State::post_backward(bool is_end) {
  phase_ = Phase::kIdle;
  if (group_ != nullptr) group_->post_backward(iteration_->reductions, defers_);
  const size_t next = std::exchange(next_place_, 0);
  if (!is_end) prefetch_before(next);
}

// Modules whose arguments need no gradient are done only now, and so are those that were gathered in vain.
void State::end_of_backward() {
  const auto all = iteration_->states;
  for (const auto& weak : all) {
    if (const auto state = weak.lock()) state->post_backward(/*is_end=*/true);
  }
  iteration_->pass = 0;
  if (!is_last_backward || defers_) return;
  iteration_->reductions.finish();
  iteration_->after_forward.clear();
  for (const auto& weak : all) {
    if (const auto state = weak.lock()) state->places_.clear();
  }
}

void State::gather() {
  if (group_ == nullptr) return;
  group_->unshard();
  group_->wait_for_unshard();
}

void State::finish_deferred() {
  if (is_root()) end_of_backward();
}

void State::reset_iteration() noexcept {
  if (iteration_ == nullptr) return;
  iteration_->reductions.drop();
  iteration_->after_forward.clear();
  iteration_->pass = 0;
  for (const auto& weak : iteration_->states) {
    const auto state = weak.lock();
    if (state == nullptr) continue;
    state->phase_ = Phase::kIdle;
    state->running_.clear();
    state->inside_.clear();
    state->places_.clear();
    if (state->group_ != nullptr) state->group_->reset();
  }
}

}  // namespace torch::distributed::fsdp::detail
