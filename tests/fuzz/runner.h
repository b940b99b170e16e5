#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/value/ivalue.h"
#include "c10/dispatch/registry.h"
#include "c10/util/warning.h"

// What the tests of generated calls share.
namespace fuzz {

// Calls f for a tensor, or every tensor of a list; or of every value of a stack.
template <class F>
void each_tensor(const c10::IValue& value, const F& f) {
  if (value.isTensor()) {
    f(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) each_tensor(element, f);
  }
}
template <class F>
void each_tensor(const c10::Stack& values, const F& f) {
  for (const c10::IValue& value : values) each_tensor(value, f);
}

// Runs body(i) for i in [0, count) in child processes, so that a crash, a hang (a call of over 20 seconds) or a sanitizer's
// abort is one more answer: the child is replaced and goes on behind the call that ended it. What the body says (empty: all is
// well) and what ended a child comes back, at most `maximum` of them, each with its number.
struct Finding {
  int number;
  std::string what;
};
std::vector<Finding> run_isolated(int first, int count, size_t maximum, const std::function<std::string(int)>& body);

// While it lives, the thread's warnings go nowhere.
class Quiet final : c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}

 private:
  const c10::WarningUtils::WarningHandlerGuard guard_{this};
};

// Lets the next call reserve 64 MiB, so that an absurd size is an error and not a wait.
void limit_memory();

// The tensors of a call as they were: storage, geometry and bytes.
class Snapshot {
 public:
  Snapshot(const c10::FunctionSchema& schema, const c10::Stack& arguments);

  // Empty, or what changed although it must not have. After an error that is every byte of every argument; a given output that
  // was resized is compared no further. After a call that worked it is what no written argument shares.
  std::string difference(bool after_error) const;

 private:
  struct Entry {
    std::string name;
    c10::IValue tensor;
    std::vector<int64_t> sizes, strides;
    int64_t offset;
    const void* data;
    std::vector<unsigned char> bytes;
    bool written;
    bool in_list;
    bool unsaid;
  };
  void add(const c10::Argument& argument, const c10::IValue& value, bool written, bool unsaid);
  std::vector<Entry> entries_;
};

// Empty, or which result reaches beyond its storage. Reads the results' memory, up to some size.
std::string check_results(const c10::Stack& results);

// Whether a shell pattern covers a name.
bool matches(const std::string& glob, const std::string& name);

}  // namespace fuzz
