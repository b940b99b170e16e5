// Reads operator tables and writes the files made from them.
//
//   generate --table=aten/ops/binary/ops.textproto [--functions=F] [--documented_functions=F]
//   [--operator_declarations=F] [--kernel_declarations=F] [--operators=F]
//            [--registry=F] [--derivatives=F] [--forward=F] [--autocast=F] [--layers=F]
//            [--nested=F] [--decomposition_declarations=F] [--decompositions=F] [--examples=F] [--evidence=F ...]
//   generate [--methods=F] [--factories=F] [--operator_families=F] [--sharding=F] [--documentation=F] [--facts=F]
//            [--kernel_names=F]
//            [--special=F] [--fft=F] [--linalg=F] [--meta_functions=F] --table=T1 --table=T2 ... [--evidence=F ...]
//
// A table's family is the name of its folder.

#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "aten/codegen/emit.h"

namespace kindling::codegen {
namespace {

int fail(const std::string& message) {
  std::fprintf(stderr, "generate: %s\n", message.c_str());
  return 1;
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

std::string family_of(const std::string& path) {
  const size_t end = path.rfind('/');
  if (end == std::string::npos) return path;
  const size_t begin = path.rfind('/', end - 1);
  return path.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1));
}

int run(const std::vector<std::string>& arguments) {
  std::vector<Table> tables;
  Evidence evidence;
  std::map<std::string, std::string> outputs;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (argument.substr(0, 2) != "--" || equals == std::string::npos) return fail("unexpected argument " + argument);
    const std::string key = argument.substr(2, equals - 2);
    const std::string value = argument.substr(equals + 1);
    if (key != "table" && key != "evidence") {
      outputs[key] = value;
      continue;
    }
    std::ifstream file(value, std::ios::binary);
    if (!file) return fail("cannot read " + value);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (key == "evidence") {
      evidence.add(value, text);
      continue;
    }
    std::string error;
    auto table = read_table(family_of(value), text, &error);
    if (!table) return fail(value + ": " + error);
    if (const std::string problem = undocumented(*table); !problem.empty()) return fail(value + ": " + problem);
    tables.push_back(*std::move(table));
  }
  const std::map<std::string, std::function<std::string(const Table&)>> per_table{
      {"functions", emit_functions},
      {"documented_functions", [&](const Table& table) { return emit_documented_functions(table, evidence); }},
      {"examples", emit_examples},
      {"operator_declarations", emit_operator_declarations},
      {"kernel_declarations", emit_kernel_declarations},
      {"operators", emit_operators},
      {"cuda", emit_cuda},
      {"registry", emit_registry},
      {"derivatives", emit_derivatives},
      {"forward", emit_forward},
      {"autocast", emit_autocast},
      {"layers", emit_layers},
      {"nested", emit_nested},
      {"decomposition_declarations", emit_decomposition_declarations},
      {"decompositions", emit_decompositions},
  };
  const std::map<std::string, std::function<std::string(const std::vector<Table>&)>> over_all{
      {"methods", emit_methods},
      {"factories", emit_factories},
      {"documentation", [&](const std::vector<Table>& all) { return emit_documentation(all, evidence); }},
      {"facts", emit_facts},
      {"kernel_names", emit_kernel_names},
      {"operator_families", emit_operator_families},
      {"sharding", emit_sharding},
      {"batching", emit_batching},
      {"special", [](const std::vector<Table>& all) { return emit_group(all, "special"); }},
      {"fft", [](const std::vector<Table>& all) { return emit_group(all, "fft"); }},
      {"linalg", [](const std::vector<Table>& all) { return emit_group(all, "linalg"); }},
      {"meta_functions", emit_meta_functions},
  };
  for (const auto& [key, path] : outputs) {
    std::string text;
    if (const auto one = per_table.find(key); one != per_table.end()) {
      if (tables.size() != 1) return fail("--" + key + " takes one table");
      text = one->second(tables[0]);
    } else if (const auto all = over_all.find(key); all != over_all.end()) {
      text = all->second(tables);
    } else {
      return fail("unknown output --" + key);
    }
    if (!write(path, text)) return fail("cannot write " + path);
  }
  return 0;
}

}  // namespace
}  // namespace kindling::codegen

int main(int argc, char** argv) { return kindling::codegen::run(std::vector<std::string>(argv + 1, argv + argc)); }
