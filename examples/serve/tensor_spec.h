// What a model takes and gives, in the terms of the Open Inference Protocol.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"
#include "graph/ir/int_expr.h"

namespace serve {

/// "FP32" for float32 and so on; empty for dtypes that the protocol has no name for.
std::string_view datatype_of(c10::ScalarType dtype);
/// Nothing for other names, "BYTES" among them.
std::optional<c10::ScalarType> dtype_named(std::string_view datatype);

/// One input or output.
struct TensorSpec {
  enum class Kind : uint8_t { kTensor, kInt, kFloat, kBool };
  std::string name;
  Kind kind = Kind::kTensor;             ///< a number comes as a tensor of one element
  std::optional<c10::ScalarType> dtype;  ///< nothing: any, or not known
  /// Nothing: any, or not known. A size may be a symbol, or computed from some.
  std::optional<std::vector<torch::graph::IntExpr>> sizes;
  bool optional = false;  ///< may be left out
};

/// Inputs, and what their symbols may be.
struct Signature {
  std::vector<TensorSpec> inputs;
  std::map<std::string, torch::graph::IntRange> symbols;
};

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// What is wrong with tensors, one an input and undefined where it is left out: "input 'x' has shape [2, 3]; expected
/// [-1, 4]". Empty where nothing is.
std::string mismatch(const Signature& signature, const std::vector<at::Tensor>& tensors);

/// "[-1, 4]": -1 where the size is no constant.
std::string shape_text(const std::vector<torch::graph::IntExpr>& sizes);

/// Reads "x:FP32[-1,4]; mask:BOOL[-1,8]", where -1 in the first place is one size for all inputs and others are sizes
/// of their own. Throws ValueError that says where it is wrong.
Signature parse_signature(std::string_view text);

}  // namespace serve
