#include "autograd/cuda/graphed_callables.h"

#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "c10/cuda/device.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace torch::cuda {
namespace {

using at::Tensor;
using autograd::AutogradContext;
using autograd::variable_list;

variable_list requiring_gradients(const variable_list& tensors) {
  variable_list some;
  for (const Tensor& t : tensors)
    if (t.requires_grad()) some.push_back(t);
  return some;
}

// One function's graphs and their memory.
struct Graphed final : c10::intrusive_ptr_target {
  at::cuda::CUDAGraph forward, backward;
  size_t arguments = 0;
  variable_list inputs;  // the arguments, then the parameters
  variable_list outputs;
  variable_list output_grads;  // undefined for results without
  variable_list input_grads;   // undefined for inputs without

  bool has_backward() const { return !requiring_gradients(inputs).empty() && !requiring_gradients(outputs).empty(); }
  variable_list sample() const {
    return variable_list(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(arguments));
  }

  // The gradients of `results` for those inputs that want them.
  variable_list gradients(const variable_list& results, const variable_list& grads, bool allow_unused) const {
    variable_list given;
    for (const Tensor& grad : grads)
      if (grad.defined()) given.push_back(grad);
    return autograd::grad(requiring_gradients(results), requiring_gradients(inputs), given, std::nullopt, false,
                          allow_unused);
  }
};
using GraphedPtr = c10::intrusive_ptr<Graphed>;

variable_list like_those_with_gradients(const variable_list& results) {
  variable_list grads;
  for (const Tensor& t : results) grads.push_back(t.requires_grad() ? at::ones_like(t) : Tensor());
  return grads;
}

void copy_unless_same(const Tensor& from, const Tensor& to) {
  Tensor target = to;
  if (from.const_data_ptr() != to.const_data_ptr()) at::copy_(target, from);
}

struct Replay final : autograd::Function<Replay> {
  static variable_list forward(AutogradContext* ctx, const GraphedPtr& graphed, const variable_list& inputs) {
    for (size_t i = 0; i < graphed->arguments; ++i) copy_unless_same(inputs[i], graphed->inputs[i]);
    graphed->forward.replay();
    ctx->saved_data["graphed"] = at::IValue::make_capsule(graphed);
    c10::List<bool> leaves;
    for (const Tensor& t : inputs) leaves.push_back(t.is_leaf());
    ctx->saved_data["leaves"] = leaves;
    variable_list results, constants;
    for (const Tensor& t : graphed->outputs) {
      results.push_back(at::detach(t));
      if (!t.requires_grad()) constants.push_back(results.back());
    }
    ctx->mark_non_differentiable(constants);
    return results;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto capsule = ctx->saved_data.at("graphed").toCapsule();
    auto& graphed = static_cast<Graphed&>(*capsule);
    const auto leaves = ctx->saved_data.at("leaves").toBoolList();
    for (size_t i = 0; i < graphed.outputs.size(); ++i)
      if (graphed.output_grads[i].defined()) copy_unless_same(grads[i], graphed.output_grads[i]);
    graphed.backward.replay();
    variable_list results = {Tensor()};
    for (size_t i = 0; i < graphed.inputs.size(); ++i) {
      const Tensor& grad = graphed.input_grads[i];
      // What a leaf keeps must not change with the next replay.
      results.push_back(!grad.defined() ? Tensor() : leaves.get(i) ? at::clone(grad) : at::detach(grad));
    }
    return results;
  }
};

void check_arguments(const Graphed& graphed, const variable_list& arguments) {
  TORCH_CHECK(arguments.size() == graphed.arguments, "a graphed callable was captured with ", graphed.arguments,
              " arguments and is called with ", arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor &given = arguments[i], &sample = graphed.inputs[i];
    TORCH_CHECK(given.defined() && given.sizes() == sample.sizes() && given.scalar_type() == sample.scalar_type() &&
                    given.device() == sample.device() && given.requires_grad() == sample.requires_grad(),
                "argument ", i,
                " of a graphed callable must have the sample's sizes, dtype and device, and require a "
                "gradient as it does");
  }
}

void warm_up(const Callable& callable, const Graphed& graphed, const GraphedCallablesOptions& options) {
  for (int i = 0; i < options.num_warmup_iters; ++i) {
    const variable_list results = callable(graphed.sample());
    if (requiring_gradients(results).empty() || requiring_gradients(graphed.inputs).empty()) continue;
    graphed.gradients(results, like_those_with_gradients(results), options.allow_unused_input);
  }
}

void capture_forward(const Callable& callable, Graphed& graphed, at::cuda::MempoolId_t pool) {
  const graph capture(graphed.forward, pool);
  graphed.outputs = callable(graphed.sample());
}

void capture_backward(Graphed& graphed, at::cuda::MempoolId_t pool, bool allow_unused) {
  graphed.output_grads.assign(graphed.outputs.size(), Tensor());
  graphed.input_grads.assign(graphed.inputs.size(), Tensor());
  if (!graphed.has_backward()) return;
  // Not in the graphs' pool: what is written from outside must stay as it is while other graphs run.
  graphed.output_grads = like_those_with_gradients(graphed.outputs);
  variable_list grads;
  {
    const graph capture(graphed.backward, pool);
    grads = graphed.gradients(graphed.outputs, graphed.output_grads, allow_unused);
  }
  size_t next = 0;
  for (size_t i = 0; i < graphed.inputs.size(); ++i)
    if (graphed.inputs[i].requires_grad()) graphed.input_grads[i] = grads[next++];
}

}  // namespace

std::vector<Callable> make_graphed_callables(const std::vector<Callable>& callables,
                                             const std::vector<std::vector<Tensor>>& sample_args,
                                             const std::vector<std::vector<Tensor>>& parameters,
                                             const GraphedCallablesOptions& options) {
  TORCH_CHECK(sample_args.size() == callables.size() && (parameters.empty() || parameters.size() == callables.size()),
              "make_graphed_callables: expected sample arguments, and parameters or none, for each of ",
              callables.size(), " callables, got ", sample_args.size(), " and ", parameters.size());
  TORCH_CHECK(options.num_warmup_iters >= 0, "make_graphed_callables: num_warmup_iters must not be negative, got ",
              options.num_warmup_iters);
  std::vector<GraphedPtr> all;
  for (size_t i = 0; i < callables.size(); ++i) {
    TORCH_CHECK(callables[i] != nullptr, "make_graphed_callables: expected a function");
    auto graphed = c10::make_intrusive<Graphed>();
    graphed->arguments = sample_args[i].size();
    graphed->inputs = sample_args[i];
    if (!parameters.empty()) graphed->inputs.insert(graphed->inputs.end(), parameters[i].begin(), parameters[i].end());
    for (const Tensor& t : graphed->inputs) {
      TORCH_CHECK(t.defined() && t.is_cuda() && t.is_leaf(),
                  "make_graphed_callables: sample arguments and parameters are CUDA tensors, and leaves");
    }
    all.push_back(std::move(graphed));
  }
  c10::cuda::device_synchronize();
  {
    const c10::cuda::CUDAStreamGuard side(c10::cuda::getStreamFromPool());
    for (size_t i = 0; i < callables.size(); ++i) warm_up(callables[i], *all[i], options);
  }
  c10::cuda::device_synchronize();
  const at::cuda::MempoolId_t none{0, 0}, pool = options.pool == none ? graph_pool_handle() : options.pool;
  for (size_t i = 0; i < callables.size(); ++i) capture_forward(callables[i], *all[i], pool);
  for (size_t i = callables.size(); i-- > 0;) capture_backward(*all[i], pool, options.allow_unused_input);

  std::vector<Callable> graphed_callables;
  for (const GraphedPtr& graphed : all) {
    graphed->outputs = [&] {
      variable_list kept;
      for (const Tensor& t : graphed->outputs) kept.push_back(at::detach(t).set_requires_grad(t.requires_grad()));
      return kept;
    }();
    graphed_callables.push_back([graphed](const std::vector<Tensor>& arguments) {
      check_arguments(*graphed, arguments);
      variable_list inputs = arguments;
      inputs.insert(inputs.end(), graphed->inputs.begin() + static_cast<ptrdiff_t>(graphed->arguments),
                    graphed->inputs.end());
      return Replay::apply(graphed, inputs);
    });
  }
  return graphed_callables;
}

Callable make_graphed_callables(const Callable& callable, const std::vector<Tensor>& sample_args,
                                const std::vector<Tensor>& parameters, const GraphedCallablesOptions& options) {
  return make_graphed_callables(std::vector<Callable>{callable}, {sample_args}, {parameters}, options)[0];
}

}  // namespace torch::cuda
