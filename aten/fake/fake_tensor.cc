#include "aten/fake/fake_tensor.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/core/empty.h"

namespace at::registry {
void link_all_operators();  // of //aten/ops:all_operators
}

namespace at {
namespace detail {

// Counts the bytes of storages by device. The storage of a fake tensor's meta tensor has no data; its owner counts it.
class FakeMemory final : public c10::intrusive_ptr_target {
 public:
  explicit FakeMemory(bool allow_non_fake_inputs) : allow_non_fake_inputs(allow_non_fake_inputs) {}

  const bool allow_non_fake_inputs;

  void count(c10::StorageImpl& storage, Device device) {
    const c10::DataPtr& data = storage.data_ptr();
    if (data.get_deleter() == &Counted::release && data.get_context() != nullptr) return;
    const auto bytes = static_cast<int64_t>(storage.nbytes());
    auto* counted = new Counted{c10::intrusive_ptr<FakeMemory>::reclaim_copy(this), device, bytes};
    storage.set_data_ptr(c10::DataPtr(nullptr, counted, &Counted::release, storage.device()));
    const std::lock_guard<std::mutex> lock(mutex_);
    FakeTensorMode::Memory& memory = of(device);
    memory.live_bytes += bytes;
    memory.peak_bytes = std::max(memory.peak_bytes, memory.live_bytes);
  }
  FakeTensorMode::Memory memory(Device device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return of(device);
  }
  void reset_peak(Device device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    of(device).peak_bytes = of(device).live_bytes;
  }
  // The storage that stands for a real one; made where there is none.
  c10::intrusive_ptr<c10::StorageImpl> stand_in(const c10::intrusive_ptr<c10::StorageImpl>& real) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = stand_ins_.begin(); it != stand_ins_.end();) {
      const auto key = it->second.first.lock();
      auto fake = it->second.second.lock();
      if (key == real && fake) return fake;
      it = key && fake ? std::next(it) : stand_ins_.erase(it);
    }
    auto fake = c10::StorageImpl::without_data(real->nbytes(), Device(kMeta));
    stand_ins_.insert_or_assign(real.get(), std::pair(Weak(real), Weak(fake)));
    return fake;
  }

 private:
  using Weak = c10::weak_intrusive_ptr<c10::StorageImpl>;
  struct Counted {
    c10::intrusive_ptr<FakeMemory> memory;
    Device device;
    int64_t bytes;
    static void release(void* context) {
      auto* counted = static_cast<Counted*>(context);
      {
        const std::lock_guard<std::mutex> lock(counted->memory->mutex_);
        counted->memory->of(counted->device).live_bytes -= counted->bytes;
      }
      delete counted;
    }
  };
  // A device without an index is the first.
  FakeTensorMode::Memory& of(Device device) {
    return memory_[{device.type(), device.has_index() ? device.index() : DeviceIndex{0}}];
  }

  std::mutex mutex_;
  std::map<std::pair<DeviceType, DeviceIndex>, FakeTensorMode::Memory> memory_;
  std::unordered_map<const c10::StorageImpl*, std::pair<Weak, Weak>> stand_ins_;
};

}  // namespace detail

namespace {

using c10::IValue;
using c10::Stack;
using detail::FakeMemory;
using MemoryPtr = c10::intrusive_ptr<FakeMemory>;

enum class Needs { kNothing, kNumber, kShape };

// Operators whose result needs elements: some always, some for some arguments, where their shape rules then throw
// NotImplementedError.
Needs needs_elements(std::string_view name) {
  constexpr std::string_view kNumbers[] = {"aten::_local_scalar_dense", "aten::allclose", "aten::equal",
                                           "aten::is_nonzero", "aten::item"};
  constexpr std::string_view kShapes[] = {"aten::_ctc_loss",
                                          "aten::_padded_dense_to_jagged_forward",
                                          "aten::_reshape_from_tensor",
                                          "aten::_unique",
                                          "aten::_unique2",
                                          "aten::argwhere",
                                          "aten::bincount",
                                          "aten::index",
                                          "aten::masked_select",
                                          "aten::nonzero",
                                          "aten::nonzero_numpy",
                                          "aten::one_hot",
                                          "aten::repeat_interleave",
                                          "aten::unique_consecutive",
                                          "aten::unique_dim",
                                          "aten::unique_dim_consecutive"};
  if (std::find(std::begin(kNumbers), std::end(kNumbers), name) != std::end(kNumbers)) return Needs::kNumber;
  if (std::find(std::begin(kShapes), std::end(kShapes), name) != std::end(kShapes)) return Needs::kShape;
  return Needs::kNothing;
}

// Operators that take tensors of several devices; the result is on the first one's.
bool mixes_devices(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "aten::_copy_from", "aten::_index_put_impl_", "aten::_to_copy",   "aten::copy",       "aten::copy_",
      "aten::index",      "aten::index_put",        "aten::index_put_", "aten::resize_as_", "aten::set_"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

template <class F>
void for_each_tensor(c10::ArrayRef<IValue> values, const F& f) {
  for (const IValue& value : values) {
    if (value.isTensor()) {
      const Tensor tensor = value.toTensor();
      if (tensor.defined()) f(tensor);
    } else if (value.isList()) {
      for_each_tensor(value.toListRef(), f);
    }
  }
}

const FakeTensorImpl* fake_of(const TensorBase& tensor) {
  return wrapper_of<FakeTensorImpl>(tensor);
}

Tensor fake(const Tensor& meta, Device device, const MemoryPtr& memory) {
  return Tensor(c10::make_intrusive<FakeTensorImpl>(meta, device, memory));
}

Tensor from_real(const Tensor& tensor, Device device, const MemoryPtr& memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == Layout::Strided && tensor.has_storage() && !tensor.is_quantized(),
                              "FakeTensorMode: only dense tensors become fake tensors, got one with layout ",
                              tensor.layout());
  const c10::TensorImpl& real = *tensor.unsafeGetTensorImpl();
  const Tensor meta(c10::make_intrusive<c10::TensorImpl>(memory->stand_in(real.storage()), tensor.scalar_type(),
                                                         Device(kMeta), tensor.sizes(), tensor.strides(),
                                                         tensor.storage_offset()));
  Tensor result = fake(meta, device, memory);
  result.unsafeGetTensorImpl()->set_wrapped_number(real.is_wrapped_number());
  return result;
}

// The device of what an operator makes of tensors.
class CommonDevice {
 public:
  explicit CommonDevice(const c10::OperatorHandle& op) : op_(op) {}
  void add(const Tensor& tensor) {
    const Device device = tensor.device();
    const bool is_number = device.is_cpu() && tensor.dim() == 0;
    if (!device_.has_value() || (is_number_ && !is_number)) {
      device_ = device;
      is_number_ = is_number;
      return;
    }
    const std::string name = op_.operator_name().name;
    TORCH_CHECK(is_number || *device_ == device || mixes_devices(name),
                "FakeTensorMode: ", toString(op_.operator_name()),
                ": expected all tensors on one device, found two different devices, ", *device_, " and ", device);
  }
  std::optional<Device> get() const { return device_; }

 private:
  const c10::OperatorHandle& op_;
  std::optional<Device> device_;
  bool is_number_ = false;
};

// Calls `op` for tensors of the Meta device in place of the fake ones on the stack.
void call(const c10::OperatorHandle& op, Stack* stack, const MemoryPtr& memory) {
  CommonDevice common(op);
  for_each_tensor(*stack, [&](const Tensor& tensor) {
    const FakeTensorImpl* impl = fake_of(tensor);
    if (impl == nullptr) {
      const bool is_number = tensor.is_cpu() && tensor.dim() == 0;
      TORCH_CHECK(is_number || memory->allow_non_fake_inputs, "FakeTensorMode: ", toString(op.operator_name()),
                  ": a tensor of sizes ", tensor.sizes(), " on ", tensor.device(),
                  " is not fake; convert it with "
                  "FakeTensorMode::from_tensor(), or make the mode with allow_non_fake_inputs");
    } else {
      TORCH_CHECK(impl->memory() == memory, "FakeTensorMode: ", toString(op.operator_name()),
                  ": the tensors are of two modes");
    }
    common.add(tensor);
  });

  std::optional<Device> device;
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size() && i < stack->size(); ++i) {
    IValue& value = (*stack)[i];
    if (value.isDevice()) {
      device = value.toDevice();
      value = Device(kMeta);
    } else if (arguments[i].name() == "device" && !common.get().has_value()) {
      value = Device(kMeta);
    } else if (arguments[i].name() == "pin_memory") {
      value = IValue();
    }
  }
  if (!device.has_value()) device = common.get().value_or(Device(kCPU));
  if (!device->is_cpu() && !device->is_meta() && !device->has_index()) device->set_index(0);

  const Stack before = *stack;
  transform_tensors(*stack, [&](const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    const FakeTensorImpl* impl = fake_of(tensor);
    return impl != nullptr ? impl->meta() : fake_of(from_real(tensor, tensor.device(), memory))->meta();
  });
  try {
    op.callBoxed(*stack);
  } catch (const c10::NotImplementedError& e) {
    const std::string name = op.operator_name().name;
    const Needs needs = needs_elements(name);
    if (needs == Needs::kNothing) throw;
    const std::string message = c10::str("FakeTensorMode: ", toString(op.operator_name()),
                                         " needs the elements of a "
                                         "tensor, and a fake tensor has none (",
                                         e.msg(), ")");
    if (needs == Needs::kNumber) throw DataDependentOutputException(message, nullptr);
    throw DynamicOutputShapeException(message, nullptr);
  }
  transform_tensors(*stack, [&](const Tensor& meta) { return meta.defined() ? fake(meta, *device, memory) : meta; });
  // Tensors that were resized.
  for (size_t i = 0; i < arguments.size() && i < before.size(); ++i) {
    if (!arguments[i].is_write()) continue;
    for_each_tensor(c10::ArrayRef<IValue>(&before[i], 1), [&](const Tensor& written) {
      const FakeTensorImpl* impl = fake_of(written);
      if (impl == nullptr || (impl->sizes() == impl->meta().sizes() && impl->strides() == impl->meta().strides()))
        return;
      written.unsafeGetTensorImpl()->set_sizes_and_strides(impl->meta().sizes(), impl->meta().strides());
      written.unsafeGetTensorImpl()->set_storage_offset(impl->meta().storage_offset());
    });
  }
}

}  // namespace

// --- FakeTensorImpl ---

FakeTensorImpl::FakeTensorImpl(Tensor meta, Device device, MemoryPtr memory)
    : WrapperTensorImpl(meta.scalar_type(), device, meta.sizes(), meta.strides()),
      meta_(std::move(meta)),
      memory_(std::move(memory)) {
  set_storage_offset(meta_.storage_offset());
  if (meta_.has_storage()) memory_->count(*meta_.storage().unsafeGetStorageImpl(), device);
  registry::link_all_operators();
}
FakeTensorImpl::~FakeTensorImpl() = default;

void FakeTensorImpl::handle(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) const {
  call(op, stack, MemoryPtr(memory_));
}

c10::intrusive_ptr<c10::TensorImpl> FakeTensorImpl::shallow_copy() const {
  auto copy =
      c10::make_intrusive<FakeTensorImpl>(Tensor(meta_.unsafeGetTensorImpl()->shallow_copy()), device(), memory_);
  copy->copy_metadata_from(*this);
  return copy;
}

void FakeTensorImpl::shallow_copy_from(const c10::TensorImpl& other) {
  WrapperTensorImpl::shallow_copy_from(other);
  const auto& from = static_cast<const FakeTensorImpl&>(other);
  meta_ = from.meta_;
  memory_ = from.memory_;
}

bool is_fake(const TensorBase& tensor) {
  return fake_of(tensor) != nullptr;
}

// --- FakeTensorMode ---

FakeTensorMode::FakeTensorMode(bool allow_non_fake_inputs)
    : memory_(c10::make_intrusive<FakeMemory>(allow_non_fake_inputs)) {
  registry::link_all_operators();
}
FakeTensorMode::~FakeTensorMode() = default;

Tensor FakeTensorMode::from_tensor(const Tensor& tensor, std::optional<Device> device) {
  TORCH_CHECK(tensor.defined(), "FakeTensorMode::from_tensor: expected a defined tensor");
  if (is_fake(tensor)) return tensor;
  Tensor result = from_real(tensor, device.value_or(tensor.device()), memory_);
  if (tensor.requires_grad()) result.set_requires_grad(true);
  return result;
}

FakeTensorMode::Memory FakeTensorMode::memory(Device device) const {
  return memory_->memory(device);
}
void FakeTensorMode::reset_peak(Device device) {
  memory_->reset_peak(device);
}

void FakeTensorMode::handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  bool any_fake = false, any = false;
  for_each_tensor(*stack, [&](const Tensor& tensor) {
    any_fake |= is_fake(tensor);
    any = true;
  });
  // Fake tensors have a handler of their own, which keeps views and what is written to. What real tensors alone
  // compute, the literals of a program, is computed.
  const bool stays_real = any && (!memory_->allow_non_fake_inputs || op.schema().is_mutable());
  if (any_fake || stays_real) return op.redispatchBoxed(keys, stack);
  call(op, stack, memory_);
}

}  // namespace at
