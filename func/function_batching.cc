// What Functions of one's own (autograd/function) ask of vmap.
#include "autograd/function/batching.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "func/batched_tensor.h"
#include "func/rules.h"

namespace torch::func {
namespace {

using at::Tensor;
using autograd::VmapDims;
using autograd::VmapInfo;

// The innermost `count` levels, outermost first.
std::vector<const VmapLevel*> innermost(size_t count) {
  std::vector<const VmapLevel*> levels(count);
  const VmapLevel* level = current_level();
  for (size_t i = count; i-- > 0; level = level->outer) levels[i] = level;
  return levels;
}

class AtOne final : public autograd::detail::Batching::Scope {
 public:
  explicit AtOne(const VmapLevel* level) : at_(level) {}

 private:
  const AtLevel at_;
};

class AtNew final : public autograd::detail::Batching::Scope {
 public:
  explicit AtNew(const std::vector<VmapInfo>& levels) {
    for (const VmapInfo& info : levels) {
      levels_.push_back(std::make_unique<NewLevel>(info.batch_size, randomness_of(info.randomness)));
    }
  }
  ~AtNew() override {
    while (!levels_.empty()) levels_.pop_back();
  }

 private:
  std::vector<std::unique_ptr<const NewLevel>> levels_;
};

class FunctionBatching final : public autograd::detail::Batching {
 public:
  std::vector<VmapInfo> levels() const override {
    size_t depth = 0;
    for (const VmapLevel* level = current_level(); level != nullptr; level = level->outer) ++depth;
    std::vector<VmapInfo> infos;
    for (const VmapLevel* level : innermost(depth)) infos.push_back({level->batch_size, text_of(level->randomness)});
    return infos;
  }

  std::unique_ptr<Scope> at_level_of(at::TensorList tensors) const override {
    const VmapLevel* level = current_level();
    const auto has_batched = [&] {
      for (const Tensor& t : tensors) {
        if (batched_of(t, *level) != nullptr) return true;
      }
      return false;
    };
    while (level != nullptr && !has_batched()) level = level->outer;
    return std::make_unique<AtOne>(level);
  }
  std::unique_ptr<Scope> enter(const std::vector<VmapInfo>& levels) const override {
    return std::make_unique<AtNew>(levels);
  }
  std::unique_ptr<Scope> outside() const override { return std::make_unique<AtOne>(current_level()->outer); }

  VmapDims dims_of(const Tensor& t) const override {
    const size_t depth = levels().size();
    VmapDims dims(depth);
    const auto levels = innermost(depth);
    Tensor rest = t;
    for (size_t i = depth; i-- > 0;) {
      const BatchedTensorImpl* batched = batched_of(rest, *levels[i]);
      if (batched == nullptr) continue;
      dims[i] = batched->batch_dim();
      rest = batched->value();
    }
    return dims;
  }
  Tensor physical(const Tensor& t) const override { return physical_of(t); }
  Tensor batched(Tensor physical, const VmapDims& dims) const override {
    const auto levels = innermost(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].has_value()) {
        physical = make_batched(physical, at::maybe_wrap_dim(*dims[i], physical.dim()), *levels[i]);
      }
    }
    return physical;
  }
  Tensor summed_to(const Tensor& t, const VmapDims& dims) const override {
    const auto levels = innermost(dims.size());
    Tensor result = t;
    for (size_t i = dims.size(); i-- > 0;) {
      const AtLevel outside(levels[i]->outer);
      const BatchedTensorImpl* batched = batched_of(result, *levels[i]);
      if (dims[i].has_value() && batched != nullptr) {
        result = at::movedim(batched->value(), batched->batch_dim(), *dims[i]);
      } else if (dims[i].has_value()) {
        result = at::unsqueeze(result, *dims[i]);
        std::vector<int64_t> sizes(result.sizes().begin(), result.sizes().end());
        sizes[static_cast<size_t>(*dims[i])] = levels[i]->batch_size;
        result = at::expand(result, sizes);
      } else if (batched != nullptr) {
        result = at::sum(batched->value(), {batched->batch_dim()});
      }
    }
    return result;
  }
  Tensor batched_everywhere(const Tensor& t) const override { return func::batched_everywhere(t); }
  Tensor behind(const Tensor& t) const override {
    const BatchedTensorImpl* batched = batched_of(t, *current_level());
    return batched == nullptr ? t : batched->value();
  }

 private:
  static std::string_view text_of(Randomness randomness) {
    switch (randomness) {
      case Randomness::kError:
        return "error";
      case Randomness::kDifferent:
        return "different";
      case Randomness::kSame:
        break;
    }
    return "same";
  }
};

}  // namespace

void detail::install_function_batching() {
  static const FunctionBatching instance;
  autograd::detail::set_batching(&instance);
}

}  // namespace torch::func
