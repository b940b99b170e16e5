// Graphs as the JSON of .pt2 files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "export/exported_program.h"
#include "export/pt2/document.h"
#include "export/pt2/enums.h"
#include "export/pt2/expr.h"
#include "graph/ir/graph.h"

namespace torch::pt2 {

/// What a dtype, a layout or a device is in these files. Throws NotImplementedError for what has no form there.
json json_of(const graph::TensorInfo& info, const std::map<std::string, graph::IntRange>& ranges,
             const std::map<std::string, int64_t>& hints, const OpaqueSizes& opaque);

json json_of(c10::Device device);
template <class T>
int64_t number_or_refuse(T value, const char* what) {
  const std::optional<int64_t> number = number_of(value);
  TORCH_CHECK_NOT_IMPLEMENTED(number.has_value(), "a .pt2 file has no number for the ", what, " ", value);
  return *number;
}

/// Writes one graph, which is lowered (lowering.h). NotImplementedError and ValueError name the node.
class GraphWriter {
 public:
  /// `hints`: what the symbols were when the program was made, as far as that is known.
  GraphWriter(const graph::Graph& graph, const GraphSignature& signature, std::map<std::string, int64_t> hints,
              const OpaqueSizes& opaque);

  const json& graph() const { return root_; }
  /// An input's or output's Argument, and its name in the file.
  const json& input(size_t i) const { return root_.at("inputs").at(i); }
  const json& output(size_t i) const { return root_.at("outputs").at(i); }
  const std::string& input_name(size_t i) const { return input_names_.at(i); }
  /// Symbols that occur.
  const std::set<std::string>& symbols() const { return symbols_; }

 private:
  // One graph's names and tables.
  struct Scope {
    std::map<const graph::Value*, std::string> names;
    std::set<std::string> taken;
    std::map<std::string, int64_t> numbers;  // the last one of a name
    json tensors = json::object(), ints = json::object(), bools = json::object(), floats = json::object();

    std::string fresh(const std::string& base);
  };
  // What a number is: sympy's text, which of the three kinds, and its value where the hints say it.
  struct Number {
    char kind = 'i';  // int, bool, float
    std::string text;
    std::optional<double> value;
  };

  json block(const graph::Block& b, const std::vector<const graph::Value*>& captured, bool single);
  json inputs(const graph::Block& b, const std::vector<const graph::Value*>& captured, Scope& scope);
  void name_values(const graph::Block& b, const std::vector<const graph::Value*>& captured, Scope& scope);
  void declare(const graph::Value* value, Scope& scope, const graph::Node* maker);

  json call(const graph::Node& node, Scope& scope);
  json higher(const graph::Node& node, Scope& scope);
  json named_node(const graph::Node& node, std::string target, json inputs, json outputs, Scope& scope);
  json inner_graph(const char* name, const graph::Block& b, const std::vector<const graph::Value*>& captured,
                   bool single = false);
  json results(const graph::Node& node, Scope& scope);

  graph::Operand meaning(const graph::Operand& o) const;
  json argument(const graph::Operand& o, const c10::Type* type, std::optional<int32_t> size, const Scope& scope,
                const graph::Node& user) const;
  json list_argument(const std::vector<graph::Operand>& parts, const c10::Type* element, const Scope& scope,
                     const graph::Node& user) const;
  json constant(const c10::IValue& v, const c10::Type* type, const graph::Node& user) const;
  json use(const graph::Value* value, const Scope& scope, const graph::Node& user) const;
  std::vector<const graph::Value*> captured_by(const graph::Node& node) const;

  char kind_of(const graph::Value* value) const;
  char computed_kind(const graph::Value* value) const;
  const graph::TensorInfo* info_of(const graph::Value* value) const;
  const graph::TensorInfo* info_of_written(const graph::Value* value) const;
  graph::IntExpr expr_of(const graph::Value* value);
  graph::IntExpr fresh_symbol(const char* prefix);
  Number number_of(const graph::Operand& o);
  Number computed_number(const graph::Value* value);
  json number_json(const graph::Value* value);

  const GraphSignature& signature_;
  const std::map<std::string, graph::IntRange>& ranges_;
  std::map<std::string, int64_t> hints_;
  const OpaqueSizes& opaque_;
  std::map<const graph::Value*, graph::Operand> meanings_;
  std::map<const graph::Value*, graph::IntExpr> exprs_;
  std::map<const graph::Value*, Number> numbers_;
  mutable std::map<const graph::Value*, char> kinds_;
  mutable std::map<const graph::Value*, const graph::TensorInfo*> infos_;
  std::set<std::string> symbols_;
  std::map<std::string, int64_t> symbol_numbers_;  // the next one of a kind
  std::vector<std::string> input_names_;
  int64_t next_graph_ = 0;
  json root_;
};

}  // namespace torch::pt2
