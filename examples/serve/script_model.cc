#include <algorithm>

#include "c10/dispatch/function_schema.h"
#include "c10/util/exception.h"
#include "examples/serve/loading.h"
#include "export/torchscript/load.h"
#include "jit/api/jit_exception.h"
#include "jit/api/module.h"

namespace serve {

using c10::IValue;

namespace {

// Of an argument that is declared as a tensor or number, or one of these that may be left out; nothing for others.
std::optional<TensorSpec> spec_of(const c10::Argument& argument) {
  TensorSpec spec;
  spec.name = argument.name();
  c10::TypePtr type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) {
    spec.optional = true;
    type = optional->getElementType();
  }
  spec.optional = spec.optional || argument.default_value().has_value();
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return spec;
    case c10::TypeKind::IntType:
      spec.kind = TensorSpec::Kind::kInt;
      spec.dtype = c10::ScalarType::Long;
      break;
    case c10::TypeKind::FloatType:
      spec.kind = TensorSpec::Kind::kFloat;
      spec.dtype = c10::ScalarType::Double;
      break;
    case c10::TypeKind::BoolType:
      spec.kind = TensorSpec::Kind::kBool;
      spec.dtype = c10::ScalarType::Bool;
      break;
    default:
      return std::nullopt;
  }
  spec.sizes.emplace();
  return spec;
}

class ScriptModel final : public Model {
 public:
  ScriptModel(const std::string& path, const Signature* signature) : module_(torch::jit::load(path)) {
    module_.eval();
    info_.format = "TorchScript";
    info_.path = path;
    const torch::jit::Method forward = module_.get_method("forward");
    read_inputs(forward.function().getSchema());
    if (signature != nullptr) declare(*signature);
    read_outputs(forward.function().getSchema());
    if (const auto graph = forward.graph()) info_.graph_svg = picture_of(*with_sizes(*graph));
    if (signature == nullptr) {
      try_batches(info_, nullptr);  // says what is not declared
      return;
    }
    // A trial may change what the module holds, and not every module can be copied.
    torch::jit::Module other = torch::jit::load(path);
    other.eval();
    try_batches(info_, [&](std::vector<at::Tensor> inputs) { return run_module(other, inputs); });
  }

  std::vector<NamedTensor> run(std::vector<at::Tensor> inputs) override { return run_module(module_, inputs); }

 private:
  std::vector<NamedTensor> run_module(torch::jit::Module& module, const std::vector<at::Tensor>& inputs) const {
    std::vector<IValue> arguments;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::optional<IValue>& usual = defaults_[i];
      arguments.push_back(
          !inputs[i].defined() && usual.has_value() ? *usual : argument_of(info_.signature.inputs[i], inputs[i]));
    }
    return translated([&] {
      IValue result;
      try {
        result = module(std::move(arguments));
      } catch (const c10::Error&) {
        throw;
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::runtime_error& error) {
        // What an operator throws within a module has no type any more: that inputs are at fault is likely.
        throw Refused(last_line(error.what()));
      }
      std::vector<NamedTensor> outputs;
      append_outputs(outputs, "", result);
      return outputs;
    });
  }
  // Of a message that shows where in the program it happened, what happened.
  static std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const size_t at = text.rfind('\n');
    return text.substr(at == std::string::npos ? 0 : at + 1).substr(0, 1000);
  }

  void read_inputs(const c10::FunctionSchema& schema) {
    for (size_t i = 1; i < schema.arguments().size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      std::optional<TensorSpec> spec = spec_of(argument);
      // One that has a default and no form keeps the default.
      if (!spec.has_value() && argument.default_value().has_value()) break;
      TORCH_CHECK_NOT_IMPLEMENTED(spec.has_value(), info_.path, ": argument '", argument.name(), "' of forward is ",
                                  argument.type()->annotation_str(), ", which requests have no form for");
      info_.signature.inputs.push_back(std::move(*spec));
      defaults_.push_back(argument.default_value());
    }
  }
  void declare(const Signature& signature) {
    info_.signature.symbols = signature.symbols;
    std::vector<bool> used(signature.inputs.size());
    for (TensorSpec& spec : info_.signature.inputs) {
      for (size_t i = 0; i < signature.inputs.size(); ++i) {
        const TensorSpec& declared = signature.inputs[i];
        if (declared.name != spec.name) continue;
        TORCH_CHECK_VALUE(spec.kind == TensorSpec::Kind::kTensor, info_.path, ": input '", spec.name,
                          "' is a number and is not declared");
        spec.dtype = declared.dtype;
        spec.sizes = declared.sizes;
        used[i] = true;
      }
    }
    for (size_t i = 0; i < used.size(); ++i) {
      TORCH_CHECK_VALUE(used[i], info_.path, ": forward has no argument '", signature.inputs[i].name, "'");
    }
  }
  void read_outputs(const c10::FunctionSchema& schema) {
    if (schema.returns().size() != 1 || schema.returns()[0].type()->kind() != c10::TypeKind::TensorType) return;
    info_.outputs_known = true;
    info_.outputs.emplace_back();
    info_.outputs.back().name = "output";
  }

  torch::jit::Module module_;
  std::vector<std::optional<IValue>> defaults_;  // one an input
};

}  // namespace

std::unique_ptr<Model> make_script_model(const std::string& path, const Signature* signature) {
  return std::make_unique<ScriptModel>(path, signature);
}

}  // namespace serve
