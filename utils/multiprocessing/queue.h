// A queue of values with tensors between processes.
//
//   torch::multiprocessing::Queue queue;
//   auto workers = torch::multiprocessing::start_processes([&](int rank) { queue.put(torch::full({4}, rank)); }, 2);
//   torch::Tensor first = queue.get().toTensor();       // the worker's memory, not a copy
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "c10/value/ivalue.h"

namespace torch::multiprocessing {

/// First in, first out, of any number of processes at both ends. Processes have it in common that are forked after it
/// was made; copies of it are the same queue. Values and errors are those of send() (sharing.h), and what is said there
/// of memory that is shared by name.
class Queue {
 public:
  /// Throws c10::Error with the system's reason where there are no more sockets.
  Queue();

  /// Puts a value at the end. Waits while the queue is full: it has room for messages, not tensors, of a few hundred
  /// kilobytes in all.
  void put(const c10::IValue& value);
  /// Takes the first value; waits until there is one.
  c10::IValue get();
  /// The same; none if there was none for `timeout`.
  std::optional<c10::IValue> get(std::chrono::milliseconds timeout);
  /// Whether there is nothing to take. Another process may change that at any time.
  bool empty() const;

 private:
  struct Ends;
  std::shared_ptr<Ends> ends_;
};

}  // namespace torch::multiprocessing
