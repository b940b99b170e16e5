// Turns the recorded values of one case into what an operator takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/dispatch/function_schema.h"
#include "c10/value/ivalue.h"
#include "nlohmann/json.hpp"
#include "tests/conformance/case_set.h"
#include "utils/serialize/safetensors.h"

namespace conformance {

using Json = nlohmann::json;

// How the tensor arguments lie in memory: as recorded; with the first and last dimension exchanged in storage; every second
// element of something wider.
enum class Layout { kRecorded, kTransposed, kStrided };

bool is_tensor(const Json& value);
// Whether an object has a member that is true.
bool is_marked(const Json& value, const char* name);
// An integer; throws BadSet for anything else, also for one beyond 64 bits.
int64_t integer(const Json& value);
// What a generator is seeded with; throws BadSet for anything else.
uint64_t seed(const Json& value);
// A number, also one that JSON cannot hold.
double number(const Json& value);
// The type of that name, "float32"; throws BadSet for any other.
at::ScalarType dtype_of(const Json& name);
// A member of an object; throws BadSet where it is missing.
const Json& member(const Json& object, const char* name);

// An uninitialised tensor of the size and dtype of `t`; Recorded gives it the order of dimensions that t has.
at::Tensor empty_like_in(const at::Tensor& t, Layout layout, c10::Device device);

class CaseValues {
 public:
  // The largest tensor that a case may name: recorded ones have at most 2^14 elements of storage, but may be expanded.
  static constexpr int64_t kMaxElements = int64_t{1} << 24;

  CaseValues(const torch::safetensors::File& blobs, Layout layout, c10::Device device)
      : blobs_(blobs), layout_(layout), device_(device) {}

  // A tensor as it was recorded, on the CPU. Throws BadSet.
  at::Tensor recorded(const Json& value) const;
  // An argument of the given type. Tensors marked `requires_grad` are added to differentiable(). With `keep_layout` a tensor
  // lies as recorded whatever the layout.
  c10::IValue argument(const Json& value, const c10::ArgumentShape& type, bool keep_layout = false);

  // The tensors that gradients are recorded for, in their order.
  const std::vector<at::Tensor>& differentiable() const { return differentiable_; }

 private:
  at::Tensor quantized(const Json& value) const;
  c10::IValue made(const Json& value) const;
  at::Tensor input(const Json& value, bool keep_layout);
  // A sparse tensor of the parts that `part` gives by name; recorded ones are checked.
  static at::Tensor sparse_of(const Json& value, const std::function<at::Tensor(const char*)>& part);
  at::Tensor laid_out(const at::Tensor& t) const;
  c10::IValue list(const Json& value, c10::ArgumentShape type, bool keep_layout);
  c10::IValue element(const Json& value, const c10::ArgumentShape& type, bool keep_layout);

  const torch::safetensors::File& blobs_;
  Layout layout_;
  c10::Device device_;
  std::vector<at::Tensor> differentiable_;
};

}  // namespace conformance
