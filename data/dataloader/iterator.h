#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "c10/util/exception.h"

namespace torch::data {

/// Walks over the batches of a loader, once. Copies share their place. The first batch is fetched when it is first looked
/// at.
template <typename Batch>
class Iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  using iterator_category = std::input_iterator_tag;

  /// The end.
  Iterator() = default;
  explicit Iterator(std::function<std::optional<Batch>()> next_batch)
      : state_(std::make_shared<State>(State{std::move(next_batch), std::nullopt, false})) {}

  Iterator& operator++() {
    TORCH_CHECK(!at_end(), "Attempted to increment iterator past the end");
    state_->fetch();
    return *this;
  }
  Iterator operator++(int) = delete;

  Batch& operator*() const { return current(); }
  Batch* operator->() const { return &current(); }

  friend bool operator==(const Iterator& a, const Iterator& b) {
    const bool a_end = a.at_end(), b_end = b.at_end();
    return a_end || b_end ? a_end == b_end : a.state_ == b.state_;
  }
  friend bool operator!=(const Iterator& a, const Iterator& b) { return !(a == b); }

 private:
  struct State {
    std::function<std::optional<Batch>()> next_batch;
    std::optional<Batch> batch;
    bool begun;

    void fetch() {
      begun = true;
      batch = next_batch();
    }
  };

  bool at_end() const {
    if (state_ == nullptr) return true;
    if (!state_->begun) state_->fetch();
    return !state_->batch.has_value();
  }
  Batch& current() const {
    TORCH_CHECK(!at_end(), "Attempted to dereference iterator that was past the end");
    return *state_->batch;
  }

  std::shared_ptr<State> state_;
};

}  // namespace torch::data
