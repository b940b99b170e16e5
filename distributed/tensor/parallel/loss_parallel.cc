#include "distributed/tensor/parallel/loss_parallel.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/function/custom_function.h"
#include "c10/util/exception.h"
#include "distributed/tensor/dtensor.h"
#include "distributed/tensor/parallel/composite_override.h"
#include "distributed/tensor/redistribute.h"

namespace torch::distributed::tensor::parallel {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

thread_local bool is_on = false;

using Signature = Tensor(const Tensor&, const Tensor&, const std::optional<Tensor>&, int64_t, int64_t, double);
CompositeOverride<Signature> cross_entropy_override;

constexpr int64_t kNone = 0, kMean = 1;  // at::Reduction

std::vector<Placement> replicated(const DeviceMesh& mesh) {
  return std::vector<Placement>(static_cast<size_t>(mesh.ndim()));
}

// This rank's part of a tensor that is distributed, or the same on all ranks of the mesh.
Tensor part_of(const Tensor& tensor, const DeviceMesh& mesh, const std::vector<Placement>& placements) {
  if (const DTensorImpl* impl = detail::impl_of(tensor)) {
    return redistribute_local(impl->local(), *impl->spec(), placements);
  }
  return redistribute_local(
      tensor, Spec(mesh, replicated(mesh), tensor.sizes(), tensor.strides(), tensor.scalar_type()), placements);
}

// The reduction of the ranks' tensors along some dimensions of the mesh.
Tensor reduced(const Tensor& local, const DeviceMesh& mesh, const std::vector<bool>& along, const Placement& partial) {
  std::vector<Placement> from = replicated(mesh);
  for (size_t m = 0; m < from.size(); ++m) {
    if (along[m]) from[m] = partial;
  }
  return redistribute_local(local, Spec(mesh, from, local.sizes(), local.strides(), local.scalar_type()),
                            replicated(mesh));
}

// What is known of a loss beside the logits. Tensors are this rank's parts.
struct Loss final : c10::intrusive_ptr_target {
  SpecPtr logits;
  size_t class_dim = 0;
  std::vector<bool> along_classes, along_samples;  // of the mesh's dimensions
  Tensor target;                                   // with a dimension of one element for the classes
  std::optional<Tensor> weight;
  int64_t reduction = kMean, ignore_index = -100;

  int64_t dim() const { return static_cast<int64_t>(class_dim); }
  const DeviceMesh& mesh() const { return logits->mesh(); }
  at::ScalarType wide() const {
    const at::ScalarType type = logits->dtype();
    return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
  }
  // Of losses, which have no classes.
  std::vector<Placement> placements() const {
    std::vector<Placement> result = replicated(mesh());
    for (size_t m = 0; m < result.size() && reduction == kNone; ++m) {
      const int64_t d = along_samples[m] ? logits->placements()[m].dim() : 0;
      if (along_samples[m]) result[m] = Shard(d > dim() ? d - 1 : d);
    }
    return result;
  }
  // Where the targets are among this rank's classes; those that are elsewhere at 0.
  std::pair<Tensor, Tensor> places() const {
    const Tensor all = at::sub(target, logits->local_offsets()[class_dim]);
    const Tensor elsewhere = at::logical_or(at::lt(all, 0), at::ge(all, logits->local_sizes()[class_dim]));
    return {at::masked_fill(all, elsewhere, 0), elsewhere};
  }
};
using LossPtr = c10::intrusive_ptr<Loss>;

struct CrossEntropy final : torch::autograd::Function<CrossEntropy> {
  static constexpr bool once_differentiable = true;

  static Tensor forward(AutogradContext* context, const Tensor& logits, const LossPtr& loss) {
    const Tensor x = detail::impl_of(logits)->local().to(loss->wide());
    const int64_t dim = loss->dim();
    const bool has_classes = x.size(dim) > 0;
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes[loss->class_dim] = 1;
    const Tensor largest = reduced(
        has_classes ? at::amax(x, {dim}, true) : at::full(sizes, -std::numeric_limits<double>::infinity(), x.options()),
        loss->mesh(), loss->along_classes, Partial("max"));
    Tensor sum = at::zeros(sizes, x.options()), chosen = sum;
    if (has_classes) {
      const auto [places, elsewhere] = loss->places();
      sum = at::sum(at::exp(at::sub(x, largest)), {dim}, true);
      chosen = at::masked_fill(at::gather(x, dim, places), elsewhere, 0);
    }
    const Tensor both = reduced(at::stack({sum, chosen}), loss->mesh(), loss->along_classes, Partial());
    const Tensor logsumexp = at::add(largest, at::log(both[0]));
    const Tensor ignored = at::eq(loss->target, loss->ignore_index);
    Tensor factors = at::logical_not(ignored).to(x.scalar_type());
    if (loss->weight) {
      const Tensor classes = at::reshape(at::masked_fill(loss->target, ignored, 0), {-1});
      factors = at::mul(factors, at::view(at::index_select(loss->weight->to(x.scalar_type()), 0, classes), sizes));
    }
    Tensor result = at::mul(at::masked_fill(at::sub(logsumexp, both[1]), ignored, 0), factors);
    Tensor total;
    if (loss->reduction == kNone) {
      result = at::squeeze(result, dim);
    } else {
      const Tensor sums =
          reduced(at::stack({at::sum(result), at::sum(factors)}), loss->mesh(), loss->along_samples, Partial());
      result = sums[0];
      if (loss->reduction == kMean) {
        total = sums[1];
        result = at::div(result, total);
      }
    }
    context->save_for_backward({logits, logsumexp, factors, total});
    context->saved_data["loss"] = c10::IValue::make_capsule(loss);
    result = result.to(loss->logits->dtype());
    std::vector<int64_t> whole = loss->logits->sizes().vec();
    whole.erase(whole.begin() + dim);
    if (loss->reduction != kNone) whole.clear();
    return detail::wrap(result, c10::make_intrusive<Spec>(loss->mesh(), loss->placements(), whole,
                                                          c10::contiguous_strides(whole), result.scalar_type()));
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto capsule = context->saved_data["loss"].toCapsule();
    const Loss& loss = static_cast<const Loss&>(*capsule);
    const variable_list saved = context->get_saved_variables();
    const Tensor &logsumexp = saved[1], &factors = saved[2], &total = saved[3];
    const Tensor x = detail::impl_of(saved[0])->local().to(loss.wide());
    Tensor grad = part_of(grads[0], loss.mesh(), loss.placements()).to(x.scalar_type());
    if (loss.reduction == kNone) grad = at::unsqueeze(grad, loss.dim());
    Tensor of_samples = at::mul(factors, grad);
    if (loss.reduction == kMean) of_samples = at::div(of_samples, total);
    Tensor result = at::exp(at::sub(x, logsumexp));
    if (result.size(loss.dim()) > 0) {
      const auto [places, elsewhere] = loss.places();
      result.scatter_add_(loss.dim(), places, at::sub(elsewhere.to(x.scalar_type()), 1));
    }
    result.mul_(of_samples);
    return {detail::wrap(result.to(loss.logits->dtype()), loss.logits), Tensor()};
  }
};

Tensor cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
                     int64_t ignore_index, double label_smoothing) {
  const DTensorImpl* const impl = is_on ? detail::impl_of(self) : nullptr;
  if (impl == nullptr || self.dim() == 0) {
    return cross_entropy_override.before(self, target, weight, reduction, ignore_index, label_smoothing);
  }
  const DeviceMesh& mesh = impl->spec()->mesh();
  auto loss = c10::make_intrusive<Loss>();
  loss->class_dim = self.dim() == 1 ? 0 : 1;
  // Along the other dimensions of the mesh, samples may be shared.
  std::vector<Placement> placements = replicated(mesh), of_target = placements;
  loss->along_classes.assign(placements.size(), false);
  loss->along_samples.assign(placements.size(), false);
  int64_t shards = 0;
  for (size_t m = 0; m < placements.size(); ++m) {
    const Placement& present = impl->spec()->placements()[m];
    if (!present.is_shard()) continue;
    const int64_t d = present.dim();
    const bool of_classes = d == loss->dim();
    shards += of_classes ? 1 : 0;
    (of_classes ? loss->along_classes : loss->along_samples)[m] = true;
    placements[m] = present;
    if (!of_classes) of_target[m] = Shard(d > loss->dim() ? d - 1 : d);
  }
  const auto distributed = [&](const Tensor& t) -> Tensor {
    return DTensor::is(t) ? t : static_cast<Tensor>(DTensor::from_local(t, mesh, replicated(mesh)));
  };
  if (shards == 0) {
    std::optional<Tensor> same_on_all;
    if (weight && weight->defined()) same_on_all = distributed(*weight);
    return cross_entropy_override.before(self, distributed(target), same_on_all, reduction, ignore_index,
                                         label_smoothing);
  }
  TORCH_CHECK_NOT_IMPLEMENTED(shards == 1, "cross_entropy in loss_parallel: the classes are sharded along ", shards,
                              " dimensions of the mesh, but one is supported");
  TORCH_CHECK_NOT_IMPLEMENTED(label_smoothing == 0, "cross_entropy in loss_parallel: label_smoothing is not supported");
  TORCH_CHECK_NOT_IMPLEMENTED(!c10::isFloatingType(target.scalar_type()),
                              "cross_entropy in loss_parallel: a target of probabilities is not supported");
  std::vector<int64_t> samples = self.sizes().vec();
  const int64_t classes = samples[loss->class_dim];
  samples.erase(samples.begin() + loss->dim());
  TORCH_CHECK_VALUE(target.sizes() == at::IntArrayRef(samples), "cross_entropy in loss_parallel: the logits of sizes ",
                    self.sizes(), " need a target of sizes ", at::IntArrayRef(samples), ", but it has ",
                    target.sizes());
  loss->target = at::unsqueeze(part_of(target, mesh, of_target).to(at::kLong), loss->dim());
  if (weight && weight->defined()) {
    TORCH_CHECK(weight->dim() == 1 && weight->size(0) == classes,
                "cross_entropy in loss_parallel: 'weight' has the sizes ", weight->sizes(), ", but there are ", classes,
                " classes");
    loss->weight = part_of(*weight, mesh, replicated(mesh)).detach();
  }
  if (loss->target.device().is_cpu()) {
    const Tensor none = at::logical_and(at::ne(loss->target, ignore_index),
                                        at::logical_or(at::lt(loss->target, 0), at::ge(loss->target, classes)));
    TORCH_CHECK_INDEX(!at::any(none).item<bool>(), "cross_entropy in loss_parallel: a target is none of the ", classes,
                      " classes");
  }
  loss->reduction = reduction;
  loss->ignore_index = ignore_index;
  const DTensor logits = DTensor(self).redistribute(placements);
  loss->logits = logits.spec();
  return CrossEntropy::apply(static_cast<const Tensor&>(logits), loss);
}

}  // namespace

LossParallel::LossParallel() : before_(is_on) {
  cross_entropy_override.install("aten::cross_entropy_loss", &cross_entropy);
  is_on = true;
}

LossParallel::~LossParallel() {
  is_on = before_;
}

}  // namespace torch::distributed::tensor::parallel
