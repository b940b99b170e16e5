#include "autograd/opcheck/opcheck.h"

#include <cstring>

#include "aten/core/boxing.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"

namespace torch::library {
namespace {

using at::Tensor;
using c10::DispatchKey;
using c10::FunctionSchema;
using c10::IValue;
using c10::OperatorHandle;
using c10::Stack;

constexpr const char* kSuccess = "SUCCESS";

// f(tensor) in place of every tensor, in lists too.
template <class F>
Stack mapped(const Stack& values, const F& f) {
  Stack result;
  for (const IValue& value : values) {
    if (value.isTensor()) {
      result.emplace_back(f(value.toTensor()));
    } else if (value.tag() == IValue::Tag::List) {
      result.emplace_back(mapped(value.toListRef(), f));
    } else {
      result.push_back(value);
    }
  }
  return result;
}

std::vector<Tensor> tensors_in(const IValue& value) {
  std::vector<Tensor> tensors;
  mapped({value}, [&](const Tensor& t) {
    tensors.push_back(t);
    return t;
  });
  return tensors;
}

std::vector<Tensor> tensors_in(const Stack& values) {
  std::vector<Tensor> tensors;
  for (const IValue& value : values) {
    for (const Tensor& t : tensors_in(value)) tensors.push_back(t);
  }
  return tensors;
}

// A copy with data, strides and gradient requirement of its own.
Tensor copy_of(const Tensor& t) {
  Tensor copy = at::empty_strided(t.sizes(), t.strides(), t.options());
  {
    const c10::NoGradGuard no_grad;
    at::copy_(copy, t.detach());
  }
  return copy.requires_grad_(t.requires_grad());
}

Stack filled(const OperatorHandle& op, Stack arguments) {
  const auto& schema = op.schema().arguments();
  for (size_t i = arguments.size(); i < schema.size(); ++i) {
    arguments.push_back(schema[i].default_text() ? c10::default_value(schema[i]) : IValue());
  }
  return arguments;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return x.sizes() == y.sizes() && x.scalar_type() == y.scalar_type() &&
         (x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0);
}

// --- test_schema ---

bool shares_memory(const Tensor& a, const Tensor& b) { return a.has_storage() && b.has_storage() && a.is_alias_of(b); }

std::string undeclared_write(const FunctionSchema& schema, const Stack& before, const Stack& after) {
  for (size_t i = 0; i < after.size(); ++i) {
    const std::vector<Tensor> old_values = tensors_in(before[i]), new_values = tensors_in(after[i]);
    for (size_t t = 0; t < new_values.size(); ++t) {
      if (same_bits(old_values[t], new_values[t]) || schema.arguments()[i].is_write()) continue;
      return "Argument " + schema.arguments()[i].name() + " is not defined as mutable but was mutated";
    }
  }
  return "";
}

std::string undeclared_alias(const FunctionSchema& schema, const Stack& arguments, const Stack& results) {
  for (size_t r = 0; r < results.size(); ++r) {
    const c10::Argument& result = schema.returns()[r];
    for (const Tensor& value : tensors_in(results[r])) {
      for (size_t i = 0; i < arguments.size(); ++i) {
        const c10::Argument& argument = schema.arguments()[i];
        const bool declared = !argument.alias().empty() && argument.alias() == result.alias();
        for (const Tensor& t : tensors_in(arguments[i])) {
          if (declared && result.is_write() && !value.is_same(t)) {
            return "Result " + std::to_string(r) + " is not the argument " + argument.name() + " that was written to";
          }
          if (!declared && shares_memory(value, t)) {
            return "Result " + std::to_string(r) + " is not defined to alias the argument " + argument.name() + " but does so";
          }
        }
      }
      for (size_t other = 0; other < r; ++other) {
        for (const Tensor& t : tensors_in(results[other])) {
          if (result.alias().empty() && shares_memory(value, t)) {
            return "Results " + std::to_string(other) + " and " + std::to_string(r) + " alias each other unexpectedly";
          }
        }
      }
    }
  }
  return "";
}

std::string test_schema(const OperatorHandle& op, const Stack& arguments) {
  const c10::NoGradGuard no_grad;
  const Stack mine = mapped(arguments, copy_of);
  Stack stack = mine;
  op.callBoxed(stack);
  if (stack.size() != op.schema().returns().size()) return "It left another number of results than its schema says";
  const std::string write = undeclared_write(op.schema(), arguments, mine);
  return !write.empty() ? write : undeclared_alias(op.schema(), mine, stack);
}

// --- test_autograd_registration ---

bool differentiable(const Tensor& t) { return t.is_floating_point() || t.is_complex(); }

std::string test_autograd_registration(const OperatorHandle& op, const Stack& arguments) {
  bool any = false;
  const Stack mine = mapped(arguments, [&](const Tensor& t) {
    any |= t.requires_grad();
    return copy_of(t);
  });
  if (!any || op.schema().is_mutable()) return "";
  const DispatchKey backend = (tensors_in(mine).front().key_set() & c10::kBackendKeys).highest();
  const bool registered = op.hasKernelForDispatchKey(DispatchKey::Autograd) ||
                          op.hasKernelForDispatchKey(c10::autograd_key_of(backend)) ||
                          op.op().kernels == c10::Kernels::kComposite;
  Stack stack = mine;
  op.callBoxed(stack);
  bool records = false, could = false;
  for (const Tensor& t : tensors_in(stack)) {
    records |= t.requires_grad();
    could |= differentiable(t);
  }
  if (registered || !could) return "";
  if (!records) {
    return "There is no kernel for Autograd: no result requires a gradient although an argument does. Register one for " +
           std::string(toString(c10::autograd_key_of(backend))) +
           ", or define the operator with a function composed of differentiable operators";
  }
  return "Its kernel for " + std::string(toString(backend)) +
         " records gradients, which belongs to a kernel for Autograd: below autograd, as in inference or under a wrapper, they are lost";
}

// --- test_meta ---

std::string test_meta(const OperatorHandle& op, const Stack& arguments) {
  const c10::NoGradGuard no_grad;
  Stack real = mapped(arguments, copy_of);
  Stack meta = mapped(arguments, [](const Tensor& t) {
    return at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kMeta));
  });
  op.callBoxed(real);
  try {
    op.callBoxed(meta);
  } catch (const c10::NotImplementedError& error) {
    return std::string("There is no kernel for Meta: ") + error.what_without_backtrace();
  }
  const std::vector<Tensor> a = tensors_in(real), b = tensors_in(meta);
  if (a.size() != b.size()) return "The Meta kernel gives another number of tensors";
  for (size_t i = 0; i < a.size(); ++i) {
    const std::string where = "Result " + std::to_string(i) + " on the meta device ";
    if (!b[i].is_meta()) return where + "is on " + b[i].device().str();
    if (a[i].sizes() != b[i].sizes()) return where + c10::str("has sizes ", b[i].sizes(), ", the real one ", a[i].sizes());
    if (a[i].scalar_type() != b[i].scalar_type()) {
      return where + c10::str("is of dtype ", b[i].scalar_type(), ", the real one ", a[i].scalar_type());
    }
    if (a[i].numel() > 1 && a[i].strides() != b[i].strides()) {
      return where + c10::str("has strides ", b[i].strides(), ", the real one ", a[i].strides());
    }
  }
  return "";
}

// --- test_gradient ---

std::string test_gradient(const OperatorHandle& op, const Stack& arguments) {
  autograd::variable_list inputs;
  const Stack mine = mapped(arguments, [&](const Tensor& t) {
    const Tensor copy = copy_of(t);
    if (copy.requires_grad()) inputs.push_back(copy);
    return copy;
  });
  if (inputs.empty() || op.schema().is_mutable()) return "";
  const auto call = [&](const autograd::variable_list& values) {
    size_t next = 0;
    Stack stack = mapped(mine, [&](const Tensor& t) { return t.requires_grad() ? values[next++] : t; });
    op.callBoxed(stack);
    autograd::variable_list results;
    for (const Tensor& t : tensors_in(stack)) {
      if (differentiable(t)) results.push_back(t);
    }
    return results;
  };
  return autograd::gradcheck(call, inputs).message;
}

std::string run(const std::string& name, const OperatorHandle& op, const Stack& arguments) {
  try {
    if (name == "test_schema") return test_schema(op, arguments);
    if (name == "test_autograd_registration") return test_autograd_registration(op, arguments);
    if (name == "test_meta") return test_meta(op, arguments);
    return test_gradient(op, arguments);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
}

}  // namespace

std::map<std::string, std::string> opcheck(const OperatorHandle& op, const Stack& arguments,
                                           const std::vector<std::string>& test_utils, bool raise_exception) {
  for (const std::string& name : test_utils) {
    TORCH_CHECK_VALUE(name == "test_schema" || name == "test_autograd_registration" || name == "test_meta" || name == "test_gradient",
                      "opcheck: there is no check ", name,
                      "; there are test_schema, test_autograd_registration, test_meta and test_gradient");
  }
  const Stack all = filled(op, arguments);
  std::map<std::string, std::string> results;
  std::string failures;
  for (const std::string& name : test_utils) {
    const std::string problem = run(name, op, all);
    results[name] = problem.empty() ? kSuccess : problem;
    if (!problem.empty()) failures += "\n  " + name + ": " + problem;
  }
  TORCH_CHECK(failures.empty() || !raise_exception, "opcheck(", toString(op.operator_name()), ") failed:", failures);
  return results;
}

}  // namespace torch::library
