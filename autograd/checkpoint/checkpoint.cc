#include "autograd/checkpoint/checkpoint.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "aten/autocast/autocast_mode.h"
#include "aten/autocast/state.h"
#include "aten/core/thread_local_state.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/checkpoint/rng_state.h"
#include "autograd/engine/forward_grad.h"
#include "autograd/engine/saved_tensor_hooks.h"
#include "autograd/function/batching.h"
#include "autograd/function/custom_function.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::utils::checkpoint {
namespace {

using at::Tensor;
using autograd::SavedTensorsHooksGuard;
using autograd::SavedVariable;
using autograd::SavedVariableHooks;

// 0, 1, or -1 where nobody said.
thread_local constinit int8_t early_stop_setting = -1;

struct CarriedSetting final : c10::intrusive_ptr_target {
  int8_t value = -1;
};

at::impl::ThreadLocalPart::Value carried_setting() {
  if (early_stop_setting < 0) return {};
  auto carried = c10::make_intrusive<CarriedSetting>();
  carried->value = early_stop_setting;
  return carried;
}

void set_carried_setting(const at::impl::ThreadLocalPart::Value& value) {
  const auto* carried = static_cast<const CarriedSetting*>(value.get());
  early_stop_setting = carried == nullptr ? int8_t{-1} : carried->value;
}

[[maybe_unused]] const bool registered = at::impl::register_thread_local_part({carried_setting, set_carried_setting});

// What a run in backward shares with the first one but does not save: the random numbers.
class RngScope {
 public:
  explicit RngScope(const std::optional<RngState>& then) {
    if (!then.has_value()) return;
    now_ = then->again();
    then->restore();
  }
  ~RngScope() {
    if (now_.has_value()) now_->restore();
  }
  RngScope(const RngScope&) = delete;
  RngScope& operator=(const RngScope&) = delete;

 private:
  std::optional<RngState> now_;
};

// And whether it casts. Programs call backward outside of the regions of autocast.
class AutocastState {
 public:
  AutocastState() : keys_(c10::thread_state().included), state_(at::autocast::detail::state()) {}

  void set() const {
    for (const c10::DispatchKey key :
         {c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA, c10::DispatchKey::AutocastPrivateUse1}) {
      c10::impl::tls_set_dispatch_key_included(key, keys_.has(key));
    }
    at::autocast::detail::state() = state_;
  }
  bool is_in_region() const { return state_.nesting > 0; }

 private:
  c10::DispatchKeySet keys_;
  at::autocast::detail::State state_;
};

class AutocastScope {
 public:
  explicit AutocastScope(const AutocastState& then) { then.set(); }
  ~AutocastScope() {
    now_.set();
    // What was cast for the second run stays no longer than it.
    if (!now_.is_in_region()) at::autocast::clear_cache();
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const AutocastState now_;
};

// Levels of vmap and of forward mode.
bool is_at_level() {
  return c10::thread_state().included.has(c10::DispatchKey::FuncTorchBatched) || autograd::forward_depth() > 0;
}

// What the thread has switched on, for a second run at the levels of the first. Modes live no longer than their scope:
// under them, nothing is kept.
std::optional<at::ThreadLocalState> state_without_modes() {
  if (c10::thread_state().included.has(c10::DispatchKey::Mode)) return std::nullopt;
  return at::ThreadLocalState();
}

// As many levels of forward mode as there were at the call. Those that ended since are entered again.
class ForwardLevels {
 public:
  explicit ForwardLevels(int depth) {
    while (depth > 0) {
      const uint64_t were = autograd::enter_forward_level();
      entered_.push_back(were);
      if (were + 1 >= static_cast<uint64_t>(depth)) break;
    }
    // They are all there.
    if (!entered_.empty() && entered_[0] >= static_cast<uint64_t>(depth)) leave();
  }
  ~ForwardLevels() { leave(); }
  ForwardLevels(const ForwardLevels&) = delete;
  ForwardLevels& operator=(const ForwardLevels&) = delete;

 private:
  void leave() {
    for (; !entered_.empty(); entered_.pop_back()) autograd::exit_forward_level(entered_.back());
  }
  std::vector<uint64_t> entered_;
};

// A tensor and its tangents by level, which do not outlive these.
struct Dual {
  Tensor value;
  std::vector<std::pair<int, Dual>> tangents = {};

  Tensor tensor() const {
    Tensor t = value;
    for (const auto& [level, tangent] : tangents) {
      if (autograd::tangent_of(t, level).defined()) continue;
      if (t.is_same(value)) t = at::alias(value);
      autograd::put_tangent(t, tangent.tensor(), level);
    }
    return t;
  }
};

// The same as a graph keeps it. Under the hooks that hold outside, so that a region around keeps none of it.
class KeptDual {
 public:
  // Tangents of levels below `depth`.
  KeptDual(const Tensor& t, int depth) : value_(t, /*is_output=*/false) {
    for (int level = 0; level < depth; ++level) {
      if (const Tensor tangent = autograd::tangent_of(t, level); tangent.defined()) {
        tangents_.emplace_back(level, KeptDual(tangent, level));
      }
    }
  }
  Dual unpack() const {
    Dual dual{value_.unpack()};
    for (const auto& [level, tangent] : tangents_) dual.tangents.emplace_back(level, tangent.unpack());
    return dual;
  }

 private:
  SavedVariable value_;
  std::vector<std::pair<int, KeptDual>> tangents_;
};

// ---- The kind that records in forward: saved tensors are places that backward fills by running the function again
// ----

// Leaves a second run when all places are filled. Not a std::exception: the function must not take it for an error.
struct AllRecomputed {
  const void* recomputation;
};

struct Metadata {
  std::vector<int64_t> sizes;
  at::ScalarType dtype;
  at::Device device;

  explicit Metadata(const Tensor& t)
      : sizes(t.sizes().begin(), t.sizes().end()), dtype(t.scalar_type()), device(t.device()) {}
  bool operator==(const Metadata&) const = default;
  std::string text() const {
    return c10::str("{shape: ", at::IntArrayRef(sizes), ", dtype: ", c10::toString(dtype), ", device: ", device.str(),
                    "}");
  }
};

// The place of one saved tensor, kept by the graph. A tensor lies there from the second run to the end of its pass, or
// until the graph lets go of the place.
struct Place {
  std::unordered_map<uint64_t, Tensor> by_pass;
};

class Region;

// One second run of a region's function, for one backward pass.
struct Recomputation {
  std::mutex mutex;  // of several threads of one pass, the first runs it
  bool done = false;
  std::vector<Metadata> saved = {};
};

// One call of checkpoint().
class Region : public std::enable_shared_from_this<Region> {
 public:
  Region(detail::Function function, const variable_list& inputs, const CheckpointOptions& options);

  variable_list run(const variable_list& inputs);
  // The tensor of `place` for the pass that is running.
  Tensor unpack(Place& place);
  std::shared_ptr<Place> pack(const Tensor& t);
  void pack_again(Recomputation& recomputation, uint64_t pass, const Tensor& t);

 private:
  std::shared_ptr<Recomputation> recomputation_of(uint64_t pass);
  void run_again(Recomputation& recomputation, uint64_t pass);
  void check(const Recomputation& recomputation) const;
  void forget(uint64_t pass);

  const detail::Function function_;
  const CheckpointOptions options_;
  Contexts contexts_;
  std::optional<RngState> rng_;
  const AutocastState autocast_;
  bool early_stop_;
  const std::optional<at::ThreadLocalState> state_;  // of the call
  const bool was_at_level_;
  const int forward_depth_;
  // The arguments: what lies in memory, and where the samples of the call's vmaps stand in it.
  std::vector<KeptDual> inputs_;
  std::vector<autograd::VmapDims> dims_;
  bool completed_ = false;

  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Place>> places_;
  std::vector<Metadata> saved_;
  std::unordered_map<uint64_t, std::shared_ptr<Recomputation>> recomputations_;  // by pass
};

class PlaceHooks final : public SavedVariableHooks {
 public:
  explicit PlaceHooks(std::shared_ptr<Region> region) : region_(std::move(region)) {}
  void call_pack_hook(const Tensor& t) override { place_ = region_->pack(t); }
  Tensor call_unpack_hook() override { return region_->unpack(*place_); }

 private:
  std::shared_ptr<Region> region_;
  std::shared_ptr<Place> place_;
};

// In a second run: the tensors go to their places, and stay with the graph of that run only where it is differentiated
// itself.
class RecomputingHooks final : public SavedVariableHooks {
 public:
  RecomputingHooks(Region& region, Recomputation& recomputation, uint64_t pass)
      : region_(region), recomputation_(recomputation), pass_(pass) {}
  void call_pack_hook(const Tensor& t) override {
    kept_ = t;
    region_.pack_again(recomputation_, pass_, t);
  }
  Tensor call_unpack_hook() override { return kept_; }

 private:
  Region& region_;
  Recomputation& recomputation_;
  const uint64_t pass_;
  Tensor kept_;
};

Region::Region(detail::Function function, const variable_list& inputs, const CheckpointOptions& options)
    : function_(std::move(function)), options_(options), state_(state_without_modes()), was_at_level_(is_at_level()),
      forward_depth_(autograd::forward_depth()) {
  if (options.context_fn()) contexts_ = options.context_fn()();
  if (options.preserve_rng_state()) rng_ = RngState::of(inputs);
  early_stop_ = options.early_stop().value_or(early_stop_setting != 0);
  // Only the state brings their levels back.
  const autograd::detail::Batching* const batching = state_ ? autograd::detail::active_batching() : nullptr;
  inputs_.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    dims_.push_back(batching != nullptr ? batching->dims_of(input) : autograd::VmapDims());
    inputs_.emplace_back(batching != nullptr ? batching->physical(input) : input, forward_depth_);
  }
}

variable_list Region::run(const variable_list& inputs) {
  variable_list results;
  {
    const Context context = contexts_.forward ? contexts_.forward() : nullptr;
    SavedTensorsHooksGuard hooks([region = shared_from_this()]() -> std::unique_ptr<SavedVariableHooks> {
      return std::make_unique<PlaceHooks>(region);
    });
    results = function_(inputs);
  }
  completed_ = true;
  return results;
}

std::shared_ptr<Place> Region::pack(const Tensor& t) {
  auto place = std::make_shared<Place>();
  const std::lock_guard<std::mutex> lock(mutex_);
  places_.push_back(place);
  saved_.emplace_back(t);
  return place;
}

void Region::pack_again(Recomputation& recomputation, uint64_t pass, const Tensor& t) {
  const size_t index = recomputation.saved.size();
  recomputation.saved.emplace_back(t);
  size_t count;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    count = places_.size();
    if (index < count) {
      if (const std::shared_ptr<Place> place = places_[index].lock()) place->by_pass[pass] = at::detach(t);
    }
  }
  if (early_stop_ && index + 1 == count) throw AllRecomputed{&recomputation};
}

std::shared_ptr<Recomputation> Region::recomputation_of(uint64_t pass) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<Recomputation>& recomputation = recomputations_[pass];
  if (recomputation == nullptr) recomputation = std::make_shared<Recomputation>();
  return recomputation;
}

void Region::forget(uint64_t pass) {
  variable_list dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  recomputations_.erase(pass);
  for (const std::weak_ptr<Place>& weak : places_) {
    const std::shared_ptr<Place> place = weak.lock();
    if (place == nullptr) continue;
    if (const auto found = place->by_pass.find(pass); found != place->by_pass.end()) {
      dropped.push_back(std::move(found->second));
      place->by_pass.erase(found);
    }
  }
}

Tensor Region::unpack(Place& place) {
  // Outside a pass (somebody looks at what a node saved) the run is for this one look.
  const uint64_t pass = autograd::Engine::current_pass();
  const std::shared_ptr<Recomputation> recomputation = recomputation_of(pass);
  {
    const std::lock_guard<std::mutex> running(recomputation->mutex);
    if (!recomputation->done) run_again(*recomputation, pass);
  }
  Tensor found;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto it = place.by_pass.find(pass); it != place.by_pass.end()) found = it->second;
  }
  if (pass == 0) forget(pass);
  TORCH_CHECK(found.defined(),
              "torch.utils.checkpoint: a tensor that was saved in forward was not computed again: the function ran "
              "differently");
  return found;
}

void Region::run_again(Recomputation& recomputation, uint64_t pass) {
  if (pass != 0) {
    autograd::Engine::get_default_engine().queue_callback(
        [region = shared_from_this(), pass] { region->forget(pass); });
  }
  // Hooks around this region give tensors back with their history where recording is on only.
  const autograd::AutoGradMode record(true);
  std::vector<Dual> kept;
  for (const KeptDual& input : inputs_) kept.push_back(input.unpack());
  {
    std::optional<at::ThreadLocalStateGuard> at_levels_of_call;
    if (state_ && (was_at_level_ || is_at_level())) at_levels_of_call.emplace(*state_);
    const autograd::AutoGradMode record_again(true);
    const ForwardLevels forward_levels(forward_depth_);
    variable_list inputs;
    for (size_t i = 0; i < kept.size(); ++i) {
      const Tensor input = kept[i].tensor();
      inputs.push_back(dims_[i].empty() ? input : autograd::detail::batching().batched(input, dims_[i]));
    }
    const RngScope rng(rng_);
    const AutocastScope autocast(autocast_);
    const Context context = contexts_.recompute ? contexts_.recompute() : nullptr;
    SavedTensorsHooksGuard hooks([this, &recomputation, pass]() -> std::unique_ptr<SavedVariableHooks> {
      return std::make_unique<RecomputingHooks>(*this, recomputation, pass);
    });
    try {
      function_(inputs);
    } catch (const AllRecomputed& stop) {
      if (stop.recomputation != &recomputation) throw;
    }
  }
  check(recomputation);
  recomputation.done = true;
}

void Region::check(const Recomputation& recomputation) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(
      !completed_ || recomputation.saved.size() == saved_.size(),
      "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
      "Number of tensors saved during forward: ",
      saved_.size(), "\nNumber of tensors saved during recomputation: ", recomputation.saved.size());
  if (!options_.checks_determinism()) return;
  std::string different;
  for (size_t i = 0; i < std::min(saved_.size(), recomputation.saved.size()); ++i) {
    if (places_[i].expired() || saved_[i] == recomputation.saved[i]) continue;
    different += c10::str("tensor at position ", i, ":\nsaved metadata: ", saved_[i].text(),
                          "\nrecomputed metadata: ", recomputation.saved[i].text(), "\n");
  }
  TORCH_CHECK(different.empty(),
              "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
              "the forward "
              "pass.\n",
              different);
}

// ---- The kind that records nothing in forward and differentiates a second run inside the node ----

class CheckpointFunction final : public autograd::CustomNode {
 public:
  CheckpointFunction(detail::Function function, std::optional<RngState> rng)
      : function_(std::move(function)), rng_(std::move(rng)) {}

  std::string name() const override { return "torch::utils::checkpoint::CheckpointFunction"; }

  variable_list run(const variable_list& inputs) {
    add_argument(inputs);
    start();
    context().save_for_backward(inputs);
    const autograd::NoGradGuard no_recording;
    return function_(inputs);
  }

 protected:
  variable_list run_backward(autograd::AutogradContext* ctx, variable_list grads) override {
    TORCH_CHECK(!autograd::Engine::has_inputs(),
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the "
                "`inputs` argument.");
    variable_list inputs, results;
    {
      const autograd::AutoGradMode record(true);
      for (const Tensor& input : ctx->get_saved_variables()) {
        inputs.push_back(input.defined() ? at::detach(input) : Tensor());
        if (input.defined() && input.requires_grad()) inputs.back().set_requires_grad(true);
      }
      const RngScope rng(rng_);
      const AutocastScope autocast(autocast_);
      results = function_(inputs);
    }
    variable_list roots, root_grads;
    for (size_t i = 0; i < results.size() && i < grads.size(); ++i) {
      if (!results[i].defined() || !results[i].requires_grad()) continue;
      roots.push_back(results[i]);
      root_grads.push_back(grads[i]);
    }
    TORCH_CHECK(!roots.empty(), "none of output has requires_grad=True, this checkpoint() is not necessary");
    autograd::backward(roots, root_grads);
    variable_list input_grads;
    for (const Tensor& input : inputs) input_grads.push_back(input.defined() ? input.grad() : Tensor());
    return input_grads;
  }

 private:
  const detail::Function function_;
  const std::optional<RngState> rng_;
  const AutocastState autocast_;
};

}  // namespace

CheckpointOptions& CheckpointOptions::determinism_check(std::string value) {
  TORCH_CHECK_VALUE(value == "default" || value == "none",
                    "determinism_check should be one of ['default', 'none'] but got ", value);
  checks_determinism_ = value == "default";
  return *this;
}

set_checkpoint_early_stop::set_checkpoint_early_stop(bool enable)
    : before_(std::exchange(early_stop_setting, static_cast<int8_t>(enable))) {}

set_checkpoint_early_stop::~set_checkpoint_early_stop() {
  early_stop_setting = before_;
}

variable_list detail::checkpoint(Function function, const variable_list& inputs, const CheckpointOptions& options) {
  if (!options.use_reentrant()) {
    if (!autograd::GradMode::is_enabled()) {
      const Contexts contexts = options.context_fn() ? options.context_fn()() : Contexts();
      const Context context = contexts.forward ? contexts.forward() : nullptr;
      return function(inputs);
    }
    return std::make_shared<Region>(std::move(function), inputs, options)->run(inputs);
  }
  TORCH_CHECK_VALUE(!options.context_fn() && options.checks_determinism(),
                    "Passing `context_fn` or `determinism_check` is only supported when use_reentrant=False.");
  bool any = false;
  for (const Tensor& input : inputs) any |= input.defined() && input.requires_grad();
  if (!any) TORCH_WARN("None of the inputs have requires_grad=True. Gradients will be None");
  std::optional<RngState> rng;
  if (options.preserve_rng_state()) rng = RngState::of(inputs);
  const auto node = c10::make_intrusive<CheckpointFunction>(std::move(function), std::move(rng));
  return node->finish(node->run(inputs));
}

at::Tensor checkpoint_sequential(const std::vector<std::function<at::Tensor(const at::Tensor&)>>& functions,
                                 int64_t segments, const at::Tensor& input, const CheckpointOptions& options) {
  const int64_t count = static_cast<int64_t>(functions.size());
  TORCH_CHECK_VALUE(segments > 0 && segments <= count, "checkpoint_sequential: ", count, " functions cannot be run in ",
                    segments, " segments");
  const auto part = [&](int64_t first, int64_t end) {
    return [part = std::vector(functions.begin() + first, functions.begin() + end)](const at::Tensor& x) {
      at::Tensor y = x;
      for (const auto& function : part) y = function(y);
      return y;
    };
  };
  const int64_t size = count / segments;
  at::Tensor x = input;
  for (int64_t s = 0; s + 1 < segments; ++s) x = checkpoint(part(s * size, (s + 1) * size), x, options);
  return part((segments - 1) * size, count)(x);
}

}  // namespace torch::utils::checkpoint
