#include "func/functional.h"

#include "autograd/autograd.h"
#include "c10/util/exception.h"
#include "func/jacobian.h"
#include "func/reverse_level.h"

namespace torch::autograd::functional {
namespace {

using func::detail::Pullback;
using func::detail::ReverseLevel;

bool is_forward(std::string_view strategy, const char* argument) {
  TORCH_CHECK_VALUE(strategy == "forward-mode" || strategy == "reverse-mode", "Expected ", argument,
                    " to be either \"forward-mode\" or \"reverse-mode\", but got \"", strategy, "\"");
  return strategy == "forward-mode";
}

}  // namespace

std::vector<variable_list> jacobian(
    const ListFunction& function, const variable_list& inputs, bool create_graph, bool strict, bool vectorize,
    std::string_view strategy) {
  if (is_forward(strategy, "strategy")) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        !create_graph, "jacobian: create_graph=true and strategy=\"forward-mode\" are not supported together. Set "
        "create_graph=false or strategy=\"reverse-mode\".");
    TORCH_CHECK(!strict, "jacobian: strict=true and strategy=\"forward-mode\" are not supported together");
    TORCH_CHECK_NOT_IMPLEMENTED(vectorize, "jacobian: strategy=\"forward-mode\" is only implemented for vectorize=true");
    const NoGradGuard no_grad;
    return func::detail::jacobian_by_columns(
        [&](const variable_list& points) { return func::detail::Called{function(points), {}}; }, inputs,
        func::Randomness::kError);
  }
  if (!vectorize) return jacobian(function, inputs, create_graph, strict);
  TORCH_CHECK(!strict, "jacobian: strict=true and vectorize=true are not supported together. Set one of them to false.");
  const AutoGradMode record(create_graph);
  variable_list outputs;
  const Pullback pullback = [&] {
    const ReverseLevel level(inputs);
    outputs = function(level.variables());
    return level.pullback(outputs);
  }();
  return func::detail::jacobian_by_rows(pullback, outputs, inputs, std::nullopt);
}

at::Tensor jacobian(
    const TensorFunction& function, const at::Tensor& input, bool create_graph, bool strict, bool vectorize,
    std::string_view strategy) {
  const ListFunction in_lists = [&](const variable_list& points) { return variable_list{function(points[0])}; };
  return jacobian(in_lists, {input}, create_graph, strict, vectorize, strategy)[0][0];
}

std::vector<variable_list> hessian(
    const ListFunction& function, const variable_list& inputs, bool create_graph, bool strict, bool vectorize,
    std::string_view outer_jacobian_strategy) {
  const bool forward = is_forward(outer_jacobian_strategy, "outer_jacobian_strategy");
  if (!vectorize && !forward) return hessian(function, inputs, create_graph, strict);
  const ListFunction gradient = [&](const variable_list& points) {
    const ReverseLevel level(points);
    const variable_list outputs = function(level.variables());
    TORCH_CHECK(outputs.size() == 1, "The function given to hessian should return a single Tensor");
    TORCH_CHECK(outputs[0].numel() == 1, "The Tensor returned by the function given to hessian should contain a single element");
    return level.pullback(outputs)({at::Tensor()}, false, level.records_outside());
  };
  return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy);
}

at::Tensor hessian(
    const TensorFunction& function, const at::Tensor& input, bool create_graph, bool strict, bool vectorize,
    std::string_view outer_jacobian_strategy) {
  const ListFunction in_lists = [&](const variable_list& points) { return variable_list{function(points[0])}; };
  return hessian(in_lists, {input}, create_graph, strict, vectorize, outer_jacobian_strategy)[0][0];
}

}  // namespace torch::autograd::functional
