#include "distributed/process_group/store_notice.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace c10d {
namespace {

using std::chrono::milliseconds;

// How long all ranks that see the same fault at about the same time have to say so, and how often that is looked at.
constexpr milliseconds kMoment(100), kPause(5);
constexpr int kTimes = 20;
// How long a store may take for an answer where something is wrong already.
constexpr milliseconds kPatience(500);

constexpr const char* kFirst = "aborted";
// Before the ranks of which one is gone.
constexpr const char* kGone = "gone ";

std::string key_of(int rank) {
  return c10::str("failed/", rank);
}
Notice::WaitedFor waited_for_of(const std::string& said) {
  const bool are_gone = said.rfind(kGone, 0) == 0;
  Notice::WaitedFor result{.ranks = {}, .are_gone = are_gone};
  std::istringstream ranks(are_gone ? said.substr(std::string(kGone).size()) : said);
  for (int rank; ranks >> rank;) result.ranks.push_back(rank);
  return result;
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

void StoreNotice::post(const std::string& why, const WaitedFor& waited_for, std::chrono::milliseconds patience) {
  own_ = why;
  waited_for_.push_back(waited_for);
  const auto begin = std::chrono::steady_clock::now();
  patient_ = store_->clone();
  patient_->setTimeout(patience);
  // Whom it waited for first: it is what others judge by.
  patient_->set(key_of(rank_), (waited_for.are_gone ? kGone : "") + c10::Join(" ", waited_for.ranks));
  first_ = patient_->compareSet(kFirst, "", why);
  // Where two answers took so long, others may take many times that.
  const auto took = std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - begin);
  patience_ = std::min(patience, kTimes * took);
  if (first_ != own_ || !watch_ || is_said_) return;
  try {
    watch_->say("abort", why);
  } catch (const c10::Error&) {
    // Who is not told looks here when this rank ends its connections.
  }
}

// Who was waited for and says nothing is to blame; where all of these have spoken, who else says nothing. A rank says
// something before it ends its connections: one whose connection ended and that has said nothing by then never will.
// Others are slow, or will never say anything either: only time tells.
std::string StoreNotice::others() {
  std::set<int> said{rank_};
  const auto begin = std::chrono::steady_clock::now();
  const auto is_open = [&] {
    return std::any_of(waited_for_.begin(), waited_for_.end(), [&](const WaitedFor& one) {
      const auto silent = std::count_if(one.ranks.begin(), one.ranks.end(), [&](int r) { return !said.contains(r); });
      return silent > (one.are_gone ? 1 : 0);
    });
  };
  const auto goes_on = [&] {
    const auto waited = std::chrono::steady_clock::now() - begin;
    return said.size() < static_cast<size_t>(size_) && (waited < kMoment || (waited < patience_ && is_open()));
  };
  std::string lost;
  do {
    std::this_thread::sleep_for(kPause);
    try {
      for (int other = 0; other < size_; ++other) {
        if (said.contains(other) || !patient_->check({key_of(other)})) continue;
        said.insert(other);
        waited_for_.push_back(waited_for_of(patient_->get_to_str(key_of(other))));
      }
    } catch (const c10::Error& e) {
      // Its process may have ended for the same reason.
      lost = "; what else the others say is not known: " + e.msg();
    }
  } while (lost.empty() && goes_on());
  std::set<int> silent;
  bool waited = false;
  for (const WaitedFor& one : waited_for_) {
    waited = waited || !one.ranks.empty();
    for (const int other : one.ranks) {
      if (!said.contains(other)) silent.insert(other);
    }
  }
  if (silent.empty() && waited) {
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
