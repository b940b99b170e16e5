// An optimizer of parameters that lie on several workers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/rpc/rref.h"
#include "optim/field_visitors.h"
#include "optim/optimizer.h"

namespace torch::optim {
template <class Options, class State>
class ListOptimizer;
}

namespace torch::distributed::optim {

namespace detail {

// What a worker has of a DistributedOptimizer: an optimizer of its own parameters.
struct LocalOptimizer {
  std::vector<at::Tensor> parameters;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};
using LocalOptimizerPtr = std::shared_ptr<LocalOptimizer>;

// The settings of a class of optimizers, as its base has them.
template <class Options, class State>
Options options_of(const torch::optim::ListOptimizer<Options, State>*);

using MakeOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor> parameters,
                                                                             const c10::IValue& options)>;
// Under this name workers make them.
void register_optimizer(const std::string& name, MakeOptimizer make);

template <class Inner, class Options>
bool register_class() {
  register_optimizer(typeid(Inner).name(), [](std::vector<at::Tensor> parameters, const c10::IValue& fields) {
    const std::unique_ptr<torch::optim::OptimizerOptions> options = Options().unset();
    torch::optim::FieldLoader loader(fields, "DistributedOptimizer", nullptr);
    options->visit(loader);
    return std::make_unique<Inner>(std::move(parameters), static_cast<const Options&>(*options));
  });
  return true;
}

}  // namespace detail

/// What DistributedOptimizer does with optimizers of any class.
class DistributedOptimizerBase {
 public:
  /// Steps all parameters with the gradients that the autograd context `context_id` has of them on their workers, in
  /// parallel, and returns when all are done. On one worker steps follow each other, also those of several optimizers.
  /// grad() of the parameters stays as it is. Throws the first error that a worker reports.
  void step(int64_t context_id);

  /// The optimizers of the workers.
  const std::vector<rpc::RRefPtr>& remote_optimizers() const { return optimizers_; }

 protected:
  DistributedOptimizerBase(const std::string& name, const std::vector<rpc::RRefPtr>& parameters,
                           const c10::IValue& options);

 private:
  std::vector<rpc::RRefPtr> optimizers_;
};

/// An optimizer of the class Inner on each worker that has some of the parameters (references to leaf tensors).
///
///   std::vector<rpc::RRefPtr> parameters = ...;   // of this worker (make_rref) and of others
///   DistributedOptimizer<torch::optim::SGD> optimizer(parameters, torch::optim::SGDOptions(0.1));
///   for (...) {
///     torch::distributed::autograd::context context;
///     torch::distributed::autograd::backward(context.id(), {loss(...)});
///     optimizer.step(context.id());
///   }
///
/// All workers run the same program. Throws c10::ValueError where there are no parameters, and what Inner throws.
template <class Inner, class Options = decltype(detail::options_of(static_cast<const Inner*>(nullptr)))>
class DistributedOptimizer : public DistributedOptimizerBase {
 public:
  explicit DistributedOptimizer(const std::vector<rpc::RRefPtr>& parameters, Options defaults = {})
      : DistributedOptimizerBase((static_cast<void>(is_known_), typeid(Inner).name()), parameters,
                                 fields_of(defaults)) {}

 private:
  static c10::IValue fields_of(Options& defaults) {
    defaults.check();
    torch::optim::FieldSaver saver;
    defaults.visit(saver);
    return saver.dict;
  }
  inline static const bool is_known_ = detail::register_class<Inner, Options>();
};

}  // namespace torch::distributed::optim
