// Registration of operators as programs before TORCH_LIBRARY wrote it:
//
//   static auto registry = torch::RegisterOperators("my_ops::scale", &scale).op("my_ops::shift(Tensor x) -> Tensor", &shift);
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "aten/core/library.h"

// Tests of operators get gtest's matchers along with the calls by handle.
#if (defined(GTEST_INCLUDE_GTEST_GTEST_H_) || defined(GOOGLETEST_INCLUDE_GTEST_GTEST_H_)) && __has_include(<gmock/gmock.h>)
#include <gmock/gmock.h>
#endif

namespace c10 {

/// Operators that are there for as long as the object lives.
class RegisterOperators final {
 public:
  /// Kernels of one operator, by key: RegisterOperators::options().schema("my::f(Tensor x) -> Tensor").kernel(kCPU, &f).
  class Options final {
   public:
    Options&& schema(std::string name_or_schema) && {
      schema_ = std::move(name_or_schema);
      return std::move(*this);
    }
    template <class F>
    Options&& kernel(DispatchKey key, F&& function) && {
      kernels_.push_back(torch::dispatch(key, std::forward<F>(function)));
      return std::move(*this);
    }
    /// The one for all devices.
    template <class F>
    Options&& catchAllKernel(F&& function) && {
      catch_all_.emplace_back(std::forward<F>(function));
      return std::move(*this);
    }
    template <class Kind>
    Options&& aliasAnalysis(Kind) && {
      return std::move(*this);
    }

   private:
    friend class RegisterOperators;
    std::string schema_;
    std::vector<torch::CppFunction> kernels_, catch_all_;
  };
  static Options options() { return {}; }

  RegisterOperators() = default;
  template <class F>
  RegisterOperators(const std::string& name_or_schema, F&& function) {
    std::move(*this).op(name_or_schema, std::forward<F>(function));
  }
  RegisterOperators(RegisterOperators&&) = default;
  RegisterOperators& operator=(RegisterOperators&&) = default;

  /// An operator by name (its types are those of the function) or schema, with the function that computes it on all
  /// devices. Throws c10::Error for a name without a namespace, a schema that cannot be read and a name that is taken.
  template <class F>
    requires std::constructible_from<torch::CppFunction, F>
  RegisterOperators&& op(const std::string& name_or_schema, F&& function) && {
    library(name_or_schema).def(without_namespace(name_or_schema), std::forward<F>(function));
    return std::move(*this);
  }
  RegisterOperators&& op(Options&& options) && {
    TORCH_CHECK(!options.schema_.empty(), "RegisterOperators: an operator needs a schema");
    torch::Library& m = library(options.schema_);
    const std::string schema = without_namespace(options.schema_);
    TORCH_CHECK(options.catch_all_.size() <= 1 && (options.catch_all_.empty() || options.kernels_.empty()),
                "RegisterOperators: ", options.schema_, " has a kernel for all devices and others");
    if (!options.catch_all_.empty()) {
      m.def(schema, std::move(options.catch_all_[0]));
      return std::move(*this);
    }
    m.def(schema);
    const std::string name = schema.substr(0, schema.find('('));
    for (torch::CppFunction& kernel : options.kernels_) m.impl(name, std::move(kernel));
    return std::move(*this);
  }
  RegisterOperators&& op(std::string name_or_schema, Options&& options) && {
    return std::move(*this).op(std::move(options).schema(std::move(name_or_schema)));
  }

 private:
  static size_t namespace_end(const std::string& name_or_schema) {
    const size_t end = name_or_schema.substr(0, name_or_schema.find('(')).find("::");
    TORCH_CHECK(end != std::string::npos, "RegisterOperators: \"", name_or_schema, "\" has no namespace");
    return end;
  }
  static std::string without_namespace(const std::string& name_or_schema) {
    return name_or_schema.substr(namespace_end(name_or_schema) + 2);
  }
  torch::Library& library(const std::string& name_or_schema) {
    libraries_.emplace_back(torch::Library::FRAGMENT, name_or_schema.substr(0, namespace_end(name_or_schema)),
                            std::nullopt, "", 0);
    return libraries_.back();
  }

  std::vector<torch::Library> libraries_;
};

/// An operator called by its handle; the types are those of its C++ function.
template <class Result, class... Args>
Result callOpUnboxed(const OperatorHandle& op, Args... args) {
  return op.typed<Result(Args...)>().call(std::forward<Args>(args)...);
}

}  // namespace c10

namespace torch {
using c10::RegisterOperators;
}
