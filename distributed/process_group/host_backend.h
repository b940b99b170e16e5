// A backend of CPU tensors.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "distributed/process_group/backend.h"
#include "distributed/process_group/engine.h"
#include "distributed/process_group/flight_recorder.h"

namespace c10d {

/// What ranks must agree about before data moves.
struct Fingerprint {
  uint64_t sequence = 0;
  uint64_t count = 0;  // of elements, where that is the same on all ranks
  OpType operation = OpType::UNKNOWN;
  ReduceOp::RedOpType reduction = ReduceOp::UNUSED;
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  int32_t root = -1;
  bool operator==(const Fingerprint&) const = default;
};
/// "ALLREDUCE number 3 of 10 Float elements (SUM)"
std::string describe(const Fingerprint& fingerprint);

/// Where the ranks of a group say why it is of no more use, since most see only that a connection ends, or nothing at
/// all, and how far they are. May throw.
class Notice {
 public:
  virtual ~Notice() = default;
  /// Called on some thread, from watch() on until unwatch() has returned; they return soon.
  struct Ears {
    std::function<void(const std::string& why)> aborted;  // another rank has posted
    std::function<std::string()> status;                  // what this rank answers when it is asked
    std::function<void()> tick;                           // several times a second
  };
  virtual void watch(Ears ears) = 0;
  virtual void unwatch() = 0;
  /// Before this rank ends its connections: what went wrong, and whom it had waited for.
  virtual void post(const std::string& why, const std::vector<int>& waited_for) = 0;
  /// After that: what the others have said, as far as it is news. Takes a moment.
  virtual std::string others() = 0;
  /// Asks all ranks for their status; false where one has asked about this before.
  virtual bool ask(const std::string& topic) = 0;
  /// What each rank has answered so far; "" for nothing.
  virtual std::vector<std::string> answers(const std::string& topic) = 0;
};

/// All that backends of CPU tensors have in common: what operations mean in terms of an engine's, checks of arguments,
/// threads that carry the operations out in the order in which they were started, deadlines, and that all ranks do the
/// same: before data moves each rank compares its call with a neighbour's, and throws, as all others do then, where
/// they differ. Tensors may have any strides.
///
/// After an error of an operation the group is of no more use, on any rank: what runs ends, also where it waits for a
/// rank that has no error yet, what is called later throws, and both say what the first error was.
class HostBackend : public Backend {
 public:
  struct HostOptions : Options {
    using Options::Options;
    /// How many operations run at a time; 0: each on the thread that calls, which returns when it is done.
    int threads = 2;
    bool compare_calls = true;  // whether ranks compare their calls
    /// After how long in an operation a warning says which ranks have called it and which have not; 0: never. First
    /// what TORCH_DISTRIBUTED_STALL_WARNING_SEC says, or 10 s.
    std::chrono::milliseconds stall_warning = default_stall_warning();
  };
  static std::chrono::milliseconds default_stall_warning();

  HostBackend(std::unique_ptr<Engine> engine, c10::intrusive_ptr<HostOptions> options,
              std::unique_ptr<Notice> notice = nullptr);
  /// Waits for what was started.
  ~HostBackend() override;

  std::string getBackendName() const override { return options_->backend; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }

  c10::intrusive_ptr<Work> broadcast(std::vector<at::Tensor>& tensors, const BroadcastOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allreduce(std::vector<at::Tensor>& tensors, const AllreduceOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allreduce_coalesced(std::vector<at::Tensor>& tensors,
                                               const AllreduceCoalescedOptions& opts = {}) override;
  c10::intrusive_ptr<Work> reduce(std::vector<at::Tensor>& tensors, const ReduceOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                     const AllgatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                           const AllgatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                               std::vector<at::Tensor>& inputs,
                                               const AllgatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                           std::vector<at::Tensor>& inputs,
                                                           const AllgatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> gather(std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
                                  const GatherOptions& opts = {}) override;
  c10::intrusive_ptr<Work> scatter(std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs,
                                   const ScatterOptions& opts = {}) override;
  c10::intrusive_ptr<Work> reduce_scatter(std::vector<at::Tensor>& outputs,
                                          std::vector<std::vector<at::Tensor>>& inputs,
                                          const ReduceScatterOptions& opts = {}) override;
  c10::intrusive_ptr<Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                const ReduceScatterOptions& opts = {}) override;
  c10::intrusive_ptr<Work> reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                           std::vector<at::Tensor>& inputs,
                                                           const ReduceScatterOptions& opts = {}) override;
  c10::intrusive_ptr<Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                         std::vector<int64_t>& output_split_sizes,
                                         std::vector<int64_t>& input_split_sizes,
                                         const AllToAllOptions& opts = {}) override;
  c10::intrusive_ptr<Work> alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                                    const AllToAllOptions& opts = {}) override;
  c10::intrusive_ptr<Work> send(std::vector<at::Tensor>& tensors, int to, int tag) override;
  c10::intrusive_ptr<Work> recv(std::vector<at::Tensor>& tensors, int from, int tag) override;
  c10::intrusive_ptr<Work> recvAnysource(std::vector<at::Tensor>& tensors, int tag) override;
  c10::intrusive_ptr<Work> barrier(const BarrierOptions& opts = {}) override;
  void monitoredBarrier(const BarrierOptions& opts, bool wait_all_ranks = false) override;

  void setTimeout(std::chrono::milliseconds timeout) override;
  uint64_t getSequenceNumberForGroup() override;
  void abort() override { abort_because(""); }
  void abort_because(const std::string& reason) override;
  void shutdown() override;

 private:
  class Operation;
  using OperationPtr = c10::intrusive_ptr<Operation>;
  using Body = std::function<void(const Engine::Call& call, Operation& operation)>;
  // Operations that must not overtake each other: to or from a rank with a tag.
  using Line = std::tuple<OpType, int, int>;

  // The operation that others were asked about.
  struct Question {
    std::string topic, operation;
    std::optional<uint64_t> sequence;
    std::chrono::steady_clock::time_point begin, asked;
  };

  c10::intrusive_ptr<Work> start(Fingerprint fingerprint, std::chrono::milliseconds timeout,
                                 const std::vector<at::Tensor>& inputs, std::vector<at::Tensor> outputs, Body body);
  c10::intrusive_ptr<Work> start_between(OpType type, const at::Tensor& tensor, int peer, int tag, Body body);
  c10::intrusive_ptr<Work> reduce_scatter_parts(OpType type, const at::Tensor& output,
                                                const std::vector<at::Tensor>& inputs,
                                                const ReduceScatterOptions& opts);
  std::string label() const;
  void check_usable() const;
  void break_group(std::string& why, const std::vector<int>& waited_for);
  bool post(const std::string& why, const std::vector<int>& waited_for);
  void watch();
  void hear(const std::string& why);
  void take_in_what_was_heard();
  void look_for_stalls();
  void warn_of_stall(const Question& question, const std::vector<std::string>& answers) const;
  void run(const OperationPtr& operation);
  void compare_calls(const Engine::Call& call, const Fingerprint& mine);
  std::exception_ptr failed(const Operation& operation, const std::exception& why, double ms);
  void serve();
  void queue_on_line(const OperationPtr& operation);
  void serve_lines();
  void join_threads();

  const std::unique_ptr<Engine> engine_;
  const c10::intrusive_ptr<HostOptions> options_;
  const std::unique_ptr<Notice> notice_;

  const std::shared_ptr<FlightRecorder> recorder_;
  const uint32_t recorder_group_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<OperationPtr> queue_;
  std::vector<OperationPtr> running_;
  std::map<Line, std::deque<OperationPtr>> lines_;
  std::deque<Line> ready_lines_;  // have operations, and none that runs
  size_t idle_line_threads_ = 0;
  std::vector<std::thread> threads_;
  uint64_t sequence_ = 0, messages_ = 0;
  Fingerprint last_;  // that was called
  bool stopping_ = false;
  std::string broken_;  // why the group is of no more use
  std::string heard_;   // the same, as another rank has said
  std::future<void> posting_;
  std::optional<Question> question_;
};

}  // namespace c10d
