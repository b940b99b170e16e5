#include "distributed/process_group/init.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/process_group/debug.h"
#include "distributed/process_group/flight_recorder.h"
#include "distributed/process_group/process_group_wrapper.h"
#include "distributed/process_group/types.h"
#include "distributed/store/prefix_store.h"
#include "utils/logging/logging.h"

namespace c10d {
namespace {

using Ranks = std::vector<int64_t>;

// A group that was made here.
struct Member {
  ProcessGroupPtr group;
  Ranks ranks;           // by the default group's
  std::string backends;  // "cpu:gloo,cuda:nccl"
};

struct World {
  std::mutex mutex;
  std::vector<Member> members;      // the default group first
  c10::intrusive_ptr<Store> store;  // of all groups
  std::string backends;             // as the default group was asked for
  int64_t names = 0;                // of groups, so far
  std::map<std::string, int64_t> local_names;
};
World& world() {
  return RankLocal<World>::get();
}

constexpr const char* kNotInitialized =
    "Default process group has not been initialized, please make sure to call init_process_group.";

constexpr const char* kGo = "go";

// What a group is made of.
struct Plan {
  c10::intrusive_ptr<Store> store;
  std::string name, description, backends;
  Ranks ranks;
  int rank = 0;
  std::optional<std::chrono::milliseconds> timeout;
  c10::intrusive_ptr<Backend::Options> options;
  std::optional<at::Device> device;
};

std::string this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return c10::str(host, ":", ::getpid());
}

std::string key_of(int rank) {
  return c10::str("rank/", rank);
}

// Of those that have not checked in; "" where that cannot be told.
std::string absent(const Plan& plan) {
  std::vector<int> ranks;
  try {
    const auto store = plan.store->clone();
    store->setTimeout(std::chrono::milliseconds(500));
    for (int rank = 0; rank < static_cast<int>(plan.ranks.size()); ++rank) {
      if (!store->check({key_of(rank)})) ranks.push_back(rank);
    }
  } catch (const c10::Error&) {
    return "";
  }
  if (ranks.empty()) return "";
  return c10::str("; no word from rank", ranks.size() == 1 ? " " : "s ", c10::Join(", ", ranks));
}

// Says to all that wait in meet() that they may go on, or why not; the first one counts.
std::string decide(const Plan& plan, const std::string& what) {
  return plan.store->compareSet("decision", "", what);
}

// Returns when all ranks are here and ask for the same; a rank that asks for something else ends it for all.
void meet(const Plan& plan, std::chrono::milliseconds timeout) {
  plan.store->set(key_of(plan.rank), this_process());
  const std::string asked = c10::str("ranks ", c10::Join(", ", plan.ranks), " on ", plan.backends);
  const std::string first = plan.store->compareSet("asked", "", c10::str("rank ", plan.rank, " for ", asked));
  std::string decision;
  if (first.substr(first.find(" for ") + 5) != asked) {
    decision = c10::str("the ranks do not agree: rank ", plan.rank, " asks for ", asked, ", and ", first);
    decide(plan, decision);
  } else if (plan.store->add("here", 1) == static_cast<int64_t>(plan.ranks.size())) {
    decision = decide(plan, kGo);
  } else {
    try {
      plan.store->wait({"decision"}, timeout);
      decision = plan.store->get_to_str("decision");
    } catch (const c10::DistStoreError&) {
      // Who comes later is told so, too.
      decision = decide(plan, c10::str("rank ", plan.rank, " of ", plan.ranks.size(), " waited for the others for ",
                                       timeout.count(), " ms", absent(plan)));
    }
  }
  TORCH_CHECK_WITH(DistBackendError, decision == kGo, "process group ", plan.name, ": ", decision);
}

bool are_options_for(const Plan& plan, const BackendPlugin& plugin) {
  return plan.options && plan.options->backend == plugin.name;
}
std::chrono::milliseconds timeout_of(const Plan& plan, const BackendPlugin& plugin) {
  if (plan.timeout) return *plan.timeout;
  return are_options_for(plan, plugin) ? plan.options->timeout : plugin.timeout;
}

c10::intrusive_ptr<Backend> make_backend(const Plan& plan, const BackendPlugin& plugin, const std::string& part) {
  try {
    return plugin.make({.store = c10::make_intrusive<PrefixStore>(part, plan.store),
                        .group_rank = plan.rank,
                        .group_size = static_cast<int>(plan.ranks.size()),
                        .timeout = timeout_of(plan, plugin),
                        .group_id = plan.name,
                        .global_ranks_in_group = plan.ranks,
                        .group_desc = plan.description},
                       are_options_for(plan, plugin) ? plan.options : nullptr);
  } catch (const c10::Error& e) {
    TORCH_CHECK_WITH(DistBackendError, false, "process group ", plan.name, ": rank ", plan.rank, " of ",
                     plan.ranks.size(), " could not be connected by ", plugin.name, ": ", e.msg(), absent(plan));
  }
}

Member make(const Plan& plan) {
  const auto backends = parse_backends(plan.backends);
  const int size = static_cast<int>(plan.ranks.size());
  Member made{
      .group = c10::make_intrusive<ProcessGroup>(plan.store, plan.rank, size), .ranks = plan.ranks, .backends = ""};
  made.group->setGroupName(plan.name);
  made.group->setGroupDesc(plan.description);
  bool needs_others = false;
  std::chrono::milliseconds longest(0);
  for (const auto& [device, name] : backends) {
    needs_others = needs_others || find_backend(name).needs_others;
    longest = std::max(longest, timeout_of(plan, find_backend(name)));
  }
  if (needs_others) meet(plan, longest);
  std::map<std::string, c10::intrusive_ptr<Backend>> by_name;
  for (const auto& [device, name] : backends) {
    const BackendPlugin& plugin = find_backend(name);
    c10::intrusive_ptr<Backend>& backend = by_name[name];
    if (!backend) {
      backend = make_backend(plan, plugin, name);
      // At the level Detail every call is compared first, on connections of its own.
      if (debug_level() == DebugLevel::Detail && is_backend_available("gloo") && name != "fake") {
        backend = c10::make_intrusive<ProcessGroupWrapper>(
            backend, make_backend(plan, find_backend("gloo"), name + "_compared"));
      }
    }
    backend->setGroupUid(plan.name);
    backend->setGroupDesc(plan.description);
    if (plan.device && plan.device->type() == device) backend->setBoundDeviceId(plan.device);
    const ProcessGroup::BackendType type = ProcessGroup::strToBackendType(name);
    made.group->setBackend(device, type, backend);
    if (plan.device && plan.device->type() == device) made.group->setDefaultBackend(type);
    made.backends += c10::str(made.backends.empty() ? "" : ",", c10::DeviceTypeName(device, true), ":", name);
  }
  return made;
}

ProcessGroupPtr add(Member member) {
  register_process_group(member.group->getGroupName(), member.group);
  KD_LOG_COMPONENT(kDistributed, INFO) << "process group '" << member.group->getGroupName() << "': rank "
                                       << member.group->getRank() << " of " << member.group->getSize() << " on "
                                       << member.backends;
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  w.members.push_back(member);
  return member.group;
}

// Throws for groups that were not made here.
Member member_of(const char* function, const GroupArg& group) {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  TORCH_CHECK_VALUE(!w.members.empty(), kNotInitialized);
  if (!group) return w.members.front();
  for (const Member& member : w.members) {
    if (member.group == *group) return member;
  }
  TORCH_CHECK_VALUE(false, function, ": the group ", *group ? c10::str("'", (*group)->getGroupName(), "' ") : "",
                    "is none that init_process_group or new_group gave this rank");
}

void check_ranks(const char* function, const Ranks& ranks, int64_t size) {
  TORCH_CHECK_VALUE(!ranks.empty(), function, ": a group needs one rank or more");
  std::set<int64_t> seen;
  for (const int64_t rank : ranks) {
    TORCH_CHECK_VALUE(rank >= 0 && rank < size, function, ": there is no rank ", rank, " among the ", size);
    TORCH_CHECK_VALUE(seen.insert(rank).second, function, ": rank ", rank, " stands twice in the list");
  }
}

int place_of(const Ranks& ranks, int64_t rank) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

// The same on all of them, and short enough for a key.
std::string name_of_ranks(const Ranks& ranks) {
  const std::string list = c10::Join("_", ranks);
  if (list.size() <= 200) return list;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : list) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return c10::str(ranks.size(), "_", hash);
}

int variable(const std::string& name, const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  TORCH_CHECK_VALUE(error == std::errc() && end == text.data() + text.size(), "expected a number in ", name,
                    ", but got '", text, "'");
  return number;
}

std::optional<int> first_number(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto text = rank_environment(name)) return variable(name, *text);
  }
  return std::nullopt;
}

}  // namespace

// --- the default group ---

void init_process_group(const std::string& backend, const InitProcessGroupOptions& options) {
  TORCH_CHECK_VALUE(!is_initialized(), "trying to initialize the default process group twice!");
  TORCH_CHECK_VALUE(!options.timeout || options.timeout->count() > 0,
                    "init_process_group: expected a positive timeout, but got ", options.timeout->count(), " ms");
  parse_backends(backend);
  if (rank_environment("TORCH_FR_DUMP_ON_SIGUSR2").value_or("0") == "1") dump_flights_on_signal(SIGUSR2);
  Rendezvous r{.store = options.store, .rank = options.rank, .world_size = options.world_size};
  if (options.store) {
    TORCH_CHECK_VALUE(options.init_method.empty(), "Cannot specify both init_method and store.");
    TORCH_CHECK_VALUE(r.world_size > 0, "world_size must be positive if using store");
    TORCH_CHECK_VALUE(r.rank >= 0 && r.rank < r.world_size, "init_process_group: rank must be of 0 to ",
                      r.world_size - 1, " if using store, but is ", r.rank);
  } else {
    r = rendezvous(options.init_method.empty() ? "env://" : options.init_method, options.rank, options.world_size,
                   options.timeout.value_or(kBackendDefaultTimeout));
  }
  // Ranks that start again, on a store that stays, leave what was there alone.
  const int64_t turn = r.store->add(c10::str("c10d/turn/", r.rank), 1);
  World& w = world();
  const auto store = c10::make_intrusive<PrefixStore>(c10::str("c10d/", turn), r.store);
  Plan plan;
  plan.name = options.group_name.empty() ? "0" : options.group_name;
  plan.description = "default_pg";
  plan.store = c10::make_intrusive<PrefixStore>(plan.name, store);
  plan.backends = backend;
  plan.ranks.resize(static_cast<size_t>(r.world_size));
  std::iota(plan.ranks.begin(), plan.ranks.end(), 0);
  plan.rank = r.rank;
  plan.timeout = options.timeout;
  plan.options = options.pg_options;
  plan.device = options.device_id;
  Member member;
  try {
    member = make(plan);
  } catch (const c10::DistBackendError& e) {
    // Another process may have taken this one's place.
    TORCH_CHECK_WITH(DistBackendError, turn == 1, e.msg(), "; rank ", r.rank, " has started ", turn,
                     " times with this store");
    throw;
  }
  {
    const std::lock_guard<std::mutex> lock(w.mutex);
    w.store = store;
    w.backends = backend;
    w.names = 1;
    w.local_names.clear();
  }
  add(std::move(member));
}

void destroy_process_group(const GroupArg& group) {
  const Member chosen = member_of("destroy_process_group", group);
  World& w = world();
  std::vector<Member> leaving;
  {
    const std::lock_guard<std::mutex> lock(w.mutex);
    if (chosen.group == w.members.front().group) {
      leaving.swap(w.members);
      w.store = nullptr;
    } else {
      leaving.push_back(chosen);
      w.members.erase(std::find_if(w.members.begin(), w.members.end(),
                                   [&](const Member& member) { return member.group == chosen.group; }));
    }
  }
  for (; !leaving.empty(); leaving.pop_back()) {
    unregister_process_group(leaving.back().group->getGroupName());
    KD_LOG_COMPONENT(kDistributed, INFO) << "process group '" << leaving.back().group->getGroupName() << "' ends";
    leaving.back().group->shutdown();
  }
}

// --- other groups ---

ProcessGroupPtr new_group(const std::optional<Ranks>& ranks, const NewGroupOptions& options) {
  const Member all = member_of("new_group", std::nullopt);
  Plan plan;
  plan.ranks = ranks.value_or(all.ranks);
  check_ranks("new_group", plan.ranks, static_cast<int64_t>(all.ranks.size()));
  if (options.sort_ranks) std::sort(plan.ranks.begin(), plan.ranks.end());
  plan.rank = place_of(plan.ranks, all.group->getRank());
  World& w = world();
  {
    const std::lock_guard<std::mutex> lock(w.mutex);
    plan.backends = options.backend.empty() ? w.backends : options.backend;
    if (options.use_local_synchronization) {
      TORCH_CHECK_VALUE(plan.rank >= 0, "new_group: with use_local_synchronization only its ranks may call, not rank ",
                        all.group->getRank());
      const std::string members = name_of_ranks(plan.ranks);
      plan.name = c10::str("ranks_", members, ":", w.local_names[members]++);
    } else {
      plan.name = std::to_string(w.names++);
    }
    plan.store = c10::make_intrusive<PrefixStore>(plan.name, w.store);
  }
  parse_backends(plan.backends);
  plan.description = options.group_desc.empty() ? "undefined" : options.group_desc;
  plan.timeout = options.timeout;
  plan.options = options.pg_options;
  plan.device = options.device_id;
  return plan.rank < 0 ? nullptr : add(make(plan));
}

ProcessGroupPtr split_group(const GroupArg& parent, const std::vector<Ranks>& split_ranks,
                            const NewGroupOptions& options) {
  const Member from = member_of("split_group", parent);
  std::set<int64_t> seen;
  Plan plan;
  plan.rank = -1;
  int part = -1;
  for (size_t i = 0; i < split_ranks.size(); ++i) {
    Ranks ranks = split_ranks[i];
    check_ranks("split_group", ranks, static_cast<int64_t>(from.ranks.size()));
    for (const int64_t rank : ranks)
      TORCH_CHECK_VALUE(seen.insert(rank).second, "split_group: rank ", rank, " is in two of the groups");
    if (options.sort_ranks) std::sort(ranks.begin(), ranks.end());
    const int place = place_of(ranks, from.group->getRank());
    if (place < 0) continue;
    plan.rank = place;
    part = static_cast<int>(i);
    for (const int64_t rank : ranks) plan.ranks.push_back(from.ranks[static_cast<size_t>(rank)]);
  }
  TORCH_CHECK_VALUE(!split_ranks.empty(), "split_group: the ranks of one group or more are expected");
  World& w = world();
  {
    const std::lock_guard<std::mutex> lock(w.mutex);
    const std::string name = from.group->getGroupName();
    plan.name = c10::str(name, ":split_", w.local_names[name]++, "_", part);
    plan.store = c10::make_intrusive<PrefixStore>(plan.name, w.store);
  }
  plan.description = options.group_desc.empty() ? from.group->getGroupDesc() + ":split" : options.group_desc;
  plan.backends = from.backends;
  plan.timeout = options.timeout;
  plan.options = options.pg_options;
  plan.device = options.device_id;
  return plan.rank < 0 ? nullptr : add(make(plan));
}

Subgroups new_subgroups_by_enumeration(const std::vector<Ranks>& ranks_per_subgroup, const NewGroupOptions& options) {
  TORCH_CHECK_VALUE(!ranks_per_subgroup.empty(),
                    "new_subgroups_by_enumeration: the ranks of one group or more are expected");
  std::set<int64_t> seen;
  for (const Ranks& ranks : ranks_per_subgroup) {
    for (const int64_t rank : ranks)
      TORCH_CHECK_VALUE(seen.insert(rank).second, "new_subgroups_by_enumeration: rank ", rank,
                        " is in two of the groups");
  }
  Subgroups made;
  for (const Ranks& ranks : ranks_per_subgroup) {
    made.all.push_back(new_group(ranks, options));
    if (made.all.back()) made.current = made.all.back();
  }
  return made;
}

Subgroups new_subgroups(int64_t group_size, const NewGroupOptions& options) {
  const int64_t size = get_world_size();
  if (group_size == 0) {
    const auto local = first_number({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"});
    TORCH_CHECK_VALUE(local, "new_subgroups: group_size is needed, as LOCAL_WORLD_SIZE is not set");
    group_size = *local;
  }
  TORCH_CHECK_VALUE(group_size > 0, "The arg 'group_size' (", group_size, ") must be positive");
  TORCH_CHECK_VALUE(size >= group_size, "The arg 'group_size' (", group_size, ") must not exceed the world size (",
                    size, ")");
  TORCH_CHECK_VALUE(size % group_size == 0, "The world size (", size, ") must be divisible by 'group_size' (",
                    group_size, ")");
  std::vector<Ranks> all(static_cast<size_t>(size / group_size));
  for (int64_t rank = 0; rank < size; ++rank) all[static_cast<size_t>(rank / group_size)].push_back(rank);
  return new_subgroups_by_enumeration(all, options);
}

// --- questions ---

bool is_available() {
  return true;
}

bool is_initialized() {
  World& w = world();
  const std::lock_guard<std::mutex> lock(w.mutex);
  return !w.members.empty();
}

bool is_torchelastic_launched() {
  return rank_environment("TORCHELASTIC_RUN_ID").has_value();
}

ProcessGroupPtr get_default_group() {
  return member_of("get_default_group", std::nullopt).group;
}

int get_rank(const GroupArg& group) {
  if (group) return *group ? (*group)->getRank() : -1;
  return get_default_group()->getRank();
}

int get_world_size(const GroupArg& group) {
  if (group) return *group ? (*group)->getSize() : -1;
  return get_default_group()->getSize();
}

std::string get_backend(const GroupArg& group) {
  return member_of("get_backend", group).group->getBackendName();
}

std::string get_backend_config(const GroupArg& group) {
  return member_of("get_backend_config", group).backends;
}

int get_node_local_rank(std::optional<int> fallback_rank) {
  const auto found = first_number({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"});
  TORCH_CHECK(found || fallback_rank,
              "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to "
              "work, assuming you are not running in a multi-device context and want the code to run locally instead.");
  return found ? *found : *fallback_rank;
}

Ranks get_process_group_ranks(const GroupArg& group) {
  return member_of("get_process_group_ranks", group).ranks;
}

int get_group_rank(const GroupArg& group, int64_t global_rank) {
  const int place = place_of(member_of("get_group_rank", group).ranks, global_rank);
  TORCH_CHECK_VALUE(place >= 0, "Global rank ", global_rank, " is not part of group ",
                    group && *group ? (*group)->getGroupName() : "0");
  return place;
}

int64_t get_global_rank(const GroupArg& group, int64_t group_rank) {
  const Ranks ranks = member_of("get_global_rank", group).ranks;
  TORCH_CHECK_VALUE(group_rank >= 0 && group_rank < static_cast<int64_t>(ranks.size()), "Group rank ", group_rank,
                    " is not part of group ", group && *group ? (*group)->getGroupName() : "0");
  return ranks[static_cast<size_t>(group_rank)];
}

}  // namespace c10d
