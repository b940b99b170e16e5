// cpu_kernel: a function of elements over all elements of an iterator.
//
//   at::native::cpu_kernel(iter, [](float x, float y) { return x * y; });
//
// The function's types are the operands': at::native::cpu_kernel(iter, [](scalar_t x) { return x + 1; }) inside
// AT_DISPATCH. Others throw c10::Error. Operands that lie without gaps are passed in a loop that compilers vectorise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "aten/extension/tensor_iterator.h"
#include "aten/extension/vectorized.h"
#include "c10/core/scalar_type.h"
#include "c10/util/exception.h"
#include "c10/util/type_traits.h"

namespace at::native {

namespace detail {

template <class Signature>
struct Loop;
template <class Result, class... Args>
struct Loop<Result(Args...)> {
  static constexpr int kOutputs = std::is_void_v<Result> ? 0 : 1;
  static constexpr int kOperands = kOutputs + static_cast<int>(sizeof...(Args));
  template <size_t i>
  using Arg = std::remove_cvref_t<std::tuple_element_t<i, std::tuple<Args...>>>;

  static void check(const TensorIteratorBase& iter) {
    TORCH_CHECK(iter.ninputs() == static_cast<int>(sizeof...(Args)) && iter.noutputs() == kOutputs,
                "cpu_kernel: a function of ", sizeof...(Args), " arguments for ", iter.noutputs(), " outputs and ",
                iter.ninputs(), " inputs");
    if constexpr (kOutputs == 1) check_type<Result>(iter, 0);
    [&]<size_t... i>(std::index_sequence<i...>) {
      (check_type<Arg<i>>(iter, kOutputs + static_cast<int>(i)), ...);
    }(std::index_sequence_for<Args...>());
  }
  template <class T>
  static void check_type(const TensorIteratorBase& iter, int arg) {
    constexpr ScalarType kType = CppTypeToScalarType<T>::value;
    TORCH_CHECK(iter.dtype(arg) == kType, "cpu_kernel: operand ", arg, " has dtype ", iter.dtype(arg),
                ", the function's is ", kType);
  }

  template <class F>
  static void run(const F& f, char** data, const int64_t* strides, int64_t n) {
    run_with(f, data, strides, n, std::index_sequence_for<Args...>());
  }
  template <class F, size_t... i>
  static void run_with(const F& f, char** data, const int64_t* strides, int64_t n, std::index_sequence<i...>) {
    const bool dense = [&] {
      if constexpr (kOutputs == 0) return false;
      else return strides[0] == sizeof(Result) && ((strides[1 + i] == static_cast<int64_t>(sizeof(Arg<i>))) && ...);
    }();
    if constexpr (kOutputs == 1) {
      if (dense) {
        auto* out = reinterpret_cast<Result*>(data[0]);
        for (int64_t k = 0; k < n; ++k) out[k] = f(reinterpret_cast<const Arg<i>*>(data[1 + i])[k]...);
        return;
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      if constexpr (kOutputs == 1) {
        *reinterpret_cast<Result*>(data[0] + k * strides[0]) =
            f(*reinterpret_cast<const Arg<i>*>(data[1 + i] + k * strides[1 + i])...);
      } else {
        f(*reinterpret_cast<const Arg<i>*>(data[i] + k * strides[i])...);
      }
    }
  }
};

// A function that gives a tuple: one output each.
template <class Signature>
struct TupleLoop;
template <class... Results, class... Args>
struct TupleLoop<std::tuple<Results...>(Args...)> {
  template <class F>
  static void run(TensorIteratorBase& iter, const F& f, int64_t grain_size) {
    constexpr size_t kOutputs = sizeof...(Results);
    TORCH_CHECK(iter.noutputs() == static_cast<int>(kOutputs) && iter.ninputs() == static_cast<int>(sizeof...(Args)),
                "cpu_kernel_multiple_outputs: ", iter.noutputs(), " outputs and ", iter.ninputs(),
                " inputs for a function of ", sizeof...(Args), " that gives ", kOutputs);
    [&]<size_t... o, size_t... i>(std::index_sequence<o...>, std::index_sequence<i...>) {
      (Loop<void()>::check_type<Results>(iter, static_cast<int>(o)), ...);
      (Loop<void()>::check_type<std::remove_cvref_t<Args>>(iter, static_cast<int>(kOutputs + i)), ...);
      iter.for_each(
          [&](char** data, const int64_t* strides, int64_t n) {
            for (int64_t k = 0; k < n; ++k) {
              const std::tuple<Results...> result = f(*reinterpret_cast<const std::remove_cvref_t<Args>*>(
                  data[kOutputs + i] + k * strides[kOutputs + i])...);
              ((*reinterpret_cast<Results*>(data[o] + k * strides[o]) = std::get<o>(result)), ...);
            }
          },
          grain_size);
    }(std::index_sequence_for<Results...>(), std::index_sequence_for<Args...>());
    iter.cast_outputs();
  }
};

template <class F>
using Signature = typename c10::guts::infer_function_traits_t<F>::func_type;

}  // namespace detail

/// In several threads where there are more than `grain_size` elements.
template <class F>
void cpu_kernel(TensorIteratorBase& iter, F&& f, int64_t grain_size = cpu::kPointwiseGrain) {
  using Loop = detail::Loop<detail::Signature<F>>;
  static_assert(Loop::kOutputs == 1, "the function of cpu_kernel returns the result's element");
  Loop::check(iter);
  iter.for_each([&](char** data, const int64_t* strides, int64_t n) { Loop::run(f, data, strides, n); }, grain_size);
  iter.cast_outputs();
}

/// In the calling thread. The function may return nothing, of inputs alone.
template <class F>
void cpu_serial_kernel(TensorIteratorBase& iter, F&& f) {
  using Loop = detail::Loop<detail::Signature<F>>;
  Loop::check(iter);
  iter.serial_for_each([&](char** data, const int64_t* strides, int64_t n) { Loop::run(f, data, strides, n); }, 0,
                       iter.numel());
  iter.cast_outputs();
}

/// `f` gives a std::tuple with an element of each output.
template <class F>
void cpu_kernel_multiple_outputs(TensorIteratorBase& iter, F&& f, int64_t grain_size = cpu::kPointwiseGrain) {
  detail::TupleLoop<detail::Signature<F>>::run(iter, f, grain_size);
}

/// `vector_f` does the same as `f` on Vectorized, and is taken where operands lie without gaps.
template <bool check_dynamic_cast = true, class F, class VectorF>
void cpu_kernel_vec(TensorIteratorBase& iter, F&& f, VectorF&& vector_f, int64_t grain_size = cpu::kPointwiseGrain) {
  using Loop = detail::Loop<detail::Signature<F>>;
  Loop::check(iter);
  using Result = typename c10::guts::infer_function_traits_t<F>::return_type;
  using Vector = vec::Vectorized<Result>;
  iter.for_each(
      [&](char** data, const int64_t* strides, int64_t n) {
        bool dense = true;
        for (int k = 0; k < Loop::kOperands; ++k) dense = dense && strides[k] == static_cast<int64_t>(sizeof(Result));
        int64_t done = 0;
        if (dense) {
          for (; done + Vector::size() <= n; done += Vector::size()) {
            [&]<size_t... i>(std::index_sequence<i...>) {
              vector_f(Vector::loadu(data[1 + i] + done * static_cast<int64_t>(sizeof(Result)))...)
                  .store(data[0] + done * static_cast<int64_t>(sizeof(Result)));
            }(std::make_index_sequence<static_cast<size_t>(Loop::kOperands) - 1>());
          }
        }
        char* rest[cpu::kMaxOperands];
        for (int k = 0; k < Loop::kOperands; ++k) rest[k] = data[k] + done * strides[k];
        Loop::run(f, rest, strides, n - done);
      },
      grain_size);
  iter.cast_outputs();
}

}  // namespace at::native
