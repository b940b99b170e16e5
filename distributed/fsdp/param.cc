#include "distributed/fsdp/param.h"

#include <algorithm>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/hooks.h"
#include "autograd/engine/node_extras.h"
#include "c10/core/grad_mode.h"
#include "c10/core/memory_format.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/redistribute.h"
#include "nn/module/hook_lists.h"
#include "nn/module/module_access.h"

namespace torch::distributed::fsdp::detail {
namespace {

using at::Tensor;
using tensor::DeviceMesh;
using tensor::piece_of;
using tensor::Spec;
using tensor::SpecPtr;

bool is_cut(const Placement& placement) {
  return placement.is_shard() || placement.is_strided_shard();
}

// Where the module keeps the parameter besides its list; null: nowhere.
Tensor* member_of(const Place& place) {
  const nn::detail::ModuleHooks* const hooks = nn::detail::hooks_of(*place.module);
  if (hooks != nullptr && std::find(hooks->without_member.begin(), hooks->without_member.end(), place.name) !=
                              hooks->without_member.end()) {
    return nullptr;
  }
  return &nn::tensor_member(*place.module, place.name);
}

// The mesh of both, along all dimensions of the first and then of the second.
DeviceMesh joined(const std::string& name, const DeviceMesh& data, const DeviceMesh& parallel) {
  const DeviceMesh root = data.root();
  TORCH_CHECK_VALUE(root == parallel.root() && !root.mesh_dim_names().empty(), "fully_shard: the parameter `", name,
                    "` lies on ", parallel.str(), ", which is not a slice by name of the mesh that ", data.str(),
                    " is a slice of");
  std::vector<std::string> names = data.mesh_dim_names();
  for (const std::string& other : parallel.mesh_dim_names()) {
    TORCH_CHECK_VALUE(std::find(names.begin(), names.end(), other) == names.end(), "fully_shard: the parameter `", name,
                      "` is distributed along '", other, "' already");
    names.push_back(other);
  }
  return root.slice(names);
}

}  // namespace

std::vector<Placement> Ranks::placements(const Placement& of_shard) const {
  std::vector<Placement> result;
  if (replicate) result.emplace_back();
  if (shard) result.push_back(of_shard);
  return result;
}

void Ranks::abort(const std::string& reason) const {
  for (const GroupPtr& group : {shard, replicate}) {
    if (group) group->abort(reason);
  }
}

Param::Param(std::vector<Place> places, std::string name, const Tensor& whole, const Ranks& ranks,
             const std::optional<Shard>& placement, const FullyShardOptions& options)
    : places_(std::move(places)),
      name_(std::move(name)),
      param_dtype_(options.mp_policy().param_dtype()),
      offloads_(std::holds_alternative<CPUOffloadPolicy>(options.offload_policy())),
      original_(whole.getIntrusivePtr()),
      compute_device_(whole.device()) {
  const c10::NoGradGuard no_grad;
  for (const Place& place : places_) member_of(place);
  TORCH_CHECK_VALUE(whole.dim() > 0, "fully_shard: the parameter `", name_,
                    "` has no dimensions, and cannot be sharded; make it a tensor of one element");
  TORCH_CHECK_NOT_IMPLEMENTED(whole.layout() == c10::kStrided, "fully_shard: the parameter `", name_, "` is sparse");
  TORCH_CHECK_NOT_IMPLEMENTED(whole.is_contiguous(), "fully_shard: the parameter `", name_,
                              "` is not contiguous: its sizes are ", whole.sizes(), ", its strides ", whole.strides());
  dim_ = placement ? placement->dim() : 0;
  TORCH_CHECK_VALUE(dim_ >= -whole.dim() && dim_ < whole.dim(), "fully_shard: shard_placement_fn wants the parameter `",
                    name_, "` of sizes ", whole.sizes(), " sharded along dimension ", dim_);
  if (dim_ < 0) dim_ += whole.dim();

  Placement of_shard = Shard(dim_);
  DeviceMesh mesh = ranks.mesh;
  std::vector<Placement> more;
  int64_t layers = 1;  // that lie side by side along the dimension, of each of which this rank has a part
  Tensor local = whole.detach();
  if (const tensor::DTensorImpl* impl = tensor::detail::impl_of(whole)) {
    parallel_ = impl->spec();
    local = impl->local().detach();
    mesh = joined(name_, ranks.mesh, parallel_->mesh());
    more = parallel_->placements();
    int64_t factor = 1;
    size_t cuts = 0;
    for (size_t i = 0; i < more.size(); ++i) {
      TORCH_CHECK_VALUE(!more[i].is_partial(), "fully_shard: the parameter `", name_, "` is ", more[i].str());
      if (!is_cut(more[i]) || more[i].dim() != dim_) continue;
      ++cuts;
      factor *= parallel_->mesh().size(static_cast<int64_t>(i));
      if (more[i].is_strided_shard()) layers = more[i].split_factor();
    }
    TORCH_CHECK_NOT_IMPLEMENTED(layers == 1 || cuts == 1, "fully_shard: dimension ", dim_,
                                " of the tensor-parallel parameter `", name_, "` is cut more than once, as ",
                                torch::distributed::str(more));
    factor *= layers;
    if (factor > 1) {
      of_shard = StridedShard(dim_, factor);
      TORCH_CHECK_NOT_IMPLEMENTED(whole.size(dim_) % (factor * ranks.parts()) == 0, "fully_shard: dimension ", dim_,
                                  " of the tensor-parallel parameter `", name_, "` has ", whole.size(dim_),
                                  " elements, which ", factor, " times ", ranks.parts(), " ranks do not divide");
    }
  }
  sizes_ = local.sizes().vec();
  TORCH_CHECK_VALUE(dim_ == 0 || rows() % ranks.parts() == 0, "fully_shard: dimension ", dim_, " of the parameter `",
                    name_, "` of sizes ", at::IntArrayRef(sizes_), " is sharded, but not divided evenly by ",
                    ranks.parts(), " ranks; only the first dimension need not be");

  std::vector<Placement> placements = ranks.placements(of_shard);
  placements.insert(placements.end(), more.begin(), more.end());
  const auto spec = c10::make_intrusive<Spec>(mesh, std::move(placements), whole.sizes(),
                                              c10::contiguous_strides(whole.sizes()), whole.scalar_type());
  if (layers > 1) {
    sizes_[static_cast<size_t>(dim_)] /= layers;
    sizes_.insert(sizes_.begin() + dim_, layers);
    ++dim_;
  }
  Tensor shard = at::view(at::clone(piece_in(local, ranks.parts(), ranks.index()), at::MemoryFormat::Contiguous),
                          spec->local_sizes());
  if (offloads_ && !shard.is_cpu() && !shard.is_meta()) {
    shard = shard.to(c10::kCPU);
    if (std::get<CPUOffloadPolicy>(options.offload_policy()).pin_memory()) shard = shard.pin_memory();
  }
  sharded_ = tensor::detail::wrap(std::move(shard), spec);
  sharded_.set_requires_grad(whole.requires_grad());
}

bool Param::was(const Tensor& t) const {
  const auto original = original_.lock();
  return original && original.get() == t.unsafeGetTensorImpl();
}

at::ScalarType Param::gathered_dtype() const {
  return param_dtype_ && !own_precision_ && c10::isFloatingType(dtype()) ? *param_dtype_ : dtype();
}

void Param::use(const Tensor& t) {
  for (const Place& place : places_) {
    nn::ModuleAccess::parameters(*place.module)[place.name] = t;
    if (Tensor* const member = member_of(place)) *member = t;
  }
}

void Param::use_whole() {
  whole_.set_requires_grad(sharded_.requires_grad());
  use(whole_);
}

// --- memory ---

void Param::allocate() {
  if (compute_device_.type() == c10::DeviceType::Meta) compute_device_ = sharded_.device();
  if (!whole_.defined() || whole_.scalar_type() != gathered_dtype()) {
    const c10::NoGradGuard no_grad;
    // The gradient has another dtype than the new leaf.
    kept_ = take_gradient(std::nullopt);
    memory_ = at::empty({0}, at::TensorOptions().dtype(gathered_dtype()).device(compute_device_));
    memory_.unsafeGetTensorImpl()->set_sizes_contiguous(parallel_ ? parallel_->local_sizes() : sizes_);
    if (parallel_) {
      const auto spec = c10::make_intrusive<Spec>(parallel_->mesh(), parallel_->placements(), parallel_->sizes(),
                                                  parallel_->strides(), gathered_dtype());
      whole_ = tensor::detail::wrap(memory_, spec);
    } else {
      whole_ = memory_.detach();
    }
    is_watched_ = false;
    memory_uses_ = memory_.use_count();
    storage_uses_ = memory_.unsafeGetTensorImpl()->storage().use_count();
  }
  memory_.storage().unsafeGetStorageImpl()->resize(static_cast<size_t>(memory_.numel()) * memory_.element_size());
}

void Param::free() {
  if (memory_.defined()) memory_.storage().unsafeGetStorageImpl()->resize(0);
}

void Param::watch_gradient(std::function<void()> then) {
  if (is_watched_ || !whole_.requires_grad()) return;
  torch::autograd::register_post_accumulate_grad_hook(whole_, [then = std::move(then)](const Tensor&) { then(); });
  is_watched_ = true;
}

bool Param::is_held(size_t handles) const {
  size_t own = 1 + handles;
  for (const Place& place : places_) {
    auto& parameters = nn::ModuleAccess::parameters(*place.module);
    if (parameters[place.name].is_same(whole_)) ++own;
    const Tensor* const member = member_of(place);
    if (member != nullptr && member->is_same(whole_)) ++own;
  }
  return whole_.use_count() > own || memory_.use_count() > memory_uses_ ||
         memory_.unsafeGetTensorImpl()->storage().use_count() > storage_uses_;
}

// --- slots ---

int64_t Param::row_numel() const {
  int64_t numel = 1;
  for (size_t d = 0; d < sizes_.size(); ++d) numel *= static_cast<int64_t>(d) == dim_ ? 1 : sizes_[d];
  return numel;
}

// The rows of one of `parts` ranks.
Tensor Param::piece_in(const Tensor& whole, int64_t parts, int64_t index) const {
  const tensor::Piece piece = piece_of(rows(), parts, index);
  return at::narrow(at::view(whole, sizes_), dim_, piece.offset, piece.size);
}

int64_t Param::slot_numel(int64_t parts) const {
  return piece_of(rows(), parts, 0).size * row_numel();
}

Tensor Param::in_slots(const Tensor& t, int64_t parts) const {
  return at::view(at::contiguous(t), {parts, slot_numel(parts)});
}

Tensor Param::own_slot() const {
  const Tensor& local = tensor::detail::impl_of(sharded_)->local();
  const bool is_sent = local.scalar_type() == gathered_dtype() && local.device() == compute_device_;
  return is_sent ? at::view(local, {local.numel()}) : Tensor();
}

Tensor Param::shard_in(const Tensor& slot) const {
  const Tensor& local = tensor::detail::impl_of(sharded_)->local();
  return at::view(at::narrow(slot, 0, 0, local.numel()), local.sizes());
}

void Param::put_shard(const Tensor& slot) const {
  Tensor mine = shard_in(slot);
  mine.copy_(tensor::detail::impl_of(sharded_)->local());
  Tensor rest = at::narrow(slot, 0, mine.numel(), slot.numel() - mine.numel());
  if (rest.numel() > 0) rest.zero_();
}

void Param::put_part(const Tensor& slot, int64_t parts, int64_t index) const {
  const Tensor part = piece_in(memory_, parts, index);
  at::view(at::narrow(slot, 0, 0, part.numel()), part.sizes()).copy_(part);
  Tensor rest = at::narrow(slot, 0, part.numel(), slot.numel() - part.numel());
  if (rest.numel() > 0) rest.zero_();
}

// Calls copy(rows of the whole, their place in the slots) for all parts that have c rows, together, and for the one
// that has fewer.
template <class Copy>
void Param::each_part(const Tensor& whole, const Tensor& slots, const Copy& copy) const {
  const int64_t c = piece_of(rows(), slots.size(0), 0).size;
  if (c == 0) return;
  const int64_t full = rows() / c, rest = rows() - full * c;
  std::vector<int64_t> part = sizes_, split = sizes_;
  part[static_cast<size_t>(dim_)] = split[static_cast<size_t>(dim_)] = c;
  part.insert(part.begin(), full);
  split.insert(split.begin() + dim_, full);
  const Tensor all = at::view(whole, sizes_);
  const Tensor parts = at::view(at::narrow(all, dim_, 0, full * c), split);
  copy(at::movedim(parts, dim_, 0), at::view(at::narrow(slots, 0, 0, full), part));
  if (rest == 0) return;
  const Tensor last = at::narrow(all, dim_, full * c, rest);
  copy(last, at::view(at::narrow(at::select(slots, 0, full), 0, 0, last.numel()), last.sizes()));
}

void Param::write_back(int64_t parts, int64_t index) const {
  const Tensor piece = piece_in(memory_, parts, index);
  Tensor shard = tensor::detail::impl_of(sharded_)->local();
  at::view(shard, piece.sizes()).copy_(piece);
}

void Param::put_gradient(const Tensor& gradient, const Tensor& slots) const {
  each_part(gradient, slots, [](const Tensor& part, Tensor slot) { slot.copy_(part); });
}

void Param::take_whole(const Tensor& slots) const {
  // The values are those that forward saw: what it saved is not out of date.
  c10::StorageImpl& storage = *memory_.storage().unsafeGetStorageImpl();
  const uint32_t version = storage.version();
  each_part(memory_, slots, [](Tensor part, const Tensor& slot) { part.copy_(slot); });
  storage.set_version(version);
}

// --- gradients ---

Tensor Param::plain(const Tensor& gradient) const {
  TORCH_CHECK_NOT_IMPLEMENTED(gradient.layout() == c10::kStrided, "fully_shard: the gradient of `", name_,
                              "` is sparse");
  const tensor::DTensorImpl* impl = tensor::detail::impl_of(gradient);
  if (!parallel_) return gradient;
  TORCH_CHECK(impl != nullptr, "fully_shard: the gradient of the tensor-parallel parameter `", name_,
              "` is not distributed");
  return tensor::redistribute_local(impl->local(), *impl->spec(), parallel_->placements());
}

bool Param::has_gradient() const {
  return kept_.defined() || (whole_.defined() && whole_.grad().defined());
}

Tensor Param::take_gradient(std::optional<at::ScalarType> dtype) {
  if (whole_.defined() && whole_.grad().defined()) {
    const Tensor gradient = plain(std::exchange(whole_.mutable_grad(), Tensor()));
    if (kept_.defined()) {
      kept_.add_(gradient);
    } else {
      kept_ = dtype ? gradient.to(*dtype) : gradient;
    }
  }
  return std::exchange(kept_, Tensor());
}

void Param::keep_gradient(std::optional<at::ScalarType> dtype) {
  // Of their own dtype they add up where they are.
  if (dtype && *dtype != gathered_dtype()) kept_ = take_gradient(dtype);
}

void Param::drop_gradients() {
  if (whole_.defined()) whole_.mutable_grad() = Tensor();
  kept_ = partial_ = Tensor();
}

void Param::keep_partial(const Tensor& slot) {
  if (partial_.defined()) {
    partial_.add_(slot);
  } else {
    partial_ = at::clone(slot);
  }
}

void Param::take_partial_into(const Tensor& slot) {
  if (!partial_.defined()) return;
  Tensor sum = slot;
  sum.add_(partial_);
  partial_ = Tensor();
}

void Param::add_gradient(const Tensor& slot) {
  const tensor::DTensorImpl& shard = *tensor::detail::impl_of(sharded_);
  Tensor part = shard_in(slot).to(dtype());
  if (part.device() != shard.local().device()) part = part.to(shard.local().device());
  const Tensor gradient = tensor::detail::wrap(std::move(part), shard.spec());
  Tensor& all = sharded_.mutable_grad();
  if (all.defined()) {
    all.add_(gradient);
  } else {
    all = gradient;
  }
}

void Param::call_hooks() const {
  const auto node = torch::autograd::try_get_grad_accumulator(sharded_);
  if (!node || node->extras() == nullptr) return;
  // By index: a hook may add and remove hooks.
  for (size_t i = 0; i < node->extras()->post_accumulate_hooks.size(); ++i) {
    const auto hook = node->extras()->post_accumulate_hooks[i].hook;
    hook(sharded_);
  }
}

}  // namespace torch::distributed::fsdp::detail
