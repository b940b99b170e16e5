// The engine "fake" of a program that links it.
#include "distributed/process_group/backend_plugins.h"
#include "distributed/process_group/fake/fake_process_group.h"

namespace c10d {
namespace {

c10::intrusive_ptr<Backend> make_fake(const DistributedBackendOptions& group,
                                      c10::intrusive_ptr<Backend::Options> given) {
  auto options = FakeProcessGroup::Options::create(std::chrono::round<std::chrono::milliseconds>(group.timeout));
  if (const auto* const fake = dynamic_cast<const FakeProcessGroup::Options*>(given.get()))
    options->error_on_collective = fake->error_on_collective;
  options->group_name = group.group_id;
  options->group_desc = group.group_desc;
  options->global_ranks_in_group.assign(group.global_ranks_in_group.begin(), group.global_ranks_in_group.end());
  return c10::make_intrusive<FakeProcessGroup>(group.group_rank, group.group_size, options);
}

[[maybe_unused]] const bool is_announced =
    register_backend({.name = "fake", .devices = {c10::DeviceType::CPU}, .needs_others = false, .make = make_fake});

}  // namespace
}  // namespace c10d
