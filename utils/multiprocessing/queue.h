// Queues and pipes of values with tensors between processes.
//
//   torch::multiprocessing::Queue queue;
//   auto workers = torch::multiprocessing::start_processes([&](int rank) { queue.put(torch::full({4}, rank)); }, 2);
//   torch::Tensor first = queue.get().toTensor();       // the worker's memory, not a copy
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "c10/value/ivalue.h"

namespace torch::multiprocessing {

namespace detail {
struct Descriptors;
}  // namespace detail

/// First in, first out, of any number of processes at both ends. Processes have it in common that are forked after it
/// was made, and those that are started with it as an argument (function.h); copies of it are the same queue. Values
/// and errors are those of send() (sharing.h), and what is said there of memory that is shared by name.
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
  friend struct detail::Descriptors;
  struct Ends;
  explicit Queue(std::shared_ptr<Ends> ends) : ends_(std::move(ends)) {}
  std::shared_ptr<Ends> ends_;
};
using SimpleQueue = Queue;

/// One end of a pipe. Copies are the same end; the other one sees that it is closed when no process has it any more.
/// Where the pipe goes one way only, c10::Error of the system's for the other.
///
///   auto [here, there] = torch::multiprocessing::Pipe();
class Connection {
 public:
  /// Values and errors are those of send() (sharing.h).
  void send(const c10::IValue& value);
  /// Waits. Throws c10::Error where the other end is closed and nothing is left.
  c10::IValue recv();
  /// Whether there is something to receive, the other end's closing included, at the end of `timeout` at the latest.
  bool poll(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) const;
  /// Lets go of this end in this process, for all copies.
  void close();
  bool closed() const;
  /// The socket; -1 once closed.
  int fileno() const;

 private:
  friend struct detail::Descriptors;
  struct End;
  explicit Connection(std::shared_ptr<End> end) : end_(std::move(end)) {}
  std::shared_ptr<End> end_;
};

/// The two ends; the first only receives and the second only sends where it is not `duplex`. Throws c10::Error where
/// there are no more sockets.
std::pair<Connection, Connection> Pipe(bool duplex = true);

namespace detail {

/// Their sockets, for processes that have them by the same numbers.
struct Descriptors {
  static std::vector<int> of(const Queue& queue);
  static std::vector<int> of(const Connection& end);
  /// In the process that has them. Throws c10::TypeError where they are not as many as such a thing has.
  static Queue queue(const std::vector<int64_t>& descriptors);
  static Connection connection(const std::vector<int64_t>& descriptors);
};

}  // namespace detail

}  // namespace torch::multiprocessing
