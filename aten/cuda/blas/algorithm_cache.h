// Which algorithm serves a product: what the library answered once, for all threads.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "aten/cuda/blas/blas.h"

namespace at::cuda::blas {

/// All that decides about an algorithm.
struct AlgorithmKey {
  std::array<int64_t, 36> words{};
  size_t used = 0;

  void add(int64_t word) { words.at(used++) = word; }
  bool operator==(const AlgorithmKey&) const = default;
};

struct AlgorithmKeyHash {
  size_t operator()(const AlgorithmKey& key) const {
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t i = 0; i < key.used; ++i) hash = (hash ^ static_cast<uint64_t>(key.words[i])) * 0x100000001B3;
    return hash ^ hash >> 32;
  }
};

struct Choice {
  bool found = false;  // whether there is an algorithm at all
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace = 0;
};

/// Forgets what was not used longest when it holds more than the limit.
class AlgorithmCache {
 public:
  static AlgorithmCache& get();

  std::optional<Choice> find(const AlgorithmKey& key);
  void put(const AlgorithmKey& key, const Choice& choice);
  CacheStats stats();
  void set_limit(size_t bytes);
  void clear();

 private:
  struct Entry {
    AlgorithmKey key;
    Choice choice;
  };
  // An entry with its links in the list and the table.
  static constexpr size_t kEntryBytes = sizeof(Entry) + 2 * sizeof(void*) + sizeof(AlgorithmKey) + 4 * sizeof(void*);

  void shrink();

  std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<AlgorithmKey, std::list<Entry>::iterator, AlgorithmKeyHash> places_;
  size_t limit_ = size_t{2} << 20;
  uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace at::cuda::blas
