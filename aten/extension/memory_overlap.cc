#include "aten/extension/memory_overlap.h"

#include <cstdint>

#include "c10/util/exception.h"

namespace at {

MemOverlap has_internal_overlap(const TensorBase& t) {
  if (t.is_non_overlapping_and_dense()) return MemOverlap::No;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) > 1 && t.stride(d) == 0) return MemOverlap::Yes;
  }
  return MemOverlap::TooHard;
}

MemOverlapStatus get_overlap_status(const TensorBase& a, const TensorBase& b) {
  if (a.is_same(b)) return MemOverlapStatus::Full;
  if (a.numel() == 0 || b.numel() == 0) return MemOverlapStatus::No;
  if (!a.is_alias_of(b)) return MemOverlapStatus::No;
  if (!a.is_non_overlapping_and_dense() || !b.is_non_overlapping_and_dense()) return MemOverlapStatus::TooHard;
  // In bytes of the storage.
  const auto begin = [](const TensorBase& t) { return t.storage_offset() * static_cast<int64_t>(t.itemsize()); };
  const auto end = [&](const TensorBase& t) { return begin(t) + static_cast<int64_t>(t.nbytes()); };
  if (begin(a) == begin(b) && end(a) == end(b)) {
    return a.strides() == b.strides() ? MemOverlapStatus::Full : MemOverlapStatus::Partial;
  }
  return begin(a) < end(b) && begin(b) < end(a) ? MemOverlapStatus::Partial : MemOverlapStatus::No;
}

void assert_no_internal_overlap(const TensorBase& t) {
  TORCH_CHECK(
      has_internal_overlap(t) != MemOverlap::Yes,
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
      "Please clone() the tensor before performing the operation.");
}

void assert_no_partial_overlap(const TensorBase& a, const TensorBase& b) {
  TORCH_CHECK(
      get_overlap_status(a, b) != MemOverlapStatus::Partial,
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please clone() the tensor before performing the operation.");
}

void assert_no_overlap(const TensorBase& a, const TensorBase& b) {
  const MemOverlapStatus status = get_overlap_status(a, b);
  TORCH_CHECK(
      status != MemOverlapStatus::Partial && status != MemOverlapStatus::Full,
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please clone() the tensor before performing the operation.");
}

}  // namespace at
