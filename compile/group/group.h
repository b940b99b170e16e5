// A fused group: what is computed of each element of some tensors, as data. It says nothing of how it is executed:
// compile/tape runs it, compile/aot prints it as C++.
//
// gelu(x * w + b), x of bfloat16 and sizes [8, 64], w and b of [64]:
//
//   sizes [8, 64]
//   inputs  0: BFloat16 [8, 64]   1: BFloat16 [64]   2: BFloat16 [64]
//   operations
//     0: mul(input 0, input 1), in Float, rounded to BFloat16
//     1: add(operation 0, input 2), in Float, rounded to BFloat16
//     2: gelu(operation 1), in Float, rounded to BFloat16
//   outputs operation 2
//
// Values. An input, a constant or an operation's result is a number of one of five types: Float, Double, Int, Long,
// Bool (register_type()). An element of a narrower dtype is held in a wider type, as the number that it is: BFloat16
// and Half in Float; Byte, Char and Short in Int. An operation computes in its `type`; where its `dtype` is narrower,
// the result is converted to it and back (at::cpu::convert), so that a group gives the bits that operators one by one
// give. All operands of an operation have its `type`; what has another goes through a kConvert first. (kConvert itself
// takes any; the condition of kWhere is a Bool.) An operation of type Bool is one on truth values.
//
// Rows. A group may have one function of whole rows, the elements along the last dimensions. The operations before
// `row_begin` do not depend on it, those from there on may.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "c10/core/scalar.h"
#include "c10/core/scalar_type.h"
#include "c10/value/ivalue.h"
#include "compile/group/primitive.h"
#include "graph/ir/graph.h"

namespace torch::compiler {

/// The type in which elements of a dtype are held: Float, Double, Int, Long or Bool. Undefined for a dtype that groups
/// do not take.
c10::ScalarType register_type(c10::ScalarType dtype);

/// A value of a group.
struct Ref {
  enum class Kind : uint8_t { kInput, kConstant, kOperation, kRow };
  Kind kind;
  uint32_t index = 0;  ///< among those of its kind
  friend bool operator==(const Ref&, const Ref&) = default;
};

/// A tensor that is read. Its sizes broadcast to the group's, aligned at the last dimension.
struct GroupInput {
  graph::TensorInfo info;  ///< dtype, sizes, strides
  c10::IValue constant;    ///< the tensor itself, where it is one of the graph's constants; else None
};

struct GroupConstant {
  c10::ScalarType type;  ///< Float, Double, Int, Long or Bool
  c10::Scalar value;     ///< which the type holds exactly, once it is converted to it
};

struct Operation {
  Primitive primitive;
  c10::ScalarType type;   ///< that it computes in; of kConvert: register_type(dtype)
  c10::ScalarType dtype;  ///< of the result; Bool for predicates
  std::vector<Ref> operands;
  std::vector<c10::Scalar> parameters;  ///< to be converted to `type`, for takes_width() to int32
};

enum class RowFunction : uint8_t {
  kSoftmax,     ///< at::cpu::softmax_rows
  kLogSoftmax,  ///< at::cpu::log_softmax_rows
  kLayerNorm,   ///< at::cpu::layer_norm_row
};

/// A function of each row; its result, Ref{kRow}, has an element for each of the row.
struct RowOperation {
  RowFunction function;
  Ref operand;            ///< of register_type(dtype), Float or Double
  c10::ScalarType dtype;  ///< of the result
  int64_t dims = 1;       ///< a row is the last so many dimensions
  /// Of kLayerNorm: inputs whose sizes are those of the row, or nothing; of dtype or of the type that it is held in.
  std::optional<Ref> weight, bias;
  double eps = 0;
};

struct GroupOutput {
  Ref value;
  graph::TensorInfo info;  ///< the group's sizes; strides
};

struct Group {
  std::vector<graph::IntExpr> sizes;  ///< of the elements that are gone through
  std::vector<GroupInput> inputs;
  std::vector<GroupConstant> constants;
  std::vector<Operation> operations;  ///< each reads what stands before it
  std::optional<RowOperation> row;
  size_t row_begin = 0;  ///< operations before it are no row's epilogue; without row: their number
  std::vector<GroupOutput> outputs;

  c10::ScalarType dtype_of(Ref ref) const;
  c10::ScalarType type_of(Ref ref) const { return register_type(dtype_of(ref)); }
};

/// As text, for people and tests.
std::string print(const Group& group);

}  // namespace torch::compiler
