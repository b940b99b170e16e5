#include "aten/core/library.h"

#include "aten/core/structured.h"
#include "c10/core/tensor_impl.h"
#include "c10/util/exception.h"

namespace torch {
namespace {

using c10::Dispatcher;
using c10::DispatchKey;
using c10::FunctionSchema;
using library_internal::FunctionTypes;

std::string text_of(const c10::Type& type) {
  std::string text;
  c10::to_text(text, type);
  return text;
}

// Of values: a SymInt of the schema is an int64_t of the function.
bool same_type(const c10::Argument& declared, const c10::TypePtr& actual) {
  return *declared.type() == *c10::detail::without_schema_names(actual);
}

// "name(Tensor _0, int _1) -> Tensor _0" from the types of a function.
std::string inferred_schema(const std::string& name, const FunctionTypes& types) {
  std::string text = name + "(";
  for (size_t i = 0; i < types.arguments.size(); ++i) {
    text += (i > 0 ? ", " : "") + text_of(*types.arguments[i]) + " _" + std::to_string(i);
  }
  text += ") -> ";
  if (types.results.size() != 1) text += "(";
  for (size_t i = 0; i < types.results.size(); ++i) {
    text += (i > 0 ? ", " : "") + text_of(*types.results[i]) + " _" + std::to_string(i);
  }
  return types.results.size() != 1 ? text + ")" : text;
}

const std::shared_ptr<const c10::BoxedKernel>& fallthrough() {
  static const auto& kernel = *new std::shared_ptr<const c10::BoxedKernel>(std::make_shared<const c10::BoxedKernel>());
  return kernel;
}

void throw_not_supported(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, toString(op.operator_name()), " is not supported for ",
                              toString(keys.highestPriorityTypeId()));
}

void mark_written(const c10::IValue& value) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) at::structured::mark_written(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) mark_written(element);
  }
}

// The functions of the tables count what they write to (Tensor::_version); a backend's kernel from elsewhere does not, so this
// does it for it.
struct WritingKernel final : c10::BoxedKernel {
  explicit WritingKernel(std::shared_ptr<const c10::BoxedKernel> kernel) : inner(std::move(kernel)) {
    functor = this;
    call = [](void* self, const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
      const c10::BoxedKernel& inner = *static_cast<const WritingKernel*>(self)->inner;
      const auto& arguments = op.schema().arguments();
      std::vector<c10::IValue> written;
      for (size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].is_write()) written.push_back((*stack)[stack->size() - arguments.size() + i]);
      }
      inner.call(inner.functor, op, keys, stack);
      for (const c10::IValue& value : written) mark_written(value);
    };
  }
  std::shared_ptr<const c10::BoxedKernel> inner;
};

}  // namespace

namespace library_internal {

void check_types(const std::string& name, const FunctionSchema& schema, const FunctionTypes& types) {
  TORCH_CHECK(schema.arguments().size() == types.arguments.size(), name, ": the schema has ", schema.arguments().size(),
              " arguments, the function ", types.arguments.size());
  for (size_t i = 0; i < types.arguments.size(); ++i) {
    TORCH_CHECK(same_type(schema.arguments()[i], types.arguments[i]), name, ": argument '",
                schema.arguments()[i].name(), "' is ", schema.arguments()[i].type_str(), " in the schema and ",
                text_of(*types.arguments[i]), " in the function");
  }
  TORCH_CHECK(schema.returns().size() == types.results.size(), name, ": the schema has ", schema.returns().size(),
              " results, the function ", types.results.size());
  for (size_t i = 0; i < types.results.size(); ++i) {
    TORCH_CHECK(same_type(schema.returns()[i], types.results[i]), name, ": result ", i, " is ",
                schema.returns()[i].type_str(), " in the schema and ", text_of(*types.results[i]), " in the function");
  }
}

}  // namespace library_internal

CppFunction CppFunction::makeFallthrough() { return from_boxed(fallthrough()); }
CppFunction CppFunction::makeNamedNotSupported() { return makeFromBoxedFunction<&throw_not_supported>(); }

DispatchKey dispatch_key_of(c10::DeviceType type) { return c10::backend_key_set(c10::Device(type)).highest(); }

Library::Library(Kind kind, std::string ns, std::optional<DispatchKey> key, const char* file, uint32_t line)
    : kind_(kind), ns_(std::move(ns)), key_(key) {
  TORCH_CHECK(kind == IMPL || ns_ != "_", "TORCH_LIBRARY: operators need a namespace; _ is for TORCH_LIBRARY_IMPL");
  if (kind == DEF) {
    registrations_.push_back(
        Dispatcher::singleton().reserve_namespace(ns_, std::string(file) + ":" + std::to_string(line)));
  }
}

void Library::check_may_define(const std::string& schema) const {
  TORCH_CHECK(kind_ != IMPL, "def(\"", schema,
              "\"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block; define in TORCH_LIBRARY");
}

// Returns the operator's full name.
std::string Library::define_operator(const std::string& schema, const std::vector<at::Tag>& tags) {
  const FunctionSchema parsed = c10::parse_schema(schema);
  TORCH_CHECK(parsed.ns().empty() || parsed.ns() == ns_, "\"", schema, "\" stands in the library ", ns_);
  const std::string text = parsed.ns().empty() ? schema : schema.substr(schema.find("::") + 2);
  registrations_.push_back(Dispatcher::singleton().define(ns_, text, tags));
  return ns_ + "::" + parsed.qualified_name();
}

Library& Library::def(const std::string& schema, const std::vector<at::Tag>& tags) {
  check_may_define(schema);
  define_operator(schema, tags);
  return *this;
}

Library& Library::define(const std::string& schema, CppFunction&& function, const std::vector<at::Tag>& tags) {
  check_may_define(schema);
  const bool whole = schema.find('(') != std::string::npos;
  TORCH_CHECK(whole || function.types_ != nullptr, "def(\"", schema,
              "\"): the types of a boxed kernel are not known; write the whole schema");
  const std::string text = whole ? schema : inferred_schema(schema, function.types_());
  if (function.types_ != nullptr) library_internal::check_types(schema, c10::parse_schema(text), function.types_());
  const std::string name = define_operator(text, tags);
  try {
    if (!function.key_) function.key_ = DispatchKey::CompositeImplicitAutograd;
    return implement(name, std::move(function));
  } catch (...) {
    registrations_.pop_back();
    throw;
  }
}

Library& Library::implement(const std::string& name, CppFunction&& function) {
  std::string full = name;
  if (const size_t colons = name.find("::"); colons == std::string::npos) {
    TORCH_CHECK(ns_ != "_", "impl(\"", name, "\"): in the namespace _ an operator is named with its own, as aten::", name);
    full = ns_ + "::" + name;
  } else {
    TORCH_CHECK(ns_ == "_" || name.compare(0, colons, ns_) == 0, "impl(\"", name, "\") stands in the library ", ns_);
  }
  c10::KernelRegistration kernel;
  kernel.op = full;
  kernel.key = function.key_.value_or(key_.value_or(DispatchKey::CompositeImplicitAutograd));
  kernel.function = function.function_;
  kernel.boxing = function.boxing_;
  kernel.boxed = std::move(function.boxed_);
  const bool of_tables = full.rfind("aten::", 0) == 0;
  if (of_tables && c10::kBackendKeys.has(kernel.key) && kernel.boxed != nullptr && !kernel.boxed->is_fallthrough()) {
    kernel.writing = std::make_shared<WritingKernel>(kernel.boxed);
  }
  if (auto* types = function.types_; types != nullptr) {
    kernel.check = [full, types](const FunctionSchema& schema) { library_internal::check_types(full, schema, types()); };
  }
  registrations_.push_back(Dispatcher::singleton().implement(std::move(kernel)));
  return *this;
}

Library& Library::set_fallback(CppFunction&& function) {
  TORCH_CHECK(kind_ == IMPL && ns_ == "_", "fallback(...): a fallback is for all operators; register it in "
              "TORCH_LIBRARY_IMPL(_, <key>, m)");
  TORCH_CHECK(function.boxing_ == nullptr && function.types_ == nullptr,
              "fallback(...): a fallback takes its arguments on a stack; use CppFunction::makeFromBoxedFunction");
  const std::optional<DispatchKey> key = function.key_.has_value() ? function.key_ : key_;
  TORCH_CHECK(key.has_value(), "fallback(...): no key");
  registrations_.push_back(Dispatcher::singleton().fallback(*key, std::move(function.boxed_)));
  return *this;
}

}  // namespace torch
