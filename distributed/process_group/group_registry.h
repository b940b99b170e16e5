// Process groups by name.
#pragma once

#include <string>

#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/process_group.h"

namespace c10d {

/// Gives a group a name among those of the calling thread's rank (RankLocal). The registry does not keep it alive.
/// Throws where the name is another's that is alive.
void register_process_group(const std::string& group_name, const c10::intrusive_ptr<ProcessGroup>& group);

/// The group of that name. Throws where there is none, or no more.
///
///   c10d::resolve_process_group("0")->allreduce(tensors)->wait();
c10::intrusive_ptr<ProcessGroup> resolve_process_group(const std::string& group_name);

/// Does nothing where there is none.
void unregister_process_group(const std::string& group_name);
void unregister_all_process_groups();

}  // namespace c10d
