// Execution traces: which operators a program called, with what, and in what order.
#pragma once

#include <memory>
#include <string>

namespace torch::profiler {

/// Writes a trace in the schema of MLCommons' Chakra (1.1.1-chakra.0.0.4), as torch.profiler.ExecutionTraceObserver
/// does: a JSON file with a node an operator, range and node of a backward pass, in all threads.
///
///   torch::profiler::ExecutionTraceObserver observer;
///   observer.register_callback("trace.json");
///   observer.start();
///   net(x).sum().backward();
///   observer.stop();
///   observer.unregister_callback();      // the file is whole from here on
///
/// A node has its arguments and results (of tensors the numbers of the tensor and of its storage, offset, elements,
/// bytes of one, device), the number of the node around it (ctrl_deps), and as attributes its sequence number, its
/// scope, its thread and its schema. Of nodes of a backward pass fw_parent is the operator that recorded them.
/// Operators that are not callable by name (//aten/ops:registry) have no arguments.
class ExecutionTraceObserver {
 public:
  ExecutionTraceObserver();
  /// As unregister_callback().
  ~ExecutionTraceObserver();
  ExecutionTraceObserver(const ExecutionTraceObserver&) = delete;
  ExecutionTraceObserver& operator=(const ExecutionTraceObserver&) = delete;

  /// Where the trace goes. Throws Error where the file cannot be written, or another observer is registered: there is
  /// one a process.
  ExecutionTraceObserver& register_callback(const std::string& output_file);
  /// Observes from here on, and no longer. Nothing where it is not registered, or does so already.
  void start();
  void stop();
  /// Writes the file's end. Nothing where it is not registered.
  void unregister_callback();

  bool is_registered() const;
  bool is_running() const;
  /// Empty where it is not registered.
  std::string get_output_file_path() const;

 private:
  friend struct ExecutionTraceCallbacks;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace torch::profiler
