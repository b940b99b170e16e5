// Work of a stream and of those that branch off from it, recorded once and replayed as a whole.
//
//   at::cuda::CUDAGraph graph;
//   {
//     torch::cuda::graph capture(graph);
//     y = at::mul(x, 2);
//   }
//   x.copy_(next);
//   graph.replay();  // y is twice the new x
//
// Nothing runs while it is captured. Replays use the same memory: tensors made meanwhile lie in a pool of the graph's,
// which keeps their addresses until graph and tensors are gone. What a graph cannot hold ends its capture with an
// error: waiting for a device or a stream (item(), copies to the CPU), work on the default stream, draws from a
// generator that the graph does not know.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aten/cuda/capture.h"
#include "aten/cuda/generator.h"
#include "c10/cuda/caching_allocator.h"
#include "c10/cuda/event.h"
#include "c10/cuda/guard.h"
#include "c10/cuda/stream.h"

namespace at::cuda {

/// A pool for several captures: graphs that are replayed in the order of their captures, and never at the same time,
/// may share one.
inline MempoolId_t graph_pool_handle() {
  return c10::cuda::MemPool::graph_pool_handle();
}

/// A graph. Not for several threads at once. A failing call of CUDA throws c10::AcceleratorError; capture_begin and
/// capture_end leave nothing behind then, and another capture can begin.
struct CUDAGraph {
  /// `keep_graph`: the graph from which the executable one is made stays (raw_cuda_graph), and is made executable by
  /// instantiate() or the first replay, not by capture_end().
  explicit CUDAGraph(bool keep_graph = false) : keep_graph_(keep_graph) {}
  CUDAGraph(const CUDAGraph&) = delete;
  CUDAGraph& operator=(const CUDAGraph&) = delete;
  ~CUDAGraph() { reset(); }

  /// Before capture_begin: the graph may draw from the generator, which is one of the device's. Each replay draws anew.
  /// The default generator of the device is known to every graph.
  void register_generator_state(const at::Generator& generator);
  void register_generator_state(c10::intrusive_ptr<at::CUDAGeneratorState> state, c10::DeviceIndex device = -1);
  void unregister_generator_state(const c10::intrusive_ptr<at::CUDAGeneratorState>& state);

  /// From now on work put on the current stream, which is not the default one, is recorded. `pool` is that of another
  /// graph, a graph_pool_handle(), or {0, 0} for one of its own. `capture_mode` says which calls of other threads end
  /// the capture (cudaStreamBeginCapture).
  void capture_begin(MempoolId_t pool = {0, 0}, cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal);
  /// On the same stream, which all streams have rejoined.
  void capture_end();
  void instantiate();
  /// Puts the graph on the current stream of its device.
  void replay();
  /// Gives up what was captured, a capture that goes on, and the registered generators.
  void reset();

  MempoolId_t pool();
  /// The graph is kept for debug_dump, which writes it to a file in DOT's language. Called before capture_end.
  void enable_debug_mode() { debug_ = true; }
  void debug_dump(const std::string& debug_path);

  cudaGraph_t raw_cuda_graph();
  cudaGraphExec_t raw_cuda_graph_exec();

 private:
  enum class Phase { kEmpty, kCapturing, kCaptured };
  struct Source {
    c10::intrusive_ptr<at::CUDAGeneratorState> state;
    c10::DeviceIndex device;  // -1: not known
    c10::DataPtr memory;      // seed and offset, for the graph's kernels
    uint64_t words;           // that each of their threads draws in one replay

    int64_t* numbers() const { return static_cast<int64_t*>(memory.get()); }
  };

  void prepare_sources();
  bool end_stream_capture(cudaError_t* status);
  void finish_sources();
  void abandon() noexcept;
  void discard() noexcept;

  const bool keep_graph_;
  bool debug_ = false;
  Phase phase_ = Phase::kEmpty;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  c10::DeviceIndex device_ = -1;
  MempoolId_t pool_{0, 0};
  std::optional<CUDAStream> stream_;
  CaptureId_t capture_id_ = 0;
  std::vector<Source> sources_;
  // Where the last replay that drew numbers was put, and its end.
  std::optional<CUDAStream> replay_stream_;
  CUDAEvent replayed_;
};

}  // namespace at::cuda

namespace torch::cuda {

using at::cuda::CUDAGraph;
using at::cuda::graph_pool_handle;

/// Whether work put on the current stream is captured.
inline bool is_current_stream_capturing() {
  return at::cuda::currentStreamCaptureStatus() != at::cuda::CaptureStatus::None;
}

/// Captures what is done in its scope: waits for the device, gives cached memory back, and makes `stream`, or one that
/// is kept for this, the current one. The end of the scope is the end of the capture and may throw; an exception gives
/// the capture up.
class graph {
 public:
  explicit graph(CUDAGraph& cuda_graph, at::cuda::MempoolId_t pool = {0, 0},
                 std::optional<c10::cuda::CUDAStream> stream = std::nullopt,
                 cudaStreamCaptureMode capture_error_mode = cudaStreamCaptureModeGlobal);
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  ~graph() noexcept(false);

 private:
  CUDAGraph& graph_;
  const int exceptions_;
  std::optional<c10::cuda::CUDAStreamGuard> guard_;
};

}  // namespace torch::cuda
