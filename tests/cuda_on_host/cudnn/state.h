// What the sources of the stand-in share: its lock, the objects that are alive, and what they hold.
#pragma once

#include <cudnn_graph.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_on_host/cudnn/standin.h"

namespace cudnn_standin {

struct Descriptor;

// Of an attribute, what was set: numbers, or other descriptors as they were then.
struct Value {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  int64_t count = 0;
  std::vector<char> bytes;
  std::vector<std::shared_ptr<Descriptor>> parts;
};

// One way to run a graph.
struct Engine {
  int64_t index = 0;
  uint64_t notes = 0;  // one bit each
  int64_t workspace = 0;
  bool refuses = false;  // its plans cannot be finalized
};

struct Descriptor {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool finalized = false;
  std::map<int, Value> values;
  std::shared_ptr<Descriptor> graph;  // of engines, their configurations and plans
  Engine engine;
  std::atomic<int> running{0};  // of plans: threads in an execution

  bool has(int name) const { return values.count(name) != 0; }
  template <class T>
  std::vector<T> list(int name) const {
    const auto place = values.find(name);
    if (place == values.end()) return {};
    std::vector<T> result(static_cast<size_t>(place->second.count));
    if (!result.empty()) std::memcpy(result.data(), place->second.bytes.data(), place->second.bytes.size());
    return result;
  }
  template <class T>
  T get(int name, T missing) const {
    const auto place = values.find(name);
    if (place != values.end()) std::memcpy(&missing, place->second.bytes.data(), sizeof missing);
    return missing;
  }
  // A number of type float or double.
  double number(int name, double missing) const;
  const Descriptor* part(int name) const;
};

struct Handle {
  int device = 0;
  cudaStream_t stream = nullptr;
  std::atomic<int> running{0};
};

// While it lives, a thread is in an execution with a plan or a handle, of which the library promises nothing to two
// threads at once.
class Busy {
 public:
  Busy(std::atomic<int>& running, const char* what);
  ~Busy() { running_.fetch_sub(1); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<int>& running_;
};

// Fills a workspace with NaN: all of it where it is small, else both ends.
void overwrite(void* workspace, size_t bytes);

// Null where no such thing is alive.
std::shared_ptr<Descriptor> find_descriptor(const void* descriptor);
Handle* find_handle(const void* handle);

const Options& options();
void count_plan();
uint64_t count_execution(uint64_t notes);

// Counts a call, and says what it returns at once: CUDNN_STATUS_SUCCESS where it goes on.
cudnnStatus_t enter();
// Remembers why, for cudnnGetLastErrorString, and returns `status`.
cudnnStatus_t refuse(cudnnStatus_t status, const std::string& why);
// What the library does not see.
void report(const std::string& why);

// Descriptors of recurrent networks that are alive.
size_t live_rnn_descriptors();

// Bytes of an element of a data type; 0 for types that the stand-in has not.
size_t bytes_of(cudnnDataType_t type);

// The checks of cudnnBackendFinalize; engines and plans get what they consist of.
cudnnStatus_t finalize(Descriptor& d);
// What an engine heuristics descriptor proposes.
std::vector<Engine> proposals(const Descriptor& heuristics);

}  // namespace cudnn_standin
