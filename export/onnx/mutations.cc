// Models that are changed at random are read or refused, and what is read runs or throws. KINDLING_ONNX_MUTATIONS sets
// how many.
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "aten/core/tensor.h"
#include "aten/ops/creation/ops.h"
#include "export/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "third_party/onnx/onnx.pb.h"
#include "utils/serialize/file_io.h"

namespace torch::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}
  unsigned operator()() { return static_cast<unsigned>(random_()); }

  // Some message becomes another one, or goes.
  void change(ModelProto& model, const std::vector<std::string>& operators) {
    GraphProto* graph = model.mutable_graph();
    for (int depth = 0; depth < 3 && random_() % 3 == 0; ++depth) {
      GraphProto* inner = inner_graph(*graph);
      if (inner != nullptr) graph = inner;
    }
    switch (random_() % 10) {
      case 0:
        if (graph->initializer_size() > 0) return change(*graph->mutable_initializer(any(graph->initializer_size())));
        break;
      case 1:
        if (graph->input_size() > 0) {
          auto* type = graph->mutable_input(any(graph->input_size()))->mutable_type()->mutable_tensor_type();
          if (random_() % 2 == 0) return type->set_elem_type(static_cast<int>(number()));
          if (type->shape().dim_size() > 0) type->mutable_shape()->mutable_dim(0)->set_dim_value(number());
        }
        break;
      case 2:
        if (graph->output_size() > 0) graph->mutable_output(any(graph->output_size()))->set_name(name(*graph));
        break;
      case 3:
        if (model.opset_import_size() > 0)
          model.mutable_opset_import(0)->set_version(static_cast<int64_t>(random_() % 30));
        break;
      default:
        if (graph->node_size() > 0) change(*graph->mutable_node(any(graph->node_size())), *graph, operators);
    }
  }
  void change(std::string& bytes) {
    const size_t at = random_() % bytes.size();
    switch (random_() % 3) {
      case 0:
        bytes[at] = static_cast<char>(random_());
        break;
      case 1:
        bytes.erase(at, 1 + random_() % 20);
        break;
      default:
        bytes.insert(at, bytes.substr(random_() % bytes.size(), random_() % 40));
    }
  }

 private:
  int any(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  int64_t number() {
    // None that makes a tensor which takes long.
    constexpr int64_t kNumbers[] = {-2, -1, 0, 1, 2, 3, 4, 7, 16, INT64_MAX, INT64_MIN, int64_t{1} << 40};
    return kNumbers[random_() % std::size(kNumbers)];
  }
  GraphProto* inner_graph(GraphProto& graph) {
    for (NodeProto& node : *graph.mutable_node()) {
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) return attribute.mutable_g();
      }
    }
    return nullptr;
  }
  std::string name(const GraphProto& graph) {
    if (graph.node_size() == 0 || random_() % 8 == 0) return "";
    const NodeProto& node = graph.node(any(graph.node_size()));
    if (node.output_size() > 0 && random_() % 2 == 0) return node.output(any(node.output_size()));
    return node.input_size() > 0 ? node.input(any(node.input_size())) : "x";
  }
  void change(TensorProto& tensor) {
    switch (random_() % 4) {
      case 0:
        return tensor.set_data_type(static_cast<int>(random_() % 26));
      case 1:
        return tensor.add_dims(number());
      case 2:
        if (tensor.dims_size() > 0) tensor.set_dims(any(tensor.dims_size()), number());
        return;
      default: {
        std::string* raw = tensor.mutable_raw_data();
        const int64_t other = number();
        const size_t element = tensor.data_type() == TensorProto::INT64 ? 8 : 1;
        if (raw->size() >= element) {
          std::memcpy(&(*raw)[random_() % (raw->size() / element) * element], &other, element);
        }
      }
    }
  }
  void change(AttributeProto& attribute) {
    switch (random_() % 5) {
      case 0:
        return attribute.set_type(static_cast<AttributeProto::AttributeType>(1 + random_() % 10));
      case 1:
        return attribute.set_name("axis");
      case 2:
        if (attribute.has_t()) return change(*attribute.mutable_t());
        return attribute.add_ints(number());
      default:
        if (attribute.ints_size() > 0) return attribute.set_ints(any(attribute.ints_size()), number());
        if (attribute.has_s()) return attribute.set_s("x");
        attribute.set_i(number());
    }
  }
  void change(NodeProto& node, const GraphProto& graph, const std::vector<std::string>& operators) {
    switch (random_() % 8) {
      case 0:
        return node.set_op_type(operators[random_() % operators.size()]);
      case 1:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
        return;
      case 2:
        return node.add_input(name(graph));
      case 3:
        return node.add_output(name(graph));
      case 4:
        if (node.input_size() > 0) node.set_input(any(node.input_size()), name(graph));
        return;
      default:
        if (node.attribute_size() > 0) {
          const int k = any(node.attribute_size());
          if (random_() % 8 == 0) {
            node.mutable_attribute()->DeleteSubrange(k, 1);
          } else {
            change(*node.mutable_attribute(k));
          }
        }
    }
  }
  std::mt19937 random_;
};

bool has_loop(const GraphProto& graph) {
  for (const NodeProto& node : graph.node()) {
    if (node.op_type() == "Loop") return true;
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g() && has_loop(attribute.g())) return true;
    }
  }
  return false;
}

TEST(OnnxMutations, AreReadOrRefused) {
  const char* given = std::getenv("KINDLING_ONNX_MUTATIONS");
  const int count = given == nullptr ? 20000 : std::atoi(given);
  std::vector<ModelProto> models;
  std::vector<std::string> bytes, operators;
  std::vector<std::string> names = {"cond.dynamo@2.15.0.onnx",
                                    "control_flow.torchscript-opset17@2.2.2.onnx",
                                    "lstm.torchscript-opset9@1.13.1.onnx",
                                    "mlp_dynamic.dynamo@2.15.0.onnx",
                                    "vision.dynamo@2.15.0.onnx",
                                    "shapes.dynamo@2.15.0.onnx"};
  // Of one operator each.
  const size_t whole = names.size();
  for (const auto& entry : std::filesystem::directory_iterator("export/onnx/testdata/ops")) {
    if (entry.path().extension() == ".onnx") names.push_back("ops/" + entry.path().filename().string());
  }
  std::sort(names.begin() + static_cast<std::ptrdiff_t>(whole), names.end());
  for (const std::string& name : names) {
    bytes.push_back(serialize::read_file("export/onnx/testdata/" + name));
    load_from_memory(bytes.back());
    ModelProto& model = models.emplace_back();
    ASSERT_TRUE(model.ParseFromString(bytes.back()));
    for (const NodeProto& node : model.graph().node()) operators.push_back(node.op_type());
  }
  Mutator mutate(11);
  int read = 0, ran = 0;
  for (int i = 0; i < count; ++i) {
    const size_t which = mutate() % 2 == 0 ? mutate() % whole : mutate() % models.size();
    const bool raw = mutate() % 4 == 0;
    std::string text = bytes[which];
    ModelProto model;
    if (raw) {
      mutate.change(text);
    } else {
      model = models[which];
      for (unsigned changes = 1 + mutate() % 3; changes > 0; --changes) mutate.change(model, operators);
      text = model.SerializeAsString();
    }
    try {
      const ExportedProgram program = load_from_memory(text);
      ++read;
      if (raw || (which < whole && i % 8 != 0) || has_loop(model.graph())) continue;
      std::vector<c10::IValue> inputs;
      for (size_t k = 0; k < program.in_spec.children[0].children.size(); ++k) {
        const graph::TensorInfo* info = program.graph->block().input(k)->info();
        std::vector<int64_t> sizes;
        int64_t elements = 1;
        for (const graph::IntExpr& size : info == nullptr ? std::vector<graph::IntExpr>() : info->sizes) {
          sizes.push_back(size.is_constant() ? size.value() : 3);
          if (__builtin_mul_overflow(elements, sizes.back(), &elements)) elements = INT64_MAX;
        }
        if (elements > 100000) sizes = {1};
        inputs.emplace_back(at::ones(sizes, at::TensorOptions().dtype(info == nullptr ? at::kFloat : info->dtype)));
      }
      program.run(std::move(inputs));
      ++ran;
    } catch (const c10::Error&) {
    } catch (const graph::Raised&) {
    }
  }
  EXPECT_GT(read, count / 50);
  EXPECT_LT(read, count);
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace torch::onnx
