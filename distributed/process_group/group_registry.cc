#include "distributed/process_group/group_registry.h"

#include <map>
#include <mutex>

#include "c10/util/exception.h"
#include "distributed/process_group/rank_local.h"

namespace c10d {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, c10::weak_intrusive_ptr<ProcessGroup>> groups;
};

}  // namespace

void register_process_group(const std::string& group_name, const c10::intrusive_ptr<ProcessGroup>& group) {
  TORCH_CHECK(group, "register_process_group: a group is expected for the name '", group_name, "'");
  Registry& registry = RankLocal<Registry>::get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.groups.find(group_name);
  TORCH_CHECK(found == registry.groups.end() || found->second.expired(),
              "A process group is already registered under the name '", group_name, "'");
  registry.groups.insert_or_assign(group_name, c10::weak_intrusive_ptr<ProcessGroup>(group));
}

c10::intrusive_ptr<ProcessGroup> resolve_process_group(const std::string& group_name) {
  Registry& registry = RankLocal<Registry>::get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.groups.find(group_name);
  TORCH_CHECK(found != registry.groups.end(), "Could not resolve the process group registered under the name '",
              group_name, "'");
  auto group = found->second.lock();
  TORCH_CHECK(group, "Process group registered under the name '", group_name, "' has already been destroyed");
  return group;
}

void unregister_process_group(const std::string& group_name) {
  Registry& registry = RankLocal<Registry>::get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.groups.erase(group_name);
}

void unregister_all_process_groups() {
  Registry& registry = RankLocal<Registry>::get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.groups.clear();
}

}  // namespace c10d
