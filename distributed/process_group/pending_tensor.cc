#include "distributed/process_group/pending_tensor.h"

#include <utility>
#include <vector>

#include "c10/util/exception.h"

namespace at::registry {
void link_all_operators();  // of //aten/ops:all_operators
}

namespace c10d {

using at::Tensor;

namespace {

// A second handle to the same data and versions, in no graph.
Tensor handle_to(const Tensor& t) {
  return Tensor(t.unsafeGetTensorImpl()->shallow_copy());
}

bool gives_views(const c10::OperatorHandle& op) {
  const auto& returns = op.schema().returns();
  return op.op().kernels == c10::Kernels::kAny && !returns.empty() && !returns[0].alias().empty() &&
         !returns[0].is_write();
}

}  // namespace

// Shared by all tensors over the memory that it writes.
class PendingTensor::Operation final : public c10::intrusive_ptr_target {
 public:
  Operation(const char* name, c10::intrusive_ptr<Work> work, const Tensor& input)
      : name_(name),
        work_(std::move(work)),
        input_(input.defined() ? handle_to(input) : input),
        version_(input.defined() ? version_of(input) : 0) {}

  // Every time: what a device computes next must come after it on whichever stream is current.
  void wait() {
    work_->wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!input_.defined()) return;
    TORCH_CHECK(version_of(input_) == version_, name_,
                ": the input was modified by an inplace operation before the result was used; use the result, or call "
                "wait_tensor() for it, first");
    input_.reset();
  }

 private:
  static uint32_t version_of(const Tensor& t) { return t.unsafeGetTensorImpl()->version(); }

  const char* const name_;
  const c10::intrusive_ptr<Work> work_;
  std::mutex mutex_;
  Tensor input_;
  const uint32_t version_;
};

PendingTensor::PendingTensor(Tensor tensor, c10::intrusive_ptr<Operation> operation)
    : WrapperTensorImpl(tensor), tensor_(std::move(tensor)), operation_(std::move(operation)) {
  // Not the storage's, in which the operation may count: on another thread, at any time.
  c10::TensorImpl& impl = *tensor_.unsafeGetTensorImpl();
  if (impl.own_version()) {
    set_version_counter(impl.own_version());
  } else {
    impl.set_version_counter(own_version());
  }
}

const Tensor& PendingTensor::wait() const {
  operation_->wait();
  return tensor_;
}

void PendingTensor::attach_storage() {
  if (!has_storage()) set_storage(tensor_.unsafeGetTensorImpl()->storage());
}

c10::intrusive_ptr<PendingTensor> PendingTensor::another(Tensor tensor) const {
  auto other = c10::make_intrusive<PendingTensor>(std::move(tensor), operation_);
  if (has_storage()) other->attach_storage();
  return other;
}

void PendingTensor::handle(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) const {
  const auto call = [&](c10::Stack& arguments, bool waits) {
    bool has_others = false;
    at::transform_tensors(arguments, [&](const Tensor& t) -> Tensor {
      if (const auto* pending = at::wrapper_of<PendingTensor>(t)) return waits ? pending->wait() : pending->tensor_;
      has_others = has_others || at::wrapper_of(t) != nullptr;
      return t;
    });
    op.redispatchBoxed(has_others ? keys.add(c10::DispatchKey::Wrapper) : keys, &arguments);
  };
  if (gives_views(op)) {
    c10::Stack views = *stack;
    call(views, /*waits=*/false);
    bool all_views = true;
    at::transform_tensors(views, [&](const Tensor& t) -> Tensor {
      all_views = all_views && t.unsafeGetTensorImpl()->storage() == tensor_.unsafeGetTensorImpl()->storage();
      return all_views ? Tensor(another(handle_to(t))) : t;
    });
    if (all_views) {
      *stack = std::move(views);
      return;
    }
  }
  std::vector<Tensor> written;
  for (size_t i = 0; op.schema().is_mutable() && i < op.schema().arguments().size(); ++i) {
    const c10::IValue& value = (*stack)[i];
    if (op.schema().arguments()[i].is_write() && value.isTensor() && at::wrapper_of<PendingTensor>(value.toTensor())) {
      written.push_back(value.toTensor());
    }
  }
  call(*stack, /*waits=*/true);
  for (const Tensor& t : written) {
    auto& pending = static_cast<PendingTensor&>(*t.unsafeGetTensorImpl());
    const c10::TensorImpl& now = *pending.tensor_.unsafeGetTensorImpl();
    pending.set_sizes_and_strides(now.sizes(), now.strides());
    pending.set_storage_offset(now.storage_offset());
    if (pending.has_storage()) pending.set_storage(now.storage());
  }
}

c10::intrusive_ptr<c10::TensorImpl> PendingTensor::shallow_copy() const {
  auto copy = another(handle_to(tensor_));
  copy->copy_metadata_from(*this);
  return copy;
}

void PendingTensor::shallow_copy_from(const c10::TensorImpl& other) {
  WrapperTensorImpl::shallow_copy_from(other);
  const auto& from = static_cast<const PendingTensor&>(other);
  tensor_ = handle_to(from.tensor_);
  operation_ = from.operation_;
}

Tensor pending_tensor(const char* name, const Tensor& result, c10::intrusive_ptr<Work> work, const Tensor& input) {
  TORCH_CHECK(at::wrapper_of(result) == nullptr, name, ": the result must be a plain tensor");
  at::registry::link_all_operators();
  auto operation = c10::make_intrusive<PendingTensor::Operation>(name, std::move(work), input);
  return Tensor(c10::make_intrusive<PendingTensor>(handle_to(result), std::move(operation)));
}

Tensor waited_tensor(const Tensor& tensor) {
  const auto* pending = at::wrapper_of<PendingTensor>(tensor);
  return pending != nullptr ? handle_to(pending->wait()) : tensor;
}

}  // namespace c10d
