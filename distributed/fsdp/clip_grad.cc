#include "distributed/fsdp/clip_grad.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "distributed/process_group/process_group.h"
#include "distributed/tensor/dtensor.h"

namespace torch::distributed::fsdp {
namespace {

using at::Tensor;
using tensor::DeviceMesh;
using tensor::DTensor;

// What the gradients of one mesh add to the whole: a sum of powers, or the largest magnitude.
struct Part {
  std::optional<DeviceMesh> mesh;  // none: plain tensors
  c10::Device device;
  double value = 0;
};

std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& p : parameters) {
    if (p.defined() && p.grad().defined()) gradients.push_back(p.grad());
  }
  return gradients;
}

// This rank's part, without partial values.
Tensor local_of(const DTensor& gradient) {
  std::vector<Placement> placements = gradient.placements();
  for (Placement& placement : placements) {
    if (placement.is_partial()) placement = Replicate();
  }
  return placements == gradient.placements() ? tensor::detail::impl_of(gradient)->local()
                                             : gradient.redistribute(placements).to_local();
}

// Whether another rank has the same elements, and counts them.
bool is_counted_elsewhere(const DTensor& gradient) {
  const std::vector<Placement>& placements = gradient.placements();
  for (size_t i = 0; i < placements.size(); ++i) {
    const bool is_whole = placements[i].is_replicate() || placements[i].is_partial();
    if (is_whole && gradient.device_mesh().get_local_rank(static_cast<int64_t>(i)) != 0) return true;
  }
  return false;
}

}  // namespace

double get_total_norm(const std::vector<Tensor>& gradients, double norm_type) {
  TORCH_CHECK_VALUE(norm_type > 0, "get_total_norm: expected a positive norm_type, but got ", norm_type);
  const c10::NoGradGuard no_grad;
  const bool is_max = std::isinf(norm_type);
  std::vector<Part> parts;
  for (const Tensor& gradient : gradients) {
    const bool is_distributed = DTensor::is(gradient);
    std::optional<DeviceMesh> mesh;
    if (is_distributed) mesh = DTensor(gradient).device_mesh();
    auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& p) {
      return p.mesh.has_value() == mesh.has_value() && (!mesh || *p.mesh == *mesh);
    });
    if (part == parts.end()) part = parts.insert(parts.end(), {mesh, gradient.device(), 0});
    const Tensor local = is_distributed ? local_of(DTensor(gradient)) : gradient;
    if (local.numel() == 0 || (is_distributed && is_counted_elsewhere(DTensor(gradient)))) continue;
    const bool is_narrow = local.scalar_type() == at::kHalf || local.scalar_type() == at::kBFloat16;
    const double norm = at::norm(is_narrow ? local.to(at::kFloat) : local, norm_type).item<double>();
    part->value = is_max ? (std::isnan(norm) || std::isnan(part->value) ? NAN : std::max(part->value, norm))
                         : part->value + std::pow(norm, norm_type);
  }
  double total = 0;
  for (Part& part : parts) {
    if (part.mesh) {
      std::vector<Tensor> number{at::full({1}, part.value, at::TensorOptions().dtype(at::kDouble).device(part.device))};
      c10d::AllreduceOptions options;
      options.reduceOp = is_max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
      for (const auto& group : part.mesh->get_all_groups()) group->allreduce(number, options)->wait();
      part.value = number[0].item<double>();
    }
    total =
        is_max ? (std::isnan(part.value) || std::isnan(total) ? NAN : std::max(total, part.value)) : total + part.value;
  }
  return is_max ? total : std::pow(total, 1 / norm_type);
}

double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const std::vector<Tensor> gradients = gradients_of(parameters);
  const double norm = get_total_norm(gradients, norm_type);
  TORCH_CHECK(!error_if_nonfinite || std::isfinite(norm), "clip_grad_norm_: the total norm of order ", norm_type,
              " of the gradients is ", norm,
              ", by which they cannot be scaled; error_if_nonfinite=false does it anyway");
  const double scale = max_norm / (norm + 1e-6);
  // Also where the norm is not a number: the gradients then show it.
  if (scale >= 1) return norm;
  const c10::NoGradGuard no_grad;
  for (Tensor gradient : gradients) gradient.mul_(scale);
  return norm;
}

}  // namespace torch::distributed::fsdp
