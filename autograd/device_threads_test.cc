// Backward passes through nodes of devices: a thread for each device, on the streams that the forward ran on. The device is
// one of names: its guard notes what happens to its streams, and its tensors are numbers in the CPU's memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aten/core/dispatch_mode.h"
#include "aten/core/empty.h"
#include "aten/core/library.h"
#include "aten/core/record_function.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/unary/ops.h"
#include "autograd/autograd.h"
#include "autograd/engine/multithreading.h"
#include "c10/core/device_guard_impl.h"
#include "c10/core/stream.h"
#include "c10/memory/allocator.h"
#include "c10/util/string_util.h"

namespace torch::autograd {
namespace {

using at::Tensor;

constexpr c10::DeviceType kDevice = c10::DeviceType::PrivateUse1;

std::mutex log_mutex;
std::vector<std::string> stream_log;

void log(std::string line) {
  const std::lock_guard<std::mutex> lock(log_mutex);
  stream_log.push_back(std::move(line));
}

std::string name_of(const c10::Stream& stream) { return c10::str(int{stream.device_index()}, ".", stream.id()); }

struct NamedEvent {
  std::string stream;
};

struct NamesGuard final : c10::impl::DeviceGuardImplInterface {
  static inline thread_local c10::DeviceIndex device = 0;
  static inline thread_local c10::StreamId streams[2] = {0, 0};

  c10::DeviceType type() const override { return kDevice; }
  c10::Device exchangeDevice(c10::Device to) const override {
    return c10::Device(kDevice, std::exchange(device, to.index()));
  }
  c10::Device getDevice() const override { return c10::Device(kDevice, device); }
  void setDevice(c10::Device to) const override { device = to.index(); }
  void uncheckedSetDevice(c10::Device to) const noexcept override { device = to.index(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 2; }
  c10::Stream getStream(c10::Device of) const override {
    return c10::Stream(c10::Stream::UNSAFE, of, streams[of.index()]);
  }
  c10::Stream exchangeStream(c10::Stream to) const override {
    return c10::Stream(c10::Stream::UNSAFE, to.device(), std::exchange(streams[to.device_index()], to.id()));
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { delete static_cast<NamedEvent*>(event); }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new NamedEvent;
    static_cast<NamedEvent*>(*event)->stream = name_of(stream);
  }
  void block(void* event, const c10::Stream& stream) const override {
    log(name_of(stream) + " waits for " + static_cast<NamedEvent*>(event)->stream);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, NamesGuard);

struct NamesMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* const memory = ::operator new(bytes);
    return c10::DataPtr(memory, memory, &release, c10::Device(kDevice, NamesGuard::device));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  static void release(void* memory) { ::operator delete(memory); }
};
const bool allocates = (c10::SetAllocator(kDevice, new NamesMemory), true);

Tensor empty_number(const c10::Device& device) {
  const c10::DeviceIndex before = std::exchange(NamesGuard::device, device.index());
  Tensor made = at::detail::empty_generic(
      {}, c10::GetAllocator(kDevice), c10::DispatchKey::PrivateUse1, at::kDouble, std::nullopt);
  NamesGuard::device = before;
  return made;
}
double& value_in(const Tensor& t) { return *static_cast<double*>(t.data_ptr()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty_strided", [](at::IntArrayRef, at::IntArrayRef, at::TensorOptions options) {
    return empty_number(options.device());
  });
  m.impl("_copy_from", [](const Tensor& self, const Tensor& dst, bool) {
    value_in(dst) = value_in(self);
    return dst;
  });
  m.impl("mul.Scalar", [](const Tensor& a, const at::Scalar& b) {
    Tensor product = empty_number(a.device());
    value_in(product) = value_in(a) * b.toDouble();
    return product;
  });
  m.impl("add.out", [](const Tensor& a, const Tensor& b, const at::Scalar&, Tensor& out) -> Tensor& {
    value_in(out) = value_in(a) + value_in(b);
    return out;
  });
  m.impl("add.Tensor", [](const Tensor& a, const Tensor& b, const at::Scalar&) {
    Tensor sum = empty_number(a.device());
    value_in(sum) = value_in(a) + value_in(b);
    return sum;
  });
}

Tensor number(double value) { return at::full({}, value, at::TensorOptions(at::kDouble)); }

double value_of(const Tensor& leaf) { return *leaf.grad().data_ptr<double>(); }

// Multiplies its gradient by `factor`, and notes where it does so.
struct OnDevice final : Node {
  std::string name() const override { return "OnDevice"; }
  variable_list apply(variable_list&& grads) override {
    ran_in = std::this_thread::get_id();
    EXPECT_EQ(grads[0].device(), device().value_or(c10::Device(c10::kCPU)));
    if (device().has_value()) {
      EXPECT_EQ(c10::Device(kDevice, NamesGuard::device), *device());
      EXPECT_EQ(c10::impl::getDeviceGuardImpl(kDevice)->getStream(*device()), *stream());
    }
    EXPECT_EQ(get_current_node().get(), this);
    if (inside) inside();
    variable_list out;
    for (uint32_t i = 0; i < num_outputs(); ++i) out.push_back(at::mul(grads[0], factor));
    return out;
  }
  double factor = 2;
  std::function<void()> inside;
  std::thread::id ran_in;
};

using OnDevicePtr = c10::intrusive_ptr<OnDevice>;

// A node of device `device` (-1: the CPU) and stream `stream`.
OnDevicePtr make_node(c10::DeviceIndex device, c10::StreamId stream, edge_list next) {
  auto node = c10::make_intrusive<OnDevice>();
  node->set_next_edges(std::move(next));
  if (device < 0) {
    node->add_input_metadata(at::TensorOptions(at::kDouble), {});
    return node;
  }
  const c10::StreamId before = std::exchange(NamesGuard::streams[device], stream);
  node->add_input_metadata(at::TensorOptions(at::kDouble).device(c10::Device(kDevice, device)), {});
  NamesGuard::streams[device] = before;
  return node;
}

struct Graph {
  Tensor leaf = number(1);
  OnDevicePtr first, second, cpu;
  edge_list root;
  Graph() {
    leaf.set_requires_grad(true);
    first = make_node(0, 3, {gradient_edge(leaf)});
    second = make_node(1, 5, {Edge(first, 0)});
    cpu = make_node(-1, 0, {Edge(second, 0), Edge(first, 0)});
    root = {Edge(cpu, 0)};
  }
  void backward(bool create_graph = false) {
    Engine::get_default_engine().execute(root, {number(1)}, true, create_graph, true);
  }
};

TEST(DeviceThreads, EachDeviceHasItsThreadAndNodesTheirStreams) {
  Graph graph;
  EXPECT_EQ(graph.first->device(), c10::Device(kDevice, 0));
  EXPECT_EQ(graph.second->stream()->id(), 5);
  stream_log.clear();
  graph.backward();
  // 2 * 2 * 2 by way of the second device, 2 * 2 past it.
  EXPECT_EQ(value_of(graph.leaf), 12.0);
  EXPECT_EQ(graph.cpu->ran_in, std::this_thread::get_id());
  const std::thread::id first = graph.first->ran_in, second = graph.second->ran_in;
  EXPECT_NE(first, std::this_thread::get_id());
  EXPECT_NE(second, std::this_thread::get_id());
  EXPECT_NE(first, second);
  graph.backward();
  EXPECT_EQ(graph.first->ran_in, first);
  EXPECT_EQ(graph.second->ran_in, second);
  const auto logged = [](const char* line) {
    return std::find(stream_log.begin(), stream_log.end(), line) != stream_log.end();
  };
  EXPECT_TRUE(logged("0.3 waits for 1.5")) << "a gradient that goes from one device to the other";
  EXPECT_TRUE(logged("0.0 waits for 0.3")) << "the caller, for the gradients";
  EXPECT_TRUE(logged("1.0 waits for 1.5"));
}

TEST(DeviceThreads, NodesRunInTheCallersThreadOnRequest) {
  Graph graph;
  stream_log.clear();
  {
    const MultithreadingGuard in_this_thread(false);
    graph.backward();
  }
  EXPECT_EQ(value_of(graph.leaf), 12.0);
  EXPECT_EQ(graph.first->ran_in, std::this_thread::get_id());
  EXPECT_EQ(graph.second->ran_in, std::this_thread::get_id());
  const auto logged = [](const char* line) {
    return std::find(stream_log.begin(), stream_log.end(), line) != stream_log.end();
  };
  EXPECT_TRUE(logged("0.3 waits for 1.5"));
  EXPECT_TRUE(logged("0.0 waits for 0.3"));
  graph.backward();
  EXPECT_NE(graph.first->ran_in, std::this_thread::get_id());
}

TEST(DeviceThreads, HaveTheStateOfTheCaller) {
  Graph graph;
  bool recorded = false, callback = false;
  graph.first->inside = [&] {
    recorded = GradMode::is_enabled();
    Engine::get_default_engine().queue_callback([&] { callback = true; });
  };
  graph.backward(true);
  EXPECT_TRUE(recorded);
  EXPECT_TRUE(callback);
  graph.backward(false);
  EXPECT_FALSE(recorded);
}

struct CountMode final : at::DispatchMode {
  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    if (op.operator_name().name == "aten::mul") ++muls;
    op.callBoxed(*stack);
  }
  std::atomic<int> muls{0};
};

std::mutex ranges_mutex;
std::vector<std::string> ranges;

std::vector<std::string> sorted_ranges() {
  std::sort(ranges.begin(), ranges.end());
  return std::exchange(ranges, {});
}

TEST(DeviceThreads, HaveTheModesObserversAndKeysOfTheCaller) {
  Graph graph;
  CountMode mode;
  std::atomic<int> with_keys{0};
  for (const OnDevicePtr& node : {graph.first, graph.second}) {
    node->inside = [&with_keys] {
      const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
      with_keys += keys.excluded_.has(c10::DispatchKey::Tracer) && keys.included_.has(c10::DispatchKey::AutocastCPU);
    };
  }
  const auto observer = at::addThreadLocalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction& range) {
        const std::lock_guard<std::mutex> lock(ranges_mutex);
        ranges.push_back(range.name());
        return std::unique_ptr<at::ObserverContext>();
      }).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  {
    const at::DispatchModeGuard pushed(mode);
    const c10::ExcludeDispatchKeyGuard excluded(c10::DispatchKey::Tracer);
    const c10::IncludeDispatchKeyGuard included(c10::DispatchKey::AutocastCPU);
    graph.backward();
  }
  EXPECT_EQ(mode.muls, 4);
  EXPECT_EQ(with_keys, 2);
  EXPECT_EQ(
      sorted_ranges(), (std::vector<std::string>{"OnDevice", "OnDevice", "OnDevice", "torch::autograd::AccumulateGrad"}));
  at::removeCallback(observer);
  graph.backward();
  EXPECT_EQ(mode.muls, 4);
  EXPECT_EQ(with_keys, 2);
  EXPECT_TRUE(sorted_ranges().empty());
}

TEST(DeviceThreads, ErrorsComeToTheCaller) {
  Graph graph;
  graph.second->inside = [] { throw std::out_of_range("on the device"); };
  for (int i = 0; i < 20; ++i) EXPECT_THROW(graph.backward(), std::out_of_range);
  graph.second->inside = nullptr;
  graph.backward();
  EXPECT_EQ(value_of(graph.leaf), 12.0);
}

TEST(DeviceThreads, RunPassesInsideTheirNodes) {
  Graph outer;
  Graph inner_of_first, inner_of_second;
  outer.first->inside = [&] { inner_of_first.backward(); };
  outer.second->inside = [&] { inner_of_second.backward(); };
  outer.backward();
  EXPECT_EQ(value_of(outer.leaf), 12.0);
  EXPECT_EQ(value_of(inner_of_first.leaf), 12.0);
  EXPECT_EQ(inner_of_first.first->ran_in, outer.first->ran_in);
  EXPECT_EQ(inner_of_second.first->ran_in, outer.first->ran_in);
  EXPECT_EQ(inner_of_second.second->ran_in, outer.second->ran_in);
}

TEST(DeviceThreads, RunPassesInsideTheirNodesToAnyDepth) {
  std::function<void(int)> nest = [&](int depth) {
    Graph graph;
    if (depth > 0) graph.first->inside = [&nest, depth] { nest(depth - 1); };
    graph.backward();
    EXPECT_EQ(value_of(graph.leaf), 12.0);
  };
  nest(300);
}

TEST(DeviceThreads, RunPassesInsideManyNodesThatWaitSideBySide) {
  Tensor leaf = number(1);
  leaf.set_requires_grad(true);
  edge_list nodes;
  std::atomic<int> inner_passes{0};
  constexpr int kNodes = 2000;
  for (int i = 0; i < kNodes; ++i) {
    OnDevicePtr node = make_node(0, 0, {gradient_edge(leaf)});
    node->inside = [&inner_passes] {
      Graph inner;
      inner.backward();
      inner_passes += value_of(inner.leaf) == 12.0;
    };
    nodes.emplace_back(std::move(node), 0);
  }
  const OnDevicePtr root = make_node(-1, 0, std::move(nodes));
  Engine::get_default_engine().execute({Edge(root, 0)}, {number(1)}, false, false, true);
  EXPECT_EQ(inner_passes, kNodes);
  EXPECT_EQ(value_of(leaf), 4.0 * kNodes);
}

TEST(DeviceThreads, ServeSeveralPassesAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) {
        Graph graph;
        graph.backward();
        EXPECT_EQ(value_of(graph.leaf), 12.0);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace torch::autograd
