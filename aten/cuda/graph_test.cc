#include "aten/cuda/graph.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "aten/cuda/graph_testing.h"
#include "c10/cuda/allocator_config.h"
#include "c10/cuda/testing.h"
#include "c10/testing/files.h"
#include "c10/testing/message_of.h"
#include "c10/util/scope_exit.h"

namespace {

namespace CachingAllocator = c10::cuda::CUDACachingAllocator;
using at::CUDAGeneratorImpl;
using at::cuda::CUDAEvent;
using at::cuda::CUDAGraph;
using at::cuda::testing::Buffer;
using at::cuda::testing::mix;
using at::cuda::testing::mixed;
using at::cuda::testing::Numbers;
using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::getStreamFromPool;
using c10::cuda::testing::in_all_orders;
using c10::cuda::testing::Warnings;
using c10::testing::message_of;

const Numbers kOnes = {1, 1, 1}, kTwos = {2, 2, 2}, kThrees = {3, 3, 3};

int error_code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const c10::AcceleratorError& e) {
    return e.get_error_code();
  }
  return 0;
}

size_t reserved() {
  return static_cast<size_t>(CachingAllocator::getDeviceStats(0).reserved_bytes[0].current);
}

// Everything that has been put on the device.
void wait() {
  c10::cuda::device_synchronize();
}

at::Generator seeded(uint64_t seed, c10::DeviceIndex device = 0) {
  at::Generator generator = at::cuda::detail::createCUDAGenerator(device);
  generator.set_current_seed(seed);
  return generator;
}

// What a kernel sees of a generator, put on the current stream.
void draw(const at::Generator& generator, const Buffer& out, uint64_t words = 4) {
  at::cuda::testing::show(generator.get<CUDAGeneratorImpl>()->philox_cuda_state(words), out.data(),
                          getCurrentCUDAStream());
}

TEST(CUDAGraph, ReplaysTheWorkOnNewInputs) {
  in_all_orders([] {
    Buffer a(kOnes), b(kTwos);
    wait();
    CUDAGraph graph;
    std::optional<Buffer> out;
    {
      torch::cuda::graph capture(graph);
      EXPECT_TRUE(torch::cuda::is_current_stream_capturing());
      Buffer between(3);
      mix(between, a, b, 5);
      out.emplace(3);
      mix(*out, between, b, 6);
    }
    EXPECT_FALSE(torch::cuda::is_current_stream_capturing());
    EXPECT_EQ(getCurrentCUDAStream(), getDefaultCUDAStream());
    EXPECT_EQ(a.get(), kOnes);  // nothing has run
    graph.replay();
    EXPECT_EQ(out->get(), mixed(mixed(kOnes, kTwos, 5), kTwos, 6));
    a.set(kThrees);
    graph.replay();
    EXPECT_EQ(out->get(), mixed(mixed(kThrees, kTwos, 5), kTwos, 6));
    const CUDAStreamGuard elsewhere(getStreamFromPool());
    wait();
    b.set(kThrees);
    graph.replay();
    EXPECT_EQ(out->get(), mixed(mixed(kThrees, kThrees, 5), kThrees, 6));
  });
}

TEST(CUDAGraph, MemoryOfACaptureStaysItsOwn) {
  in_all_orders([] {
    Buffer a(kOnes), b(kTwos);
    wait();
    CUDAGraph graph;
    uint64_t* address = nullptr;
    std::optional<Buffer> out;
    {
      torch::cuda::graph capture(graph);
      {
        Buffer between(3);
        address = between.data();
        mix(between, a, b, 1);
        out.emplace(3);
        mix(*out, between, between, 2);
      }
      EXPECT_EQ(Buffer(3).data(), address);  // freed, it serves again within the graph
    }
    // Not for others, though it is free, nor when the last tensor of the capture is gone.
    uint64_t* const result = out->data();
    out.reset();
    std::vector<Buffer> others;
    for (int i = 0; i < 100; ++i) {
      const CUDAStreamGuard guard(i % 2 == 0 ? getDefaultCUDAStream() : getStreamFromPool());
      others.emplace_back(kThrees);
      EXPECT_NE(others.back().data(), address);
      EXPECT_NE(others.back().data(), result);
    }
    wait();
    CachingAllocator::emptyCache();
    graph.replay();
    for (const Buffer& other : others) EXPECT_EQ(other.get(), kThrees);
    Numbers seen(3);
    c10::cuda::memcpy_and_sync(seen.data(), result, 24, cudaMemcpyDeviceToHost, getCurrentCUDAStream());
    EXPECT_EQ(seen, mixed(mixed(kOnes, kTwos, 1), mixed(kOnes, kTwos, 1), 2));
  });
}

TEST(CUDAGraph, PoolGoesWithTheLastGraphAndTensor) {
  in_all_orders([] {
    Buffer a(kOnes);
    wait();
    const size_t before = reserved();
    std::optional<CUDAGraph> graph(std::in_place);
    std::optional<Buffer> out;
    {
      torch::cuda::graph capture(*graph);
      out.emplace(3);
      mix(*out, a, a, 1);
    }
    EXPECT_GT(reserved(), before);
    const auto pool = graph->pool();
    EXPECT_EQ(CachingAllocator::getPoolUseCount(0, pool), 1);
    graph->replay();
    CachingAllocator::emptyCache();
    EXPECT_EQ(out->get(), mixed(kOnes, kOnes, 1));
    graph.reset();
    EXPECT_EQ(CachingAllocator::getPoolUseCount(0, pool), 0);
    CachingAllocator::emptyCache();
    EXPECT_EQ(out->get(), mixed(kOnes, kOnes, 1));
    EXPECT_GT(reserved(), before);
    out.reset();
    CachingAllocator::emptyCache();
    EXPECT_EQ(reserved(), before);
  });
}

TEST(CUDAGraph, SeveralShareAPoolWhenTheyAreReplayedInOrder) {
  in_all_orders([] {
    Buffer a(kOnes);
    wait();
    CUDAGraph first, second, third;
    std::optional<Buffer> x, y, z;
    uint64_t* between_first = nullptr;
    {
      torch::cuda::graph capture(first, torch::cuda::graph_pool_handle());
      Buffer between(3);
      between_first = between.data();
      mix(between, a, a, 1);
      x.emplace(3);
      mix(*x, between, a, 2);
    }
    {
      torch::cuda::graph capture(second, first.pool());
      y.emplace(3);
      EXPECT_EQ(y->data(), between_first);
      mix(*y, *x, a, 3);
    }
    const auto pool = first.pool();
    EXPECT_EQ(second.pool(), pool);
    EXPECT_EQ(CachingAllocator::getPoolUseCount(0, pool), 2);
    const auto check = [&](const Numbers& input) {
      first.replay();
      second.replay();
      const Numbers in_x = mixed(mixed(input, input, 1), input, 2);
      EXPECT_EQ(x->get(), in_x);
      EXPECT_EQ(y->get(), mixed(in_x, input, 3));
    };
    check(kOnes);
    a.set(kTwos);
    check(kTwos);
    first.reset();
    EXPECT_EQ(CachingAllocator::getPoolUseCount(0, pool), 1);
    {
      torch::cuda::graph capture(third, pool);
      z.emplace(3);
      mix(*z, *x, *y, 4);
    }
    second.replay();
    third.replay();
    EXPECT_EQ(z->get(), mixed(x->get(), y->get(), 4));
    EXPECT_EQ(message_of([&] { first.pool(); }), "Called CUDAGraph::pool() without a preceding successful capture.");
  });
}

TEST(CUDAGraph, StreamsBranchOffAndRejoin) {
  in_all_orders([] {
    Buffer a(kOnes);
    wait();
    const CUDAStream side = getStreamFromPool();
    CUDAGraph graph;
    std::optional<Buffer> x, y, out;
    {
      torch::cuda::graph capture(graph);
      x.emplace(3);
      mix(*x, a, a, 1);
      CUDAEvent begin, end;
      begin.record();
      begin.block(side);
      {
        const CUDAStreamGuard guard(side);
        y.emplace(3);  // allocated for the side stream, which takes part
        mix(*y, *x, a, 2);
        end.record();
      }
      mix(*x, *x, *x, 3);
      // Used on a stream other than its own and freed: it waits for the end of the capture.
      CachingAllocator::recordStream(y->memory(), getCurrentCUDAStream());
      end.block(getCurrentCUDAStream());
      out.emplace(3);
      mix(*out, *x, *y, 4);
      y.reset();
    }
    Numbers first = mixed(kOnes, kOnes, 1);
    graph.replay();
    // x is read by the side stream before it changes, or behind it: the graph does not say, so neither is looked at.
    EXPECT_EQ(x->get(), mixed(first, first, 3));
  });
}

TEST(CUDAGraph, WhatIsFreedDuringACaptureWaitsForItsStreams) {
  in_all_orders([] {
    const CUDAStream side = getStreamFromPool();
    std::optional<Buffer> shared(std::in_place, kOnes);
    wait();
    uint64_t* const address = shared->data();
    CUDAGraph graph;
    Buffer out(3);
    const CUDAStreamGuard guard(getStreamFromPool());
    graph.capture_begin();
    mix(out, out, out, 1);
    {
      const CUDAStreamGuard on_side(side);
      const c10::cuda::CUDAStreamCaptureModeGuard relaxed(cudaStreamCaptureModeRelaxed);
      mix(shared->data(), shared->data(), shared->data(), 5, 3, side);
    }
    CachingAllocator::recordStream(shared->memory(), side);
    shared.reset();
    {
      // Not given out while nobody may ask the stream.
      const CUDAStreamGuard on_default(getDefaultCUDAStream());
      EXPECT_NE(Buffer(3).data(), address);
    }
    graph.capture_end();
    const CUDAStreamGuard on_default(getDefaultCUDAStream());
    { const Buffer asks(3); }  // the stream, which may not have run yet
    wait();
    EXPECT_EQ(Buffer(3).data(), address);
  });
}

TEST(CUDAGraph, RefusesWhatMakesNoSense) {
  in_all_orders([] {
    Buffer a(kOnes);
    wait();
    CUDAGraph graph;
    EXPECT_EQ(message_of([&] { graph.replay(); }), "Called CUDAGraph::replay without a preceding successful capture.");
    EXPECT_EQ(message_of([&] { graph.capture_end(); }), "capture_end: no capture of this graph has begun");
    EXPECT_EQ(message_of([&] { graph.instantiate(); }),
              "CUDAGraph::instantiate: there is no captured graph, or it was not kept");
    EXPECT_EQ(message_of([&] { graph.capture_begin(); }),
              "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
              "on the default "
              "stream.)");
    const CUDAStreamGuard guard(getStreamFromPool());
    EXPECT_EQ(message_of([&] {
                graph.capture_begin({1, 1});
              }),
              "capture_begin: {1, 1} is no pool's id: one of its numbers is 0");
    graph.capture_begin();
    EXPECT_EQ(message_of([&] { graph.capture_begin(); }), "capture_begin: the graph's capture goes on");
    CUDAGraph other;
    EXPECT_NE(message_of([&] { other.capture_begin(); }).find("is captured already"), std::string::npos);
    EXPECT_EQ(message_of([&] { graph.register_generator_state(seeded(1)); }),
              "register_generator_state: generators are registered before capture_begin");
    EXPECT_EQ(message_of([&] { at::cuda::assertNotCapturing("Cannot sort"); }),
              "Cannot sort during CUDA graph capture: the capture is active");
    mix(a, a, a, 1);
    {
      const CUDAStreamGuard elsewhere(getStreamFromPool());
      EXPECT_EQ(message_of([&] { graph.capture_end(); }), "Capture must end on the same stream it began on.");
    }
    graph.capture_end();
    EXPECT_EQ(message_of([&] { graph.capture_begin(); }),
              "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance.");
    graph.replay();
    EXPECT_EQ(a.get(), mixed(kOnes, kOnes, 1));
    EXPECT_EQ(message_of([&] { graph.raw_cuda_graph(); }),
              "CUDAGraph::raw_cuda_graph: the graph is kept only where it was made with keep_graph = true");
    EXPECT_EQ(message_of([&] { graph.debug_dump("x"); }),
              "CUDAGraph::debug_dump: the graph was not kept: call enable_debug_mode() before its capture ends");
  });
}

// Each ends the capture: the call fails and names itself, capture_end says so, and the graph can be captured again.
void expect_not_capturable(int code, int code_at_end, const std::function<void(const Buffer&)>& work) {
  Buffer a(kOnes);
  wait();
  CUDAGraph graph;
  const CUDAStreamGuard guard(getStreamFromPool());
  const size_t before = reserved();
  graph.capture_begin();
  const Buffer inside(3);
  mix(inside, a, a, 1);
  EXPECT_EQ(error_code_of([&] { work(a); }), code);
  EXPECT_EQ(error_code_of([&] { graph.capture_end(); }), code_at_end);
  EXPECT_EQ(message_of([&] { graph.replay(); }), "Called CUDAGraph::replay without a preceding successful capture.");
  EXPECT_GT(reserved(), before);  // for `inside`
  graph.capture_begin();
  mix(a, a, a, 1);
  graph.capture_end();
  graph.replay();
  EXPECT_EQ(a.get(), mixed(kOnes, kOnes, 1));
}

TEST(CUDAGraph, WhatCannotBeCapturedIsAnError) {
  in_all_orders([] {
    constexpr int kUnsupported = cudaErrorStreamCaptureUnsupported, kInvalidated = cudaErrorStreamCaptureInvalidated;
    {
      SCOPED_TRACE("waiting for the stream");
      expect_not_capturable(kUnsupported, kInvalidated, [](const Buffer&) { getCurrentCUDAStream().synchronize(); });
    }
    {
      SCOPED_TRACE("waiting for the device");
      expect_not_capturable(kUnsupported, kInvalidated, [](const Buffer&) { wait(); });
    }
    {
      SCOPED_TRACE("reading");
      expect_not_capturable(kUnsupported, kInvalidated, [](const Buffer& a) { a.get(); });
    }
    {
      SCOPED_TRACE("asking the stream");
      expect_not_capturable(kUnsupported, kInvalidated, [](const Buffer&) { (void)getCurrentCUDAStream().query(); });
    }
    {
      SCOPED_TRACE("a stream that does not rejoin");
      expect_not_capturable(0, cudaErrorStreamCaptureUnjoined, [](const Buffer& a) {
        CUDAEvent branch;
        branch.record();
        const CUDAStreamGuard side(getStreamFromPool());
        branch.block(getCurrentCUDAStream());
        mix(a, a, a, 2);
      });
    }
  });
}

TEST(CUDAGraph, AnExceptionGivesTheCaptureUp) {
  in_all_orders([] {
    Buffer a(kOnes);
    wait();
    CUDAGraph graph;
    EXPECT_THROW(
        {
          torch::cuda::graph capture(graph);
          Buffer inside(3);
          mix(inside, a, a, 1);
          throw std::runtime_error("changed my mind");
        },
        std::runtime_error);
    EXPECT_EQ(getCurrentCUDAStream(), getDefaultCUDAStream());
    {
      torch::cuda::graph capture(graph);
      mix(a, a, a, 1);
    }
    graph.replay();
    EXPECT_EQ(a.get(), mixed(kOnes, kOnes, 1));
    {
      // Destroyed while it is captured.
      CUDAGraph lost;
      const CUDAStreamGuard guard(getStreamFromPool());
      lost.capture_begin();
      mix(a, a, a, 7);
    }
    graph.replay();
    EXPECT_EQ(a.get(), mixed(mixed(kOnes, kOnes, 1), mixed(kOnes, kOnes, 1), 1));
  });
}

TEST(CUDAGraph, AnEmptyOneIsAWarning) {
  in_all_orders([] {
    Warnings warnings;
    CUDAGraph graph;
    { torch::cuda::graph capture(graph); }
    ASSERT_EQ(warnings.texts.size(), 1u);
    EXPECT_NE(warnings.texts[0].find("The CUDA graph is empty"), std::string::npos) << warnings.texts[0];
    graph.replay();
  });
}

TEST(CUDAGraph, IsKeptWhereThatIsAskedFor) {
  in_all_orders([] {
    Buffer a(kOnes);
    wait();
    CUDAGraph kept(/*keep_graph=*/true);
    {
      torch::cuda::graph capture(kept);
      mix(a, a, a, 1);
      mix(a, a, a, 2);
    }
    size_t nodes = 0;
    ASSERT_EQ(cudaGraphGetNodes(kept.raw_cuda_graph(), nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 2u);
    EXPECT_EQ(message_of([&] { kept.raw_cuda_graph_exec(); }),
              "CUDAGraph::raw_cuda_graph_exec: there is no executable graph: call instantiate() first");
    kept.instantiate();
    EXPECT_NE(kept.raw_cuda_graph_exec(), nullptr);
    kept.instantiate();
    kept.replay();
    const Numbers once = mixed(kOnes, kOnes, 1);
    EXPECT_EQ(a.get(), mixed(once, once, 2));

    CUDAGraph dumped;
    dumped.enable_debug_mode();
    {
      torch::cuda::graph capture(dumped);
      mix(a, a, a, 1);
    }
    const std::string path = c10::testing::fresh_folder() + "/graph.dot";
    dumped.debug_dump(path);
    EXPECT_NE(c10::testing::read_file(path).find("digraph"), std::string::npos);
  });
}

TEST(CUDAGraph, EachReplayDrawsAnew) {
  in_all_orders([] {
    at::cuda::detail::getDefaultCUDAGenerator(0).get<CUDAGeneratorImpl>()->set_current_seed(7);
    at::Generator standard = at::cuda::detail::getDefaultCUDAGenerator(0);
    at::Generator mine = seeded(100), unused = seeded(200);
    Buffer x(2), y(2), z(2), eager(2);
    wait();
    draw(standard, eager, 8);
    CUDAGraph graph;
    graph.register_generator_state(mine);
    graph.register_generator_state(mine);
    unused.get<CUDAGeneratorImpl>()->register_graph(&graph);
    {
      torch::cuda::graph capture(graph);
      draw(standard, x, 8);
      draw(mine, y, 3);
      draw(standard, z, 4);
      EXPECT_NE(message_of([&] {
                  standard.get_offset();
                }).find("Cannot call CUDAGeneratorImpl::get_offset while a CUDA graph"),
                std::string::npos);
      EXPECT_NE(message_of([&] { standard.current_seed(); }), "no error");
      EXPECT_NE(message_of([&] { standard.clone(); }), "no error");
      EXPECT_NE(message_of([&] { standard.set_current_seed(8); }), "no error");
      EXPECT_NE(message_of([&] { standard.set_offset(8); }), "no error");
      EXPECT_NE(message_of([&] { standard.get<CUDAGeneratorImpl>()->philox_engine_inputs(4); }), "no error");
      standard.set_current_seed(7);
    }
    EXPECT_EQ(eager.get(), (Numbers{7, 0}));
    EXPECT_EQ(standard.get_offset(), 8u);
    const auto check = [&](const Numbers& in_x, const Numbers& in_y, const Numbers& in_z) {
      graph.replay();
      EXPECT_EQ(x.get(), in_x);
      EXPECT_EQ(y.get(), in_y);
      EXPECT_EQ(z.get(), in_z);
    };
    check({7, 8}, {100, 0}, {7, 16});
    check({7, 20}, {100, 4}, {7, 28});
    draw(standard, eager, 4);
    EXPECT_EQ(eager.get(), (Numbers{7, 32}));
    standard.set_current_seed(9);
    mine.set_offset(400);
    check({9, 0}, {100, 400}, {9, 8});
    // Another state for the generator is not the graph's.
    mine.graphsafe_set_state(unused);
    check({9, 12}, {100, 404}, {9, 20});
    EXPECT_EQ(unused.get_offset(), 0u);
    const CUDAStreamGuard guard(getStreamFromPool());
    check({9, 24}, {100, 408}, {9, 32});
  });
}

// Replays on two streams without waiting between them: none reads the numbers of the other.
TEST(CUDAGraph, ReplaysOnSeveralStreamsReadTheirOwnNumbers) {
  in_all_orders([] {
    at::Generator mine = seeded(1);
    CUDAGraph graph;
    graph.register_generator_state(mine);
    Buffer last(2), sum(Numbers{0, 0});
    wait();
    {
      torch::cuda::graph capture(graph);
      draw(mine, last, 4);
      mix(sum, sum, last, 0);
    }
    Numbers expected = {0, 0};
    const CUDAStream streams[] = {getStreamFromPool(), getStreamFromPool(), getDefaultCUDAStream()};
    for (uint64_t turn = 0; turn < 6; ++turn) {
      const CUDAStreamGuard guard(streams[turn % 3]);
      graph.replay();
      expected = mixed(expected, {1, 4 * turn}, 0);
    }
    wait();
    EXPECT_EQ(sum.get(), expected);
  });
}

TEST(CUDAGraph, GeneratorsMustBeKnownToTheGraph) {
  in_all_orders([] {
    at::Generator mine = seeded(1), elsewhere = seeded(1, 1);
    Buffer x(2);
    wait();
    CUDAGraph graph;
    const CUDAStreamGuard guard(getStreamFromPool());
    graph.register_generator_state(mine);
    mine.get<CUDAGeneratorImpl>()->unregister_graph(&graph);
    graph.capture_begin();
    EXPECT_EQ(
        message_of([&] { draw(mine, x); }),
        "a CUDA graph is captured that does not know this generator: call CUDAGraph::register_generator_state before "
        "CUDAGraph::capture_begin");
    draw(at::cuda::detail::getDefaultCUDAGenerator(), x);
    graph.capture_end();
    EXPECT_EQ(mine.get_offset(), 0u);

    CUDAGraph other;
    other.register_generator_state(elsewhere);
    EXPECT_EQ(message_of([&] { other.capture_begin(); }),
              "capture_begin: a generator of cuda:1 is registered with a graph of cuda:0");
    EXPECT_EQ(torch::cuda::is_current_stream_capturing(), false);
    EXPECT_EQ(message_of([&] { other.register_generator_state(at::Generator()); }),
              "Generator with undefined implementation is not allowed");
  });
}

TEST(CUDAGraph, OneThatDrawsIsNoPartOfAnother) {
  in_all_orders([] {
    Buffer a(kOnes);
    wait();
    CUDAGraph draws, plain, outer;
    {
      torch::cuda::graph capture(draws);
      draw(at::cuda::detail::getDefaultCUDAGenerator(), a);
    }
    {
      torch::cuda::graph capture(plain);
      mix(a, a, a, 1);
    }
    {
      torch::cuda::graph capture(outer);
      EXPECT_EQ(message_of([&] { draws.replay(); }),
                "CUDAGraph::replay: a graph that draws random numbers cannot become a part of another one");
      plain.replay();
      plain.replay();
    }
    outer.replay();
    const Numbers once = mixed(kOnes, kOnes, 1);
    EXPECT_EQ(a.get(), mixed(once, once, 1));
  });
}

TEST(CUDAGraph, IsOfTheDeviceOfItsStream) {
  in_all_orders([] {
    const c10::cuda::CUDAGuard device(1);
    Buffer a(kOnes);
    wait();
    CUDAGraph graph;
    std::optional<Buffer> out;
    {
      torch::cuda::graph capture(graph);
      out.emplace(3);
      mix(*out, a, a, 1);
      draw(at::cuda::detail::getDefaultCUDAGenerator(1), a);
    }
    {
      const c10::cuda::CUDAGuard first(0);
      graph.replay();
      EXPECT_EQ(c10::cuda::current_device(), 0);
    }
    EXPECT_EQ(out->get(), mixed(kOnes, kOnes, 1));
    EXPECT_EQ(out->memory().device(), c10::Device(c10::kCUDA, 1));
  });
}

// Expandable segments give memory back without waiting for those who use it.
TEST(CUDAGraph, MemoryThatReplaysUseIsGivenBackBehindThem) {
  in_all_orders([] {
    CachingAllocator::setAllocatorSettings("expandable_segments:True");
    Buffer a(kOnes);
    wait();
    const CUDAStreamGuard guard(getStreamFromPool());
    {
      CUDAGraph graph;
      {
        torch::cuda::graph capture(graph);
        Buffer between(3);
        mix(between, a, a, 1);
        mix(a, between, between, 2);
      }
      graph.replay();
    }
    CachingAllocator::emptyCache();
    const Numbers once = mixed(kOnes, kOnes, 1);
    EXPECT_EQ(a.get(), mixed(once, once, 2));
  });
}

TEST(CUDAGraph, EachCallFailing) {
  c10::cuda::testing::with_each_call_failing([] {
    Buffer a(kOnes), b(2);
    wait();
    std::optional<Buffer> out;
    CUDAGraph first, second;
    // Replays that go on use the buffers on other streams than theirs.
    const auto end = c10::make_scope_exit([] { (void)cudaDeviceSynchronize(), (void)cudaGetLastError(); });
    {
      torch::cuda::graph capture(first);
      Buffer between(3);
      mix(between, a, a, 1);
      out.emplace(3);
      mix(*out, between, a, 2);
      draw(at::cuda::detail::getDefaultCUDAGenerator(), b);
    }
    const CUDAStreamGuard guard(getStreamFromPool());
    second.capture_begin(first.pool());
    mix(a, a, *out, 3);
    second.capture_end();
    first.replay();
    second.replay();
    const CUDAStreamGuard elsewhere(getDefaultCUDAStream());
    wait();
    first.replay();
    wait();
    const Numbers x = mixed(mixed(kOnes, kOnes, 1), kOnes, 2), y = mixed(kOnes, x, 3);
    EXPECT_EQ(a.get(), y);
    EXPECT_EQ(out->get(), mixed(mixed(y, y, 1), y, 2));
  });
}

}  // namespace
