// Replays the recorded cases of a family.
#pragma once

#include <string>
#include <vector>

#include "tests/recorded/families.h"

namespace recorded {

struct CaseReport {
  std::string id;
  std::vector<std::string> failures;  // empty where it passed
  std::string skip_reason;            // empty where it ran
};

CaseReport replay_case(const Family& family, const Recordings& recordings, const Json& one);

// The case with an error in the n-th of its recorded results, counted from 0; null where it has fewer.
Json with_planted_error(const Family& family, const Json& one, size_t n);

}  // namespace recorded
