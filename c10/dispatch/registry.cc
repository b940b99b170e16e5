#include "c10/dispatch/registry.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include "c10/core/layout.h"
#include "c10/core/memory_format.h"
#include "c10/util/exception.h"

namespace c10 {
namespace {

// Found by name from the start; its schema is parsed when somebody asks.
struct Entry {
  const RegisteredOperator* registered;
  std::unique_ptr<FunctionSchema> schema;
  Stack defaults;
};

// "ns::name.overload" of a schema's text, without parsing the rest.
std::string full_name(std::string_view ns, std::string_view schema) {
  std::string name(ns);
  name += "::";
  name += schema.substr(0, schema.find('('));
  return name;
}

IValue element_value(SchemaType::Kind kind, std::string_view text) {
  using Kind = SchemaType::Kind;
  const std::string copy(text);
  switch (kind) {
    case Kind::Int:
      if (text == "Mean") return IValue(int64_t{1});
      return IValue(static_cast<int64_t>(std::strtoll(copy.c_str(), nullptr, 10)));
    case Kind::Float:
      return IValue(std::strtod(copy.c_str(), nullptr));
    case Kind::Bool:
      return IValue(text == "True");
    case Kind::Scalar:
      if (text == "True" || text == "False") return IValue(text == "True");
      if (text.find_first_of(".e") == std::string_view::npos) return IValue(static_cast<int64_t>(std::strtoll(copy.c_str(), nullptr, 10)));
      return IValue(std::strtod(copy.c_str(), nullptr));
    case Kind::String:
      return IValue(text.substr(1, text.size() - 2));
    case Kind::ScalarType:
      if (text == "long") return IValue(ScalarType::Long);
      break;
    case Kind::Layout:
      if (text == "strided") return IValue(static_cast<int64_t>(Layout::Strided));
      break;
    case Kind::MemoryFormat:
      if (text == "contiguous_format") return IValue(static_cast<int64_t>(MemoryFormat::Contiguous));
      break;
    default:
      break;
  }
  TORCH_CHECK(false, "no value for the default '", copy, "'");
  __builtin_unreachable();
}

}  // namespace

IValue default_value(const Argument& argument) {
  const std::string_view text = *argument.default_text();
  const SchemaType& type = argument.type();
  if (text == "None") return IValue();
  if (!type.list) return element_value(type.kind, text);
  Stack values;
  if (text.front() == '[') {
    size_t begin = 1;
    while (begin < text.size() - 1) {
      size_t end = std::min(text.find(',', begin), text.size() - 1);
      while (begin < end && text[begin] == ' ') ++begin;
      values.push_back(element_value(type.kind, text.substr(begin, end - begin)));
      begin = end + 1;
    }
  } else {
    values.push_back(element_value(type.kind, text));
  }
  if (type.kind == SchemaType::Kind::Int) {
    std::vector<int64_t> integers;
    for (const IValue& value : values) integers.push_back(value.toInt());
    return IValue(std::move(integers));
  }
  return IValue(std::move(values));
}

struct Dispatcher::State {
  std::mutex mutex;
  std::unordered_map<std::string, Entry> entries;
  std::string key;  // scratch, so that a look-up does not allocate
};

Dispatcher::Dispatcher() : state_(new State) {}

Dispatcher& Dispatcher::singleton() {
  static Dispatcher& instance = *new Dispatcher;
  return instance;
}

void Dispatcher::register_operators(std::string_view ns, const RegisteredOperator* operators, size_t count) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  for (size_t i = 0; i < count; ++i) {
    const std::string name = full_name(ns, operators[i].schema);
    TORCH_CHECK(state_->entries.try_emplace(name, Entry{&operators[i], nullptr, {}}).second, "an operator named ", name, " is registered already");
  }
}

void Dispatcher::deregister_operators(std::string_view ns, const RegisteredOperator* operators, size_t count) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  for (size_t i = 0; i < count; ++i) state_->entries.erase(full_name(ns, operators[i].schema));
}

std::optional<OperatorHandle> Dispatcher::findSchema(std::string_view name, std::string_view overload_name) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  std::string& key = state_->key;
  key.assign(name);
  if (!overload_name.empty()) {
    key += '.';
    key += overload_name;
  }
  const auto found = state_->entries.find(key);
  if (found == state_->entries.end()) return std::nullopt;
  Entry& entry = found->second;
  if (entry.schema == nullptr) {
    auto schema = std::make_unique<FunctionSchema>(parse_schema(entry.registered->schema));
    for (const Argument& argument : schema->arguments()) {
      entry.defaults.push_back(argument.default_text() ? default_value(argument) : IValue());
    }
    entry.schema = std::move(schema);
  }
  return OperatorHandle(entry.registered, entry.schema.get(), &entry.defaults);
}

std::optional<OperatorHandle> Dispatcher::findSchema(const OperatorName& name) {
  return findSchema(name.name, name.overload_name);
}

OperatorHandle Dispatcher::findSchemaOrThrow(std::string_view name, std::string_view overload_name) {
  const std::optional<OperatorHandle> handle = findSchema(name, overload_name);
  TORCH_CHECK(handle.has_value(), "no operator named ", name, overload_name.empty() ? "" : ".", overload_name,
              " is linked; operators of a table come with //aten/ops:registry");
  return *handle;
}

std::vector<std::string> Dispatcher::getAllOpNames() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  std::vector<std::string> names;
  names.reserve(state_->entries.size());
  for (const auto& [name, entry] : state_->entries) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void OperatorHandle::callBoxed(Stack& stack) const {
  const size_t expected = schema_->arguments().size();
  if (stack.size() != expected) {
    TORCH_CHECK_TYPE(stack.size() < expected, registered_->op->name, "(): expected at most ", expected, " arguments, got ", stack.size());
    for (size_t i = stack.size(); i < expected; ++i) {
      const Argument& argument = schema_->arguments()[i];
      TORCH_CHECK_TYPE(argument.default_text().has_value() || argument.type().optional, registered_->op->name, "(): missing argument '",
                       argument.name(), "'");
      stack.push_back((*defaults_)[i]);
    }
  }
  registered_->boxed(*registered_->op, stack);
}

}  // namespace c10
