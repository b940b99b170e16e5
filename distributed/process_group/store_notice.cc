#include "distributed/process_group/store_notice.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d {
namespace {

using std::chrono::milliseconds;

// How long ranks that see the same fault at about the same time have to say so, and how often that is looked at.
constexpr milliseconds kMoment(100), kPause(5);
// How long a store may take for an answer where something is wrong already.
constexpr milliseconds kPatience(500);

constexpr const char* kFirst = "aborted";

std::string key_of(int rank) {
  return c10::str("failed/", rank);
}
std::string answer_key(const std::string& topic, int rank) {
  return c10::str("answers/", topic, "/", rank);
}

}  // namespace

StoreNotice::StoreNotice(const c10::intrusive_ptr<Store>& store, int rank, int size)
    : store_(store), rank_(rank), size_(size) {}

Store& StoreNotice::quick_store() {
  const std::lock_guard<std::mutex> lock(quick_mutex_);
  if (!quick_) {
    quick_ = store_->clone();
    quick_->setTimeout(kPatience);
  }
  return *quick_;
}

void StoreNotice::watch(Ears ears) {
  std::random_device device;
  const std::string proposal = c10::str(device(), "-", device());
  const std::string name = "group " + store_->compareSet("name", "", proposal);
  const auto hear = [this, ears](const std::string& kind, const std::string& text) {
    if (kind == "abort") {
      is_said_ = true;
      ears.aborted(text);
    }
    if (kind != "ask") return;
    try {
      quick_store().set(answer_key(text, rank_), ears.status());
    } catch (const c10::Error&) {
      // Who asked is told of no answer.
    }
  };
  watch_ = std::make_unique<GroupWatch>(store_, name, hear, ears.tick);
  // What was said before this rank listened.
  if (store_->check({kFirst})) ears.aborted(store_->get_to_str(kFirst));
}

bool StoreNotice::ask(const std::string& topic) {
  const std::string me = c10::str("rank ", rank_);
  if (quick_store().compareSet(c10::str("asked/", topic), "", me) != me) return false;
  if (watch_) watch_->say("ask", topic);
  return true;
}

std::vector<std::string> StoreNotice::answers(const std::string& topic) {
  std::vector<std::string> all;
  for (int rank = 0; rank < size_; ++rank) {
    const std::string key = answer_key(topic, rank);
    all.push_back(quick_store().check({key}) ? quick_store().get_to_str(key) : "");
  }
  return all;
}

void StoreNotice::post(const std::string& why, const std::vector<int>& waited_for) {
  own_ = why;
  waited_for_.insert(waited_for.begin(), waited_for.end());
  first_ = quick_store().compareSet(kFirst, "", why);
  quick_store().set(key_of(rank_), c10::Join(" ", waited_for));
  if (first_ == own_ && watch_ && !is_said_) watch_->say("abort", why);
}

// Who was waited for and says nothing is to blame; where all of these have spoken, who else says nothing.
std::string StoreNotice::others() {
  std::set<int> said{rank_}, silent;
  const auto until = std::chrono::steady_clock::now() + kMoment;
  std::string lost;
  do {
    std::this_thread::sleep_for(kPause);
    try {
      for (int other = 0; other < size_; ++other) {
        if (said.contains(other) || !quick_store().check({key_of(other)})) continue;
        said.insert(other);
        std::istringstream waited(quick_store().get_to_str(key_of(other)));
        for (int rank; waited >> rank;) waited_for_.insert(rank);
      }
    } catch (const c10::Error& e) {
      // Its process may have ended for the same reason.
      lost = "; what else the others say is not known: " + e.msg();
    }
    silent.clear();
    std::set_difference(waited_for_.begin(), waited_for_.end(), said.begin(), said.end(),
                        std::inserter(silent, silent.end()));
  } while (lost.empty() && said.size() < static_cast<size_t>(size_) && std::chrono::steady_clock::now() < until);
  if (silent.empty() && !waited_for_.empty()) {
    // Around a ring, one that waits for a neighbour may wait for who waits for another.
    for (int other = 0; other < size_; ++other) {
      if (!said.contains(other)) silent.insert(other);
    }
  }
  std::string text;
  if (own_.find(first_) == std::string::npos) text += "; the group's first error: " + first_;
  if (!silent.empty())
    text += c10::str("; no word from rank ", c10::Join(", ", std::vector<int>(silent.begin(), silent.end())));
  return text + lost;
}

}  // namespace c10d
