#include "export/onnx/export.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "export/capture/decompositions.h"
#include "export/onnx/exporter.h"
#include "graph/passes/decompose.h"
#include "graph/passes/shape_propagation.h"
#include "third_party/onnx/onnx.pb.h"
#include "utils/serialize/file_io.h"

namespace torch::onnx {
namespace {

constexpr int64_t kOpset = 20;
constexpr int64_t kIrVersion = 10;
// Files of protobuf end there.
constexpr int64_t kMostBytes = (int64_t{1} << 31) - 1;
constexpr int64_t kAlignment = 64;
// What remains in the model beside external data.
constexpr size_t kSmall = 1024;

bool has_no_form(const c10::OperatorHandle& op) {
  if (!graph::is_decomposable(op)) return false;
  const c10::OperatorName name = op.operator_name();
  return form_of(name.overload_name.empty() ? name.name : name.name + "." + name.overload_name) == nullptr;
}

void check_mutations(const ExportedProgram& program) {
  std::string changed;
  for (const OutputSpec& spec : program.signature.outputs) {
    if (spec.kind == OutputSpec::Kind::kUser || spec.kind == OutputSpec::Kind::kLoss) continue;
    changed += (changed.empty() ? "" : ", ") + spec.target;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(changed.empty(),
                              "onnx::export_: a model of ONNX changes nothing, but the program "
                              "changes, or gives gradients of, ",
                              changed);
}

int64_t bytes_of(const std::vector<at::Tensor>& weights) {
  int64_t all = 0;
  for (const at::Tensor& t : weights) all += static_cast<int64_t>(t.nbytes());
  return all;
}
const char* data_of(const at::Tensor& t) {
  return static_cast<const char*>(t.const_data_ptr());
}

// Sizes as this library finds them: files may say others of what nothing reads.
void find_infos(graph::Graph& graph) {
  std::vector<std::pair<graph::Value*, graph::TensorInfo>> known;
  graph.for_nodes([&](const graph::Node* node) {
    for (size_t i = 0; i < node->result_count(); ++i) {
      if (node->result(i)->info() != nullptr) known.emplace_back(node->result(i), *node->result(i)->info());
    }
    for (size_t b = 0; b < node->block_count(); ++b) {
      for (size_t i = 0; i < node->block(b).input_count(); ++i) {
        graph::Value* const input = node->block(b).input(i);
        if (input->info() != nullptr) known.emplace_back(input, *input->info());
      }
    }
  });
  graph::propagate_shapes(graph);
  for (auto& [value, info] : known) {
    if (value->info() == nullptr) value->set_info(std::move(info));
  }
}

// The model without its weights' elements, and these.
std::vector<at::Tensor> write(const ExportedProgram& program, const Options& options, ::onnx::ModelProto& model) {
  TORCH_CHECK_VALUE(options.max_model_bytes >= 0, "onnx::export_: max_model_bytes is ", options.max_model_bytes);
  const ExportedProgram core = run_decompositions(program, has_no_form);
  check_mutations(core);
  find_infos(*core.graph);
  model.set_ir_version(kIrVersion);
  model.set_producer_name(options.producer_name);
  model.add_opset_import()->set_version(kOpset);
  Exporter exporter(core, options, model);
  exporter.run();
  return exporter.weights();
}

void embed(::onnx::ModelProto& model, const std::vector<at::Tensor>& weights, size_t below) {
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].nbytes() >= below) continue;
    model.mutable_graph()
        ->mutable_initializer(static_cast<int>(i))
        ->set_raw_data(data_of(weights[i]), weights[i].nbytes());
  }
}
std::string serialized(const ::onnx::ModelProto& model) {
  TORCH_CHECK_VALUE(model.ByteSizeLong() <= static_cast<size_t>(kMostBytes), "onnx::export_: the model has ",
                    model.ByteSizeLong(), " bytes; files of protobuf have at most 2 GiB");
  std::string bytes;
  TORCH_CHECK(model.SerializeToString(&bytes), "onnx::export_: the model cannot be written");
  return bytes;
}

}  // namespace

void export_(const ExportedProgram& program, const std::string& path, const Options& options) {
  ::onnx::ModelProto model;
  const std::vector<at::Tensor> weights = write(program, options, model);
  const int64_t limit = std::min(options.max_model_bytes, kMostBytes);
  const auto about = static_cast<int64_t>(model.ByteSizeLong()) + 16 * static_cast<int64_t>(weights.size());
  if (bytes_of(weights) + about <= limit) {
    embed(model, weights, SIZE_MAX);
  } else {
    const std::string beside = path.substr(path.find_last_of('/') + 1) + ".data";
    serialize::AtomicFile data(path + ".data");
    int64_t offset = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i].nbytes() < kSmall) continue;
      const std::string padding(static_cast<size_t>((kAlignment - offset % kAlignment) % kAlignment), '\0');
      data.write(padding.data(), padding.size());
      offset += static_cast<int64_t>(padding.size());
      ::onnx::TensorProto& proto = *model.mutable_graph()->mutable_initializer(static_cast<int>(i));
      proto.set_data_location(::onnx::TensorProto::EXTERNAL);
      const auto note = [&](const char* key, std::string value) {
        auto& entry = *proto.add_external_data();
        entry.set_key(key);
        entry.set_value(std::move(value));
      };
      note("location", beside);
      note("offset", std::to_string(offset));
      note("length", std::to_string(weights[i].nbytes()));
      data.write(data_of(weights[i]), weights[i].nbytes());
      offset += static_cast<int64_t>(weights[i].nbytes());
    }
    data.commit();
    embed(model, weights, kSmall);
  }
  const std::string bytes = serialized(model);
  serialize::AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void export_(const ExportedProgram& program, std::ostream& stream, const Options& options) {
  ::onnx::ModelProto model;
  const std::vector<at::Tensor> weights = write(program, options, model);
  const int64_t limit = std::min(options.max_model_bytes, kMostBytes), bytes = bytes_of(weights);
  TORCH_CHECK_VALUE(bytes + static_cast<int64_t>(model.ByteSizeLong()) <= limit,
                    "onnx::export_: the model has more "
                    "than ",
                    limit, " bytes; a path takes its weights beside it");
  embed(model, weights, SIZE_MAX);
  const std::string text = serialized(model);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  TORCH_CHECK(stream.good(), "onnx::export_: the stream cannot be written");
}

}  // namespace torch::onnx
