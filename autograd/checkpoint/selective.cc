#include "autograd/checkpoint/selective.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "aten/core/dispatch_mode.h"
#include "autograd/checkpoint/rng_state.h"
#include "c10/dispatch/registry.h"
#include "c10/util/exception.h"

namespace torch::utils::checkpoint {
namespace {

using c10::IValue;

// The value with f(t) for each of its tensors.
template <class F>
IValue with_tensors(const IValue& value, const F& f) {
  if (value.isTensor()) return IValue(f(value.toTensor()));
  if (!value.isTensorList()) return value;
  std::vector<at::Tensor> tensors = value.toTensorVector();
  for (at::Tensor& t : tensors) t = f(t);
  return IValue(std::move(tensors));
}

// A handle to the same data without history: neither the graph that the tensor becomes part of nor its views are kept with it.
at::Tensor handle_of(const at::Tensor& t) {
  return t.defined() ? at::Tensor(t.unsafeGetTensorImpl()->shallow_copy()) : t;
}

// What one call returned.
class KeptResults {
 public:
  KeptResults(at::ArrayRef<IValue> results, std::optional<RngState> drawn) : drawn_(std::move(drawn)) {
    for (const IValue& result : results) {
      results_.push_back(with_tensors(result, [this](const at::Tensor& t) {
        versions_.push_back(t.defined() ? t.unsafeGetTensorImpl()->version() : 0);
        return handle_of(t);
      }));
    }
  }

  // The results, and the random generators as the call left them.
  void give_back(c10::Stack& stack, bool allow_mutation) const {
    size_t next = 0;
    for (const IValue& result : results_) {
      stack.push_back(with_tensors(result, [&](const at::Tensor& t) {
        const uint32_t version = versions_[next++];
        TORCH_CHECK(
            allow_mutation || !t.defined() || t.unsafeGetTensorImpl()->version() == version,
            "Tensor cached during selective activation checkpoint has been mutated");
        return handle_of(t);
      }));
    }
    if (drawn_.has_value()) drawn_->restore();
  }

 private:
  std::vector<IValue> results_;
  std::vector<uint32_t> versions_;  // of the tensors among them, in order
  std::optional<RngState> drawn_;   // where the call drew random numbers
};

// One region: its policy, and what is kept of it from forward to backward.
struct Selection {
  PolicyFunction policy;
  bool allow_mutation;
  std::mutex mutex;  // of what follows
  std::unordered_map<const c10::OperatorBase*, std::deque<KeptResults>> kept;
  int recomputations = 0;
};
using SelectionPtr = std::shared_ptr<Selection>;

at::ArrayRef<IValue> last(const c10::Stack& stack, size_t count) {
  count = std::min(count, stack.size());
  return at::ArrayRef<IValue>(stack.data() + (stack.size() - count), count);
}

// Whether the call does more than return what it computed, or less: memory that is filled later.
bool returns_no_values(const c10::FunctionSchema& schema) {
  const std::string& name = schema.name();
  if (schema.is_mutable() || name.starts_with("aten::empty") || name.starts_with("aten::new_empty")) return true;
  const auto is_alias = [](const c10::Argument& result) { return result.alias_info() != nullptr; };
  return schema.returns().empty() || std::any_of(schema.returns().begin(), schema.returns().end(), is_alias);
}

bool keeps(const Selection& selection, bool is_recompute, const c10::OperatorHandle& op, at::ArrayRef<IValue> arguments) {
  if (returns_no_values(op.schema())) return false;
  const CheckpointPolicy policy = selection.policy({.is_recompute = is_recompute}, op, arguments);
  return policy == CheckpointPolicy::MUST_SAVE || policy == CheckpointPolicy::PREFER_SAVE;
}

autograd::variable_list tensors_of(at::ArrayRef<IValue> values) {
  autograd::variable_list tensors;
  for (const IValue& value : values) {
    with_tensors(value, [&tensors](const at::Tensor& t) {
      tensors.push_back(t);
      return t;
    });
  }
  return tensors;
}

// In forward: keeps results.
class KeepingMode final : public at::DispatchMode {
 public:
  explicit KeepingMode(SelectionPtr selection) : selection_(std::move(selection)) {}

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    const at::ArrayRef<IValue> arguments = last(*stack, op.schema().arguments().size());
    if (!keeps(*selection_, false, op, arguments)) return op.callBoxed(stack);
    const RngState before = RngState::of(tensors_of(arguments));
    op.callBoxed(stack);
    std::optional<RngState> drawn = before.again();
    if (*drawn == before) drawn.reset();
    KeptResults results(last(*stack, op.schema().returns().size()), std::move(drawn));
    const std::lock_guard<std::mutex> lock(selection_->mutex);
    selection_->kept[&op.op()].push_back(std::move(results));
  }

 private:
  const SelectionPtr selection_;
};

// In backward: gives them back, in the order of the calls of each operator.
class RecallingMode final : public at::DispatchMode {
 public:
  explicit RecallingMode(SelectionPtr selection) : selection_(std::move(selection)) {
    const std::lock_guard<std::mutex> lock(selection_->mutex);
    first_ = selection_->recomputations++ == 0;
  }
  ~RecallingMode() override {
    // What an early stop left over.
    const std::lock_guard<std::mutex> lock(selection_->mutex);
    if (first_) selection_->kept.clear();
  }

  void handle(const c10::OperatorHandle& op, c10::DispatchKeySet, c10::Stack* stack) override {
    const at::ArrayRef<IValue> arguments = last(*stack, op.schema().arguments().size());
    if (!keeps(*selection_, true, op, arguments)) return op.callBoxed(stack);
    const KeptResults results = next(op);
    stack->resize(stack->size() - arguments.size());
    results.give_back(*stack, selection_->allow_mutation);
  }

 private:
  KeptResults next(const c10::OperatorHandle& op) {
    const std::lock_guard<std::mutex> lock(selection_->mutex);
    TORCH_CHECK(
        first_,
        "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
        "activation checkpoint.");
    const auto found = selection_->kept.find(&op.op());
    TORCH_CHECK(
        found != selection_->kept.end() && !found->second.empty(), toString(op.operator_name()),
        " encountered during backward, but not found in storage");
    KeptResults results = std::move(found->second.front());
    found->second.pop_front();
    return results;
  }

  const SelectionPtr selection_;
  bool first_;
};

template <class Mode>
struct ModeScope {
  explicit ModeScope(SelectionPtr selection) : mode(std::move(selection)), pushed(mode) {}
  Mode mode;
  at::DispatchModeGuard pushed;
};

c10::OperatorHandle find_operator(const std::string& name) {
  const size_t dot = name.find('.');
  const std::string overload = dot == std::string::npos ? std::string() : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot), overload);
}

}  // namespace

Contexts create_selective_checkpoint_contexts(PolicyFunction policy, bool allow_cache_entry_mutation) {
  TORCH_CHECK(policy != nullptr, "create_selective_checkpoint_contexts: got no policy");
  auto selection = std::make_shared<Selection>();
  selection->policy = std::move(policy);
  selection->allow_mutation = allow_cache_entry_mutation;
  return {
      .forward = [selection]() -> Context { return std::make_shared<ModeScope<KeepingMode>>(selection); },
      .recompute = [selection]() -> Context { return std::make_shared<ModeScope<RecallingMode>>(selection); }};
}

Contexts create_selective_checkpoint_contexts(
    const std::vector<std::string>& operators_to_save, bool allow_cache_entry_mutation) {
  std::vector<c10::OperatorHandle> operators;
  for (const std::string& name : operators_to_save) operators.push_back(find_operator(name));
  return create_selective_checkpoint_contexts(
      [operators](const SelectiveCheckpointContext&, const c10::OperatorHandle& op, at::ArrayRef<IValue>) {
        const bool saved = std::find(operators.begin(), operators.end(), op) != operators.end();
        return saved ? CheckpointPolicy::MUST_SAVE : CheckpointPolicy::PREFER_RECOMPUTE;
      },
      allow_cache_entry_mutation);
}

}  // namespace torch::utils::checkpoint
