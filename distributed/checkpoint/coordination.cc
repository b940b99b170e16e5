#include "distributed/checkpoint/coordination.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "distributed/checkpoint/wire.h"

namespace torch::distributed::checkpoint {
namespace {

using at::Tensor;

std::string text_of(const std::string& operation, const std::string& step, int ranks,
                    const std::map<int, std::string>& failures) {
  std::string text = c10::str(operation, ": ", step, " failed on ", failures.size(), " of ", ranks, " ranks.");
  for (const auto& [rank, error] : failures) text += c10::str(" Rank ", rank, ": ", error);
  return text;
}

// What a rank tells the coordinator, and the coordinator a rank: 1 and a text, or 0 and failures of a step.
std::string success(const std::string& text) {
  return "1" + text;
}
std::string failure(const std::string& text) {
  return "0" + text;
}

// The text of what `work` throws, or what it gives.
std::string outcome_of(const std::function<std::string()>& work) {
  try {
    return success(work());
  } catch (const c10::Error& e) {
    return failure(e.what_without_backtrace());
  } catch (const std::exception& e) {
    return failure(e.what());
  }
}

Tensor numbers(int64_t count) {
  return at::zeros({count}, at::kLong);
}

Tensor bytes_of(const std::string& text, int64_t size) {
  Tensor bytes = at::zeros({size}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  return bytes;
}

std::string text_of(const Tensor& bytes, int64_t size) {
  TORCH_CHECK_WITH(DistBackendError, size >= 0 && size <= bytes.numel(), "checkpoint: a rank sent a size of ", size);
  return std::string(static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(size));
}

}  // namespace

CheckpointException::CheckpointException(const std::string& operation, const std::string& step, int ranks,
                                         std::map<int, std::string> failures)
    : DistError(text_of(operation, step, ranks, failures), nullptr), failures_(std::move(failures)), step_(step) {}

namespace detail {

Ranks::Ranks(const char* operation, c10::intrusive_ptr<c10d::ProcessGroup> group)
    : operation_(operation),
      group_(std::move(group)),
      rank_(group_ == nullptr ? 0 : group_->getRank()),
      size_(group_ == nullptr ? 1 : group_->getSize()) {}

std::vector<std::string> Ranks::gather(const std::string& own) const {
  if (size_ == 1) return {own};
  Tensor size = numbers(1), sizes = numbers(size_);
  size.data_ptr<int64_t>()[0] = static_cast<int64_t>(own.size());
  group_->all_gather_single(sizes, size)->wait();
  const int64_t* const each = sizes.data_ptr<int64_t>();
  const int64_t most = *std::max_element(each, each + size_);
  std::vector<Tensor> input{bytes_of(own, most)};
  std::vector<std::vector<Tensor>> outputs;
  if (is_coordinator()) {
    outputs.emplace_back();
    for (int r = 0; r < size_; ++r) outputs[0].push_back(at::empty({most}, at::kByte));
  }
  group_->gather(outputs, input)->wait();
  std::vector<std::string> texts;
  for (int r = 0; is_coordinator() && r < size_; ++r) {
    texts.push_back(text_of(outputs[0][static_cast<size_t>(r)], each[r]));
  }
  return texts;
}

std::string Ranks::scatter(const std::vector<std::string>& texts) const {
  if (size_ == 1) return texts.at(0);
  std::vector<Tensor> sizes{numbers(size_)};
  for (size_t r = 0; r < texts.size(); ++r) sizes[0].data_ptr<int64_t>()[r] = static_cast<int64_t>(texts[r].size());
  group_->broadcast(sizes)->wait();
  const int64_t* const each = sizes[0].data_ptr<int64_t>();
  const int64_t most = *std::max_element(each, each + size_);
  std::vector<Tensor> output{at::empty({most}, at::kByte)};
  std::vector<std::vector<Tensor>> inputs;
  if (is_coordinator()) {
    inputs.emplace_back();
    for (const std::string& text : texts) inputs[0].push_back(bytes_of(text, most));
  }
  group_->scatter(output, inputs)->wait();
  return text_of(output[0], each[rank_]);
}

std::string Ranks::reduce_scatter(
    const char* local_step, const std::function<std::string()>& local, const char* global_step,
    const std::function<std::vector<std::string>(std::vector<std::string>)>& global) const {
  std::vector<std::string> outcomes = gather(outcome_of(local)), answers;
  if (is_coordinator()) {
    std::map<int, std::string> failures;
    for (size_t r = 0; r < outcomes.size(); ++r) {
      const bool failed = outcomes[r].empty() || outcomes[r][0] != '1';
      outcomes[r].erase(0, 1);
      if (failed) failures[static_cast<int>(r)] = outcomes[r];
    }
    const char* step = local_step;
    if (failures.empty()) {
      step = global_step;
      const std::string outcome = outcome_of([&] {
        answers = global(std::move(outcomes));
        return std::string();
      });
      if (outcome[0] != '1') failures[0] = outcome.substr(1);
    }
    if (failures.empty()) {
      for (std::string& answer : answers) answer = success(answer);
    } else {
      WireWriter out;
      out.text(step);
      out.number(failures.size());
      for (const auto& [rank, error] : failures) {
        out.number(static_cast<uint64_t>(rank));
        out.text(error);
      }
      answers.assign(static_cast<size_t>(size_), failure(out.take()));
    }
  }
  const std::string answer = scatter(answers);
  if (!answer.empty() && answer[0] == '1') return answer.substr(1);
  WireReader in(std::string_view(answer).substr(1));
  const std::string step = in.text();
  std::map<int, std::string> failures;
  for (size_t n = in.count(); n > 0; --n) {
    const int rank = static_cast<int>(in.number());
    failures[rank] = in.text();
  }
  throw CheckpointException(operation_, step, size_, std::move(failures));
}

std::string Ranks::all_reduce(const char* local_step, const std::function<std::string()>& local,
                              const char* global_step,
                              const std::function<std::string(std::vector<std::string>)>& global) const {
  return reduce_scatter(local_step, local, global_step, [&](std::vector<std::string> texts) {
    return std::vector<std::string>(static_cast<size_t>(size_), global(std::move(texts)));
  });
}

void Ranks::all(const char* step, const std::function<void()>& local) const {
  all_reduce(
      step,
      [&] {
        local();
        return std::string();
      },
      step, [](const std::vector<std::string>&) { return std::string(); });
}

}  // namespace detail
}  // namespace torch::distributed::checkpoint
