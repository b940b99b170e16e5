#include "graph/capture/capture.h"

#include <set>
#include <string_view>

#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::IValue;

std::string name_of(std::string text) {
  for (char& c : text) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!good) c = '_';
  }
  return text;
}

template <class F>
void for_tensors(const IValue& v, const F& f) {
  if (v.isTensor()) return f(v.toTensor());
  if (v.isList()) {
    for (const IValue& part : v.toListRef()) for_tensors(part, f);
  } else if (v.isTuple()) {
    for (const IValue& part : v.toTupleRef().elements()) for_tensors(part, f);
  } else if (v.isGenericDict()) {
    for (const auto& entry : v.toGenericDict()) for_tensors(entry.value(), f);
  }
}

class Capture {
 public:
  explicit Capture(const CaptureOptions& options) : options_(options), graph_(std::make_unique<Graph>(options.name)) {}

  Captured run(const std::function<c10::Stack(const c10::Stack&)>& program, const c10::Stack& inputs) {
    Recorder::Options wanted;
    wanted.unknown = [this](const at::Tensor& tensor) { return constant(tensor); };
    wanted.before = [this](const c10::OperatorHandle& op, const c10::Stack& arguments) { before(op, arguments); };
    wanted.expand = options_.expand;
    Recorder recorder(graph_->block().return_node(), std::move(wanted));
    Block& block = graph_->block();
    // State first; what the program does not use goes at the end.
    for (const auto& [name, tensor] : options_.state) {
      if (!tensor.defined() || bound_.count(tensor.unsafeGetTensorImpl()) > 0) continue;
      bind(recorder, tensor, name_of(name));
      captured_.state.push_back(name);
    }
    for (const IValue& input : inputs) {
      for_tensors(input, [&](const at::Tensor& t) {
        if (bound_.count(t.unsafeGetTensorImpl()) == 0) bind(recorder, t, "");
      });
    }
    c10::Stack outputs;
    {
      const Recording on(recorder);
      outputs = program(inputs);
    }
    std::vector<Operand> operands;
    for (const IValue& output : outputs) operands.push_back(recorder.operand(output));
    block.set_outputs(std::move(operands));
    for (const auto& [tensor, version] : constants_) {
      TORCH_CHECK_VALUE(version < 0 || tensor._version() == version, "a constant of sizes ", tensor.sizes(),
                        " was changed while the program ran, by no operator that could be recorded");
    }
    for (size_t i = captured_.state.size(); i-- > 0;) {
      if (!block.input(i)->uses().empty()) continue;
      block.erase_input(i);
      captured_.state.erase(captured_.state.begin() + static_cast<std::ptrdiff_t>(i));
    }
    captured_.graph = std::move(graph_);
    return std::move(captured_);
  }

 private:
  void bind(Recorder& recorder, const at::Tensor& tensor, std::string name) {
    bound_.insert(tensor.unsafeGetTensorImpl());
    Value* const value = graph_->block().add_input(c10::TensorType::get(), std::move(name));
    value->set_info(info_of(tensor));
    recorder.bind(tensor, value);
  }

  Operand constant(const at::Tensor& tensor) {
    const int64_t bytes =
        tensor.layout() == c10::kStrided && !tensor.is_nested() ? static_cast<int64_t>(tensor.nbytes()) : 0;
    TORCH_CHECK_VALUE(bytes <= options_.max_constant_bytes, "a tensor of sizes ", tensor.sizes(), " has ", bytes,
                      " bytes, more than the ", options_.max_constant_bytes,
                      " of the largest constant, and is neither an input nor state of the program");
    constants_.emplace_back(tensor, tensor.is_inference() ? -1 : tensor._version());
    if (tensor.has_storage()) storages_.insert(tensor.storage().unsafeGetStorageImpl());
    return Operand(IValue(tensor));
  }

  void before(const c10::OperatorHandle& op, const c10::Stack& arguments) {
    const c10::FunctionSchema& schema = op.schema();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (schema.arguments()[i].alias_info() == nullptr || !schema.is_mutable()) continue;
      for_tensors(arguments[i], [&](const at::Tensor& t) {
        const bool of_constant = t.has_storage() && storages_.count(t.storage().unsafeGetStorageImpl()) > 0;
        TORCH_CHECK_VALUE(!of_constant, "argument '", schema.arguments()[i].name(),
                          "' would be written, but is neither an input, nor state, nor made by the program");
      });
    }
    const std::string_view name = schema.name();
    if (name == "aten::item" || name == "aten::_local_scalar_dense" || name == "aten::equal" ||
        name == "aten::is_nonzero") {
      captured_.notes.push_back(toString(op.operator_name()) + ": the program went on with the value that it had");
    }
  }

  const CaptureOptions& options_;
  std::unique_ptr<Graph> graph_;
  Captured captured_;
  std::set<const c10::TensorImpl*> bound_;
  std::vector<std::pair<at::Tensor, int64_t>> constants_;
  std::set<const void*> storages_;
};

}  // namespace

Captured capture(const std::function<c10::Stack(const c10::Stack& inputs)>& program, c10::Stack inputs,
                 const CaptureOptions& options) {
  return Capture(options).run(program, inputs);
}

}  // namespace torch::graph
