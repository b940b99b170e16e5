#include "nn/module/any_module.h"

#include "c10/util/string_util.h"

namespace torch::nn::detail {

void bad_any_value_cast(const std::type_info& wanted, const std::type_info& actual) {
  TORCH_CHECK(false, "Attempted to cast AnyValue to ", c10::demangle(wanted.name()), ", but its actual type is ",
              c10::demangle(actual.name()));
  __builtin_unreachable();
}

void prepare_arguments(Module& module, std::vector<AnyValue>& arguments, size_t expected) {
  const size_t got = arguments.size();
  if (AnyModuleAccess::has_defaults(module)) {
    const unsigned required = AnyModuleAccess::required(module);
    TORCH_CHECK(got >= required && got <= expected, module.name(), "'s forward() method expects at least ", required,
                " argument(s) and at most ", expected, " argument(s), but received ", got, ".");
    arguments = AnyModuleAccess::populate(module, std::move(arguments));
    TORCH_CHECK(arguments.size() == expected, module.name(),
                ": FORWARD_HAS_DEFAULT_ARGS does not name every default argument");
    return;
  }
  const std::string hint = got < expected
                               ? " If " + module.name() +
                                     "'s forward() method has default arguments, please make sure the forward() "
                                     "method is declared with a corresponding `FORWARD_HAS_DEFAULT_ARGS` macro."
                               : std::string();
  TORCH_CHECK(got == expected, module.name(), "'s forward() method expects ", expected, " argument(s), but received ",
              got, ".", hint);
}

void bad_argument(size_t index, const std::type_info& expected, const std::type_info& actual) {
  TORCH_CHECK(false, "Expected argument #", index, " to be of type ", c10::demangle(expected.name()),
              ", but received value of type ", c10::demangle(actual.name()));
  __builtin_unreachable();
}

void bad_module_cast(const std::type_info& actual, const std::type_info& wanted) {
  TORCH_CHECK(false, "Attempted to cast module of type ", c10::demangle(actual.name()), " to type ",
              c10::demangle(wanted.name()));
  __builtin_unreachable();
}

void bad_return(const std::type_info& actual, const std::type_info& wanted) {
  TORCH_CHECK(false, "The type of the return value is ", c10::demangle(actual.name()), ", but you asked for type ",
              c10::demangle(wanted.name()));
  __builtin_unreachable();
}

void empty_any_module(const char* call) {
  TORCH_CHECK(false, "Cannot call ", call, " on an empty AnyModule");
  __builtin_unreachable();
}

}  // namespace torch::nn::detail
