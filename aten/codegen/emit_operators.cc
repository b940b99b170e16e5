#include <google/protobuf/io/printer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>
#include <set>

#include "aten/codegen/emit.h"

namespace kindling::codegen {
namespace {

const char* bool_text(bool value) {
  return value ? "true" : "false";
}

std::string result_of_moves(const std::vector<std::string>& names) {
  return names.size() == 1 ? names[0] : "{" + joined(names) + "}";
}

std::string out_name(const Operator& op, size_t i) {
  return op.main.schema.returns().size() == 1 ? "out" : "out" + std::to_string(i);
}

// Those of other layouts: functions of the form's own type.
std::string layout_declarations(const Variant& variant) {
  std::string text;
  for (const Kernel& kernel : variant.layout_kernels) {
    // These stand beside those of the CPU, for the same function.
    if (kernel.key() == Kernel::SPARSE_CUDA || kernel.key() == Kernel::QUANTIZED_CUDA) continue;
    text += print("$result$ $kernel$($parameters$);\n", {{"result", variant.signature.result},
                                                         {"kernel", kernel.function()},
                                                         {"parameters", variant.signature.parameters()}});
  }
  return text;
}

// What kernels of `variant` are called with. Of a composition beside a CPU kernel each learns which of the two it is.
std::string declarations(const Variant& variant) {
  std::string text;
  std::string parameters = variant.signature.parameters();
  if (variant.kernel_knows_key()) parameters += (parameters.empty() ? "" : ", ") + std::string("bool as_kernel");
  for (const Kernel& kernel : variant.kernels) {
    if (variant.kernel_knows_key() && kernel.key() == Kernel::COMPOSITE) continue;
    text += print("$result$ $kernel$($parameters$);\n",
                  {{"result", variant.signature.result}, {"kernel", kernel.function()}, {"parameters", parameters}});
  }
  return text;
}

// The shape rule, and the kernels that fill what it described.
std::string structured_declarations(const Operator& op) {
  const size_t results = op.main.schema.returns().size();
  std::string outs;
  for (size_t i = 0; i < results; ++i) outs += ", Tensor& " + out_name(op, i);
  Values values{{"meta", op.entry.meta()},
                {"parameters", op.main.signature.parameters()},
                {"outs", outs},
                {"count", std::to_string(results)}};
  std::string text = print(
      results == 1 ? "TensorSpec $meta$($parameters$);\n" : "std::array<TensorSpec, $count$> $meta$($parameters$);\n",
      values);
  std::set<std::string> functions;
  for (const Kernel& kernel : op.main.kernels) {
    values["kernel"] = kernel.function();
    if (functions.insert(kernel.function()).second) text += print("void $kernel$($parameters$$outs$);\n", values);
  }
  return text;
}

class OperatorEmitter {
 public:
  OperatorEmitter(const Table& table, const Operator& op) : table_(table), op_(op) {}

  std::string emit() {
    for (const Variant* variant : op_.variants()) emit_variant(*variant);
    return std::move(out_);
  }

  // The functions for CUDA tensors, which operator objects name weakly.
  std::string emit_cuda() {
    for (const Variant* variant : op_.variants()) {
      const std::string body = cuda_body(*variant);
      if (body.empty()) continue;
      std::string inputs;
      for (const Param& param : variant->signature.params) {
        if (param.carries_keys) inputs += (inputs.empty() ? "" : ", ") + param.name;
      }
      out_ += print("$result$ $id$($parameters$);\n$result$ $id$($parameters$) {\n$scope$$body$}\n",
                    {{"result", variant->signature.result},
                     {"id", variant->identifier()},
                     {"parameters", variant->signature.parameters()},
                     {"scope", inputs.empty() ? "" : "  const DeviceScope scope(" + inputs + ");\n"},
                     {"body", body}});
    }
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
      std::vector<std::string> functions;
      const auto add = [&](const char* name, const std::string& function) {
        if (!function.empty())
          functions.push_back(print(".$name$ = $function$", {{"name", name}, {"function", function}}));
      };
      add("cpu", cpu);
      add("cuda", cuda);
      add("meta", meta);
      add("autograd", autograd);
      add("forward", forward);
      return "{" + joined(functions) + "}";
    }
  };

  // --- the forms made from kernels ---
  void adapter(const Variant& variant, const std::string& suffix, const std::string& body) {
    out_ += print("static $result$ $id$$suffix$($parameters$) {\n$body$}\n",
                  {{"result", variant.signature.result},
                   {"id", variant.identifier()},
                   {"suffix", suffix},
                   {"parameters", variant.signature.parameters()},
                   {"body", body}});
  }

  // By copies: the kernel gets the arguments after it.
  std::string spec_call() const { return "native::" + op_.entry.meta() + "(" + main_arguments(op_.main) + ")"; }

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

  // A call reaches a backend's function where one of its tensors is there; the CPU's, where all are.
  std::string device_check() const {
    std::string inputs;
    size_t count = 0;
    for (const Param& param : op_.main.signature.params) {
      if (!param.carries_keys || param.is_options || param.type.find("c10::List<") != std::string::npos) continue;
      inputs += (inputs.empty() ? "" : ", ") + param.name;
      count += param.type == "TensorList" ? 2 : 1;
    }
    return count < 2 ? "" : "  structured::check_one_device(" + inputs + ");\n";
  }

  std::string structured_functional(const std::string& kernel) const {
    const size_t results = op_.main.schema.returns().size();
    Values values{{"spec", spec_call()}, {"kernel", kernel}, {"arguments", op_.main.signature.arguments()}};
    std::string body = kernel.empty() ? device_check() : "";
    std::string outs;
    std::vector<std::string> names;
    if (results > 1) body += print("  const auto specs = $spec$;\n", values);
    for (size_t i = 0; i < results; ++i) {
      values["out"] = out_name(op_, i);
      values["i"] = std::to_string(i);
      body +=
          print(results == 1 ? "  Tensor $out$ = empty_spec($spec$);\n" : "  Tensor $out$ = empty_spec(specs[$i$]);\n",
                values);
      outs += ", " + out_name(op_, i);
      names.push_back(results == 1 ? out_name(op_, i) : print("std::move($out$)", values));
    }
    values["outs"] = outs;
    values["results"] = result_of_moves(names);
    if (!kernel.empty()) body += print("  native::$kernel$($arguments$$outs$);\n", values);
    return body + print("  return $results$;\n", values);
  }

  // The out= and in-place forms of a structured operator.
  std::string structured_into(const Variant& variant, const std::string& kernel) const {
    const bool in_place = variant.form == Form::kInplace;
    const bool single = op_.main.schema.returns().size() == 1;
    std::vector<std::string> outs;
    std::string inputs;
    for (const Param& param : variant.signature.params) {
      if (param.is_out || (in_place && param.name == "self")) {
        outs.push_back(param.name);
      } else if (param.carries_keys && !param.is_options) {
        inputs += ", " + param.name;
      }
    }
    Values values{{"meta", op_.entry.meta()},
                  {"kernel", kernel},
                  {"arguments", main_arguments(variant)},
                  {"name", quoted(variant.schema.name())},
                  {"inputs", inputs},
                  {"in_place", bool_text(in_place)},
                  {"element_wise", bool_text(op_.entry.element_wise())}};
    std::string body = kernel.empty() ? device_check() : "";
    body += print(single ? "  const TensorSpec spec = native::$meta$($arguments$);\n"
                         : "  const auto specs = native::$meta$($arguments$);\n",
                  values);
    std::string targets;
    std::string commit;
    for (size_t i = 0; i < outs.size(); ++i) {
      values["out"] = outs[i];
      values["target"] = single ? "written" : "written" + std::to_string(i);
      values["spec"] = single ? "spec" : "specs[" + std::to_string(i) + "]";
      body += print(
          "  structured::Target $target$($name$, $out$, $spec$, structured::overlap($out$$inputs$), $in_place$, "
          "$element_wise$);\n",
          values);
      targets += print(", $target$.tensor()", values);
      commit += print("  $target$.commit();\n", values);
    }
    values["targets"] = targets;
    values["results"] = result_of_moves(outs);
    if (!kernel.empty()) body += print("  native::$kernel$($arguments$$targets$);\n", values) + commit;
    return body + print("  return $results$;\n", values);
  }

  // A call of a kernel of `variant`.
  static std::string call_of(const Variant& variant, const Kernel& kernel, std::string arguments) {
    if (variant.kernel_knows_key()) {
      arguments += (arguments.empty() ? "" : ", ") + std::string(bool_text(kernel.key() != Kernel::COMPOSITE));
    }
    return "native::" + kernel.function() + "(" + arguments + ")";
  }

  // The out= and in-place forms of an operator whose kernel returns its results.
  std::string assign_from(const Variant& variant, const std::string& call) const {
    const bool in_place = variant.form == Form::kInplace;
    std::vector<std::string> outs;
    for (const Param& param : variant.signature.params) {
      if (param.is_out || (in_place && param.name == "self")) outs.push_back(param.name);
    }
    const bool returns = variant.signature.result != "void";
    Values values{{"form", in_place ? "inplace" : "out"},
                  {"name", quoted(variant.schema.name())},
                  {"call", call},
                  {"outs", result_of_moves(outs)},
                  {"return", returns ? "return " : ""}};
    if (variant.calls_functional) values["form"] = "out_of_any_layout";
    if (outs.size() == 1) return print("  $return$structured::assign_$form$($name$, $outs$, $call$);\n", values);
    // All are checked before one is written.
    std::string checks;
    std::string copies;
    for (size_t i = 0; i < outs.size(); ++i) {
      values["out"] = outs[i];
      values["i"] = std::to_string(i);
      checks += print("  structured::prepare_$form$($name$, $out$, std::get<$i$>(results));\n", values);
      copies += print("  copy_($out$, std::get<$i$>(results), false);\n", values);
    }
    const std::string body = print("  const auto results = $call$;\n", values) + checks + copies;
    return returns ? body + print("  return $outs$;\n", values) : body;
  }

  // A call of an operator's object. A factory goes by the device it is asked for, also where one function serves all: a
  // plug-in may have its own.
  static std::string call_of_object(const Variant& variant, const std::string& arguments) {
    Values values{{"id", variant.identifier()}, {"arguments", arguments}};
    const auto& params = variant.signature.params;
    const auto factory =
        std::find_if(params.begin(), params.end(), [](const Param& p) { return p.is_options && p.carries_keys; });
    return print(
        factory == params.end() ? "operators::$id$($arguments$)" : "operators::$id$.call_by_options($arguments$)",
        values);
  }

  // A kernel of its own that writes into its arguments: counts the change.
  std::string count_writes(const Variant& variant, const std::string& function) const {
    std::string marks;
    for (const Param& param : variant.signature.params) {
      if (param.argument >= 0 && !param.is_options && variant.schema.arguments()[param.argument].is_write()) {
        marks += print("  structured::mark_written($name$);\n", {{"name", param.name}});
      }
    }
    const std::string& result = variant.signature.result;
    const Values values{
        {"result", result}, {"function", function}, {"arguments", variant.signature.arguments()}, {"marks", marks}};
    return print(result == "void" ? "  native::$function$($arguments$);\n$marks$"
                                  : "  $result$ result = native::$function$($arguments$);\n$marks$  return result;\n",
                 values);
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
    if (variant.calls_functional) {
      adapter(variant, "_call", assign_from(variant, call_of_object(op_.main, main_arguments(variant))));
      slots.fill("&" + variant.identifier() + "_call", "kComposite");
      return slots;
    }
    if (op_.alias() && variant.kernels.empty()) {
      const char* suffix = variant.form == Form::kOut ? "_outf(" : variant.form == Form::kInplace ? "_(" : "(";
      adapter(variant, "_alias",
              print("  return at::$name$$suffix$$arguments$);\n",
                    {{"name", op_.alias_name()}, {"suffix", suffix}, {"arguments", variant.signature.arguments()}}));
      slots.fill("&" + variant.identifier() + "_alias", "kComposite");
      return slots;
    }
    if (op_.copies()) {
      const std::string target = "at::" + op_.entry.copy_of() + "(", arguments = main_arguments(variant) + ")";
      const std::string& self = op_.main.signature.params[0].name;
      const std::string call =
          op_.changes_copy()
              ? "changed(" + self + ", [&](Tensor& copy) { " + target + "copy" + arguments.substr(self.size()) + "; })"
              : "copied(" + target + arguments + ")";
      adapter(variant, "_copied",
              variant.form == Form::kOut ? assign_from(variant, call) : "  return " + call + ";\n");
      slots.fill("&" + variant.identifier() + "_copied", "kComposite");
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
      // The backends without a kernel of their own.
      everywhere(*kernel, "kAny");
      if (const Kernel* own = variant.kernel(Kernel::CPU)) use(variant, *own, &slots.cpu, "_cpu");
      if (const Kernel* own = variant.kernel(Kernel::META)) use(variant, *own, &slots.meta, "_meta");
    } else if (!variant.kernels.empty() && !(&variant == &op_.main && op_.structured())) {
      if (const Kernel* kernel = variant.kernel(Kernel::CPU)) use(variant, *kernel, &slots.cpu, "_cpu");
      if (const Kernel* kernel = variant.kernel(Kernel::META)) {
        use(variant, *kernel, &slots.meta, "_meta");
      } else if (op_.structured()) {
        adapter(variant, "_meta", structured_into(variant, ""));
        slots.meta = "&" + variant.identifier() + "_meta";
      }
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
        adapter(variant, suffix, assign_from(variant, call_of(op_.main, kernel, main_arguments(variant))));
        return "&" + variant.identifier() + suffix;
      };
      if (const Kernel* kernel = op_.main.kernel(Kernel::COMPOSITE)) {
        slots.fill(derive(*kernel, "_any"), "kComposite");
        if (const Kernel* of_cpu = op_.main.kernel(Kernel::CPU))
          slots.fill_beside_cpu(derive(*of_cpu, "_cpu"), slots.meta);
      } else if (const Kernel* kernel = op_.main.kernel(Kernel::ANY)) {
        slots.fill(derive(*kernel, "_any"), "kAny");
        if (const Kernel* own = op_.main.kernel(Kernel::CPU)) slots.cpu = derive(*own, "_cpu");
        if (const Kernel* own = op_.main.kernel(Kernel::META)) slots.meta = derive(*own, "_meta");
      } else {
        if (const Kernel* kernel = op_.main.kernel(Kernel::CPU)) slots.cpu = derive(*kernel, "_cpu");
        if (const Kernel* kernel = op_.main.kernel(Kernel::META)) slots.meta = derive(*kernel, "_meta");
      }
    }
    return slots;
  }

  // What a form does with CUDA tensors: by a kernel of its own, or by the operator's. Empty where neither is there.
  std::string cuda_body(const Variant& variant) const {
    const bool is_main = &variant == &op_.main;
    const Kernel* const own = is_main && op_.structured() ? nullptr : variant.kernel(Kernel::CUDA);
    if (own != nullptr) {
      if (variant.schema.is_mutable() && !variant.kernel_knows_key()) return count_writes(variant, own->function());
      return "  return " + call_of(variant, *own, variant.signature.arguments()) + ";\n";
    }
    const Kernel* const kernel = op_.main.kernel(Kernel::CUDA);
    if (kernel == nullptr || variant.calls_functional) return "";
    if (!op_.structured()) return assign_from(variant, call_of(op_.main, *kernel, main_arguments(variant)));
    return device_check() +
           (is_main ? structured_functional(kernel->function()) : structured_into(variant, kernel->function()));
  }

  // The function of all backends, for which its slot stands: CUDA tensors get their own, where that is linked.
  std::string beside_cuda(const Variant& variant, const Slots& slots) {
    std::string keys;
    for (const Param& param : variant.signature.params) {
      if (param.carries_keys && !param.is_options)
        keys += (keys.empty() ? "" : " | ") + print("c10::detail::keys_of($name$)", {{"name", param.name}});
    }
    const Values values{{"id", variant.identifier()},
                        {"keys", keys},
                        {"arguments", variant.signature.arguments()},
                        {"shared", slots.cuda.substr(1)}};
    adapter(variant, "_all",
            print("  const bool on_cuda = (($keys$) & c10::DispatchKeySet(c10::DispatchKey::CUDA).raw()) != 0;\n"
                  "  if (on_cuda && cuda_kernels::$id$ != nullptr) return cuda_kernels::$id$($arguments$);\n"
                  "  return $shared$($arguments$);\n",
                  values));
    return "&" + variant.identifier() + "_all";
  }

  // --- functions ---
  void emit_variant(const Variant& variant) {
    const Signature& signature = variant.signature;
    Slots slots = slots_of(variant);
    std::string kind = op_.entry.nondifferentiable() || variant.nondifferentiable ? "kNone" : slots.differentiation;
    if (kind == "kNone") slots.autograd = slots.forward = "";
    Values values{{"id", variant.identifier()},         {"result", signature.result},
                  {"types", signature.types()},         {"parameters", signature.parameters()},
                  {"arguments", signature.arguments()}, {"name", quoted(variant.schema.qualified_name())},
                  {"family", quoted(table_.family)}};
    if (op_.differentiable(variant)) {
      const bool records = variant.form != Form::kOut;
      const char* declaration = "namespace $mode$_kernels {\n[[gnu::weak]] $result$ $id$($parameters$);\n}\n";
      kind = records ? "kRecord" : "kRefuse";
      values["mode"] = "forward";
      out_ += print(declaration, values);
      values["mode"] = "autograd";
      if (records) out_ += print(declaration, values);
      slots.forward = print("&forward_kernels::$id$", values);
      slots.autograd = records ? print("&autograd_kernels::$id$", values) : "";
    }
    if (!cuda_body(variant).empty()) {
      out_ += print("namespace cuda_kernels {\n[[gnu::weak]] $result$ $id$($parameters$);\n}\n", values);
      slots.cuda = slots.kernels == "kPerBackend" ? print("&cuda_kernels::$id$", values) : beside_cuda(variant, slots);
    }
    const bool autocast = has_autocast_kernel(op_) && &variant == &op_.main;
    values["layers"] = "";
    if (autocast || op_.has_layers(variant)) {
      values["layer"] = op_.has_layers(variant) ? "layer" : "autocast";
      out_ += print(
          "namespace $layer$_kernels {\n[[gnu::weak]] extern c10::detail::TypedKernels<$result$ (*)($types$)> "
          "$id$;\n}\n",
          values);
      values["layers"] = print(", &$layer$_kernels::$id$", values);
    }
    values["kernels"] = slots.kernels;
    values["differentiation"] = kind;
    values["slots"] = slots.initialiser();
    // One that is composed of others passes nested tensors on to these, unless it has a function of its own for them.
    const std::vector<Kernel>& layouts = variant.layout_kernels;
    const bool takes_nested = std::any_of(
        layouts.begin(), layouts.end(), [](const Kernel& kernel) { return kernel.key() == Kernel::NESTED_COMPOSITE; });
    values["taken"] = takes_nested && slots.kernels == "kComposite" ? ", c10::nested_ks" : "";
    out_ += print(
        "namespace operators {\nconstinit c10::Operator<$result$($types$)> $id${$name$, $family$,\n"
        "    c10::Kernels::$kernels$, c10::Differentiation::$differentiation$, $slots$$layers$$taken$};\n}\n",
        values);
    if (variant.function) emit_function(variant, values);
    if (variant.method) emit_method(variant, values);
  }

  void emit_function(const Variant& variant, Values values) {
    const Signature& signature = variant.signature;
    const bool is_out = variant.form == Form::kOut;
    values["call"] = call_of_object(variant, signature.arguments());
    for (const Param& param : signature.params) {
      if (!(param.is_options && param.carries_keys)) continue;
      values["options"] = param.name;
      values["call"] = print(
          "C10_LIKELY(c10::detail::is_plain($options$))\n"
          "             ? operators::$id$.call(c10::DispatchKeySet(c10::DispatchKey::CPU).raw(), $arguments$)\n"
          "             : $call$",
          values);
    }
    values["function"] = is_out ? op_.main.schema.name() + "_outf" : variant.schema.name();
    out_ += print("$result$ $function$($parameters$) {\n  return $call$;\n}\n", values);
    if (!is_out) return;
    Signature outs_first = signature;
    const auto first_out =
        std::find_if(outs_first.params.begin(), outs_first.params.end(), [](const Param& p) { return p.is_out; });
    std::rotate(outs_first.params.begin(), first_out, outs_first.params.end());
    values["base"] = op_.main.schema.name();
    values["outs_first"] = outs_first.parameters();
    out_ += print("$result$ $base$_out($outs_first$) {\n  return $function$($arguments$);\n}\n", values);
  }

  void emit_method(const Variant& variant, Values values) {
    const Signature& signature = variant.signature;
    const bool writes_self = !signature.params.empty() && signature.params[0].type == "Tensor&";
    std::vector<std::string> arguments;
    for (const Param& param : signature.params) {
      const bool moved = param.type == "std::optional<Generator>" || param.type == "Storage";
      if (param.name == "self" && param.carries_keys) {
        arguments.emplace_back(writes_self ? "const_cast<Tensor&>(*this)" : "*this");
      } else {
        arguments.push_back(moved ? "std::move(" + param.name + ")" : param.name);
      }
    }
    values["method"] = variant.schema.name();
    values["parameters"] = method_signature(signature).parameters();
    values["arguments"] = joined(arguments);
    values["callee"] = print(variant.function ? "at::$method$" : "operators::$id$", values);
    out_ += print("$result$ Tensor::$method$($parameters$) const {\n  return $callee$($arguments$);\n}\n", values);
  }

  const Table& table_;
  const Operator& op_;
  std::string out_;
};

}  // namespace

std::string file_header(const Table& table) {
  return "// Generated from aten/ops/" + table.family + "/ops.textproto by aten/codegen.\n";
}

std::string list_header(const std::string& text) {
  return text.find("c10::List<") != std::string::npos ? "#include \"c10/value/list.h\"\n" : "";
}

std::string print(const char* text, const Values& values) {
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::Printer printer(&stream, '$');
    printer.Print(values, text);
  }
  return out;
}

std::string joined(const std::vector<std::string>& texts, const char* separator) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) out += (i == 0 ? "" : separator) + texts[i];
  return out;
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

// The types of all arguments of the family.
std::string all_types(const Table& table) {
  std::string types;
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) types += variant->signature.types();
  }
  return types;
}

// `comment(name)` stands above the first function of that name.
template <class F>
std::string functions_with(const Table& table, const F& comment) {
  std::string out = file_header(table) + "#pragma once\n\n#include \"aten/core/tensor.h\"\n" + list_header(all_types(table)) +
                    "\nnamespace at {\n";
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
  return out + emit_int_functions(table) + "\n}  // namespace at\n";
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
                    "#pragma once\n\n#include \"aten/core/tensor.h\"\n#include \"c10/dispatch/operator.h\"\n" +
                    list_header(all_types(table)) + "\nnamespace at::operators {\n\n";
  for (const Operator& op : table.operators) {
    for (const Variant* variant : op.variants()) {
      out += "extern c10::Operator<" + variant->signature.result + "(" + variant->signature.types() + ")> " +
             variant->identifier() + ";\n";
    }
  }
  return out + "\n}  // namespace at::operators\n";
}

std::string emit_kernel_declarations(const Table& table) {
  std::string out =
      file_header(table) +
      "#pragma once\n\n#include <array>\n\n#include \"aten/core/tensor.h\"\n#include \"aten/core/tensor_spec.h\"\n" +
      list_header(all_types(table)) + "\nnamespace at::native {\n";
  for (const Operator& op : table.operators) {
    std::string text = op.structured() ? structured_declarations(op) : declarations(op.main);
    if (op.inplace) text += declarations(*op.inplace);
    if (op.out) text += declarations(*op.out);
    for (const Variant* variant : op.variants()) text += layout_declarations(*variant);
    if (!text.empty()) out += "\n// " + op.main.schema.str() + "\n" + text;
  }
  return out + "\n}  // namespace at::native\n";
}

std::string emit_operators(const Table& table) {
  std::string out = file_header(table);
  out += "#include \"aten/ops/" + table.family + "/ops.h\"\n\n";
  const bool any_layout = std::any_of(table.operators.begin(), table.operators.end(), [](const Operator& op) {
    return op.out.has_value() && op.out->calls_functional;
  });
  out +=
      "#include <array>\n#include <utility>\n\n#include \"aten/core/empty.h\"\n#include \"aten/core/structured" +
      std::string(any_layout ? "_layouts" : "") +
      ".h\"\n"
      "#include \"aten/core/tensor.h\"\n#include \"c10/core/compute_dispatch_key.h\"\n"
      "#include \"c10/dispatch/more_kernels.h\"\n";
  std::set<std::string> included{table.family + "/kernels", table.family + "/operators"};
  for (const Operator& op : table.operators) {
    if (!op.alias_family().empty()) included.insert(op.alias_family() + "/ops");
  }
  bool copies = false, changes = false;
  for (const Operator& op : table.operators) (op.changes_copy() ? changes : copies) |= op.copies();
  if (copies || changes) included.insert("copy/ops");
  for (const std::string& header : included) out += "#include \"aten/ops/" + header + ".h\"\n";
  out += "\nnamespace at {\n";
  if (copies) {
    out += "\n// Views as contiguous tensors of their own.\n"
           "static Tensor copied(const Tensor& view) {\n  return at::clone(view, MemoryFormat::Contiguous);\n}\n"
           "[[maybe_unused]] static std::vector<Tensor> copied(std::vector<Tensor> views) {\n"
           "  for (Tensor& view : views) view = copied(view);\n  return views;\n}\n";
  }
  if (changes) {
    out += "\n// A copy after a change in place.\n"
           "template <class Change>\nstatic Tensor changed(const Tensor& self, const Change& change) {\n"
           "  Tensor copy = at::clone(self);\n  change(copy);\n  return copy;\n}\n";
  }
  for (const Operator& op : table.operators) {
    out += "\n// " + op.main.schema.str() + "\n" + OperatorEmitter(table, op).emit();
  }
  return out + "\n}  // namespace at\n";
}

std::string emit_cuda(const Table& table) {
  std::string out = file_header(table) +
                    "#include <array>\n#include <utility>\n\n#include \"aten/core/device_scope.h\"\n"
                    "#include \"aten/core/empty.h\"\n#include \"aten/core/structured.h\"\n"
                    "#include \"aten/core/tensor.h\"\n#include \"aten/ops/" +
                    table.family + "/kernels.h\"\n\nnamespace at::cuda_kernels {\n";
  for (const Operator& op : table.operators) {
    const std::string functions = OperatorEmitter(table, op).emit_cuda();
    if (!functions.empty()) out += "\n// " + op.main.schema.str() + "\n" + functions;
  }
  return out + "\n}  // namespace at::cuda_kernels\n";
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
    out += emit_int_methods(table);
  }
  return out;
}

std::string emit_operator_families(const std::vector<Table>& tables) {
  std::map<std::string, std::set<std::string>> families;
  for (const Table& table : tables) {
    for (const Operator& op : table.operators) {
      std::string name = op.main.schema.name();
      const bool in_place = name.back() == '_' && name.rfind("__", 0) != 0;
      if (in_place) name.pop_back();
      families[name].insert(table.family);
    }
  }
  std::string out;
  for (const auto& [name, from] : families) {
    out += name;
    for (const std::string& family : from) out += " " + family;
    out += "\n";
  }
  return out;
}

}  // namespace kindling::codegen
