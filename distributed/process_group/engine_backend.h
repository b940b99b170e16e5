// What the backends of one engine's operations have in common, be they of the host or of a device.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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
  uint64_t layout = 0;  // of several tensors: what their dtypes and sizes come to
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
  /// Whom a rank waited for in vain; `are_gone`: one of them is known to have ended its connection.
  struct WaitedFor {
    std::vector<int> ranks;
    bool are_gone = false;
  };
  /// Before this rank ends its connections: what went wrong, and whom it had waited for. The store has `patience` for
  /// each answer, here and in others().
  virtual void post(const std::string& why, const WaitedFor& waited_for, std::chrono::milliseconds patience) = 0;
  /// After that: what the others have said, as far as it is news. Takes a moment; where the store was slow in post(),
  /// and somebody who was waited for and is not known to be gone says nothing, up to `patience`.
  virtual std::string others() = 0;
  /// Asks all ranks for their status; false where one has asked about this before.
  virtual bool ask(const std::string& topic) = 0;
  /// What each rank has answered so far; "" for nothing.
  virtual std::vector<std::string> answers(const std::string& topic) = 0;
};

/// What operations mean in terms of an engine's, checks of arguments, errors and what the ranks tell each other about
/// them, warnings about operations that take long. Derived classes carry the operations out. Tensors may have any
/// strides.
///
/// After an error of an operation the group is of no more use, on any rank: what runs ends, also where it waits for a
/// rank that has no error yet, what is called later throws, and both say what the first error was.
class EngineBackend : public Backend {
 public:
  struct EngineOptions : Options {
    using Options::Options;
    /// After how long in an operation a warning says which ranks have called it and which have not; 0: never. First
    /// what TORCH_DISTRIBUTED_STALL_WARNING_SEC says, or 10 s.
    std::chrono::milliseconds stall_warning = default_stall_warning();
  };
  static std::chrono::milliseconds default_stall_warning();

  ~EngineBackend() override;

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

  void setTimeout(std::chrono::milliseconds timeout) override;
  uint64_t getSequenceNumberForGroup() override;
  void abort() override { abort_because(""); }
  void abort_because(const std::string& reason) override;

 protected:
  class Operation;
  using OperationPtr = c10::intrusive_ptr<Operation>;
  using Body = std::function<void(const Engine::Call& call, Operation& operation)>;

  class Operation : public Work {
   public:
    Operation(int rank, const Fingerprint& fingerprint, std::chrono::milliseconds timeout,
              std::vector<at::Tensor> outputs, Body body, uint64_t record);
    using Work::finish;
    void set_source(int rank) { source_rank_ = rank; }
    // "ALLREDUCE number 3 of 10 Float elements (SUM)", "SEND with tag 0 to rank 1"
    std::string describe() const;

    const Fingerprint fingerprint;
    Body body;                          // holds the tensors
    const uint64_t record;              // the flight recorder's
    std::optional<c10::Device> device;  // of its tensors
    bool is_contiguous = true;          // which all are
    int peer = -1, tag = 0;             // between two ranks
    std::chrono::steady_clock::time_point begin;
    bool is_reported = false;  // as one that takes long
  };

  EngineBackend(std::unique_ptr<Engine> engine, c10::intrusive_ptr<EngineOptions> options,
                std::unique_ptr<Notice> notice);

  virtual OperationPtr make_operation(const Fingerprint& fingerprint, std::chrono::milliseconds timeout,
                                      std::vector<at::Tensor> outputs, Body body, uint64_t record);
  /// An operation has been started: first the derived class notes it, in the order of the ranks' calls, with mutex_
  /// held; then it carries it out, or lets it be carried out: calls its body, and finish().
  virtual void enqueue(const OperationPtr& operation) = 0;
  virtual void carry_on(const OperationPtr& operation) = 0;

  std::string label() const;
  void check_usable() const;
  void take_in_what_was_heard();
  /// `why` becomes what the others say, too.
  void break_group(std::string& why, const Notice::WaitedFor& waited_for);
  /// The operation's error, after which the group is broken.
  std::exception_ptr failed(const Operation& operation, const std::exception& why, double ms);
  /// Who has called an operation, as the ranks have answered: "; called by rank 0; not called by rank 1, ...".
  std::string who_called(std::optional<uint64_t> sequence, const std::vector<std::string>& answers) const;

  /// Of a thread of a backend's own: that what it ran has dropped the last reference to the backend, which is no more.
  static thread_local bool is_gone_;

  const std::unique_ptr<Engine> engine_;
  const c10::intrusive_ptr<EngineOptions> options_;
  const std::unique_ptr<Notice> notice_;
  const std::shared_ptr<FlightRecorder> recorder_;

  mutable std::mutex mutex_;
  std::vector<OperationPtr> running_;
  bool stopping_ = false;
  std::string broken_;  // why the group is of no more use: what this rank says, and what the others do

 private:
  bool is_asking_ = false;  // others, for what broken_ lacks yet; guarded by mutex_
  size_t own_words_ = 0;    // of broken_; guarded by mutex_
  std::condition_variable asked_;

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
  void check_tensor(const char* op, const char* name, const at::Tensor& t) const;
  const at::Tensor& only(const char* op, const char* name, const std::vector<at::Tensor>& tensors) const;
  void check_same(const char* op, const char* name, const at::Tensor& t, const char* as_name,
                  const at::Tensor& as) const;
  void check_times(const char* op, const char* name, const at::Tensor& t, const char* of_name,
                   const at::Tensor& of) const;
  ReduceOp::RedOpType of_engine(const ReduceOp& op) const;
  void after(const ReduceOp& op, const at::Tensor& result) const;
  bool post(const std::string& why, const Notice::WaitedFor& waited_for, std::chrono::milliseconds patience);
  std::chrono::milliseconds patience() const;
  void watch();
  void hear(const std::string& why);
  void look_for_stalls();
  void warn_of_stall(const Question& question, const std::vector<std::string>& answers) const;

  const uint32_t recorder_group_;
  uint64_t sequence_ = 0, messages_ = 0;
  Fingerprint last_;   // that was called
  std::string heard_;  // why the group is of no more use, as another rank has said
  std::future<void> posting_;
  std::optional<Question> question_;
};

}  // namespace c10d
