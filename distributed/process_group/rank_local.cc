#include "distributed/process_group/rank_local.h"

#include <atomic>
#include <utility>

#include "aten/core/thread_local_state.h"
#include "c10/util/env.h"

namespace c10d {
namespace {

std::atomic<bool> is_isolated = false;

thread_local RankContextPtr scope_rank, own_rank;

// Never destroyed: what threads that are left at the end of the program use stays.
const RankContextPtr& process_rank() {
  static const auto* const rank = new RankContextPtr(c10::make_intrusive<RankContext>());
  return *rank;
}

[[maybe_unused]] const bool is_carried = at::impl::register_thread_local_part({
    .get = []() -> at::impl::ThreadLocalPart::Value { return scope_rank ? scope_rank : own_rank; },
    .set =
        [](const at::impl::ThreadLocalPart::Value& value) {
          scope_rank = RankContextPtr::reclaim_copy(static_cast<RankContext*>(value.get()));
        },
});

struct Environment {
  std::mutex mutex;
  std::map<std::string, std::optional<std::string>> values;
};

}  // namespace

void* RankContext::find_or_make(const void* key, Make make) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto found = parts_.find(key);
  if (found != parts_.end()) return found->second.get();
  std::shared_ptr<void> made = make();
  return parts_.emplace(key, std::move(made)).first->second.get();
}

RankContextPtr current_rank() {
  if (scope_rank) return scope_rank;
  if (!is_isolated.load(std::memory_order_relaxed)) return process_rank();
  if (!own_rank) own_rank = c10::make_intrusive<RankContext>();
  return own_rank;
}

RankScope::RankScope() : RankScope(c10::make_intrusive<RankContext>()) {}
RankScope::RankScope(RankContextPtr rank) : before_(std::exchange(scope_rank, std::move(rank))) {}
RankScope::~RankScope() {
  std::swap(scope_rank, before_);
}

void set_thread_isolation_mode(bool enable) {
  is_isolated = enable;
}
bool get_thread_isolation_mode() {
  return is_isolated;
}

std::optional<std::string> rank_environment(const std::string& name) {
  {
    Environment& own = RankLocal<Environment>::get();
    const std::lock_guard<std::mutex> lock(own.mutex);
    const auto found = own.values.find(name);
    if (found != own.values.end()) return found->second;
  }
  return c10::utils::get_env(name.c_str());
}

void set_rank_environment(const std::string& name, std::optional<std::string> value) {
  Environment& own = RankLocal<Environment>::get();
  const std::lock_guard<std::mutex> lock(own.mutex);
  own.values[name] = std::move(value);
}

}  // namespace c10d
