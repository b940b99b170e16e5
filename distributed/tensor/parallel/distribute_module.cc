#include "distributed/tensor/parallel/distribute_module.h"

#include <memory>
#include <utility>

#include "autograd/engine/hooks.h"
#include "c10/util/exception.h"
#include "distributed/tensor/dtensor.h"
#include "nn/module/module_access.h"
#include "nn/module/replacement.h"

namespace torch::distributed::tensor {
namespace {

using at::Tensor;

// Kept with a module that is distributed.
struct Distributed {};

std::vector<std::string> names_of(nn::Module& module) {
  std::vector<std::string> names;
  for (auto* tensors : {&nn::ModuleAccess::parameters(module), &nn::ModuleAccess::buffers(module)}) {
    for (const auto& item : *tensors) {
      if (item.value().defined()) names.push_back(item.key());
    }
  }
  return names;
}

void replicate_rest(nn::Module& module, const DeviceMesh& mesh) {
  const std::vector<Placement> whole(static_cast<size_t>(mesh.ndim()));
  for (const std::string& name : names_of(module)) {
    const Tensor* found = nn::ModuleAccess::parameters(module).find(name);
    if (found == nullptr) found = nn::ModuleAccess::buffers(module).find(name);
    if (!DTensor::is(*found)) distribute_parameter(module, name, mesh, whole);
  }
}

}  // namespace

void distribute_parameter(nn::ModuleRef module, const std::string& name, const DeviceMesh& mesh,
                          const std::vector<Placement>& placements, std::optional<int64_t> src_data_rank) {
  nn::Module& m = *module;
  const bool is_parameter = nn::ModuleAccess::parameters(m).contains(name);
  const Tensor* const found =
      is_parameter ? nn::ModuleAccess::parameters(m).find(name) : nn::ModuleAccess::buffers(m).find(name);
  TORCH_CHECK_VALUE(found != nullptr && found->defined(), "distribute_parameter: ", nn::detail::class_name(m),
                    " does not have a parameter or a buffer with name '", name, "'");
  Tensor& member = nn::tensor_member(m, name);
  const DTensor distributed = distribute_tensor(*found, mesh, placements, src_data_rank);
  if (distributed.requires_grad()) {
    // Sums of parts are added up once, and not by each that reads them; of what is whole, the part is kept.
    torch::autograd::register_tensor_hook(distributed, [placements = distributed.placements()](const Tensor& grad) {
      const DTensor given(grad);
      return given.placements() == placements ? grad : static_cast<Tensor>(given.redistribute(placements));
    });
  }
  member = is_parameter ? m.replace_parameter(name, distributed) : m.replace_buffer(name, distributed);
}

nn::Module& distribute_module(nn::ModuleRef module, const DeviceMesh& mesh, const PartitionFn& partition_fn,
                              ModuleTensorsFn input_fn, ModuleTensorsFn output_fn) {
  nn::Module& m = *module;
  TORCH_CHECK(nn::attached<Distributed>(m) == nullptr, "distribute_module: this ", nn::detail::class_name(m),
              " is distributed already");
  // Who does not say where its parameters are is to be known before any is another.
  m.apply([&](nn::Module& one) {
    for (const std::string& name : names_of(one)) nn::tensor_member(one, name);
  });
  m.apply([&](const std::string& path, nn::Module& one) {
    if (partition_fn) partition_fn(path, one, mesh);
    replicate_rest(one, mesh);
  });
  if (input_fn) {
    m.register_forward_pre_hook([mesh, call = std::move(input_fn)](nn::Module& one, const std::vector<Tensor>& inputs) {
      return call(one, inputs, mesh);
    });
  }
  if (output_fn) {
    m.register_forward_hook(
        [mesh, call = std::move(output_fn)](nn::Module& one, const std::vector<Tensor>&,
                                            const std::vector<Tensor>& outputs) { return call(one, outputs, mesh); });
  }
  nn::attach(m, std::make_shared<const Distributed>());
  return m;
}

}  // namespace torch::distributed::tensor
