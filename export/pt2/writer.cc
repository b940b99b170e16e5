#include <algorithm>
#include <set>
#include <utility>

#include "aten/core/tensor.h"
#include "c10/util/exception.h"
#include "export/pt2/document.h"
#include "export/pt2/enums.h"
#include "export/pt2/expr.h"
#include "export/pt2/graph_writer.h"
#include "export/pt2/lowering.h"
#include "export/pt2/pt2.h"
#include "export/pt2/trees.h"
#include "utils/pickle/file.h"
#include "utils/pickle/zip.h"

namespace torch {
namespace {

using c10::IValue;
using graph::Block;
using graph::IntExpr;
using graph::IntRange;
using graph::Operand;
using graph::Value;
using nlohmann::json;
using pickle::ZipWriter;

bool is_letter_or_digit(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Conditions on sizes, and nothing that does more: PyTorch runs them.
bool is_guard(const std::string& text) {
  static const std::set<std::string_view> kKnown = {
      "L",   "size",  "stride", "storage_offset", "and",  "or",    "not",  "max",   "min", "abs",
      "int", "float", "True",   "False",          "math", "floor", "ceil", "trunc", "sqrt"};
  constexpr std::string_view kSigns = "()[]+-*/%<>=!., ";
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    if (text[i] == '\'' || text[i] == '"') {
      i = text.find(text[begin], begin + 1);
      if (i == std::string::npos) return false;
      if (text.find('\\', begin) < i) return false;
      ++i;
    } else if (is_letter_or_digit(text[i])) {
      while (i < text.size() && is_letter_or_digit(text[i])) ++i;
      const bool number = text[begin] >= '0' && text[begin] <= '9';
      if (!number && kKnown.count(std::string_view(text).substr(begin, i - begin)) == 0) return false;
    } else {
      if (kSigns.find(text[i]) == std::string_view::npos) return false;
      ++i;
    }
  }
  return true;
}

// Numbers of files over all programs of an archive.
class Weights {
 public:
  Weights(ZipWriter& zip, std::string folder, std::string file)
      : zip_(zip), folder_(std::move(folder)), file_(std::move(file)) {}

  // Writes the storages of these tensors and returns what the archive says of them.
  json add(const std::vector<std::pair<std::string, at::Tensor>>& tensors, const std::set<std::string>& parameters) {
    std::map<const c10::StorageImpl*, std::string> paths;  // programs share nothing
    std::map<const c10::StorageImpl*, size_t> items;
    for (const auto& [name, tensor] : tensors) {
      check(name, tensor);
      size_t& item = items[tensor.storage().unsafeGetStorageImpl()];
      item = std::max(item, c10::elementSize(tensor.scalar_type()));
    }
    json config = json::object();
    for (const auto& [name, given] : tensors) {
      const at::Tensor tensor = given;
      const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
      std::string& path = paths[storage];
      if (path.empty()) {
        path = file_ + std::to_string(next_++);
        const size_t bytes = tensor.storage().nbytes(), item = items[storage];
        if (bytes % item == 0) {
          zip_.add(folder_ + path, tensor.storage().data(), bytes);
        } else {
          // Whole elements of every dtype that looks at it.
          std::string copy(static_cast<const char*>(tensor.storage().data()), bytes);
          copy.resize((bytes + item - 1) / item * item);
          zip_.add_copy(folder_ + path, std::move(copy));
        }
      }
      config[name] = {{"path_name", path},
                      {"is_param", parameters.count(name) > 0},
                      {"use_pickle", false},
                      {"tensor_meta", pt2::json_of(pt2::info_of(tensor), {}, {}, {})}};
    }
    return {{"config", std::move(config)}};
  }

 private:
  static void check(const std::string& name, const at::Tensor& tensor) {
    TORCH_CHECK_VALUE(tensor.defined(), "the tensor '", name, "' of the program is not defined");
    TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::Layout::Strided && !tensor.is_quantized(), "the tensor '", name,
                                "' of the program is not strided, which a .pt2 file has no form for");
    TORCH_CHECK_NOT_IMPLEMENTED(tensor.device().is_cpu(), "the tensor '", name, "' of the program lies on ",
                                tensor.device().str(), "; programs are written from the CPU");
    TORCH_CHECK_NOT_IMPLEMENTED(!tensor.is_conj() && !tensor.is_neg(), "the tensor '", name,
                                "' of the program is a lazy conjugate or negative, which a .pt2 file has no form for");
  }

  ZipWriter& zip_;
  std::string folder_, file_;
  int64_t next_ = 0;
};

class ProgramWriter {
 public:
  explicit ProgramWriter(const ExportedProgram& program) : program_(program) {
    check_program();
    lowered_ = pt2::lower(program);
  }

  json model() {
    const Block& block = lowered_.graph->block();
    pt2::GraphWriter writer(*lowered_.graph, lowered_.signature, hints(), program_.opaque_sizes);
    json named = json::object(), inputs = json::array(), outputs = json::array();
    std::map<std::string, std::string> names;  // of user inputs, as they were
    for (size_t i = 0; i < block.input_count(); ++i) {
      names.emplace(block.input(i)->name(), writer.input_name(i));
      inputs.push_back(input_spec(lowered_.signature.inputs[i], writer, i));
    }
    for (size_t i = 0; i < block.outputs().size(); ++i) {
      outputs.push_back(output_spec(lowered_.signature.outputs[i], writer.output(i), i, names));
    }
    json calls = json::array(
        {{{"fqn", ""},
          {"signature",
           {{"inputs", json::array()},
            {"outputs", json::array()},
            {"in_spec", pt2::text_of(program_.in_spec, named)},
            {"out_spec", pt2::text_of(program_.out_spec, named)},
            {"forward_arg_names", program_.argument_names.empty() ? json(nullptr) : json(program_.argument_names)}}}}});
    for (const std::string& module : program_.modules) calls.push_back({{"fqn", module}, {"signature", nullptr}});
    return {{"graph_module",
             {{"graph", writer.graph()},
              {"signature", {{"input_specs", std::move(inputs)}, {"output_specs", std::move(outputs)}}},
              {"module_call_graph", std::move(calls)},
              {"metadata", json::object()},
              {"treespec_namedtuple_fields", std::move(named)}}},
            {"opset_version", {{"aten", 10}}},
            {"range_constraints", ranges(writer)},
            {"schema_version", {{"major", 8}, {"minor", 20}}},
            {"verifiers", json::array({program_.functional ? "ATEN" : "TRAINING"})},
            {"torch_version", "2.15.0"},
            {"guards_code", program_.guards}};
  }

  json weights(Weights& to) const {
    std::set<std::string> parameters;
    for (const InputSpec& spec : lowered_.signature.inputs) {
      if (spec.kind == InputSpec::Kind::kParameter) parameters.insert(spec.target);
    }
    // A parameter may have several names, of which one is an input.
    for (const auto& [name, tensor] : program_.state_dict) {
      for (const InputSpec& spec : lowered_.signature.inputs) {
        if (spec.kind != InputSpec::Kind::kParameter || parameters.count(name) > 0) continue;
        const at::Tensor& other = stored(spec.target);
        if (tensor.requires_grad() ||
            (tensor.is_alias_of(other) && tensor.sizes() == other.sizes() && tensor.strides() == other.strides() &&
             tensor.storage_offset() == other.storage_offset())) {
          parameters.insert(name);
        }
      }
    }
    return to.add({program_.state_dict.begin(), program_.state_dict.end()}, parameters);
  }
  json constants(Weights& to) const { return to.add({lowered_.constants.begin(), lowered_.constants.end()}, {}); }

 private:
  const at::Tensor& stored(const std::string& name) const {
    const auto found = program_.state_dict.find(name);
    return found != program_.state_dict.end() ? found->second : program_.constants.at(name);
  }
  bool is_stored(const std::string& name) const {
    return program_.state_dict.count(name) > 0 || program_.constants.count(name) > 0;
  }

  void check_program() const {
    TORCH_CHECK_VALUE(program_.graph != nullptr, "an exported program without a graph");
    verify(*program_.graph);
    const Block& block = program_.graph->block();
    const GraphSignature& signature = program_.signature;
    TORCH_CHECK_VALUE(signature.inputs.size() == block.input_count(), "the graph has ", block.input_count(),
                      " inputs, and the signature ", signature.inputs.size());
    TORCH_CHECK_VALUE(signature.outputs.size() == block.outputs().size(), "the graph has ", block.outputs().size(),
                      " outputs, and the signature ", signature.outputs.size());
    size_t users = 0, results = 0;
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      const InputSpec& spec = signature.inputs[i];
      using Kind = InputSpec::Kind;
      if (spec.kind == Kind::kUser || spec.kind == Kind::kConstant) {
        ++users;
        continue;
      }
      TORCH_CHECK_VALUE(is_stored(spec.target), "input ", i, " stands for the tensor '", spec.target,
                        "', which the program does not have");
      const bool state = spec.kind == Kind::kParameter || (spec.kind == Kind::kBuffer && spec.persistent);
      TORCH_CHECK_VALUE(program_.state_dict.count(spec.target) > 0 || !state, "input ", i, " stands for '", spec.target,
                        "', which is not in the state dict");
      TORCH_CHECK_VALUE(program_.constants.count(spec.target) == 0 || program_.state_dict.count(spec.target) == 0, "'",
                        spec.target, "' is both in the state dict and a constant");
    }
    for (const OutputSpec& spec : signature.outputs) {
      using Kind = OutputSpec::Kind;
      results += spec.kind != Kind::kBufferMutation && spec.kind != Kind::kParameterMutation &&
                 spec.kind != Kind::kInputMutation;
      TORCH_CHECK_VALUE(
          (spec.kind != Kind::kBufferMutation && spec.kind != Kind::kParameterMutation) || is_stored(spec.target),
          "an output changes '", spec.target, "', which the program does not have");
    }
    const TreeSpec& in = program_.in_spec;
    TORCH_CHECK_VALUE(in.kind == TreeSpec::Kind::kTuple && in.children.size() == 2 &&
                          in.children[0].kind == TreeSpec::Kind::kTuple && in.children[1].kind == TreeSpec::Kind::kDict,
                      "in_spec is no tuple of a tuple and a dict: the arguments and those by name");
    TORCH_CHECK_VALUE(in.leaves() == users, "in_spec has ", in.leaves(), " values, and the program ", users, " inputs");
    TORCH_CHECK_VALUE(program_.out_spec.leaves() == results, "out_spec has ", program_.out_spec.leaves(),
                      " values, and the program ", results, " outputs");
    for (const auto& [symbol, text] : program_.opaque_sizes) {
      std::string error;
      pt2::parse_sympy(text, &error);
      TORCH_CHECK_VALUE(error.empty(), "the size that ", symbol, " stands for cannot be written: ", error);
    }
    for (const std::string& guard : program_.guards) {
      TORCH_CHECK_VALUE(is_guard(guard),
                        "the program has a guard that is no condition on sizes: ", guard.substr(0, 200));
    }
  }

  // What the symbols were for the example inputs.
  std::map<std::string, int64_t> hints() const {
    std::map<std::string, int64_t> all;
    if (program_.example_inputs.isNone()) return all;
    const std::vector<IValue> values = program_.in_spec.flatten(program_.example_inputs, "the example inputs");
    const Block& block = lowered_.graph->block();
    size_t user = 0;
    for (size_t i = 0; i < block.input_count(); ++i) {
      const InputSpec::Kind kind = lowered_.signature.inputs[i].kind;
      if (kind != InputSpec::Kind::kUser && kind != InputSpec::Kind::kConstant) continue;
      const IValue& value = values.at(user++);
      const auto note = [&](const IntExpr& e, int64_t number) {
        if (e.kind() == IntExpr::Kind::kSymbol && !pt2::is_unbacked(e.name())) all.emplace(e.name(), number);
      };
      if (block.input(i)->expr() != nullptr && value.isInt()) note(*block.input(i)->expr(), value.toInt());
      if (block.input(i)->info() == nullptr || !value.isTensor()) continue;
      const at::Tensor tensor = value.toTensor();
      const std::vector<IntExpr>& sizes = block.input(i)->info()->sizes;
      if (tensor.dim() != static_cast<int64_t>(sizes.size())) continue;
      for (size_t d = 0; d < sizes.size(); ++d) note(sizes[d], tensor.sizes()[d]);
    }
    return all;
  }

  // PyTorch wants to know all symbols.
  json ranges(const pt2::GraphWriter& writer) const {
    json all = json::object();
    const auto end = [](int64_t v, int64_t open) { return v == open ? json(nullptr) : json(v); };
    for (const auto& [text, range] : lowered_.graph->symbols()) {
      all[text] = {{"min_val", end(range.min, INT64_MIN)}, {"max_val", end(range.max, INT64_MAX)}};
    }
    for (const std::string& symbol : writer.symbols()) {
      if (all.contains(symbol) || program_.opaque_sizes.count(symbol) > 0) continue;
      const bool positive = !pt2::is_unbacked(symbol) && !pt2::is_float_symbol(symbol);
      all[symbol] = {{"min_val", positive ? json(0) : json(nullptr)}, {"max_val", nullptr}};
    }
    return all;
  }

  static json input_spec(const InputSpec& spec, const pt2::GraphWriter& writer, size_t i) {
    using Kind = InputSpec::Kind;
    const json name = {{"name", writer.input_name(i)}};
    switch (spec.kind) {
      case Kind::kParameter:
        return {{"parameter", {{"arg", name}, {"parameter_name", spec.target}}}};
      case Kind::kBuffer:
        return {{"buffer", {{"arg", name}, {"buffer_name", spec.target}, {"persistent", spec.persistent}}}};
      case Kind::kConstantTensor:
        return {{"tensor_constant", {{"arg", name}, {"tensor_constant_name", spec.target}}}};
      case Kind::kConstant:
        return {{"constant_input", {{"name", writer.input_name(i)}, {"value", writer.input(i)}}}};
      default:
        return {{"user_input", {{"arg", writer.input(i)}}}};
    }
  }
  static json output_spec(const OutputSpec& spec, const json& output, size_t i,
                          const std::map<std::string, std::string>& inputs) {
    using Kind = OutputSpec::Kind;
    if (spec.kind == Kind::kUser) return {{"user_output", {{"arg", output}}}};
    const auto name = output.find("as_tensor");
    TORCH_CHECK_VALUE(name != output.end(), "output ", i, " of the graph is no tensor, which its signature says it is");
    const auto changes = [&](const char* tag, const char* field, const std::string& target) -> json {
      return {{tag, {{"arg", *name}, {field, target}}}};
    };
    const auto input = [&]() -> const std::string& {
      const auto found = inputs.find(spec.target);
      TORCH_CHECK_VALUE(found != inputs.end(), "output ", i, " changes the input '", spec.target,
                        "', which the graph does not have");
      return found->second;
    };
    switch (spec.kind) {
      case Kind::kBufferMutation:
        return changes("buffer_mutation", "buffer_name", spec.target);
      case Kind::kParameterMutation:
        return changes("parameter_mutation", "parameter_name", spec.target);
      case Kind::kInputMutation:
        return changes("user_input_mutation", "user_input_name", input());
      case Kind::kParameterGradient:
        return changes("gradient_to_parameter", "parameter_name", spec.target);
      case Kind::kInputGradient:
        return changes("gradient_to_user_input", "user_input_name", input());
      default:
        return {{"loss_output", {{"arg", *name}}}};
    }
  }

  const ExportedProgram& program_;
  pt2::Lowered lowered_;
};

class StringSink : public serialize::Sink {
 public:
  void write(const void* data, size_t bytes) override { text.append(static_cast<const char*>(data), bytes); }
  std::string text;
};

std::string text_of(const json& j) {
  try {
    return j.dump();
  } catch (const json::exception&) {
    TORCH_CHECK_VALUE(false, "a text of the program is not UTF-8");
    return "";
  }
}

void check_names(const NamedPrograms& programs) {
  TORCH_CHECK_VALUE(!programs.empty(), "no program to write");
  std::set<std::string> names;
  for (const auto& [name, program] : programs) {
    const bool good = !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
      return is_letter_or_digit(c) || c == '-' || c == '.';
    });
    TORCH_CHECK_VALUE(good, "'", name, "' is no name of a program: letters, digits, '_', '-' and '.'");
    TORCH_CHECK_VALUE(names.insert(name).second, "two programs of the name '", name, "'");
    TORCH_CHECK_VALUE(program != nullptr, "the program '", name, "' is null");
  }
}

}  // namespace

void save_exported(const NamedPrograms& programs, serialize::Sink& sink, const std::string& folder) {
  check_names(programs);
  ZipWriter zip(sink, folder);
  Weights weights(zip, "data/weights/", "weight_"), constants(zip, "data/constants/", "tensor_");
  for (const auto& [name, program] : programs) {
    ProgramWriter writer(*program);
    std::string model = text_of(writer.model());
    const std::string weights_config = text_of(writer.weights(weights));
    zip.add_copy("data/weights/" + name + "_weights_config.json", weights_config);
    zip.add_copy("data/constants/" + name + "_constants_config.json", text_of(writer.constants(constants)));
    zip.add_copy("models/" + name + ".json", std::move(model));
    StringSink examples;
    if (!program->example_inputs.isNone()) pickle::save(program->example_inputs, examples);
    zip.add_copy("data/sample_inputs/" + name + ".pt", std::move(examples.text));
  }
  zip.add("archive_format", "pt2", 3);
  zip.add("archive_version", "0", 1);
  zip.add(".data/version", "6\n", 2);
  zip.add("byteorder", "little", 6);
  zip.finish();
}

void save_exported(const NamedPrograms& programs, const std::string& path) {
  // The file's name without its folder and its ending, as PyTorch names the folder in it.
  std::string folder = path.substr(path.find_last_of('/') + 1);
  folder = folder.substr(0, folder.rfind('.'));
  check_names(programs);
  serialize::AtomicFile file(path);
  save_exported(programs, file, folder.empty() ? "archive" : folder);
  file.commit();
}
void save_exported(const ExportedProgram& program, const std::string& path) {
  save_exported({{"model", &program}}, path);
}

}  // namespace torch
