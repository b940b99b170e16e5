// What all passes have in common: each is a function that changes a graph and says what it did. The graph computes what
// it computed before, with the same bits where the pass does not say otherwise, and is well-formed (verify()).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torch::graph {

/// What a pass did.
struct PassResult {
  /// How often it changed something; what is counted, each pass says.
  int64_t changes = 0;
  /// What it left as it was, and why, for people.
  std::vector<std::string> notes;
};

}  // namespace torch::graph
