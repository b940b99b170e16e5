// A module that lives on another worker.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "distributed/rpc/rpc.h"

namespace torch::distributed::nn {

namespace detail {

// The worker of "worker1/cpu" or "rank:1/cpu"; the device may be left out. Throws c10::ValueError for another device
// than the CPU, or what is no such text.
rpc::WorkerRef worker_of(const std::string& remote_device);

// Functions of a member `forward`, and of a module's parameters.
template <class Module, class R, class... A>
bool register_forward(R (Module::*)(A...)) {
  rpc::register_function(
      std::string("RemoteModule.forward.") + typeid(Module).name(),
      [](std::shared_ptr<Module> module, std::decay_t<A>... args) { return module->forward(args...); });
  rpc::register_function(std::string("RemoteModule.parameters.") + typeid(Module).name(),
                         [](std::shared_ptr<Module> module, bool recurse) {
                           std::vector<rpc::RRefPtr> all;
                           for (const at::Tensor& parameter : module->parameters(recurse))
                             all.push_back(rpc::make_rref(parameter));
                           return all;
                         });
  return true;
}
template <class Module, class R, class... A>
bool register_forward(R (Module::*)(A...) const) {
  return register_forward(static_cast<R (Module::*)(A...)>(nullptr));
}

}  // namespace detail

/// A module of class Module (a class with one forward(), such as torch::nn::LinearImpl) that is made and stays on a
/// worker. All workers run the same program.
///
///   RemoteModule<torch::nn::LinearImpl> layer("worker1/cpu", int64_t{20}, int64_t{30});   // made there
///   at::Tensor y = layer.forward<at::Tensor>({x});
///   DistributedOptimizer<torch::optim::SGD> sgd(layer.remote_parameters(), 0.05);
///
/// The constructor's arguments are what functions of other workers take (functions.h). Errors of it are thrown by what
/// is called first.
template <class Module>
class RemoteModule {
 public:
  template <class... A>
  explicit RemoteModule(const std::string& remote_device, A... args) {
    static_cast<void>(is_known_);
    static_cast<void>(Maker<A...>::is_known);
    module_ = rpc::remote(detail::worker_of(remote_device), Maker<A...>::name(), {rpc::Arg(std::move(args))...});
  }

  /// Its forward(), run there; gradients flow through within an autograd context. Throws as rpc_sync.
  template <class R = at::Tensor>
  R forward(const rpc::Args& args) const {
    return module_->rpc_sync<R>(name("forward"), args);
  }
  rpc::FuturePtr forward_async(const rpc::Args& args) const { return module_->rpc_async(name("forward"), args); }
  /// References to its parameters; `recurse`: with those of its submodules.
  std::vector<rpc::RRefPtr> remote_parameters(bool recurse = true) const {
    return module_->rpc_sync<std::vector<rpc::RRefPtr>>(name("parameters"), {recurse});
  }
  /// The module: functions that take a std::shared_ptr<Module> are given it.
  const rpc::RRefPtr& get_module_rref() const { return module_; }

 private:
  static std::string name(const char* what) {
    return std::string("RemoteModule.") + what + "." + typeid(Module).name();
  }

  template <class... A>
  struct Maker {
    static std::string name() { return RemoteModule::name("make") + "." + typeid(std::tuple<A...>).name(); }
    static bool make_known() {
      rpc::register_function(name(), [](A... args) { return std::make_shared<Module>(std::move(args)...); });
      return true;
    }
    inline static const bool is_known = make_known();
  };
  inline static const bool is_known_ = detail::register_forward(&Module::forward);

  rpc::RRefPtr module_;
};

}  // namespace torch::distributed::nn
