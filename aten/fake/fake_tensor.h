// Fake tensors: tensors that say they are on a device and have no elements there. A model's calls on them go through
// the operators' shape rules only, so that sizes, dtypes, devices, errors and memory of a run are known without a run.
//
//   torch::FakeTensorMode mode;
//   {
//     at::DispatchModeGuard on(mode);                     // what is made now is fake
//     Net net;
//     net->to(torch::kCUDA);                              // no CUDA is needed
//     auto loss = net->forward(torch::randn({512, 3, 224, 224}, torch::kCUDA)).sum();
//     loss.backward();
//   }
//   mode.memory(torch::kCUDA).peak_bytes;                 // of a training step
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "aten/core/dispatch_mode.h"
#include "aten/core/wrapper_tensor.h"
#include "c10/util/exception.h"

namespace at {

/// An operator whose result is a number or a choice that the elements make: item(), equal(), control flow on a tensor.
class DataDependentOutputException : public c10::Error {
  using Error::Error;
};
/// An operator whose result has as many elements as the elements of an argument say: nonzero(), masked_select(),
/// unique().
class DynamicOutputShapeException : public c10::Error {
  using Error::Error;
};

namespace detail {
class FakeMemory;
}  // namespace detail

/// While it is pushed (DispatchModeGuard), factories make fake tensors. Operators on fake tensors need no mode: they
/// give fake tensors of the arguments' device; tensors of two devices are a c10::Error that names both, where the
/// operator would refuse them, too. A CPU tensor without dimensions goes with any device.
///
/// A real tensor beside fake ones is a c10::Error, unless `allow_non_fake_inputs` says that it is converted first; one
/// on the CPU without dimensions always is. What real tensors alone compute stays real, unless that is said. An
/// operator that has no shape rule is a c10::NotImplementedError by its name, one that needs elements a
/// DataDependentOutputException or DynamicOutputShapeException.
class FakeTensorMode final : public DispatchMode {
 public:
  explicit FakeTensorMode(bool allow_non_fake_inputs = false);
  ~FakeTensorMode() override;

  /// A fake tensor with the sizes, strides, dtype and device of `tensor`, or on `device`; a leaf that requires a
  /// gradient where `tensor` does. Tensors over one storage become fake tensors over one storage as long as both live.
  /// Throws c10::NotImplementedError for sparse, quantized and nested tensors.
  Tensor from_tensor(const Tensor& tensor, std::optional<Device> device = std::nullopt);

  struct Memory {
    int64_t live_bytes = 0;  ///< of storages that exist
    int64_t peak_bytes = 0;  ///< the most that there were at once
  };
  /// What a run would hold on a device: all storages of fake tensors of this mode, what autograd keeps included. Not
  /// included are an allocator's rounding and caches and what kernels take for the time of a call.
  Memory memory(Device device) const;
  /// The peak begins anew at what is there.
  void reset_peak(Device device);

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) override;

 private:
  c10::intrusive_ptr<detail::FakeMemory> memory_;
};

/// The tensor behind FakeTensorMode: a tensor of the Meta device that says it is on another.
class FakeTensorImpl final : public WrapperTensorImpl {
 public:
  FakeTensorImpl(Tensor meta, Device device, c10::intrusive_ptr<detail::FakeMemory> memory);
  ~FakeTensorImpl() override;
  const Tensor& meta() const { return meta_; }
  const c10::intrusive_ptr<detail::FakeMemory>& memory() const { return memory_; }

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) const override;
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "FakeTensor"; }

 private:
  Tensor meta_;
  c10::intrusive_ptr<detail::FakeMemory> memory_;
};

/// Whether a tensor is fake.
bool is_fake(const TensorBase& tensor);

}  // namespace at

namespace torch {
using at::DataDependentOutputException;
using at::DynamicOutputShapeException;
using at::FakeTensorMode;
}  // namespace torch
