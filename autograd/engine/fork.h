#pragma once

#include <cstdint>
#include <mutex>

#include "c10/util/atomic.h"

// Forked children: the threads of the parent are gone there, and what they held is held for ever unless it is let go of.
namespace torch::autograd {

// How many forks lie between the first process and this one.
inline constinit c10::Atomic<uint32_t> fork_generation{0};

// The locks of the engine that are not one pass's own: a child gets them fresh.
struct ForkSafeMutexes {
  std::mutex forward_level;
  std::mutex view_history;
  std::mutex lanes;
  // Of accumulation into leaves, by the node's address.
  static constexpr size_t kStripes = 32;
  std::mutex accumulate[kStripes];

  std::mutex& accumulate_into(const void* node) {
    return accumulate[(reinterpret_cast<uintptr_t>(node) >> 6) % kStripes];
  }
};
extern constinit ForkSafeMutexes mutexes;

}  // namespace torch::autograd
