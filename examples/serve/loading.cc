#include "examples/serve/loading.h"

#include <algorithm>
#include <new>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "graph/interpreter/interpreter.h"
#include "graph/passes/draw.h"
#include "graph/passes/shape_propagation.h"

namespace serve {

using c10::IValue;
using torch::graph::Graph;

namespace {

constexpr size_t kMostDrawn = 3000;  // nodes
constexpr size_t kLongestError = 1000;

std::string shortened(std::string text) {
  return text.size() <= kLongestError ? text : text.substr(0, kLongestError) + "...";
}

template <class T>
at::Tensor number(T value, c10::ScalarType dtype) {
  at::Tensor out = at::empty_contiguous({}, dtype);
  *out.data_ptr<T>() = value;
  return out;
}

}  // namespace

IValue argument_of(const TensorSpec& spec, const at::Tensor& tensor) {
  if (!tensor.defined()) return IValue();
  switch (spec.kind) {
    case TensorSpec::Kind::kTensor:
      return tensor;
    case TensorSpec::Kind::kInt:
      return *tensor.data_ptr<int64_t>();
    case TensorSpec::Kind::kFloat:
      return *tensor.data_ptr<double>();
    case TensorSpec::Kind::kBool:
      return *tensor.data_ptr<bool>();
  }
  return IValue();
}

void append_outputs(std::vector<NamedTensor>& outputs, const std::string& name, const IValue& value) {
  const std::string said = name.empty() ? "output" : name, prefix = said + "_";
  if (value.isTensor()) {
    outputs.push_back({said, value.toTensor()});
  } else if (value.isNone()) {
    return;
  } else if (value.isBool()) {
    outputs.push_back({said, number(value.toBool(), c10::ScalarType::Bool)});
  } else if (value.isInt()) {
    outputs.push_back({said, number(value.toInt(), c10::ScalarType::Long)});
  } else if (value.isDouble()) {
    outputs.push_back({said, number(value.toDouble(), c10::ScalarType::Double)});
  } else if (value.isTuple() || value.isList()) {
    const auto parts = value.isTuple() ? c10::ArrayRef<IValue>(value.toTupleRef().elements().vec()) : value.toListRef();
    std::vector<std::string> fields;
    if (value.isTuple()) {
      const auto type = value.type()->cast<c10::TupleType>();
      if (type != nullptr) fields = type->names();
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i < fields.size()) {
        append_outputs(outputs, name.empty() ? fields[i] : prefix + fields[i], parts[i]);
      } else {
        append_outputs(outputs, prefix + std::to_string(i), parts[i]);
      }
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      const IValue key = entry.key();
      const std::string text = key.isString() ? key.toStringRef() : key.isInt() ? std::to_string(key.toInt()) : "";
      if (text.empty()) throw std::runtime_error(said + " has a key that is neither a text nor a whole number");
      append_outputs(outputs, name.empty() && key.isString() ? text : prefix + text, entry.value());
    }
  } else {
    throw std::runtime_error(said + " is a " + value.tagKind() + ", which the protocol has no form for");
  }
}

std::vector<NamedTensor> translated(const std::function<std::vector<NamedTensor>()>& f) {
  try {
    return f();
  } catch (const c10::OutOfMemoryError&) {
    throw std::bad_alloc();
  } catch (const c10::NotImplementedError& error) {
    throw std::runtime_error(shortened(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    throw Refused(shortened(error.what_without_backtrace()));
  } catch (const torch::graph::Raised& error) {
    throw Refused(shortened(error.what()));
  }
}

std::unique_ptr<Graph> with_sizes(const Graph& graph) {
  std::unique_ptr<Graph> known = graph.clone();
  try {
    torch::graph::propagate_shapes(*known);
  } catch (const c10::Error&) {
    // Then it has the sizes that the file has.
  }
  return known;
}

std::string picture_of(const Graph& graph) {
  size_t nodes = 0;
  graph.for_nodes([&](const torch::graph::Node*) { ++nodes; });
  return nodes > kMostDrawn ? "" : torch::graph::draw(graph);
}

}  // namespace serve
