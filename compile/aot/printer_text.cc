// The files of a printed program, around its steps.
#include <cctype>

#include "c10/util/exception.h"
#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "compile/aot/runtime/weights.h"

namespace torch::aot {

using graph::IntExpr;
using graph::IntRange;
using graph::TensorInfo;

namespace {

std::string describe(const TensorInfo& info) {
  std::vector<std::string> sizes;
  for (const IntExpr& size : info.sizes) sizes.push_back(size.str());
  return std::string(c10::toString(info.dtype)) + " [" + joined(sizes, ", ") + "]";
}

// The struct with a pointer for each tensor.
std::string pointers(const char* name, const std::vector<std::string>& names, const std::vector<TensorInfo>& infos,
                     const char* constant) {
  std::string text = std::string("  struct ") + name + " {\n";
  for (size_t i = 0; i < names.size(); ++i) {
    text += std::string("    ") + constant + element_type(infos[i].dtype) + "* " + names[i] + ";  ///< " +
            describe(infos[i]) + "\n";
  }
  return text + "  };\n";
}

std::string include_line(const std::string& path) {
  const bool system = path.find('/') == std::string::npos;
  return "#include " + (system ? "<" + path + ">" : "\"" + path + "\"") + "\n";
}

std::vector<TensorInfo> input_infos(const PreparedProgram& program) {
  std::vector<TensorInfo> infos;
  const graph::Block& block = program.graph->block();
  for (size_t i = 0; i < block.input_count(); ++i) infos.push_back(*block.input(i)->info());
  return infos;
}
std::vector<TensorInfo> output_infos(const PreparedProgram& program) {
  std::vector<TensorInfo> infos;
  for (const graph::Operand& output : program.graph->block().outputs()) infos.push_back(*output.value()->info());
  return infos;
}

}  // namespace

// The sizes of an input or output; a function of the symbols where it depends on them.
std::string Printer::sizes_function(const std::string& name, const TensorInfo& info) const {
  const bool dynamic = !largest_.empty();
  std::string text = "  static constexpr std::array<int64_t, " + std::to_string(info.sizes.size()) + "> " + name +
                     "_sizes(" + (dynamic ? "[[maybe_unused]] const Sizes& sizes" : "") + ") {\n";
  if (dynamic) {
    for (const auto& symbol : largest_)
      text += "    [[maybe_unused]] const int64_t " + symbol.first + " = sizes." + symbol.first + ";\n";
  }
  return text + "    return " + (info.sizes.empty() ? "{}" : "{" + print(info.sizes) + "}") + ";\n  }\n";
}

std::string Printer::header_text() const {
  const std::vector<TensorInfo> inputs = input_infos(program_), outputs = output_infos(program_);
  const std::string& name = options_.class_name;
  std::string includes = "#include <array>\n";
  for (const auto* infos : {&inputs, &outputs}) {
    for (const TensorInfo& info : *infos) {
      TORCH_CHECK_VALUE(element_type(info.dtype)[0] != '\0', "a program with an input or output of dtype ",
                        c10::toString(info.dtype), " cannot be compiled ahead of time");
      if (c10::isComplexType(info.dtype) && includes.find("complex") == std::string::npos) {
        includes += "#include <complex>\n";
      }
    }
  }
  includes +=
      "#include <cstddef>\n#include <cstdint>\n#include <memory>\n\n#include \"compile/aot/runtime/weights.h\"\n";
  std::string text =
      "// Made from a model by kindling_program. One instance serves one call at a time; any number of\n"
      "// instances share their weights.\n//\n";
  text += "//   " + options_.name_space + "::" + name + " program;\n";
  text += std::string("//   program.run(") + (largest_.empty() ? "" : "{sizes...}, ") + "{inputs...}, {outputs...});\n";
  text +=
      "#pragma once\n\n" + includes + "\nnamespace " + options_.name_space + " {\n\nclass " + name + " {\n public:\n";
  if (!largest_.empty()) {
    text += "  /// Sizes that differ from call to call.\n  struct Sizes {\n";
    for (const auto& [symbol, range] : program_.graph->symbols()) {
      if (largest_.count(symbol) == 0) continue;
      text += "    int64_t " + symbol + ";  ///< within [" + std::to_string(range.min) + ", " +
              std::to_string(range.max) + "]\n";
    }
    text += "  };\n";
  }
  text += "  /// Dense, row-major.\n" + pointers("Inputs", program_.inputs, inputs, "const ");
  text += "  /// The same; they overlap nothing else.\n" + pointers("Outputs", program_.outputs, outputs, "");
  for (size_t i = 0; i < inputs.size(); ++i) text += sizes_function(program_.inputs[i], inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) text += sizes_function(program_.outputs[i], outputs[i]);
  text += "\n  static constexpr size_t kArenaBytes = " + std::to_string(planned_bytes() + scratch_bytes_) +
          ";\n  static constexpr size_t kWeightBytes = " + std::to_string(weights_.size()) + ";\n";
  text += "\n  /// The weights, laid out for the kernels.\n  class Shared;\n";
  if (options_.embed_weights) {
    text +=
        "  /// Those that the program contains; made at the first call, for the life of the process.\n"
        "  static std::shared_ptr<const Shared> share();\n";
  }
  text +=
      "  /// Others: torch::aot::Weights::map(file), or memory of the caller. Throws std::invalid_argument where they "
      "are\n"
      "  /// not those that the program was compiled with.\n"
      "  static std::shared_ptr<const Shared> share(torch::aot::Weights weights);\n\n";
  text +=
      "  /// `arena`: kArenaBytes that nothing else uses while the program lives, 64-byte aligned; null for memory of "
      "its\n"
      "  /// own.\n  explicit " +
      name + "(std::shared_ptr<const Shared> shared" + (options_.embed_weights ? " = share()" : "") +
      ", void* arena = nullptr);\n  ~" + name + "();\n  " + name + "(" + name + "&&) noexcept;\n  " + name +
      "& operator=(" + name + "&&) noexcept;\n\n";
  text += "  /// Writes the outputs. Throws std::invalid_argument for null or misaligned pointers";
  text += largest_.empty() ? ".\n" : " and sizes out of their\n  /// ranges.\n";
  text += std::string("  void run(") + (largest_.empty() ? "" : "const Sizes& sizes, ") +
          "const Inputs& inputs, const Outputs& outputs);\n";
  text += "\n private:\n  struct State;\n  std::unique_ptr<State> state_;\n};\n\n}  // namespace " +
          options_.name_space + "\n";
  return text;
}

std::string Printer::checks() const {
  const std::string program = quoted(options_.class_name + ".run");
  std::string text;
  for (const auto& symbol : largest_) {
    const IntRange range = program_.graph->symbols().at(symbol.first);
    text += "  const int64_t " + symbol.first + " = sizes." + symbol.first + ";\n  torch::aot::check_range(" + program +
            ", " + quoted(symbol.first) + ", " + symbol.first + ", " + print(range.min) + ", " + print(range.max) +
            ");\n";
  }
  const auto pointers = [&](const std::vector<std::string>& names, const std::vector<TensorInfo>& infos,
                            const char* structure, const char* prefix, const char* type) {
    for (size_t i = 0; i < names.size(); ++i) {
      text += std::string("  torch::aot::check_pointer(") + program + ", " + quoted(names[i]) + ", " + structure + "." +
              names[i] + ", " + std::to_string(c10::elementSize(infos[i].dtype)) + ");\n  [[maybe_unused]] " + type +
              "const " + prefix + names[i] + " = reinterpret_cast<" + type + ">(" + structure + "." + names[i] + ");\n";
    }
  };
  pointers(program_.inputs, input_infos(program_), "inputs", "in_", "const char*");
  pointers(program_.outputs, output_infos(program_), "outputs", "out_", "char*");
  return text;
}

std::string Printer::source_text() const {
  const std::string& name = options_.class_name;
  const std::string symbol = "kindling_weights_" + options_.name_space + "_" + name;
  std::string text =
      "#include \"" + options_.header + "\"\n\n#include <limits>\n#include <tuple>\n#include <utility>\n";
  for (const std::string& path : includes_) {
    if (path.find('/') == std::string::npos) text += include_line(path);
  }
  text += "\n#include \"compile/aot/runtime/checks.h\"\n";
  for (const std::string& path : includes_) {
    if (path.find('/') != std::string::npos) text += include_line(path);
  }
  if (options_.embed_weights) text += "\nextern \"C\" const char " + symbol + "[];\n";
  if (!kernels_.empty()) {
    text += "\nnamespace " + options_.name_space + "::" + kernels_name() + " {\n" + kernels_.declarations() + "}\n";
  }
  const bool dynamic = !largest_.empty();
  text += "\nnamespace " + options_.name_space + " {\n\nclass " + name + "::Shared {\n public:\n";
  text +=
      "  explicit Shared(torch::aot::Weights bytes)\n      : weights(std::move(bytes)),\n        w(weights.data())" +
      std::string(initialisers_.empty() ? "" : ",\n        ") + initialisers_ + " {}\n";
  text += "  const torch::aot::Weights weights;\n  const char* const w;\n" + members_ + "};\n\n";
  text +=
      "struct " + name +
      "::State {\n  State(std::shared_ptr<const Shared> with, void* memory)\n      : shared(std::move(with)), arena(" +
      quoted(name) +
      ", memory, kArenaBytes) {\n    [[maybe_unused]] const char* const w = shared->w;\n"
      "    [[maybe_unused]] char* const m = arena.data();\n" +
      constructor_ + "  }\n";
  text += "  std::shared_ptr<const Shared> shared;\n  torch::aot::Arena arena;\n";
  if (tensor_count_ > 0) text += "  at::Tensor t[" + std::to_string(tensor_count_) + "];\n";
  text += "};\n\n";
  if (options_.embed_weights) {
    text += "std::shared_ptr<const " + name + "::Shared> " + name +
            "::share() {\n  static const std::shared_ptr<const Shared> shared =\n"
            "      std::make_shared<Shared>(torch::aot::Weights(" +
            symbol + ", kWeightBytes));\n  return shared;\n}\n";
  }
  text += "std::shared_ptr<const " + name + "::Shared> " + name +
          "::share(torch::aot::Weights weights) {\n  torch::aot::check_weights(" + quoted(name) +
          ", weights, kWeightBytes, UINT64_C(" + std::to_string(hash_of(weights_.data(), weights_.size())) +
          "));\n  return std::make_shared<Shared>(std::move(weights));\n}\n\n";
  text += name + "::" + name +
          "(std::shared_ptr<const Shared> shared, void* arena) {\n"
          "  if (shared == nullptr) torch::aot::refuse(" +
          quoted(name) +
          ", \"no weights\");\n"
          "  state_ = std::make_unique<State>(std::move(shared), arena);\n}\n";
  text += name + "::~" + name + "() = default;\n" + name + "::" + name + "(" + name + "&&) noexcept = default;\n" +
          name + "& " + name + "::operator=(" + name + "&&) noexcept = default;\n\n";
  text += "void " + name + "::run(" + (dynamic ? "const Sizes& sizes, " : "") +
          "[[maybe_unused]] const Inputs& inputs, [[maybe_unused]] const Outputs& outputs) {\n" + checks();
  text +=
      "  [[maybe_unused]] State& state = *state_;\n  [[maybe_unused]] const Shared& shared = *state.shared;\n"
      "  [[maybe_unused]] const char* const w = shared.w;\n  [[maybe_unused]] char* const m = state.arena.data();\n";
  if (tensor_count_ > 0) text += "  at::Tensor* const t = state.t;\n";
  return text + moves_ + resizes_ + run_ + "}\n\n}  // namespace " + options_.name_space + "\n";
}

std::string Printer::report_text() const {
  std::string text = options_.class_name + "\n\ninputs\n";
  const std::vector<TensorInfo> inputs = input_infos(program_), outputs = output_infos(program_);
  for (size_t i = 0; i < inputs.size(); ++i) text += "  " + program_.inputs[i] + ": " + describe(inputs[i]) + "\n";
  text += "outputs\n";
  for (size_t i = 0; i < outputs.size(); ++i) text += "  " + program_.outputs[i] + ": " + describe(outputs[i]) + "\n";
  for (const auto& [symbol, range] : program_.graph->symbols()) {
    if (largest_.count(symbol) > 0) {
      text += "  " + symbol + " within [" + std::to_string(range.min) + ", " + std::to_string(range.max) + "]\n";
    }
  }
  text += "\narena: " + std::to_string(plan_.layout.bytes) + " bytes (no plan has less than " +
          std::to_string(plan_.layout.lower_bound) +
          "; one tensor beside the other: " + std::to_string(plan_.unshared_bytes) + "), and " +
          std::to_string(scratch_bytes_) +
          " that one step uses at a time\nweights: " + std::to_string(weights_.size()) +
          " bytes\noperations: " + all_operations_.str() + "\n";
  std::vector<std::string> families(families_.begin(), families_.end());
  text += "families of operators: " + (families.empty() ? "none" : joined(families, " ")) + "\n";
  text += "matrices and filters: " + stored_type() + "\npasses: " + joined(program_.notes, ", ") + "\n";
  if (!program_.groups.groups.empty()) text += "\ngroups\n";
  for (const ProgramGroup& group : program_.groups.groups) {
    text += "  " + group.part.graph->name() + ": " + operators_of(*group.part.graph) + "\n";
  }
  if (!program_.groups.refused.empty()) text += "\nnot in groups\n";
  for (const std::string& refused : program_.groups.refused) text += "  " + refused + "\n";
  text += "\nsteps\n" + report_;
  if (!allocating_.empty()) text += "\nsteps that allocate\n" + joined(allocating_, "\n") + "\n";
  return text;
}

}  // namespace torch::aot
