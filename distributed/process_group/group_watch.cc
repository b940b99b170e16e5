#include "distributed/process_group/group_watch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "distributed/store/prefix_store.h"

namespace c10d {
namespace {

using std::chrono::milliseconds;

// How long a store may take for an answer; of waiting at once, at first, at most, and of a turn with several stores.
constexpr milliseconds kPatience(500), kFirstSlice(10), kLongestSlice(200), kTurn(20);

std::string key_of(int64_t number) {
  return c10::str("c10d/said/", number);
}

// A name and a kind have no such character.
constexpr char kEnd = '\n';

}  // namespace

struct GroupWatch::Listener {
  std::string name;
  Hear hear;
  std::function<void()> tick;
};

struct GroupWatch::Root {
  c10::intrusive_ptr<Store> given;  // by which it is known
  c10::intrusive_ptr<Store> own;    // with a timeout of its own
  std::mutex mutex;
  int64_t next = 0;  // the first message that was not heard
  std::atomic<bool> is_lost = false;
  std::vector<std::shared_ptr<Listener>> listeners;  // below the watcher's mutex, as the list of roots
};

namespace {

// The thread of the process.
class Watcher {
 public:
  // Never destroyed: groups may be left at the end of the program.
  static Watcher& get() {
    static auto* const watcher = new Watcher();
    return *watcher;
  }

  std::shared_ptr<GroupWatch::Root> begin(const c10::intrusive_ptr<Store>& store,
                                          const std::shared_ptr<GroupWatch::Listener>& listener) {
    const std::lock_guard<std::mutex> lives(lifetime_);
    std::shared_ptr<GroupWatch::Root> root;
    for (const auto& known : roots_) {
      if (known->given == store && !known->is_lost) root = known;
    }
    const bool is_new = root == nullptr;
    if (is_new) {
      root = std::make_shared<GroupWatch::Root>();
      root->given = store;
      root->own = store->clone();
      root->own->setTimeout(kPatience);
      while (root->own->check({key_of(root->next)})) ++root->next;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      root->listeners.push_back(listener);
      if (is_new) roots_.push_back(root);
      ++changes_;
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    return root;
  }

  void end(const std::shared_ptr<GroupWatch::Root>& root, const std::shared_ptr<GroupWatch::Listener>& listener) {
    const std::lock_guard<std::mutex> lives(lifetime_);
    bool is_last = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::erase(root->listeners, listener);
      if (root->listeners.empty()) std::erase(roots_, root);
      is_last = roots_.empty();
    }
    if (is_last) thread_.join();
  }

  int threads() {
    const std::lock_guard<std::mutex> lives(lifetime_);
    return thread_.joinable() ? 1 : 0;
  }

 private:
  using Roots = std::vector<std::shared_ptr<GroupWatch::Root>>;

  void run() {
    milliseconds slice = kFirstSlice;
    for (uint64_t seen = 0;;) {
      Roots roots;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (roots_.empty()) return;
        roots = roots_;
        slice = seen == changes_ ? std::min(2 * slice, kLongestSlice) : kFirstSlice;
        seen = changes_;
      }
      const auto turn =
          roots.size() == 1 ? slice : std::max(milliseconds(1), kTurn / static_cast<int64_t>(roots.size()));
      for (const auto& root : roots) listen(*root, turn);
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const auto& root : roots_) {
        for (const auto& listener : root->listeners) {
          if (listener->tick) listener->tick();
        }
      }
    }
  }

  void listen(GroupWatch::Root& root, milliseconds slice) {
    if (root.is_lost) return std::this_thread::sleep_for(slice);
    std::string said;
    try {
      int64_t next = 0;
      {
        const std::lock_guard<std::mutex> lock(root.mutex);
        next = root.next;
      }
      const auto begin = std::chrono::steady_clock::now();
      try {
        root.own->wait({key_of(next)}, slice);
      } catch (const c10::DistStoreError&) {
        if (std::chrono::steady_clock::now() - begin < slice) throw;
        return;  // nothing yet
      }
      said = root.own->get_to_str(key_of(next));
      const std::lock_guard<std::mutex> lock(root.mutex);
      root.next = next + 1;
    } catch (const std::exception&) {
      root.is_lost = true;
      return;
    }
    deliver(root, said);
  }

  void deliver(GroupWatch::Root& root, const std::string& said) {
    const size_t name_end = said.find(kEnd), kind_end = said.find(kEnd, name_end + 1);
    if (name_end == std::string::npos || kind_end == std::string::npos) return;
    const std::string name = said.substr(0, name_end), kind = said.substr(name_end + 1, kind_end - name_end - 1);
    const std::string text = said.substr(kind_end + 1);
    // Held, so that nobody who has left is called.
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& listener : root.listeners) {
      if (listener->name == name) listener->hear(kind, text);
    }
  }

  std::mutex lifetime_;  // before mutex_; held while the thread ends
  std::thread thread_;
  std::mutex mutex_;
  Roots roots_;
  uint64_t changes_ = 0;
};

c10::intrusive_ptr<Store> below_prefixes(const c10::intrusive_ptr<Store>& store) {
  auto* const prefixed = dynamic_cast<PrefixStore*>(store.get());
  return prefixed == nullptr ? store : prefixed->getUnderlyingNonPrefixStore();
}

}  // namespace

GroupWatch::GroupWatch(const c10::intrusive_ptr<Store>& store, std::string name, Hear hear, std::function<void()> tick)
    : listener_(std::make_shared<Listener>(std::move(name), std::move(hear), std::move(tick))) {
  TORCH_CHECK(listener_->name.find(kEnd) == std::string::npos, "GroupWatch: a name must not have line ends");
  root_ = Watcher::get().begin(below_prefixes(store), listener_);
}

GroupWatch::~GroupWatch() {
  Watcher::get().end(root_, listener_);
}

void GroupWatch::say(const std::string& kind, const std::string& text) {
  const std::string message = c10::str(listener_->name, kEnd, kind, kEnd, text);
  int64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(root_->mutex);
    number = root_->next;
  }
  while (root_->own->compareSet(key_of(number), "", message) != message) ++number;
}

int GroupWatch::threads() {
  return Watcher::get().threads();
}

}  // namespace c10d
