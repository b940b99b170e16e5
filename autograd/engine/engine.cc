#include "autograd/engine/engine.h"

#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "aten/core/thread_local_state.h"
#include "autograd/engine/lane.h"
#include "autograd/engine/pass.h"
#include "autograd/engine/runner.h"
#include "c10/core/accelerator.h"
#include "c10/core/device_guard_impl.h"
#include "c10/util/atomic.h"
#include "c10/util/exception.h"

namespace torch::autograd {

thread_local constinit Frame* current_frame = nullptr;

namespace {

// Passes inside passes that one thread runs. Each needs the stack of everything between two passes, a user's node or hook
// included; the next ones run in a thread of their own.
constexpr uint32_t kMaxDepth = 64;

constinit c10::Atomic<uint64_t> last_pass_id{0};

void check_roots(const Edge* roots, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    TORCH_CHECK(roots[i].is_valid(), "element ", i, " of tensors does not require grad and does not have a grad_fn");
    TORCH_CHECK(
        roots[i].input_nr < roots[i].function->num_inputs(), "edge ", i, " leads to input ", roots[i].input_nr, " of ",
        roots[i].function->name(), ", which has ", roots[i].function->num_inputs());
  }
}

// What a thread has made current of devices, for another one.
class CurrentStreams {
 public:
  CurrentStreams() {
    for (const c10::DeviceType type : at::detail::kAccelerators) {
      if (!c10::impl::hasDeviceGuardImpl(type)) continue;
      const c10::impl::DeviceGuardImplInterface& impl = *c10::impl::getDeviceGuardImpl(type);
      const c10::DeviceIndex count = impl.deviceCount();
      for (c10::DeviceIndex i = 0; i < count; ++i) streams_.push_back(impl.getStream(c10::Device(type, i)));
      if (count != 0) devices_.push_back(impl.getDevice());
    }
  }
  void set() const {
    for (const c10::Stream& stream : streams_) c10::impl::getDeviceGuardImpl(stream.device_type())->exchangeStream(stream);
    for (const c10::Device& device : devices_) c10::impl::getDeviceGuardImpl(device.type())->setDevice(device);
  }

 private:
  std::vector<c10::Stream> streams_;
  std::vector<c10::Device> devices_;
};

// As run_here in a thread with a stack of its own, which stands for the calling one until that goes on.
C10_NOINLINE void run_elsewhere(const Request& request, Frame* outer) {
  const at::ThreadLocalState state;
  const CurrentStreams streams;
  Lane* const lane = Lane::of_this_thread();
  std::exception_ptr error;
  const auto run = [&] {
    try {
      Lane::take_over(lane);
      streams.set();
      at::ThreadLocalStateGuard guard(state);
      run_here(request, outer, 0);
    } catch (...) {
      error = std::current_exception();
    }
  };
  std::thread thread;
  try {
    thread = std::thread(run);
  } catch (const std::system_error& e) {
    TORCH_CHECK(
        false, "backward: passes inside passes are too deep: the next ", kMaxDepth,
        " need a thread of their own, which could not be started: ", e.what());
  }
  thread.join();
  if (error) std::rethrow_exception(error);
}

[[gnu::cold]] C10_NOINLINE void warn_of_cycles() {
  TORCH_WARN_ONCE(
      "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
      "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
      "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid "
      "the leak.");
}

void run_pass(const Request& request) {
  if (C10_UNLIKELY(request.create_graph) && request.accumulate_grad) warn_of_cycles();
  check_roots(request.roots, request.count);
  Frame* const outer = current_frame;
  if (C10_LIKELY(outer == nullptr)) return run_here(request, nullptr, 0);
  if (outer->depth + 1 < kMaxDepth) return run_here(request, outer, outer->depth + 1);
  run_elsewhere(request, outer);
}

}  // namespace

Engine& Engine::get_default_engine() {
  static constinit Engine engine;
  return engine;
}

Node* Engine::current_node() noexcept {
  return current_frame == nullptr ? nullptr : current_frame->node;
}

uint64_t Engine::current_pass() noexcept {
  if (current_frame == nullptr) return 0;
  uint64_t id = current_frame->pass->id.load();
  if (id != 0) return id;
  const uint64_t fresh = last_pass_id.fetch_add(1) + 1;
  return current_frame->pass->id.compare_exchange(id, fresh) ? fresh : id;
}

bool Engine::will_execute(const Node& node) {
  TORCH_CHECK(
      current_frame != nullptr && current_frame->pass->tasks != nullptr,
      "whether a node will be executed can be asked during a backward pass only");
  return current_frame->pass->tasks->will_execute(&node);
}

bool Engine::has_inputs() noexcept {
  const Frame* const frame = current_frame;
  return frame != nullptr && frame->pass->tasks != nullptr && frame->pass->tasks->has_inputs();
}

NodePtr get_current_node() {
  Node* const node = Engine::current_node();
  return node == nullptr ? NodePtr() : node->getptr();
}

bool Node::task_should_compute_output(size_t i) const {
  if (!should_compute_output(i)) return false;
  const Frame* const frame = current_frame;
  if (frame == nullptr || frame->node != this || frame->pass->tasks == nullptr) return true;
  return frame->pass->tasks->needs_output(frame->task, i);
}

void Engine::queue_callback(std::function<void()> callback) {
  TORCH_CHECK(current_frame != nullptr, "Final callbacks can only be installed during backward pass.");
  Pass& pass = *current_frame->pass;
  std::lock_guard<std::mutex> lock(pass.callbacks_mutex);
  pass.callbacks.push_back(std::move(callback));
}

variable_list Engine::execute(
    const edge_list& roots,
    const variable_list& inputs,
    bool keep_graph,
    bool create_graph,
    bool accumulate_grad,
    const edge_list& outputs) {
  TORCH_CHECK(roots.size() == inputs.size(), "got ", roots.size(), " tensors and ", inputs.size(), " gradients");
  variable_list results(outputs.size());
  const bool ask = !outputs.empty() || !accumulate_grad;
  run_pass(
      {.roots = roots.data(),
       .inputs = inputs.data(),
       .count = roots.size(),
       .keep_graph = keep_graph,
       .create_graph = create_graph,
       .accumulate_grad = accumulate_grad,
       .outputs = ask ? &outputs : nullptr,
       .results = &results});
  return results;
}

void Engine::accumulate(const Edge& root, const at::Tensor& gradient, bool keep_graph, bool create_graph) {
  run_pass(
      {.roots = &root,
       .inputs = &gradient,
       .count = 1,
       .keep_graph = keep_graph,
       .create_graph = create_graph,
       .accumulate_grad = true,
       .outputs = nullptr,
       .results = nullptr});
}

}  // namespace torch::autograd
