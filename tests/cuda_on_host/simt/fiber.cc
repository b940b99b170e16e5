#include "tests/cuda_on_host/simt/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif
#ifdef SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef SIMT_TSAN  // this file is built without the instrumentation and so has to be told
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char*, int);
void AnnotateIgnoreReadsEnd(const char*, int);
void AnnotateIgnoreWritesBegin(const char*, int);
void AnnotateIgnoreWritesEnd(const char*, int);
}
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace simt {
namespace {

constexpr size_t kPage = 4096, kStack = size_t{256} << 10;

Fiber* g_active = nullptr;
Fiber* g_previous = nullptr;
size_t g_made = 0;

}  // namespace

#ifdef __x86_64__
// Keeps the registers that calls preserve, and the stack pointer at *from; goes on where `to` was kept.
extern "C" void simt_switch_stacks(void** from, void* to);
asm(R"(
.text
.type simt_switch_stacks,@function
simt_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size simt_switch_stacks,.-simt_switch_stacks
)");
#endif

// The first function on every stack.
void simt_fiber_begins() {
#ifdef SIMT_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &g_previous->asan_bottom_, &g_previous->asan_size_);
#endif
  g_active->entry_();
}

Fiber::Fiber(void (*entry)()) : entry_(entry) {
  void* memory =
      mmap(nullptr, kStack + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kPage, PROT_NONE);
  stack_ = static_cast<char*>(memory) + kPage;
  asan_bottom_ = stack_;
  asan_size_ = kStack;
  // Stacks begin at different places of their pages, or all of them would meet in a few lines of the cache.
  offset_ = g_made++ * 320 % 16384;
  prepare();
}

Fiber::~Fiber() {
#ifndef __x86_64__
  delete static_cast<ucontext_t*>(stack_pointer_);
#endif
  if (stack_ != nullptr) munmap(stack_ - kPage, kStack + kPage);
}

void Fiber::prepare() {
#ifdef __x86_64__
  void** top = reinterpret_cast<void**>(stack_ + kStack - offset_);
  *--top = nullptr;  // where a return address would be: the entry finds its stack aligned as behind a call
  *--top = reinterpret_cast<void*>(&simt_fiber_begins);
  top -= 6;
  std::memset(top, 0, 6 * sizeof(void*));
  stack_pointer_ = top;
#else
  auto* context = new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = stack_;
  context->uc_stack.ss_size = kStack - offset_;
  context->uc_link = nullptr;
  makecontext(context, &simt_fiber_begins, 0);
  delete static_cast<ucontext_t*>(stack_pointer_);
  stack_pointer_ = context;
#endif
}

void Fiber::restart() {
#ifdef SIMT_ASAN
  __asan_unpoison_memory_region(stack_, kStack);
#endif
  if (kFreshStacks) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(stack_, kStack, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) throw std::bad_alloc();
  }
  asan_frames_ = nullptr;
  prepare();
}

bool Fiber::owns(const void* address) const {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(stack_) < kStack;
}

Fiber* Fiber::active() {
  return g_active;
}

void Fiber::adopt_thread() {
#ifndef __x86_64__
  if (stack_pointer_ == nullptr) stack_pointer_ = new ucontext_t;
#endif
  g_active = this;
}

void Fiber::switch_to(Fiber& to) {
  Fiber& from = *g_active;
  g_previous = &from;
  g_active = &to;
#ifdef SIMT_ASAN
  __sanitizer_start_switch_fiber(&from.asan_frames_, to.asan_bottom_, to.asan_size_);
#endif
#ifdef __x86_64__
  simt_switch_stacks(&from.stack_pointer_, to.stack_pointer_);
#else
  swapcontext(static_cast<ucontext_t*>(from.stack_pointer_), static_cast<ucontext_t*>(to.stack_pointer_));
#endif
#ifdef SIMT_ASAN
  __sanitizer_finish_switch_fiber(from.asan_frames_, &g_previous->asan_bottom_, &g_previous->asan_size_);
#endif
}

#ifdef SIMT_TSAN
namespace {

char g_block_begins, g_block_ends;  // by their addresses
void* g_scheduler = nullptr;        // the context of what is not a kernel

void change_context(void* to) {
  __tsan_switch_to_fiber(to, __tsan_switch_to_fiber_no_sync);
}

}  // namespace

void RaceContext::begin() {
  context_ = __tsan_create_fiber(0);
  enter();
  __tsan_acquire(&g_block_begins);
}
void RaceContext::end() {
  __tsan_release(&g_block_ends);
  leave();
  __tsan_destroy_fiber(context_);
  context_ = nullptr;
}
void RaceContext::leave() {
  change_context(g_scheduler);
}
void RaceContext::enter() {
  change_context(context_);
}
void RaceContext::abandon() {
  if (context_ == nullptr) return;
  enter();
  end();
  __tsan_acquire(&g_block_ends);
}
void RaceContext::release(const void* what) {
  __tsan_release(const_cast<void*>(what));
}
void RaceContext::acquire(const void* what) {
  __tsan_acquire(const_cast<void*>(what));
}
// Meanwhile the executor's own accesses, on stacks of the block's threads, are none of anybody's.
void RaceContext::publish_block() {
  g_scheduler = __tsan_get_current_fiber();
  __tsan_release(&g_block_begins);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
void RaceContext::collect_block() {
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  __tsan_acquire(&g_block_ends);
}
RaceContext::Ignore::Ignore() {
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
RaceContext::Ignore::~Ignore() {
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
void RaceContext::begin() {}
void RaceContext::end() {}
void RaceContext::leave() {}
void RaceContext::enter() {}
void RaceContext::abandon() {}
void RaceContext::release(const void*) {}
void RaceContext::acquire(const void*) {}
void RaceContext::publish_block() {}
void RaceContext::collect_block() {}
RaceContext::Ignore::Ignore() {}
RaceContext::Ignore::~Ignore() {}
#endif

}  // namespace simt
