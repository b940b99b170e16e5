#include "compile/training/max_flow.h"

#include <algorithm>

namespace torch::compiler {

void MaxFlow::add(size_t from, size_t to, int64_t capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, std::min(capacity, kInfinity)});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool MaxFlow::find_levels(size_t source, size_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<size_t> open{source};
  for (size_t i = 0; i < open.size(); ++i) {
    for (const size_t e : edges_of_[open[i]]) {
      const Edge& edge = edges_[e];
      if (edge.left == 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[open[i]] + 1;
      open.push_back(edge.to);
    }
  }
  return level_[sink] >= 0;
}

// One way to the sink along the levels; 0 where there is none. Not recursive: ways are as long as graphs are deep.
int64_t MaxFlow::push(size_t source, size_t sink) {
  std::vector<size_t> way;  // edges
  size_t at = source;
  while (at != sink) {
    size_t& next = next_[at];
    while (next < edges_of_[at].size()) {
      const Edge& edge = edges_[edges_of_[at][next]];
      if (edge.left > 0 && level_[edge.to] == level_[at] + 1) break;
      ++next;
    }
    if (next < edges_of_[at].size()) {
      way.push_back(edges_of_[at][next]);
      at = edges_[way.back()].to;
      continue;
    }
    if (at == source) return 0;
    at = edges_[way.back() ^ 1].to;
    ++next_[at];
    way.pop_back();
  }
  int64_t flow = kInfinity;
  for (const size_t e : way) flow = std::min(flow, edges_[e].left);
  for (const size_t e : way) {
    edges_[e].left -= flow;
    edges_[e ^ 1].left += flow;
  }
  return flow;
}

int64_t MaxFlow::run(size_t source, size_t sink) {
  int64_t total = 0;
  while (find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    for (int64_t flow = push(source, sink); flow > 0; flow = push(source, sink)) total += flow;
  }
  return total;
}

}  // namespace torch::compiler
