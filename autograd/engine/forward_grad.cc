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

thread_local constinit int detail::handled_level = -1;

namespace {

// A level and all of its tangents; guarded by level_mutex.
struct ForwardLevel final : c10::intrusive_ptr_target {
  int number = 0;
  c10::intrusive_ptr<ForwardLevel> outer;  // the thread's level of the number before
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
  ForwardGrad* of_owner = nullptr;  // the owner's tangents of other levels
};

namespace {

std::mutex& level_mutex = mutexes.forward_level;
// The active levels of all threads; guarded by level_mutex.
constinit ForwardLevel* first_level = nullptr;
// How many levels the thread is in that is in most.
constinit c10::Atomic<int> greatest_depth{0};
// The thread's last level, owned; null or no longer active where it is in none.
thread_local constinit ForwardLevel* last_level = nullptr;

LevelPtr set_last_level(LevelPtr level) {
  return LevelPtr::reclaim(std::exchange(last_level, level.release()));
}

// The last level of this thread's own that nobody left, or null.
ForwardLevel* own_level() noexcept {
  ForwardLevel* level = last_level;
  while (level != nullptr && !level->active) level = level->outer.get();
  return level;
}

// The last level that this thread works in, or null: its own or, in a thread that is in none, that of the only thread that is in
// some. Precondition: level_mutex is held.
ForwardLevel* level_of_this_thread() {
  if (ForwardLevel* const own = own_level()) return own;
  ForwardLevel* last = first_level;
  int count = 0;
  for (ForwardLevel* level = first_level; level != nullptr; level = level->next, ++count) {
    if (level->number > last->number) last = level;
  }
  TORCH_CHECK(
      last == nullptr || last->number + 1 == count,
      "several threads are in a dual level, and this one in none: give it one's at::ThreadLocalState");
  return last;
}

ForwardLevel* level_of_this_thread(int number) {
  ForwardLevel* level = level_of_this_thread();
  while (level != nullptr && level->number > number) level = level->outer.get();
  return level != nullptr && level->number == number && level->active ? level : nullptr;
}

// What another thread that works for this one is given.
struct CarriedLevel final : c10::intrusive_ptr_target {
  LevelPtr last;
  int handled = -1;
};

at::impl::ThreadLocalPart::Value carried_level() {
  if (last_level == nullptr && detail::handled_level < 0) return {};
  auto carried = c10::make_intrusive<CarriedLevel>();
  carried->last = LevelPtr::reclaim_copy(last_level);
  carried->handled = detail::handled_level;
  return carried;
}

void set_carried_level(const at::impl::ThreadLocalPart::Value& value) {
  const auto* carried = static_cast<const CarriedLevel*>(value.get());
  set_last_level(carried == nullptr ? LevelPtr() : carried->last);
  detail::handled_level = carried == nullptr ? -1 : carried->handled;
}

[[maybe_unused]] const bool registered = at::impl::register_thread_local_part({carried_level, set_carried_level});

void update_greatest_depth() {
  int depth = 0;
  for (const ForwardLevel* level = first_level; level != nullptr; level = level->next) {
    if (level->number >= depth) depth = level->number + 1;
  }
  greatest_depth.store(depth);
}

void take_from_owner(AutogradMeta& meta, const ForwardGrad& grad) noexcept {
  ForwardGrad** place = &meta.forward_grad_;
  while (*place != &grad) place = &(*place)->of_owner;
  *place = grad.of_owner;
}

void unlink(ForwardGrad& grad) noexcept {
  (grad.previous != nullptr ? grad.previous->next : grad.level->first) = grad.next;
  if (grad.next != nullptr) grad.next->previous = grad.previous;
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

ForwardGrad* find_grad(const AutogradMeta& meta, int level) noexcept {
  ForwardGrad* grad = meta.forward_grad_;
  while (grad != nullptr && grad->level->number != level) grad = grad->of_owner;
  return grad;
}

const ForwardGrad* own_grad(const c10::TensorImpl& impl, int level) noexcept {
  const auto* meta = static_cast<const AutogradMeta*>(impl.autograd_meta());
  return meta == nullptr ? nullptr : find_grad(*meta, level);
}

// Whether there is one, of the tensor's own or of its base.
bool has_tangent_at(const c10::TensorImpl& impl, int level) noexcept {
  const ForwardGrad* grad = own_grad(impl, level);
  if (grad == nullptr && impl.is_view()) grad = own_grad(*impl.base(), level);
  return grad != nullptr && grad->tangent.defined();
}

void update_key(c10::TensorImpl& impl, const AutogradMeta& meta) noexcept {
  bool any = false;
  for (const ForwardGrad* grad = meta.forward_grad_; grad != nullptr; grad = grad->of_owner) any |= grad->tangent.defined();
  impl.set_forward_key(any);
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
  return greatest_depth.load() != 0;
}

int forward_depth() noexcept {
  if (C10_LIKELY(last_level == nullptr)) return greatest_depth.load();
  const ForwardLevel* const own = own_level();
  return own != nullptr ? own->number + 1 : greatest_depth.load();
}

uint64_t enter_forward_level() {
  TORCH_CHECK_NOT_IMPLEMENTED(
      detail::handled_level < 0, "enter_dual_level: a level cannot be entered while a tangent is being computed");
  std::lock_guard<std::mutex> lock(level_mutex);
  ForwardLevel* const outer = own_level();
  LevelPtr fresh = c10::make_intrusive<ForwardLevel>();
  if (outer != nullptr) {
    fresh->outer = LevelPtr::reclaim_copy(outer);
    fresh->number = outer->number + 1;
  }
  const uint64_t number = static_cast<uint64_t>(fresh->number);
  fresh->next = first_level;
  if (first_level != nullptr) first_level->previous = fresh.get();
  first_level = fresh.get();
  update_greatest_depth();
  set_last_level(std::move(fresh));
  return number;
}

void exit_forward_level(uint64_t number) {
  std::vector<ForwardGrad*> dropped;
  LevelPtr left;
  {
    std::lock_guard<std::mutex> lock(level_mutex);
    ForwardLevel* const level = own_level();
    TORCH_CHECK(
        level != nullptr && static_cast<uint64_t>(level->number) == number,
        "Trying to exit a forward AD level that was not the last one that was created. This is not supported.");
    for (const ForwardGrad* grad = level->first; grad != nullptr; grad = grad->next) dropped.push_back(nullptr);
    size_t count = 0;
    for (ForwardGrad* grad = level->first; grad != nullptr; grad = grad->next) {
      dropped[count++] = grad;
      AutogradMeta& meta = *static_cast<AutogradMeta*>(grad->owner->autograd_meta());
      take_from_owner(meta, *grad);
      update_key(*grad->owner, meta);
    }
    level->first = nullptr;
    level->active = false;
    ForwardLevel* const before = level->previous;
    ForwardLevel* const after = level->next;
    (before != nullptr ? before->next : first_level) = after;
    if (after != nullptr) after->previous = before;
    update_greatest_depth();
    left = set_last_level(level->outer);
  }
  // Outside the lock: a tangent's graph may hold the last reference to tensors that have tangents.
  for (ForwardGrad* grad : dropped) delete grad;
}

void drop_forward_grad(AutogradMeta& meta) noexcept {
  ForwardGrad* grads = nullptr;
  {
    std::lock_guard<std::mutex> lock(level_mutex);
    grads = std::exchange(meta.forward_grad_, nullptr);
    for (ForwardGrad* grad = grads; grad != nullptr; grad = grad->of_owner) unlink(*grad);
  }
  while (grads != nullptr) delete std::exchange(grads, grads->of_owner);
}

at::Tensor tangent_of(const at::TensorBase& t, int level) {
  c10::TensorImpl* impl = t.unsafeGetTensorImpl();
  if (impl == nullptr || C10_LIKELY(!impl->key_set().has(c10::DispatchKey::ForwardAD))) return {};
  if (const ForwardGrad* own = own_grad(*impl, level)) return own->tangent;
  const ForwardGrad* of_base = impl->is_view() ? own_grad(*impl->base(), level) : nullptr;
  if (of_base == nullptr || !of_base->tangent.defined()) return {};
  const ForwardScope scope(level);
  return part_of_base(t, of_base->tangent);
}

void put_tangent(const at::TensorBase& t, at::Tensor tangent, int level) {
  c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  AutogradMeta& meta = materialize_meta(t);
  at::Tensor before;
  {
    std::lock_guard<std::mutex> lock(level_mutex);
    ForwardGrad* grad = find_grad(meta, level);
    if (grad == nullptr) {
      ForwardLevel* const of = level_of_this_thread(level);
      if (of == nullptr) return;
      grad = new ForwardGrad{
          .owner = &impl, .level = LevelPtr::reclaim_copy(of), .next = of->first, .of_owner = meta.forward_grad_};
      if (grad->next != nullptr) grad->next->previous = grad;
      of->first = grad;
      meta.forward_grad_ = grad;
    }
    before = std::exchange(grad->tangent, std::move(tangent));
    update_key(impl, meta);
  }
}

std::vector<at::Tensor> all_tangents_of(const at::TensorBase& t) {
  std::vector<at::Tensor> tangents;
  const c10::TensorImpl* const impl = t.unsafeGetTensorImpl();
  if (impl == nullptr || C10_LIKELY(!impl->key_set().has(c10::DispatchKey::ForwardAD))) return tangents;
  const int depth = forward_depth();
  for (int level = 0; level < depth; ++level) {
    at::Tensor tangent = tangent_of(t, level);
    if (!tangent.defined()) continue;
    tangents.resize(static_cast<size_t>(level) + 1);
    tangents.back() = std::move(tangent);
  }
  return tangents;
}

void put_all_tangents(const at::TensorBase& t, const std::vector<at::Tensor>& tangents) {
  for (size_t level = 0; level < tangents.size(); ++level) {
    if (tangents[level].defined()) put_tangent(t, tangents[level], static_cast<int>(level));
  }
}

void set_tangent(const at::Tensor& result, at::Tensor tangent) {
  if (!result.defined() || !is_differentiable_type(result.scalar_type())) return;
  c10::TensorImpl& impl = *result.unsafeGetTensorImpl();
  if (!tangent.defined()) {
    if (impl.is_view() && has_tangent_at(impl, forward_level())) put_tangent(result, {});
    return;
  }
  const int level = forward_level();
  if (level < 0) return;
  const ForwardScope scope(level);
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
  const int level = forward_level();
  if (level < 0) return;
  const ForwardScope scope(level);
  at::Tensor current = tangent_of(self);
  if (!current.defined()) {
    if (!tangent.defined()) return;
    c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
    const bool through_base = impl.is_view() && is_differentiable_type(impl.base()->dtype()) && own_grad(impl, level) == nullptr;
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
