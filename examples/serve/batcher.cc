#include "examples/serve/batcher.h"

#include <algorithm>
#include <new>
#include <utility>

#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace serve {

struct Batcher::Item {
  std::vector<at::Tensor> inputs;
  int64_t rows = 0;  // 0: it is not joined with others
  Clock::time_point came, taken;
  // Under the batcher's mutex.
  Queue::iterator place;
  bool queued = true, done = false;
  std::condition_variable finished;
  Outcome outcome;
};

Batcher::Batcher(Run run, const BatchOptions& options, BatchListener* listener)
    : run_(std::move(run)), options_(options), listener_(listener) {
  for (int i = 0; i < std::max(1, options.workers); ++i) workers_.emplace_back([this] { work(); });
}

Batcher::~Batcher() {
  stop();
}

void Batcher::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) {
    if (worker.joinable()) worker.join();
  }
}

size_t Batcher::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queue_.size();
}

Outcome Batcher::run(std::vector<at::Tensor> inputs, Clock::time_point deadline) {
  const auto item = std::make_shared<Item>();
  item->inputs = std::move(inputs);
  item->came = Clock::now();
  if (options_.most_rows > 1) {
    for (const at::Tensor& input : item->inputs) {
      if (!input.defined()) continue;
      const int64_t rows = input.dim() == 0 ? 0 : input.sizes()[0];
      const bool first = item->rows == 0;
      item->rows = first ? rows : item->rows == rows ? rows : -1;
      if (item->rows <= 0) break;
    }
    item->rows = std::max<int64_t>(item->rows, 0);
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (stopping_) return {Outcome::Status::kStopped, "the server is shutting down", {}};
  if (queue_.size() >= options_.most_waiting) {
    return {Outcome::Status::kQueueFull, "the queue is full: " + std::to_string(queue_.size()) + " requests wait", {}};
  }
  item->place = queue_.insert(queue_.end(), item);
  changed_.notify_all();
  if (!item->finished.wait_until(lock, deadline, [&] { return item->done; })) {
    if (item->queued) queue_.erase(item->place);
    item->queued = false;
    Outcome late{Outcome::Status::kTimedOut, "", {}};
    late.waited = Clock::now() - item->came;
    late.error = "no answer within " +
                 std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(late.waited).count()) + " ms";
    return late;
  }
  return std::move(item->outcome);
}

bool Batcher::joins(const Item& first, const Item& other) const {
  if (&first == &other) return true;
  if (first.rows == 0 || other.rows == 0 || first.inputs.size() != other.inputs.size()) return false;
  for (size_t i = 0; i < first.inputs.size(); ++i) {
    const at::Tensor &a = first.inputs[i], &b = other.inputs[i];
    if (a.defined() != b.defined()) return false;
    if (!a.defined()) continue;
    if (a.scalar_type() != b.scalar_type() || a.sizes().slice(1) != b.sizes().slice(1)) return false;
  }
  return true;
}

int64_t Batcher::rows_with(const Item& first) const {
  int64_t rows = 0;
  for (const auto& item : queue_) {
    if (joins(first, *item)) rows += item->rows;
  }
  return rows;
}

// The first of the queue and what fits to it, in order. Under the mutex.
std::vector<std::shared_ptr<Batcher::Item>> Batcher::take() {
  std::vector<std::shared_ptr<Item>> taken;
  int64_t rows = 0;
  const auto now = Clock::now();
  for (auto at = queue_.begin(); at != queue_.end();) {
    const bool first = taken.empty();
    if (!first && (rows + (*at)->rows > options_.most_rows || !joins(*taken[0], **at))) {
      ++at;
      continue;
    }
    rows += (*at)->rows;
    (*at)->queued = false;
    (*at)->taken = now;
    taken.push_back(std::move(*at));
    at = queue_.erase(at);
    if (taken[0]->rows == 0 || rows >= options_.most_rows) break;
  }
  return taken;
}

void Batcher::work() {
  const c10::InferenceMode inference;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::shared_ptr<Item> first = queue_.front();
    if (options_.most_delay.count() > 0 && first->rows > 0) {
      changed_.wait_until(lock, first->came + options_.most_delay,
                          [&] { return stopping_ || !first->queued || rows_with(*first) >= options_.most_rows; });
      if (!first->queued) continue;  // another worker has it, or its deadline has passed
    }
    const std::vector<std::shared_ptr<Item>> items = take();
    lock.unlock();
    run_together(items);
    lock.lock();
  }
}

void Batcher::run_together(const std::vector<std::shared_ptr<Item>>& items) {
  int64_t rows = 0;
  for (const auto& item : items) rows += item->rows;
  if (items.size() > 1 && run_joined(items, rows)) return;
  for (const auto& item : items) run_alone(item);
}

std::vector<NamedTensor> Batcher::timed(std::vector<at::Tensor> inputs, int64_t rows, size_t requests,
                                        std::chrono::nanoseconds& time) {
  const auto begin = Clock::now();
  std::vector<NamedTensor> outputs = run_(std::move(inputs));
  time = Clock::now() - begin;
  if (listener_ != nullptr) listener_->ran(std::max<int64_t>(rows, 1), requests, time);
  return outputs;
}

bool Batcher::run_joined(const std::vector<std::shared_ptr<Item>>& items, int64_t rows) {
  std::vector<Outcome> outcomes(items.size());
  try {
    std::vector<at::Tensor> joined;
    for (size_t i = 0; i < items[0]->inputs.size(); ++i) {
      std::vector<at::Tensor> parts;
      for (const auto& item : items) parts.push_back(item->inputs[i]);
      joined.push_back(parts[0].defined() ? at::cat(parts, 0) : at::Tensor());
    }
    std::chrono::nanoseconds time{0};
    const std::vector<NamedTensor> outputs = timed(std::move(joined), rows, items.size(), time);
    for (const NamedTensor& output : outputs) {
      if (output.tensor.dim() == 0 || output.tensor.sizes()[0] != rows) return false;
    }
    int64_t begin = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      for (const NamedTensor& output : outputs) {
        outcomes[i].outputs.push_back({output.name, at::narrow(output.tensor, 0, begin, items[i]->rows)});
      }
      outcomes[i].ran = time;
      begin += items[i]->rows;
    }
  } catch (const std::exception&) {
    return false;  // one of them is at fault: each alone tells which
  }
  for (size_t i = 0; i < items.size(); ++i) finish(*items[i], std::move(outcomes[i]));
  return true;
}

void Batcher::run_alone(const std::shared_ptr<Item>& item) {
  using Status = Outcome::Status;
  Outcome outcome;
  try {
    outcome.outputs = timed(item->inputs, item->rows, 1, outcome.ran);
  } catch (const Refused& error) {
    outcome.status = Status::kRefused;
    outcome.error = error.what();
  } catch (const std::bad_alloc&) {
    outcome.status = Status::kNoMemory;
    outcome.error = "there is not enough memory to run the model on these inputs";
  } catch (const std::exception& error) {
    outcome.status = Status::kFailed;
    outcome.error = error.what();
  }
  finish(*item, std::move(outcome));
}

void Batcher::finish(Item& item, Outcome outcome) {
  item.inputs.clear();
  outcome.waited = item.taken - item.came;
  const std::lock_guard<std::mutex> lock(mutex_);
  item.outcome = std::move(outcome);
  item.done = true;
  item.finished.notify_one();
}

}  // namespace serve
