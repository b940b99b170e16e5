// Compiles a model ahead of time: reads it, and writes C++ that computes it. The Bazel rule kindling_program calls
// this.
//
//   kindling_compile --model=mlp.pt2 --output=out/mlp --include=pkg/mlp.h --class=Mlp --namespace=programs
//
// writes out/mlp.h, .cc (the program), _kernels.cc (its fused groups), _weights.bin, _weights.S, .txt (a report),
// _tensors.h, _tensors.cc (over at::Tensor), _example.bin, _example.S, _test.cc, _benchmark.cc.
//
//   --weights=embed|file   whether the program contains its weights (default) or is given them
//   --largest=s0:128       how large a size may be that the model has no bound for; may be given again
//   --families=pool,norm   fails where the program calls kernels of other families of operators
//   --targets=AVX2,AVX3    what fused groups are compiled for beside the baseline: Highway's names SSE4, AVX2, AVX3
//   --tolerance=1e-4       of the test, relative to the largest number of an output
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "compile/aot/harness.h"
#include "compile/aot/prepare.h"
#include "compile/aot/printer.h"
#include "export/onnx/onnx.h"
#include "export/pt2/pt2.h"

namespace torch::aot {
namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  TORCH_CHECK(static_cast<bool>(file.flush()), "cannot write ", path);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::set<std::string> split(const std::string& text) {
  std::set<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

struct Arguments {
  std::map<std::string, std::string> values;
  std::map<std::string, int64_t> largest;

  const std::string& at(const char* name) const {
    const auto found = values.find(name);
    TORCH_CHECK_VALUE(found != values.end(), "--", name, " is missing");
    return found->second;
  }
  std::string get(const char* name, const char* otherwise) const {
    const auto found = values.find(name);
    return found == values.end() ? otherwise : found->second;
  }
};

double parse_number(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  TORCH_CHECK_VALUE(!text.empty() && *end == '\0' && errno == 0 && value >= 0, "'", text,
                    "' is no number of 0 or more");
  return value;
}

Arguments parse(const std::vector<std::string>& texts) {
  static const std::set<std::string> kKnown{"model",   "output",   "include",   "class",   "namespace",
                                            "weights", "families", "tolerance", "targets", "weight_type"};
  Arguments arguments;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    TORCH_CHECK_VALUE(text.rfind("--", 0) == 0 && equals != std::string::npos, "unexpected argument ", text);
    const std::string name = text.substr(2, equals - 2), value = text.substr(equals + 1);
    if (name == "largest") {
      const size_t colon = value.find(':');
      TORCH_CHECK_VALUE(colon != std::string::npos, "--largest=", value, ": expected SYMBOL:NUMBER");
      arguments.largest[value.substr(0, colon)] = static_cast<int64_t>(parse_number(value.substr(colon + 1)));
      continue;
    }
    TORCH_CHECK_VALUE(kKnown.count(name) > 0, "unknown argument --", name);
    arguments.values[name] = value;
  }
  return arguments;
}

void run(const std::vector<std::string>& texts) {
  const Arguments arguments = parse(texts);
  const std::string &model = arguments.at("model"), &output = arguments.at("output");
  PrintOptions options;
  options.class_name = arguments.at("class");
  options.name_space = arguments.at("namespace");
  options.header = arguments.at("include");
  const std::string weights = arguments.get("weights", "embed");
  TORCH_CHECK_VALUE(weights == "embed" || weights == "file", "--weights=", weights, ": expected embed or file");
  options.embed_weights = weights == "embed";
  static const std::map<std::string, c10::ScalarType> kWeightTypes{{"float32", c10::ScalarType::Float},
                                                                   {"bfloat16", c10::ScalarType::BFloat16},
                                                                   {"float16", c10::ScalarType::Half},
                                                                   {"int8", c10::ScalarType::Char}};
  const auto weight_type = kWeightTypes.find(arguments.get("weight_type", "float32"));
  TORCH_CHECK_VALUE(weight_type != kWeightTypes.end(), "--weight_type=", arguments.at("weight_type"),
                    ": expected float32, bfloat16, float16 or int8");
  options.weight_type = weight_type->second;
  for (const std::string& target : split(arguments.get("targets", ""))) {
    TORCH_CHECK_VALUE(target == "baseline" || target == "SSE4" || target == "AVX2" || target == "AVX3",
                      "--targets=", target, ": expected SSE4, AVX2 or AVX3");
    options.targets.push_back(target);
  }

  const c10::NoGradGuard no_grad;
  const ExportedProgram program = ends_with(model, ".onnx") ? onnx::load(model) : load_exported(model);
  PrepareOptions prepare_options;
  prepare_options.largest = arguments.largest;
  const PreparedProgram prepared = prepare(program, prepare_options);
  const PrintedProgram printed = print_program(prepared, options);
  if (arguments.values.count("families") > 0) {
    const std::set<std::string> allowed = split(arguments.at("families"));
    std::string missing, all;
    for (const std::string& family : printed.families) {
      all += (all.empty() ? "\"" : ", \"") + family + "\"";
      if (allowed.count(family) == 0) missing += " " + family;
    }
    TORCH_CHECK_VALUE(missing.empty(), "the program calls kernels of families that are not listed:", missing,
                      "; say families = [", all, "]");
  }
  const std::vector<Example> examples = make_examples(program, prepared);
  const PrintedTest test = print_test(prepared, options, examples, parse_number(arguments.get("tolerance", "1e-4")));
  const std::string header = options.header.substr(0, options.header.size() - 2) + "_tensors.h";
  const PrintedTensors tensors = print_tensors(prepared, options, header);
  const std::string suffix = "_" + options.name_space + "_" + options.class_name;
  write(output + ".h", printed.header);
  write(output + ".cc", printed.source);
  write(output + "_kernels.cc", printed.kernels);
  write(output + "_weights.bin", printed.weights);
  write(output + "_weights.S", print_assembly("kindling_weights" + suffix, output + "_weights.bin", printed.weights));
  write(output + ".txt", printed.report);
  write(output + "_tensors.h", tensors.header);
  write(output + "_tensors.cc", tensors.source);
  write(output + "_example.bin", test.bytes);
  write(output + "_example.S", print_assembly("kindling_example" + suffix, output + "_example.bin", test.bytes));
  write(output + "_test.cc", test.source);
  write(output + "_benchmark.cc", print_benchmark(prepared, options, examples[0], test));
}

}  // namespace
}  // namespace torch::aot

int main(int argc, char** argv) {
  try {
    torch::aot::run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "kindling_compile: %s\n", error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kindling_compile: %s\n", error.what());
  }
  return 1;
}
