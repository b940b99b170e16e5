#include "func/reverse_level.h"

#include <unordered_set>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/engine/forward_grad.h"
#include "c10/util/exception.h"

namespace torch::func::detail {
namespace {

using autograd::Node;

// The same values without a history, and with these tangents.
at::Tensor without_history(const at::Tensor& t, const std::vector<at::Tensor>& tangents) {
  at::Tensor result = at::detach(t);
  autograd::put_all_tangents(result, tangents);
  return result;
}

bool differentiable(const at::Tensor& t) {
  return c10::isFloatingType(t.scalar_type()) || c10::isComplexType(t.scalar_type());
}

// `gradient` of the outputs that require one by the inputs; undefined where there is none.
TensorList gradients(const TensorList& outputs, const TensorList& inputs, const TensorList& cotangents, bool retain_graph,
                     bool create_graph) {
  TensorList recorded, given, wanted;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    recorded.push_back(outputs[i]);
    given.push_back(cotangents[i]);
  }
  if (recorded.empty()) return TensorList(inputs.size());
  return autograd::grad(recorded, inputs, given, retain_graph, create_graph, /*allow_unused=*/true);
}

bool any_requires_grad(const TensorList& tensors) {
  for (const at::Tensor& t : tensors) {
    if (t.defined() && t.requires_grad()) return true;
  }
  return false;
}

}  // namespace

at::Tensor Pullback::physical_cotangent(const at::Tensor& cotangent, size_t i) const {
  const at::Tensor& output = outputs_[i];
  if (!cotangent.defined()) {
    int64_t numel = 1;
    for (const int64_t size : sizes_[i]) numel *= size;
    TORCH_CHECK(numel == 1 && !output.is_complex(), "grad can be implicitly created only for real scalar outputs");
    return at::ones(output.sizes(), output.options());
  }
  TORCH_CHECK(cotangent.sizes() == at::IntArrayRef(sizes_[i]), "Mismatch in shape: grad_output[", i, "] has a shape of ",
              cotangent.sizes(), " and output[", i, "] has a shape of ", at::IntArrayRef(sizes_[i]), ".");
  return levels_.physical(cotangent);
}

TensorList Pullback::finished(TensorList grads) const {
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined()) grads[i] = at::zeros(inputs_[i].sizes(), inputs_[i].options());
    grads[i] = levels_.batched(grads[i]);
  }
  return grads;
}

TensorList Pullback::operator()(const TensorList& cotangents, bool retain_graph, std::optional<bool> create_graph) const {
  TORCH_CHECK(cotangents.size() == outputs_.size(), "vjp: the function returned ", outputs_.size(), " tensors and got ",
              cotangents.size(), " cotangents");
  TensorList physical;
  for (size_t i = 0; i < outputs_.size(); ++i) physical.push_back(physical_cotangent(cotangents[i], i));
  const bool record =
      create_graph.value_or(c10::GradMode::is_enabled()) && (reaches_outside_ || any_requires_grad(physical));
  // What leads outside is part of another graph, too.
  return finished(gradients(outputs_, inputs_, physical, retain_graph || reaches_outside_, record));
}

Pushforward::Pushforward(const Pullback& pullback) : pullback_(pullback) {
  const c10::AutoGradMode record(true);
  for (const at::Tensor& output : pullback_.outputs_) {
    cotangents_.push_back(at::zeros(output.sizes(), output.options()));
    if (differentiable(output)) cotangents_.back().set_requires_grad(true);
  }
  products_ = gradients(pullback_.outputs_, pullback_.inputs_, cotangents_, true, true);
}

TensorList Pushforward::operator()(const TensorList& tangents) const {
  const TensorList& inputs = pullback_.inputs_;
  TensorList recorded, given, wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!products_[i].defined() || !products_[i].requires_grad()) continue;
    recorded.push_back(products_[i]);
    given.push_back(pullback_.levels_.physical(tangents[i]));
  }
  TensorList results(cotangents_.size());
  std::vector<size_t> places;
  for (size_t i = 0; i < cotangents_.size(); ++i) {
    if (!cotangents_[i].requires_grad()) continue;
    places.push_back(i);
    wanted.push_back(cotangents_[i]);
  }
  if (!recorded.empty() && !wanted.empty()) {
    const bool record = c10::GradMode::is_enabled() && (pullback_.reaches_outside_ || any_requires_grad(given));
    TensorList found = autograd::grad(recorded, wanted, given, true, record, /*allow_unused=*/true);
    for (size_t k = 0; k < places.size(); ++k) results[places[k]] = std::move(found[k]);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) results[i] = at::zeros(cotangents_[i].sizes(), cotangents_[i].options());
    results[i] = pullback_.levels_.batched(results[i]);
  }
  return results;
}

ReverseLevel::ReverseLevel(const TensorList& inputs)
    : records_outside_(c10::GradMode::is_enabled() && !c10::InferenceMode::is_enabled()) {
  for (const at::Tensor& input : inputs) {
    TORCH_CHECK(input.defined(), "a tensor to differentiate by is undefined");
    TORCH_CHECK(differentiable(input), "only Tensors of floating point dtype can require gradients, but got ",
                c10::toString(input.scalar_type()));
  }
  for (const at::Tensor& input : inputs) {
    at::Tensor t = levels_.physical(input);
    if (t.is_inference()) t = at::clone(t);
    t = records_outside_ && t.requires_grad()
            ? at::alias(t)
            : without_history(t, autograd::all_tangents_of(t)).set_requires_grad(true);
    variables_.push_back(levels_.batched(t));
    inputs_.push_back(std::move(t));
  }
}

// Whether the graph of `t` has a leaf that is not one of the variables.
bool ReverseLevel::leads_outside(const at::Tensor& t) const {
  if (!records_outside_ || !t.defined() || !t.requires_grad()) return false;
  std::unordered_set<const Node*> seen;
  for (const at::Tensor& input : inputs_) {
    if (const autograd::NodePtr own = autograd::try_get_grad_accumulator(input)) seen.insert(own.get());
  }
  std::vector<const Node*> open;
  const auto visit = [&](const autograd::Edge& edge) {
    if (edge.is_valid() && seen.insert(edge.function.get()).second) open.push_back(edge.function.get());
  };
  visit(autograd::gradient_edge(t));
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (node->sequence_nr() == Node::kAccumulateSequence) return true;
    for (size_t i = 0; i < node->num_outputs(); ++i) visit(node->next_edge(i));
  }
  return false;
}

Pullback ReverseLevel::pullback(const TensorList& outputs) const {
  Pullback result;
  result.levels_ = levels_;
  result.inputs_ = inputs_;
  for (const at::Tensor& output : outputs) {
    result.sizes_.emplace_back(output.sizes().begin(), output.sizes().end());
    result.outputs_.push_back(levels_.physical(output));
    result.reaches_outside_ = result.reaches_outside_ || leads_outside(result.outputs_.back());
  }
  return result;
}

// Tangents were recorded within this level as well.
at::Tensor ReverseLevel::finished_physical(const at::Tensor& t) const {
  std::vector<at::Tensor> tangents = autograd::all_tangents_of(t);
  bool replaced = false;
  for (at::Tensor& tangent : tangents) {
    if (!tangent.defined()) continue;
    at::Tensor one = finished_physical(tangent);
    replaced = replaced || !one.is_same(tangent);
    tangent = std::move(one);
  }
  if (t.requires_grad() && !leads_outside(t)) return without_history(t, tangents);
  if (!replaced) return t;
  at::Tensor result = at::alias(t);
  autograd::put_all_tangents(result, tangents);
  return result;
}

at::Tensor ReverseLevel::finished(const at::Tensor& result) const {
  if (!result.defined()) return result;
  if (!levels_.batch(result)) return finished_physical(result);
  const at::Tensor t = levels_.physical(result), done = finished_physical(t);
  return done.is_same(t) ? result : levels_.batched(done);
}

}  // namespace torch::func::detail
