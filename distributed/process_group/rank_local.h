// What belongs to a rank: the process, or, where ranks are threads, a thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "c10/util/intrusive_ptr.h"

namespace c10d {

/// Everything that a rank keeps (RankLocal). Thread-safe.
class RankContext : public c10::intrusive_ptr_target {
 public:
  using Make = std::shared_ptr<void> (*)();
  /// What stands under the key; made where there is nothing yet.
  void* find_or_make(const void* key, Make make);

 private:
  std::recursive_mutex mutex_;  // what is made may ask for something else
  std::map<const void*, std::shared_ptr<void>> parts_;
};
using RankContextPtr = c10::intrusive_ptr<RankContext>;

/// The calling thread's rank: that of a RankScope, or of its own in thread isolation mode, or else the process.
///
/// at::ThreadLocalState carries it to other threads, such as those that run a backward pass.
RankContextPtr current_rank();

/// The calling thread belongs to a rank as long as this lives; then to the one before.
///
///   std::thread worker([rank = c10d::current_rank()] { c10d::RankScope scope(rank); ... });
class RankScope {
 public:
  /// A new rank.
  RankScope();
  explicit RankScope(RankContextPtr rank);
  ~RankScope();
  RankScope(const RankScope&) = delete;
  RankScope& operator=(const RankScope&) = delete;

 private:
  RankContextPtr before_;
};

/// Whether each thread that is in no RankScope is a rank by itself, until it ends. Off at first; of the whole process.
void set_thread_isolation_mode(bool enable);
bool get_thread_isolation_mode();

/// One T for each rank, made when the rank first asks.
///
///   struct Steps { int done = 0; };
///   c10d::RankLocal<Steps>::get().done++;
template <class T>
class RankLocal {
 public:
  RankLocal() = delete;
  static T& get() {
    return *static_cast<T*>(current_rank()->find_or_make(&key_, [] { return std::shared_ptr<void>(new T()); }));
  }

 private:
  inline static char key_ = 0;  // whose address is T's
};

/// A variable of the environment, as the rank sees it; nothing where it is not set.
std::optional<std::string> rank_environment(const std::string& name);
/// Sets a variable for the calling thread's rank alone, or (nothing) hides the process's.
void set_rank_environment(const std::string& name, std::optional<std::string> value);

}  // namespace c10d
