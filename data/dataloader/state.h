#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "c10/core/generator.h"
#include "c10/util/exception.h"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace torch::data::detail {

/// Where a loader stands.
struct LoaderState {
  bool in_pass = false;
  uint64_t pass = 0;         // how many were begun
  uint64_t base_seed = 0;    // this pass's
  size_t delivered = 0;      // batches
  size_t next_number = 0;    // of the next request to the sampler
  std::vector<std::pair<size_t, std::vector<int64_t>>> requests;  // made and not delivered, with their numbers
};

void write_state(serialize::OutputArchive& archive, const LoaderState& state,
                 const std::optional<at::Generator>& generator);
/// ValueError for a state that no loader wrote. Sets the generator's state.
LoaderState read_state(serialize::InputArchive& archive, std::optional<at::Generator> generator);

void write_nested(serialize::OutputArchive& archive, const char* key,
                  const std::function<void(serialize::OutputArchive&)>& write);
/// With null where there is no such archive.
void read_nested(serialize::InputArchive& archive, const char* key,
                 const std::function<void(serialize::InputArchive*)>& read);

/// Requests as numbers: indices, or a size.
inline std::vector<int64_t> encode_request(const std::vector<size_t>& request) {
  return {request.begin(), request.end()};
}
template <typename Request>
std::vector<int64_t> encode_request(const Request& request) {
  if constexpr (std::convertible_to<Request, size_t> && std::constructible_from<Request, size_t>) {
    return {static_cast<int64_t>(static_cast<size_t>(request))};
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "DataLoader: the batch requests of this sampler can't be saved; with workers(0) none are under way");
  }
}

template <typename Request>
Request decode_request(const std::vector<int64_t>& numbers) {
  if constexpr (std::is_same_v<Request, std::vector<size_t>>) {
    return {numbers.begin(), numbers.end()};
  } else if constexpr (std::convertible_to<Request, size_t> && std::constructible_from<Request, size_t>) {
    TORCH_CHECK_VALUE(numbers.size() == 1, "loading a DataLoader: a request of ", numbers.size(),
                      " numbers, expected one");
    return Request(static_cast<size_t>(numbers[0]));
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "DataLoader: the batch requests of this sampler can't be loaded");
  }
}

}  // namespace torch::data::detail
