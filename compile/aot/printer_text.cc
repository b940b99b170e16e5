// The files of a printed program, around its steps.
#include <cctype>

#include "c10/util/exception.h"
#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "compile/aot/runtime/weights.h"
#include "graph/passes/tensor_info.h"

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

// The struct with a pointer for each tensor; those that nothing writes are constant.
template <class Written>
std::string pointers(const char* name, const std::vector<std::string>& names, const std::vector<TensorInfo>& infos,
                     const Written& is_written) {
  std::string text = std::string("  struct ") + name + " {\n";
  for (size_t i = 0; i < names.size(); ++i) {
    text += std::string("    ") + (is_written(i) ? "" : "const ") + element_type(infos[i].dtype) + "* " + names[i] +
            ";  ///< " + describe(infos[i]) + "\n";
  }
  return text + "  };\n";
}

std::string include_line(const std::string& path) {
  const bool system = path.find('/') == std::string::npos;
  return "#include " + (system ? "<" + path + ">" : "\"" + path + "\"") + "\n";
}

// The user's.
std::vector<TensorInfo> input_infos(const PreparedProgram& program) {
  std::vector<TensorInfo> infos;
  for (size_t i = 0; i < program.inputs.size(); ++i) infos.push_back(*program.graph->block().input(i)->info());
  return infos;
}
std::vector<TensorInfo> output_infos(const PreparedProgram& program) {
  std::vector<TensorInfo> infos;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    infos.push_back(*program.graph->block().outputs()[i].value()->info());
  }
  return infos;
}
// Those that last from run to run.
std::vector<TensorInfo> state_infos(const PreparedProgram& program) {
  std::vector<TensorInfo> infos;
  for (const ProgramState& state : program.states) infos.push_back(graph::info_of(state.initial));
  return infos;
}
// Nothing for what C++ has no constant for.
std::string number_value(const ProgramNumber& number) {
  if (number.value.is_expr()) return print(number.value.expr());
  const c10::IValue& constant = number.value.constant();
  if (constant.isInt()) return print(constant.toInt());
  if (constant.isDouble()) return print_double(constant.toDouble());
  return constant.isBool() ? (constant.toBool() ? "true" : "false") : "";
}
std::vector<std::string> state_names(const PreparedProgram& program) {
  std::vector<std::string> names;
  for (const ProgramState& state : program.states) names.push_back(state.name);
  return names;
}

}  // namespace

// The sizes of an input or output; a function of the symbols where it depends on them.
std::string Printer::sizes_function(const std::string& name, const TensorInfo& info) const {
  return "  static constexpr std::array<int64_t, " + std::to_string(info.sizes.size()) + "> " + name + "_sizes(" +
         sizes_parameter() + ") {\n" + symbols_of_sizes() + "    return " +
         (info.sizes.empty() ? "{}" : "{" + print(info.sizes) + "}") + ";\n  }\n";
}

// An output that is no tensor, as a function.
std::string Printer::number_function(const ProgramNumber& number) const {
  const std::string value = number_value(number);
  if (value.empty()) return "";
  const c10::IValue constant = number.value.is_constant() ? number.value.constant() : c10::IValue(0);
  const char* const type = constant.isBool() ? "bool" : constant.isDouble() ? "double" : "int64_t";
  return std::string("  static constexpr ") + type + " " + number.name + "(" + sizes_parameter() + ") {\n" +
         symbols_of_sizes() + "    return " + value + ";\n  }\n";
}

// How functions of the sizes begin.
std::string Printer::sizes_parameter() const {
  return largest_.empty() ? "" : "[[maybe_unused]] const Sizes& sizes";
}
std::string Printer::symbols_of_sizes() const {
  std::string text;
  for (const auto& symbol : largest_)
    text += "    [[maybe_unused]] const int64_t " + symbol.first + " = sizes." + symbol.first + ";\n";
  return text;
}

// What the class says of sizes and numbers.
std::string Printer::functions_text() const {
  const std::vector<TensorInfo> inputs = input_infos(program_), outputs = output_infos(program_);
  std::string functions;
  for (size_t i = 0; i < inputs.size(); ++i) functions += sizes_function(program_.inputs[i], inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) functions += sizes_function(program_.outputs[i], outputs[i]);
  if (!program_.numbers.empty()) functions += "\n  /// Outputs that are no tensors.\n";
  for (const ProgramNumber& number : program_.numbers) functions += number_function(number);
  return functions;
}

std::string Printer::header_text() const {
  const std::vector<TensorInfo> inputs = input_infos(program_), outputs = output_infos(program_),
                                states = state_infos(program_);
  std::string includes = "#include <array>\n";
  for (const auto* infos : {&inputs, &outputs, &states}) {
    for (const TensorInfo& info : *infos) {
      TORCH_CHECK_VALUE(element_type(info.dtype)[0] != '\0', "a program with an input, output or buffer of dtype ",
                        c10::toString(info.dtype), " cannot be compiled ahead of time");
      if (c10::isComplexType(info.dtype) && includes.find("complex") == std::string::npos) {
        includes += "#include <complex>\n";
      }
    }
  }
  const std::string functions = functions_text();
  // Quotients and the like; infinities.
  const bool computes = functions.find("torch::aot::") != std::string::npos;
  includes += std::string("#include <cstddef>\n#include <cstdint>\n") +
              (functions.find("numeric_limits") != std::string::npos ? "#include <limits>\n" : "") +
              "#include <memory>\n\n" + (computes ? "#include \"compile/aot/runtime/checks.h\"\n" : "") +
              "#include \"compile/aot/runtime/weights.h\"\n";
  std::string text =
      "// Made from a model by kindling_program. One instance serves one call at a time; any number of\n"
      "// instances share their weights.\n//\n";
  text += "//   " + options_.name_space + "::" + options_.class_name + " program;\n";
  text += std::string("//   program.run(") + (largest_.empty() ? "" : "{sizes...}, ") + "{inputs...}, {outputs...});\n";
  return text + "#pragma once\n\n" + includes + "\nnamespace " + options_.name_space + " {\n\n" + class_text() +
         "\n}  // namespace " + options_.name_space + "\n";
}

std::string Printer::class_text() const {
  const std::vector<TensorInfo> inputs = input_infos(program_), outputs = output_infos(program_),
                                states = state_infos(program_);
  const std::string& name = options_.class_name;
  bool changes_inputs = false;
  for (size_t i = 0; i < inputs.size(); ++i) changes_inputs |= program_.changes(i);
  std::string text = "class " + name + " {\n public:\n";
  if (!largest_.empty()) {
    text += "  /// Sizes that differ from call to call.\n  struct Sizes {\n";
    for (const auto& [symbol, range] : program_.graph->symbols()) {
      if (largest_.count(symbol) == 0) continue;
      text += "    int64_t " + symbol + ";  ///< within [" + std::to_string(range.min) + ", " +
              std::to_string(range.max) + "]\n";
    }
    text += "  };\n";
  }
  const auto all = [](size_t) { return true; };
  text += std::string("  /// Dense, row-major.") +
          (changes_inputs ? " Those that are not constant are changed; they overlap nothing else.\n" : "\n") +
          pointers("Inputs", program_.inputs, inputs, [&](size_t i) { return program_.changes(i); });
  text += "  /// The same; they overlap nothing else.\n" + pointers("Outputs", program_.outputs, outputs, all);
  if (!states.empty()) {
    text += "  /// What a run leaves for the next one. Dense, row-major.\n" +
            pointers("Buffers", state_names(program_), states, all);
  }
  text += functions_text();
  text += "\n  static constexpr size_t kArenaBytes = " + std::to_string(arena_bytes()) + ";\n" +
          (states.empty() ? ""
                          : "  /// At the end of the arena: the buffers.\n  static constexpr size_t kBufferBytes = " +
                                std::to_string(state_bytes_) + ";\n") +
          "  static constexpr size_t kWeightBytes = " + std::to_string(weights_.size()) + ";\n";
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
      "  /// own." +
      (states.empty() ? std::string() : " The buffers are what the model has.") + "\n  explicit " + name +
      "(std::shared_ptr<const Shared> shared" + (options_.embed_weights ? " = share()" : "") +
      ", void* arena = nullptr);\n  ~" + name + "();\n  " + name + "(" + name + "&&) noexcept;\n  " + name +
      "& operator=(" + name + "&&) noexcept;\n\n";
  text += "  /// Writes the outputs. Throws std::invalid_argument for null or misaligned pointers";
  text += largest_.empty() ? ".\n" : " and sizes out of their\n  /// ranges.\n";
  text += std::string("  void run(") + (largest_.empty() ? "" : "const Sizes& sizes, ") +
          "const Inputs& inputs, const Outputs& outputs);\n";
  if (!states.empty()) {
    text +=
        "  /// The buffers as they are now; the caller may read and write them between runs.\n  Buffers buffers() "
        "const;\n"
        "  /// Makes them what they were before the first run.\n  void reset();\n";
  }
  return text + "\n private:\n  struct State;\n  std::unique_ptr<State> state_;\n};\n";
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
                            const char* structure, const char* prefix, const auto& is_written) {
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string type = is_written(i) ? "char*" : "const char*";
      text += std::string("  torch::aot::check_pointer(") + program + ", " + quoted(names[i]) + ", " + structure + "." +
              names[i] + ", " + std::to_string(c10::elementSize(infos[i].dtype)) + ");\n  [[maybe_unused]] " + type +
              "const " + prefix + names[i] + " = reinterpret_cast<" + type + ">(" + structure + "." + names[i] + ");\n";
    }
  };
  pointers(program_.inputs, input_infos(program_), "inputs", "in_", [&](size_t i) { return program_.changes(i); });
  pointers(program_.outputs, output_infos(program_), "outputs", "out_", [](size_t) { return true; });
  return text;
}

int64_t Printer::arena_bytes() const {
  const int64_t lasting = next_bytes_ + state_bytes_, computed = planned_bytes() + scratch_bytes_;
  return lasting == 0 ? computed : aligned(computed) + lasting;
}
// A line that says where what lasts is, where there is any.
std::string Printer::states_pointer(const char* indent) const {
  if (next_bytes_ + state_bytes_ == 0) return "";
  return std::string(indent) + "[[maybe_unused]] char* const s = m + " +
         std::to_string(arena_bytes() - next_bytes_ - state_bytes_) + ";\n";
}

std::string Printer::source_text() const {
  std::string text =
      "#include \"" + options_.header + "\"\n\n#include <limits>\n#include <tuple>\n#include <utility>\n";
  for (const std::string& path : includes_) {
    if (path.find('/') == std::string::npos) text += include_line(path);
  }
  text += "\n#include \"compile/aot/runtime/checks.h\"\n";
  for (const std::string& path : includes_) {
    if (path.find('/') != std::string::npos) text += include_line(path);
  }
  if (options_.embed_weights) text += "\nextern \"C\" const char " + weights_symbol() + "[];\n";
  if (!kernels_.empty()) {
    text += "\nnamespace " + options_.name_space + "::" + kernels_name() + " {\n" + kernels_.declarations() + "}\n";
  }
  return text + "\nnamespace " + options_.name_space + " {\n\n" + definitions() + "\n}  // namespace " +
         options_.name_space + "\n";
}

// The members of the class, behind the classes of its parts.
std::string Printer::definitions() const {
  const std::string& name = options_.class_name;
  const bool dynamic = !largest_.empty();
  std::string text = parts_ + "class " + name + "::Shared {\n public:\n";
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
      states_pointer("    ") + constructor_ + (reset_.empty() ? "" : "    reset();\n") + "  }\n";
  if (!reset_.empty()) {
    text +=
        "  void reset() {\n    [[maybe_unused]] const char* const w = shared->w;\n    char* const m = arena.data();\n" +
        states_pointer("    ") + reset_ + "  }\n";
  }
  text += "  std::shared_ptr<const Shared> shared;\n  torch::aot::Arena arena;\n";
  if (tensor_count_ > 0) text += "  at::Tensor t[" + std::to_string(tensor_count_) + "];\n";
  text += state_members_ + "};\n\n";
  if (options_.embed_weights) {
    text += "std::shared_ptr<const " + name + "::Shared> " + name +
            "::share() {\n  static const std::shared_ptr<const Shared> shared =\n"
            "      std::make_shared<Shared>(torch::aot::Weights(" +
            weights_symbol() + ", kWeightBytes));\n  return shared;\n}\n";
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
  text += states_pointer("  ");
  if (tensor_count_ > 0) text += "  at::Tensor* const t = state.t;\n";
  text += moves_ + resizes_ + run_ + "}\n";
  if (!program_.states.empty()) {
    std::vector<std::string> pointers;
    const std::vector<TensorInfo> infos = state_infos(program_);
    for (size_t i = 0; i < infos.size(); ++i) {
      pointers.push_back(std::string("reinterpret_cast<") + element_type(infos[i].dtype) + "*>(" +
                         input_place(program_.inputs.size() + i) + ")");
    }
    text += "\n" + name + "::Buffers " + name + "::buffers() const {\n  char* const m = state_->arena.data();\n" +
            states_pointer("  ") + "  return " + braces(pointers) + ";\n}\nvoid " + name +
            "::reset() {\n  state_->reset();\n}\n";
  }
  return text;
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
  for (const ProgramNumber& number : program_.numbers) {
    const std::string value = number_value(number);
    text += "  " + number.name + ": " + (value.empty() ? "a constant" : value) + ", no tensor\n";
  }
  if (!program_.updates.empty()) text += "changes\n";
  for (size_t i = 0; i < program_.updates.size(); ++i) {
    const size_t input = program_.updates[i];
    const bool user = input < program_.inputs.size();
    text += "  " + (user ? program_.inputs[input] : program_.states[input - program_.inputs.size()].name) + ": " +
            describe(*program_.graph->block().input(input)->info()) + (user ? ", an input" : "") +
            (next_places_[i].has_value() ? "" : ", in place") + "\n";
  }
  text += "\narena: " + std::to_string(plan_.layout.bytes) + " bytes (no plan has less than " +
          std::to_string(plan_.layout.lower_bound) +
          "; one tensor beside the other: " + std::to_string(plan_.unshared_bytes) + "), and " +
          std::to_string(scratch_bytes_) + " that one step uses at a time\n" +
          (program_.updates.empty() ? ""
                                    : "buffers that last: " + std::to_string(state_bytes_) + " bytes, and " +
                                          std::to_string(next_bytes_) + " of what is computed beside them\n") +
          "weights: " + std::to_string(weights_.size()) + " bytes\noperations: " + all_operations_.str() + "\n";
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
