// The least cut of a directed graph with capacities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace torch::compiler {

/// Dinic's algorithm (Dinic 1970): phases of breadth-first levels and blocking flows.
class MaxFlow {
 public:
  /// So large that no cut that can do without cuts it, and small enough that sums of some millions hold.
  static constexpr int64_t kInfinity = int64_t{1} << 42;

  explicit MaxFlow(size_t nodes) : edges_of_(nodes) {}
  void add(size_t from, size_t to, int64_t capacity);
  int64_t run(size_t source, size_t sink);
  /// After run(): whether the node is on the source's side of the least cut.
  bool on_source_side(size_t node) const { return level_[node] >= 0; }

 private:
  struct Edge {
    size_t to;
    int64_t left;
  };
  bool find_levels(size_t source, size_t sink);
  int64_t push(size_t source, size_t sink);

  std::vector<Edge> edges_;  // each with its reverse beside it
  std::vector<std::vector<size_t>> edges_of_;
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace torch::compiler
