// Gradients as 8-bit numbers.
#pragma once

#include "distributed/ddp/comm.h"

namespace c10d {

/// The mean over the ranks of gradients that each rank sends as 8-bit numbers: of its bucket's least and largest
/// element (and 0) come scale = (max - min) / 255 and zero_point = round(-min / scale); x becomes round(x / scale) +
/// zero_point, from 0 to 255. All ranks gather all buckets. An element differs from the exact mean by half the ranks'
/// mean scale at most.
class QuantizationPerTensorCommHook : public CppCommHookInterface<c10::intrusive_ptr<ProcessGroup>> {
 public:
  explicit QuantizationPerTensorCommHook(const c10::intrusive_ptr<ProcessGroup>& state) : CppCommHookInterface(state) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;
};

/// The same with a scale and a zero point for each `bucket_size` elements.
class QuantizationPerChannelCommHook : public CppCommHookInterface<c10::intrusive_ptr<ProcessGroup>> {
 public:
  explicit QuantizationPerChannelCommHook(const c10::intrusive_ptr<ProcessGroup>& state, int64_t bucket_size = 512);
  c10::intrusive_ptr<c10::ivalue::Future> runHook(GradBucket& bucket) override;

 private:
  const int64_t bucket_size_;
};

}  // namespace c10d
