#include "graph/passes/channels_last.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/memory_format.h"
#include "c10/dispatch/registry.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::IValue;

bool is_image(const TensorInfo* info) {
  return info != nullptr && info->sizes.size() == 4 && info->strides.size() == 4 &&
         info->layout == c10::Layout::Strided && info->storage_offset == IntExpr(0);
}
// Calls whose first result has the format of their images, whatever it is.
bool follows_format(const Node& node) {
  static const std::set<std::string_view> kNames{"relu",
                                                 "hardtanh",
                                                 "hardswish",
                                                 "hardsigmoid",
                                                 "sigmoid",
                                                 "silu",
                                                 "tanh",
                                                 "gelu",
                                                 "elu",
                                                 "leaky_relu",
                                                 "clamp",
                                                 "add.Tensor",
                                                 "sub.Tensor",
                                                 "mul.Tensor",
                                                 "div.Tensor",
                                                 "max_pool2d",
                                                 "max_pool2d_with_indices",
                                                 "avg_pool2d",
                                                 "_adaptive_avg_pool2d",
                                                 "adaptive_avg_pool2d",
                                                 "clamp_min",
                                                 "maximum",
                                                 "minimum",
                                                 "mul.Scalar",
                                                 "add.Scalar",
                                                 "neg",
                                                 "abs"};
  return node.kind() == Node::Kind::kCall && node.callable().schema().name().rfind("aten::", 0) == 0 &&
         kNames.count(node.callable().schema().qualified_name()) > 0;
}
// Calls that read any format, and whose results have one that does not depend on it.
bool reads_any_format(const Node& node) {
  return node.calls("aten::mean.dim") || node.calls("aten::sum.dim_IntList");
}

class ToChannelsLast {
 public:
  ToChannelsLast(Graph& graph, const std::function<bool(const Node&)>& wanted) : graph_(graph), wanted_(wanted) {}

  PassResult run() {
    for (Node* node : graph_.block()) {
      if (node->kind() == Node::Kind::kCall && wanted_(*node) && is_image(input_of(*node))) {
        take(node, 0);
        turned_.insert(node->result());
      } else if (follows_format(*node) && is_image(node->result()->info()) && has_turned_image(*node)) {
        for (size_t i = 0; i < node->operands().size(); ++i) {
          if (is_whole_image(node->operand(i))) take(node, i);
        }
        turned_.insert(node->result());
        // Indices of maxima count along the rows of the image in any format.
        if (node->result_count() > 1) turned_.insert(node->result(1));
      } else if (!reads_any_format(*node)) {
        give_back(node);
      }
    }
    give_back(graph_.block().return_node());
    if (result_.changes > 0) propagate_shapes(graph_);
    return std::move(result_);
  }

 private:
  static const TensorInfo* input_of(const Node& node) {
    return node.operand(0).is_value() ? node.operand(0).value()->info() : nullptr;
  }
  bool is_turned(const Operand& operand) const { return operand.is_value() && turned_.count(operand.value()) > 0; }
  bool has_turned_image(const Node& node) const {
    const auto operands = node.operands();
    return std::any_of(operands.begin(), operands.end(), [&](const Operand& o) { return is_turned(o); }) &&
           std::all_of(operands.begin(), operands.end(), [&](const Operand& o) {
             // Constants that broadcast along rows and columns have one format as well as the other.
             return !(o.is_constant() && o.constant().isTensor()) || o.constant().toTensor().dim() == 0 ||
                    is_a_pixel(o);
           });
  }
  static bool is_a_pixel(const Operand& operand) {
    const auto sizes = operand.constant().toTensor().sizes();
    return sizes.size() == 4 && sizes[2] == 1 && sizes[3] == 1;
  }
  // Of one that has one pixel, a number a channel, the format says nothing.
  static bool is_whole_image(const Operand& operand) {
    if (!operand.is_value() || !is_image(operand.value()->info())) return false;
    const TensorInfo& info = *operand.value()->info();
    return !(info.sizes[2] == IntExpr(1) && info.sizes[3] == IntExpr(1));
  }

  Value* copy(Value* value, c10::MemoryFormat format) {
    static const Callable clone(c10::Dispatcher::singleton().findSchemaOrThrow("aten::clone", ""));
    auto made = graph_.call(clone, {Operand(value), Operand(IValue(format))});
    Value* const result = made->result();
    if (value->node() != nullptr && value->block() == &graph_.block()) {
      made.release()->move_after(value->node());
    } else {
      made.release()->move_before(graph_.block().first());
    }
    ++result_.changes;
    return result;
  }
  void take(Node* node, size_t i) {
    if (!node->operand(i).is_value()) return;
    Value* const value = node->operand(i).value();
    if (turned_.count(value) > 0) return;
    if (value->info() != nullptr && is_channels_last(*value->info()) && !is_row_major(*value->info())) return;
    const auto [place, fresh] = turned_copies_.try_emplace(value, nullptr);
    if (fresh) {
      place->second = copy(value, c10::MemoryFormat::ChannelsLast);
      turned_.insert(place->second);
    }
    node->set_operand(i, Operand(place->second));
  }
  // The node sees what it saw before.
  void give_back(Node* node) {
    for (size_t i = 0; i < node->operands().size(); ++i) {
      std::vector<Value*> turned;
      node->operand(i).for_values([&](Value* v) {
        if (turned_.count(v) > 0) turned.push_back(v);
      });
      for (Value* const value : turned) {
        // One pixel, or one channel: both formats at once.
        if (value->info() != nullptr && is_channels_last(*value->info()) && is_row_major(*value->info())) continue;
        const auto [place, fresh] = row_major_copies_.try_emplace(value, nullptr);
        if (fresh) place->second = copy(value, c10::MemoryFormat::Contiguous);
        node->set_operand(i, node->operand(i).with(value, Operand(place->second)));
      }
    }
  }
  Graph& graph_;
  const std::function<bool(const Node&)>& wanted_;
  std::set<const Value*> turned_;
  std::map<Value*, Value*> turned_copies_, row_major_copies_;
  PassResult result_;
};

}  // namespace

PassResult use_channels_last(Graph& graph, const std::function<bool(const Node&)>& wanted) {
  return ToChannelsLast(graph, wanted).run();
}

}  // namespace torch::graph
