// Streams and events.
#include <algorithm>

#include "tests/cuda_on_host/runtime/limits.h"
#include "tests/cuda_on_host/runtime/state.h"

namespace cuda_standin {
namespace {

// cudaStreamPerThread on the current device.
Stream& own_stream() {
  auto& mine = thread_state().own_streams;
  const auto device = static_cast<size_t>(current_device());
  if (mine.size() <= device) mine.resize(device + 1);
  if (!mine[device]) {
    auto made = std::make_unique<Stream>();
    made->device = current_device();
    made->own = false;
    made->id = state().next_id++;
    made->name = cudaStreamPerThread;
    mine[device] = state().streams.add(std::move(made));
  }
  return *state().streams.find(mine[device]);
}

cudaError_t create_stream(cudaStream_t* result, unsigned flags, int priority) {
  if (!result || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking))) return cudaErrorInvalidValue;
  auto made = std::make_unique<Stream>();
  made->device = current_device();
  made->flags = flags;
  made->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  made->id = state().next_id++;
  Stream& stream = *made;
  *result = state().streams.add(std::move(made));
  stream.name = *result;
  return cudaSuccess;
}

cudaError_t create_event(cudaEvent_t* result, unsigned flags) {
  if (!result ||
      (flags & ~static_cast<unsigned>(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)))
    return cudaErrorInvalidValue;
  if ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)) return cudaErrorInvalidValue;
  auto made = std::make_unique<Event>();
  made->device = current_device();
  made->flags = flags;
  made->id = state().next_id++;
  *result = state().events.add(std::move(made));
  return cudaSuccess;
}

// A captured event cannot be asked about or waited for.
cudaError_t refuse_captured(const Event& event) {
  Capture* capture = find_capture(event.record->capture);
  return capture ? break_capture(*capture, cudaErrorCapturedEvent) : cudaErrorCapturedEvent;
}

cudaError_t record(cudaEvent_t named_event, cudaStream_t named_stream, unsigned flags) {
  Event* event = find_event(named_event, "cudaEventRecord");
  Stream* stream = find_stream(named_stream, "cudaEventRecord");
  if (!event || !stream) return cudaErrorInvalidResourceHandle;
  if (flags & ~static_cast<unsigned>(cudaEventRecordExternal)) return cudaErrorInvalidValue;
  if (event->device != stream->device) return cudaErrorInvalidResourceHandle;
  if (cudaError_t status = check_legacy(*stream)) return status;
  if (stream->capture && (flags & cudaEventRecordExternal)) {
    return add_node(*stream, {.type = cudaGraphNodeTypeEventRecord,
                              .work = {.name = "event record", .device = stream->device},
                              .event = named_event});
  }
  if (stream->capture) {
    if (stream->capture->broken) return cudaErrorStreamCaptureInvalidated;
    event->record->captured = true;
    event->record->capture = stream->capture->id;
    event->record->nodes = stream->capture_last;
    return cudaSuccess;
  }
  if (flags & cudaEventRecordExternal) return cudaErrorIllegalState;
  auto time = std::make_shared<double>(0);
  uint64_t id = 0;
  if (cudaError_t status = submit(*stream, {.name = "event record", .run = [time] { *time = state().now; }}, &id))
    return status;
  if (event->record->shared) begin_turn(*event->record, id);
  event->record->captured = false;
  event->record->done_once = true;
  event->record->nodes.clear();
  event->record->time = std::move(time);
  event->record->work = id;
  return cudaSuccess;
}

cudaError_t wait_for_captured(Stream& stream, const Event& event) {
  Capture* capture = find_capture(event.record->capture);
  if (!capture) {  // its sequence has ended
    return stream.capture ? break_capture(*stream.capture, cudaErrorStreamCaptureIsolation) : cudaErrorCapturedEvent;
  }
  if (stream.legacy) return break_capture(*capture, cudaErrorStreamCaptureImplicit);
  if (capture->broken) return cudaErrorStreamCaptureInvalidated;
  if (stream.capture && stream.capture != capture) {
    break_capture(*stream.capture, cudaErrorStreamCaptureMerge);
    return break_capture(*capture, cudaErrorStreamCaptureMerge);
  }
  if (!stream.capture) {
    stream.capture = capture;
    stream.capture_last.clear();
    capture->streams.insert(stream.handle);
  }
  for (Node* node : event.record->nodes) {
    if (std::find(stream.capture_last.begin(), stream.capture_last.end(), node) == stream.capture_last.end())
      stream.capture_last.push_back(node);
  }
  return cudaSuccess;
}

cudaError_t wait_for(cudaStream_t named_stream, cudaEvent_t named_event, unsigned flags) {
  Stream* stream = find_stream(named_stream, "cudaStreamWaitEvent");
  Event* event = find_event(named_event, "cudaStreamWaitEvent");
  if (!event || !stream) return cudaErrorInvalidResourceHandle;
  if (flags & ~static_cast<unsigned>(cudaEventWaitExternal)) return cudaErrorInvalidValue;
  if (stream->capture && (flags & cudaEventWaitExternal)) {
    return add_node(*stream, {.type = cudaGraphNodeTypeWaitEvent,
                              .work = {.name = "event wait", .device = stream->device},
                              .event = named_event});
  }
  if (event->record->captured) return wait_for_captured(*stream, *event);
  if (flags & cudaEventWaitExternal) return cudaErrorIllegalState;
  if (stream->capture) {
    if (stream->capture->broken) return cudaErrorStreamCaptureInvalidated;
    return event->record->done_once ? break_capture(*stream->capture, cudaErrorStreamCaptureIsolation) : cudaSuccess;
  }
  if (cudaError_t status = check_legacy(*stream)) return status;
  if (is_foreign(*event->record)) {
    set_last(*stream, add_foreign_wait(*event->record, stream->device, stream->name, stream_dependencies(*stream)));
    return cudaSuccess;
  }
  if (!event->record->done_once) return cudaSuccess;
  note_wait(WaitKind::kStreamForEvent, stream->device, stream->id, event->id);
  std::vector<uint64_t> after = stream_dependencies(*stream);
  after.push_back(event->record->work);
  set_last(*stream,
           add_work({.name = "event wait", .device = stream->device, .stream = stream->name}, std::move(after)));
  return cudaSuccess;
}

}  // namespace

Stream* find_stream(cudaStream_t stream, const char* call) {
  if (stream == nullptr || stream == cudaStreamLegacy) return &device_state(current_device()).legacy;
  if (stream == cudaStreamPerThread) return &own_stream();
  Stream* found = state().streams.find(stream);
  if (!found)
    add_misuse(std::string(call) + (was_handle(stream) ? ": a stream that was destroyed" : ": what is no stream"));
  return found;
}

Event* find_event(cudaEvent_t event, const char* call) {
  Event* found = state().events.find(event);
  if (!found && event)
    add_misuse(std::string(call) + (was_handle(event) ? ": an event that was destroyed" : ": what is no event"));
  return found;
}

std::vector<uint64_t> stream_dependencies(Stream& stream) {
  Device& device = device_state(stream.device);
  std::vector<uint64_t> after{stream.last};
  if (stream.legacy) {
    for (const auto& [handle, other] : state().streams) {
      if (other->device == stream.device && other->blocking()) after.push_back(other->last);
    }
    after.insert(after.end(), device.orphans.begin(), device.orphans.end());
  } else if (stream.blocking()) {
    after.push_back(device.legacy.last);
  }
  return after;
}

void set_last(Stream& stream, uint64_t work) {
  stream.last = work;
  if (state().options.execution == Execution::kEager) run_some(SIZE_MAX);
}

cudaError_t submit(Stream& stream, Work work, uint64_t* id, cudaGraphNodeType type) {
  if (id) *id = 0;
  work.device = stream.device;
  work.stream = stream.name;
  work.observed.stream = stream.id;
  if (stream.capture) return add_node(stream, {.type = type, .work = std::move(work)});
  if (state().options.idle) return cudaSuccess;
  if (cudaError_t status = check_legacy(stream)) return status;
  const uint64_t made = add_work(std::move(work), stream_dependencies(stream));
  if (id) *id = made;
  set_last(stream, made);
  return cudaSuccess;
}

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* result) {
  return api("cudaStreamCreate", [&] { return create_stream(result, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* result, unsigned int flags) {
  return api("cudaStreamCreateWithFlags", [&] { return create_stream(result, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* result, unsigned int flags, int priority) {
  return api("cudaStreamCreateWithPriority", [&] { return create_stream(result, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t named) {
  return api(
      "cudaStreamDestroy",
      [&] {
        Stream* stream = find_stream(named, "cudaStreamDestroy");
        if (!stream || !stream->own) return cudaErrorInvalidResourceHandle;
        if (stream->capture) leave_capture(*stream);
        // What is pending goes on without it.
        auto& orphans = device_state(stream->device).orphans;
        std::erase_if(orphans, [](uint64_t work) { return !is_pending(work); });
        if (is_pending(stream->last)) orphans.push_back(stream->last);
        state().streams.erase(named);
        return cudaSuccess;
      },
      kReleases);
}

cudaError_t cudaStreamSynchronize(cudaStream_t named) {
  return api("cudaStreamSynchronize", [&] {
    Stream* stream = find_stream(named, "cudaStreamSynchronize");
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (cudaError_t status = check_stream_wait(*stream)) return status;
    note_wait(WaitKind::kStream, stream->device, stream->id);
    finish(stream->legacy ? stream_dependencies(*stream) : std::vector<uint64_t>{stream->last});
    trim_pools(stream->device);
    return state().sticky;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t named) {
  return api("cudaStreamQuery", [&] {
    Stream* stream = find_stream(named, "cudaStreamQuery");
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (cudaError_t status = check_stream_wait(*stream)) return status;
    bool done = true;
    for (uint64_t work : stream->legacy ? stream_dependencies(*stream) : std::vector<uint64_t>{stream->last})
      done &= poll(work);
    if (state().sticky != cudaSuccess) return state().sticky;
    return done ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return api("cudaStreamWaitEvent", [&] { return wait_for(stream, event, flags); });
}

cudaError_t cudaStreamGetPriority(cudaStream_t named, int* priority) {
  return api("cudaStreamGetPriority", [&] {
    if (!priority) return cudaErrorInvalidValue;
    Stream* stream = find_stream(named, "cudaStreamGetPriority");
    if (!stream) return cudaErrorInvalidResourceHandle;
    *priority = stream->priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t named, unsigned int* flags) {
  return api("cudaStreamGetFlags", [&] {
    if (!flags) return cudaErrorInvalidValue;
    Stream* stream = find_stream(named, "cudaStreamGetFlags");
    if (!stream) return cudaErrorInvalidResourceHandle;
    *flags = stream->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t named, unsigned long long* id) {
  return api("cudaStreamGetId", [&] {
    if (!id) return cudaErrorInvalidValue;
    Stream* stream = find_stream(named, "cudaStreamGetId");
    if (!stream) return cudaErrorInvalidResourceHandle;
    *id = stream->id;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t named, int* device) {
  return api("cudaStreamGetDevice", [&] {
    if (!device) return cudaErrorInvalidValue;
    Stream* stream = find_stream(named, "cudaStreamGetDevice");
    if (!stream) return cudaErrorInvalidResourceHandle;
    *device = stream->device;
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t named, cudaHostFn_t function, void* data) {
  return api("cudaLaunchHostFunc", [&] {
    if (!function) return cudaErrorInvalidValue;
    Stream* stream = find_stream(named, "cudaLaunchHostFunc");
    if (!stream) return cudaErrorInvalidResourceHandle;
    return submit(*stream, {.name = "host function", .kind = WorkKind::kHostFunction, .run = [=] { function(data); }},
                  nullptr, cudaGraphNodeTypeHost);
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* result) {
  return api("cudaEventCreate", [&] { return create_event(result, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* result, unsigned int flags) {
  return api("cudaEventCreateWithFlags", [&] { return create_event(result, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api(
      "cudaEventDestroy",
      [&] {
        if (!find_event(event, "cudaEventDestroy")) return cudaErrorInvalidResourceHandle;
        state().events.erase(event);
        return cudaSuccess;
      },
      kReleases);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return api("cudaEventRecord", [&] { return record(event, stream, cudaEventRecordDefault); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return api("cudaEventRecordWithFlags", [&] { return record(event, stream, flags); });
}

cudaError_t cudaEventQuery(cudaEvent_t named) {
  return api("cudaEventQuery", [&] {
    Event* event = find_event(named, "cudaEventQuery");
    if (!event) return cudaErrorInvalidResourceHandle;
    if (event->record->captured) return refuse_captured(*event);
    if (cudaError_t status = check_unsafe()) return status;
    const bool done = is_foreign(*event->record) ? foreign_has_happened(*event->record) : poll(event->record->work);
    if (state().sticky != cudaSuccess) return state().sticky;
    return done ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t named) {
  return api("cudaEventSynchronize", [&] {
    Event* event = find_event(named, "cudaEventSynchronize");
    if (!event) return cudaErrorInvalidResourceHandle;
    if (event->record->captured) return refuse_captured(*event);
    if (cudaError_t status = check_unsafe()) return status;
    note_wait(WaitKind::kEvent, event->device, 0, event->id);
    finish({is_foreign(*event->record) ? add_foreign_wait(*event->record, event->device, nullptr, {})
                                       : event->record->work});
    trim_pools(event->device);
    return state().sticky;
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t named_start, cudaEvent_t named_end) {
  return api("cudaEventElapsedTime", [&] {
    if (!milliseconds) return cudaErrorInvalidValue;
    Event *start = find_event(named_start, "cudaEventElapsedTime"),
          *end = find_event(named_end, "cudaEventElapsedTime");
    if (!start || !end) return cudaErrorInvalidResourceHandle;
    for (Event* event : {start, end}) {
      if (event->record->captured) return refuse_captured(*event);
    }
    if (!start->timing() || !end->timing() || !start->record->done_once || !end->record->done_once)
      return cudaErrorInvalidResourceHandle;
    if (is_pending(start->record->work) || is_pending(end->record->work)) return cudaErrorNotReady;
    *milliseconds = static_cast<float>(*end->record->time - *start->record->time);
    return cudaSuccess;
  });
}

}  // extern "C"
}  // namespace cuda_standin
