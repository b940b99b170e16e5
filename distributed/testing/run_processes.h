// Ranks as processes of a test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace c10d::testing {

/// How a rank's process ended.
struct Ended {
  int exit_code = -1;  // 0 where the body returned, 1 where it threw
  int signal = 0;      // that ended it; SIGKILL also where it had not ended after the limit
  std::string error;   // what it threw
  std::chrono::milliseconds after{0};
};

/// Runs `body(rank)` in a process for each rank, which is forked from this one: it must not have started threads that
/// the bodies need. `meanwhile` runs here, with the processes' numbers. Processes that have not ended after `limit` are
/// killed.
std::vector<Ended> run_processes(int size, const std::function<void(int rank)>& body,
                                 std::chrono::milliseconds limit = std::chrono::seconds(30),
                                 const std::function<void(const std::vector<pid_t>&)>& meanwhile = nullptr);

}  // namespace c10d::testing
