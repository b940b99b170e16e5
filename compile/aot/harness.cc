#include "compile/aot/harness.h"

#include <algorithm>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/util/exception.h"
#include "compile/aot/printing.h"
#include "compile/aot/runtime/weights.h"

namespace torch::aot {

using c10::IValue;
using graph::IntExpr;
using graph::TensorInfo;

namespace {

std::vector<std::string> symbols_of(const PreparedProgram& program) {
  std::vector<std::string> names;
  for (const auto& symbol : program.graph->symbols()) names.push_back(symbol.first);
  return names;
}

at::Tensor drawn(const TensorInfo& info, const std::map<std::string, int64_t>& symbols) {
  std::vector<int64_t> sizes;
  for (const IntExpr& size : info.sizes) sizes.push_back(size.evaluate(symbols));
  // Whole numbers may be places in a table, of which each has a first row.
  if (!c10::isFloatingType(info.dtype) && !c10::isComplexType(info.dtype)) return at::zeros(sizes, info.dtype);
  return at::randn(sizes, at::TensorOptions().dtype(info.dtype));
}

// A size that is a symbol says what that is.
void read_symbols(const TensorInfo& info, const at::Tensor& t, std::map<std::string, int64_t>& symbols) {
  for (size_t d = 0; d < info.sizes.size(); ++d) {
    if (info.sizes[d].kind() == IntExpr::Kind::kSymbol) symbols[info.sizes[d].name()] = t.sizes()[d];
  }
}

std::string sizes_value(const PreparedProgram& program, const std::map<std::string, int64_t>& symbols) {
  std::vector<std::string> values;
  for (const std::string& name : symbols_of(program)) values.push_back(print(symbols.at(name)));
  return values.empty() ? "" : braces(values);
}
std::string sizes_argument(const PreparedProgram& program, const std::map<std::string, int64_t>& symbols) {
  const std::string value = sizes_value(program, symbols);
  return value.empty() ? "" : value + ", ";
}

std::string symbol_of(const PrintOptions& options, const char* what) {
  return std::string("kindling_") + what + "_" + options.name_space + "_" + options.class_name;
}

constexpr size_t kAlignment = 64;

std::string weights_argument(const PrintOptions& options) {
  if (options.embed_weights) return "";
  return options.name_space + "::" + options.class_name + "::share(torch::aot::Weights::map(argv[1]))";
}
std::string made(const PrintOptions& options, const char* name) {
  const std::string weights = weights_argument(options);
  return options.name_space + "::" + options.class_name + " " + name + (weights.empty() ? "" : "(" + weights + ")") +
         ";\n";
}

}  // namespace

std::vector<Example> make_examples(const ExportedProgram& program, const PreparedProgram& prepared) {
  const graph::Block& block = prepared.graph->block();
  std::vector<IValue> own;
  if (!program.example_inputs.isNone()) own = program.in_spec.flatten(program.example_inputs, "the example inputs");
  std::vector<Example> examples;
  const auto run = [&](const std::vector<IValue>& given, std::vector<IValue>& numbers) {
    numbers.clear();
    std::vector<IValue> all = given;
    std::vector<at::Tensor> results;
    for (IValue& v : all) {
      if (v.isTensor()) v = at::clone(v.toTensor());
    }
    for (const IValue& v : program.run(all)) {
      if (v.isTensor()) {
        results.push_back(at::clone(v.toTensor().detach(), c10::MemoryFormat::Contiguous));
      } else {
        numbers.push_back(v);
      }
    }
    for (const size_t input : prepared.updates) {
      const size_t users = prepared.inputs.size();
      const at::Tensor& t =
          input < users ? all.at(prepared.input_places[input]).toTensor() : prepared.states[input - users].model;
      results.push_back(at::clone(t.detach(), c10::MemoryFormat::Contiguous));
    }
    return results;
  };
  const auto add = [&](std::map<std::string, int64_t> symbols, bool use_own) {
    Example example;
    std::vector<IValue> all = own;
    for (size_t i = 0; i < prepared.inputs.size(); ++i) {
      const size_t at = prepared.input_places[i];
      if (all.size() <= at) all.resize(at + 1);
      const TensorInfo& info = *block.input(i)->info();
      at::Tensor t = use_own ? own.at(at).toTensor() : drawn(info, symbols);
      if (use_own) read_symbols(info, t, symbols);
      t = at::contiguous(t, c10::MemoryFormat::Contiguous);
      all[at] = t;
      example.inputs.push_back(std::move(t));
    }
    for (size_t i = 0; i < (prepared.updates.empty() ? 1 : 2); ++i) example.runs.push_back(run(all, example.numbers));
    for (const ProgramState& state : prepared.states) state.model.detach().copy_(state.initial);
    example.symbols = std::move(symbols);
    examples.push_back(std::move(example));
  };
  at::manual_seed(0);
  std::map<std::string, int64_t> least, largest;
  for (const auto& [name, range] : prepared.graph->symbols()) {
    least[name] = range.min;
    largest[name] = range.max;
  }
  if (!own.empty()) {
    add(least, true);
    for (const auto& [name, range] : prepared.graph->symbols()) {
      const int64_t value = examples[0].symbols.at(name);
      TORCH_CHECK_VALUE(range.contains(value), "the model's own example has ", name, " = ", value,
                        ", which is out of the range that it is compiled for");
    }
  }
  if (own.empty() || !least.empty()) {
    add(largest, false);
    if (!(least == largest)) add(least, false);
  }
  return examples;
}

PrintedTest print_test(const PreparedProgram& program, const PrintOptions& options,
                       const std::vector<Example>& examples, double tolerance) {
  PrintedTest test;
  const std::string symbol = symbol_of(options, "example"), type = options.name_space + "::" + options.class_name;
  const auto put = [&](const at::Tensor& t) {
    test.bytes.resize((test.bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
    const size_t place = test.bytes.size();
    test.bytes.append(static_cast<const char*>(t.const_data_ptr()), t.nbytes());
    return "kindling_examples + " + std::to_string(place);
  };
  const std::vector<size_t>& updates = program.updates;
  const size_t users = program.inputs.size();
  const bool keeps = !program.states.empty();
  std::string body;
  for (const Example& example : examples) {
    std::vector<std::string> inputs, outputs;
    std::string changed, refill;
    body += "  {\n";
    for (size_t i = 0; i < example.inputs.size(); ++i) {
      const at::Tensor& t = example.inputs[i];
      const std::string type = element_type(t.scalar_type()), place = put(t);
      if (!program.changes(i)) {
        inputs.push_back("reinterpret_cast<const " + type + "*>(" + place + ")");
        continue;
      }
      const std::string name = "input" + std::to_string(i);
      changed += "    torch::aot::Output " + name + "(" + std::to_string(t.nbytes()) + ");\n    " + name + ".fill(" +
                 place + ");\n";
      refill += "    " + name + ".fill(" + place + ");\n";
      inputs.push_back(name + ".as<" + type + ">()");
    }
    body += changed;
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      const at::Tensor& t = example.runs[0][i];
      const std::string name = "output" + std::to_string(i);
      body += "    torch::aot::Output " + name + "(" + std::to_string(t.nbytes()) + ");\n";
      outputs.push_back(name + ".as<" + element_type(t.scalar_type()) + ">()");
    }
    // Compares what a run gave and what it changed.
    const auto compare = [&](const std::vector<at::Tensor>& wanted) {
      std::string text;
      for (size_t i = 0; i < wanted.size(); ++i) {
        const at::Tensor& t = wanted[i];
        const size_t update = i < outputs.size() ? 0 : updates[i - outputs.size()];
        const bool state = i >= outputs.size() && update >= users;
        const std::string name = i < outputs.size() ? program.outputs[i]
                                 : state            ? program.states[update - users].name
                                                    : program.inputs[update];
        const std::string rest = std::string("torch::aot::Element::k") + c10::toString(t.scalar_type()) + ", " +
                                 put(t) + ", " + print_double(tolerance) + ");\n";
        if (state) {
          text += "    failures += torch::aot::compare(" + quoted(name) + ", program.buffers()." + name + ", " +
                  std::to_string(t.nbytes()) + ", " + rest;
        } else {
          text += "    failures += " +
                  (i < outputs.size() ? "output" + std::to_string(i) : "input" + std::to_string(update)) + ".compare(" +
                  quoted(name) + ", " + rest;
        }
      }
      return text;
    };
    if (test.inputs.empty()) {
      test.inputs = inputs;
      test.changed_inputs = changed;
    }
    std::vector<std::string> values;
    for (const auto& [name, value] : example.symbols) values.push_back(name + " = " + std::to_string(value));
    // Twice, in memory that holds what a program must not read.
    for (size_t i = 0; i < program.numbers.size(); ++i) {
      const IValue& wanted = example.numbers[i];
      if (!wanted.isScalar()) continue;
      const std::string number = wanted.isDouble() ? print_double(wanted.toDouble())
                                 : wanted.isBool() ? (wanted.toBool() ? "true" : "false")
                                                   : print(wanted.toInt());
      body += "    failures += torch::aot::compare_number(" + quoted(program.numbers[i].name) + ", " + type +
              "::" + program.numbers[i].name + "(" + sizes_value(program, example.symbols) + "), " + number + ");\n";
    }
    body += "    std::printf(\"%s\\n\", " + quoted(values.empty() ? "the example" : joined(values, ", ")) + ");\n";
    if (keeps) body += "    program.reset();\n";
    std::string after = compare(example.runs[0]);
    for (size_t run = 0; run < 2; ++run) {
      if (run > 0 && example.runs.size() > 1) {
        body += refill;
        after = compare(example.runs[1]);
      }
      body += std::string(keeps ? "    arena.spoil(" + type + "::kBufferBytes);\n" : "    arena.spoil();\n") +
              "    program.run(" + sizes_argument(program, example.symbols) + braces(inputs) + ", " + braces(outputs) +
              ");\n" + after;
    }
    body += "  }\n";
  }
  const std::string weights = weights_argument(options);
  test.source =
      "// Made by kindling_program: runs the model's examples.\n#include <cstdio>\n\n#include "
      "\"compile/aot/runtime/testing.h\"\n#include \"" +
      options.header + "\"\n\nextern \"C\" const char " + symbol + "[];\n\nint main(int argc, char** argv) {\n" +
      (weights.empty() ? "" : "  if (argc != 2) return 2;\n") +
      "  [[maybe_unused]] const char* const kindling_examples = " + symbol + ";\n  torch::aot::TestArena arena(" +
      type + "::kArenaBytes);\n  " + type + " program(" + (weights.empty() ? type + "::share()" : weights) +
      ", arena.data());\n  int failures = 0;\n" + body +
      "  failures += arena.overrun();\n  return failures == 0 ? 0 : 1;\n}\n";
  return test;
}

std::string print_benchmark(const PreparedProgram& program, const PrintOptions& options, const Example& example,
                            const PrintedTest& test) {
  std::vector<std::string> outputs;
  std::string buffers;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const std::string name = "output" + std::to_string(i);
    buffers += "  torch::aot::Output " + name + "(" + std::to_string(example.runs[0][i].nbytes()) + ");\n";
    outputs.push_back(name + ".as<" + element_type(example.runs[0][i].scalar_type()) + ">()");
  }
  const std::string symbol = symbol_of(options, "example");
  return "// Made by kindling_program: times runs of the model's example.\n#include "
         "\"compile/aot/runtime/testing.h\"\n#include \"" +
         options.header + "\"\n\nextern \"C\" const char " + symbol +
         "[];\n\nint main([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {\n" +
         (options.embed_weights ? "" : "  if (argc != 2) return 2;\n") +
         "  [[maybe_unused]] const char* const kindling_examples = " + symbol + ";\n  " + made(options, "program") +
         buffers + test.changed_inputs + "  torch::aot::print_time([&] { program.run(" +
         sizes_argument(program, example.symbols) + braces(test.inputs) + ", " + braces(outputs) + "); });\n}\n";
}

PrintedTensors print_tensors(const PreparedProgram& program, const PrintOptions& options, const std::string& header) {
  const std::string type = options.class_name, name = type + "Tensors";
  const graph::Block& block = program.graph->block();
  PrintedTensors printed;
  std::vector<std::string> parameters, results;
  for (const std::string& input : program.inputs) parameters.push_back("const at::Tensor& " + input);
  const bool single = program.outputs.size() == 1;
  const std::string result = single ? "at::Tensor" : "std::vector<at::Tensor>";
  printed.header =
      "// Made by kindling_program: the program over tensors.\n#pragma once\n\n#include <vector>\n\n#include "
      "\"aten/core/tensor.h\"\n#include \"" +
      options.header + "\"\n\nnamespace " + options.name_space + " {\n\nclass " + name + " {\n public:\n  explicit " +
      name + "(" + type + " program" + (options.embed_weights ? " = " + type + "()" : "") +
      ") : program_(std::move(program)) {}\n"
      "  /// The outputs. Throws ValueError for inputs of another dtype or other sizes than the program's.\n  " +
      result + " operator()(" + joined(parameters, ", ") + ");\n" +
      (program.states.empty()
           ? ""
           : "  /// Whose buffers() and reset() are there.\n  " + type + "& program() { return program_; }\n") +
      "\n private:\n  " + type + " program_;\n};\n\n}  // namespace " + options.name_space + "\n";
  std::string body, back;
  std::vector<std::string> inputs, outputs;
  std::set<std::string> known;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const TensorInfo& info = *block.input(i)->info();
    body += "  const at::Tensor dense_" + program.inputs[i] + " = torch::aot::dense_input(" + quoted(type) + ", " +
            quoted(program.inputs[i]) + ", " + program.inputs[i] + ", " + print(info.dtype) + ", " +
            std::to_string(info.sizes.size()) + ");\n";
    for (size_t d = 0; d < info.sizes.size(); ++d) {
      if (info.sizes[d].kind() != IntExpr::Kind::kSymbol || !known.insert(info.sizes[d].name()).second) continue;
      body += "  const int64_t " + info.sizes[d].name() + " = dense_" + program.inputs[i] + ".size(" +
              std::to_string(d) + ");\n";
    }
    const bool changed = program.changes(i);
    inputs.push_back(std::string(changed ? "static_cast<" : "static_cast<const ") + element_type(info.dtype) +
                     "*>(dense_" + program.inputs[i] + (changed ? ".mutable_data_ptr())" : ".const_data_ptr())"));
    if (changed) back += "  torch::aot::copy_back(" + program.inputs[i] + ", dense_" + program.inputs[i] + ");\n";
  }
  const std::vector<std::string> symbols = symbols_of(program);
  for (const std::string& symbol : symbols) {
    TORCH_CHECK_VALUE(known.count(symbol) > 0, "no input has a size that is ", symbol, " itself");
  }
  const std::string sizes = symbols.empty() ? "" : "sizes";
  if (!symbols.empty()) body += "  const " + type + "::Sizes sizes" + braces(symbols) + ";\n";
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    body += "  torch::aot::check_sizes(" + quoted(type) + ", " + quoted(program.inputs[i]) + ", dense_" +
            program.inputs[i] + ", " + type + "::" + program.inputs[i] + "_sizes(" + sizes + "));\n";
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const TensorInfo& info = *block.outputs()[i].value()->info();
    body += "  at::Tensor out_" + program.outputs[i] + " = torch::aot::new_output(" + type + "::" + program.outputs[i] +
            "_sizes(" + sizes + "), " + print(info.dtype) + ");\n";
    outputs.push_back(std::string("static_cast<") + element_type(info.dtype) + "*>(out_" + program.outputs[i] +
                      ".data_ptr())");
    results.push_back("out_" + program.outputs[i]);
  }
  body += "  program_.run(" + (symbols.empty() ? "" : std::string("sizes, ")) + braces(inputs) + ", " +
          braces(outputs) + ");\n" + back + "  return " + (single ? results[0] : braces(results)) + ";\n";
  printed.source = "#include \"" + header + "\"\n\n#include \"compile/aot/runtime/tensor_face.h\"\n\nnamespace " +
                   options.name_space + " {\n\n" + result + " " + name + "::operator()(" + joined(parameters, ", ") +
                   ") {\n" + body + "}\n\n}  // namespace " + options.name_space + "\n";
  return printed;
}

std::string print_assembly(const std::string& symbol, const std::string& path, const std::string& bytes) {
  // Builds do not see that the file is read: with other bytes the text is another.
  return "/* " + std::to_string(bytes.size()) + " bytes, " + std::to_string(hash_of(bytes.data(), bytes.size())) +
         " */\n  .section .rodata\n  .balign 64\n  .globl " + symbol + "\n  .type " + symbol + ", @object\n" + symbol +
         ":\n  .incbin \"" + path + "\"\n  .size " + symbol + ", . - " + symbol +
         "\n  .byte 0\n  .section .note.GNU-stack,\"\",@progbits\n";
}

}  // namespace torch::aot
