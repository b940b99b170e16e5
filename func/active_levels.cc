#include "func/active_levels.h"

#include <algorithm>

#include "aten/ops/view/ops.h"

namespace torch::func::detail {

ActiveLevels::ActiveLevels() {
  for (const VmapLevel* level = current_level(); level != nullptr; level = level->outer) levels_.push_back(*level);
  std::reverse(levels_.begin(), levels_.end());
}

bool ActiveLevels::batch(const at::Tensor& t) const {
  for (const BatchedTensorImpl* b = batched_of(t); b != nullptr; b = batched_of(b->value())) {
    if (!is_later(b->level())) return true;
  }
  return false;
}

at::Tensor ActiveLevels::physical(const at::Tensor& t) const {
  if (levels_.empty()) return t;
  if (const BatchedTensorImpl* b = batched_of(t); b != nullptr && is_later(b->level())) {
    return make_batched(physical(b->value()), b->batch_dim() + static_cast<int64_t>(levels_.size()), level_of(*b));
  }
  at::Tensor all = t;
  for (size_t i = levels_.size(); i-- > 0;) {
    if (batched_of(all, levels_[i]) != nullptr) {
      all = samples_first(all, levels_[i]);
    } else {
      c10::DimVector sizes{levels_[i].batch_size};
      sizes.append(all.sizes().begin(), all.sizes().end());
      all = at::expand(all, sizes);
    }
  }
  return all;
}

at::Tensor ActiveLevels::batched(const at::Tensor& t) const {
  if (levels_.empty()) return t;
  const auto count = static_cast<int64_t>(levels_.size());
  if (const BatchedTensorImpl* b = batched_of(t); b != nullptr && is_later(b->level())) {
    // The first dimensions of a sample are those of the levels.
    const bool behind = b->batch_dim() >= count;
    const at::Tensor value = behind ? b->value() : at::movedim(b->value(), b->batch_dim(), count);
    return make_batched(batched(value), behind ? b->batch_dim() - count : 0, level_of(*b));
  }
  at::Tensor samples = t;
  for (const VmapLevel& level : levels_) samples = make_batched(std::move(samples), 0, level);
  return samples;
}

bool ActiveLevels::is_later(int64_t id) const { return levels_.empty() || id > levels_.back().id; }

VmapLevel ActiveLevels::level_of(const BatchedTensorImpl& b) { return {b.level(), 0, Randomness::kError, nullptr}; }

}  // namespace torch::func::detail
