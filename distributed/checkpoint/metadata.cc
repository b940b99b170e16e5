#include "distributed/checkpoint/metadata.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "c10/util/exception.h"

namespace torch::distributed::checkpoint {
namespace {

using Chunk = ChunkStorageMetadata;
using Chunks = std::vector<const Chunk*>;

std::string text_of(const Chunk& chunk) {
  std::string text;
  for (size_t d = 0; d < chunk.offsets.size(); ++d) {
    text += c10::str(d == 0 ? "[" : " x [", chunk.offsets[d], ", ", chunk.offsets[d] + chunk.sizes[d], ")");
  }
  return text.empty() ? "[]" : text;
}

// Two of the chunks that overlap. Each dimension in turn cuts them, where none reaches over, into groups, which the
// other dimensions cut further. Groups that no dimension cuts, which no sharding makes, are compared in pairs.
class OverlapSearch {
 public:
  explicit OverlapSearch(size_t dims) : dims_(dims) {}

  std::string run(Chunks chunks) {
    std::vector<Chunks> open{std::move(chunks)};
    while (!open.empty()) {
      Chunks group = std::move(open.back());
      open.pop_back();
      // Layouts made to take for ever are refused instead.
      if (work_ > kMostWork) return kTooIrregular;
      if (group.size() < 2 || cut(group, open)) continue;
      std::string found = compare_pairs(group);
      if (!found.empty()) return found;
    }
    return "";
  }

 private:
  bool cut(Chunks& group, std::vector<Chunks>& open) {
    for (size_t d = 0; d < dims_; ++d) {
      std::sort(group.begin(), group.end(),
                [d](const Chunk* a, const Chunk* b) { return a->offsets[d] < b->offsets[d]; });
      size_t begin = 0;
      int64_t end = std::numeric_limits<int64_t>::min();
      for (size_t i = 0; i < group.size(); ++i) {
        if (i > begin && group[i]->offsets[d] >= end) {
          open.emplace_back(group.begin() + static_cast<ptrdiff_t>(begin), group.begin() + static_cast<ptrdiff_t>(i));
          begin = i;
        }
        end = std::max(end, group[i]->offsets[d] + group[i]->sizes[d]);
      }
      work_ += group.size();
      if (begin > 0) {
        open.emplace_back(group.begin() + static_cast<ptrdiff_t>(begin), group.end());
        return true;
      }
    }
    return false;
  }

  std::string compare_pairs(const Chunks& group) {
    for (size_t i = 0; i < group.size(); ++i) {
      for (size_t j = i + 1; j < group.size(); ++j) {
        if (++work_ > kMostWork) return kTooIrregular;
        Chunk common{.offsets = Extents(dims_), .sizes = Extents(dims_)};
        bool overlaps = true;
        for (size_t d = 0; d < dims_ && overlaps; ++d) {
          const Chunk &a = *group[i], &b = *group[j];
          common.offsets[d] = std::max(a.offsets[d], b.offsets[d]);
          common.sizes[d] = std::min(a.offsets[d] + a.sizes[d], b.offsets[d] + b.sizes[d]) - common.offsets[d];
          overlaps = common.sizes[d] > 0;
        }
        if (overlaps) return c10::str("elements ", text_of(common), " are there twice");
      }
    }
    return "";
  }

  static constexpr uint64_t kMostWork = 50'000'000;
  static constexpr const char* kTooIrregular = "its chunks lie too irregularly to be checked";
  const size_t dims_;
  uint64_t work_ = 0;
};

}  // namespace

size_t MetadataIndex::Hash::operator()(const MetadataIndex& index) const {
  size_t hash = std::hash<std::string>()(index.fqn);
  if (!index.offset) return hash;
  for (const int64_t o : *index.offset) hash = (hash ^ static_cast<size_t>(o)) * 0x9E3779B97F4A7C15u + (hash >> 29);
  return hash + 1;
}

std::optional<int64_t> numel_of(const Extents& sizes) {
  int64_t numel = 1;
  bool is_empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    is_empty |= size == 0;
    if (size > 0 && __builtin_mul_overflow(numel, size, &numel)) return std::nullopt;
  }
  return is_empty ? 0 : numel;
}

std::string uncovered(const Extents& size, const std::vector<ChunkStorageMetadata>& chunks) {
  const std::optional<int64_t> numel = numel_of(size);
  if (!numel) return "its sizes are none";
  Chunks filled;
  int64_t sum = 0;
  for (const Chunk& chunk : chunks) {
    if (chunk.offsets.size() != size.size() || chunk.sizes.size() != size.size()) {
      return c10::str("a chunk of ", chunk.sizes.size(), " dimensions of a tensor of ", size.size());
    }
    for (size_t d = 0; d < size.size(); ++d) {
      if (chunk.offsets[d] < 0 || chunk.sizes[d] < 0 || chunk.offsets[d] > size[d] ||
          chunk.sizes[d] > size[d] - chunk.offsets[d]) {
        return c10::str("a chunk at ", chunk.offsets[d], " of ", chunk.sizes[d], " elements in dimension ", d, " of ",
                        size[d]);
      }
    }
    const int64_t count = *numel_of(chunk.sizes);
    if (count == 0) continue;
    filled.push_back(&chunk);
    if (__builtin_add_overflow(sum, count, &sum)) return "its chunks have more elements than an int64 counts";
  }
  // Without overlaps, chunks of as many elements as the tensor has cover it.
  std::string overlap = OverlapSearch(size.size()).run(std::move(filled));
  if (!overlap.empty()) return overlap;
  return sum == *numel ? "" : c10::str("its chunks have ", sum, " of ", *numel, " elements");
}

}  // namespace torch::distributed::checkpoint
