#include "data/dataloader/device_loader.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/accelerator.h"
#include "c10/core/device_guard_impl.h"
#include "c10/core/stream_guard.h"

namespace torch::data::detail {

Destination::Destination(c10::Device to) : device(to) {
  if (device.is_cpu()) return;
  // It says what is wrong where there is no device at all.
  if (const at::AcceleratorHooksInterface* const hooks = at::detail::acceleratorHooks(device.type())) hooks->init();
  const c10::impl::VirtualGuardImpl impl(device.type());
  if (!device.has_index()) device = impl.getDevice();
  TORCH_CHECK(device.index() < impl.deviceCount(), "DeviceLoader: there is no device ", device, " among ",
              static_cast<int>(impl.deviceCount()));
  stream = impl.getNewStream(device);
}

Transfer::~Transfer() {
  try {
    if (unmarked_ && !sources_.empty()) unmarked_->synchronize();
    if (done_) done_->synchronize();
  } catch (...) {  // the device is lost, and its copies with it
  }
}

at::Tensor Transfer::copy(const Destination& to, const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device() == to.device) return tensor;
  if (!to.stream) return at::to(tensor, to.device, tensor.scalar_type());
  const c10::StreamGuard guard(*to.stream);
  sources_.push_back(tensor);
  unmarked_ = to.stream;
  copies_.push_back(at::to(tensor, to.device, tensor.scalar_type(), /*non_blocking=*/true));
  return copies_.back();
}

void Transfer::mark(const Destination& to) {
  if (copies_.empty()) return;
  done_.emplace(to.device.type());
  done_->record(*to.stream);
  unmarked_.reset();
}

void Transfer::hand_over(const Destination& to) {
  if (copies_.empty()) return;
  const c10::Stream current = c10::impl::VirtualGuardImpl(to.device.type()).getStream(to.device);
  done_->block(current);
  for (at::Tensor& copy : copies_) at::record_stream(copy, current);
  copies_.clear();
}

bool Transfer::is_done() const {
  return !done_ || done_->query();
}

}  // namespace torch::data::detail
