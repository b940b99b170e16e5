#include "graph/capture/recorder.h"

#include <algorithm>
#include <utility>

#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/passes/effects.h"
#include "graph/passes/tensor_info.h"

namespace torch::graph {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;
using Kind = Node::Kind;

thread_local Recorder* t_recorder = nullptr;

constexpr int kDeepest = 100;  // expansions in each other

void handle_call(void*, const c10::OperatorHandle& op, DispatchKeySet keys, c10::Stack* stack) {
  if (t_recorder != nullptr) return t_recorder->handle(op, keys, *stack);
  const c10::ExcludeDispatchKeyGuard below{DispatchKeySet(DispatchKey::Tracer)};
  op.redispatchBoxed(keys.remove(DispatchKey::Tracer), stack);
}
constexpr c10::BoxedKernel kHandler{&handle_call, nullptr};

const void* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

bool holds_tensors(const IValue& value) {
  if (!value.isList() && !value.isTuple()) return value.isTensor();
  const auto parts = value.isList() ? value.toListRef() : value.toTupleRef().elementsArrayRef();
  return std::any_of(parts.begin(), parts.end(), holds_tensors);
}

// Two tensors that show the same elements of the same memory.
bool shows_the_same(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

}  // namespace

Node* Recorder::insert(std::unique_ptr<Node> node) {
  if (options_.source && node->source() == nullptr) node->set_source(options_.source());
  node->move_before(place_);
  return node.release();
}

void Recorder::bind(const at::Tensor& tensor, Operand operand) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!open_.empty()) {
    const auto old = known_.find(impl);
    open_.back().before.emplace_back(impl, old == known_.end() ? std::nullopt : std::optional<Known>(old->second));
  }
  const bool fresh = known_.insert_or_assign(impl, Known{tensor, std::move(operand)}).second;
  if (const void* storage = storage_of(tensor); fresh && storage != nullptr) by_storage_[storage].push_back(impl);
}

std::vector<std::pair<at::Tensor, Operand>> Recorder::results() const {
  std::vector<std::pair<at::Tensor, Operand>> all;
  for (const auto& [impl, known] : known_) {
    if (known.operand.is_value() && known.operand.value()->node() != nullptr)
      all.emplace_back(known.tensor, known.operand);
  }
  return all;
}

// Whether nodes at the place may use it.
bool Recorder::is_visible(const Operand& operand) const {
  if (!operand.is_value() || !any_inside_) return true;
  for (const Block* block = place_->block();; block = block->owner()->block()) {
    if (block == operand.value()->block()) return true;
    if (block->owner() == nullptr) return false;
  }
}

std::optional<Operand> Recorder::known(const at::Tensor& tensor) {
  const auto found = known_.find(tensor.unsafeGetTensorImpl());
  if (found != known_.end() && is_visible(found->second.operand)) return found->second.operand;
  // A handle that no operator made, such as data(), of memory that one did.
  const Known* base = nullptr;
  bool of_constant = false;
  if (const auto same = by_storage_.find(storage_of(tensor)); same != by_storage_.end()) {
    for (auto impl = same->second.rbegin(); impl != same->second.rend(); ++impl) {
      const Known& one = known_.at(*impl);
      if (!is_visible(one.operand)) continue;
      if (shows_the_same(one.tensor, tensor)) return one.operand;
      of_constant = of_constant || one.operand.is_constant();
      if (base == nullptr) base = &one;
    }
  }
  // Memory from elsewhere: another constant.
  if (of_constant) return std::nullopt;
  TORCH_CHECK_VALUE(base != nullptr || found == known_.end(), "a tensor of sizes ", tensor.sizes(),
                    " was made in a branch or a body of control flow, and is used outside of it");
  if (base == nullptr) return std::nullopt;
  TORCH_CHECK_VALUE(base->tensor.scalar_type() == tensor.scalar_type(), "a tensor of dtype ", tensor.scalar_type(),
                    " shares memory with one of dtype ", base->tensor.scalar_type(),
                    ", but no operator that could be recorded made it");
  static const Callable as_strided(c10::Dispatcher::singleton().findSchemaOrThrow("aten::as_strided", ""));
  const Node* view = insert(place_->graph().call(
      as_strided, {base->operand, IValue(tensor.sizes()), IValue(tensor.strides()), IValue(tensor.storage_offset())}));
  if (options_.infos) view->result()->set_info(info_of(tensor));
  bind(tensor, view->result());
  return Operand(view->result());
}

Operand Recorder::operand(const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor tensor = value.toTensor();
    if (const std::optional<Operand> found = known(tensor)) return *found;
    TORCH_CHECK_VALUE(options_.unknown != nullptr, "a tensor of sizes ", tensor.sizes(), " that comes from nowhere");
    Operand made = options_.unknown(tensor);
    bind(tensor, made);
    return made;
  }
  if (!holds_tensors(value)) {
    if (value.isDevice() && options_.device.has_value() && value.toDevice().type() == c10::DeviceType::Meta) {
      return Operand(IValue(*options_.device));
    }
    return Operand(value);
  }
  const auto values = value.isList() ? value.toListRef() : value.toTupleRef().elementsArrayRef();
  std::vector<Operand> parts;
  std::vector<IValue> constants;
  for (const IValue& part : values) {
    parts.push_back(operand(part));
    if (parts.back().is_constant()) constants.push_back(parts.back().constant());
  }
  const bool constant = constants.size() == parts.size();
  if (value.isTuple()) {
    if (constant) return Operand(IValue(c10::ivalue::Tuple::create(std::move(constants))));
    Node* const tuple = insert(place_->graph().make(Kind::kTuple, std::move(parts)));
    return tuple->add_result(value.type());
  }
  if (!constant) return Operand(std::move(parts));
  const c10::impl::GenericList list(value.type()->expect<c10::ListType>()->getElementType());
  for (IValue& part : constants) list.push_back(std::move(part));
  return Operand(IValue(list));
}

void Recorder::bind_result(const IValue& value, Value* result) {
  if (value.isTensor()) {
    const at::Tensor tensor = value.toTensor();
    if (options_.infos) result->set_info(info_of(tensor));
    if (const void* storage = storage_of(tensor); !open_.empty() && by_storage_.count(storage) == 0) {
      open_.back().storages.insert(storage);
    }
    return bind(tensor, result);
  }
  if (!value.isList() || value.toListRef().empty() || !value.toListRef()[0].isTensor()) return;
  Node* const parts = insert(place_->graph().make(Kind::kUnpack, {Operand(result)}));
  for (const IValue& part : value.toListRef()) bind_result(part, parts->add_result(c10::TensorType::get()));
}

void Recorder::handle(const c10::OperatorHandle& op, DispatchKeySet keys, c10::Stack& stack) {
  try {
    op.fill_defaults(stack);
    if (options_.expand) {
      TORCH_CHECK(depth_ < kDeepest, "an operator that is made of itself");
      ++depth_;
      bool expanded = false;
      try {
        expanded = options_.expand(op, keys, stack);
      } catch (...) {
        --depth_;
        throw;
      }
      --depth_;
      if (expanded) return;
    }
    std::vector<Operand> operands;
    for (const IValue& argument : stack) operands.push_back(operand(argument));
    std::unique_ptr<Node> made = place_->graph().call(Callable(op), std::move(operands));
    if (!open_.empty()) check_writes(*made, stack);
    if (options_.before) options_.before(op, stack);
    {
      const c10::ExcludeDispatchKeyGuard below{DispatchKeySet(DispatchKey::Tracer)};
      op.redispatchBoxed(keys.remove(DispatchKey::Tracer), &stack);
    }
    Node* const node = insert(std::move(made));
    for (size_t i = 0; i < stack.size(); ++i) bind_result(stack[i], node->result(i));
  } catch (c10::Error& error) {
    error.add_context("while " + toString(op.operator_name()) + " was recorded");
    throw;
  }
}

void Recorder::check_writes(const Node& node, const c10::Stack& arguments) const {
  for (const size_t i : written_operands(node)) {
    const IValue& argument = arguments.at(i);
    const auto check = [&](const IValue& v) {
      if (!v.isTensor()) return;
      TORCH_CHECK_VALUE(!is_from_outside(v.toTensor()), "argument '", node.callable().schema().arguments()[i].name(),
                        "' would be written, but was not made in ", open_.back().what,
                        ", which may not change what comes from outside");
    };
    check(argument);
    if (!argument.isList()) continue;
    for (const IValue& part : argument.toListRef()) check(part);
  }
}

bool Recorder::is_from_outside(const at::Tensor& tensor) const {
  return !open_.empty() && open_.back().storages.count(storage_of(tensor)) == 0;
}

Recorder* Recorder::current() {
  const c10::ThreadState& state = c10::thread_state();
  const bool on =
      t_recorder != nullptr && state.included.has(DispatchKey::Tracer) && !state.excluded.has(DispatchKey::Tracer);
  return on ? t_recorder : nullptr;
}

Recorder::Inside::Inside(Recorder* recorder, Block* block, std::string what) : recorder_(recorder) {
  if (recorder_ == nullptr) return;
  place_ = std::exchange(recorder_->place_, block->return_node());
  recorder_->open_.push_back({std::move(what), {}, {}});
  recorder_->any_inside_ = true;
}
Recorder::Inside::~Inside() {
  if (recorder_ == nullptr) return;
  recorder_->place_ = place_;
  Open closed = std::move(recorder_->open_.back());
  recorder_->open_.pop_back();
  if (!recorder_->open_.empty()) recorder_->open_.back().storages.merge(closed.storages);
  // What was bound anew is what it was before; what was made here stays known as such.
  for (auto one = closed.before.rbegin(); one != closed.before.rend(); ++one) {
    const bool outside = one->second.has_value() && recorder_->is_visible(one->second->operand);
    if (outside) recorder_->known_.insert_or_assign(one->first, std::move(*one->second));
  }
}

Recording::Recording(Recorder& recorder) {
  TORCH_CHECK(t_recorder == nullptr, "a program is being recorded in this thread already");
  c10::detail::set_fallback(DispatchKey::Tracer, &kHandler);
  t_recorder = &recorder;
  on_.emplace(DispatchKeySet(DispatchKey::Tracer));
}
Recording::~Recording() {
  on_.reset();
  t_recorder = nullptr;
}

}  // namespace torch::graph
