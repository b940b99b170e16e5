// How operators compute with batched tensors: the layer FuncTorchBatched.
//
// A call inside vmap that has arguments of the innermost level goes by its operator's rule: with the tensors behind
// them, whose first dimension counts the samples, it calls operators on these, which is to say at the level outside,
// and its results become batched tensors again. What the tables say (`batch` in aten/codegen/ops.proto, or what follows
// from `element_wise` and `sharding`) names the rule; operators that are composed of others need none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/dispatch/registry.h"
#include "c10/util/small_vector.h"
#include "c10/value/ivalue.h"
#include "func/batched_tensor.h"

namespace torch::func {

/// A call as rules see it. Tensors that are batched have the samples in dimension 0; all others are the same for every
/// sample.
class BatchedCall {
 public:
  BatchedCall(const c10::OperatorHandle& op, const VmapLevel& level, c10::Stack arguments,
              std::string_view parameters = {});

  const c10::OperatorHandle& op() const { return op_; }
  const c10::FunctionSchema& schema() const { return op_.schema(); }
  const VmapLevel& level() const { return level_; }
  int64_t batch_size() const { return level_.batch_size; }
  /// What stands in parentheses behind the rule's name in the table: "dim" of "along(dim)".
  std::string_view parameters() const { return parameters_; }

  /// Whether some tensor, or some tensor of a list, is batched.
  bool any_batched() const { return any_batched_; }
  size_t size() const { return arguments_.size(); }
  const c10::IValue& operator[](size_t i) const { return arguments_[i]; }
  void set(size_t i, c10::IValue value) { arguments_[i] = std::move(value); }
  /// Puts a tensor with the samples in dimension 0 in the place of an argument.
  void replace(size_t i, at::Tensor samples) {
    arguments_[i] = c10::IValue(std::move(samples));
    batched_[i] = true;
  }
  /// The number of the argument of that name; -1 where there is none.
  int index(std::string_view name) const;
  const c10::IValue& named(std::string_view name) const;

  /// Whether it is a tensor that is there.
  bool is_tensor(size_t i) const { return arguments_[i].isTensor() && arguments_[i].unsafe_tensor_impl() != nullptr; }
  at::Tensor tensor(size_t i) const { return arguments_[i].toTensor(); }
  bool batched(size_t i) const { return batched_[i]; }
  /// Of the elements of a list of tensors.
  bool batched(size_t i, size_t element) const;
  /// A list with a batched element: its elements in order, undefined ones for None.
  std::vector<at::Tensor> tensors(size_t i) const;
  bool is_tensor_list(size_t i) const;

  /// The dimensions of one sample of a tensor argument.
  int64_t rank(size_t i) const { return tensor(i).dim() - (batched(i) ? 1 : 0); }
  /// The sizes of one sample.
  at::IntArrayRef sizes(size_t i) const {
    return arguments_[i].unsafe_tensor_impl()->sizes().slice(batched(i) ? 1 : 0);
  }
  /// With the samples in dimension 0: of a tensor that all share, expanded.
  at::Tensor every_sample(size_t i) const { return every_sample(tensor(i), batched(i)); }
  at::Tensor every_sample(const at::Tensor& tensor, bool batched) const;
  /// The same with dimensions of size 1 behind the samples' until a sample has `rank`.
  at::Tensor padded(const at::Tensor& tensor, bool batched, int64_t rank) const;

  /// A dimension of a sample as one behind the samples': wrapped and checked (IndexError), plus one. Of a sample
  /// without dimensions 0 and -1 are dimensions, too.
  static int64_t shifted(int64_t dim, int64_t rank);

  /// Calls the operator with the arguments as they are now.
  void run() { run(op_, arguments_); }
  /// Calls another one; its results are the call's.
  void run(std::string_view name, std::string_view overload, c10::Stack arguments);
  void run(const c10::OperatorHandle& op, c10::Stack arguments);
  const c10::Stack& arguments() const { return arguments_; }

  /// The results, whose tensors have the samples in dimension 0, but for those of a call that is marked.
  c10::Stack results;
  bool same_for_all = false;

  void give(at::Tensor result) { results = {c10::IValue(std::move(result))}; }

 private:
  const c10::OperatorHandle& op_;
  const VmapLevel& level_;
  std::string_view parameters_;
  c10::Stack arguments_;
  c10::SmallVector<bool, 16> batched_;  // of a list: whether one of its tensors is
  std::vector<std::pair<size_t, std::vector<bool>>> lists_;
  bool any_batched_ = false;
};

using BatchingRule = void (*)(BatchedCall& call);

/// How an operator computes inside vmap.
struct Batching {
  enum class Kind {
    kRule,        // by a rule
    kRefused,     // by a rule that throws
    kComposed,    // by the operators that it is made of: its function for all backends
    kDecomposed,  // by its decomposition
    kRandom,      // by a rule, which is also asked where nothing is batched
    kOut,         // out=: the functional form, whose result `out` takes over
    kInPlace,     // the functional form, whose result is copied to the first argument
    kLoop,        // sample by sample
  };
  Kind kind = Kind::kLoop;
  BatchingRule rule = nullptr;
  std::string_view parameters = {};
  std::optional<c10::OperatorHandle> functional = std::nullopt;
};

/// How an operator computes inside vmap. Lives as long as the program.
const Batching& batching_of(const c10::OperatorHandle& op);

namespace detail {
/// Makes the layer handle calls; called where batched tensors are first made.
void install_batching();
}  // namespace detail

}  // namespace torch::func
