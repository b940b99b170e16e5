#include "data/dataloader/state.h"

#include <cstring>
#include <mutex>
#include <string>

#include "aten/ops/creation/ops.h"
#include "utils/serialize/archive.h"

namespace torch::data::detail {

namespace {

at::Tensor to_tensor(const std::vector<int64_t>& numbers) {
  at::Tensor t = at::empty({static_cast<int64_t>(numbers.size())}, at::kLong);
  if (!numbers.empty()) std::memcpy(t.mutable_data_ptr(), numbers.data(), numbers.size() * sizeof(int64_t));
  return t;
}

std::vector<int64_t> read_numbers(serialize::InputArchive& archive, const std::string& key) {
  at::Tensor t;
  archive.read(key, t, /*is_buffer=*/true);
  TORCH_CHECK_VALUE(t.scalar_type() == at::kLong && t.dim() == 1 && t.is_contiguous(), "loading a DataLoader: ", key,
                    " is no row of int64");
  const int64_t* const data = t.data_ptr<int64_t>();
  return std::vector<int64_t>(data, data + t.numel());
}

size_t count(int64_t value, const char* what) {
  TORCH_CHECK_VALUE(value >= 0, "loading a DataLoader: ", what, " is ", value, ", expected none below 0");
  return static_cast<size_t>(value);
}

}  // namespace

void write_state(serialize::OutputArchive& archive, const LoaderState& state,
                 const std::optional<at::Generator>& generator) {
  archive.write("position",
                to_tensor({state.in_pass, static_cast<int64_t>(state.pass), static_cast<int64_t>(state.base_seed),
                           static_cast<int64_t>(state.delivered), static_cast<int64_t>(state.next_number)}),
                /*is_buffer=*/true);
  // All requests in one row: number, how many, which.
  std::vector<int64_t> requests;
  for (const auto& [number, request] : state.requests) {
    requests.push_back(static_cast<int64_t>(number));
    requests.push_back(static_cast<int64_t>(request.size()));
    requests.insert(requests.end(), request.begin(), request.end());
  }
  archive.write("requests", to_tensor(requests), /*is_buffer=*/true);
  if (generator) {
    std::lock_guard<std::mutex> lock(generator->mutex());
    archive.write("generator", generator->get_state(), /*is_buffer=*/true);
  }
}

LoaderState read_state(serialize::InputArchive& archive, std::optional<at::Generator> generator) {
  const std::vector<int64_t> position = read_numbers(archive, "position");
  TORCH_CHECK_VALUE(position.size() == 5, "loading a DataLoader: the position has ", position.size(),
                    " numbers, expected 5");
  LoaderState state;
  state.in_pass = position[0] != 0;
  state.pass = count(position[1], "the number of passes");
  state.base_seed = static_cast<uint64_t>(position[2]);
  state.delivered = count(position[3], "the number of batches");
  state.next_number = count(position[4], "the next batch");
  const std::vector<int64_t> requests = read_numbers(archive, "requests");
  for (size_t i = 0; i < requests.size();) {
    TORCH_CHECK_VALUE(requests.size() - i >= 2 && requests[i + 1] >= 0 &&
                          static_cast<uint64_t>(requests[i + 1]) <= requests.size() - i - 2,
                      "loading a DataLoader: the requests end in the middle of one");
    const auto begin = requests.begin() + static_cast<int64_t>(i) + 2;
    const size_t number = count(requests[i], "a batch's number");
    TORCH_CHECK_VALUE(number < state.next_number && (state.requests.empty() || number > state.requests.back().first),
                      "loading a DataLoader: the numbers of requests do not rise below ", state.next_number);
    for (auto index = begin; index != begin + requests[i + 1]; ++index) count(*index, "an index");
    state.requests.emplace_back(number, std::vector<int64_t>(begin, begin + requests[i + 1]));
    i += 2 + static_cast<size_t>(requests[i + 1]);
  }
  if (generator) {
    at::Tensor bytes;
    archive.read("generator", bytes, /*is_buffer=*/true);
    std::lock_guard<std::mutex> lock(generator->mutex());
    generator->set_state(bytes);
  }
  return state;
}

void write_nested(serialize::OutputArchive& archive, const char* key,
                  const std::function<void(serialize::OutputArchive&)>& write) {
  serialize::OutputArchive nested;
  write(nested);
  if (!nested.empty()) archive.write(key, nested);
}

void read_nested(serialize::InputArchive& archive, const char* key,
                 const std::function<void(serialize::InputArchive*)>& read) {
  serialize::InputArchive nested;
  read(archive.try_read(key, nested) ? &nested : nullptr);
}

}  // namespace torch::data::detail
