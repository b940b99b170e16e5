#include "export/exported_program.h"

#include <mutex>

#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "graph/interpreter/interpreter.h"

namespace torch {

using c10::IValue;

// At the first run.
struct ExportedProgram::Prepared {
  std::once_flag once;
  std::optional<graph::Interpreter> interpreter;
};

ExportedProgram::ExportedProgram() : prepared_(std::make_unique<Prepared>()) {}
ExportedProgram::~ExportedProgram() = default;
ExportedProgram::ExportedProgram(ExportedProgram&&) noexcept = default;
ExportedProgram& ExportedProgram::operator=(ExportedProgram&&) noexcept = default;

namespace {

bool same_constant(const IValue& a, const IValue& b) {
  if (a.isNone() || b.isNone()) return a.isNone() && b.isNone();
  if (a.isString() || b.isString()) return a.isString() && b.isString() && a.toStringRef() == b.toStringRef();
  if (a.isBool() != b.isBool() || a.isInt() != b.isInt()) return false;
  if (a.isBool()) return a.toBool() == b.toBool();
  if (a.isInt()) return a.toInt() == b.toInt();
  return a.isDouble() && b.isDouble() && a.toDouble() == b.toDouble();
}

// Sizes that are fixed, and the ranges of those that are symbols.
void check_input(const graph::Graph& graph, const graph::Value& declared, const IValue& value, size_t number,
                 std::map<std::string, int64_t>& symbols) {
  const graph::TensorInfo* info = declared.info();
  if (info == nullptr) return;
  TORCH_CHECK_VALUE(value.isTensor(), "input ", number, ": expected a tensor, but got ", value.tagKind());
  const at::Tensor t = value.toTensor();
  TORCH_CHECK_VALUE(t.scalar_type() == info->dtype, "input ", number, ": expected a tensor of dtype ", info->dtype,
                    ", but got ", t.scalar_type());
  TORCH_CHECK_VALUE(t.dim() == static_cast<int64_t>(info->sizes.size()), "input ", number, ": expected a tensor of ",
                    info->sizes.size(), " dimensions, but got sizes ", t.sizes());
  for (size_t d = 0; d < info->sizes.size(); ++d) {
    const graph::IntExpr& size = info->sizes[d];
    const int64_t got = t.sizes()[d];
    if (size.kind() == graph::IntExpr::Kind::kSymbol) {
      const auto [known, fresh] = symbols.emplace(size.name(), got);
      TORCH_CHECK_VALUE(known->second == got, "input ", number, ": expected size ", known->second, " in dimension ", d,
                        ", which other inputs have as ", size.name(), ", but got sizes ", t.sizes());
      const auto range = graph.symbols().find(size.name());
      TORCH_CHECK_VALUE(range == graph.symbols().end() || range->second.contains(got), "input ", number,
                        ": expected a size of ", range->second.min, " to ", range->second.max, " in dimension ", d,
                        ", but got sizes ", t.sizes());
    } else if (size.is_constant()) {
      TORCH_CHECK_VALUE(size.value() == got, "input ", number, ": expected size ", size.value(), " in dimension ", d,
                        ", but got sizes ", t.sizes());
    }
  }
}

// Of sizes like 2*s0, once all symbols are known.
void check_computed_sizes(const graph::Value& declared, const IValue& value, size_t number,
                          const std::map<std::string, int64_t>& symbols) {
  const graph::TensorInfo* info = declared.info();
  if (info == nullptr) return;
  for (size_t d = 0; d < info->sizes.size(); ++d) {
    const graph::IntExpr& size = info->sizes[d];
    if (size.is_constant() || size.kind() == graph::IntExpr::Kind::kSymbol) continue;
    std::set<std::string> names;
    size.collect_symbols(names);
    bool known = true;
    for (const std::string& name : names) known = known && symbols.count(name) > 0;
    if (!known) continue;
    const int64_t expected = size.evaluate(symbols), got = value.toTensor().sizes()[d];
    TORCH_CHECK_VALUE(expected == got, "input ", number, ": expected size ", expected, " (", size.str(),
                      ") in dimension ", d, ", but got sizes ", value.toTensor().sizes());
  }
}

}  // namespace

std::vector<IValue> ExportedProgram::run(std::vector<IValue> inputs) const {
  std::call_once(prepared_->once, [&] { prepared_->interpreter.emplace(*graph); });
  const auto stored = [&](const std::string& name) -> const at::Tensor& {
    const auto state = state_dict.find(name);
    if (state != state_dict.end()) return state->second;
    const auto constant = constants.find(name);
    TORCH_CHECK_INDEX(constant != constants.end(), "the program has no tensor '", name, "'");
    return constant->second;
  };
  const graph::Block& block = graph->block();
  c10::Stack stack;
  std::map<std::string, IValue> by_name;  // user inputs
  std::map<std::string, int64_t> symbols;
  size_t next = 0;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const InputSpec& spec = signature.inputs[i];
    switch (spec.kind) {
      case InputSpec::Kind::kUser:
      case InputSpec::Kind::kConstant: {
        TORCH_CHECK_VALUE(next < inputs.size(), "expected more than ", inputs.size(), " inputs");
        const IValue& given = inputs[next++];
        if (spec.kind == InputSpec::Kind::kConstant) {
          TORCH_CHECK_VALUE(same_constant(given, spec.value), "input ", next - 1,
                            " was a constant when the program was made, and has another value now");
        } else {
          check_input(*graph, *block.input(i), given, next - 1, symbols);
          by_name[block.input(i)->name()] = given;
        }
        stack.push_back(given);
        break;
      }
      default:
        stack.emplace_back(stored(spec.target));
    }
  }
  TORCH_CHECK_VALUE(next == inputs.size(), "expected ", next, " inputs, but got ", inputs.size());
  for (size_t i = 0, user = 0; i < signature.inputs.size(); ++i) {
    const InputSpec::Kind kind = signature.inputs[i].kind;
    if (kind != InputSpec::Kind::kUser && kind != InputSpec::Kind::kConstant) continue;
    if (kind == InputSpec::Kind::kUser) check_computed_sizes(*block.input(i), inputs[user], user, symbols);
    ++user;
  }
  (*prepared_->interpreter)(stack);

  std::vector<IValue> results;
  for (size_t i = 0; i < stack.size(); ++i) {
    const OutputSpec& spec = signature.outputs.at(i);
    switch (spec.kind) {
      case OutputSpec::Kind::kUser:
      case OutputSpec::Kind::kLoss:
        results.push_back(std::move(stack[i]));
        break;
      case OutputSpec::Kind::kBufferMutation:
      case OutputSpec::Kind::kParameterMutation:
      case OutputSpec::Kind::kInputMutation: {
        at::Tensor target =
            spec.kind == OutputSpec::Kind::kInputMutation ? by_name.at(spec.target).toTensor() : stored(spec.target);
        const c10::NoGradGuard no_grad;
        at::copy_(target, stack[i].toTensor());
        break;
      }
      case OutputSpec::Kind::kParameterGradient:
      case OutputSpec::Kind::kInputGradient:
        results.push_back(std::move(stack[i]));
        break;
    }
  }
  return results;
}

IValue ExportedProgram::operator()(std::vector<IValue> args, std::vector<std::pair<std::string, IValue>> kwargs) const {
  const c10::impl::GenericDict named(c10::AnyType::get(), c10::AnyType::get());
  for (auto& [name, value] : kwargs) named.insert_or_assign(name, value);
  const IValue all =
      c10::ivalue::Tuple::create(std::vector<IValue>{c10::ivalue::Tuple::create(std::move(args)), named});
  return out_spec.unflatten(run(in_spec.flatten(all, "the arguments")));
}

}  // namespace torch
