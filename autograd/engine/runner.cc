#include "autograd/engine/runner.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/thread_local_state.h"
#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/anomaly_mode.h"
#include "autograd/engine/backward_range.h"
#include "autograd/engine/grad_ops.h"
#include "autograd/engine/lane.h"
#include "autograd/engine/multithreading.h"
#include "autograd/engine/node_extras.h"
#include "autograd/engine/node_gate.h"
#include "c10/core/event.h"
#include "c10/core/grad_mode.h"
#include "c10/core/stream_guard.h"
#include "c10/util/exception.h"
#include "c10/util/small_vector.h"

namespace torch::autograd {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// One node of a running pass.
struct Task {
  Node* node;
  uint32_t missing = 0;        // edges that lead here and have not delivered
  uint32_t first_edge = 0;     // of its targets
  uint32_t first_grad = 0;     // of its incoming gradients
  uint32_t first_capture = kNone;
  bool needed = true;          // lies on a way to something asked for
};

struct Ready {
  uint64_t sequence;
  uint32_t task;
  bool operator<(const Ready& other) const {
    return sequence != other.sequence ? sequence < other.sequence : task > other.task;
  }
};

// A result that the caller asked for: the gradient number `input_nr` of a task.
struct Capture {
  uint32_t input_nr;
  uint32_t position;
  uint32_t next;
};

// The memory of a pass; kept by the thread from one pass to the next.
struct Scratch {
  std::vector<Task> tasks;
  std::vector<uint32_t> targets;  // by edge: the task it leads to
  std::vector<at::Tensor> grads;
  std::vector<at::Tensor> outs;
  std::vector<Ready> ready;
  std::vector<Capture> captures;
  std::vector<uint32_t> table;  // open addressing over node addresses: task + 1, or 0

  static constexpr size_t kKeptTasks = 1 << 14;
  // Fewer tasks are searched one by one.
  static constexpr size_t kTableFrom = 8;

  void clear() {
    tasks.clear();
    targets.clear();
    grads.clear();
    outs.clear();
    ready.clear();
    captures.clear();
  }
};

thread_local bool multithreading = true;

// What a pass needs beyond the rest where some of its nodes run on devices: their threads take its tasks from here.
struct DevicePass {
  struct Queue {
    Lane* lane;
    std::vector<Ready> ready;
  };

  std::mutex mutex;  // of everything here and, while the pass runs, of Task::missing and the gradients that come in
  Lane* caller = nullptr;
  bool in_callers_thread = false;  // nodes of devices as well
  at::ThreadLocalState state;  // of the calling thread
  std::vector<Queue> queues;
  std::vector<c10::Stream> streams;         // that nodes ran on
  std::vector<c10::Stream> caller_streams;  // the calling thread's, one a device
  size_t queued = 0;
  size_t running = 0;
  size_t done = 0;
  std::exception_ptr error;

  Queue& queue_of(Lane* lane) {
    for (Queue& queue : queues) {
      if (queue.lane == lane) return queue;
    }
    return queues.emplace_back(Queue{lane, {}});
  }
};

// Makes a gradient fit the result it is for, or throws. `node` gave it; null for the caller of the pass.
C10_NOINLINE void fit_gradient(const Node* node, size_t i, at::Tensor& grad, const InputMetadata& want) {
  const auto refuse = [&](const std::string& why) {
    TORCH_CHECK(
        false, node == nullptr ? std::string() : "Function " + node->name() + " returned an ",
        "invalid gradient at index ", i, " - ", why);
  };
  if (!c10::isFloatingType(grad.scalar_type()) && !c10::isComplexType(grad.scalar_type())) {
    refuse(c10::str(
        "expected type ", c10::toString(want.scalar_type()), " but got ", c10::toString(grad.scalar_type())));
  }
  if (!grad_ops::fit(grad, want)) {
    refuse(c10::str("got ", grad.sizes(), " but expected shape compatible with ", want.shape()));
  }
  if (grad.device() != want.device()) {
    refuse(c10::str("expected device ", want.device().str(), " but got ", grad.device().str()));
  }
}

inline void check_gradient(const Node* node, size_t i, at::Tensor& grad, const InputMetadata& want) {
  if (!want.defined()) return;
  const c10::TensorImpl& impl = *grad.unsafeGetTensorImpl();
  if (C10_LIKELY(impl.dtype() == want.scalar_type() && impl.device() == want.device() && want.has_shape_of(grad))) return;
  fit_gradient(node, i, grad, want);
}

// Finds the nodes that a pass reaches, counts what each of them waits for, and runs them in order.
class Runner final : public PassTasks, public LaneWork {
 public:
  Runner(Scratch& scratch, Frame& frame, bool keep_graph, bool accumulate)
      : s_(scratch), frame_(frame), keep_graph_(keep_graph), accumulate_(accumulate) {}

  void discover(const Edge* roots, size_t count);
  void ask_for(const edge_list& outputs, variable_list& results);
  void feed(const Edge* roots, const at::Tensor* inputs, size_t count);
  void run();

  bool will_execute(const Node* node) const override;
  bool needs_output(uint32_t task, size_t edge) const override;
  bool has_inputs() const override { return results_ != nullptr; }
  void run_one(Lane& lane) override;

 private:
  // The task of a node that was discovered, or kNone.
  uint32_t find(const Node* node) const;
  uint32_t find_or_add(Node* node);
  void rehash(size_t slots);
  static size_t hash(const Node* node) {
    const uint64_t bits = reinterpret_cast<uint64_t>(node) >> 4;
    return static_cast<size_t>((bits * 0x9E3779B97F4A7C15u) >> 20);
  }
  void push_ready(uint32_t task) {
    s_.ready.push_back({s_.tasks[task].node->sequence_nr(), task});
    if (s_.ready.size() > 1) std::push_heap(s_.ready.begin(), s_.ready.end());
  }
  // Here and in deliver(): whether the pass runs on devices.
  template <bool kDevices>
  void run_task(uint32_t index, std::vector<at::Tensor>& outs, Frame& frame);
  void run_tensor_hooks(Node& node, NodeExtras& extras, at::Tensor* grads);
  void run_post_hooks(Node& node, const variable_list& in, at::Tensor* out);
  void run_pre_hooks(Node& node, at::Tensor* in);
  void evaluate(Node& node, at::Tensor* in, at::Tensor* out, Frame& frame);
  void evaluate_with_hooks(Node& node, at::Tensor* in, at::Tensor* out, Frame& frame);
  void evaluate_checked(Node& node, at::Tensor* in, at::Tensor* out);
  template <bool kDevices>
  void deliver(Node& node, const Task& task, at::Tensor* out);
  // Adds output `i` of `from` to what comes in as number `input_nr`.
  void add_to(const Task& to, uint32_t input_nr, const Node& from, size_t i, at::Tensor& gradient) {
    check_gradient(&from, i, gradient, to.node->input_metadata(input_nr));
    accumulate(s_.grads[to.first_grad + input_nr], std::move(gradient));
  }
  bool has_gradient(const Task& task) const {
    for (uint32_t i = 0; i < task.node->num_inputs(); ++i) {
      if (s_.grads[task.first_grad + i].defined()) return true;
    }
    return false;
  }
  void run_on_devices();
  void push_to_lane(uint32_t task);
  void run_task_in_lane(uint32_t task);
  std::optional<c10::Stream> hand_over(const Node& from, const Node& to, const at::Tensor& gradient);
  std::optional<c10::Stream> stream_of(const Node& node);
  c10::Stream callers_stream(c10::Device device);
  void accumulate(at::Tensor& into, at::Tensor&& grad) {
    if (into.defined()) {
      into = grad_ops::add_reusing(std::move(into), std::move(grad));
    } else {
      into = std::move(grad);
    }
  }

  Scratch& s_;
  Frame& frame_;
  variable_list* results_ = nullptr;
  const bool keep_graph_;
  const bool accumulate_;
  bool hashed_ = false;
  bool on_devices_ = false;
  uint32_t grads_count_ = 0;
  DevicePass* devices_ = nullptr;
};

thread_local std::unique_ptr<Scratch> kept_scratch;

// Takes the thread's scratch, or makes one where an outer pass has it; gives it back unless it grew large.
class ScratchLease {
 public:
  ScratchLease() : scratch_(std::move(kept_scratch)) {
    if (!scratch_) scratch_ = std::make_unique<Scratch>();
  }
  ~ScratchLease() {
    if (scratch_->tasks.capacity() > Scratch::kKeptTasks || scratch_->grads.capacity() > Scratch::kKeptTasks ||
        scratch_->targets.capacity() > 2 * Scratch::kKeptTasks) {
      return;
    }
    scratch_->clear();
    kept_scratch = std::move(scratch_);
  }
  Scratch& operator*() { return *scratch_; }

 private:
  std::unique_ptr<Scratch> scratch_;
};

uint32_t Runner::find(const Node* node) const {
  if (!hashed_) {
    const uint32_t count = static_cast<uint32_t>(s_.tasks.size());
    for (uint32_t i = 0; i < count; ++i) {
      if (s_.tasks[i].node == node) return i;
    }
    return kNone;
  }
  const size_t mask = s_.table.size() - 1;
  for (size_t slot = hash(node) & mask; s_.table[slot] != 0; slot = (slot + 1) & mask) {
    if (s_.tasks[s_.table[slot] - 1].node == node) return s_.table[slot] - 1;
  }
  return kNone;
}

uint32_t Runner::find_or_add(Node* node) {
  if (!hashed_) {
    const uint32_t found = find(node);
    if (found != kNone) return found;
    const uint32_t count = static_cast<uint32_t>(s_.tasks.size());
    if (count < Scratch::kTableFrom) {
      s_.tasks.push_back({.node = node, .first_grad = grads_count_});
      grads_count_ += node->num_inputs();
      return count;
    }
    hashed_ = true;
    // A small table left by an earlier pass is used again.
    rehash(std::min<size_t>(std::max<size_t>(s_.table.size(), 64), 256));
  }
  if ((s_.tasks.size() + 1) * 2 > s_.table.size()) rehash(s_.table.size() * 2);
  const size_t mask = s_.table.size() - 1;
  for (size_t slot = hash(node) & mask;; slot = (slot + 1) & mask) {
    const uint32_t entry = s_.table[slot];
    if (entry == 0) {
      TORCH_CHECK(s_.tasks.size() < kNone - 1, "backward: the graph has more than 2^32 - 2 nodes");
      s_.tasks.push_back({.node = node, .first_grad = grads_count_});
      grads_count_ += node->num_inputs();
      s_.table[slot] = static_cast<uint32_t>(s_.tasks.size());
      return static_cast<uint32_t>(s_.tasks.size() - 1);
    }
    if (s_.tasks[entry - 1].node == node) return entry - 1;
  }
}

void Runner::rehash(size_t slots) {
  s_.table.assign(slots, 0);
  for (uint32_t i = 0; i < s_.tasks.size(); ++i) {
    size_t slot = hash(s_.tasks[i].node) & (slots - 1);
    while (s_.table[slot] != 0) slot = (slot + 1) & (slots - 1);
    s_.table[slot] = i + 1;
  }
}

void Runner::discover(const Edge* roots, size_t count) {
  for (size_t i = 0; i < count; ++i) find_or_add(roots[i].function.get());
  for (uint32_t i = 0; i < s_.tasks.size(); ++i) {
    Node* node = s_.tasks[i].node;
    on_devices_ |= node->runs_on_stream();
    s_.tasks[i].first_edge = static_cast<uint32_t>(s_.targets.size());
    for (const Edge* edge = node->next_edges_begin(); edge != node->next_edges_end(); ++edge) {
      if (!edge->is_valid()) {
        s_.targets.push_back(kNone);
        continue;
      }
      const uint32_t target = find_or_add(edge->function.get());
      ++s_.tasks[target].missing;
      s_.targets.push_back(target);
    }
  }
  s_.grads.resize(grads_count_);
}

void Runner::ask_for(const edge_list& outputs, variable_list& results) {
  results_ = &results;
  for (Task& task : s_.tasks) task.needed = false;
  const size_t tasks = s_.tasks.size();
  for (uint32_t position = 0; position < outputs.size(); ++position) {
    if (!outputs[position].is_valid()) continue;
    const uint32_t index = find(outputs[position].function.get());
    if (index == kNone) continue;  // not reached from the roots
    Task& task = s_.tasks[index];
    if (accumulate_ && dynamic_cast<AccumulateGrad*>(task.node) != nullptr) {
      task.needed = true;
      continue;
    }
    s_.captures.push_back({outputs[position].input_nr, position, task.first_capture});
    task.first_capture = static_cast<uint32_t>(s_.captures.size() - 1);
  }
  // Against the direction of the edges: first an order in which every node precedes its targets.
  std::vector<uint32_t> missing(tasks);
  std::vector<uint32_t> order;
  order.reserve(tasks);
  for (uint32_t i = 0; i < tasks; ++i) {
    missing[i] = s_.tasks[i].missing;
    if (missing[i] == 0) order.push_back(i);
  }
  for (size_t at = 0; at < order.size(); ++at) {
    const Task& task = s_.tasks[order[at]];
    for (uint32_t e = 0; e < task.node->num_outputs(); ++e) {
      const uint32_t target = s_.targets[task.first_edge + e];
      if (target != kNone && --missing[target] == 0) order.push_back(target);
    }
  }
  for (size_t at = order.size(); at-- > 0;) {
    Task& task = s_.tasks[order[at]];
    for (uint32_t e = 0; e < task.node->num_outputs() && !task.needed; ++e) {
      const uint32_t target = s_.targets[task.first_edge + e];
      if (target == kNone) continue;
      task.needed = s_.tasks[target].needed || s_.tasks[target].first_capture != kNone;
    }
  }
}

void Runner::feed(const Edge* roots, const at::Tensor* inputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t index = find(roots[i].function.get());
    at::Tensor grad = inputs[i];
    if (!grad.defined()) continue;
    check_gradient(nullptr, i, grad, roots[i].function->input_metadata(roots[i].input_nr));
    accumulate(s_.grads[s_.tasks[index].first_grad + roots[i].input_nr], std::move(grad));
  }
}

C10_ALWAYS_INLINE void Runner::evaluate(Node& node, at::Tensor* in, at::Tensor* out, Frame& frame) {
  Node* const outer = std::exchange(frame.node, &node);
  try {
    if (C10_LIKELY(node.extras() == nullptr)) {
      NodeGate gate(node, !keep_graph_, frame.outer, frame.below);
      if (C10_LIKELY(at::impl::range_hooks() == nullptr && !AnomalyMode::is_enabled())) {
        node.evaluate(in, out);
      } else {
        evaluate_checked(node, in, out);
      }
      if (gate.may_free()) node.release_variables();
    } else {
      evaluate_with_hooks(node, in, out, frame);
    }
  } catch (...) {
    if (AnomalyMode::is_enabled()) AnomalyMode::report(node);
    frame.node = outer;
    throw;
  }
  frame.node = outer;
}

template <bool kDevices>
void Runner::run_task(uint32_t index, std::vector<at::Tensor>& outs, Frame& frame) {
  const Task task = s_.tasks[index];
  Node& node = *task.node;
  at::Tensor* in = s_.grads.data() + task.first_grad;
  const uint32_t num_inputs = node.num_inputs();
  if (C10_UNLIKELY(node.extras() != nullptr) && (task.needed || task.first_capture != kNone)) {
    run_tensor_hooks(node, *node.extras(), in);
  }
  for (uint32_t c = task.first_capture; c != kNone; c = s_.captures[c].next) {
    (*results_)[s_.captures[c].position] = in[s_.captures[c].input_nr];
  }
  const uint32_t num_outputs = node.num_outputs();
  if (outs.size() < num_outputs) outs.resize(num_outputs);
  at::Tensor* out = outs.data();
  bool any = false;
  if (task.needed) {
    for (uint32_t i = 0; i < num_inputs; ++i) any |= in[i].defined();
    // A user's node may have something to say of its inputs even where nothing flows.
    if (!any) any = num_outputs != 0 && !node.is_generic();
  }
  if (any) {
    frame.task = index;
    evaluate(node, in, out, frame);
  }
  for (uint32_t i = 0; i < num_inputs; ++i) in[i].reset();
  std::optional<std::lock_guard<std::mutex>> lock;
  if constexpr (kDevices) lock.emplace(devices_->mutex);
  deliver<kDevices>(node, task, out);
}

template <bool kDevices>
void Runner::deliver(Node& node, const Task& task, at::Tensor* out) {
  const Edge* edges = node.next_edges_begin();
  for (uint32_t i = 0; i < node.num_outputs(); ++i) {
    const uint32_t target = s_.targets[task.first_edge + i];
    if (target == kNone) {
      out[i].reset();
      continue;
    }
    Task& to = s_.tasks[target];
    if (out[i].defined()) {
      if (to.needed || to.first_capture != kNone) {
        if constexpr (kDevices) {
          const c10::OptionalStreamGuard stream(hand_over(node, *to.node, out[i]));
          add_to(to, edges[i].input_nr, node, i, out[i]);
        } else {
          add_to(to, edges[i].input_nr, node, i, out[i]);
        }
      } else {
        out[i].reset();
      }
    }
    if (--to.missing == 0) kDevices ? push_to_lane(target) : push_ready(target);
  }
}

void Runner::run() {
  if (C10_UNLIKELY(on_devices_)) return run_on_devices();
  for (uint32_t i = 0; i < s_.tasks.size(); ++i) {
    if (s_.tasks[i].missing == 0) push_ready(i);
  }
  size_t done = 0;
  while (!s_.ready.empty()) {
    if (s_.ready.size() > 1) std::pop_heap(s_.ready.begin(), s_.ready.end());
    const uint32_t next = s_.ready.back().task;
    s_.ready.pop_back();
    run_task<false>(next, s_.outs, frame_);
    ++done;
  }
  TORCH_CHECK(done == s_.tasks.size(), "backward: the graph has a cycle");
}

// What `waiting` is given from now on comes after what `producer` has now.
void wait_for(const c10::Stream& waiting, const c10::Stream& producer) {
  if (waiting == producer) return;
  if (waiting.device_type() != producer.device_type()) return producer.synchronize();
  c10::Event event(producer.device_type());
  event.record(producer);
  waiting.wait(event);
}

C10_NOINLINE void Runner::run_on_devices() {
  Lane own;
  DevicePass devices;
  devices.caller = Lane::of_this_thread() != nullptr ? Lane::of_this_thread() : &own;
  devices.in_callers_thread = !multithreading;
  devices_ = &devices;
  {
    const std::lock_guard<std::mutex> lock(devices.mutex);
    for (const Task& task : s_.tasks) {
      const auto device = task.node->device();
      if (!device.has_value()) continue;
      callers_stream(*device);
      // A thread that cannot be started is an error before any task is on its way.
      if (!devices.in_callers_thread) Lane::of(*device);
    }
    for (uint32_t i = 0; i < s_.tasks.size(); ++i) {
      const Task& task = s_.tasks[i];
      // What the caller gave was computed on its own streams.
      if (const auto stream = stream_of(*task.node); stream.has_value() && has_gradient(task)) {
        wait_for(*stream, callers_stream(stream->device()));
      }
      if (task.missing == 0) push_to_lane(i);
    }
  }
  devices.caller->serve([&devices] {
    const std::lock_guard<std::mutex> lock(devices.mutex);
    return devices.queued == 0 && devices.running == 0;
  });
  devices_ = nullptr;
  if (devices.error) std::rethrow_exception(devices.error);
  TORCH_CHECK(devices.done == s_.tasks.size(), "backward: the graph has a cycle");
  // What the caller puts on its streams from now on comes after the gradients.
  for (const c10::Stream& used : devices.streams) {
    for (const c10::Stream& waiting : devices.caller_streams) {
      if (waiting.device() == used.device()) wait_for(waiting, used);
    }
  }
}

// Precondition here and below: devices_->mutex is held, but for run_one and run_task_in_lane.
void Runner::push_to_lane(uint32_t task) {
  const std::optional<at::Device> device = s_.tasks[task].node->device();
  const bool elsewhere = device.has_value() && !devices_->in_callers_thread;
  Lane* const lane = elsewhere ? &Lane::of(*device) : devices_->caller;
  std::vector<Ready>& ready = devices_->queue_of(lane).ready;
  ready.push_back({s_.tasks[task].node->sequence_nr(), task});
  std::push_heap(ready.begin(), ready.end());
  ++devices_->queued;
  lane->put(*this);
}

void Runner::run_one(Lane& lane) {
  DevicePass& devices = *devices_;
  std::optional<uint32_t> task;
  {
    const std::lock_guard<std::mutex> lock(devices.mutex);
    std::vector<Ready>& ready = devices.queue_of(&lane).ready;
    std::pop_heap(ready.begin(), ready.end());
    if (!devices.error) task = ready.back().task;
    ready.pop_back();
    --devices.queued;
    ++devices.running;
  }
  std::exception_ptr error;
  if (task.has_value()) {
    try {
      run_task_in_lane(*task);
    } catch (...) {
      error = std::current_exception();
    }
  }
  const std::lock_guard<std::mutex> lock(devices.mutex);
  --devices.running;
  if (error && !devices.error) devices.error = error;
  devices.done += task.has_value();
  // The caller looks at the counts under the lock: until that is let go of, pass and lane live.
  devices.caller->wake();
}

void Runner::run_task_in_lane(uint32_t task) {
  std::vector<at::Tensor> outs;
  std::optional<c10::Stream> stream;
  c10::SmallVector<c10::Stream, 4> elsewhere;
  {
    const std::lock_guard<std::mutex> lock(devices_->mutex);
    stream = stream_of(*s_.tasks[task].node);
    for (const c10::Stream& callers : devices_->caller_streams) {
      if (stream.has_value() && callers.device_type() == stream->device_type() && callers.device() != stream->device())
        elsewhere.push_back(callers);
    }
  }
  // A node may read and write tensors of other devices than its own.
  const c10::MultiStreamGuard as_caller_elsewhere(elsewhere);
  const c10::OptionalStreamGuard on_stream(stream);
  if (stream.has_value()) {
    const std::lock_guard<std::mutex> lock(devices_->mutex);
    std::vector<c10::Stream>& used = devices_->streams;
    if (std::find(used.begin(), used.end(), *stream) == used.end()) used.push_back(*stream);
  }
  // The thread may be in another pass's node, or in one of this pass that runs a pass itself.
  const at::ThreadLocalStateGuard as_caller(devices_->state);
  Frame* const below = current_frame;
  Frame frame{
      .pass = frame_.pass, .outer = frame_.outer, .depth = below == nullptr ? 0 : below->depth, .below = below};
  FrameScope scope(frame);
  run_task<true>(task, outs, frame);
}

// A leaf has no stream of its own: its gradient is there for what the caller does next, on the caller's. (The node may
// be older than the pass, and a stream that is captured must not wait for what came before.)
std::optional<c10::Stream> Runner::stream_of(const Node& node) {
  if (node.sequence_nr() != Node::kAccumulateSequence) return node.stream();
  const std::optional<c10::Device> device = node.device();
  return device.has_value() ? std::optional(callers_stream(*device)) : std::nullopt;
}

c10::Stream Runner::callers_stream(c10::Device device) {
  for (const c10::Stream& stream : devices_->caller_streams) {
    if (stream.device() == device) return stream;
  }
  return devices_->caller_streams.emplace_back(c10::impl::getDeviceGuardImpl(device.type())->getStream(device));
}

// Before `gradient`, an output of `from`, is added to what comes into `to`: the stream where that is done waits for the one
// where it was computed. Returns that stream.
std::optional<c10::Stream> Runner::hand_over(const Node& from, const Node& to, const at::Tensor& gradient) {
  const c10::Device device = gradient.device();
  const bool on_device = device.type() != c10::DeviceType::CPU && device.type() != c10::DeviceType::Meta;
  std::optional<c10::Stream> producer = stream_of(from);
  std::optional<c10::Stream> consumer = stream_of(to);
  if (on_device && !producer.has_value()) producer = c10::impl::getDeviceGuardImpl(device.type())->getStream(device);
  // A node on the CPU that takes a device's tensor works on the caller's stream.
  if (on_device && !consumer.has_value()) consumer = callers_stream(device);
  if (!producer.has_value() || !consumer.has_value()) return consumer;
  // Copied here from another device.
  if (on_device && producer->device() != device) {
    wait_for(*consumer, c10::impl::getDeviceGuardImpl(device.type())->getStream(device));
  }
  wait_for(*consumer, *producer);
  if (!on_device) return consumer;
  // A node of another device reads it on the caller's stream.
  const c10::Stream reader = device == consumer->device() ? *consumer : callers_stream(device);
  if (reader != *consumer) wait_for(reader, *producer);
  if (reader != *producer) {
    const auto& storage = gradient.unsafeGetTensorImpl()->storage();
    if (storage) c10::impl::getDeviceGuardImpl(device.type())->recordDataPtrOnStream(storage->data_ptr(), reader);
  }
  return consumer;
}

void Runner::run_tensor_hooks(Node& node, NodeExtras& extras, at::Tensor* grads) {
  // By index: a hook may add and remove hooks.
  for (size_t i = 0; i < extras.tensor_hooks.size(); ++i) {
    at::Tensor& grad = grads[extras.tensor_hooks[i].input_nr];
    if (!grad.defined() && !extras.tensor_hooks[i].even_undefined) continue;
    const TensorHook hook = extras.tensor_hooks[i].hook;
    at::Tensor replaced = hook(grad);
    if (!replaced.defined()) continue;
    if (replaced.sizes() != grad.sizes()) {
      throw std::runtime_error(c10::str("hook '", i, "' has changed the size of value"));
    }
    if (replaced.scalar_type() != grad.scalar_type()) {
      throw std::runtime_error(c10::str(
          "hook '", i, "' has changed the type of value (was ", grad.toString(), " got ", replaced.toString(), ")"));
    }
    if (replaced.device() != grad.device()) {
      throw std::runtime_error(c10::str("hook '", i, "' has changed the device of value"));
    }
    grad = std::move(replaced);
  }
  for (const NodeExtras::Retained& retained : extras.retained) {
    const at::Tensor& grad = grads[retained.input_nr];
    if (!grad.defined()) continue;
    c10::intrusive_ptr<c10::TensorImpl> tensor = retained.tensor.lock();
    if (!tensor) continue;
    at::Tensor& kept = tensor->autograd_meta()->mutable_grad();
    kept = kept.defined() ? grad_ops::add(kept, grad) : grad;
  }
}

void Runner::run_pre_hooks(Node& node, at::Tensor* in) {
  const uint32_t n = node.num_inputs();
  const NodeExtras& extras = *node.extras();
  for (size_t h = 0; h < extras.pre_hooks.size(); ++h) {
    const std::shared_ptr<FunctionPreHook> hook = extras.pre_hooks[h];
    variable_list replaced = (*hook)(variable_list(in, in + n));
    TORCH_CHECK(
        replaced.size() == n, "pre hook ", h, " of ", node.name(), " returned ", replaced.size(), " gradients, expected ",
        n);
    for (uint32_t i = 0; i < n; ++i) in[i] = std::move(replaced[i]);
  }
}

void Runner::run_post_hooks(Node& node, const variable_list& in, at::Tensor* out) {
  const NodeExtras& extras = *node.extras();
  const uint32_t n = node.num_outputs();
  for (size_t h = 0; h < extras.post_hooks.size(); ++h) {
    const std::shared_ptr<FunctionPostHook> hook = extras.post_hooks[h];
    variable_list outputs = (*hook)(variable_list(out, out + n), in);
    TORCH_CHECK(
        outputs.size() == n, "post hook ", h, " of ", node.name(), " returned ", outputs.size(), " gradients, expected ",
        n);
    for (uint32_t i = 0; i < n; ++i) out[i] = std::move(outputs[i]);
  }
}

C10_NOINLINE void Runner::evaluate_with_hooks(Node& node, at::Tensor* in, at::Tensor* out, Frame& frame) {
  run_pre_hooks(node, in);
  variable_list given;
  const bool has_post_hooks = !node.extras()->post_hooks.empty();
  if (has_post_hooks) given.assign(in, in + node.num_inputs());
  {
    NodeGate gate(node, !keep_graph_, frame.outer, frame.below);
    evaluate_checked(node, in, out);
    if (!has_post_hooks && gate.may_free()) node.release_variables();
  }
  if (has_post_hooks) {
    run_post_hooks(node, given, out);
    NodeGate gate(node, !keep_graph_, frame.outer, frame.below);
    if (gate.may_free()) node.release_variables();
  }
}

void Runner::evaluate_checked(Node& node, at::Tensor* in, at::Tensor* out) {
  {
    const BackwardRange range(node, in);
    node.evaluate(in, out);
  }
  if (!AnomalyMode::is_enabled() || !AnomalyMode::should_check_nan()) return;
  for (uint32_t i = 0; i < node.num_outputs(); ++i) {
    if (out[i].defined() && grad_ops::has_nan(out[i])) {
      throw std::runtime_error(c10::str("Function '", node.name(), "' returned nan values in its ", i, "th output."));
    }
  }
}

bool Runner::will_execute(const Node* node) const {
  const uint32_t task = find(node);
  return task != kNone && (s_.tasks[task].needed || s_.tasks[task].first_capture != kNone);
}

bool Runner::needs_output(uint32_t task, size_t edge) const {
  const uint32_t target = s_.targets[s_.tasks[task].first_edge + edge];
  return target != kNone && (s_.tasks[target].needed || s_.tasks[target].first_capture != kNone);
}

}  // namespace

void run_here(const Request& request, Frame* outer, uint32_t depth) {
  c10::AutoGradMode mode(request.create_graph);
  ScratchLease scratch;
  Pass pass;
  Frame frame{.pass = &pass, .outer = outer, .depth = depth};
  FrameScope scope(frame);
  {
    Runner runner(*scratch, frame, request.keep_graph, request.accumulate_grad);
    pass.tasks = &runner;
    runner.discover(request.roots, request.count);
    if (request.outputs != nullptr) runner.ask_for(*request.outputs, *request.results);
    runner.feed(request.roots, request.inputs, request.count);
    runner.run();
    pass.tasks = nullptr;
  }
  for (size_t i = 0; i < pass.callbacks.size(); ++i) pass.callbacks[i]();
}

MultithreadingGuard::MultithreadingGuard(bool enabled) : before_(std::exchange(multithreading, enabled)) {}
MultithreadingGuard::~MultithreadingGuard() {
  multithreading = before_;
}

}  // namespace torch::autograd
