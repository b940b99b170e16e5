#include "export/torchscript/save.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "c10/util/exception.h"
#include "c10/value/class_type.h"
#include "c10/value/dict.h"
#include "jit/api/script_function.h"
#include "utils/pickle/script.h"

namespace torch::jit {
namespace {

using c10::IValue;
using c10::TypeKind;
using c10::TypePtr;

// The operators whose meaning changed, and the version of files since which they mean what they do.
constexpr std::pair<const char*, int> kVersions[] = {{"aten::div", 4},      {"aten::div_", 4},     {"aten::full", 5},
                                                     {"aten::linspace", 8}, {"aten::logspace", 9}, {"aten::gelu", 10}};

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string quoted(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out + '"';
}

// A value as the language writes it.
std::string literal(const IValue& value) {
  if (value.isString()) return quoted(value.toStringRef());
  if (value.isDevice()) return "torch.device(" + quoted(value.toDevice().str()) + ")";
  if (value.isList() || value.isTuple()) {
    std::string out = value.isList() ? "[" : "(";
    const c10::ArrayRef<IValue> parts = value.isList() ? value.toListRef() : value.toTupleRef().elementsArrayRef();
    for (const IValue& part : parts) out += literal(part) + ", ";
    if (value.isTuple()) return out + ")";
    if (parts.empty()) return "annotate(" + value.type()->annotation_str() + ", [])";
    return out.substr(0, out.size() - 2) + "]";
  }
  TORCH_CHECK_TYPE(value.isNone() || value.isBool() || value.isInt() || value.isDouble() || value.isComplexDouble(),
                   "jit: a constant of type ", value.type()->annotation_str(), " cannot be written");
  std::string out;
  c10::to_text(out, value);
  return out;
}

class Writer {
 public:
  Writer(const Module& module, serialize::Sink& sink) : zip_(sink, "archive"), module_(module) {}

  void run(const ExtraFilesMap& extra_files) {
    for (const auto& [name, content] : extra_files) zip_.add_copy("extra/" + name, content);
    const auto class_name = [](const IValue& value) {
      return value.isEnum() ? value.toEnumHolder()->type()->annotation_str() : value.toObjectRef().name();
    };
    const auto state_of = [&](const IValue& value) {
      need(value.toObjectRef().type());
      return state(value.toObject());
    };
    const auto data = torch::pickle::pickle_script(module_._ivalue(), class_name, state_of);
    torch::pickle::add_pickle(zip_, "data", data);
    // A class may need others, a function's source more constants.
    for (size_t i = 0; i < needed_.size(); ++i) define(needed_[i]);
    for (const auto& [path, text] : files_) zip_.add_copy(path, text);
    const auto constants = torch::pickle::pickle_script(c10::ivalue::Tuple::create(constants_), class_name, state_of);
    torch::pickle::add_pickle(zip_, "constants", constants);
    zip_.add_copy("version", std::to_string(version_) + "\n");
    zip_.add("byteorder", "little", 6);
    zip_.finish();
  }

 private:
  struct Definition {
    TypePtr type;              // a class, named tuple, enumeration or interface; null for
    ScriptFunction* function;  // a function
  };

  static IValue state(const ObjectPtr& object) {
    const c10::ClassTypePtr type = object->type();
    if (Function* get = type->findMethod("__getstate__")) return (*get)({IValue(object)});
    const c10::impl::GenericDict all(c10::StringType::get(), c10::AnyType::get());
    for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
      all.insert_or_assign(IValue(type->getAttribute(slot).getName()),
                           slot < object->slots().size() ? object->getSlot(slot) : IValue());
    }
    return all;
  }

  // The definitions that a type's name refers to.
  void need(const TypePtr& type) {
    const auto* named = dynamic_cast<const c10::NamedType*>(type.get());
    const auto* tuple = type->castRaw<c10::TupleType>();
    if (named != nullptr || (tuple != nullptr && tuple->is_named())) {
      const std::string name = named != nullptr ? named->qualified_name() : tuple->name();
      // Those of C++ have no code.
      if (name.compare(0, 24, "__torch__.torch.classes.") == 0) return;
      TORCH_CHECK_NOT_IMPLEMENTED(name.compare(0, 10, "__torch__.") == 0, "jit: the class ", name,
                                  " cannot be saved: its name does not begin with __torch__");
      const auto [entry, is_new] = types_.try_emplace(name, type);
      TORCH_CHECK_NOT_IMPLEMENTED(is_new || entry->second == type || *entry->second == *type,
                                  "jit: two different classes are called ", name);
      if (is_new) needed_.push_back({type, nullptr});
      return;
    }
    for (const TypePtr& part : type->containedTypes()) need(part);
  }
  void need(const c10::FunctionSchema& schema) {
    for (const c10::Argument& one : schema.arguments()) need(one.type());
    for (const c10::Argument& one : schema.returns()) need(one.type());
  }

  void define(Definition definition) {
    const std::string name =
        definition.function != nullptr ? definition.function->qualname() : name_of(definition.type);
    const size_t dot = name.rfind('.');
    std::string path = "code/" + name.substr(0, dot) + ".py";
    std::replace(path.begin() + 5, path.end() - 3, '.', '/');
    const std::string text = definition.function != nullptr ? method(*definition.function, "", nullptr)
                                                            : class_text(definition.type, name.substr(dot + 1));
    files_[path] += text;
  }
  static std::string name_of(const TypePtr& type) {
    const auto* tuple = type->castRaw<c10::TupleType>();
    return tuple != nullptr ? tuple->name() : dynamic_cast<const c10::NamedType&>(*type).qualified_name();
  }

  std::string class_text(const TypePtr& type, const std::string& name) {
    std::string out = "class " + name;
    if (const auto* tuple = type->castRaw<c10::TupleType>()) {
      out += "(NamedTuple):\n";
      for (size_t i = 0; i < tuple->names().size(); ++i) {
        need(tuple->elements()[i]);
        out += "  " + tuple->names()[i] + " : " + tuple->elements()[i]->annotation_str() + "\n";
      }
      return out;
    }
    if (const auto* members = type->castRaw<c10::EnumType>()) {
      out += "(Enum):\n";
      for (const auto& [member, value] : members->enumNamesValues())
        out += "  " + member + " = " + literal(value) + "\n";
      return out;
    }
    if (const auto* interface = type->castRaw<c10::InterfaceType>()) {
      out += interface->is_module() ? "(ModuleInterface):\n" : "(Interface):\n";
      for (const std::string& method : interface->methodNames()) {
        Function* function =
            unit() == nullptr ? nullptr : unit()->find_interface_method(interface->qualified_name() + "." + method);
        TORCH_CHECK_NOT_IMPLEMENTED(function != nullptr, "jit: the interface ", interface->qualified_name(),
                                    " has no schema for its method ", method);
        out += header(function->getSchema(), "  ", type) + "    pass\n";
      }
      return out;
    }
    const auto& object = type->expectRef<c10::ClassType>();
    const ClassNotes notes = unit() == nullptr ? ClassNotes() : unit()->notes_of(object);
    out += object.is_module() ? "(Module):\n" : ":\n";
    if (object.is_module()) {
      std::string parameters, buffers;
      for (const c10::ClassAttribute& one : object.getAttributes()) {
        if (one.is_parameter()) parameters += quoted(one.getName()) + ", ";
        if (one.is_buffer()) buffers += quoted(one.getName()) + ", ";
      }
      out += "  __parameters__ = [" + parameters + "]\n  __buffers__ = [" + buffers + "]\n";
      for (const auto& [list, functions] :
           {std::pair("__forward_pre_hooks__", &notes.pre_hooks), std::pair("__forward_hooks__", &notes.hooks)}) {
        std::string names;
        for (const Function* hook : *functions) names += quoted(hook->name()) + ", ";
        if (!names.empty()) out += std::string("  ") + list + " = [" + names + "]\n";
      }
    }
    bool listed = false;
    for (const c10::ClassAttribute& one : object.getAttributes()) {
      need(one.getType());
      if (is_identifier(one.getName())) {
        out += "  " + one.getName() + " : " + one.getType()->annotation_str() + "\n";
        continue;
      }
      if (!std::exchange(listed, true)) out += "  __annotations__ = []\n";
      out += "  __annotations__[" + quoted(one.getName()) + "] = " + one.getType()->annotation_str() + "\n";
    }
    for (const std::string& constant : notes.constants) {
      const IValue value = object.getConstant(constant);
      out += "  " + constant + " : Final[" + value.type()->annotation_str() + "] = " + literal(value) + "\n";
    }
    for (Function* function : object.methods()) {
      auto* script = dynamic_cast<ScriptFunction*>(function);
      TORCH_CHECK_NOT_IMPLEMENTED(script != nullptr, "jit: ", function->qualname(), " has no source");
      out += method(*script, "  ", type);
    }
    if (out.find('\n') + 1 == out.size()) out += "  pass\n";
    return out;
  }

  std::string header(const c10::FunctionSchema& schema, const std::string& indent, const TypePtr& self) {
    need(schema);
    std::string out = indent + "def " + schema.name() + "(";
    bool first = true;
    for (const c10::Argument& one : schema.arguments()) {
      if (!first) out += ",\n" + indent + "    ";
      out += one.name() + ": " + (first && self != nullptr ? name_of(self) : one.type()->annotation_str());
      if (one.default_value().has_value()) out += "=" + literal(*one.default_value());
      first = false;
    }
    return out + ") -> " + schema.returns().at(0).type()->annotation_str() + ":\n";
  }

  std::string method(ScriptFunction& function, const std::string& indent, const TypePtr& self) {
    const CompiledFunction& compiled = function.compiled();
    for (const auto& [name, called] : compiled.functions) {
      auto* script = dynamic_cast<ScriptFunction*>(called);
      // Methods come with their classes, which the schemas name.
      if (script == nullptr || is_method(*script)) continue;
      TORCH_CHECK_NOT_IMPLEMENTED(script->qualname().compare(0, 10, "__torch__.") == 0, "jit: the function ",
                                  script->qualname(), " cannot be saved: its name does not begin with __torch__");
      if (functions_.insert(script).second) needed_.push_back({nullptr, script});
    }
    compiled.graph->for_nodes([&](const graph::Node* node) {
      for (const auto& [op, since] : kVersions) {
        if (node->kind() == graph::Node::Kind::kCall && node->callable().handle() != nullptr && node->calls(op))
          version_ = std::max(version_, since);
      }
      for (size_t i = 0; i < node->result_count(); ++i) need(node->result(i)->type());
      for (const graph::Operand& operand : node->operands()) {
        if (operand.is_constant() && operand.constant().isEnum()) need(operand.constant().type());
      }
    });
    return header(compiled.schema, indent, self) + body(compiled, indent + "  ");
  }
  static bool is_method(const Function& function) {
    if (function.getSchema().arguments().empty()) return false;
    const TypePtr& first = function.getSchema().arguments()[0].type();
    const auto* owner = first->castRaw<c10::ClassType>();
    return owner != nullptr && owner->findMethod(function.name()) == &function;
  }

  // The source of a body with another indentation and the numbers that constants have in this file.
  std::string body(const CompiledFunction& compiled, const std::string& indent) {
    if (compiled.body.source() == nullptr) return indent + "pass\n";
    const std::string& text = compiled.body.source()->text();
    const size_t begin = compiled.body.start();
    const size_t line = text.rfind('\n', begin) + 1;  // 0 where there is none
    const bool own_line = text.find_first_not_of(" \t", line) == begin;
    const size_t column = own_line ? begin - line : 0;
    std::string out;
    size_t at = begin;
    while (at < compiled.body.end()) {
      const size_t end = std::min(text.find('\n', at), compiled.body.end());
      out += indent + renumbered(text.substr(at, end - at), compiled) + "\n";
      at = end + 1;
      for (size_t i = 0; i < column && at < compiled.body.end() && (text[at] == ' ' || text[at] == '\t'); ++i) ++at;
    }
    return out;
  }
  std::string renumbered(const std::string& line, const CompiledFunction& compiled) {
    static constexpr std::string_view kBefore = "CONSTANTS.c";
    std::string out;
    for (size_t i = 0; i < line.size();) {
      if (line[i] == '"' || line[i] == '\'') {
        const size_t begin = i;
        for (++i; i < line.size() && line[i] != line[begin]; ++i) i += line[i] == '\\';
        i = std::min(i + 1, line.size());
        out += line.substr(begin, i - begin);
      } else if (line.compare(i, kBefore.size(), kBefore) == 0) {
        size_t end = i + kBefore.size();
        while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
        const auto found = compiled.constants.find(line.substr(i, end - i));
        if (found != compiled.constants.end()) {
          out += std::string(kBefore) + std::to_string(number(found->second));
        } else {
          out += line.substr(i, end - i);
        }
        i = end;
      } else {
        out += line[i++];
      }
    }
    return out;
  }
  size_t number(const IValue& constant) {
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (constants_[i].is(constant)) return i;
    }
    constants_.push_back(constant);
    return constants_.size() - 1;
  }
  std::shared_ptr<CompilationUnit> unit() const { return module_._ivalue()->compilation_unit(); }

  torch::pickle::ZipWriter zip_;
  const Module& module_;
  std::map<std::string, TypePtr> types_;
  std::set<const ScriptFunction*> functions_;
  std::vector<Definition> needed_;
  std::map<std::string, std::string> files_;
  std::vector<IValue> constants_;
  int version_ = 3;
};

class StreamSink final : public serialize::Sink {
 public:
  explicit StreamSink(std::ostream& out) : out_(out) {}
  void write(const void* data, size_t bytes) override {
    out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    TORCH_CHECK(out_.good(), "jit: the stream takes no more bytes");
  }

 private:
  std::ostream& out_;
};

}  // namespace

void Module::save(const std::string& filename, const ExtraFilesMap& extra_files) const {
  torch::jit::save(*this, filename, extra_files);
}
void Module::save(std::ostream& out, const ExtraFilesMap& extra_files) const {
  torch::jit::save(*this, out, extra_files);
}

void save(const Module& module, serialize::Sink& sink, const ExtraFilesMap& extra_files) {
  Writer(module, sink).run(extra_files);
}
void save(const Module& module, const std::string& filename, const ExtraFilesMap& extra_files) {
  serialize::AtomicFile file(filename);
  save(module, file, extra_files);
  file.commit();
}
void save(const Module& module, std::ostream& out, const ExtraFilesMap& extra_files) {
  StreamSink sink(out);
  save(module, sink, extra_files);
}

}  // namespace torch::jit
