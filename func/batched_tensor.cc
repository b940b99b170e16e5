#include "func/batched_tensor.h"

#include <atomic>
#include <utility>

#include "aten/ops/copy/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/compute_dispatch_key.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "func/batching.h"

namespace torch::func {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::DispatchKeySet;

thread_local const VmapLevel* g_level = nullptr;

// The sizes or strides of a sample.
c10::DimVector without(at::IntArrayRef all, int64_t dim) {
  c10::DimVector rest;
  for (size_t d = 0; d < all.size(); ++d) {
    if (static_cast<int64_t>(d) != dim) rest.push_back(all[d]);
  }
  return rest;
}

void include_key(bool on) {
  c10::ThreadState& thread = c10::thread_state();
  thread.included =
      on ? thread.included.add(DispatchKey::FuncTorchBatched) : thread.included.remove(DispatchKey::FuncTorchBatched);
}

int64_t next_id() {
  static std::atomic<int64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Randomness randomness_of(std::string_view text) {
  if (text == "error") return Randomness::kError;
  if (text == "different") return Randomness::kDifferent;
  TORCH_CHECK(text == "same", "Only allowed values for randomness are 'error', 'different', or 'same'. Got ", text);
  return Randomness::kSame;
}

const VmapLevel* current_level() {
  return g_level;
}

AtLevel::AtLevel(const VmapLevel* level)
    : before_(g_level), was_included_(c10::thread_state().included.has(DispatchKey::FuncTorchBatched)) {
  g_level = level;
  include_key(level != nullptr);
}
AtLevel::~AtLevel() {
  g_level = before_;
  include_key(was_included_);
}

NewLevel::NewLevel(int64_t batch_size, Randomness randomness)
    : level_{next_id(), batch_size, randomness, g_level}, at_(&level_) {
  detail::install_batching();
}

BatchedTensorImpl::BatchedTensorImpl(Tensor value, int64_t batch_dim, int64_t level)
    : TensorImpl(c10::backend_key_set(value.device()).add(DispatchKey::FuncTorchBatched), value.scalar_type(),
                 value.device(), value.layout(), without(value.sizes(), batch_dim),
                 without(value.strides(), batch_dim)),
      value_(std::move(value)),
      batch_dim_(batch_dim),
      level_(level) {
  set_storage_offset(value_.storage_offset());
}

void BatchedTensorImpl::replace(Tensor value, int64_t batch_dim) {
  value_ = std::move(value);
  batch_dim_ = batch_dim;
  set_sizes_and_strides(without(value_.sizes(), batch_dim), without(value_.strides(), batch_dim));
  set_storage_offset(value_.storage_offset());
  set_dtype(value_.scalar_type());
}

c10::intrusive_ptr<c10::TensorImpl> BatchedTensorImpl::shallow_copy() const {
  auto copy = c10::make_intrusive<BatchedTensorImpl>(value_, batch_dim_, level_);
  copy->copy_metadata_from(*this);
  return copy;
}

void BatchedTensorImpl::shallow_copy_from(const TensorImpl& other) {
  const auto* batched = dynamic_cast<const BatchedTensorImpl*>(&other);
  TORCH_CHECK(batched != nullptr && batched->level_ == level_,
              "the data of a tensor inside vmap can only become that of "
              "another tensor that is batched by the same vmap");
  replace(batched->value_, batched->batch_dim_);
}

BatchedTensorImpl* batched_of(const at::TensorBase& tensor) {
  if (!tensor.defined() || !tensor.key_set().has(DispatchKey::FuncTorchBatched)) return nullptr;
  return static_cast<BatchedTensorImpl*>(tensor.unsafeGetTensorImpl());
}
BatchedTensorImpl* batched_of(const at::TensorBase& tensor, const VmapLevel& level) {
  BatchedTensorImpl* batched = batched_of(tensor);
  return batched != nullptr && batched->level() == level.id ? batched : nullptr;
}

Tensor make_batched(Tensor value, int64_t dim, const VmapLevel& level) {
  TORCH_CHECK(value.layout() == at::kStrided && !value.is_quantized(),
              "vmap: only strided tensors can be batched, got one of layout ", value.layout());
  return Tensor(c10::make_intrusive<BatchedTensorImpl>(std::move(value), dim, level.id));
}

Tensor samples_first(const Tensor& tensor, const VmapLevel& level) {
  const BatchedTensorImpl* batched = batched_of(tensor, level);
  if (batched == nullptr) return tensor;
  return batched->batch_dim() == 0 ? batched->value() : at::movedim(batched->value(), batched->batch_dim(), 0);
}

Tensor batched_everywhere(const Tensor& tensor) {
  const VmapLevel* level = current_level();
  if (level == nullptr) return tensor;
  const AtLevel outside(level->outer);
  const BatchedTensorImpl* batched = batched_of(tensor, *level);
  if (batched != nullptr) return make_batched(batched_everywhere(batched->value()), batched->batch_dim(), *level);
  const Tensor outer = batched_everywhere(tensor);
  c10::DimVector sizes{level->batch_size};
  sizes.insert(sizes.end(), outer.sizes().begin(), outer.sizes().end());
  return make_batched(at::clone(at::expand(outer, sizes), at::MemoryFormat::Contiguous), 0, *level);
}

Tensor physical_of(const Tensor& tensor) {
  const BatchedTensorImpl* batched = batched_of(tensor);
  return batched == nullptr ? tensor : physical_of(batched->value());
}

Tensor batched_like(const Tensor& like, Tensor physical) {
  const BatchedTensorImpl* batched = batched_of(like);
  if (batched == nullptr) return physical;
  return Tensor(c10::make_intrusive<BatchedTensorImpl>(batched_like(batched->value(), std::move(physical)),
                                                       batched->batch_dim(), batched->level()));
}

}  // namespace torch::func
