// Modules whose parameters, arguments and results are distributed tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "distributed/tensor/device_mesh.h"
#include "distributed/tensor/placement.h"
#include "nn/module/computed_tensor.h"
#include "nn/module/module.h"

namespace torch::distributed::tensor {

/// Of a module below (or at) the one that is distributed, with its dotted path: puts DTensors in the place of its
/// parameters.
using PartitionFn = std::function<void(const std::string& path, nn::Module& module, const DeviceMesh& mesh)>;
/// The arguments (results) that take the place of those given, of the same number: the tensors in them one after the
/// other, undefined ones for what is none (nn/module/module_call.h).
using ModuleTensorsFn = std::function<std::vector<at::Tensor>(
    nn::Module& module, const std::vector<at::Tensor>& tensors, const DeviceMesh& mesh)>;

/// Distributes a module over a mesh, a call of all its ranks: `partition_fn` is called once for each module, `input_fn`
/// before each call of `module` and `output_fn` after it, as module hooks. Parameters and buffers that are no DTensors
/// after `partition_fn`, or all without one, become replicated ones with the values of the first rank. Returns
/// `module`.
///
///   distribute_module(net, mesh, [](const std::string&, nn::Module& m, const DeviceMesh& mesh) {
///     if (m.as<nn::Linear>() != nullptr) distribute_parameter(m, "weight", mesh, {Shard(0)});
///   });
///
/// Calls that hooks see are those of holders, `net(x)`, and of containers, not `net->forward(x)`. Throws c10::Error
/// where a class does not say where its parameters are (TORCH_MODULE_TENSORS, nn/module/module.h), before anything is
/// changed, and for a module that is distributed already.
nn::Module& distribute_module(nn::ModuleRef module, const DeviceMesh& mesh, const PartitionFn& partition_fn = nullptr,
                              ModuleTensorsFn input_fn = nullptr, ModuleTensorsFn output_fn = nullptr);

/// Puts the DTensor that distribute_tensor() makes of a module's own parameter or buffer in its place. It requires a
/// gradient where the other did, and its gradient is given the same placements. Throws ValueError where the module has
/// none of that name and for a DTensor of other placements, and c10::Error where its class does not say where it is.
void distribute_parameter(nn::ModuleRef module, const std::string& name, const DeviceMesh& mesh,
                          const std::vector<Placement>& placements, std::optional<int64_t> src_data_rank = 0);

}  // namespace torch::distributed::tensor
