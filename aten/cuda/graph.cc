#include "aten/cuda/graph.h"

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include "aten/cuda/random/state.h"
#include "c10/cuda/device.h"
#include "c10/cuda/exception.h"
#include "c10/util/exception.h"
#include "c10/util/scope_exit.h"

namespace at::cuda {
namespace {

namespace CachingAllocator = c10::cuda::CUDACachingAllocator;
using c10::DeviceIndex;

using SharedId = std::shared_ptr<std::atomic<CaptureId_t>>;

// Whether a stream takes part in a capture. The allocator asks for each request, of any thread.
bool takes_part(cudaStream_t stream, const SharedId& capture) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CaptureId_t id = 0;
  const cudaError_t error =
      C10_CUDA_ERROR_HANDLED(cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr));
  if (error == cudaErrorStreamCaptureImplicit) {  // the default stream beside a capture that it would wait for
    C10_CUDA_CLEAR_ERROR();
    return false;
  }
  C10_CUDA_CHECK(error);
  return status == cudaStreamCaptureStatusActive && id == capture->load();
}

// For what gives up: an error is a warning.
template <class Body>
void or_warn(const Body& body) noexcept {
  try {
    body();
  } catch (const std::exception& e) {
    TORCH_WARN("CUDAGraph: ", e.what());
  }
}

}  // namespace

// --- generators ---

void CUDAGraph::register_generator_state(const at::Generator& generator) {
  register_generator_state(check_generator<CUDAGeneratorImpl>(generator)->state(), generator.device().index());
}

void CUDAGraph::register_generator_state(c10::intrusive_ptr<at::CUDAGeneratorState> state, DeviceIndex device) {
  TORCH_CHECK(state.defined(), "register_generator_state: expected a state");
  TORCH_CHECK(phase_ == Phase::kEmpty, "register_generator_state: generators are registered before capture_begin");
  for (const Source& source : sources_) {
    if (source.state.get() == state.get()) return;
  }
  sources_.push_back({std::move(state), device, {}, 0});
}

void CUDAGraph::unregister_generator_state(const c10::intrusive_ptr<at::CUDAGeneratorState>& state) {
  TORCH_CHECK(phase_ == Phase::kEmpty, "unregister_generator_state: the graph draws from the generator");
  std::erase_if(sources_, [&](const Source& source) { return source.state.get() == state.get(); });
}

// Memory for all that the graph may draw from; it is none of the graph's pool.
void CUDAGraph::prepare_sources() {
  register_generator_state(detail::getDefaultCUDAGenerator(device_));
  for (Source& source : sources_) {
    TORCH_CHECK(source.device == -1 || source.device == device_,
                "capture_begin: a generator of cuda:", static_cast<int>(source.device),
                " is registered with a graph of cuda:", static_cast<int>(device_));
    source.memory = CachingAllocator::get()->allocate(2 * sizeof(int64_t));
    source.words = 0;
  }
}

void CUDAGraph::finish_sources() {
  for (Source& source : sources_) source.words = source.state->end_capture(capture_id_);
}

// --- capture ---

void CUDAGraph::capture_begin(MempoolId_t pool, cudaStreamCaptureMode capture_mode) {
  TORCH_CHECK(phase_ != Phase::kCapturing, "capture_begin: the graph's capture goes on");
  TORCH_CHECK(phase_ == Phase::kEmpty,
              "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance.");
  TORCH_CHECK(pool.first == 0 || pool.second == 0, "capture_begin: {", pool.first, ", ", pool.second,
              "} is no pool's id: one of its numbers is 0");
  const CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  TORCH_CHECK(stream != c10::cuda::getDefaultCUDAStream(stream.device_index()),
              "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
              "on the default "
              "stream.)");
  TORCH_CHECK(c10::cuda::capture_status(stream) == CaptureStatus::None, "capture_begin: ", stream,
              " is captured already");

  device_ = stream.device_index();
  auto drop_memory = c10::make_scope_exit([&] {
    for (Source& source : sources_) source.memory.clear();
  });
  prepare_sources();
  const MempoolId_t id = pool == MempoolId_t{0, 0} ? c10::cuda::MemPool::graph_pool_handle(false) : pool;
  const auto capture = std::make_shared<std::atomic<CaptureId_t>>(0);
  CachingAllocator::beginAllocateToPool(device_, id, [capture](cudaStream_t s) { return takes_part(s, capture); });
  auto leave_pool = c10::make_scope_exit([&] {
    or_warn([&] { CachingAllocator::endAllocateToPool(device_, id); });
    or_warn([&] { CachingAllocator::releasePool(device_, id); });
  });
  C10_CUDA_CHECK(cudaStreamBeginCapture(stream, capture_mode));
  pool_ = id;
  stream_ = stream;
  phase_ = Phase::kCapturing;
  leave_pool.release();
  drop_memory.release();
  auto give_up = c10::make_scope_exit([&] { abandon(); });
  const auto number = c10::cuda::capture_id(stream);
  TORCH_CHECK(number.has_value(), "capture_begin: the capture has ended by itself");
  capture_id_ = *number;
  capture->store(capture_id_);
  for (Source& source : sources_) source.state->begin_capture(capture_id_, source.numbers());
  give_up.release();
}

// Ends the capture of the stream; false where it goes on all the same.
bool CUDAGraph::end_stream_capture(cudaError_t* status) {
  const c10::cuda::ReleaseGuard guard(device_);
  *status = C10_CUDA_ERROR_HANDLED(cudaStreamEndCapture(*stream_, &graph_));
  if (*status == cudaSuccess) return true;
  C10_CUDA_CLEAR_ERROR();
  graph_ = nullptr;
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  const cudaError_t asked = C10_CUDA_ERROR_HANDLED(cudaStreamIsCapturing(*stream_, &capturing));
  if (asked == cudaSuccess) return capturing == cudaStreamCaptureStatusNone;
  C10_CUDA_CLEAR_ERROR();
  return false;
}

void CUDAGraph::capture_end() {
  TORCH_CHECK(phase_ == Phase::kCapturing, "capture_end: no capture of this graph has begun");
  TORCH_CHECK(c10::cuda::getCurrentCUDAStream(device_) == *stream_, "Capture must end on the same stream it began on.");
  cudaError_t status = cudaSuccess;
  if (!end_stream_capture(&status)) c10::cuda::throw_cuda_error(status, "cudaStreamEndCapture", __FILE__, __LINE__);
  finish_sources();
  phase_ = Phase::kCaptured;
  or_warn([&] { CachingAllocator::endAllocateToPool(device_, pool_); });
  auto give_up = c10::make_scope_exit([&] { discard(); });
  if (status != cudaSuccess) c10::cuda::throw_cuda_error(status, "cudaStreamEndCapture", __FILE__, __LINE__);
  size_t nodes = 0;
  C10_CUDA_CHECK(cudaGraphGetNodes(graph_, nullptr, &nodes));
  if (nodes == 0) TORCH_WARN("The CUDA graph is empty: its work may have been put on another device or stream.");
  if (!keep_graph_) instantiate();
  give_up.release();
}

void CUDAGraph::instantiate() {
  TORCH_CHECK(phase_ == Phase::kCaptured && graph_ != nullptr,
              "CUDAGraph::instantiate: there is no captured graph, or it was not kept");
  const CUDAGuard guard(device_);
  if (exec_ != nullptr) C10_CUDA_CHECK(cudaGraphExecDestroy(std::exchange(exec_, nullptr)));
  C10_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph_, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  if (!keep_graph_ && !debug_) C10_CUDA_CHECK_WARN(cudaGraphDestroy(std::exchange(graph_, nullptr)));
}

// --- replay ---

void CUDAGraph::replay() {
  TORCH_CHECK(phase_ == Phase::kCaptured, "Called CUDAGraph::replay without a preceding successful capture.");
  const CUDAGuard guard(device_);
  if (exec_ == nullptr) instantiate();
  const CUDAStream stream = c10::cuda::getCurrentCUDAStream(device_);
  bool draws = false;
  for (const Source& source : sources_) draws = draws || source.words > 0;
  if (draws) {
    TORCH_CHECK(c10::cuda::capture_status(stream) == CaptureStatus::None,
                "CUDAGraph::replay: a graph that draws random numbers cannot become a part of another one");
    // The last replay may read its numbers still.
    if (replay_stream_.has_value() && *replay_stream_ != stream) replayed_.block(stream);
    for (const Source& source : sources_) {
      if (source.words == 0) continue;
      CachingAllocator::recordStream(source.memory, stream);
      const auto [seed, offset] = source.state->take(source.words);
      write_generator_values(source.numbers(), seed, offset, stream);
    }
  }
  C10_CUDA_CHECK(cudaGraphLaunch(exec_, stream));
  if (!draws) return;
  replayed_.record(stream);
  replay_stream_ = stream;
}

void CUDAGraph::reset() {
  if (phase_ == Phase::kCapturing) abandon();
  discard();
  sources_.clear();
}

// Ends a capture whose graph nobody wants.
void CUDAGraph::abandon() noexcept {
  cudaError_t status = cudaSuccess;
  // Once more: a call that failed has ended nothing.
  if (!end_stream_capture(&status) && !end_stream_capture(&status)) or_warn([&] { C10_CUDA_CHECK(status); });
  finish_sources();
  or_warn([&] { CachingAllocator::endAllocateToPool(device_, pool_); });
  phase_ = Phase::kCaptured;
  discard();
}

// Drops a graph that was captured, in whole or in part, and its user of the pool.
void CUDAGraph::discard() noexcept {
  if (phase_ == Phase::kEmpty) return;
  const c10::cuda::ReleaseGuard guard(device_);
  if (exec_ != nullptr) C10_CUDA_CHECK_WARN(cudaGraphExecDestroy(std::exchange(exec_, nullptr)));
  if (graph_ != nullptr) C10_CUDA_CHECK_WARN(cudaGraphDestroy(std::exchange(graph_, nullptr)));
  or_warn([&] { CachingAllocator::releasePool(device_, pool_); });
  for (Source& source : sources_) {
    or_warn([&] { source.memory.clear(); });
    source.words = 0;
  }
  replay_stream_.reset();
  stream_.reset();
  phase_ = Phase::kEmpty;
}

// --- what is known of it ---

MempoolId_t CUDAGraph::pool() {
  TORCH_CHECK(phase_ == Phase::kCaptured, "Called CUDAGraph::pool() without a preceding successful capture.");
  return pool_;
}

void CUDAGraph::debug_dump(const std::string& debug_path) {
  TORCH_CHECK(phase_ == Phase::kCaptured, "CUDAGraph::debug_dump: there is no captured graph");
  TORCH_CHECK(graph_ != nullptr,
              "CUDAGraph::debug_dump: the graph was not kept: call enable_debug_mode() before its capture ends");
  C10_CUDA_CHECK(cudaGraphDebugDotPrint(graph_, debug_path.c_str(), cudaGraphDebugDotFlagsVerbose));
}

cudaGraph_t CUDAGraph::raw_cuda_graph() {
  TORCH_CHECK(keep_graph_,
              "CUDAGraph::raw_cuda_graph: the graph is kept only where it was made with keep_graph = true");
  TORCH_CHECK(phase_ == Phase::kCaptured, "CUDAGraph::raw_cuda_graph: there is no captured graph");
  return graph_;
}

cudaGraphExec_t CUDAGraph::raw_cuda_graph_exec() {
  TORCH_CHECK(phase_ == Phase::kCaptured && exec_ != nullptr,
              "CUDAGraph::raw_cuda_graph_exec: there is no executable graph: call instantiate() first");
  return exec_;
}

}  // namespace at::cuda

namespace torch::cuda {
namespace {

// The stream of a device's captures.
c10::cuda::CUDAStream capture_stream() {
  static std::mutex mutex;
  static std::array<std::optional<c10::cuda::CUDAStream>, C10_COMPILE_TIME_MAX_GPUS> streams;
  std::lock_guard lock(mutex);
  auto& stream = streams[static_cast<size_t>(c10::cuda::current_device())];
  if (!stream.has_value()) stream = c10::cuda::getStreamFromPool();
  return *stream;
}

}  // namespace

graph::graph(CUDAGraph& cuda_graph, at::cuda::MempoolId_t pool, std::optional<c10::cuda::CUDAStream> stream,
             cudaStreamCaptureMode capture_error_mode)
    : graph_(cuda_graph), exceptions_(std::uncaught_exceptions()) {
  c10::cuda::device_synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache();
  guard_.emplace(stream.has_value() ? *stream : capture_stream());
  graph_.capture_begin(pool, capture_error_mode);
}

graph::~graph() noexcept(false) {
  if (std::uncaught_exceptions() > exceptions_) {
    graph_.reset();
  } else {
    graph_.capture_end();
  }
}

}  // namespace torch::cuda
