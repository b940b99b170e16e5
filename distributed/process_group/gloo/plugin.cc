// Gloo among the engines of a program that links it.
#include "c10/util/exception.h"
#include "distributed/process_group/backend_plugins.h"
#include "distributed/process_group/gloo/process_group_gloo.h"

namespace c10d {
namespace {

c10::intrusive_ptr<Backend> make_gloo(const DistributedBackendOptions& group,
                                      c10::intrusive_ptr<Backend::Options> given) {
  auto options = ProcessGroupGloo::Options::create();
  if (given) {
    const auto* const gloo = dynamic_cast<const ProcessGroupGloo::Options*>(given.get());
    TORCH_CHECK_TYPE(gloo != nullptr, "expected ProcessGroupGloo::Options for the engine gloo");
    options->threads = gloo->threads;
    options->compare_calls = gloo->compare_calls;
    options->devices = gloo->devices;
    options->stall_warning = gloo->stall_warning;
  }
  options->timeout = std::chrono::round<std::chrono::milliseconds>(group.timeout);
  options->group_name = group.group_id;
  options->group_desc = group.group_desc;
  options->global_ranks_in_group.assign(group.global_ranks_in_group.begin(), group.global_ranks_in_group.end());
  return c10::make_intrusive<ProcessGroupGloo>(group.store, group.group_rank, group.group_size, options);
}

[[maybe_unused]] const bool is_announced =
    register_backend({.name = GLOO_BACKEND_NAME, .devices = {c10::DeviceType::CPU}, .make = make_gloo});

}  // namespace
}  // namespace c10d
