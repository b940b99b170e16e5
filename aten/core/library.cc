#include "aten/core/library.h"

#include <map>
#include <memory>
#include <mutex>

#include "c10/util/exception.h"

namespace torch {
namespace {

using c10::FunctionSchema;
using library_internal::FunctionFacts;

// An operator made at run time. What the dispatcher refers to lives here, for good.
struct Defined {
  std::string ns;
  std::string name;    // "scale", with the overload's
  std::string schema;  // without the namespace
  std::unique_ptr<c10::RegisteredOperator> registered;  // null until a function shows the types
  c10::BoxedFunction boxed = nullptr;
};

struct Definitions {
  std::mutex mutex;
  std::map<std::string, Defined> by_name;  // "mine::scale"
};

Definitions& definitions() {
  static Definitions& instance = *new Definitions;
  return instance;
}

bool same_type(const c10::SchemaType& declared, const c10::SchemaType& actual) {
  return declared.kind == actual.kind && declared.list == actual.list && declared.optional == actual.optional;
}

void check_types(const std::string& name, const FunctionSchema& schema, const FunctionFacts& facts) {
  TORCH_CHECK(schema.arguments().size() == facts.arguments.size(), name, ": the schema has ", schema.arguments().size(),
              " arguments, the function ", facts.arguments.size());
  for (size_t i = 0; i < facts.arguments.size(); ++i) {
    TORCH_CHECK(same_type(schema.arguments()[i].type(), facts.arguments[i]), name, ": argument '", schema.arguments()[i].name(), "' is ",
                schema.arguments()[i].type().str(), " in the schema and ", facts.arguments[i].str(), " in the function");
  }
  TORCH_CHECK(schema.returns().size() == facts.results.size(), name, ": the schema has ", schema.returns().size(),
              " results, the function ", facts.results.size());
  for (size_t i = 0; i < facts.results.size(); ++i) {
    TORCH_CHECK(same_type(schema.returns()[i].type(), facts.results[i]), name, ": result ", i, " is ", schema.returns()[i].type().str(),
                " in the schema and ", facts.results[i].str(), " in the function");
  }
}

// "name(Tensor _0, int _1) -> Tensor" from the types of a function.
std::string inferred_schema(const std::string& name, const FunctionFacts& facts) {
  std::string text = name + "(";
  for (size_t i = 0; i < facts.arguments.size(); ++i) {
    text += (i > 0 ? ", " : "") + facts.arguments[i].str() + " _" + std::to_string(i);
  }
  text += ") -> ";
  if (facts.results.size() != 1) text += "(";
  for (size_t i = 0; i < facts.results.size(); ++i) text += (i > 0 ? ", " : "") + facts.results[i].str();
  return facts.results.size() != 1 ? text + ")" : text;
}

void fill_slots(const FunctionFacts& facts, c10::OperatorBase& op, void (*function)(), LibraryKey key) {
  using c10::DispatchKey;
  switch (key) {
    case LibraryKey::CPU: return facts.set(op, DispatchKey::CPU, function);
    case LibraryKey::CUDA: return facts.set(op, DispatchKey::CUDA, function);
    case LibraryKey::Meta: return facts.set(op, DispatchKey::Meta, function);
    case LibraryKey::Autograd: return facts.set(op, DispatchKey::Autograd, function);
    case LibraryKey::CompositeImplicitAutograd:
    case LibraryKey::CompositeExplicitAutograd:
      for (DispatchKey backend : {DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::Meta}) facts.set(op, backend, function);
  }
}

// Makes the operator object and shows it to the dispatcher. Precondition: the definitions are locked.
void create(Defined& defined, const FunctionFacts& facts) {
  c10::OperatorBase* op = facts.make(defined.name.c_str(), defined.ns.c_str());
  defined.boxed = facts.boxed;
  defined.registered = std::make_unique<c10::RegisteredOperator>(c10::RegisteredOperator{defined.schema.c_str(), op, facts.boxed});
  c10::Dispatcher::singleton().register_operators(defined.ns, defined.registered.get(), 1);
}

Defined& add(const char* ns, const std::string& text, FunctionSchema* parsed) {
  *parsed = c10::parse_schema(text);
  TORCH_CHECK(parsed->ns().empty() || parsed->ns() == ns, "\"", text, "\" stands in the library ", ns);
  const std::string name = parsed->qualified_name();
  const std::string full = std::string(ns) + "::" + name;
  TORCH_CHECK(!c10::Dispatcher::singleton().findSchema(full, ""), "an operator named ", full, " is registered already");
  const auto [entry, fresh] = definitions().by_name.try_emplace(full);
  TORCH_CHECK(fresh, "an operator named ", full, " is registered already");
  entry->second.ns = ns;
  entry->second.name = name;
  const size_t colons = text.find("::");
  entry->second.schema = !parsed->ns().empty() ? text.substr(colons + 2) : text;
  return entry->second;
}

}  // namespace

Library& Library::def(const std::string& schema) {
  TORCH_CHECK(kind_ != Kind::kImplement, "def(\"", schema, "\"): TORCH_LIBRARY_IMPL only implements; define in TORCH_LIBRARY");
  const std::lock_guard<std::mutex> lock(definitions().mutex);
  FunctionSchema parsed;
  add(ns_, schema, &parsed);
  return *this;
}

Library& Library::define(const std::string& schema, const FunctionFacts& facts, void (*function)()) {
  TORCH_CHECK(kind_ != Kind::kImplement, "def(\"", schema, "\"): TORCH_LIBRARY_IMPL only implements; define in TORCH_LIBRARY");
  const std::string text = schema.find('(') == std::string::npos ? inferred_schema(schema, facts) : schema;
  check_types(schema, c10::parse_schema(text), facts);
  const std::lock_guard<std::mutex> lock(definitions().mutex);
  FunctionSchema parsed;
  Defined& defined = add(ns_, text, &parsed);
  create(defined, facts);
  fill_slots(facts, *defined.registered->op, function, LibraryKey::CompositeImplicitAutograd);
  return *this;
}

Library& Library::implement(const std::string& name, const FunctionFacts& facts, void (*function)(), LibraryKey key) {
  std::string full = name.find("::") == std::string::npos ? std::string(ns_) + "::" + name : name;
  const std::lock_guard<std::mutex> lock(definitions().mutex);
  const auto found = definitions().by_name.find(full);
  if (found != definitions().by_name.end() && found->second.registered == nullptr) {
    check_types(full, c10::parse_schema(found->second.schema), facts);
    create(found->second, facts);
  }
  const auto handle = c10::Dispatcher::singleton().findSchema(full, "");
  TORCH_CHECK(handle.has_value(), "impl(\"", name, "\"): there is no operator ", full, "; define it in TORCH_LIBRARY before");
  TORCH_CHECK(handle->boxed() == facts.boxed, "impl(\"", name, "\"): the function's C++ types differ from those of ", full);
  fill_slots(facts, handle->op(), function, key);
  return *this;
}

}  // namespace torch
