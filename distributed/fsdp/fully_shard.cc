#include "distributed/fsdp/fully_shard.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"
#include "distributed/fsdp/param.h"
#include "distributed/fsdp/param_group.h"
#include "distributed/fsdp/state.h"
#include "distributed/process_group/init.h"
#include "distributed/tensor/device_mesh.h"
#include "nn/module/module_access.h"

namespace torch::distributed::fsdp {
namespace {

using at::Tensor;
using detail::Param;
using detail::ParamGroup;
using detail::Place;
using detail::Ranks;
using detail::State;
using tensor::DeviceMesh;

Ranks ranks_of(const FullyShardOptions& options) {
  if (!options.mesh()) {
    DeviceMesh mesh = DeviceMesh::from_group(c10d::get_default_group(), c10::DeviceType::CPU);
    const auto group = mesh.get_group();
    return {std::move(mesh), group, nullptr};
  }
  const DeviceMesh& mesh = *options.mesh();
  TORCH_CHECK_VALUE(mesh.ndim() <= 2, "fully_shard: expected a mesh of one or two dimensions, but got ", mesh.str());
  TORCH_CHECK_VALUE(mesh.get_coordinate(), "fully_shard: rank ", mesh.get_rank(), " has no place in ", mesh.str());
  if (mesh.ndim() == 1) return {mesh, mesh.get_group(int64_t{0}), nullptr};
  return {mesh, mesh.get_group(int64_t{1}), mesh.get_group(int64_t{0})};
}

// A parameter, and all places where it is registered.
struct Found {
  Tensor tensor;
  std::string name;
  std::vector<Place> places;
};

// What is below the modules and not below one that is sharded already; of these the states are noted.
class Finder {
 public:
  explicit Finder(const std::vector<Tensor>& ignored) {
    for (const Tensor& t : ignored) ignored_.insert(t.unsafeGetTensorImpl());
  }

  void look(nn::Module& module, const std::string& prefix) {
    if (!seen_.insert(&module).second) return;
    if (auto state = State::of(module)) {
      states_.push_back(std::move(state));
      return;
    }
    TORCH_CHECK(!module.has_uninitialized_params(), "fully_shard: parameters of ", module.name(),
                " have no sizes yet; call the module once before");
    for (const auto& item : nn::ModuleAccess::parameters(module)) {
      const Tensor& t = item.value();
      if (!t.defined() || ignored_.count(t.unsafeGetTensorImpl()) != 0) continue;
      const auto [at, is_new] = numbers_.try_emplace(t.unsafeGetTensorImpl(), all_.size());
      if (is_new) all_.push_back({t, prefix + item.key(), {}});
      all_[at->second].places.push_back({&module, item.key()});
    }
    for (const auto& child : nn::ModuleAccess::children(module)) {
      if (child.value() != nullptr) look(*child.value(), prefix + child.key() + ".");
    }
  }

  const std::vector<Found>& found() const {
    for (const Found& found : all_) {
      for (const auto& state : states_) check_not_shared(found, *state);
    }
    return all_;
  }

 private:
  static void check_not_shared(const Found& found, const State& state) {
    if (state.group() == nullptr) return;
    for (const auto& param : state.group()->params()) {
      TORCH_CHECK_VALUE(!param->was(found.tensor), "fully_shard: the parameter `", found.name, "` is shared with `",
                        param->name(), "`, which another call has sharded; one call has to take both");
    }
  }

  std::unordered_set<const c10::TensorImpl*> ignored_;
  std::unordered_set<const nn::Module*> seen_;
  std::unordered_map<const c10::TensorImpl*, size_t> numbers_;
  std::vector<Found> all_;
  std::vector<std::shared_ptr<State>> states_;
};

template <class Set>
void for_groups(const std::shared_ptr<State>& state, bool recurse, const Set& set) {
  for (const auto& one : state->states(recurse)) {
    if (one->group() != nullptr) set(*one->group());
  }
}

}  // namespace

void detail::shard_over(const Ranks& ranks, const std::vector<nn::Module*>& modules, const FullyShardOptions& options) {
  Finder finder(options.ignored_params());
  for (size_t i = 0; i < modules.size(); ++i) {
    TORCH_CHECK_VALUE(!FSDPModule::is(*modules[i]), "fully_shard: ", modules[i]->name(), " is sharded already");
    TORCH_CHECK_VALUE(std::find(modules.begin(), modules.begin() + static_cast<std::ptrdiff_t>(i), modules[i]) ==
                          modules.begin() + static_cast<std::ptrdiff_t>(i),
                      "fully_shard: ", modules[i]->name(), " is in the list twice");
    finder.look(*modules[i], modules.size() == 1 ? "" : std::to_string(i) + ".");
  }
  std::vector<std::unique_ptr<Param>> params;
  for (const Found& found : finder.found()) {
    std::optional<Shard> placement;
    if (options.shard_placement_fn()) placement = options.shard_placement_fn()(found.tensor);
    params.push_back(std::make_unique<Param>(found.places, found.name, found.tensor, ranks, placement, options));
  }
  std::shared_ptr<ParamGroup> group;
  if (!params.empty()) group = std::make_shared<ParamGroup>(std::move(params), ranks, options);
  State::attach(modules, std::move(group), options.mp_policy());
}

FSDPModule fully_shard(nn::ModuleRef module, const FullyShardOptions& options) {
  return fully_shard(std::vector<nn::ModuleRef>{module}, options);
}

FSDPModule fully_shard(const std::vector<nn::ModuleRef>& modules, const FullyShardOptions& options) {
  std::vector<nn::Module*> all;
  for (const nn::ModuleRef& module : modules) all.push_back(&*module);
  TORCH_CHECK_VALUE(!all.empty(), "fully_shard: expected one module or more");
  detail::shard_over(ranks_of(options), all, options);
  return FSDPModule(*all[0]);
}

void UnshardHandle::wait() {
  if (group_ != nullptr) group_->wait_for_unshard();
}

FSDPModule::FSDPModule(nn::ModuleRef module) : state_(State::of(*module)) {
  TORCH_CHECK_TYPE(state_ != nullptr, "FSDPModule: fully_shard() was not called for ", module->name());
}

bool FSDPModule::is(const nn::Module& module) {
  return State::of(module) != nullptr;
}

void FSDPModule::reshard() {
  if (state_->group() != nullptr) state_->group()->reshard();
}

std::optional<UnshardHandle> FSDPModule::unshard(bool async_op) {
  UnshardHandle handle(state_->group());
  if (state_->group() != nullptr) state_->group()->unshard();
  if (async_op) return handle;
  handle.wait();
  return std::nullopt;
}

void FSDPModule::set_requires_gradient_sync(bool requires_gradient_sync, bool recurse) {
  for_groups(state_, recurse, [&](ParamGroup& group) {
    group.reduces_gradients = group.all_reduces_gradients = requires_gradient_sync;
  });
}

void FSDPModule::set_requires_all_reduce(bool requires_all_reduce, bool recurse) {
  for_groups(state_, recurse, [&](ParamGroup& group) { group.all_reduces_gradients = requires_all_reduce; });
}

void FSDPModule::set_is_last_backward(bool is_last_backward) {
  state_->is_last_backward = is_last_backward;
}

void FSDPModule::set_reshard_after_forward(bool reshard_after_forward, bool recurse) {
  for_groups(state_, recurse, [&](ParamGroup& group) { group.reshards_after_forward = reshard_after_forward; });
}

void FSDPModule::set_reshard_after_backward(bool reshard_after_backward, bool recurse) {
  for_groups(state_, recurse, [&](ParamGroup& group) { group.reshards_after_backward = reshard_after_backward; });
}

void FSDPModule::set_unshard_in_backward(bool unshard_in_backward) {
  for_groups(state_, false, [&](ParamGroup& group) { group.unshards_in_backward = unshard_in_backward; });
}

void FSDPModule::set_modules_to_forward_prefetch(const std::vector<FSDPModule>& modules) {
  state_->forward_prefetch.clear();
  for (const FSDPModule& module : modules) state_->forward_prefetch.push_back(module.state_);
}

void FSDPModule::set_modules_to_backward_prefetch(const std::vector<FSDPModule>& modules) {
  state_->backward_prefetch.clear();
  for (const FSDPModule& module : modules) state_->backward_prefetch.push_back(module.state_);
}

void FSDPModule::set_gradient_divide_factor(double factor) {
  TORCH_CHECK_VALUE(factor > 0, "FSDPModule::set_gradient_divide_factor: expected a positive factor, but got ", factor);
  for_groups(state_, false, [&](ParamGroup& group) { group.divide_factor = factor; });
}

void FSDPModule::set_force_sum_reduction_for_comms(bool enable) {
  for_groups(state_, false, [&](ParamGroup& group) { group.sums_only = enable; });
}

void FSDPModule::set_all_reduce_hook(std::function<void(Tensor)> hook) {
  for_groups(state_, false, [&](ParamGroup& group) { group.all_reduce_hook = hook; });
}

void FSDPModule::reset_iter_state() {
  state_->reset_iteration();
}

}  // namespace torch::distributed::fsdp
