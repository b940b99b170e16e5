// What fully_shard() is told: precision, offloading, and when gathered parameters are given back.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/util/arg.h"
#include "distributed/tensor/device_mesh.h"
#include "distributed/tensor/placement.h"

namespace torch::distributed::fsdp {

/// Dtypes at the borders of a module; within it nothing is cast, unlike autocast. Shards, gradients and optimizer state
/// keep the parameters' own dtype.
///
///   MixedPrecisionPolicy().param_dtype(torch::kBFloat16).reduce_dtype(torch::kFloat)
struct MixedPrecisionPolicy {
  /// Of gathered parameters, and so of forward and backward. None: the parameter's own.
  TORCH_ARG(std::optional<at::ScalarType>, param_dtype);
  /// In which gradients are reduced, and added up while they are not (set_requires_gradient_sync). None: the gradient's
  /// own.
  TORCH_ARG(std::optional<at::ScalarType>, reduce_dtype);
  /// That floating results of forward are cast to. None: they are not.
  TORCH_ARG(std::optional<at::ScalarType>, output_dtype);
  /// Whether floating arguments of forward are cast to param_dtype.
  TORCH_ARG(bool, cast_forward_inputs) = true;
};

/// No offloading.
struct OffloadPolicy {};

/// Shards, gradients and optimizer state lie on the CPU, wherever the mesh computes. On a mesh of CPUs they do anyway.
struct CPUOffloadPolicy : OffloadPolicy {
  CPUOffloadPolicy() = default;
  explicit CPUOffloadPolicy(bool pin) : pin_memory_(pin) {}
  /// Whether that memory is page-locked, where the mesh is of accelerators.
  TORCH_ARG(bool, pin_memory) = true;
};

/// What becomes of gathered parameters after forward: true: they are freed, and gathered again for backward; false:
/// they stay; a number: each rank keeps 1/number, and backward gathers from the `number` ranks that follow each other,
/// in groups that fully_shard() splits off (c10d::split_group; the mesh's group is one of init_process_group() or its
/// like). Without a choice: true, but false for the root, whose parameters backward needs first.
class ReshardAfterForward {
 public:
  ReshardAfterForward() = default;
  template <std::same_as<bool> T>
  ReshardAfterForward(T reshard) : choice_(reshard) {}  // NOLINT(google-explicit-constructor)
  template <std::integral T>
  requires(!std::same_as<T, bool>) ReshardAfterForward(T ranks)  // NOLINT(google-explicit-constructor)
      : choice_(true), ranks_(static_cast<int64_t>(ranks)) {}

  /// nullopt: without a choice.
  const std::optional<bool>& choice() const { return choice_; }
  /// nullopt: all of the mesh.
  const std::optional<int64_t>& ranks() const { return ranks_; }

 private:
  std::optional<bool> choice_;
  std::optional<int64_t> ranks_;
};

/// Along which dimension a parameter is sharded; nullopt: the first.
using ShardPlacementFn = std::function<std::optional<Shard>(const at::Tensor& parameter)>;

/// Settings of fully_shard().
struct FullyShardOptions {
  FullyShardOptions() = default;
  FullyShardOptions(tensor::DeviceMesh mesh) : mesh_(std::move(mesh)) {}  // NOLINT(google-explicit-constructor)

  /// One dimension: parameters are sharded over it. Two: replicated along the first, and sharded along the second
  /// (HSDP). None: all ranks of the default group.
  TORCH_ARG(std::optional<tensor::DeviceMesh>, mesh);
  TORCH_ARG(ReshardAfterForward, reshard_after_forward);
  /// Dimensions other than the first must be divisible by the number of shards.
  TORCH_ARG(ShardPlacementFn, shard_placement_fn);
  TORCH_ARG(MixedPrecisionPolicy, mp_policy);
  using Offload = std::variant<OffloadPolicy, CPUOffloadPolicy>;
  TORCH_ARG(Offload, offload_policy);
  /// That stay as they are.
  TORCH_ARG(std::vector<at::Tensor>, ignored_params);
};

}  // namespace torch::distributed::fsdp
