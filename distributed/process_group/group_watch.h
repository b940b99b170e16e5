// What the ranks of a group tell each other by its store, beside all operations: that one has aborted, and why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "c10/util/intrusive_ptr.h"
#include "distributed/store/store.h"

namespace c10d {

/// A part of a store in which the processes that have it leave messages for one name, which all that watch that name
/// hear in milliseconds.
///
/// One thread of the process waits for messages, as long as somebody watches, with one query at the store; where the
/// groups of a process have several stores it asks each in turn, every 20 ms. Messages are keys "c10d/said/<n>" of the
/// store below all prefixes. A store that does not answer any more is left alone.
///
///   c10d::GroupWatch watch(store, "group 7", [&](const std::string& kind, const std::string& text) { ... });
///   watch.say("abort", "no more data");
class GroupWatch {
 public:
  /// `hear` is called on that thread and returns at once, for messages that come later, this process's own among them.
  using Hear = std::function<void(const std::string& kind, const std::string& text)>;
  /// `tick` is called there every 200 ms or more often.
  GroupWatch(const c10::intrusive_ptr<Store>& store, std::string name, Hear hear, std::function<void()> tick = nullptr);
  /// Neither is called any more. With the last one the thread ends, within 200 ms where the store answers.
  ~GroupWatch();
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  /// Throws what the store throws, after a second at most.
  void say(const std::string& kind, const std::string& text);

  /// How many threads wait for messages: 0 or 1.
  static int threads();

  struct Root;
  struct Listener;

 private:
  std::shared_ptr<Root> root_;
  std::shared_ptr<Listener> listener_;
};

}  // namespace c10d
