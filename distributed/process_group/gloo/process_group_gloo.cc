#include "distributed/process_group/gloo/process_group_gloo.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "c10/util/string_util.h"
#include "distributed/process_group/rank_local.h"

namespace c10d {
namespace {

// How long ranks that see the same fault at about the same time have to say so.
constexpr std::chrono::milliseconds kMoment(100);
// How long a store may take for an answer where something is wrong already.
constexpr std::chrono::milliseconds kPatience(500);

class StoreNotice final : public Notice {
 public:
  StoreNotice(const c10::intrusive_ptr<Store>& store, int rank, int size)
      : store_(store->clone()), rank_(rank), size_(size) {
    store_->setTimeout(kPatience);
  }

  void post(const std::string& why, const std::vector<int>& waited_for) override {
    own_ = why;
    waited_for_.insert(waited_for.begin(), waited_for.end());
    first_ = store_->compareSet("aborted", "", why);
    store_->set(key(rank_), c10::Join(" ", waited_for));
  }

  // Who was waited for and says nothing is to blame.
  std::string others() override {
    std::this_thread::sleep_for(kMoment);
    std::set<int> said{rank_};
    for (int other = 0; other < size_; ++other) {
      if (other == rank_ || !store_->check({key(other)})) continue;
      said.insert(other);
      std::istringstream waited(store_->get_to_str(key(other)));
      for (int rank; waited >> rank;) waited_for_.insert(rank);
    }
    std::vector<int> silent;
    std::set_difference(waited_for_.begin(), waited_for_.end(), said.begin(), said.end(), std::back_inserter(silent));
    std::string text;
    if (first_ != own_) text += "; the group's first error: " + first_;
    if (!silent.empty()) text += c10::str("; no word from rank ", c10::Join(", ", silent));
    return text;
  }

 private:
  static std::string key(int rank) { return c10::str("failed/", rank); }

  const c10::intrusive_ptr<Store> store_;
  const int rank_, size_;
  std::string own_, first_;
  std::set<int> waited_for_;
};

}  // namespace

ProcessGroupGloo::ProcessGroupGloo(const c10::intrusive_ptr<Store>& store, int rank, int size,
                                   c10::intrusive_ptr<Options> options)
    : HostBackend(make_gloo_engine(store, rank, size,
                                   options->devices.empty() ? createDefaultDevice() : options->devices.front(),
                                   options->timeout),
                  options, std::make_unique<StoreNotice>(store, rank, size)) {}

GlooInterface ProcessGroupGloo::createDefaultDevice() {
  const auto names = rank_environment("GLOO_SOCKET_IFNAME");
  if (!names) return {};
  return createDeviceForInterface(names->substr(0, names->find(',')));
}

}  // namespace c10d
