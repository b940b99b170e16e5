// Hooks that average gradients as they are, or as 16-bit numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "distributed/ddp/comm.h"

namespace c10d {

/// Hooks that a Reducer makes itself.
enum class BuiltinCommHookType : uint8_t {
  ALLREDUCE = 1,
  FP16_COMPRESS = 2,
};

/// The mean over the ranks: each divides by their number, then all are added.
class AllReduceCommHook : public CppCommHookInterface<c10::intrusive_ptr<ProcessGroup>> {
 public:
  explicit AllReduceCommHook(const c10::intrusive_ptr<ProcessGroup>& state) : CppCommHookInterface(state) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
};

/// The sum over the ranks.
class _AllReduceBySumCommHook : public CppCommHookInterface<c10::intrusive_ptr<ProcessGroup>> {
 public:
  explicit _AllReduceBySumCommHook(const c10::intrusive_ptr<ProcessGroup>& state) : CppCommHookInterface(state) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
};

/// The mean over the ranks, of gradients rounded to float16 before they are divided by the number of ranks and added.
class FP16CompressCommHook : public CppCommHookInterface<c10::intrusive_ptr<ProcessGroup>> {
 public:
  explicit FP16CompressCommHook(const c10::intrusive_ptr<ProcessGroup>& state) : CppCommHookInterface(state) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
};

/// The same with bfloat16.
class BF16CompressCommHook : public CppCommHookInterface<c10::intrusive_ptr<ProcessGroup>> {
 public:
  explicit BF16CompressCommHook(const c10::intrusive_ptr<ProcessGroup>& state) : CppCommHookInterface(state) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
};

/// Leaves each rank its own gradients: to see what communication costs. Parameters of the ranks part ways.
class NoopCommHook : public CommHookInterface {
 public:
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
  at::Tensor parseHookResult(const c10::IValue& result) override { return detail::parseCppCommHookResult(result); }
};

/// Gives a hook the gradients as numbers of another dtype, and backward what the hook makes of them in their own:
///
///   ddp->register_comm_hook(std::make_unique<c10d::CompressWrapperCommHook>(
///       c10::kHalf, std::make_unique<c10d::PowerSGDCommHook>(state)));
class CompressWrapperCommHook : public CommHookInterface {
 public:
  /// `dtype`: kHalf or kBFloat16.
  CompressWrapperCommHook(c10::ScalarType dtype, std::unique_ptr<CommHookInterface> hook);
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
  void finishRounds() override { hook_->finishRounds(); }
  at::Tensor parseHookResult(const c10::IValue& result) override { return detail::parseCppCommHookResult(result); }

 private:
  const c10::ScalarType dtype_;
  const std::shared_ptr<CommHookInterface> hook_;
};

namespace detail {
/// A future that has its value.
c10::intrusive_ptr<c10::ivalue::Future> completed_future(at::Tensor tensor);
}  // namespace detail

}  // namespace c10d
