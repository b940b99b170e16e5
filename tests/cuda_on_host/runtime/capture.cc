// Streams that are captured into graphs, and what may not be done meanwhile.
#include <algorithm>

#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

bool has_stream(const Capture& capture, int device, bool blocking_only) {
  return std::any_of(capture.streams.begin(), capture.streams.end(), [&](cudaStream_t handle) {
    const Stream* stream = state().streams.find(handle);
    return stream && stream->device == device && (!blocking_only || stream->blocking());
  });
}

bool legacy_is_taken(int device) {
  return std::any_of(state().captures.begin(), state().captures.end(),
                     [&](const auto& capture) { return has_stream(*capture, device, true); });
}

// Whether the calling thread's unsafe calls are prohibited because of this capture.
bool prohibits(const Capture& capture) {
  const cudaStreamCaptureMode mine = thread_state().mode;
  if (mine == cudaStreamCaptureModeRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return capture.mode != cudaStreamCaptureModeRelaxed;
  return mine == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
}

// All its streams go on as if they had not been captured. The graph stays.
void end_capture(Capture& capture) {
  for (cudaStream_t handle : capture.streams) {
    if (Stream* stream = state().streams.find(handle)) {
      stream->capture = nullptr;
      stream->capture_last.clear();
      stream->capture_handles.clear();
    }
  }
  std::erase_if(state().captures, [&](const auto& other) { return other.get() == &capture; });
}

// Whether every captured stream's work leads to what the origin did last.
bool joined(const Capture& capture, const Stream& origin) {
  std::set<const Node*> seen;
  std::vector<const Node*> open(origin.capture_last.begin(), origin.capture_last.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (seen.insert(node).second) open.insert(open.end(), node->after.begin(), node->after.end());
  }
  for (cudaStream_t handle : capture.streams) {
    const Stream* stream = state().streams.find(handle);
    if (!stream) continue;
    for (const Node* node : stream->capture_last) {
      if (!seen.contains(node)) return false;
    }
  }
  return true;
}

cudaError_t begin(cudaStream_t named, cudaStreamCaptureMode mode) {
  Stream* stream = find_stream(named, "cudaStreamBeginCapture");
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  if (stream->legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return cudaErrorIllegalState;
  auto capture = std::make_unique<Capture>();
  capture->id = state().next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream->handle;
  capture->graph = &new_graph();
  capture->graph->capturing = true;
  capture->streams.insert(stream->handle);
  stream->capture = capture.get();
  stream->capture_last.clear();
  state().captures.push_back(std::move(capture));
  return cudaSuccess;
}

cudaError_t end(cudaStream_t named, cudaGraph_t* result) {
  if (!result) return cudaErrorInvalidValue;
  Stream* stream = find_stream(named, "cudaStreamEndCapture");
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) return cudaErrorIllegalState;
  Capture& capture = *stream->capture;
  if (capture.origin != stream->handle) return break_capture(capture, cudaErrorStreamCaptureUnmatched);
  if (capture.mode != cudaStreamCaptureModeRelaxed && capture.thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  cudaError_t status = cudaSuccess;
  if (capture.broken) {
    status = cudaErrorStreamCaptureInvalidated;
  } else if (!joined(capture, *stream)) {
    status = cudaErrorStreamCaptureUnjoined;
  }
  Graph& graph = *capture.graph;
  end_capture(capture);
  graph.capturing = false;
  *result = status == cudaSuccess ? graph.handle : nullptr;
  if (status != cudaSuccess) delete_graph(graph);
  return status;
}

// The status, but where the legacy stream cannot say it.
cudaError_t status_of(cudaStream_t named, const char* call, cudaStreamCaptureStatus* status, Stream** found) {
  if (!status) return cudaErrorInvalidValue;
  Stream* stream = find_stream(named, call);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (stream->legacy && legacy_is_taken(stream->device)) return cudaErrorStreamCaptureImplicit;
  *found = stream;
  *status = !stream->capture          ? cudaStreamCaptureStatusNone
            : stream->capture->broken ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t update_dependencies(cudaStream_t named, cudaGraphNode_t* nodes, size_t count, unsigned flags) {
  Stream* stream = find_stream(named, "cudaStreamUpdateCaptureDependencies");
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) return cudaErrorIllegalState;
  if (flags > cudaStreamSetCaptureDependencies || (count > 0 && !nodes)) return cudaErrorInvalidValue;
  if (stream->capture->broken) return cudaErrorStreamCaptureInvalidated;
  std::vector<Node*> last;
  if (flags == cudaStreamAddCaptureDependencies) last = stream->capture_last;
  for (size_t i = 0; i < count; ++i) {
    const auto found = state().nodes.find(nodes[i]);
    if (found == state().nodes.end() || found->second->graph != stream->capture->graph) return cudaErrorInvalidValue;
    if (std::find(last.begin(), last.end(), found->second) == last.end()) last.push_back(found->second);
  }
  stream->capture_last = std::move(last);
  return cudaSuccess;
}

}  // namespace

cudaError_t break_capture(Capture& capture, cudaError_t why) {
  capture.broken = true;
  return why;
}

cudaError_t check_unsafe() {
  cudaError_t status = cudaSuccess;
  for (const auto& capture : state().captures) {
    if (prohibits(*capture)) status = break_capture(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return status;
}

cudaError_t check_device_wait(int device) {
  cudaError_t status = check_unsafe();
  for (const auto& capture : state().captures) {
    if (has_stream(*capture, device, false)) status = break_capture(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return status;
}

cudaError_t check_stream_wait(Stream& stream) {
  if (stream.capture) return break_capture(*stream.capture, cudaErrorStreamCaptureUnsupported);
  if (cudaError_t status = check_legacy(stream)) return status;
  return check_unsafe();
}

cudaError_t check_legacy(Stream& stream) {
  if (!stream.legacy) return cudaSuccess;
  cudaError_t status = cudaSuccess;
  for (const auto& capture : state().captures) {
    if (has_stream(*capture, stream.device, true)) status = break_capture(*capture, cudaErrorStreamCaptureImplicit);
  }
  return status;
}

cudaError_t add_node(Stream& stream, Action action, Node** made) {
  Capture& capture = *stream.capture;
  if (capture.broken) return cudaErrorStreamCaptureInvalidated;
  auto node = std::make_unique<Node>();
  node->handle = reinterpret_cast<cudaGraphNode_t>(next_handle());
  node->graph = capture.graph;
  node->action = std::move(action);
  node->after = stream.capture_last;
  state().nodes[node->handle] = node.get();
  stream.capture_last = {node.get()};
  if (made) *made = node.get();
  capture.graph->nodes.push_back(std::move(node));
  return cudaSuccess;
}

Capture* find_capture(uint64_t id) {
  for (const auto& capture : state().captures) {
    if (capture->id == id) return capture.get();
  }
  return nullptr;
}

void leave_capture(Stream& stream) {
  Capture& capture = *stream.capture;
  if (capture.origin == stream.handle) {
    Graph& graph = *capture.graph;
    end_capture(capture);
    delete_graph(graph);
    return;
  }
  break_capture(capture, cudaErrorStreamCaptureInvalidated);
  capture.streams.erase(stream.handle);
}

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return api("cudaStreamBeginCapture", [&] { return begin(stream, mode); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return api("cudaStreamEndCapture", [&] { return end(stream, graph); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t named, cudaStreamCaptureStatus* status) {
  return api("cudaStreamIsCapturing", [&] {
    Stream* stream = nullptr;
    return status_of(named, "cudaStreamIsCapturing", status, &stream);
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t named, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return api("cudaStreamGetCaptureInfo", [&] {
    if (edges && !nodes) return cudaErrorInvalidValue;
    Stream* stream = nullptr;
    if (cudaError_t failed = status_of(named, "cudaStreamGetCaptureInfo", status, &stream)) return failed;
    if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (id) *id = stream->capture->id;
    if (graph) *graph = stream->capture->graph->handle;
    stream->capture_handles.clear();
    for (const Node* node : stream->capture_last) stream->capture_handles.push_back(node->handle);
    stream->capture_edges.assign(stream->capture_handles.size(), cudaGraphEdgeData{});
    if (nodes) *nodes = stream->capture_handles.data();
    if (edges) *edges = stream->capture_edges.data();
    if (count) *count = stream->capture_handles.size();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData*,
                                                size_t count, unsigned int flags) {
  return api("cudaStreamUpdateCaptureDependencies", [&] { return update_dependencies(stream, nodes, count, flags); });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api("cudaThreadExchangeStreamCaptureMode", [&] {
    if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
      return cudaErrorInvalidValue;
    std::swap(*mode, thread_state().mode);
    return cudaSuccess;
  });
}

}  // extern "C"
}  // namespace cuda_standin
