// Recorded operations as a graph.
#include <unordered_map>

#include "aten/core/tensor.h"
#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/autograd_meta.h"
#include "autograd/engine/node.h"
#include "utils/tensorboard/event.h"
#include "utils/tensorboard/summary_writer.h"

namespace torch::utils::tensorboard {
namespace {

using autograd::AccumulateGrad;
using autograd::Edge;
using autograd::Node;
using kindling::tensorboard::GraphDef;

void set_shape(GraphDef::Node& node, const at::Tensor& tensor) {
  auto* shape = (*node.mutable_attr())["_output_shapes"].mutable_list()->add_shape();
  for (const int64_t size : tensor.sizes()) shape->add_dim()->set_size(size);
}

// "AddmmBackward0" is the operation Addmm.
std::string operation_of(const Node& node) {
  std::string name = node.name();
  if (const size_t colons = name.rfind("::"); colons != std::string::npos) name.erase(0, colons + 2);
  if (const size_t backward = name.find("Backward"); backward != std::string::npos && backward > 0)
    name.resize(backward);
  return printable(name);
}

class Graph {
 public:
  explicit Graph(const std::vector<std::pair<std::string, at::Tensor>>& named) {
    for (const auto& [name, tensor] : named) {
      if (!tensor.defined()) continue;
      std::string path = printable(name);
      for (char& c : path) c = c == '.' ? '/' : c;
      leaves_.emplace(tensor.unsafeGetTensorImpl(), std::move(path));
    }
  }

  void add_output(const at::Tensor& tensor, const std::string& name) {
    const Edge edge = autograd::gradient_edge(tensor);
    TORCH_CHECK_VALUE(edge.is_valid(), "SummaryWriter: a tensor that no recorded operation led to has no graph");
    visit(edge.function.get());
    GraphDef::Node& node = *graph_.add_node();
    node.set_name(name);
    node.set_op("IO Node");
    node.add_input(names_.at(edge.function.get()));
    set_shape(node, tensor);
  }

  std::string serialized() {
    graph_.mutable_versions()->set_producer(22);
    return graph_.SerializeAsString();
  }

 private:
  // Those an operation depends on come first; no recursion, as graphs are deep.
  void visit(Node* root) {
    std::vector<std::pair<Node*, bool>> left = {{root, false}};
    while (!left.empty()) {
      const auto [node, done] = left.back();
      left.pop_back();
      if (done) {
        write(*node);
        continue;
      }
      if (!names_.emplace(node, "").second) continue;
      left.push_back({node, true});
      for (const Edge& edge : node->next_edges()) {
        if (edge.is_valid()) left.push_back({edge.function.get(), false});
      }
    }
  }

  void write(Node& node) {
    GraphDef::Node& out = *graph_.add_node();
    std::string& name = names_.at(&node);
    if (const auto* leaf = dynamic_cast<const AccumulateGrad*>(&node)) {
      const at::Tensor variable = leaf->variable();
      const auto known = leaves_.find(variable.unsafeGetTensorImpl());
      name = known != leaves_.end() ? known->second : unique("Variable");
      out.set_op("Parameter");
      set_shape(out, variable);
    } else {
      const std::string operation = operation_of(node);
      name = unique(operation);
      out.set_op(operation);
      for (const Edge& edge : node.next_edges()) {
        if (edge.is_valid()) out.add_input(names_.at(edge.function.get()));
      }
    }
    out.set_name(name);
  }

  std::string unique(const std::string& operation) { return operation + "_" + std::to_string(counts_[operation]++); }

  GraphDef graph_;
  std::unordered_map<const Node*, std::string> names_;
  std::unordered_map<const void*, std::string> leaves_;
  std::unordered_map<std::string, int> counts_;
};

}  // namespace

void SummaryWriter::add_graph(c10::ArrayRef<at::Tensor> outputs,
                              const std::vector<std::pair<std::string, at::Tensor>>& named) {
  Graph graph(named);
  for (size_t i = 0; i < outputs.size(); ++i) graph.add_output(outputs[i], "output_" + std::to_string(i));
  kindling::tensorboard::Event event = event_at(0, -1);
  event.set_graph_def(graph.serialized());
  add(event.SerializeAsString());
}

}  // namespace torch::utils::tensorboard
