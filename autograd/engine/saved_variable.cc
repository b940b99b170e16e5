#include "autograd/engine/saved_variable.h"

#include <string>
#include <utility>
#include <vector>

#include "aten/core/thread_local_state.h"
#include "autograd/engine/anomaly_mode.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/forward_grad.h"
#include "autograd/engine/node.h"
#include "autograd/engine/saved_tensor_hooks.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::autograd {
namespace {

struct DefaultHooks final : c10::intrusive_ptr_target {
  SavedTensorDefaultHooks::Factory make;
  c10::intrusive_ptr<DefaultHooks> outer;
};

// Plain owned pointers: every saved tensor looks at the first, and a thread-local object with a destructor costs a call.
struct DefaultHooksState {
  DefaultHooks* top = nullptr;
  std::string* disabled = nullptr;
};
thread_local constinit DefaultHooksState default_hooks;

// The state for another thread.
struct CarriedHooks final : c10::intrusive_ptr_target {
  c10::intrusive_ptr<DefaultHooks> top;
  std::optional<std::string> disabled;
};

void set_disabled(const std::optional<std::string>& message) {
  delete std::exchange(default_hooks.disabled, message.has_value() ? new std::string(*message) : nullptr);
}

at::impl::ThreadLocalPart::Value carried_hooks() {
  if (default_hooks.top == nullptr && default_hooks.disabled == nullptr) return {};
  auto carried = c10::make_intrusive<CarriedHooks>();
  carried->top = c10::intrusive_ptr<DefaultHooks>::reclaim_copy(default_hooks.top);
  carried->disabled = SavedTensorDefaultHooks::get_disabled_error_message();
  return carried;
}

void set_carried_hooks(const at::impl::ThreadLocalPart::Value& value) {
  const auto* carried = static_cast<const CarriedHooks*>(value.get());
  auto top = carried == nullptr ? c10::intrusive_ptr<DefaultHooks>() : carried->top;
  c10::intrusive_ptr<DefaultHooks>::reclaim(std::exchange(default_hooks.top, top.release())).reset();
  set_disabled(carried == nullptr ? std::nullopt : carried->disabled);
}

[[maybe_unused]] const bool registered = at::impl::register_thread_local_part({carried_hooks, set_carried_hooks});

// A second handle to the data of `t` whose gradients go to `edge`.
at::Tensor with_history(const at::Tensor& t, const Edge& edge) {
  at::Tensor fresh(t.unsafeGetTensorImpl()->shallow_copy());
  if (edge.is_valid()) set_gradient_edge(fresh, edge);
  put_all_tangents(fresh, all_tangents_of(t));
  return fresh;
}

}  // namespace

// The packed form of a tensor: the hooks, the way its gradients went, and its tangents.
struct SavedVariable::Hooked {
  std::unique_ptr<SavedVariableHooks> hooks;
  Edge edge;
  std::vector<at::Tensor> tangents;
};

SavedVariable::SavedVariable(const std::optional<at::Tensor>& variable, bool is_output, bool is_inplace_on_view)
    : SavedVariable(variable.value_or(at::Tensor()), is_output, is_inplace_on_view) {}

SavedVariable::SavedVariable(const at::Tensor& variable, bool is_output, bool) {
  if (is_output && variable.defined()) {
    const AutogradMeta* meta = meta_of(variable);
    save_output(variable, meta == nullptr ? 0 : meta->output_nr_);
  } else {
    save(variable);
  }
}

SavedVariable::SavedVariable(SavedVariable&& other) noexcept
    : data_(std::move(other.data_)),
      hooks_(std::exchange(other.hooks_, nullptr)),
      version_(other.version_),
      output_nr_(other.output_nr_),
      flags_(other.flags_) {}

SavedVariable& SavedVariable::operator=(SavedVariable&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(hooks_, other.hooks_);
  std::swap(version_, other.version_);
  std::swap(output_nr_, other.output_nr_);
  std::swap(flags_, other.flags_);
  return *this;
}

void SavedVariable::save(const at::Tensor& variable) {
  if (!variable.defined()) return;
  const c10::TensorImpl& impl = *variable.unsafeGetTensorImpl();
  TORCH_CHECK(
      !impl.is_inference(),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
      "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
      "`torch.no_grad()` instead of `torch.inference_mode()`.");
  data_ = variable;
  version_ = impl.version();
  flags_ = kDefined;
  variable.unsafeGetTensorImpl()->set_kept_for_backward(true);
  if (C10_UNLIKELY(impl.is_view())) impl.base()->set_kept_for_backward(true);
  if (C10_UNLIKELY(default_hooks.top != nullptr)) apply_default_hooks();
}

void SavedVariable::save_output(const at::Tensor& result, uint32_t output_nr) {
  if (!result.defined()) return;
  const c10::TensorImpl& impl = *result.unsafeGetTensorImpl();
  // Indices and flags are nobody's derivative: they hold no history, so keeping them makes no cycle.
  if (C10_UNLIKELY(!c10::isFloatingType(impl.dtype()) && !c10::isComplexType(impl.dtype()))) return save(result);
  data_ = at::Tensor(impl.shallow_copy());
  version_ = impl.version();
  output_nr_ = static_cast<uint16_t>(output_nr);
  flags_ = kDefined | kOutput;
  if (C10_UNLIKELY(default_hooks.top != nullptr)) apply_default_hooks();
}

void SavedVariable::set_output_tangent(uint32_t output_nr, const at::Tensor& tangent) {
  if ((flags_ & kOutput) == 0 || output_nr_ != output_nr) return;
  if (hooks_ != nullptr) {
    const size_t level = static_cast<size_t>(forward_level());
    if (hooks_->tangents.size() <= level) hooks_->tangents.resize(level + 1);
    hooks_->tangents[level] = tangent;
  } else if (data_.defined()) {
    put_tangent(data_, tangent);
  }
}

void SavedVariable::apply_default_hooks() {
  const auto top = c10::intrusive_ptr<DefaultHooks>::reclaim_copy(default_hooks.top);
  register_hooks(top->make());
}

SavedRef SavedVariable::get(Node* saved_for) const {
  if (C10_UNLIKELY(hooks_ != nullptr)) return SavedRef(unpack_hooked(saved_for));
  if (C10_UNLIKELY(!data_.defined())) {
    if ((flags_ & kDefined) != 0) throw_released();
    return SavedRef(&data_);
  }
  if (C10_UNLIKELY(data_.unsafeGetTensorImpl()->version() != version_)) throw_modified(saved_for);
  if ((flags_ & kOutput) != 0 && c10::GradMode::is_enabled()) return SavedRef(unpack_output(saved_for, data_));
  return SavedRef(&data_);
}

at::Tensor SavedVariable::unpack_output(Node* saved_for, const at::Tensor& data) const {
  TORCH_CHECK(saved_for != nullptr, "No grad_fn for non-leaf saved tensor");
  // A result that has no gradient (an index, statistics) has no history either.
  if (output_nr_ >= saved_for->num_inputs() || !saved_for->input_metadata(output_nr_).defined()) return data;
  return with_history(data, Edge(saved_for->getptr(), output_nr_));
}

at::Tensor SavedVariable::unpack_hooked(Node* saved_for) const {
  at::Tensor data = hooks_->hooks->call_unpack_hook();
  TORCH_CHECK(data.defined(), "the unpack hook of a saved tensor returned an undefined tensor");
  if (C10_UNLIKELY(!hooks_->tangents.empty())) {
    data = at::Tensor(data.unsafeGetTensorImpl()->shallow_copy());
    put_all_tangents(data, hooks_->tangents);
  }
  if (!c10::GradMode::is_enabled()) return data;
  if ((flags_ & kOutput) != 0) return unpack_output(saved_for, data);
  return with_history(data, hooks_->edge);
}

void SavedVariable::register_hooks(std::unique_ptr<SavedVariableHooks>&& hooks) {
  if (hooks == nullptr) return;
  TORCH_CHECK(hooks_ == nullptr, "Calling register_hooks on a saved tensor whose hooks have already been set.");
  TORCH_CHECK(!is_released(), "Calling register_hooks on a saved tensor after it has been freed.");
  TORCH_CHECK(data_.defined(), "Calling register_hooks on a saved tensor with value None is forbidden");
  const uint32_t version = data_.unsafeGetTensorImpl()->version();
  TORCH_CHECK(
      version == version_,
      "Calling register_hooks on a saved tensor that was modified in place since it was saved is forbidden");
  auto hooked = std::make_unique<Hooked>(std::move(hooks), Edge(), all_tangents_of(data_));
  if ((flags_ & kOutput) == 0 && requires_grad(static_cast<const at::TensorBase&>(data_))) {
    hooked->edge = gradient_edge(data_);
  }
  const at::Tensor packed(data_.unsafeGetTensorImpl()->shallow_copy());
  {
    c10::NoGradGuard no_grad;
    hooked->hooks->call_pack_hook(packed);
  }
  TORCH_CHECK(
      packed.unsafeGetTensorImpl()->version() == version,
      "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified "
      "by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform "
      "in-place operations on the input to a pack hook.");
  hooks_ = hooked.release();
  data_.reset();
}

void SavedVariable::delete_hooks() noexcept {
  delete std::exchange(hooks_, nullptr);
}

void SavedVariable::reset_data() noexcept {
  if (hooks_ != nullptr) delete_hooks();
  data_.reset();
}

void SavedVariable::keep_past_of(const c10::TensorImpl& t) {
  if (!data_.defined() || (flags_ & kOutput) != 0) return;
  const c10::TensorImpl* kept = data_.unsafeGetTensorImpl();
  if (kept != &t && kept->base().get() != &t) return;
  const AutogradMeta* meta = meta_of(data_);
  data_ = with_history(data_, meta != nullptr && meta->grad_fn_ ? Edge(meta->grad_fn_, meta->output_nr_) : Edge());
}

void SavedVariable::throw_released() const {
  TORCH_CHECK(
      false,
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
      "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
      "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
      "after calling backward.");
}

void SavedVariable::throw_modified(Node* saved_for) const {
  std::string message = c10::str(
      "one of the variables needed for gradient computation has been modified by an inplace operation: [",
      data_.toString(), " ", data_.sizes(), "]");
  std::string made_by;
  uint32_t nr = output_nr_;
  if ((flags_ & kOutput) != 0) {
    if (saved_for != nullptr) made_by = saved_for->name();
  } else if (const NodePtr& node = grad_fn(data_)) {
    made_by = node->name();
    nr = meta_of(data_)->output_nr_;
  }
  if (!made_by.empty()) message += c10::str(", which is output ", nr, " of ", made_by, ",");
  message += c10::str(
      " is at version ", data_.unsafeGetTensorImpl()->version(), "; expected version ", version_, " instead. Hint: ");
  message += AnomalyMode::is_enabled()
      ? "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
        "changed in there or anywhere later. Good luck!"
      : "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True).";
  TORCH_CHECK(false, message);
}

void SavedTensorDefaultHooks::push_hooks(Factory make) {
  TORCH_CHECK(is_enabled(), *default_hooks.disabled);
  auto entry = c10::make_intrusive<DefaultHooks>();
  entry->make = std::move(make);
  entry->outer = c10::intrusive_ptr<DefaultHooks>::reclaim(default_hooks.top);
  default_hooks.top = entry.release();
}

void SavedTensorDefaultHooks::pop_hooks() {
  TORCH_CHECK(default_hooks.top != nullptr, "pop_hooks: this thread has no default hooks for saved tensors");
  auto entry = c10::intrusive_ptr<DefaultHooks>::reclaim(default_hooks.top);
  default_hooks.top = c10::intrusive_ptr<DefaultHooks>(entry->outer).release();
}

void SavedTensorDefaultHooks::disable(const std::string& error_message) {
  set_disabled(error_message);
  TORCH_CHECK(default_hooks.top == nullptr, error_message);
}

void SavedTensorDefaultHooks::enable() {
  set_disabled(std::nullopt);
}

bool SavedTensorDefaultHooks::is_enabled() {
  return default_hooks.disabled == nullptr;
}

std::optional<std::string> SavedTensorDefaultHooks::get_disabled_error_message() {
  if (is_enabled()) return std::nullopt;
  return *default_hooks.disabled;
}

}  // namespace torch::autograd
