#include "autograd/function/custom_function.h"

#include <algorithm>
#include <stdexcept>

#include "aten/core/view.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/forward_grad.h"
#include "autograd/engine/grad_ops.h"
#include "autograd/engine/record.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::autograd {

struct CustomNode::Batch {
  std::vector<VmapInfo> levels;                    // of the call
  std::vector<VmapDims> inputs, results, saved = {};  // for each of them those of its samples
};

namespace {

// The node whose backward runs in this thread inside of levels that stand for those of its call.
thread_local constinit const CustomNode* node_at_levels = nullptr;

class AtLevelsOf {
 public:
  explicit AtLevelsOf(const CustomNode* node) : before_(std::exchange(node_at_levels, node)) {}
  ~AtLevelsOf() { node_at_levels = before_; }
  AtLevelsOf(const AtLevelsOf&) = delete;
  AtLevelsOf& operator=(const AtLevelsOf&) = delete;

 private:
  const CustomNode* const before_;
};

}  // namespace

void AutogradContext::save_for_backward(variable_list to_save) {
  to_save_ = std::move(to_save);
}

void AutogradContext::save_for_forward(variable_list to_save) {
  saved_for_forward_ = std::move(to_save);
}

variable_list AutogradContext::get_saved_variables() const {
  if (in_jvp_) return saved_for_forward_;
  variable_list tensors;
  tensors.reserve(saved_variables_.size());
  for (const SavedVariable& saved : saved_variables_) {
    tensors.push_back(node_->at_levels_of_run(saved.get(node_).get(), tensors.size()));
  }
  return tensors;
}

void AutogradContext::mark_dirty(const variable_list& inputs) {
  dirty_inputs_.clear();
  for (const at::Tensor& t : inputs) dirty_inputs_.insert(t.unsafeGetTensorImpl());
}

void AutogradContext::mark_non_differentiable(const variable_list& outputs) {
  non_differentiable_.clear();
  for (const at::Tensor& t : outputs) non_differentiable_.insert(t.unsafeGetTensorImpl());
}

const TensorImplSet& AutogradContext::get_and_bump_dirty() const {
  for (c10::TensorImpl* impl : dirty_inputs_) impl->bump_version();
  return dirty_inputs_;
}

bool AutogradContext::needs_input_grad(size_t input_index) const {
  return node_->needs(input_index);
}

bool AutogradContext::needs_input_grad(std::initializer_list<IndexRange> ranges) const {
  for (const IndexRange& range : ranges) {
    for (size_t i = range.first; i < range.second; ++i) {
      if (node_->needs(i)) return true;
    }
  }
  return false;
}

CustomNode::CustomNode(bool transformable) : transformable_(transformable) {
  ctx_.node_ = this;
}

CustomNode::~CustomNode() = default;

void CustomNode::release_variables() {
  for (SavedVariable& saved : ctx_.saved_variables_) saved.reset_data();
}

void CustomNode::keep_past_of(const c10::TensorImpl& t) {
  for (SavedVariable& saved : ctx_.saved_variables_) saved.keep_past_of(t);
}

void CustomNode::add_argument(const at::Tensor& t) {
  is_tensor_.push_back(true);
  inputs_.push_back(t);
}

void CustomNode::add_argument(at::TensorList tensors) {
  for (const at::Tensor& t : tensors) add_argument(t);
}

void CustomNode::note_tangents() {
  if (!c10::thread_state().fw_grad_enabled || c10::thread_state().inference) return;
  const auto has_key = [](const at::Tensor& t) { return t.defined() && t.key_set().has(c10::DispatchKey::ForwardAD); };
  if (C10_LIKELY(std::none_of(inputs_.begin(), inputs_.end(), has_key))) return;
  bool any = false;
  variable_list tangents;
  // The levels that operators see here.
  const int levels = detail::handled_level >= 0 ? detail::handled_level : forward_depth();
  for (int level = 0; level < levels; ++level) {
    variable_list of_level;
    for (const at::Tensor& t : inputs_) of_level.push_back(tangent_of(t, level));
    const auto is_defined = [](const at::Tensor& t) { return t.defined(); };
    if (std::none_of(of_level.begin(), of_level.end(), is_defined)) continue;
    TORCH_CHECK_NOT_IMPLEMENTED(
        !any, name(), ": its arguments have tangents of two levels of forward mode, but what forward() computes is known to jvp() "
        "as values only; write it with differentiable operators for nested levels");
    any = true;
    tangents = std::move(of_level);
    tangent_level_ = level;
  }
  if (!any) return;
  TORCH_CHECK_NOT_IMPLEMENTED(
      has_jvp(), "jvp is not implemented: an argument of ", name(), " has a tangent; add static variable_list "
      "jvp(AutogradContext* ctx, variable_list tangents).");
  tangents_ = std::move(tangents);
}

std::unique_ptr<detail::Batching::Scope> CustomNode::at_level() const {
  const detail::Batching* const batching = detail::active_batching();
  return batching == nullptr ? nullptr : batching->at_level_of(inputs_);
}

bool CustomNode::is_batched() const {
  const auto has_key = [](const at::Tensor& t) {
    return t.defined() && t.key_set().has(c10::DispatchKey::FuncTorchBatched);
  };
  return detail::active_batching() != nullptr && std::any_of(inputs_.begin(), inputs_.end(), has_key);
}

void CustomNode::refuse_batched() const {
  if (C10_LIKELY(!is_batched())) return;
  std::string function = name();
  if (const size_t open = function.find('<'); open != std::string::npos) {
    function = function.substr(open + 1, function.size() - open - 2);
  }
  TORCH_CHECK(false, "You tried to vmap over ", function, ", but it does not have vmap support. Give it a static "
              "vmap(info, in_dims, args...), or static constexpr bool generate_vmap_rule = true where its methods are "
              "made of operators.");
}

VmapDims CustomNode::argument_dims() const {
  VmapDims dims;
  size_t next = 0;
  for (const bool is_tensor : is_tensor_) {
    dims.push_back(is_tensor ? detail::batching().dims_of(inputs_[next++]).back() : std::nullopt);
  }
  return dims;
}

void CustomNode::start() {
  if (is_batched()) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        transformable_ || !c10::GradMode::is_enabled(), name(),
        " cannot record gradients inside of vmap: call it outside, or with torch::NoGradGuard where none is wanted");
    if (transformable_) {
      const detail::Batching& batching = detail::batching();
      batch_ = std::make_unique<Batch>();
      batch_->levels = batching.levels();
      for (at::Tensor& t : inputs_) {
        batch_->inputs.push_back(batching.dims_of(t));
        t = batching.physical(t);
      }
    }
  }
  note_tangents();
  recorded_ = c10::GradMode::is_enabled() && requires_grad(at::TensorList(inputs_));
  if (!recorded_) return;
  for (const at::Tensor& t : inputs_) {
    add_next_edge(t.defined() && requires_grad(t) ? gradient_edge(t) : Edge());
  }
}

bool CustomNode::needs(size_t argument) const {
  TORCH_CHECK_INDEX(
      argument < is_tensor_.size(), "needs_input_grad: argument ", argument, " of ", is_tensor_.size());
  if (!is_tensor_[argument]) return false;
  size_t edge = 0;
  for (size_t i = 0; i < argument; ++i) edge += is_tensor_[i];
  return task_should_compute_output(edge);
}

// A result is kept without its history. One that is a modified view has another node by now: its base's part.
void CustomNode::save(const at::Tensor& t, const variable_list& outputs) {
  SavedVariable& saved = ctx_.saved_variables_.emplace_back();
  if (batch_ != nullptr) batch_->saved.push_back(detail::batching().dims_of(t));
  if (!t.defined()) return;
  const at::Tensor in_memory = batch_ != nullptr ? detail::batching().physical(t) : t;
  for (uint32_t i = static_cast<uint32_t>(outputs.size()); i-- > 0;) {
    if (!outputs[i].is_same(t) || ctx_.non_differentiable_.count(t.unsafeGetTensorImpl()) != 0) continue;
    return saved.save_output(in_memory, i);
  }
  saved.save(in_memory);
}

variable_list CustomNode::finish(variable_list outputs) {
  TensorImplSet given;
  for (const at::Tensor& t : inputs_) given.insert(t.unsafeGetTensorImpl());
  const auto& dirty = ctx_.get_and_bump_dirty();
  size_t dirty_returned = 0;
  NodePtr self = getptr();
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    at::Tensor& out = outputs[i];
    c10::TensorImpl* impl = out.unsafeGetTensorImpl();
    const bool is_dirty = impl != nullptr && dirty.count(impl) != 0;
    dirty_returned += is_dirty;
    at::Tensor t = out;
    if (batch_ != nullptr) {
      batch_->results.push_back(detail::batching().dims_of(out));
      t = detail::batching().physical(out);
    }
    if (!recorded_) continue;
    const auto give = [&](at::Tensor other) {
      t = std::move(other);
      out = batch_ != nullptr ? detail::batching().batched(t, batch_->results.back()) : t;
    };
    const bool differentiable = t.defined() && ctx_.non_differentiable_.count(impl) == 0 &&
        (c10::isFloatingType(t.scalar_type()) || c10::isComplexType(t.scalar_type()));
    const bool is_input = t.defined() && given.count(t.unsafeGetTensorImpl()) != 0;
    if (!differentiable) {
      // Its gradient is zeros where backward asks for defined ones.
      t.defined() ? add_input_metadata(t) : add_input_metadata(undefined_input());
      if (is_input && requires_grad(t)) give(at::Tensor(t.unsafeGetTensorImpl()->shallow_copy()));
      continue;
    }
    add_input_metadata(t);
    if (is_dirty) {
      TORCH_CHECK(
          !requires_grad(t) || grad_fn(t),
          "a leaf Variable that requires grad has been used in an in-place operation.");
      check_inplace(t, true);
      rebase_history(t, self, i);
      continue;
    }
    if (is_input) {
      // Returned as it came: a view of it carries the new history.
      c10::NoGradGuard no_grad;
      give(at::make_view(t, t.sizes(), t.strides(), t.storage_offset()));
    }
    set_history(t, self, i);
    if (t.is_view()) t.unsafeGetTensorImpl()->set_creation_meta(c10::CreationMeta::kCustomFunction);
  }
  TORCH_CHECK(
      dirty_returned >= dirty.size(),
      "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
      "inplace must all be outputs of the Function.");
  if (recorded_) {
    for (const at::Tensor& t : ctx_.to_save_) save(t, outputs);
  }
  ctx_.to_save_.clear();
  if (has_tangents()) set_tangents(outputs);
  ctx_.saved_for_forward_.clear();
  inputs_.clear();
  return outputs;
}

void CustomNode::set_tangents(variable_list& outputs) {
  const ForwardScope scope(tangent_level_);
  variable_list given;
  size_t next = 0;
  for (const bool is_tensor : is_tensor_) {
    at::Tensor tangent;
    if (is_tensor) {
      const at::Tensor& input = inputs_[next];
      tangent = tangents_[next++];
      if (!tangent.defined() && input.defined() && ctx_.materialize_grads_) {
        tangent = grad_ops::zeros(input.sizes(), input.scalar_type(), input.device());
      }
      if (batch_ != nullptr && tangent.defined()) {
        tangent = detail::batching().batched(std::move(tangent), batch_->inputs[next - 1]);
      }
    }
    given.push_back(std::move(tangent));
  }
  tangents_.clear();
  variable_list computed;
  {
    ctx_.in_jvp_ = true;
    try {
      computed = run_jvp(&ctx_, std::move(given));
    } catch (...) {
      ctx_.in_jvp_ = false;
      throw;
    }
    ctx_.in_jvp_ = false;
  }
  TORCH_CHECK(
      computed.size() == outputs.size(), "jvp of ", name(), " returned ", computed.size(), " tangents, expected one a result: ",
      outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    at::Tensor out = outputs[i];
    c10::TensorImpl* impl = out.unsafeGetTensorImpl();
    if (!out.defined() || ctx_.non_differentiable_.count(impl) != 0) continue;
    TORCH_CHECK(
        !computed[i].defined() || computed[i].sizes() == out.sizes(), "jvp of ", name(), " returned a tangent of sizes ",
        computed[i].sizes(), " for result ", i, ", which has sizes ", out.sizes());
    const bool is_dirty = ctx_.dirty_inputs_.count(impl) != 0;
    if (batch_ != nullptr) {
      const detail::Batching& batching = detail::batching();
      if (computed[i].defined()) {
        const VmapDims own = batching.dims_of(out), of_tangent = batching.dims_of(computed[i]);
        bool shared = false;  // by samples whose tangents differ
        for (size_t level = 0; level < own.size(); ++level) shared |= of_tangent[level] && !own[level];
        TORCH_CHECK(!shared || !is_dirty, "jvp of ", name(), " returned a tangent for each sample of an argument that "
                    "it modified in place, which is the same for all");
        if (shared) outputs[i] = out = batching.batched_everywhere(out);
        computed[i] = batching.summed_to(computed[i], batching.dims_of(out));
      }
      out = batching.physical(out);
    }
    if (is_dirty) {
      set_tangent_inplace(out, computed[i]);
    } else {
      set_tangent(out, computed[i]);
    }
    const at::Tensor tangent = tangent_of(out);
    for (SavedVariable& saved : ctx_.saved_variables_) saved.set_output_tangent(static_cast<uint32_t>(i), tangent);
  }
}

namespace {

// What the results of a backward that must not be differentiated come from.
class OnceDifferentiated final : public Node {
 public:
  std::string name() const override { return "torch::autograd::DelayedError"; }

 protected:
  variable_list apply(variable_list&&) override {
    TORCH_CHECK(false, "trying to differentiate twice a function that was marked with @once_differentiable");
  }
};

}  // namespace

at::Tensor CustomNode::at_levels_of_run(at::Tensor saved, size_t place) const {
  if (node_at_levels != this || !saved.defined()) return saved;
  return detail::batching().batched(std::move(saved), batch_->saved[place]);
}

variable_list CustomNode::run_at_levels(variable_list grads, Run run) {
  if (C10_LIKELY(batch_ == nullptr)) return run(*this, std::move(grads));
  const detail::Batching& batching = detail::batching();
  const auto levels = batching.enter(batch_->levels);
  const AtLevelsOf here(this);
  for (size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].defined()) grads[i] = batching.batched(grads[i], batch_->results[i]);
  }
  variable_list outputs = run(*this, std::move(grads));
  size_t next = 0;
  for (size_t i = 0; i < std::min(outputs.size(), is_tensor_.size()); ++i) {
    if (!is_tensor_[i]) continue;
    if (outputs[i].defined()) outputs[i] = batching.summed_to(outputs[i], batch_->inputs[next]);
    ++next;
  }
  return outputs;
}

variable_list detail::behind(at::TensorList tensors) {
  variable_list list;
  for (const at::Tensor& t : tensors) list.push_back(behind(t));
  return list;
}

at::Tensor detail::batched_result(const at::Tensor& output, std::optional<int64_t> dim) {
  return dim.has_value() && output.defined() ? batching().batched(output, {dim}) : output;
}

variable_list detail::batched_result(const variable_list& outputs, const VmapDims& dims) {
  TORCH_CHECK(outputs.size() == dims.size(), "vmap of a Function returned ", outputs.size(), " results and ",
              dims.size(), " dimensions: expected as many out_dims as results");
  variable_list list;
  for (size_t i = 0; i < outputs.size(); ++i) list.push_back(batched_result(outputs[i], dims[i]));
  return list;
}

variable_list CustomNode::run_once_differentiable(const variable_list& grads, Run run) {
  variable_list outputs;
  {
    c10::NoGradGuard no_grad;
    outputs = run_at_levels(grads, run);
  }
  if (!c10::GradMode::is_enabled() || !requires_grad(at::TensorList(grads))) return outputs;
  const auto refusal = c10::make_intrusive<OnceDifferentiated>();
  for (const at::Tensor& grad : grads) {
    if (grad.defined() && requires_grad(grad)) refusal->add_next_edge(gradient_edge(grad));
  }
  for (at::Tensor& out : outputs) {
    if (!out.defined() || !(c10::isFloatingType(out.scalar_type()) || c10::isComplexType(out.scalar_type()))) continue;
    out = out.variable_data();
    set_history(out, NodePtr(refusal), refusal->add_input_metadata(out));
  }
  return outputs;
}

variable_list CustomNode::apply(variable_list&& grads) {
  if (ctx_.materialize_grads_) {
    for (uint32_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined() && input_metadata(i).defined()) grads[i] = input_metadata(i).zeros();
    }
  }
  variable_list outputs = run_backward(&ctx_, std::move(grads));
  const size_t expected = is_tensor_.size();
  // Undefined gradients at the end say nothing.
  while (outputs.size() > expected && !outputs.back().defined()) outputs.pop_back();
  if (outputs.size() != expected) throw_wrong_count(expected, outputs.size());
  variable_list results;
  results.reserve(num_outputs());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_tensor_[i]) {
      results.push_back(std::move(outputs[i]));
    } else if (outputs[i].defined()) {
      throw std::runtime_error(c10::str(
          "function ", name(), " returned a gradient different that is defined at position ", i + 1,
          ", but the corresponding forward input was not a Variable"));
    }
  }
  return results;
}

}  // namespace torch::autograd
