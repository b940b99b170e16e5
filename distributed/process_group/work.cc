#include "distributed/process_group/work.h"

#include "c10/util/exception.h"
#include "c10/value/type.h"

namespace c10d {
namespace {

c10::IValue list_of(const std::vector<at::Tensor>& tensors) {
  c10::List<at::Tensor> list;
  for (const at::Tensor& t : tensors) list.push_back(t);
  return c10::IValue(std::move(list));
}

class FutureWork final : public Work {
 public:
  explicit FutureWork(c10::intrusive_ptr<c10::ivalue::Future> future) : given_(std::move(future)) {}
  void follow() {
    const auto self = c10::intrusive_ptr<FutureWork>::reclaim_copy(this);
    given_->addCallback([self](c10::ivalue::Future& future) {
      if (future.hasError()) return self->finish(future.exception_ptr());
      const c10::IValue value = future.value();
      if (value.isTensor()) self->outputs_ = {value.toTensor()};
      if (value.isTensorList()) self->outputs_ = value.toTensorVector();
      self->finish();
    });
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return given_; }

 private:
  const c10::intrusive_ptr<c10::ivalue::Future> given_;
};

}  // namespace

std::string opTypeToString(OpType type) {
  switch (type) {
    case OpType::BROADCAST:
      return "BROADCAST";
    case OpType::ALLREDUCE:
      return "ALLREDUCE";
    case OpType::ALLREDUCE_COALESCED:
      return "ALLREDUCE_COALESCED";
    case OpType::REDUCE:
      return "REDUCE";
    case OpType::ALLGATHER:
      return "ALLGATHER";
    case OpType::_ALLGATHER_BASE:
      return "_ALLGATHER_BASE";
    case OpType::ALLGATHER_COALESCED:
      return "ALLGATHER_COALESCED";
    case OpType::GATHER:
      return "GATHER";
    case OpType::SCATTER:
      return "SCATTER";
    case OpType::REDUCE_SCATTER:
      return "REDUCE_SCATTER";
    case OpType::ALLTOALL_BASE:
      return "ALLTOALL_BASE";
    case OpType::ALLTOALL:
      return "ALLTOALL";
    case OpType::SEND:
      return "SEND";
    case OpType::RECV:
      return "RECV";
    case OpType::RECVANYSOURCE:
      return "RECVANYSOURCE";
    case OpType::BARRIER:
      return "BARRIER";
    case OpType::_REDUCE_SCATTER_BASE:
      return "_REDUCE_SCATTER_BASE";
    case OpType::COALESCED:
      return "COALESCED";
    case OpType::_ALLREDUCE_SPARSE:
      return "_ALLREDUCE_SPARSE";
    case OpType::UNKNOWN:
      return "UNKNOWN";
  }
  return "UNKNOWN";
}

bool isP2POp(OpType type) {
  return type == OpType::SEND || type == OpType::RECV || type == OpType::RECVANYSOURCE;
}

Work::Work(int rank, OpType type, const char* /*profilingTitle*/,
           const std::optional<std::vector<at::Tensor>>& /*inputs*/)
    : rank_(rank), type_(type) {}
Work::~Work() = default;

bool Work::isCompleted() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return completed_;
}

bool Work::isSuccess() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(completed_, "isSuccess() requires a work that is done: ", opTypeToString(type_), " is not");
  return !exception_;
}

std::exception_ptr Work::exception() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return exception_;
}

int Work::sourceRank() const {
  TORCH_CHECK(type_ == OpType::RECV || type_ == OpType::RECVANYSOURCE,
              "sourceRank() may only be called on works of recv and recvAnysource, not of ", opTypeToString(type_));
  const std::lock_guard<std::mutex> lock(mutex_);
  return source_rank_;
}

std::vector<at::Tensor> Work::result() {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(completed_, "result() requires a work that is done: ", opTypeToString(type_), " is not");
  return outputs_;
}

void Work::synchronize() {
  wait();
}

bool Work::wait(std::chrono::milliseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto is_done = [&] { return completed_; };
  if (timeout == kNoTimeout || timeout == kUnsetTimeout) {
    done_.wait(lock, is_done);
  } else if (!done_.wait_for(lock, timeout, is_done)) {
    TORCH_CHECK_WITH(DistBackendError, false, opTypeToString(type_), " number ", sequence_number_, " of rank ", rank_,
                     " was not done after the ", timeout.count(), " ms that wait() was given");
  }
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

void Work::blockCurrentStream() {
  wait();
}

void Work::abort() {
  TORCH_CHECK(false, opTypeToString(type_), ": this backend cannot abort a single operation; abort the process group");
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  std::exception_ptr error;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (future_) return future_;
    future = future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    if (!completed_) return future;
    error = exception_;
  }
  error ? future->setError(error) : future->markCompleted(list_of(outputs_));
  return future;
}

float Work::getDuration() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(completed_, "getDuration() requires a work that is done: ", opTypeToString(type_), " is not");
  return std::chrono::duration<float, std::milli>(end_ - start_).count();
}

uint64_t Work::getSequencenumber() const {
  return sequence_number_;
}

std::chrono::milliseconds Work::getTimeout() const {
  return timeout_;
}

void Work::finish(std::exception_ptr error) {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    TORCH_CHECK(!completed_, opTypeToString(type_), " is done already");
    completed_ = true;
    exception_ = error;
    end_ = Clock::now();
    future = future_;
  }
  done_.notify_all();
  if (future) error ? future->setError(error) : future->markCompleted(list_of(outputs_));
}

void Work::finishAndThrow(std::exception_ptr error) {
  finish(error);
  if (error) std::rethrow_exception(error);
}

c10::intrusive_ptr<Work> Work::create_from_future(const c10::intrusive_ptr<c10::ivalue::Future>& future) {
  TORCH_CHECK(future, "create_from_future: a future is expected");
  auto work = c10::make_intrusive<FutureWork>(future);
  work->follow();
  return work;
}

}  // namespace c10d
