// Which modules are running: what counts by module asks for it.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "nn/module/module_hooks.h"

namespace torch::utils {

/// From its making to its end, follows the calls of modules in the thread that made it and the parts of backward passes
/// that belong to them.
///
///   torch::utils::ModuleTracker tracker;
///   auto handle = net->fc->register_forward_pre_hook([&](torch::nn::Module&, const auto&) {
///     for (const std::string& name : tracker.parents()) std::cout << name << "\n";   // Global Net Net.fc
///   });
///   net(x).sum().backward();
///
/// A module is called by its type ("Net", for struct NetImpl) where it is the outermost that is called, and by the path
/// from there ("Net.fc") where it is within. Modules that are not called through a holder, a container or call_module()
/// are not seen, but those that they call are.
class ModuleTracker {
 public:
  /// With a `root`, modules below it have their paths from there also where they are called outside its forward. It
  /// must outlive the tracker.
  explicit ModuleTracker(const nn::Module* root = nullptr);
  ~ModuleTracker();
  ModuleTracker(const ModuleTracker&) = delete;
  ModuleTracker& operator=(const ModuleTracker&) = delete;

  /// The modules that run now, and "Global". Of a backward pass: those between whose results and arguments it is; a
  /// module whose arguments need no gradient counts until the end of the pass.
  std::set<std::string> parents() const;
  /// Whether what was entered last was entered by a backward pass.
  bool is_bw() const;

  /// "Net" for a module of type my::NetImpl, or the name that it was given.
  static std::string type_name(const nn::Module& module);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace torch::utils
