// Functional: a function of one tensor as a module, for Sequential.
//
//   Sequential(Linear(3, 4), Functional(torch::relu), Functional(torch::elu, /*alpha=*/1, /*scale=*/1,
//   /*input_scale=*/1))
#pragma once

#include <functional>
#include <utility>

#include "nn/module/cloneable.h"

namespace torch::nn {

// Saving a module leaves it out.
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = std::function<at::Tensor(at::Tensor)>;

  explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
  // `function` with its further arguments bound to values.
  template <typename F, typename... Args>
  requires(sizeof...(Args) > 0) explicit FunctionalImpl(F original_function, Args&&... args)
      : function_([original_function, ... bound = std::forward<Args>(args)](at::Tensor input) {
          return original_function(std::move(input), bound...);
        }) {}

  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  at::Tensor forward(at::Tensor input) { return function_(std::move(input)); }
  at::Tensor operator()(at::Tensor input) { return forward(std::move(input)); }
  bool is_serializable() const override { return false; }

 private:
  Function function_;
};
TORCH_COMPILED_MODULE(Functional);

}  // namespace torch::nn
