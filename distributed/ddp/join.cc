#include "distributed/ddp/join.h"

#include <exception>
#include <utility>

#include "aten/ops/creation/ops.h"
#include "c10/util/exception.h"

namespace torch::distributed::algorithms {
namespace {

constexpr int64_t kIterationsToWarn = 1000;

}  // namespace

Join::Join(std::vector<Joinable*> joinables, JoinOptions options)
    : joinables_(std::move(joinables)), options_(options), exceptions_(std::uncaught_exceptions()) {
  TORCH_CHECK_VALUE(!joinables_.empty(), "The join context manager requires at least one joinable");
  for (const Joinable* const joinable : joinables_) {
    TORCH_CHECK_VALUE(joinable != nullptr, "Join: a joinable is null");
    TORCH_CHECK_VALUE(joinable->join_process_group() == joinables_[0]->join_process_group(),
                      "Using join context manager with multiple process groups");
    TORCH_CHECK(!joinable->joined_, "Join: a joinable is in another Join");
  }
  for (Joinable* const joinable : joinables_) hooks_.push_back(joinable->join_hook(options_));
  for (Joinable* const joinable : joinables_) {
    joinable->options_ = options_;
    joinable->joined_ = options_.enable;
    joinable->is_first_ = joinable == joinables_[0];
  }
}

Join::~Join() noexcept(false) {
  if (std::uncaught_exceptions() > exceptions_) {
    for (Joinable* const joinable : joinables_) joinable->joined_ = false;
    return;
  }
  finish();
}

at::Tensor Join::count(const Joinable& first, int64_t mine) {
  std::vector<at::Tensor> sum{at::full({1}, mine, at::TensorOptions().dtype(at::kLong).device(first.join_device()))};
  first.join_process_group()->allreduce(sum)->wait();
  return sum[0];
}

void Join::finish() {
  if (std::exchange(is_finished_, true)) return;
  struct Leave {
    std::vector<Joinable*>& joinables;
    ~Leave() {
      for (Joinable* const joinable : joinables) joinable->joined_ = false;
    }
  } leave{joinables_};
  if (!options_.enable) return;
  const Joinable& first = *joinables_[0];
  bool is_last_joiner = true;
  for (int64_t iteration = 0; count(first, 0).item<int64_t>() > 0; ++iteration) {
    if (options_.throw_on_early_termination) {
      count(first, 1);
      TORCH_CHECK(false, "Detected at least one rank that exhausted inputs. Throwing across all ranks.");
    }
    if (iteration == kIterationsToWarn) {
      TORCH_WARN("Join: a rank has had no data for ", kIterationsToWarn,
                 " iterations of the others: inputs are very uneven");
    }
    for (const auto& hook : hooks_) hook->main_hook();
    is_last_joiner = false;
  }
  for (const auto& hook : hooks_) hook->post_hook(is_last_joiner);
}

c10::intrusive_ptr<c10d::Work> Join::notify_join_context(Joinable& joinable) {
  if (!joinable.joined_ || !joinable.is_first_) return nullptr;
  std::vector<at::Tensor> ones{at::ones({1}, at::TensorOptions().dtype(at::kLong).device(joinable.join_device()))};
  auto work = joinable.join_process_group()->allreduce(ones);
  if (joinable.options_.throw_on_early_termination) {
    // Ranks without data say 1.
    TORCH_CHECK(count(joinable, 0).item<int64_t>() == 0,
                "Detected at least one rank that exhausted inputs. Throwing across all ranks.");
  }
  return work;
}

}  // namespace torch::distributed::algorithms
