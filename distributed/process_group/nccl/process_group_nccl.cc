#include "distributed/process_group/nccl/process_group_nccl.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "c10/core/thread_state.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/event.h"
#include "c10/cuda/guard.h"
#include "c10/util/exception.h"
#include "distributed/process_group/nccl/nccl_engine.h"
#include "distributed/process_group/rank_local.h"
#include "distributed/process_group/store_notice.h"

namespace c10d {
namespace {

using Clock = std::chrono::steady_clock;

// How often the state of what runs is asked for, and NCCL's errors.
constexpr std::chrono::milliseconds kTurn(1), kErrorTurn(100);
// How long ranks have to say how far they are.
constexpr std::chrono::milliseconds kAnswerTime(300);

// Communicators of one device deadlock where two ranks put their operations on it in different orders: within a
// process, one at a time.
std::mutex& launch_order(c10::DeviceIndex device) {
  static std::mutex all[64];
  return all[static_cast<size_t>(device) % 64];
}

}  // namespace

class ProcessGroupNCCL::DeviceOperation final : public Operation {
 public:
  DeviceOperation(int rank, const Fingerprint& fingerprint, std::chrono::milliseconds timeout,
                  std::vector<at::Tensor> outputs, Body body, uint64_t record, bool wait_blocks)
      : Operation(rank, fingerprint, timeout, std::move(outputs), std::move(body), record),
        wait_blocks_(wait_blocks || fingerprint.operation == OpType::BARRIER) {}

  bool wait(std::chrono::milliseconds timeout) override {
    const bool has_time = timeout != kNoTimeout && timeout != kUnsetTimeout;
    if ((wait_blocks_ || has_time) && !is_captured) Work::wait(timeout);
    if (const std::exception_ptr error = exception()) std::rethrow_exception(error);
    blockCurrentStream();
    return true;
  }
  void synchronize() override { wait(kNoTimeout); }
  void blockCurrentStream() override {
    if (!end || !end->isCreated()) return;
    end->block(c10::cuda::getCurrentCUDAStream(end->device_index()));
    // From here on the stream keeps the tensors' next users behind the operation.
    if (is_captured) body = nullptr;
  }
  std::vector<at::Tensor> result() override { return outputs_; }

  std::shared_ptr<c10::cuda::CUDAEvent> end;  // one for all that were put on the stream together
  bool is_captured = false;

 private:
  const bool wait_blocks_;
};

ProcessGroupNCCL::ProcessGroupNCCL(const c10::intrusive_ptr<Store>& store, int rank, int size,
                                   c10::intrusive_ptr<Options> options)
    : EngineBackend(std::make_unique<NcclEngine>(store, rank, size, options->config), options,
                    std::make_unique<StoreNotice>(store, rank, size)),
      nccl_options_(options),
      waits_block_(rank_environment("TORCH_NCCL_BLOCKING_WAIT").value_or("0") == "1") {
  if (options->split_from) {
    TORCH_CHECK_VALUE(options->split_color >= 0 && options->split_color <= INT_MAX,
                      "ProcessGroupNCCL: split_color must be an int that is not negative, but is ",
                      options->split_color);
    engine().split_from(options->split_from->engine(), static_cast<int>(options->split_color));
  }
  watchdog_ = std::thread([this] { look_after(); });
}

ProcessGroupNCCL::~ProcessGroupNCCL() {
  end_watchdog();
  if (!watchdog_.joinable()) return;
  watchdog_.detach();
  is_gone_ = true;
}

void ProcessGroupNCCL::shutdown() {
  end_watchdog();
}

// On the watchdog itself, in what a future calls: it looks after what runs from here, and ends when it returns.
void ProcessGroupNCCL::end_watchdog() {
  std::thread watchdog;
  bool is_own = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    is_own = watchdog_.get_id() == std::this_thread::get_id();
    if (!is_own) watchdog.swap(watchdog_);
  }
  changed_.notify_all();
  if (is_own) look_after();
  if (watchdog.joinable()) watchdog.join();
}

NcclEngine& ProcessGroupNCCL::engine() const {
  return static_cast<NcclEngine&>(*engine_);
}

// --- putting operations on streams ---

EngineBackend::OperationPtr ProcessGroupNCCL::make_operation(const Fingerprint& fingerprint,
                                                             std::chrono::milliseconds timeout,
                                                             std::vector<at::Tensor> outputs, Body body,
                                                             uint64_t record) {
  return c10::make_intrusive<DeviceOperation>(rank_, fingerprint, timeout, std::move(outputs), std::move(body), record,
                                              waits_block_);
}

void ProcessGroupNCCL::enqueue(const OperationPtr& operation) {
  started_.push_back(operation);
}

void ProcessGroupNCCL::carry_on(const OperationPtr&) {
  const std::lock_guard<std::mutex> issuing(issue_mutex_);
  while (true) {
    OperationPtr next;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (started_.empty()) return;
      next = std::move(started_.front());
      started_.pop_front();
    }
    if (coalesces_)
      coalesced_.push_back(std::move(next));
    else
      issue({next}, false);
  }
}

c10::Device ProcessGroupNCCL::device_of(const std::vector<OperationPtr>& operations) const {
  std::optional<c10::Device> device;
  for (const OperationPtr& operation : operations) {
    if (!operation->device) continue;
    TORCH_CHECK(!device || *device == *operation->device, "endCoalescing: tensors are on ", *device, " and ",
                *operation->device);
    device = operation->device;
  }
  if (device) return *device;
  return getBoundDeviceId().value_or(c10::Device(c10::kCUDA, c10::cuda::current_device()));
}

c10::cuda::CUDAStream ProcessGroupNCCL::stream_of(c10::Device device) {
  const auto found = streams_.find(device.index());
  if (found != streams_.end()) return found->second;
  const auto stream = c10::cuda::getStreamFromPool(nccl_options_->is_high_priority_stream, device.index());
  streams_.emplace(device.index(), stream);
  return stream;
}

void ProcessGroupNCCL::issue(const std::vector<OperationPtr>& operations, bool together) {
  const auto begin = Clock::now();
  for (const OperationPtr& operation : operations) {
    operation->begin = begin;
    recorder_->start(operation->record);
  }
  try {
    if (together) {
      for (const OperationPtr& operation : operations) check_coalescable(*operation);
    }
    put_on_stream(operations, device_of(operations), together);
  } catch (const std::exception& e) {
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    for (const OperationPtr& operation : operations) {
      const std::exception_ptr error = failed(*operation, e, ms);
      recorder_->end(operation->record, /*has_failed=*/true);
      operation->body = nullptr;
      operation->finish(error);
    }
  }
}

void ProcessGroupNCCL::put_on_stream(const std::vector<OperationPtr>& operations, c10::Device device, bool together) {
  const c10::cuda::CUDAGuard device_guard(device);
  const c10::AutoDispatchBelowADInplaceOrView plain;
  const auto current = c10::cuda::getCurrentCUDAStream();
  const auto stream = stream_of(device);
  const bool is_captured = c10::cuda::capture_status(current) != c10::cuda::CaptureStatus::None;
  const Engine::Call call{.deadline = Clock::now() + operations[0]->getTimeout()};
  const bool is_message = !together && isP2POp(operations[0]->retrieveOpType());
  engine().prepare(call, is_message ? operations[0]->peer : -1);
  auto end = std::make_shared<c10::cuda::CUDAEvent>();
  {
    const std::lock_guard<std::mutex> ordered(launch_order(device.index()));
    c10::cuda::CUDAEvent ready;
    ready.record(current);
    ready.block(stream);
    const c10::cuda::CUDAStreamGuard stream_guard(stream);
    const auto call_all = [&] {
      for (const OperationPtr& operation : operations) operation->body(call, *operation);
    };
    together ? engine().in_group(call, call_all) : call_all();
    end->record(stream);
  }
  for (const OperationPtr& operation : operations) {
    auto& on_device = static_cast<DeviceOperation&>(*operation);
    on_device.end = end;
    on_device.is_captured = is_captured;
    if (!is_captured) continue;
    recorder_->end(operation->record);
    operation->finish();
  }
  if (is_captured) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.insert(running_.end(), operations.begin(), operations.end());
  }
  changed_.notify_all();
}

// Within a group of NCCL's calls nothing may be copied before or behind them: the calls are made when the group ends.
void ProcessGroupNCCL::check_coalescable(const Operation& operation) {
  const OpType type = operation.fingerprint.operation;
  const bool is_one_call = isP2POp(type) || type == OpType::ALLREDUCE || type == OpType::BROADCAST ||
                           type == OpType::_ALLGATHER_BASE || type == OpType::_REDUCE_SCATTER_BASE;
  TORCH_CHECK_VALUE(is_one_call && operation.fingerprint.reduction != ReduceOp::PREMUL_SUM,
                    "endCoalescing: ", operation.describe(), " cannot be coalesced");
  TORCH_CHECK_VALUE(operation.is_contiguous, "endCoalescing: ", operation.describe(),
                    " cannot be coalesced: its tensors are not contiguous");
}

void ProcessGroupNCCL::startCoalescing() {
  const std::lock_guard<std::mutex> issuing(issue_mutex_);
  TORCH_CHECK(!coalesces_, "startCoalescing: operations are coalesced already");
  coalesces_ = true;
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::endCoalescing() {
  const std::lock_guard<std::mutex> issuing(issue_mutex_);
  TORCH_CHECK(coalesces_, "endCoalescing: startCoalescing was not called");
  coalesces_ = false;
  const std::vector<OperationPtr> operations = std::exchange(coalesced_, {});
  if (operations.empty()) return nullptr;
  issue(operations, true);
  return operations.back();
}

void ProcessGroupNCCL::eagerConnectSingleDevice(c10::Device device) {
  const std::lock_guard<std::mutex> issuing(issue_mutex_);
  const c10::cuda::CUDAGuard guard(device);
  engine().prepare({.deadline = Clock::now() + options_->timeout});
}

void ProcessGroupNCCL::performNocolorSplit(c10::Device device) {
  const std::lock_guard<std::mutex> issuing(issue_mutex_);
  const c10::cuda::CUDAGuard guard(device);
  engine().split_off_nothing({.deadline = Clock::now() + options_->timeout});
}

// --- looking after what runs ---

void ProcessGroupNCCL::look_after() {
  auto asked = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !running_.empty(); });
    if (running_.empty()) return;
    std::vector<OperationPtr> running = running_;
    lock.unlock();
    for (const OperationPtr& operation : running) {
      if (!operation->isCompleted()) look_at(operation);
      if (is_gone_) return;
    }
    running.clear();
    if (Clock::now() - asked >= kErrorTurn) {
      asked = Clock::now();
      if (const std::string error = engine().error(); !error.empty()) end_with(error);
    }
    std::this_thread::sleep_for(kTurn);
    lock.lock();
  }
}

void ProcessGroupNCCL::look_at(const OperationPtr& operation) {
  const auto& on_device = static_cast<const DeviceOperation&>(*operation);
  std::string why;
  bool is_done = false;
  try {
    const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
    is_done = on_device.end->query();
  } catch (const c10::Error& e) {
    why = e.msg();
  }
  // A communicator that is aborted lets its streams go on: what was said before that counts.
  take_in_what_was_heard();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!broken_.empty()) why = broken_;
  }
  const auto now = Clock::now();
  if (why.empty() && !is_done) {
    if (now - operation->begin < operation->getTimeout()) return;
    why = c10::str("timed out", whom_it_waits_for(*operation));
  }
  std::exception_ptr error;
  if (!why.empty()) {
    const double ms = std::chrono::duration<double, std::milli>(now - operation->begin).count();
    error = failed(*operation, c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, why), ms);
  }
  recorder_->end(operation->record, error != nullptr);
  operation->body = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(running_, operation);
  }
  operation->finish(error);
}

void ProcessGroupNCCL::end_with(const std::string& error) {
  std::string why = c10::str(label(), ": rank ", rank_, ": ", error);
  break_group(why, {});
}

std::string ProcessGroupNCCL::whom_it_waits_for(const Operation& operation) {
  if (isP2POp(operation.retrieveOpType())) return c10::str(" waiting for rank ", operation.peer);
  const std::string topic = c10::str("timeout of number ", operation.fingerprint.sequence);
  try {
    notice_->ask(topic);
    const auto end = Clock::now() + kAnswerTime;
    std::vector<std::string> answers;
    do {
      std::this_thread::sleep_for(kAnswerTime / 10);
      answers = notice_->answers(topic);
    } while (Clock::now() < end && std::count(answers.begin(), answers.end(), "") != 0);
    return who_called(operation.fingerprint.sequence, answers);
  } catch (const c10::Error&) {
    return "; the store does not answer";
  }
}

}  // namespace c10d
