// A group's notices in its store.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "c10/util/intrusive_ptr.h"
#include "distributed/process_group/group_watch.h"
#include "distributed/process_group/host_backend.h"
#include "distributed/store/store.h"

namespace c10d {

/// `store` is the group's alone; all ranks make their notice with the same part of it.
class StoreNotice final : public Notice {
 public:
  StoreNotice(const c10::intrusive_ptr<Store>& store, int rank, int size);
  void watch(Ears ears) override;
  void unwatch() override { watch_ = nullptr; }
  void post(const std::string& why, const WaitedFor& waited_for, std::chrono::milliseconds patience) override;
  std::string others() override;
  bool ask(const std::string& topic) override;
  std::vector<std::string> answers(const std::string& topic) override;

 private:
  Store& quick_store();

  const c10::intrusive_ptr<Store> store_;
  std::mutex quick_mutex_;
  c10::intrusive_ptr<Store> quick_;  // with a short timeout; made when it is wanted
  const int rank_, size_;
  std::unique_ptr<GroupWatch> watch_;
  std::atomic<bool> is_said_ = false;  // the first error, to all
  std::string own_, first_;
  std::vector<WaitedFor> waited_for_;      // by this rank, and by others
  std::chrono::milliseconds patience_{0};  // with those who say nothing
  c10::intrusive_ptr<Store> patient_;      // with that timeout
};

}  // namespace c10d
