#include "aten/autocast/casts.h"

#include <mutex>
#include <unordered_map>

#include "aten/autocast/autocast_mode.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"

namespace torch::autograd {
// Of //autograd, which whoever has tensors that require a gradient links.
[[gnu::weak]] bool is_leaf_with_gradient(const c10::TensorImpl& t);
}  // namespace torch::autograd

namespace at::autocast {
namespace {

// A cast, and the weight it was made of: alive or not, its address is not another's while it is referred to.
struct KeptCast {
  c10::weak_intrusive_ptr<c10::TensorImpl> weight;
  int64_t version;
  bool recorded;
  Tensor cast;
};

std::mutex casts_mutex;

std::unordered_map<const c10::TensorImpl*, KeptCast>& casts() {
  static auto* casts = new std::unordered_map<const c10::TensorImpl*, KeptCast>;
  return *casts;
}

bool is_cast(const Tensor& t, DeviceType device) {
  return t.defined() && is_autocast_eligible(t, device) && t.scalar_type() != kDouble;
}

bool is_kept(const Tensor& t, ScalarType to, DeviceType device) {
  return is_autocast_cache_enabled() && t.scalar_type() == kFloat && t.requires_grad() && !t.is_view() &&
         to == get_autocast_dtype(device) && torch::autograd::is_leaf_with_gradient != nullptr &&
         torch::autograd::is_leaf_with_gradient(*t.unsafeGetTensorImpl());
}

Tensor kept_cast(const Tensor& weight, ScalarType to) {
  const bool recorded = c10::GradMode::is_enabled();
  const int64_t version = weight._version();
  {
    const std::lock_guard<std::mutex> lock(casts_mutex);
    const auto found = casts().find(weight.unsafeGetTensorImpl());
    if (found != casts().end()) {
      const KeptCast& kept = found->second;
      if (kept.version == version && kept.recorded == recorded && kept.cast.scalar_type() == to) return kept.cast;
    }
  }
  Tensor cast = at::to(weight, to);
  const std::lock_guard<std::mutex> lock(casts_mutex);
  casts()[weight.unsafeGetTensorImpl()] =
      KeptCast{c10::weak_intrusive_ptr<c10::TensorImpl>(weight.getIntrusivePtr()), version, recorded, cast};
  return cast;
}

}  // namespace

void clear_cache() {
  std::unordered_map<const c10::TensorImpl*, KeptCast> dropped;
  const std::lock_guard<std::mutex> lock(casts_mutex);
  dropped.swap(casts());
}

bool is_autocast_eligible(const Tensor& tensor, DeviceType device_type) {
  return tensor.device().type() == device_type && tensor.is_floating_point();
}

Tensor cached_cast(ScalarType to_type, const Tensor& arg, DeviceType device_type) {
  if (!is_cast(arg, device_type) || arg.scalar_type() == to_type) return arg;
  return is_kept(arg, to_type, device_type) ? kept_cast(arg, to_type) : at::to(arg, to_type);
}

std::optional<Tensor> cached_cast(ScalarType to_type, const std::optional<Tensor>& arg, DeviceType device_type) {
  if (!arg.has_value()) return std::nullopt;
  return cached_cast(to_type, *arg, device_type);
}

std::vector<Tensor> cached_cast(ScalarType to_type, TensorList arg, DeviceType device_type) {
  std::vector<Tensor> result;
  result.reserve(arg.size());
  for (const Tensor& t : arg) result.push_back(cached_cast(to_type, t, device_type));
  return result;
}

Casts::Casts(DeviceType device, ScalarType type)
    : below_(get_autocast_dispatch_key_from_device_type(device)), device_(device), type_(type) {}

Casts Casts::lower_precision(DeviceType device) {
  return Casts(device, get_autocast_dtype(device));
}

Tensor Casts::operator()(const Tensor& t) const {
  return cached_cast(type_, t, device_);
}
std::optional<Tensor> Casts::operator()(const std::optional<Tensor>& t) const {
  return cached_cast(type_, t, device_);
}
std::vector<Tensor> Casts::operator()(TensorList tensors) const {
  return cached_cast(type_, tensors, device_);
}

ScalarType Casts::type_for(const Tensor& first) const {
  return is_cast(first, device_) ? type_ : first.scalar_type();
}

std::optional<ScalarType> Casts::or_type(std::optional<ScalarType> given, const Tensor& first) const {
  if (given.has_value() || !is_cast(first, device_)) return given;
  return type_;
}

Casts::Widest::Widest(DeviceType of) : device(of), type(get_autocast_dtype(of)) {}

void Casts::Widest::add(const Tensor& t) {
  if (!is_cast(t, device)) return;
  if (t.scalar_type() == kFloat) type = kFloat;
  TORCH_CHECK(type == kFloat || t.scalar_type() == type, "Unexpected floating ScalarType in at::autocast::prioritize");
}

void Casts::Widest::add(const std::optional<Tensor>& t) {
  if (t.has_value()) add(*t);
}

void Casts::Widest::add(TensorList tensors) {
  for (const Tensor& t : tensors) add(t);
}

void throw_banned(const char* op) {
  TORCH_CHECK(false, "torch.nn.functional.", op, " and torch.nn.BCELoss are unsafe to autocast.\n",
              "Many models use a sigmoid layer right before the binary cross entropy layer.\n",
              "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n",
              "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n",
              "safe to autocast.");
}

}  // namespace at::autocast
