// Plans: how the library runs a graph, chosen once for all threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "aten/cuda/cudnn/cache.h"
#include "aten/cuda/cudnn/graph.h"

namespace at::cuda::cudnn {

/// What the program allows.
struct Policy {
  bool deterministic = false;  // no engine whose results differ from run to run
  bool tf32 = false;           // float32 may be rounded to TF32 before it is multiplied
  bool benchmark = false;      // engines are timed, the first `benchmark_limit` of them (0: all)
  int benchmark_limit = 0;
};
/// As at::globalContext() says, for the current stream.
Policy current_policy();

struct Plan {
  Graph graph;
  Descriptor config, plan;
  size_t workspace = 0;
  // The library does not promise for every engine that several threads may run a plan at once.
  std::mutex mutex;
};

/// All that decides about a plan.
struct PlanKey {
  std::array<int64_t, 42> words{};
  size_t used = 0;

  void add(int64_t word) { words.at(used++) = word; }
  bool operator==(const PlanKey&) const = default;
};
PlanKey key_of(const ConvolutionProblem& problem, const Policy& policy, int device);

struct PlanKeyHash {
  size_t operator()(const PlanKey& key) const {
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t i = 0; i < key.used; ++i) hash = (hash ^ static_cast<uint64_t>(key.words[i])) * 0x100000001B3;
    return hash ^ hash >> 32;
  }
};

/// Forgets what was not used longest when it holds more than the limit.
class PlanCache {
 public:
  static PlanCache& get();

  /// The plan, null where it is known that there is none; nullopt: nothing is known.
  std::optional<std::shared_ptr<Plan>> find(const PlanKey& key);
  void put(const PlanKey& key, std::shared_ptr<Plan> plan);
  CacheStats stats();
  void set_limit(size_t entries);
  void clear();

 private:
  struct Entry {
    PlanKey key;
    std::shared_ptr<Plan> plan;
  };
  PlanCache();
  void shrink();

  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<PlanKey, std::list<Entry>::iterator, PlanKeyHash> places_;
  size_t limit_;
  uint64_t hits_ = 0, misses_ = 0;
};

/// Memory of a tensor of the graph.
struct Binding {
  TensorId id;
  const void* data;
};

/// Runs the graph of `problem` on the current stream of the current device; false, with nothing written that counts,
/// where the library has no plan for it.
bool try_run(const ConvolutionProblem& problem, const Binding* bindings, size_t count);

}  // namespace at::cuda::cudnn
