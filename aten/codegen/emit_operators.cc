#include <algorithm>
#include <set>

#include "aten/codegen/emit.h"

namespace kindling::codegen {
namespace {

const char* bool_text(bool value) { return value ? "true" : "false"; }

std::string result_of_moves(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  std::string out = "{";
  for (const std::string& name : names) out += (out.size() > 1 ? ", " : "") + name;
  return out + "}";
}

class OperatorEmitter {
 public:
  OperatorEmitter(const Table& table, const Operator& op) : table_(table), op_(op) {}

  std::string emit() {
    declare_kernels();
    for (const Variant* variant : op_.variants()) emit_variant(*variant);
    return std::move(out_);
  }

 private:
  // The functions of one form, by the names of c10::Operator::Functions; empty: none.
  struct Slots {
    std::string cpu;
    std::string cuda;
    std::string meta;
    std::string autograd;
    std::string forward;
    std::string kernels = "kPerBackend";
    std::string differentiation = "kNone";
    void fill(const std::string& function, const char* kind) {
      cpu = cuda = meta = function;
      kernels = kind;
    }
    // A function for CPU tensors, and `composed` for everything else.
    void fill_beside_cpu(const std::string& of_cpu, const std::string& composed) {
      fill(composed, "kAny");
      cpu = of_cpu;
      autograd = forward = composed;
      differentiation = "kRecord";
    }
    std::string initialiser() const {
      std::string text;
      const auto add = [&](const char* name, const std::string& function) {
        if (!function.empty()) text += (text.empty() ? "." : ", .") + std::string(name) + " = " + function;
      };
      add("cpu", cpu);
      add("cuda", cuda);
      add("meta", meta);
      add("autograd", autograd);
      add("forward", forward);
      return "{" + text + "}";
    }
  };

  // --- kernels ---
  void declare_kernels() {
    std::string text;
    const Signature& main = op_.main.signature;
    if (op_.structured()) {
      const size_t results = op_.main.schema.returns().size();
      const std::string spec = results == 1 ? "TensorSpec" : "std::array<TensorSpec, " + std::to_string(results) + ">";
      text += spec + " " + op_.entry.meta() + "(" + main.parameters() + ");\n";
      for (const Kernel& kernel : op_.main.kernels) {
        text += "void " + kernel.function() + "(" + main.parameters();
        for (size_t i = 0; i < results; ++i) text += ", Tensor& " + out_name(i);
        text += ");\n";
      }
    } else {
      text += declarations(op_.main);
    }
    if (op_.inplace) text += declarations(*op_.inplace);
    if (op_.out) text += declarations(*op_.out);
    if (!text.empty()) out_ += "namespace native {\n" + text + "}\n";
  }

  static std::string declarations(const Variant& variant) {
    std::string text;
    std::string parameters = variant.signature.parameters();
    if (variant.kernel_knows_key()) parameters += (parameters.empty() ? "" : ", ") + std::string("bool on_cpu");
    for (const Kernel& kernel : variant.kernels) {
      if (variant.kernel_knows_key() && kernel.key() == Kernel::COMPOSITE) continue;
      text += variant.signature.result + " " + kernel.function() + "(" + parameters + ");\n";
    }
    return text;
  }

  std::string out_name(size_t i) const {
    return op_.main.schema.returns().size() == 1 ? "out" : "out" + std::to_string(i);
  }

  // --- the forms made from kernels ---
  void adapter(const Variant& variant, const std::string& suffix, const std::string& body) {
    out_ += "static " + variant.signature.result + " " + variant.identifier() + suffix + "(" + variant.signature.parameters() +
            ") {\n" + body + "}\n";
  }

  std::string spec_call() const { return "native::" + op_.entry.meta() + "(" + op_.main.signature.arguments() + ")"; }

  // Arguments of the main form as they are named in `variant`.
  std::string main_arguments(const Variant& variant) const {
    std::string text;
    std::string first_out;
    for (const Param& param : variant.signature.params) {
      if (param.is_out && first_out.empty()) first_out = param.type == "TensorList" ? param.name + "[0]" : param.name;
    }
    for (const Param& param : op_.main.signature.params) {
      const bool present = std::any_of(variant.signature.params.begin(), variant.signature.params.end(),
                                       [&](const Param& other) { return other.name == param.name; });
      if (!text.empty()) text += ", ";
      text += present ? param.name : param.is_options ? first_out + ".options()" : "std::nullopt";
    }
    return text;
  }

  std::string structured_functional(const std::string& kernel) const {
    const size_t results = op_.main.schema.returns().size();
    std::string body;
    std::vector<std::string> names;
    if (results == 1) {
      body = "  Tensor out = empty_spec(" + spec_call() + ");\n";
      names.push_back("out");
    } else {
      body = "  const auto specs = " + spec_call() + ";\n";
      for (size_t i = 0; i < results; ++i) {
        body += "  Tensor " + out_name(i) + " = empty_spec(specs[" + std::to_string(i) + "]);\n";
        names.push_back("std::move(" + out_name(i) + ")");
      }
    }
    if (!kernel.empty()) {
      body += "  native::" + kernel + "(" + op_.main.signature.arguments();
      for (size_t i = 0; i < results; ++i) body += ", " + out_name(i);
      body += ");\n";
    }
    return body + "  return " + result_of_moves(names) + ";\n";
  }

  // The out= and in-place forms of a structured operator.
  std::string structured_into(const Variant& variant, const std::string& kernel) const {
    const bool in_place = variant.form == Form::kInplace;
    const size_t results = op_.main.schema.returns().size();
    std::vector<std::string> outs;
    std::string inputs;
    for (const Param& param : variant.signature.params) {
      if (param.is_out || (in_place && param.name == "self")) {
        outs.push_back(param.name);
      } else if (param.carries_keys && !param.is_options) {
        inputs += ", " + param.name;
      }
    }
    std::string body = results == 1 ? "  const TensorSpec spec = " : "  const auto specs = ";
    body += "native::" + op_.entry.meta() + "(" + main_arguments(variant) + ");\n";
    std::string call = "native::" + kernel + "(" + main_arguments(variant);
    std::string commit;
    for (size_t i = 0; i < outs.size(); ++i) {
      const std::string target = results == 1 ? "target" : "target" + std::to_string(i);
      body += "  structured::Target " + target + "(" + quoted(variant.schema.name()) + ", " + outs[i] + ", " +
              (results == 1 ? "spec" : "specs[" + std::to_string(i) + "]") + ", structured::overlap(" + outs[i] + inputs + "), " +
              bool_text(in_place) + ", " + bool_text(op_.entry.element_wise()) + ");\n";
      call += ", " + target + ".tensor()";
      commit += "  " + target + ".commit();\n";
    }
    if (!kernel.empty()) body += "  " + call + ");\n" + commit;
    return body + "  return " + result_of_moves(outs) + ";\n";
  }

  // A call of a kernel of `variant`.
  static std::string call_of(const Variant& variant, const Kernel& kernel, std::string arguments) {
    if (variant.kernel_knows_key()) {
      arguments += (arguments.empty() ? "" : ", ") + std::string(bool_text(kernel.key() == Kernel::CPU));
    }
    return "native::" + kernel.function() + "(" + arguments + ")";
  }

  // The out= and in-place forms of an operator whose kernel returns its results.
  std::string assign_from(const Variant& variant, const Kernel& kernel) const {
    const bool in_place = variant.form == Form::kInplace;
    const std::string assign = in_place ? "structured::assign_inplace(" : "structured::assign_out(";
    const std::string name = quoted(variant.schema.name());
    const std::string call = call_of(op_.main, kernel, main_arguments(variant));
    std::vector<std::string> outs;
    for (const Param& param : variant.signature.params) {
      if (param.is_out || (in_place && param.name == "self")) outs.push_back(param.name);
    }
    const std::string result = variant.signature.result;
    if (outs.size() == 1) {
      const std::string assignment = assign + name + ", " + outs[0] + ", " + call + ");\n";
      return result == "void" ? "  " + assignment : "  return " + assignment;
    }
    // All are checked before one is written.
    const std::string prepare = in_place ? "structured::prepare_inplace(" : "structured::prepare_out(";
    std::string body = "  const auto results = " + call + ";\n", copies;
    for (size_t i = 0; i < outs.size(); ++i) {
      const std::string from = "std::get<" + std::to_string(i) + ">(results)";
      body += "  " + prepare + name + ", " + outs[i] + ", " + from + ");\n";
      copies += "  copy_(" + outs[i] + ", " + from + ", false);\n";
    }
    body += copies;
    return result == "void" ? body : body + "  return " + result_of_moves(outs) + ";\n";
  }

  // A kernel of its own that writes into its arguments: counts the change.
  std::string count_writes(const Variant& variant, const std::string& function) const {
    std::string marks;
    for (const Param& param : variant.signature.params) {
      if (param.argument >= 0 && !param.is_options && variant.schema.arguments()[param.argument].is_write()) {
        marks += "  structured::mark_written(" + param.name + ");\n";
      }
    }
    const std::string call = "native::" + function + "(" + variant.signature.arguments() + ");\n";
    const std::string& result = variant.signature.result;
    if (result == "void") return "  " + call + marks;
    if (result.back() == '&') return "  " + result + " result = " + call + marks + "  return result;\n";
    return "  " + result + " result = " + call + marks + "  return result;\n";
  }

  void use(const Variant& variant, const Kernel& kernel, std::string* slot, const std::string& suffix) {
    if (variant.kernel_knows_key()) {
      adapter(variant, suffix, "  return " + call_of(variant, kernel, variant.signature.arguments()) + ";\n");
      *slot = "&" + variant.identifier() + suffix;
      return;
    }
    if (!variant.schema.is_mutable() || kernel.key() == Kernel::COMPOSITE) {
      *slot = "&native::" + kernel.function();
      return;
    }
    adapter(variant, suffix, count_writes(variant, kernel.function()));
    *slot = "&" + variant.identifier() + suffix;
  }

  Slots slots_of(const Variant& variant) {
    Slots slots;
    if (op_.alias() && variant.kernels.empty()) {
      const char* suffix = variant.form == Form::kOut ? "_outf(" : variant.form == Form::kInplace ? "_(" : "(";
      adapter(variant, "_alias", "  return at::" + op_.alias_name() + suffix + variant.signature.arguments() + ");\n");
      slots.fill("&" + variant.identifier() + "_alias", "kComposite");
      return slots;
    }
    const auto everywhere = [&](const Kernel& kernel, const char* kind) {
      std::string slot;
      use(variant, kernel, &slot, "_any");
      slots.fill(slot, kind);
    };
    if (const Kernel* kernel = variant.kernel(Kernel::COMPOSITE)) {
      everywhere(*kernel, "kComposite");
      if (const Kernel* of_cpu = variant.kernel(Kernel::CPU)) {
        std::string slot;
        use(variant, *of_cpu, &slot, "_cpu");
        slots.fill_beside_cpu(slot, slots.meta);
      }
    } else if (const Kernel* kernel = variant.kernel(Kernel::ANY)) {
      everywhere(*kernel, "kAny");
    } else if (!variant.kernels.empty() && !(&variant == &op_.main && op_.structured())) {
      if (const Kernel* kernel = variant.kernel(Kernel::CPU)) use(variant, *kernel, &slots.cpu, "_cpu");
      if (const Kernel* kernel = variant.kernel(Kernel::META)) use(variant, *kernel, &slots.meta, "_meta");
    } else if (op_.structured() && op_.has_kernel()) {
      const bool functional = &variant == &op_.main;
      const auto body = [&](const std::string& kernel) {
        return functional ? structured_functional(kernel) : structured_into(variant, kernel);
      };
      if (const Kernel* kernel = op_.main.kernel(Kernel::CPU)) {
        adapter(variant, "_cpu", body(kernel->function()));
        slots.cpu = "&" + variant.identifier() + "_cpu";
      }
      adapter(variant, "_meta", body(""));
      slots.meta = "&" + variant.identifier() + "_meta";
    } else if (&variant != &op_.main) {
      const auto derive = [&](const Kernel& kernel, const std::string& suffix) {
        adapter(variant, suffix, assign_from(variant, kernel));
        return "&" + variant.identifier() + suffix;
      };
      if (const Kernel* kernel = op_.main.kernel(Kernel::COMPOSITE)) {
        slots.fill(derive(*kernel, "_any"), "kComposite");
        if (const Kernel* of_cpu = op_.main.kernel(Kernel::CPU)) slots.fill_beside_cpu(derive(*of_cpu, "_cpu"), slots.meta);
      } else if (const Kernel* kernel = op_.main.kernel(Kernel::ANY)) {
        slots.fill(derive(*kernel, "_any"), "kAny");
      } else {
        if (const Kernel* kernel = op_.main.kernel(Kernel::CPU)) slots.cpu = derive(*kernel, "_cpu");
        if (const Kernel* kernel = op_.main.kernel(Kernel::META)) slots.meta = derive(*kernel, "_meta");
      }
    }
    return slots;
  }

  // --- functions ---
  void emit_variant(const Variant& variant) {
    const std::string id = variant.identifier();
    const Signature& signature = variant.signature;
    Slots slots = slots_of(variant);
    std::string kind = slots.differentiation;
    if (op_.entry.nondifferentiable() || variant.nondifferentiable) {
      kind = "kNone";
      slots.autograd = slots.forward = "";
    }
    if (op_.differentiable(variant)) {
      kind = variant.form == Form::kOut ? "kRefuse" : "kRecord";
      out_ += "namespace forward_kernels {\n[[gnu::weak]] " + signature.result + " " + id + "(" + signature.parameters() + ");\n}\n";
      slots.forward = "&forward_kernels::" + id;
      if (kind == "kRecord") {
        out_ += "namespace autograd_kernels {\n[[gnu::weak]] " + signature.result + " " + id + "(" + signature.parameters() +
                ");\n}\n";
        slots.autograd = "&autograd_kernels::" + id;
      } else {
        slots.autograd = "";
      }
    }
    out_ += "namespace operators {\nconstinit c10::Operator<" + signature.result + "(" + signature.types() + ")> " + id + "{" +
            quoted(variant.schema.qualified_name()) + ", " + quoted(table_.family) + ",\n    c10::Kernels::" + slots.kernels +
            ", c10::Differentiation::" + kind + ", " + slots.initialiser() + "};\n}\n";

    std::string call = "operators::" + id + "(" + signature.arguments() + ")";
    for (const Param& param : signature.params) {
      // A factory goes by the device it is asked for, also where one function serves all: a plug-in may have its own.
      const bool by_device = param.is_options && param.carries_keys;
      if (by_device) {
        const std::string arguments = signature.arguments() + ")";
        call = "C10_LIKELY(c10::detail::is_plain(" + param.name + "))\n             ? operators::" + id +
               ".call(c10::DispatchKeySet(c10::DispatchKey::CPU).raw(), " + arguments + "\n             : operators::" + id +
               ".call_by_options(" + arguments;
      }
    }
    if (variant.function) {
      const std::string suffix = variant.form == Form::kOut ? "_outf" : "";
      const std::string name = variant.form == Form::kOut ? op_.main.schema.name() : variant.schema.name();
      out_ += signature.result + " " + name + suffix + "(" + signature.parameters() + ") {\n  return " + call + ";\n}\n";
      if (variant.form == Form::kOut) {
        Signature outs_first = signature;
        const auto first_out = std::find_if(outs_first.params.begin(), outs_first.params.end(), [](const Param& p) { return p.is_out; });
        std::rotate(outs_first.params.begin(), first_out, outs_first.params.end());
        out_ += signature.result + " " + name + "_out(" + outs_first.parameters() + ") {\n  return " + name + "_outf(" +
                signature.arguments() + ");\n}\n";
      }
      call = name + suffix + "(" + signature.arguments() + ")";
    }
    if (variant.method) {
      const bool writes_self = !signature.params.empty() && signature.params[0].type == "Tensor&";
      out_ += signature.result + " Tensor::" + variant.schema.name() + "(" + method_signature(signature).parameters() +
              ") const {\n";
      std::string arguments;
      for (const Param& param : signature.params) {
        if (!arguments.empty()) arguments += ", ";
        const bool self = param.name == "self" && param.carries_keys;
        arguments += !self ? (param.type == "std::optional<Generator>" || param.type == "Storage" ? "std::move(" + param.name + ")" : param.name)
                     : writes_self ? "const_cast<Tensor&>(*this)" : "*this";
      }
      const std::string callee = variant.function ? "at::" + variant.schema.name() : "operators::" + id;
      out_ += "  return " + callee + "(" + arguments + ");\n}\n";
    }
  }

  const Table& table_;
  const Operator& op_;
  std::string out_;
};

}  // namespace

std::string file_header(const Table& table) {
  return "// Generated from aten/ops/" + table.family + "/ops.textproto by aten/codegen.\n";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

Signature method_signature(const Signature& signature) {
  Signature method = signature;
  const auto self = std::find_if(method.params.begin(), method.params.end(),
                                 [](const Param& param) { return param.name == "self" && param.carries_keys; });
  if (self != method.params.end()) method.params.erase(self);
  return method;
}

namespace {

// `comment(name)` stands above the first function of that name.
template <class F>
std::string functions_with(const Table& table, const F& comment) {
  std::string out = file_header(table) + "#pragma once\n\n#include \"aten/core/tensor.h\"\n\nnamespace at {\n";
  std::set<std::string> described;
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) {
      if (!variant->function) continue;
      if (described.insert(op.main.schema.name()).second) {
        const std::string text = comment(op.main.schema.name());
        if (!text.empty()) out += "\n" + text;
      }
      const Signature& signature = variant->signature;
      if (variant->form == Form::kOut) {
        const std::string& name = op.main.schema.name();
        out += signature.result + " " + name + "_out(" + signature.declaration(true) + ");\n";
        out += signature.result + " " + name + "_outf(" + signature.parameters() + ");\n";
      } else {
        out += signature.result + " " + variant->schema.name() + "(" + signature.declaration(false) + ");\n";
      }
    }
  }
  return out + "\n}  // namespace at\n";
}

}  // namespace

std::string emit_functions(const Table& table) {
  return functions_with(table, [](const std::string&) { return std::string(); });
}

std::string emit_documented_functions(const Table& table, const Evidence& evidence) {
  return functions_with(table, [&](const std::string& name) { return doc_comment(table, name, evidence); });
}

std::string emit_operator_declarations(const Table& table) {
  std::string out = file_header(table) +
                    "#pragma once\n\n#include \"aten/core/tensor.h\"\n#include \"c10/dispatch/operator.h\"\n\nnamespace "
                    "at::operators {\n\n";
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) {
      out += "extern c10::Operator<" + variant->signature.result + "(" + variant->signature.types() + ")> " +
             variant->identifier() + ";\n";
    }
  }
  return out + "\n}  // namespace at::operators\n";
}

std::string emit_operators(const Table& table) {
  std::string out = file_header(table);
  out += "#include \"aten/ops/" + table.family + "/ops.h\"\n\n";
  out +=
      "#include <array>\n#include <utility>\n\n#include \"aten/core/empty.h\"\n#include \"aten/core/structured.h\"\n"
      "#include \"aten/core/tensor.h\"\n#include \"c10/core/compute_dispatch_key.h\"\n";
  std::set<std::string> included{table.family + "/operators"};
  for (const Operator& op : table.operators) {
    if (!op.alias_family().empty()) included.insert(op.alias_family() + "/ops");
  }
  for (const std::string& header : included) out += "#include \"aten/ops/" + header + ".h\"\n";
  out += "\nnamespace at {\n";
  for (const Operator& op : table.operators) {
    out += "\n// " + op.main.schema.str() + "\n" + OperatorEmitter(table, op).emit();
  }
  return out + "\n}  // namespace at\n";
}

std::string emit_methods(const std::vector<Table>& tables) {
  std::string out = "// Generated from the operator tables by aten/codegen: the methods of Tensor.\n";
  for (const Table& table : tables) {
    out += "\n// --- aten/ops/" + table.family + " ---\n";
    for (const Operator& op : table.operators) {
      for (const Variant* variant : op.variants()) {
        if (!variant->method) continue;
        out += variant->signature.result + " " + variant->schema.name() + "(" +
               method_signature(variant->signature).declaration(false) + ") const;\n";
      }
    }
  }
  return out;
}

}  // namespace kindling::codegen
