#include "compile/aot/prepare.h"

#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"
#include "compile/aot/kernels.h"
#include "compile/group/operators.h"
#include "graph/ir/text.h"
#include "graph/passes/channels_last.h"
#include "graph/passes/common_subexpressions.h"
#include "graph/passes/constant_folding.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/decompose.h"
#include "graph/passes/effects.h"
#include "graph/passes/fold_batch_norm.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/numbers.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/tensor_info.h"

namespace torch::aot {
namespace {

using c10::IValue;
using graph::Block;
using graph::Graph;
using graph::IntExpr;
using graph::IntRange;
using graph::Node;
using graph::Operand;
using graph::PassResult;
using graph::TensorInfo;
using graph::Value;

// A C++ identifier that looks like the name, and is not yet among those.
std::string identifier(const std::string& name, const std::string& otherwise, std::set<std::string>& taken) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) text = otherwise + text;
  // Names that begin with an underscore, and keywords.
  static const std::set<std::string> kReserved{
      "and",      "asm",     "auto",     "bool",   "break",    "case",   "catch",    "char",   "class",   "const",
      "continue", "default", "delete",   "do",     "double",   "else",   "enum",     "export", "extern",  "false",
      "float",    "for",     "friend",   "goto",   "if",       "inline", "int",      "long",   "mutable", "namespace",
      "new",      "not",     "operator", "or",     "private",  "public", "register", "return", "short",   "signed",
      "sizeof",   "static",  "struct",   "switch", "template", "this",   "throw",    "true",   "try",     "typedef",
      "typename", "union",   "unsigned", "using",  "virtual",  "void",   "volatile", "while",  "xor"};
  if (text[0] == '_') text = otherwise + text;
  if (kReserved.count(text) > 0) text += "_";
  for (int i = 2; !taken.insert(text).second; ++i) {
    while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
    text += std::to_string(i);
  }
  return text;
}

class Preparing {
 public:
  Preparing(const ExportedProgram& program, const PrepareOptions& options) : program_(program), options_(options) {}

  PreparedProgram run() {
    result_.graph = program_.graph->clone();
    find_changes();
    bind_constants();
    propagate();
    if (program_.functional) {
      drop_copies();
      take_updates();
    } else {
      functionalize();
    }
    sort_inputs();
    propagate();
    note("batch norms folded", graph::fold_batch_norm(*result_.graph));
    const bool keeps_norms = layer_norms_are_rows();
    const auto without_kernel = [&](const c10::OperatorHandle& op) {
      if (keeps_norms && op.schema().name() == "aten::layer_norm") return false;
      return graph::is_decomposable(op) && !is_printed_whole(op.schema());
    };
    note("decomposed", graph::decompose(*result_.graph, without_kernel));
    propagate();
    note("constants folded", graph::fold_constants(*result_.graph));
    note("computed once", graph::eliminate_common_subexpressions(*result_.graph));
    note("dead", graph::eliminate_dead_code(*result_.graph));
    note("copies to and from channels-last",
         graph::use_channels_last(*result_.graph, compiler::is_packable_convolution));
    finish();
    bound_symbols();
    pass_symbols(result_);
    return std::move(result_);
  }

 private:
  // What a node of control flow runs. Its graph went through the passes with the one around it.
  std::shared_ptr<PreparedProgram> run_part(std::unique_ptr<Graph> graph) {
    result_.graph = std::move(graph);
    const Block& block = result_.graph->block();
    user_outputs_.assign(block.outputs().begin(), block.outputs().end());
    std::set<std::string> taken;
    for (size_t i = 0; i < block.input_count(); ++i) {
      result_.inputs.push_back(identifier(block.input(i)->name(), "input", taken));
    }
    finish();
    return std::make_shared<PreparedProgram>(std::move(result_));
  }

  // From the graph to what is printed.
  void finish() {
    separate_outputs();
    lay_out_parts(*result_.graph);
    propagate();
    name_outputs();
    result_.parts = outline_parts(*result_.graph, [this](std::unique_ptr<Graph> graph) {
      return Preparing(program_, options_).run_part(std::move(graph));
    });
    if (!result_.parts.empty()) graph::eliminate_dead_code(*result_.graph);
    check();
    result_.fusions = compiler::find_fusions(*result_.graph);
    note("calls behind convolutions and products, computed with them",
         {static_cast<int64_t>(result_.fusions.runs_with.size()), {}});
    fuse_groups();
  }

  static void pass_symbols(PreparedProgram& program) {
    for (auto& [name, part] : program.parts) {
      for (ProgramPart::Body& body : part.bodies) {
        body.program->graph->symbols() = program.graph->symbols();
        pass_symbols(*body.program);
      }
    }
  }

  // Numbers that depend on sizes say what they are, and sizes that depend on such numbers.
  void propagate() {
    PassResult done = graph::propagate_shapes(*result_.graph);
    if (graph::resolve_numbers(*result_.graph).changes > 0) done = graph::propagate_shapes(*result_.graph);
    unknown_ = std::move(done.notes);
  }

  void note(const char* pass, const PassResult& done) {
    if (done.changes > 0) result_.notes.push_back(std::string(pass) + ": " + std::to_string(done.changes));
  }

  // What the signature says that the program changes.
  void find_changes() {
    for (const OutputSpec& spec : program_.signature.outputs) {
      switch (spec.kind) {
        case OutputSpec::Kind::kUser:
          break;
        case OutputSpec::Kind::kBufferMutation:
        case OutputSpec::Kind::kParameterMutation:
          changed_.insert(spec.target);
          break;
        case OutputSpec::Kind::kInputMutation:
          break;
        default:
          TORCH_CHECK_VALUE(false, "a program that computes gradients of '", spec.target,
                            "' cannot be compiled ahead of time");
      }
    }
  }

  const at::Tensor& state(const std::string& target) const {
    const auto found = program_.state_dict.find(target);
    if (found != program_.state_dict.end()) return found->second;
    const auto constant = program_.constants.find(target);
    TORCH_CHECK_VALUE(constant != program_.constants.end(), "the program has no tensor '", target, "'");
    return constant->second;
  }

  // Binds what no call can change. `roles_` says what the inputs are that stay.
  void bind_constants() {
    Block& block = result_.graph->block();
    size_t user = 0;
    for (const InputSpec& spec : program_.signature.inputs) {
      user += spec.kind == InputSpec::Kind::kUser || spec.kind == InputSpec::Kind::kConstant;
    }
    // From behind: bound inputs are gone.
    for (size_t i = program_.signature.inputs.size(); i-- > 0;) {
      const InputSpec& spec = program_.signature.inputs[i];
      if (spec.kind == InputSpec::Kind::kUser || spec.kind == InputSpec::Kind::kConstant) --user;
      if (spec.kind == InputSpec::Kind::kConstant) {
        graph::bind_input(*result_.graph, i, spec.value);
      } else if (spec.kind == InputSpec::Kind::kUser) {
        const Value* input = block.input(i);
        TORCH_CHECK_VALUE(input->type()->kind() == c10::TypeKind::TensorType && input->info() != nullptr, "input '",
                          input->name(), "' is no tensor of known dtype and dimensions");
        TORCH_CHECK_VALUE(input->info()->layout == c10::Layout::Strided && graph::is_row_major(*input->info()),
                          "input '", input->name(), "' is not a dense row-major tensor");
        roles_.insert(roles_.begin(), Role{input->name(), user, true});
      } else if (changed_.count(spec.target) > 0 || (!program_.functional && spec.kind == InputSpec::Kind::kBuffer)) {
        roles_.insert(roles_.begin(), Role{spec.target, 0, false});
      } else {
        graph::bind_input(*result_.graph, i, state(spec.target).detach());
      }
    }
  }

  // The outputs of a functional program that are new values of its inputs.
  void take_updates() {
    std::vector<Operand> outputs;
    const auto all = result_.graph->block().outputs();
    for (size_t i = 0; i < all.size(); ++i) {
      const OutputSpec& spec = program_.signature.outputs.at(i);
      if (spec.kind == OutputSpec::Kind::kUser) {
        outputs.push_back(all[i]);
        continue;
      }
      const bool user = spec.kind == OutputSpec::Kind::kInputMutation;
      size_t input = 0;
      while (input < roles_.size() && (roles_[input].user != user || roles_[input].name != spec.target)) ++input;
      TORCH_CHECK_VALUE(input < roles_.size(), "the program changes '", spec.target, "', which is none of its inputs");
      updates_.emplace_back(input, all[i]);
    }
    user_outputs_ = std::move(outputs);
  }

  void functionalize() {
    graph::Functionalized made = graph::functionalize(*result_.graph);
    result_.graph = std::move(made.graph);
    note("calls in place", {made.changes, {}});
    graph::propagate_shapes(*result_.graph);
    drop_copies();
    const auto all = result_.graph->block().outputs();
    for (size_t i = 0; i < made.written_inputs.size(); ++i) updates_.emplace_back(made.written_inputs[i], all[i]);
    user_outputs_.assign(all.begin() + static_cast<std::ptrdiff_t>(updates_.size()), all.end());
  }

  // What is copied over all of a tensor of the same form is that tensor.
  void drop_copies() {
    result_.graph->for_nodes([&](Node* node) {
      if (!node->calls("aten::copy") || !node->operand(1).is_value()) return;
      const TensorInfo *const to = node->result()->info(), *const from = node->operand(1).value()->info();
      if (to == nullptr || from == nullptr || to->dtype != from->dtype || !(to->sizes == from->sizes) ||
          !(to->strides == from->strides))
        return;
      node->result()->replace_all_uses_with(node->operand(1));
    });
  }

  // The user's inputs and outputs first, then states and updates; buffers that nothing changes become constants.
  void sort_inputs() {
    Block& block = result_.graph->block();
    std::set<size_t> written;
    for (const auto& update : updates_) {
      TORCH_CHECK_VALUE(written.insert(update.first).second, "the program changes '", roles_[update.first].name,
                        "' twice");
    }
    std::set<std::string> taken;
    std::vector<Operand> outputs = user_outputs_;
    outputs.reserve(outputs.size() + updates_.size());
    for (const auto& update : updates_) outputs.push_back(update.second);
    block.set_outputs(std::move(outputs));
    std::map<size_t, size_t> places;  // of the inputs that stay, where they are now
    for (size_t i = 0; i < roles_.size(); ++i) {
      if (!roles_[i].user) continue;
      places[i] = result_.inputs.size();
      result_.input_places.push_back(roles_[i].place);
      result_.inputs.push_back(identifier(roles_[i].name, "input", taken));
    }
    for (size_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i].user || written.count(i) == 0) continue;
      Value* const old = block.input(i);
      Value* const moved = block.add_input(old->type(), old->name());
      const at::Tensor& model = state(roles_[i].name);
      const at::Tensor initial = at::clone(model.detach(), c10::MemoryFormat::Contiguous);
      moved->set_info(graph::info_of(initial));
      old->replace_all_uses_with(Operand(moved));
      places[i] = result_.inputs.size() + result_.states.size();
      result_.states.push_back({identifier(roles_[i].name, "buffer", taken), model, initial});
    }
    for (size_t i = roles_.size(); i-- > 0;) {
      if (roles_[i].user) continue;
      if (written.count(i) > 0) {
        block.erase_input(i);
      } else {
        graph::bind_input(*result_.graph, i, state(roles_[i].name).detach());
      }
    }
    for (const auto& update : updates_) result_.updates.push_back(places.at(update.first));
  }

  static bool is_tensor(const Operand& output) {
    if (output.is_value()) return output.value()->type()->kind() == c10::TypeKind::TensorType;
    return output.is_constant() && output.constant().isTensor();
  }

  // Each output a dense tensor of its own, or a number.
  void separate_outputs() {
    const Block& block = result_.graph->block();
    const auto clone_op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::clone", "");
    std::set<const Value*> seen;
    std::vector<Operand> outputs;
    for (size_t i = 0; i < block.outputs().size(); ++i) {
      const Operand& output = block.outputs()[i];
      if (!is_tensor(output)) {
        const IntExpr* const number = output.is_value() ? output.value()->expr() : nullptr;
        TORCH_CHECK_VALUE(!output.is_value() || number != nullptr, "a program of which output ", i,
                          " is a number that depends on elements cannot be compiled ahead of time");
        result_.numbers.push_back({i, "", number == nullptr ? output : Operand(*number)});
        continue;
      }
      const Value* value = output.is_value() ? output.value() : nullptr;
      const Node* const node = value != nullptr ? value->node() : nullptr;
      const bool made =
          node != nullptr && (is_part(*node) || (node->kind() == Node::Kind::kCall && !graph::is_view(*node) &&
                                                 !graph::may_return_arguments(node->callable())));
      const bool own =
          made && seen.insert(value).second && value->info() != nullptr && graph::is_row_major(*value->info());
      if (own) {
        outputs.push_back(output);
        continue;
      }
      Node* copy = result_.graph->block().append(result_.graph->call(
          graph::Callable(clone_op), {output, Operand(IValue(static_cast<int64_t>(c10::MemoryFormat::Contiguous)))}));
      outputs.emplace_back(copy->result());
    }
    result_.graph->block().set_outputs(std::move(outputs));
  }

  void check() {
    std::string refused;
    result_.graph->for_nodes([&](const Node* node) {
      if (node->kind() == Node::Kind::kInvoke && result_.parts.count(node->name()) > 0) return;
      const char* why = nullptr;
      if (node->kind() != Node::Kind::kCall && node->kind() != Node::Kind::kUnpack && node->kind() != Node::Kind::kList)
        why = "no call of an operator";
      else if (graph::draws_random_numbers(*node))
        why = "random numbers";
      else if (graph::has_effects(*node))
        why = "effects beside its results";
      else if (!graph::written_operands(*node).empty())
        why = "writes to its arguments";
      for (size_t i = 0; why == nullptr && i < node->result_count(); ++i) {
        const Value* value = node->result(i);
        const auto kind = value->type()->kind();
        if (kind == c10::TypeKind::TensorType && value->info() == nullptr && !value->uses().empty())
          why = "sizes that depend on elements";
        if (kind != c10::TypeKind::TensorType && kind != c10::TypeKind::ListType && value->expr() == nullptr)
          why = "numbers that depend on elements";
      }
      if (why != nullptr) refused += "\n  " + graph::print_node(*node) + ": " + why;
    });
    for (const std::string& note : unknown_) {
      if (!refused.empty()) refused += "\n  " + note;
    }
    TORCH_CHECK_VALUE(refused.empty(), "the program cannot be compiled ahead of time:", refused);
    const Block& block = result_.graph->block();
    for (size_t i = 0; i < result_.updates.size(); ++i) {
      const TensorInfo& before = *block.input(result_.updates[i])->info();
      const TensorInfo* after = block.outputs()[result_.outputs.size() + i].value()->info();
      TORCH_CHECK_VALUE(after != nullptr && after->sizes == before.sizes && after->dtype == before.dtype,
                        "a program that changes the sizes or the dtype of '", block.input(result_.updates[i])->name(),
                        "' cannot be compiled ahead of time");
    }
  }

  // Whether groups compute all of them.
  bool layer_norms_are_rows() const {
    bool all = true;
    result_.graph->for_nodes([&](const Node* node) {
      if (!node->calls("aten::layer_norm")) return;
      const std::optional<compiler::Lowered> lowered = compiler::lower(*node);
      all = all && lowered.has_value() && lowered->row.has_value() && lowered->row->dims == 1 &&
            compiler::register_type(lowered->row->dtype) == lowered->row->dtype;
      for (size_t i = 2; all && i < 4; ++i) {
        const std::optional<TensorInfo> part = compiler::tensor_info(node->operand(i));
        all = !part.has_value() || (part->dtype == lowered->row->dtype && graph::is_row_major(*part));
      }
    });
    return all;
  }

  void fuse_groups() {
    std::set<const Node*> taken;
    for (const auto& [node, last] : result_.fusions.runs_with) taken.insert({node, last});
    result_.groups = find_groups(*result_.graph, taken);
    int64_t nodes = 0;
    for (const ProgramGroup& group : result_.groups.groups) {
      for ([[maybe_unused]] const Node* node : group.part.graph->block()) ++nodes;
    }
    note("operators in groups", {nodes, {}});
  }

  void bound_symbols() {
    std::set<std::string> names;
    const Block& block = result_.graph->block();
    for (size_t i = 0; i < block.input_count(); ++i) {
      for (const IntExpr& size : block.input(i)->info()->sizes) size.collect_symbols(names);
    }
    std::map<std::string, IntRange>& ranges = result_.graph->symbols();
    // Those of numbers that nothing reads any more.
    std::erase_if(ranges, [&](const auto& symbol) { return names.count(symbol.first) == 0; });
    std::string unbound;
    for (const std::string& name : names) {
      IntRange& range = ranges[name];
      range.min = std::max<int64_t>(range.min, 0);
      const auto largest = options_.largest.find(name);
      if (largest != options_.largest.end()) range.max = std::min(range.max, largest->second);
      // torch.export writes no bound as its largest integers.
      if (range.max >= INT64_MAX / 4) unbound += (unbound.empty() ? "" : ", ") + name;
      TORCH_CHECK_VALUE(range.min <= range.max, "symbol ", name, " cannot be at most ", range.max,
                        ": the program is for ", range.min, " and more");
    }
    TORCH_CHECK_VALUE(unbound.empty(), "sizes without an upper bound: ", unbound,
                      "; say how large they may be (largest)");
    for (const auto& [name, largest] : options_.largest) {
      TORCH_CHECK_VALUE(names.count(name) > 0, "the program has no size '", name, "'");
    }
  }

  void name_outputs() {
    std::set<std::string> taken(result_.inputs.begin(), result_.inputs.end());
    for (const ProgramState& state : result_.states) taken.insert(state.name);
    const size_t count = user_outputs_.size();
    auto number = result_.numbers.begin();
    for (size_t i = 0; i < count; ++i) {
      std::string name = identifier(count == 1 ? "output" : "output" + std::to_string(i), "output", taken);
      if (number != result_.numbers.end() && number->place == i) {
        (number++)->name = std::move(name);
      } else {
        result_.outputs.push_back(std::move(name));
      }
    }
  }

  const ExportedProgram& program_;
  const PrepareOptions& options_;
  PreparedProgram result_;
  std::vector<std::string> unknown_;  // why sizes are not known
  std::set<std::string> changed_;     // buffers and parameters
  // What an input of the graph is: a tensor of the user, or a buffer.
  struct Role {
    std::string name;
    size_t place;  // among the user's
    bool user;
  };
  std::vector<Role> roles_;
  std::vector<std::pair<size_t, Operand>> updates_;  // by the input whose value they are
  std::vector<Operand> user_outputs_;
};

}  // namespace

PreparedProgram prepare(const ExportedProgram& program, const PrepareOptions& options) {
  return Preparing(program, options).run();
}

}  // namespace torch::aot
