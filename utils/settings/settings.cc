#include "utils/settings/settings.h"

#include <limits>
#include <mutex>
#include <tuple>
#include <utility>

#include "aten/core/interop.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/operators.h"
#include "aten/ops/view/operators.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"

namespace torch {
namespace {

using at::Tensor;

// Fills `tensor` with what shows that nobody has written there.
void fill(const Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0 || tensor.layout() != at::kStrided || tensor.is_meta() ||
      tensor.is_quantized()) {
    return;
  }
  Tensor target = tensor;
  const c10::NoGradGuard no_grad;
  const auto dtype = tensor.scalar_type();
  if (at::isFloatingType(dtype) || at::isComplexType(dtype)) {
    target.fill_(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  switch (dtype) {
    case at::kBool:
      target.fill_(true);
      return;
    case at::kByte:
      target.fill_(std::numeric_limits<uint8_t>::max());
      return;
    case at::kChar:
      target.fill_(std::numeric_limits<int8_t>::max());
      return;
    case at::kShort:
      target.fill_(std::numeric_limits<int16_t>::max());
      return;
    case at::kInt:
      target.fill_(std::numeric_limits<int32_t>::max());
      return;
    case at::kLong:
      target.fill_(std::numeric_limits<int64_t>::max());
      return;
    default:
      return;
  }
}

// What resize_ added to the storage.
void fill_behind(const Tensor& tensor, size_t old_bytes) {
  if (!tensor.has_storage() || tensor.storage().nbytes() <= old_bytes || tensor.layout() != at::kStrided ||
      tensor.is_meta()) {
    return;
  }
  const auto size = static_cast<int64_t>(tensor.element_size());
  const int64_t first = (static_cast<int64_t>(old_bytes) + size - 1) / size;
  const int64_t all = static_cast<int64_t>(tensor.storage().nbytes()) / size;
  const c10::NoGradGuard no_grad;
  if (all > first) fill(at::as_strided(tensor.detach(), {all - first}, {1}, first));
}

size_t bytes_of(const Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().nbytes() : 0;
}

// Stands in front of an operator's kernels while memory is filled.
template <auto& kOperator, class Signature>
struct Filler;
template <auto& kOperator, class R, class... A>
struct Filler<kOperator, R(A...)> {
  using Function = R (*)(A...);

  static void set(bool on) {
    for (const c10::DispatchKey key : keys()) {
      Function& before = before_of(key);
      if (on) {
        const c10::detail::ErasedFunction now = c10::detail::get_function(kOperator, key);
        if (now == nullptr) continue;
        before = reinterpret_cast<Function>(now);
        c10::detail::set_function(kOperator, key, reinterpret_cast<c10::detail::ErasedFunction>(call_of(key)));
      } else if (before != nullptr) {
        c10::detail::set_function(kOperator, key,
                                  reinterpret_cast<c10::detail::ErasedFunction>(std::exchange(before, nullptr)));
      }
    }
  }

 private:
  // The operator's own function for all backends, or that of each.
  static std::vector<c10::DispatchKey> keys() {
    switch (kOperator.kernels) {
      case c10::Kernels::kPerBackend:
        return {c10::DispatchKey::CPU, c10::DispatchKey::CUDA};
      case c10::Kernels::kAny:
        return {c10::DispatchKey::CompositeExplicitAutograd, c10::DispatchKey::CPU, c10::DispatchKey::CUDA};
      case c10::Kernels::kComposite:
        return {c10::DispatchKey::CompositeImplicitAutograd};
    }
    return {};
  }
  static size_t place(c10::DispatchKey key) {
    return key == c10::DispatchKey::CPU ? 0 : key == c10::DispatchKey::CUDA ? 1 : 2;
  }
  static Function& before_of(c10::DispatchKey key) {
    static Function all[3] = {};
    return all[place(key)];
  }
  template <size_t kPlace>
  static R call(A... arguments) {
    constexpr c10::DispatchKey kKey = kPlace == 0   ? c10::DispatchKey::CPU
                                      : kPlace == 1 ? c10::DispatchKey::CUDA
                                                    : c10::DispatchKey::CompositeExplicitAutograd;
    const Function before = before_of(kKey);
    if constexpr (std::is_reference_v<R>) {  // resize_
      const size_t bytes = bytes_of(std::get<0>(std::tie(arguments...)));
      R result = before(std::forward<A>(arguments)...);
      fill_behind(result, bytes);
      return result;
    } else {
      R result = before(std::forward<A>(arguments)...);
      fill(result);
      return result;
    }
  }
  static Function call_of(c10::DispatchKey key) {
    constexpr Function kCalls[] = {&call<0>, &call<1>, &call<2>};
    return kCalls[place(key)];
  }
};

template <auto& kOperator, class R, class... A>
void set_filler(bool on, c10::Operator<R(A...)>&) {
  Filler<kOperator, R(A...)>::set(on);
}

void update_fill() {
  static std::mutex& mutex = *new std::mutex;
  static bool is_on = false;
  const std::lock_guard lock(mutex);
  const at::Context& context = at::globalContext();
  const bool on = context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory();
  if (on == is_on) return;
  is_on = on;
  namespace ops = at::operators;
  set_filler<ops::empty_memory_format>(on, ops::empty_memory_format);
  set_filler<ops::empty_like>(on, ops::empty_like);
  set_filler<ops::empty_strided>(on, ops::empty_strided);
  set_filler<ops::empty_permuted>(on, ops::empty_permuted);
  set_filler<ops::new_empty>(on, ops::new_empty);
  set_filler<ops::new_empty_strided>(on, ops::new_empty_strided);
  set_filler<ops::resize_>(on, ops::resize_);
}

}  // namespace

void use_deterministic_algorithms(bool mode, bool warn_only) {
  at::globalContext().setDeterministicAlgorithms(mode, warn_only);
  update_fill();
}

bool are_deterministic_algorithms_enabled() {
  return at::globalContext().deterministicAlgorithms();
}

bool is_deterministic_algorithms_warn_only_enabled() {
  return at::globalContext().deterministicAlgorithmsWarnOnly();
}

void set_deterministic_debug_mode(int mode) {
  TORCH_CHECK(mode >= 0 && mode <= 2, "invalid value of debug_mode, expected 0, 1, or 2, but got ", mode);
  use_deterministic_algorithms(mode != 0, /*warn_only=*/mode == 1);
}

void set_deterministic_debug_mode(std::string_view mode) {
  TORCH_CHECK(mode == "default" || mode == "warn" || mode == "error",
              "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got ", mode);
  set_deterministic_debug_mode(mode == "default" ? 0 : mode == "warn" ? 1 : 2);
}

int get_deterministic_debug_mode() {
  if (!are_deterministic_algorithms_enabled()) return 0;
  return is_deterministic_algorithms_warn_only_enabled() ? 1 : 2;
}

void set_float32_matmul_precision(std::string_view precision) {
  at::globalContext().setFloat32MatmulPrecision(precision);
}

std::string get_float32_matmul_precision() {
  switch (at::globalContext().float32MatmulPrecision()) {
    case at::Float32MatmulPrecision::HIGHEST:
      return "highest";
    case at::Float32MatmulPrecision::HIGH:
      return "high";
    case at::Float32MatmulPrecision::MEDIUM:
      return "medium";
  }
  return "highest";
}

const utils::detail::FillSwitch& utils::detail::FillSwitch::operator=(bool value) const {
  at::globalContext().setDeterministicFillUninitializedMemory(value);
  update_fill();
  return *this;
}

std::string backends::cpu::get_cpu_capability() {
  return at::get_cpu_capability();
}

std::string __config__::show() {
  return at::show_config();
}

std::string __config__::parallel_info() {
  return at::get_parallel_info();
}

}  // namespace torch
