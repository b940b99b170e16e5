// How operators take distributed tensors: for one dimension of a mesh, which placements of the arguments give which
// placements of the results, each rank computing with its parts alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c10/dispatch/registry.h"
#include "c10/value/ivalue.h"
#include "distributed/tensor/placement.h"
#include "distributed/tensor/spec.h"

namespace torch::distributed::tensor {

/// What a Partial may be reduced by.
inline constexpr c10d::ReduceOp::RedOpType kAllReductions[] = {
    c10d::ReduceOp::SUM,     c10d::ReduceOp::AVG,  c10d::ReduceOp::MIN, c10d::ReduceOp::MAX,
    c10d::ReduceOp::PRODUCT, c10d::ReduceOp::BAND, c10d::ReduceOp::BOR, c10d::ReduceOp::BXOR};

/// One way to compute: a placement for each tensor among the arguments and among the results.
struct Strategy {
  std::vector<Placement> inputs, outputs;
  /// Whether the dimension that is sharded may be cut anywhere, as long as all tensors are cut alike.
  bool any_parts = false;
  /// An argument of the schema, by its number, that has another value where parts are computed with.
  std::optional<std::pair<size_t, c10::IValue>> argument = std::nullopt;
};

/// A call as rules see it: the sizes of the whole tensors, and the other arguments.
class ShardedCall {
 public:
  struct Input {
    size_t argument;  // of the schema
    SpecPtr spec;
    at::IntArrayRef sizes() const { return spec->sizes(); }
    int64_t dim() const { return spec->dim(); }
  };
  struct Output {
    std::vector<int64_t> sizes, strides;
    at::ScalarType dtype;
    int64_t offset = 0;  // of its first element in its memory
  };

  ShardedCall(const c10::FunctionSchema& schema, const c10::Stack& arguments) : schema(schema), arguments(arguments) {}

  const c10::FunctionSchema& schema;
  const c10::Stack& arguments;
  // The tensors that are there, those of lists one by one; those of results likewise.
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  // The dimension of the mesh that is asked about, and its size.
  size_t mesh_dim = 0;
  int64_t parts = 1;
  /// Into how many parts a dimension of an input is cut, were it cut along that dimension of the mesh, too.
  int64_t parts_with(const Input& input, int64_t dim) const;

  /// The value of an argument. Throws where the schema has none of that name.
  const c10::IValue& operator[](std::string_view name) const;
  bool has(std::string_view name) const;
  bool is_given(std::string_view name) const { return has(name) && !(*this)[name].isNone(); }
  /// Of an argument that is an integer, or a list of them; empty where it is None.
  std::vector<int64_t> integers(std::string_view name) const;
  /// The number among the inputs of an argument that is a tensor; nullopt where it is None.
  std::optional<size_t> input(std::string_view name) const;
  /// What rules give. All inputs whole always is a way; rules do not say so.
  void add(Strategy strategy);
  /// A strategy whose inputs and outputs all are `placement`.
  Strategy all(const Placement& placement) const;
  /// Replicate for everything.
  Strategy whole() const { return all(Replicate()); }
  std::vector<Strategy> take() { return std::exchange(strategies_, {}); }

  /// The name of an argument that holds the sizes of the result, which becomes the sizes of its part.
  std::string sizes_argument;
  /// Whether the operator takes parts without elements, which a rank has where a dimension is short.
  bool empty_parts = false;

 private:
  std::vector<Strategy> strategies_;
};

using ShardingRule = std::function<void(ShardedCall& call)>;

/// How an operator is handled.
struct Sharding {
  enum class Kind {
    kRule,      // by strategies
    kComposed,  // by the operators that it is made of
    kRandom,    // computed for the whole on every rank, so that numbers are those of one device, and cut
    kHandler,   // by a function of its own, which takes the arguments from the stack and leaves the results
  };
  using Handler = void (*)(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack& stack);
  Kind kind = Kind::kRule;
  ShardingRule rule;
  Handler handler = nullptr;
  // Of a form with out=: the functional form.
  std::string functional;
};

/// How an operator ("aten::add.Tensor") is handled; null where nobody has said it. Lives as long as the program.
const Sharding* sharding_of(const c10::OperatorHandle& op);

/// Says how an operator is sharded, also of one that has a rule: `rule` adds strategies to the call it is given.
/// Applies to later calls.
///
///   register_sharding("mine::scale", [](ShardedCall& call) {
///     for (int64_t d = 0; d < call.inputs[0].dim(); ++d) call.add(call.all(Shard(d)));
///   });
void register_sharding(const std::string& op, ShardingRule rule);

/// From the words of an operator's table (aten/codegen/ops.proto, `sharding`). Throws ValueError where they are none.
Sharding parse_sharding(std::string_view words);

namespace detail {
/// A rule that has a name in tables; null where there is none.
const ShardingRule* named_rule(std::string_view name);
Sharding::Handler named_handler(std::string_view name);
/// Changes with every register_sharding().
uint64_t sharding_version();
}  // namespace detail

}  // namespace torch::distributed::tensor
