// Graphs that were captured: instantiated, launched, changed.
#include "tests/cuda_on_host/contract/contract.h"
#include "tests/cuda_on_host/contract/kernels.h"

#include <cstdio>
#include <fstream>
#include <functional>

namespace {

using contract::append;

KD_CONTRACT(CudaGraph);

cudaGraph_t capture(cudaStream_t stream, const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  work();
  EXPECT_OK(cudaStreamEndCapture(stream, &graph));
  return graph;
}

cudaGraphExec_t instantiate(cudaGraph_t graph, unsigned long long flags = 0) {
  cudaGraphExec_t exec = nullptr;
  EXPECT_OK(cudaGraphInstantiate(&exec, graph, flags));
  return exec;
}

TEST_P(CudaGraph, RunsAsOftenAsItIsLaunched) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream(), other = new_stream();
  cudaGraph_t graph = capture(stream, [&] {
    EXPECT_OK(append(a, 1, stream));
    EXPECT_OK(append(a, 2, stream));
  });
  cudaGraphExec_t exec = instantiate(graph);
  EXPECT_OK(cudaGraphDestroy(graph));  // what was instantiated stays
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  EXPECT_OK(cudaGraphUpload(exec, stream));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(append(a, 3, stream));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaGraphLaunch(exec, other));  // behind earlier launches of its own
  EXPECT_OK(cudaStreamSynchronize(other));
  EXPECT_EQ(contents(a, 1), std::vector<int>{1231212});
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaStreamDestroy(other));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaGraph, KeepsTheOrderOfItsEvents) {
  int *a = device_ints(64), *b = device_ints(64), *c = device_ints(64);
  cudaStream_t stream = new_stream(), other = new_stream();
  cudaEvent_t fork = new_event(), join = new_event();
  cudaGraph_t graph = capture(stream, [&] {
    EXPECT_OK(contract::set(a, 1, 64, stream));
    EXPECT_OK(cudaEventRecord(fork, stream));
    EXPECT_OK(cudaStreamWaitEvent(other, fork, 0));
    EXPECT_OK(contract::add(b, a, a, 64, other));
    EXPECT_OK(cudaEventRecord(join, other));
    EXPECT_OK(contract::set(c, 5, 64, stream));
    EXPECT_OK(cudaStreamWaitEvent(stream, join, 0));
    EXPECT_OK(contract::add(c, c, b, 64, stream));
  });
  size_t count = 0;
  EXPECT_OK(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 4u);
  EXPECT_OK(cudaGraphGetRootNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
  cudaGraphExec_t exec = instantiate(graph);
  for (int i = 0; i < 5; ++i) {
    EXPECT_OK(cudaMemsetAsync(c, 0, 256, stream));
    EXPECT_OK(cudaGraphLaunch(exec, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(contents(c, 64), std::vector<int>(64, 7));
  }
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
  for (cudaStream_t one : {stream, other}) EXPECT_OK(cudaStreamDestroy(one));
  for (cudaEvent_t event : {fork, join}) EXPECT_OK(cudaEventDestroy(event));
  for (int* pointer : {a, b, c}) EXPECT_OK(cudaFree(pointer));
}

TEST_P(CudaGraph, HasANodeForEachPieceOfWork) {
  int *a = device_ints(4), *pinned = pinned_ints(4);
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = capture(stream, [&] {
    EXPECT_OK(cudaMemsetAsync(a, 0, 16, stream));
    EXPECT_OK(contract::set(a, 1, 2, stream));
    EXPECT_OK(cudaMemcpyAsync(pinned, a, 16, cudaMemcpyDeviceToHost, stream));
    EXPECT_OK(cudaLaunchHostFunc(
        stream, [](void* data) { static_cast<int*>(data)[3] = 9; }, pinned));
  });
  cudaGraphNode_t nodes[6] = {};
  size_t count = 6;
  EXPECT_OK(cudaGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 4u);
  EXPECT_EQ(nodes[4], nullptr);
  std::vector<int> types(12, 0);
  for (size_t i = 0; i < count; ++i) {
    cudaGraphNodeType type;
    ASSERT_OK(cudaGraphNodeGetType(nodes[i], &type));
    ++types[type];
  }
  for (cudaGraphNodeType type :
       {cudaGraphNodeTypeMemset, cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost})
    EXPECT_EQ(types[type], 1);
  cudaGraphExec_t exec = instantiate(graph);
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(std::vector<int>(pinned, pinned + 4), (std::vector<int>{1, 1, 0, 9}));
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFreeHost(pinned));
}

TEST_P(CudaGraph, OfNothingIsAGraph) {
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = capture(stream, [] {});
  size_t count = 9;
  EXPECT_OK(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 0u);
  cudaGraphExec_t exec = instantiate(graph);
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaGraph, ReadsArgumentsWhenCapturedAndMemoryWhenLaunched) {
  int *a = device_ints(1), *pinned = pinned_ints(1);
  cudaStream_t stream = new_stream();
  pinned[0] = 1;
  cudaGraph_t graph =
      capture(stream, [&] { EXPECT_OK(cudaMemcpyAsync(a, pinned, 4, cudaMemcpyHostToDevice, stream)); });
  cudaGraphExec_t exec = instantiate(graph);
  for (int value : {5, 6}) {
    pinned[0] = value;
    EXPECT_OK(cudaGraphLaunch(exec, stream));
    EXPECT_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(contents(a, 1), std::vector<int>{value});
  }
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
  EXPECT_OK(cudaFreeHost(pinned));
}

TEST_P(CudaGraph, WithinAGraphIsPartOfIt) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  cudaGraph_t inner = capture(stream, [&] {
    EXPECT_OK(append(a, 2, stream));
    EXPECT_OK(append(a, 3, stream));
  });
  cudaGraphExec_t inner_exec = instantiate(inner);
  cudaGraph_t outer = capture(stream, [&] {
    EXPECT_OK(append(a, 1, stream));
    EXPECT_OK(cudaGraphLaunch(inner_exec, stream));
    EXPECT_OK(append(a, 4, stream));
  });
  cudaGraphExec_t exec = instantiate(outer);
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(contents(a, 1), std::vector<int>{1234});
  for (cudaGraphExec_t one : {inner_exec, exec}) EXPECT_OK(cudaGraphExecDestroy(one));
  for (cudaGraph_t one : {inner, outer}) EXPECT_OK(cudaGraphDestroy(one));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaGraph, IsUpdatedWhereItsShapeIsTheSame) {
  int* a = device_ints(2);
  cudaStream_t stream = new_stream();
  const auto make = [&](int digit, bool more) {
    return capture(stream, [&] {
      EXPECT_OK(append(a, digit, stream));
      if (more) EXPECT_OK(cudaMemsetAsync(a + 1, 0, 4, stream));
    });
  };
  cudaGraph_t first = make(1, false), second = make(2, false), longer = make(3, true);
  cudaGraph_t fill = capture(stream, [&] { EXPECT_OK(cudaMemsetAsync(a + 1, 0, 4, stream)); });
  cudaGraphExec_t exec = instantiate(first);
  EXPECT_OK(cudaMemsetAsync(a, 0, 8, stream));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  cudaGraphExecUpdateResultInfo result;
  EXPECT_OK(cudaGraphExecUpdate(exec, second, &result));
  EXPECT_EQ(result.result, cudaGraphExecUpdateSuccess);
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_CUDA(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, longer, &result));
  EXPECT_EQ(result.result, cudaGraphExecUpdateErrorTopologyChanged);
  EXPECT_CUDA(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, fill, &result));
  EXPECT_EQ(result.result, cudaGraphExecUpdateErrorNodeTypeChanged);
  EXPECT_CUDA(cudaErrorGraphExecUpdateFailure, cudaGetLastError());
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(contents(a, 1), std::vector<int>{122});
  EXPECT_OK(cudaGraphExecDestroy(exec));
  for (cudaGraph_t graph : {first, second, longer, fill}) EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaGraph, IsCloned) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = capture(stream, [&] { EXPECT_OK(append(a, 7, stream)); }), clone = nullptr;
  EXPECT_OK(cudaGraphClone(&clone, graph));
  EXPECT_NE(clone, graph);
  EXPECT_OK(cudaGraphDestroy(graph));
  cudaGraphExec_t exec = instantiate(clone);
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  EXPECT_OK(cudaGraphLaunch(exec, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(contents(a, 1), std::vector<int>{7});
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(clone));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

TEST_P(CudaGraph, IsPrinted) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = capture(stream, [&] { EXPECT_OK(append(a, 7, stream)); });
  const std::string path = ::testing::TempDir() + "graph.dot";
  EXPECT_OK(cudaGraphDebugDotPrint(graph, path.c_str(), 0));
  std::ifstream file(path);
  std::string first;
  EXPECT_TRUE(file >> first);
  EXPECT_EQ(first, "digraph");
  std::remove(path.c_str());
  EXPECT_CUDA(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(graph, "/nowhere/graph.dot", 0));
  (void)cudaGetLastError();
  EXPECT_OK(cudaGraphDestroy(graph));
  EXPECT_OK(cudaStreamDestroy(stream));
  EXPECT_OK(cudaFree(a));
}

// Counts how often it was destroyed.
class Counted {
 public:
  explicit Counted(unsigned references = 1) {
    EXPECT_OK(cudaUserObjectCreate(
        &handle, &count_, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, references,
        cudaUserObjectNoDestructorSync));
  }
  // Destructors run on a thread of the driver.
  void expect_destroyed() {
    for (int i = 0; i < 5000 && count_ == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(count_, 1);
  }
  int count() const { return count_; }
  cudaUserObject_t handle = nullptr;

 private:
  std::atomic<int> count_ = 0;
};

TEST_P(CudaGraph, UserObjectsGoWithTheirLastReference) {
  Counted object(2);
  EXPECT_OK(cudaUserObjectRetain(object.handle, 1));
  EXPECT_OK(cudaUserObjectRelease(object.handle, 2));
  EXPECT_EQ(object.count(), 0);
  EXPECT_OK(cudaUserObjectRelease(object.handle, 1));
  object.expect_destroyed();
  cudaUserObject_t none = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaUserObjectCreate(
                                         &none, nullptr, [](void*) {}, 1, 0));
  (void)cudaGetLastError();
}

TEST_P(CudaGraph, HoldsItsUserObjectsAsLongAsItRuns) {
  Counted object;
  int* a = device_ints(1);
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = capture(stream, [&] { EXPECT_OK(append(a, 7, stream)); });
  EXPECT_OK(cudaGraphRetainUserObject(graph, object.handle, 1, cudaGraphUserObjectMove));
  cudaGraphExec_t exec = instantiate(graph);
  EXPECT_OK(cudaGraphDestroy(graph));
  {
    contract::Gate gate(stream);
    EXPECT_OK(cudaGraphLaunch(exec, stream));
    EXPECT_OK(cudaGraphExecDestroy(exec));
    EXPECT_EQ(object.count(), 0);
  }
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaFree(a));
  object.expect_destroyed();
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_P(CudaGraph, ReleasesUserObjects) {
  Counted object;
  cudaGraph_t graph = nullptr;
  ASSERT_OK(cudaGraphCreate(&graph, 0));
  EXPECT_OK(cudaGraphRetainUserObject(graph, object.handle, 2, 0));
  EXPECT_OK(cudaUserObjectRelease(object.handle, 1));
  EXPECT_OK(cudaGraphReleaseUserObject(graph, object.handle, 1));
  EXPECT_EQ(object.count(), 0);
  EXPECT_OK(cudaGraphDestroy(graph));
  object.expect_destroyed();
}

TEST_P(CudaGraph, RecordsEventsForOthersWhenAsked) {
  int* a = device_ints(1);
  cudaStream_t stream = new_stream(), other = new_stream();
  cudaEvent_t event = new_event();
  EXPECT_OK(cudaMemsetAsync(a, 0, 4, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  cudaGraph_t graph = capture(stream, [&] {
    EXPECT_OK(append(a, 4, stream));
    EXPECT_OK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
  });
  cudaGraphExec_t exec = instantiate(graph);
  {
    contract::Gate gate(stream);
    EXPECT_OK(cudaGraphLaunch(exec, stream));
    EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
    EXPECT_OK(cudaStreamWaitEvent(other, event, 0));
    EXPECT_OK(append(a, 5, other));
  }
  (void)cudaGetLastError();
  EXPECT_EQ(contents(a, 1), std::vector<int>{45});
  EXPECT_OK(cudaGraphExecDestroy(exec));
  EXPECT_OK(cudaGraphDestroy(graph));
  for (cudaStream_t one : {stream, other}) EXPECT_OK(cudaStreamDestroy(one));
  EXPECT_OK(cudaEventDestroy(event));
  EXPECT_OK(cudaFree(a));
}

}  // namespace
