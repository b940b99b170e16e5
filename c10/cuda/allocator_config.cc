#include "c10/cuda/allocator_config.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <memory>
#include <mutex>

#include "c10/util/env.h"
#include "c10/util/exception.h"

namespace c10::cuda::CUDACachingAllocator {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

template <class... Parts>
[[noreturn]] void bad_setting(std::string_view text, const Parts&... parts) {
  TORCH_CHECK_VALUE(false, "CUDA allocator configuration \"", text, "\": ", parts...);
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

// One option of the text.
struct Option {
  std::string_view text;  // all of it, for messages
  std::string_view name;
  std::string_view value;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    bad_setting(text, name, " ", parts..., ", got '", value, "'");
  }
  bool boolean() const {
    if (value != "True" && value != "False") fail("must be True or False");
    return value == "True";
  }
  size_t whole(std::string_view digits) const {
    size_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) fail("must be a whole number");
    return number;
  }
  size_t mebibytes(std::string_view digits) const {
    const size_t number = whole(digits);
    if (number > AllocatorSettings::kUnlimited / kMiB) fail("is too large");
    return number * kMiB;
  }
  double real() const {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) fail("must be a number");
    return number;
  }
  size_t divisions(std::string_view digits) const {
    const size_t number = whole(digits);
    if (number != 0 && !std::has_single_bit(number)) fail("must be 0 or a power of two");
    return number;
  }
};

std::vector<std::pair<size_t, size_t>> parse_divisions(const Option& option) {
  std::string_view rest = option.value;
  if (!rest.starts_with('[')) return {{AllocatorSettings::kUnlimited, option.divisions(rest)}};
  rest = rest.substr(1, rest.size() - 2);
  std::vector<std::pair<size_t, size_t>> result;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view entry = trimmed(rest.substr(0, comma));
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos) option.fail("must be a list of size:divisions");
    const std::string_view size = trimmed(entry.substr(0, colon));
    const bool is_last = size == ">";
    const size_t end = is_last ? AllocatorSettings::kUnlimited : option.mebibytes(size);
    if (!is_last && !std::has_single_bit(end)) option.fail("must have sizes that are powers of two");
    if (!result.empty() && end <= result.back().first) option.fail("must have its sizes in rising order, and '>' last");
    result.emplace_back(end, option.divisions(trimmed(entry.substr(colon + 1))));
    if (comma == std::string_view::npos) return result;
    rest.remove_prefix(comma + 1);
  }
}

void apply(const Option& option, AllocatorSettings& to) {
  const std::string_view name = option.name;
  if (name == "backend") {
    if (option.value != "native" && option.value != "cudaMallocAsync") option.fail("must be native or cudaMallocAsync");
    to.use_async_backend = option.value == "cudaMallocAsync";
  } else if (name == "max_split_size_mb") {
    to.max_split_size = option.mebibytes(option.value);
    if (to.max_split_size <= 20 * kMiB) option.fail("must be more than 20");
  } else if (name == "max_non_split_rounding_mb") {
    to.max_non_split_rounding_size = option.mebibytes(option.value);
  } else if (name == "roundup_power2_divisions") {
    to.roundup_power2_divisions = parse_divisions(option);
  } else if (name == "garbage_collection_threshold") {
    to.garbage_collection_threshold = option.real();
    if (!(to.garbage_collection_threshold > 0 && to.garbage_collection_threshold < 1))
      option.fail("must be greater than 0 and less than 1");
  } else if (name == "per_process_memory_fraction") {
    to.per_process_memory_fraction = option.real();
    if (!(to.per_process_memory_fraction >= 0 && to.per_process_memory_fraction <= 1))
      option.fail("must be between 0 and 1");
  } else if (name == "expandable_segments") {
    to.expandable_segments = option.boolean();
  } else if (name == "release_lock_on_cudamalloc" || name == "release_lock_on_hipmalloc") {
    to.release_lock_on_cudamalloc = option.boolean();
  } else if (name == "pinned_use_cuda_host_register" || name == "pinned_use_hip_host_register") {
    to.pinned_use_cuda_host_register = option.boolean();
  } else if (name == "pinned_num_register_threads") {
    to.pinned_num_register_threads = option.whole(option.value);
    if (!std::has_single_bit(to.pinned_num_register_threads) || to.pinned_num_register_threads > 128)
      option.fail("must be a power of two, at most 128");
  } else if (name == "pinned_use_background_threads") {
    to.pinned_use_background_threads = option.boolean();
  } else if (name == "pinned_reserve_segment_size_mb") {
    to.pinned_reserve_segment_size = option.mebibytes(option.value);
  } else {
    bad_setting(option.text, "unrecognized option '", name, "'");
  }
}

AllocatorSettings from_environment() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"})
    if (const auto text = c10::utils::get_env(name)) return parse_allocator_settings(*text);
  return {};
}

// Those in force, and all that ever were: readers keep references.
std::atomic<const AllocatorSettings*> g_settings{nullptr};
std::mutex& g_mutex = *new std::mutex;
auto& g_all = *new std::vector<std::unique_ptr<const AllocatorSettings>>;

const AllocatorSettings& put_in_force(AllocatorSettings settings) {
  g_all.push_back(std::make_unique<const AllocatorSettings>(std::move(settings)));
  g_settings.store(g_all.back().get(), std::memory_order_release);
  return *g_all.back();
}

}  // namespace

AllocatorSettings parse_allocator_settings(std::string_view text) {
  AllocatorSettings settings;
  settings.text = text;
  std::string_view rest = text;
  while (!trimmed(rest).empty()) {
    // A comma inside of brackets belongs to the value.
    const size_t bracket = rest.find('[');
    size_t comma = rest.find(',');
    if (bracket < comma) {
      const size_t close = rest.find(']', bracket);
      if (close == std::string_view::npos) bad_setting(text, "a '[' has no ']'");
      comma = rest.find(',', close);
    }
    const std::string_view entry = trimmed(rest.substr(0, comma));
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos) bad_setting(text, "expected <option>:<value>, got '", entry, "'");
    const Option option{text, trimmed(entry.substr(0, colon)), trimmed(entry.substr(colon + 1))};
    if (option.value.empty()) bad_setting(text, option.name, " has no value");
    if (option.value.find('[') != std::string_view::npos &&
        !(option.value.front() == '[' && option.value.back() == ']'))
      bad_setting(text, "expected one list in brackets, got '", option.value, "'");
    apply(option, settings);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return settings;
}

size_t roundup_to_power2_division(size_t size, size_t divisions) {
  if (divisions <= 1 || size <= divisions) return size;
  const size_t step = std::max<size_t>(std::bit_floor(size) / divisions, 1);
  return (size + step - 1) / step * step;
}

const AllocatorSettings& allocator_settings() {
  if (const AllocatorSettings* settings = g_settings.load(std::memory_order_acquire)) [[likely]]
    return *settings;
  std::lock_guard lock(g_mutex);
  if (const AllocatorSettings* settings = g_settings.load(std::memory_order_acquire)) return *settings;
  return put_in_force(from_environment());
}

void setAllocatorSettings(const std::string& text) {
  AllocatorSettings settings = parse_allocator_settings(text);
  const bool uses_async_backend = allocator_settings().use_async_backend;
  if (text.find("backend") == std::string::npos) settings.use_async_backend = uses_async_backend;
  TORCH_CHECK(settings.use_async_backend == uses_async_backend,
              "setAllocatorSettings: the allocator's backend cannot be changed at run time, got \"", text, "\"");
  std::lock_guard lock(g_mutex);
  put_in_force(std::move(settings));
}

std::vector<size_t> CUDAAllocatorConfig::roundup_power2_divisions() {
  std::vector<size_t> result;
  for (size_t size = kMiB; size <= kMiB << 15; size *= 2) result.push_back(roundup_power2_divisions(size));
  return result;
}

}  // namespace c10::cuda::CUDACachingAllocator
