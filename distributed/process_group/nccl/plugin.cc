// NCCL among the engines of a program that links it.
#include "c10/util/exception.h"
#include "distributed/process_group/backend_plugins.h"
#include "distributed/process_group/nccl/process_group_nccl.h"

namespace c10d {
namespace {

c10::intrusive_ptr<Backend> make_nccl(const DistributedBackendOptions& group,
                                      c10::intrusive_ptr<Backend::Options> given) {
  auto options = ProcessGroupNCCL::Options::create();
  if (given) {
    const auto* const nccl = dynamic_cast<const ProcessGroupNCCL::Options*>(given.get());
    TORCH_CHECK_TYPE(nccl != nullptr, "expected ProcessGroupNCCL::Options for the engine nccl");
    options->is_high_priority_stream = nccl->is_high_priority_stream;
    options->config = nccl->config;
    options->split_from = nccl->split_from;
    options->split_color = nccl->split_color;
    options->stall_warning = nccl->stall_warning;
  }
  options->timeout = std::chrono::round<std::chrono::milliseconds>(group.timeout);
  options->group_name = group.group_id;
  options->group_desc = group.group_desc;
  options->global_ranks_in_group.assign(group.global_ranks_in_group.begin(), group.global_ranks_in_group.end());
  return c10::make_intrusive<ProcessGroupNCCL>(group.store, group.group_rank, group.group_size, options);
}

[[maybe_unused]] const bool is_announced = register_backend({.name = NCCL_BACKEND_NAME,
                                                             .devices = {c10::DeviceType::CUDA},
                                                             .timeout = kProcessGroupNCCLDefaultTimeout,
                                                             .make = make_nccl});

}  // namespace
}  // namespace c10d
