#include <algorithm>

#include "aten/codegen/emit.h"

// What autocast does with the calls of operators that have a policy.
namespace kindling::codegen {
namespace {

// What a kernel starts with, by its policy: `casts` then holds the arguments' type.
const char* opening(const std::string& policy) {
  if (policy == "LOWER_PRECISION_FP")
    return "  const autocast::Casts casts = autocast::Casts::lower_precision($device$);\n";
  if (policy == "PROMOTE") return "  const autocast::Casts casts = autocast::Casts::widest($device$$tensors$);\n";
  return "  const autocast::Casts casts = autocast::Casts::to_float($device$);\n";
}

bool is_cast(const Param& param) {
  return param.carries_keys && !param.is_options && param.type.find("c10::List<") == std::string::npos;
}

std::string arguments(const Operator& op, bool cast, const std::string& dtype) {
  std::vector<std::string> texts;
  for (const Param& param : op.main.signature.params) {
    Signature single;
    single.params.push_back(param);
    std::string text = single.arguments();
    if (cast && is_cast(param)) text = "casts(" + param.name + ")";
    if (!dtype.empty() && param.name == "dtype") text = dtype;
    texts.push_back(text);
  }
  return joined(texts);
}

std::string kernel(const Table& table, const Operator& op, const std::string& policy, const char* device) {
  const Signature& signature = op.main.signature;
  Values values{{"id", op.main.identifier()},
                {"name", quoted(op.main.schema.name())},
                {"result", signature.result},
                {"parameters", signature.parameters()},
                {"device", "kCPU"},
                {"key", device},
                {"tensors", ""},
                {"first", ""}};
  if (device != std::string("CPU")) values["device"] = "kCUDA";
  for (const Param& param : signature.params) {
    if (!is_cast(param)) continue;
    if (values["first"].empty()) values["first"] = param.name;
    values["tensors"] += ", " + param.name;
  }
  values["suffix"] = device == std::string("CPU") ? "_cpu" : "_cuda";
  std::string text = print("$result$ $id$$suffix$($parameters$) {\n", values);
  if (policy == "BANNED") return text + print("  autocast::throw_banned($name$);\n}\n", values);
  text += print(opening(policy), values);
  values["callee"] = op.main.identifier();
  values["arguments"] = arguments(op, true, "");
  if (policy == "FP32_SET_OPT_DTYPE") {
    values["arguments"] = arguments(op, false, "casts.or_type(dtype, " + values["first"] + ")");
  } else if (policy == "FP32_APPEND_DTYPE") {
    values["callee"] = overload_with_dtype(table, op)->main.identifier();
    values["arguments"] = arguments(op, false, "") + ", casts.type_for(" + values["first"] + ")";
  }
  return text + print("  return operators::$callee$($arguments$);\n}\n", values);
}

void declare(const Operator& op, std::string* out) {
  *out +=
      print("[[gnu::weak]] extern c10::Operator<$result$($types$)> $id$;\n",
            {{"result", op.main.signature.result}, {"types", op.main.signature.types()}, {"id", op.main.identifier()}});
}

}  // namespace

bool has_autocast_kernel(const Operator& op) {
  return op.entry.has_autocast() && op.has_kernel();
}

std::string emit_autocast(const Table& table) {
  std::string declarations, kernels, named, objects;
  for (const Operator& op : table.operators) {
    if (!has_autocast_kernel(op)) continue;
    declare(op, &declarations);
    Values values{
        {"id", op.main.identifier()}, {"result", op.main.signature.result}, {"types", op.main.signature.types()}};
    std::string set;
    // With kernels of layouts the constant is that of layers.cc, which names these by weak symbols.
    const bool shared = op.has_layers(op.main);
    const auto add = [&](const std::string& policy, const char* device) {
      if (policy.empty()) return;
      if (policy == "FP32_APPEND_DTYPE") declare(*overload_with_dtype(table, op), &declarations);
      (shared ? named : kernels) += kernel(table, op, policy, device);
      values["device"] = device;
      values["suffix"] = device == std::string("CPU") ? "_cpu" : "_cuda";
      set += print(".set(c10::DispatchKey::Autocast$device$, &$id$$suffix$)", values);
    };
    add(op.entry.autocast().cpu(), "CPU");
    add(op.entry.autocast().cuda(), "CUDA");
    values["set"] = set;
    if (shared) continue;
    objects +=
        print("constinit c10::detail::TypedKernels<$result$ (*)($types$)> $id$ = c10::detail::TypedKernels<$result$ (*)($types$)>()$set$;\n", values);
  }
  std::string out =
      file_header(table) +
      "#include <array>\n#include <tuple>\n#include <vector>\n\n#include \"aten/autocast/casts.h\"\n"
      "#include \"aten/core/tensor.h\"\n#include \"c10/dispatch/more_kernels.h\"\n" +
      list_header(declarations + kernels + objects);
  out += "\nnamespace at::operators {\n" + declarations + "}  // namespace at::operators\n";
  out += "\nnamespace at::autocast_kernels {\n";
  out += "\nnamespace {\n" + kernels + "}  // namespace\n\n" + named + objects + "\n";
  return out + "}  // namespace at::autocast_kernels\n";
}

}  // namespace kindling::codegen
