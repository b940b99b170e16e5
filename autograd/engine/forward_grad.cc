#include "autograd/engine/forward_grad.h"

#include <mutex>
#include <utility>
#include <vector>

#include "aten/core/thread_local_state.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/fork.h"
#include "autograd/engine/generic_node.h"
#include "autograd/engine/grad_ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/atomic.h"
#include "c10/util/exception.h"

namespace torch::autograd {

namespace {

// A level and all of its tangents; guarded by level_mutex.
struct ForwardLevel final : c10::intrusive_ptr_target {
  ForwardGrad* first = nullptr;
  bool active = true;
  // Among the active levels of all threads.
  ForwardLevel* previous = nullptr;
  ForwardLevel* next = nullptr;
};
using LevelPtr = c10::intrusive_ptr<ForwardLevel>;

}  // namespace

// A tangent and its place among all of its level.
struct ForwardGrad {
  at::Tensor tangent = {};
  c10::TensorImpl* owner = nullptr;
  LevelPtr level = {};
  ForwardGrad* previous = nullptr;
  ForwardGrad* next = nullptr;
};

namespace {

std::mutex& level_mutex = mutexes.forward_level;
// The active levels of all threads; guarded by level_mutex.
constinit ForwardLevel* first_level = nullptr;
constinit c10::Atomic<bool> any_level{false};
// The thread's level, owned; null or no longer active where it is in none.
thread_local constinit ForwardLevel* own_level = nullptr;

LevelPtr set_own_level(LevelPtr level) {
  return LevelPtr::reclaim(std::exchange(own_level, level.release()));
}

// The level that this thread works in, or null: its own or, in a thread that is in none, the only one there is. Precondition:
// level_mutex is held.
ForwardLevel* level_of_this_thread() {
  if (own_level != nullptr && own_level->active) return own_level;
  TORCH_CHECK(
      first_level == nullptr || first_level->next == nullptr,
      "several threads are in a dual level, and this one in none: give it one's at::ThreadLocalState");
  return first_level;
}

at::impl::ThreadLocalPart::Value carried_level() {
  return LevelPtr::reclaim_copy(own_level);
}

void set_carried_level(const at::impl::ThreadLocalPart::Value& value) {
  set_own_level(LevelPtr::reclaim_copy(static_cast<ForwardLevel*>(value.get())));
}

[[maybe_unused]] const bool registered = at::impl::register_thread_local_part({carried_level, set_carried_level});

void unlink(ForwardGrad& grad) noexcept {
  (grad.previous != nullptr ? grad.previous->next : grad.level->first) = grad.next;
  if (grad.next != nullptr) grad.next->previous = grad.previous;
}

bool is_differentiable_type(c10::ScalarType dtype) {
  return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
}

// The same place for every index; dimensions of size 1 do not matter.
bool same_strides(const at::TensorBase& a, const at::TensorBase& b) {
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

bool is_expanded(const at::TensorBase& t) {
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) > 1 && t.stride(d) == 0) return true;
  }
  return false;
}

at::Tensor empty_laid_out_as(const at::TensorBase& t) {
  return is_expanded(t) ? at::empty(t.sizes(), t.options()) : at::empty_strided(t.sizes(), t.strides(), t.options());
}

// In sizes and dtype those of `t`.
at::Tensor fitted(at::Tensor tangent, const at::TensorBase& t) {
  if (tangent.is_complex() && !t.is_complex()) tangent = at::real(tangent);
  if (tangent.scalar_type() != t.scalar_type()) tangent = at::_to_copy(tangent, t.scalar_type());
  if (tangent.sizes() != t.sizes()) tangent = at::expand(tangent, t.sizes());
  return tangent;
}

const ForwardGrad* own_grad(const c10::TensorImpl& impl) {
  const auto* meta = static_cast<const AutogradMeta*>(impl.autograd_meta());
  return meta == nullptr ? nullptr : meta->forward_grad_;
}

at::Tensor part_of_base(const at::TensorBase& view, const at::Tensor& tangent_of_base) {
  return grad_ops::ViewGeometry::of(at::Tensor(view.unsafeGetTensorImpl()->base()), view).inside(tangent_of_base);
}

// Where the node that made `t` kept it for backward, it gets the tangent too.
void tell_node(const at::Tensor& t, const at::Tensor& tangent) {
  const AutogradMeta* meta = meta_of(t);
  if (meta == nullptr || !meta->grad_fn_) return;
  if (auto* node = dynamic_cast<GenericNode*>(meta->grad_fn_.get())) node->set_output_tangent(meta->output_nr_, tangent);
}

}  // namespace

bool forward_level_active() noexcept {
  return any_level.load();
}

uint64_t enter_forward_level() {
  std::lock_guard<std::mutex> lock(level_mutex);
  TORCH_CHECK(
      own_level == nullptr || !own_level->active, "Nested forward mode AD is not supported at the moment");
  LevelPtr fresh = c10::make_intrusive<ForwardLevel>();
  fresh->next = first_level;
  if (first_level != nullptr) first_level->previous = fresh.get();
  first_level = fresh.get();
  any_level.store(true);
  set_own_level(std::move(fresh));
  return 0;
}

void exit_forward_level(uint64_t level) {
  std::vector<ForwardGrad*> dropped;
  LevelPtr left;
  {
    std::lock_guard<std::mutex> lock(level_mutex);
    TORCH_CHECK(
        own_level != nullptr && own_level->active && level == 0,
        "Trying to exit a forward AD level that was not the last one that was created. This is not supported.");
    for (const ForwardGrad* grad = own_level->first; grad != nullptr; grad = grad->next) dropped.push_back(nullptr);
    size_t count = 0;
    for (ForwardGrad* grad = own_level->first; grad != nullptr; grad = grad->next) {
      dropped[count++] = grad;
      static_cast<AutogradMeta*>(grad->owner->autograd_meta())->forward_grad_ = nullptr;
      grad->owner->set_forward_key(false);
    }
    own_level->first = nullptr;
    own_level->active = false;
    ForwardLevel* const before = own_level->previous;
    ForwardLevel* const after = own_level->next;
    (before != nullptr ? before->next : first_level) = after;
    if (after != nullptr) after->previous = before;
    any_level.store(first_level != nullptr);
    left = set_own_level({});
  }
  // Outside the lock: a tangent's graph may hold the last reference to tensors that have tangents.
  for (ForwardGrad* grad : dropped) delete grad;
}

void drop_forward_grad(AutogradMeta& meta) noexcept {
  ForwardGrad* grad = nullptr;
  {
    std::lock_guard<std::mutex> lock(level_mutex);
    grad = std::exchange(meta.forward_grad_, nullptr);
    if (grad != nullptr) unlink(*grad);
  }
  delete grad;
}

at::Tensor tangent_of(const at::TensorBase& t) {
  c10::TensorImpl* impl = t.unsafeGetTensorImpl();
  if (impl == nullptr || C10_LIKELY(!impl->key_set().has(c10::DispatchKey::ForwardAD))) return {};
  if (const ForwardGrad* own = own_grad(*impl)) return own->tangent;
  const ForwardGrad* of_base = impl->is_view() ? own_grad(*impl->base()) : nullptr;
  if (of_base == nullptr || !of_base->tangent.defined()) return {};
  const ForwardScope scope;
  return part_of_base(t, of_base->tangent);
}

void put_tangent(const at::TensorBase& t, at::Tensor tangent) {
  c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  AutogradMeta& meta = materialize_meta(t);
  const bool some = tangent.defined();
  at::Tensor before;
  {
    std::lock_guard<std::mutex> lock(level_mutex);
    if (meta.forward_grad_ == nullptr) {
      ForwardLevel* const level = level_of_this_thread();
      if (level == nullptr) return;
      auto* fresh = new ForwardGrad{.owner = &impl, .level = LevelPtr::reclaim_copy(level), .next = level->first};
      if (fresh->next != nullptr) fresh->next->previous = fresh;
      level->first = fresh;
      meta.forward_grad_ = fresh;
    }
    before = std::exchange(meta.forward_grad_->tangent, std::move(tangent));
  }
  impl.set_forward_key(some);
}

void set_tangent(const at::Tensor& result, at::Tensor tangent) {
  if (!result.defined() || !is_differentiable_type(result.scalar_type())) return;
  c10::TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (!tangent.defined()) {
    if (impl.is_view() && impl.key_set().has(c10::DispatchKey::ForwardAD)) put_tangent(result, {});
    return;
  }
  const ForwardScope scope;
  tangent = fitted(std::move(tangent), result);
  if (!impl.is_view()) {
    const auto& storage = tangent.unsafeGetTensorImpl()->storage();
    const bool own = storage && storage.use_count() == 1 && tangent.use_count() == 1;
    if (!own || !same_strides(tangent, result)) {
      at::Tensor copy = empty_laid_out_as(result);
      at::copy_(copy, tangent);
      tangent = std::move(copy);
    }
  }
  tell_node(result, tangent);
  put_tangent(result, std::move(tangent));
}

void set_tangent_inplace(const at::Tensor& self, at::Tensor tangent) {
  if (!self.defined() || !is_differentiable_type(self.scalar_type())) return;
  const ForwardScope scope;
  at::Tensor current = tangent_of(self);
  if (!current.defined()) {
    if (!tangent.defined()) return;
    c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
    const bool through_base = impl.is_view() && is_differentiable_type(impl.base()->dtype()) && own_grad(impl) == nullptr;
    if (!through_base) {
      at::Tensor own = empty_laid_out_as(self);
      at::copy_(own, fitted(std::move(tangent), self));
      tell_node(self, own);
      return put_tangent(self, std::move(own));
    }
    const at::Tensor base(impl.base());
    at::Tensor zeros = empty_laid_out_as(base);
    at::zero_(zeros);
    put_tangent(base, std::move(zeros));
    current = tangent_of(self);
  }
  if (tangent.defined()) {
    at::copy_(current, fitted(std::move(tangent), self));
  } else {
    at::zero_(current);
  }
  tell_node(self, current);
}

bool is_differentiated() {
  return c10::GradMode::is_enabled() || (forward_level_active() && c10::thread_state().fw_grad_enabled);
}

}  // namespace torch::autograd
