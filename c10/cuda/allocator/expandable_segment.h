// A segment that grows: a large range of addresses, to which memory is mapped piece by piece by the driver's virtual
// memory calls.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "c10/core/device.h"

namespace c10::cuda::CUDACachingAllocator {

class ExpandableSegment {
 public:
  /// Reserves `address_bytes` addresses (rounded up) for pieces of `piece_bytes`, read and written by `device` and
  /// `peers`.
  ExpandableSegment(c10::DeviceIndex device, size_t piece_bytes, size_t address_bytes,
                    std::vector<c10::DeviceIndex> peers);
  ExpandableSegment(const ExpandableSegment&) = delete;
  ExpandableSegment& operator=(const ExpandableSegment&) = delete;
  /// Nothing may be mapped.
  ~ExpandableSegment();

  /// Whether the driver has what this needs.
  static bool is_supported();

  char* address() const { return address_; }
  size_t address_bytes() const { return pieces_.size() * piece_bytes_; }
  size_t mapped_bytes() const { return mapped_ * piece_bytes_; }

  /// Whole pieces that cover `bytes` from `begin`, the start of a piece.
  size_t round_up(size_t bytes) const { return (bytes + piece_bytes_ - 1) / piece_bytes_ * piece_bytes_; }
  /// The pieces that lie in [begin, begin + bytes): {first address, bytes}.
  struct Range {
    char* begin;
    size_t bytes;
  };
  Range pieces_within(char* begin, size_t bytes) const;

  /// Maps memory to whole pieces that have none. False where there is not enough memory; nothing has changed then, nor
  /// where it throws.
  bool map(Range range);
  /// Takes it back, of as many pieces from the start as the driver lets it, and returns these: at least one, or it
  /// throws. No work may use it any more.
  Range unmap(Range range);
  /// Lets another device read and write what is mapped and what will be.
  void add_peer(c10::DeviceIndex device);

 private:
  void release(size_t begin, size_t end);
  void set_access(Range range, const std::vector<c10::DeviceIndex>& devices);

  const c10::DeviceIndex device_;
  const size_t piece_bytes_;
  char* address_ = nullptr;
  std::vector<std::optional<unsigned long long>> pieces_;  // the memory's handles
  size_t mapped_ = 0;
  std::vector<c10::DeviceIndex> peers_;
};

}  // namespace c10::cuda::CUDACachingAllocator
