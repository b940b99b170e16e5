#include "aten/extension/debug_info.h"

#include <utility>

#include "aten/core/thread_local_state.h"
#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"

namespace c10 {
namespace {

thread_local std::shared_ptr<ThreadLocalDebugInfo> notes;

struct Carried final : intrusive_ptr_target {
  explicit Carried(std::shared_ptr<ThreadLocalDebugInfo> stack) : stack(std::move(stack)) {}
  std::shared_ptr<ThreadLocalDebugInfo> stack;
};

const bool registered = at::impl::register_thread_local_part({
    [] { return at::impl::ThreadLocalPart::Value(notes ? make_intrusive<Carried>(notes) : intrusive_ptr<Carried>()); },
    [](const at::impl::ThreadLocalPart::Value& value) {
      notes = value.defined() ? static_cast<const Carried&>(*value).stack : nullptr;
    },
});

}  // namespace

DebugInfoBase* ThreadLocalDebugInfo::get(DebugInfoKind kind) {
  for (const ThreadLocalDebugInfo* note = notes.get(); note != nullptr; note = note->below_.get()) {
    if (note->kind_ == kind) return note->info_.get();
  }
  return nullptr;
}

std::shared_ptr<ThreadLocalDebugInfo> ThreadLocalDebugInfo::current() {
  return notes;
}

void ThreadLocalDebugInfo::_forceCurrentDebugInfo(std::shared_ptr<ThreadLocalDebugInfo> info) {
  notes = std::move(info);
}

void ThreadLocalDebugInfo::_push(DebugInfoKind kind, std::shared_ptr<DebugInfoBase> info) {
  auto note = std::make_shared<ThreadLocalDebugInfo>();
  note->info_ = std::move(info);
  note->kind_ = kind;
  note->below_ = std::move(notes);
  notes = std::move(note);
}

std::shared_ptr<DebugInfoBase> ThreadLocalDebugInfo::_pop(DebugInfoKind kind) {
  auto info = _peek(kind);
  notes = std::shared_ptr<ThreadLocalDebugInfo>(notes->below_);
  return info;
}

std::shared_ptr<DebugInfoBase> ThreadLocalDebugInfo::_peek(DebugInfoKind kind) {
  TORCH_CHECK(notes && notes->kind_ == kind, "Expected debug info of type ", static_cast<int>(kind));
  return notes->info_;
}

DebugInfoGuard::DebugInfoGuard(DebugInfoKind kind, std::shared_ptr<DebugInfoBase> info) {
  if (!info) return;
  before_ = ThreadLocalDebugInfo::current();
  ThreadLocalDebugInfo::_push(kind, std::move(info));
  active_ = true;
}

DebugInfoGuard::DebugInfoGuard(std::shared_ptr<ThreadLocalDebugInfo> info) {
  if (!info) return;
  before_ = ThreadLocalDebugInfo::current();
  ThreadLocalDebugInfo::_forceCurrentDebugInfo(std::move(info));
  active_ = true;
}

DebugInfoGuard::~DebugInfoGuard() {
  if (active_) ThreadLocalDebugInfo::_forceCurrentDebugInfo(std::move(before_));
}

}  // namespace c10
