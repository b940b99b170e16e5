#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c10/dispatch/registry.h"
#include "c10/value/ivalue.h"

/// Observing operators and named ranges: what profilers are built on. A callback is told where a range begins and ends; ranges
/// are the operators a program calls, the nodes of a backward pass, and what it marks itself:
///
///   at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& fn) {
///     std::cout << fn.name() << "\n";
///     return std::unique_ptr<at::ObserverContext>();
///   }));
///   { RECORD_USER_SCOPE("step"); loss.backward(); }
///
/// Global callbacks see the calls of all threads for the operators that are callable by name (//aten/ops:registry), and for
/// all others those of the threads on which a thread-local callback is set. Thread-local callbacks hold in threads that work
/// for this one with its at::ThreadLocalState too, such as those that run backward passes on devices, and may then be called in
/// several at once. Without callbacks a call costs nothing more.
namespace at {

enum class RecordScope : uint8_t {
  FUNCTION,           // operators
  BACKWARD_FUNCTION,  // nodes of a backward pass
  TORCHSCRIPT_FUNCTION,
  KERNEL_FUNCTION_DTYPE,
  CUSTOM_CLASS,
  BUILD_FEATURE,
  LITE_INTERPRETER,
  USER_SCOPE,
  STATIC_RUNTIME_OP,
  STATIC_RUNTIME_MODEL,
  NUM_SCOPES,
};

/// What a start callback hands on to the end callback.
struct ObserverContext {
  virtual ~ObserverContext() = default;
};

class RecordFunction;
using CallbackHandle = uint64_t;
inline constexpr CallbackHandle INVALID_CALLBACK_HANDLE = 0;
using RecordFunctionHandle = uint64_t;

/// What is called where ranges begin and end, and for which. Arguments and results of operators are collected only where a
/// callback asks for them, and only for operators whose registry leaf is linked.
class RecordFunctionCallback {
 public:
  using StartCallback = std::unique_ptr<ObserverContext> (*)(const RecordFunction&);
  using EndCallback = void (*)(const RecordFunction&, ObserverContext*);

  explicit RecordFunctionCallback(StartCallback start, EndCallback end = nullptr) : start_(start), end_(end) {}

  RecordFunctionCallback& needsInputs(bool needs) { return needs_inputs_ = needs, *this; }
  RecordFunctionCallback& needsOutputs(bool needs) { return needs_outputs_ = needs, *this; }
  RecordFunctionCallback& needsIds(bool needs) { return needs_ids_ = needs, *this; }
  /// The share of ranges that it is called for. Throws outside [0, 1].
  RecordFunctionCallback& samplingProb(double probability);
  RecordFunctionCallback& scopes(const std::vector<RecordScope>& scopes);

  bool needsInputs() const { return needs_inputs_; }
  bool needsOutputs() const { return needs_outputs_; }
  bool needsIds() const { return needs_ids_; }
  double samplingProb() const { return sampling_probability_; }
  bool checkScope(RecordScope scope) const { return (scopes_ >> static_cast<int>(scope) & 1) != 0; }
  StartCallback start() const { return start_; }
  EndCallback end() const { return end_; }

 private:
  StartCallback start_;
  EndCallback end_;
  double sampling_probability_ = 1.0;
  uint32_t scopes_ = ~uint32_t{0};
  bool needs_inputs_ = false;
  bool needs_outputs_ = false;
  bool needs_ids_ = false;
};

CallbackHandle addGlobalCallback(RecordFunctionCallback callback);
/// For this thread only.
CallbackHandle addThreadLocalCallback(RecordFunctionCallback callback);
/// Ranges that have begun still end. Unknown handles are ignored.
void removeCallback(CallbackHandle handle);
void disableCallback(CallbackHandle handle);
void reenableCallback(CallbackHandle handle);
bool hasGlobalCallbacks();
bool hasThreadLocalCallbacks();
bool hasCallbacks();
void clearGlobalCallbacks();
void clearThreadLocalCallbacks();
void clearCallbacks();

/// Whether this thread observes at all; on at start.
bool isRecordFunctionEnabled();
void enableRecordFunction(bool enable = true);

class RecordFunctionGuard {
 public:
  explicit RecordFunctionGuard(bool enabled = true) : before_(isRecordFunctionEnabled()) { enableRecordFunction(enabled); }
  ~RecordFunctionGuard() { enableRecordFunction(before_); }
  RecordFunctionGuard(const RecordFunctionGuard&) = delete;
  RecordFunctionGuard& operator=(const RecordFunctionGuard&) = delete;

 private:
  bool before_;
};
class DisableRecordFunctionGuard : public RecordFunctionGuard {
 public:
  DisableRecordFunctionGuard() : RecordFunctionGuard(false) {}
};

/// One range, from before() to the end of its life or end(). Nothing happens unless a callback wants ranges of its scope.
class RecordFunction {
 public:
  explicit RecordFunction(RecordScope scope = RecordScope::FUNCTION);
  ~RecordFunction() { end(); }
  RecordFunction(const RecordFunction&) = delete;
  RecordFunction& operator=(const RecordFunction&) = delete;

  bool isActive() const { return !called_.empty(); }
  bool needsInputs() const { return needs_inputs_; }
  bool needsOutputs() const { return needs_outputs_; }

  /// Begins the range; `name` is copied only where a callback is called.
  void before(std::string_view name, int64_t sequence_nr = -1);
  void before(std::string_view name, std::vector<c10::IValue> inputs, int64_t sequence_nr = -1);
  void before(const c10::OperatorBase& op);
  void before(const c10::OperatorHandle& op, std::vector<c10::IValue> inputs);
  void setOutputs(std::vector<c10::IValue> outputs) { outputs_ = std::move(outputs); }
  /// Calls the end callbacks; once.
  void end() noexcept;

  /// "aten::add" for operators, without the overload.
  const char* name() const { return name_.c_str(); }
  RecordScope scope() const { return scope_; }
  /// Of a node's range the node's number; of an operator's, where gradients may be recorded, the one that its node gets, if it
  /// makes one (aten/core/sequence_number.h); else -1.
  int64_t seqNr() const { return sequence_nr_; }
  const std::vector<c10::IValue>& inputs() const { return inputs_; }
  const std::vector<c10::IValue>& outputs() const { return outputs_; }
  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  /// The operator's name with its overload; nothing for other ranges.
  std::optional<c10::OperatorName> operator_name() const;
  /// The number of the thread in which the range began, from 1 on.
  uint64_t threadId() const { return thread_id_; }
  /// A number of the range's own, 0 where no callback asked for ids.
  RecordFunctionHandle handle() const { return handle_; }

  static uint64_t currentThreadId();

 private:
  struct Called {
    RecordFunctionCallback callback;
    std::unique_ptr<ObserverContext> context;
  };
  void start();

  std::vector<Called> called_;
  std::string name_;
  std::vector<c10::IValue> inputs_;
  std::vector<c10::IValue> outputs_;
  const c10::OperatorBase* op_ = nullptr;
  int64_t sequence_nr_ = -1;
  uint64_t thread_id_ = 0;
  RecordFunctionHandle handle_ = 0;
  RecordScope scope_;
  bool needs_inputs_ = false;
  bool needs_outputs_ = false;
};

}  // namespace at

#define RECORD_FUNCTION_WITH_SCOPE(scope, fn, inputs, ...)                                     \
  at::RecordFunction C10_CONCATENATE(record_function_, __LINE__)(scope);                       \
  if (C10_CONCATENATE(record_function_, __LINE__).isActive()) {                                \
    if (C10_CONCATENATE(record_function_, __LINE__).needsInputs()) {                           \
      C10_CONCATENATE(record_function_, __LINE__).before(fn, inputs __VA_OPT__(, ) __VA_ARGS__); \
    } else {                                                                                   \
      C10_CONCATENATE(record_function_, __LINE__).before(fn __VA_OPT__(, ) __VA_ARGS__);       \
    }                                                                                          \
  }
/// A range until the end of the scope: RECORD_FUNCTION("my_operator", std::vector<c10::IValue>({x, y})).
#define RECORD_FUNCTION(fn, inputs, ...) \
  RECORD_FUNCTION_WITH_SCOPE(at::RecordScope::FUNCTION, fn, inputs __VA_OPT__(, ) __VA_ARGS__)
#define RECORD_USER_SCOPE(fn) \
  RECORD_FUNCTION_WITH_SCOPE(at::RecordScope::USER_SCOPE, fn, std::vector<c10::IValue>{})
#define RECORD_USER_SCOPE_WITH_INPUTS(fn, inputs) RECORD_FUNCTION_WITH_SCOPE(at::RecordScope::USER_SCOPE, fn, inputs)
