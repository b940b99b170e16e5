// What PYTORCH_ALLOC_CONF, else PYTORCH_CUDA_ALLOC_CONF, says of the CUDA allocator:
//
//   PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,roundup_power2_divisions:[256:1,512:2,1024:4,>:8]
//
// | option                          | value                   | default   |
// | backend                         | native, cudaMallocAsync | native    |
// | max_split_size_mb               | more than 20            | unlimited |
// | roundup_power2_divisions        | a power of two, or list | none      |
// | max_non_split_rounding_mb       | a number                | 20        |
// | garbage_collection_threshold    | between 0 and 1         | off       |
// | expandable_segments             | True, False             | False     |
// | release_lock_on_cudamalloc      | True, False             | False     |
// | per_process_memory_fraction     | 0 to 1                  | 1         |
// | pinned_use_cuda_host_register   | True, False             | False     |
// | pinned_num_register_threads     | a power of two, <= 128  | 1         |
// | pinned_use_background_threads   | True, False             | False     |
// | pinned_reserve_segment_size_mb  | a number                | 0         |
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace c10::cuda::CUDACachingAllocator {

/// The options, in bytes where their names say mb.
struct AllocatorSettings {
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

  std::string text;
  bool use_async_backend = false;
  size_t max_split_size = kUnlimited;
  size_t max_non_split_rounding_size = size_t{20} << 20;
  /// The number of divisions for sizes below the first member, in order.
  std::vector<std::pair<size_t, size_t>> roundup_power2_divisions;
  double garbage_collection_threshold = 0;
  double per_process_memory_fraction = 1;
  bool expandable_segments = false;
  bool release_lock_on_cudamalloc = false;
  bool pinned_use_cuda_host_register = false;
  bool pinned_use_background_threads = false;
  size_t pinned_num_register_threads = 1;
  size_t pinned_reserve_segment_size = 0;

  /// The divisions for a request of `size`; 0 and 1 are none.
  size_t divisions_for(size_t size) const {
    for (const auto& [end, divisions] : roundup_power2_divisions)
      if (size < end) return divisions;
    return 0;
  }
};

/// Reads options. Throws c10::ValueError, which names the option, for what is not among them or has another kind of
/// value.
AllocatorSettings parse_allocator_settings(std::string_view text);

/// `size` rounded up to the next of `divisions` equal steps between the powers of two around it: 1200 with 4 is 1280.
size_t roundup_to_power2_division(size_t size, size_t divisions);

/// The options in force: those of the environment, or of the last setAllocatorSettings. The reference stays valid.
const AllocatorSettings& allocator_settings();

/// Puts other options in force, for segments and blocks that are made from now on. The backend of a program that has
/// one stays: another is an error.
void setAllocatorSettings(const std::string& text);

/// The options one by one, by the names of programs.
class CUDAAllocatorConfig {
 public:
  static size_t max_split_size() { return allocator_settings().max_split_size; }
  static double garbage_collection_threshold() { return allocator_settings().garbage_collection_threshold; }
  static bool expandable_segments() { return allocator_settings().expandable_segments; }
  static bool release_lock_on_cudamalloc() { return allocator_settings().release_lock_on_cudamalloc; }
  static double per_process_memory_fraction() { return allocator_settings().per_process_memory_fraction; }
  static size_t max_non_split_rounding_size() { return allocator_settings().max_non_split_rounding_size; }
  static bool pinned_use_cuda_host_register() { return allocator_settings().pinned_use_cuda_host_register; }
  static size_t pinned_num_register_threads() { return allocator_settings().pinned_num_register_threads; }
  static bool pinned_use_background_threads() { return allocator_settings().pinned_use_background_threads; }
  static size_t pinned_reserve_segment_size_mb() { return allocator_settings().pinned_reserve_segment_size >> 20; }
  static size_t pinned_max_register_threads() { return 128; }
  static size_t roundup_power2_divisions(size_t size) { return allocator_settings().divisions_for(size); }
  /// For sizes from 1 MiB, 2 MiB, ... 32 GiB on.
  static std::vector<size_t> roundup_power2_divisions();
  static std::string last_allocator_settings() { return allocator_settings().text; }
};

}  // namespace c10::cuda::CUDACachingAllocator
