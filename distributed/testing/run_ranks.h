// Ranks as threads of a test.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace c10d::testing {

/// Runs `body(rank)` on a thread for each rank, with everything that a rank has to itself (rank_local.h). Returns when
/// all have ended; what one throws is thrown here, that of the lowest rank first. A program whose ranks have not ended
/// after `limit` prints which have not, and aborts.
void run_ranks(int size, const std::function<void(int rank)>& body,
               std::chrono::milliseconds limit = std::chrono::seconds(60));

/// What each rank threw, as text; "" for nothing.
std::vector<std::string> errors_of_ranks(int size, const std::function<void(int rank)>& body,
                                         std::chrono::milliseconds limit = std::chrono::seconds(60));

/// For ranks that are processes of a launcher: from now on the bodies of this rank alone are run here. `gather`, called
/// by all processes, takes what this rank threw, or "", and returns what each rank did.
void set_own_rank(int rank, std::function<std::vector<std::string>(const std::string& own)> gather);

}  // namespace c10d::testing
