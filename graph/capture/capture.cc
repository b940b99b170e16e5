#include "graph/capture/capture.h"

#include <string_view>

#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/capture/capturing.h"
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

const void* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

}  // namespace

void for_tensors(const IValue& v, const std::function<void(const at::Tensor&)>& f) {
  if (v.isTensor()) return f(v.toTensor());
  if (v.isList()) {
    for (const IValue& part : v.toListRef()) for_tensors(part, f);
  } else if (v.isTuple()) {
    for (const IValue& part : v.toTupleRef().elements()) for_tensors(part, f);
  } else if (v.isGenericDict()) {
    for (const auto& entry : v.toGenericDict()) for_tensors(entry.value(), f);
  }
}

Capturing::Capturing(const CaptureOptions& options, const c10::Stack& inputs)
    : options_(options), graph_(std::make_unique<Graph>(options.name)) {
  Recorder::Options wanted;
  wanted.unknown = [this](const at::Tensor& tensor) { return constant(tensor); };
  wanted.before = [this](const c10::OperatorHandle& op, const c10::Stack& arguments) { before(op, arguments); };
  wanted.expand = options_.expand;
  wanted.infos = options_.infos;
  wanted.source = options_.source;
  recorder_ = std::make_unique<Recorder>(graph_->block().return_node(), std::move(wanted));
  // State first; what the program does not use goes at the end.
  for (const auto& [name, tensor] : options_.state) {
    if (!tensor.defined() || (!options_.keep_state && bound_.count(tensor.unsafeGetTensorImpl()) > 0)) continue;
    bind(tensor, name_of(name));
    captured_.state.push_back(name);
    if (const void* storage = storage_of(tensor)) state_.emplace(storage, tensor);
  }
  for (const IValue& input : inputs) {
    for_tensors(input, [&](const at::Tensor& t) {
      if (bound_.count(t.unsafeGetTensorImpl()) == 0) bind(t, "");
    });
  }
}

Value* Capturing::bind(const at::Tensor& tensor, std::string name) {
  bound_.insert(tensor.unsafeGetTensorImpl());
  Value* const value = graph_->block().add_input(c10::TensorType::get(), std::move(name));
  value->set_info(info_of(tensor));
  recorder_->bind(tensor, value);
  inputs_.emplace_back(tensor, value);
  return value;
}

Captured Capturing::finish(const c10::Stack& outputs) {
  Block& block = graph_->block();
  std::vector<Operand> operands;
  for (const IValue& output : outputs) operands.push_back(recorder_->operand(output));
  block.set_outputs(std::move(operands));
  for (const auto& [tensor, version] : constants_) {
    TORCH_CHECK_VALUE(version < 0 || tensor._version() == version, "a constant of sizes ", tensor.sizes(),
                      " was changed while the program ran, by no operator that could be recorded");
  }
  for (size_t i = options_.keep_state ? 0 : captured_.state.size(); i-- > 0;) {
    if (!block.input(i)->uses().empty()) continue;
    block.erase_input(i);
    captured_.state.erase(captured_.state.begin() + static_cast<std::ptrdiff_t>(i));
  }
  captured_.graph = std::move(graph_);
  return std::move(captured_);
}

Operand Capturing::constant(const at::Tensor& tensor) {
  const int64_t bytes =
      tensor.layout() == c10::kStrided && !tensor.is_nested() ? static_cast<int64_t>(tensor.nbytes()) : 0;
  TORCH_CHECK_NOT_IMPLEMENTED(refused_.empty() || (tensor.dim() == 0 && tensor.device().is_cpu()), refused_,
                              " a tensor of sizes ", tensor.sizes());
  TORCH_CHECK_VALUE(bytes <= options_.max_constant_bytes, "a tensor of sizes ", tensor.sizes(), " has ", bytes,
                    " bytes, more than the ", options_.max_constant_bytes,
                    " of the largest constant, and is neither an input nor state of the program");
  constants_.emplace_back(tensor, tensor.is_inference() ? -1 : tensor._version());
  if (const void* storage = storage_of(tensor)) storages_.insert(storage);
  return Operand(IValue(tensor));
}

void Capturing::before(const c10::OperatorHandle& op, const c10::Stack& arguments) {
  const c10::FunctionSchema& schema = op.schema();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (schema.arguments()[i].alias_info() == nullptr || !schema.is_mutable()) continue;
    for_tensors(arguments[i], [&](const at::Tensor& t) {
      const void* storage = storage_of(t);
      TORCH_CHECK_VALUE(storage == nullptr || storages_.count(storage) == 0, "argument '", schema.arguments()[i].name(),
                        "' would be written, but is neither an input, nor state, nor made by the program");
      const auto state = state_.find(storage);
      if (state != state_.end() && options_.before_write) options_.before_write(state->second);
    });
  }
  const std::string_view name = schema.name();
  if (name == "aten::item" || name == "aten::_local_scalar_dense" || name == "aten::equal" ||
      name == "aten::is_nonzero") {
    captured_.notes.push_back(toString(op.operator_name()) + ": the program went on with the value that it had");
  }
}

Captured capture(const std::function<c10::Stack(const c10::Stack& inputs)>& program, c10::Stack inputs,
                 const CaptureOptions& options) {
  Capturing capturing(options, inputs);
  c10::Stack outputs;
  {
    const Recording on(capturing.recorder());
    outputs = program(inputs);
  }
  return capturing.finish(outputs);
}

}  // namespace torch::graph
