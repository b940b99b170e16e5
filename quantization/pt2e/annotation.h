// What a quantizer says of the nodes of a program: how their inputs and outputs shall be quantized.
//
//   annotations.of(conv).input_qspec_map[x] = QuantizationSpec{activation_observer};
//   annotations.of(conv).input_qspec_map[w] = QuantizationSpec{weight_observer};
//   annotations.of(pool).output_qspec = SharedQuantizationSpec{Edge{x, pool}};      // one scale for both
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "graph/ir/graph.h"
#include "quantization/observers/observer.h"

namespace torch::quantization {

/// What observes the tensor, or quantizes it in training; dtype, range and scheme are those of what is made.
struct QuantizationSpec {
  ObserverFactory observer_or_fake_quant_ctr;
};

/// A scale and a zero point that are known.
struct FixedQParamsQuantizationSpec {
  c10::ScalarType dtype = c10::ScalarType::Byte;
  double scale = 1;
  int64_t zero_point = 0;
  int64_t quant_min = 0, quant_max = 255;
};

/// A value as the input of a node that uses it.
struct Edge {
  graph::Value* value;
  graph::Node* user;
  friend bool operator<(const Edge& a, const Edge& b) {
    return std::make_pair(a.value, a.user) < std::make_pair(b.value, b.user);
  }
  friend bool operator==(const Edge&, const Edge&) = default;
};
/// An input, or the output of a node: the first result.
using EdgeOrNode = std::variant<Edge, graph::Node*>;

/// As something else that is annotated: one observer for both.
struct SharedQuantizationSpec {
  EdgeOrNode edge_or_node;
};

/// Qparams that follow from those of others: a bias's scale is that of the input times that of the weight.
struct DerivedQuantizationSpec {
  std::vector<EdgeOrNode> derived_from;
  std::function<QParams(const std::vector<std::shared_ptr<ObserverBase>>& observers)> derive_qparams_fn;
  ObserverOptions options;  ///< dtype, range, scheme, axis
};

using QuantizationSpecBase =
    std::variant<QuantizationSpec, FixedQParamsQuantizationSpec, SharedQuantizationSpec, DerivedQuantizationSpec>;

struct QuantizationAnnotation {
  std::map<graph::Value*, QuantizationSpecBase> input_qspec_map;
  std::optional<QuantizationSpecBase> output_qspec;
  /// Whether an input may share the observer of the output that it is, where both have equal specs.
  bool allow_implicit_sharing = true;
};

/// Of the nodes of one program.
class Annotations {
 public:
  /// From now on the node is annotated.
  QuantizationAnnotation& of(graph::Node* node) { return all_[node]; }
  /// Null where it is not.
  const QuantizationAnnotation* find(const graph::Node* node) const {
    const auto found = all_.find(const_cast<graph::Node*>(node));
    return found == all_.end() ? nullptr : &found->second;
  }
  bool has(const graph::Node* node) const { return find(node) != nullptr; }
  const std::map<graph::Node*, QuantizationAnnotation>& all() const { return all_; }

 private:
  std::map<graph::Node*, QuantizationAnnotation> all_;
};

/// A layer by its weight, and what follows it with no other reader in between.
struct LayerPattern {
  graph::Node* layer = nullptr;       ///< conv1d, conv2d, conv3d, convolution, linear
  graph::Node* batch_norm = nullptr;  ///< or null
  graph::Node* add = nullptr;         ///< of the result and `other`
  graph::Value* other = nullptr;
  graph::Node* activation = nullptr;  ///< relu and its like
  graph::Node* last() const { return activation ? activation : add ? add : batch_norm ? batch_norm : layer; }
};

enum class LayerKind : uint8_t { kNone, kConvolution, kLinear };
LayerKind layer_kind(const graph::Node& node);
/// Whether a batch norm, in evaluation or training, of operators that graphs have.
bool is_batch_norm(const graph::Node& node);
/// The pattern that begins with a layer.
LayerPattern layer_pattern(graph::Node* layer);
/// The only node that uses the value; null where there are others, or it is returned.
graph::Node* only_user(const graph::Value* value);

}  // namespace torch::quantization
