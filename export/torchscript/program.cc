#include "export/torchscript/program.h"

#include <algorithm>
#include <utility>

#include "c10/util/exception.h"
#include "c10/value/custom_class_registry.h"
#include "c10/value/object.h"
#include "jit/compiler/annotations.h"
#include "jit/frontend/parser.h"

namespace torch::jit {
namespace {

using c10::IValue;
using c10::TypePtr;

// Operators that meant something else in files before a version. Since 10 gelu has an argument more, with a default.
constexpr std::pair<const char*, int> kMeaningSince[] = {
    {"aten::div", 4}, {"aten::div_", 4}, {"aten::full", 5}, {"aten::linspace", 8}, {"aten::logspace", 9}};

// A type that is made of one that is not known yet is made while that is; so many are open at once.
constexpr size_t kMostLevels = 200;
// Code is packed, to a tenth or so.
constexpr uint64_t kLeastCode = uint64_t{1} << 20;
constexpr uint64_t kPacked = 32;

std::string prefix_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}
std::string last_of(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

// An empty object of a class.
class Creator final : public Function {
 public:
  Creator(c10::ClassTypePtr type, CompilationUnit& unit)
      : type_(std::move(type)),
        unit_(unit),
        qualname_(type_->qualified_name() + ".__new__"),
        schema_(name_, "", {}, {c10::Argument("", type_)}) {}
  const std::string& name() const override { return name_; }
  const std::string& qualname() const override { return qualname_; }
  const c10::FunctionSchema& getSchema() const override { return schema_; }
  void run(c10::Stack& stack) override {
    stack = {IValue(
        c10::ivalue::Object::create(c10::StrongTypePtr(unit_.shared_from_this(), type_), type_->numAttributes()))};
  }

 private:
  c10::ClassTypePtr type_;
  CompilationUnit& unit_;
  std::string name_ = "__new__";
  std::string qualname_;
  c10::FunctionSchema schema_;
};

// A method of an interface: the one of that name that the object has.
class InterfaceMethod final : public Function {
 public:
  InterfaceMethod(std::string qualname, c10::FunctionSchema schema)
      : qualname_(std::move(qualname)), schema_(std::move(schema)) {}
  const std::string& name() const override { return schema_.name(); }
  const std::string& qualname() const override { return qualname_; }
  const c10::FunctionSchema& getSchema() const override { return schema_; }
  void run(c10::Stack& stack) override {
    TORCH_CHECK_TYPE(!stack.empty() && stack[0].isObject(), qualname_, " is called on what is no object");
    stack[0].toObjectRef().type()->getMethod(name()).run(stack);
  }

 private:
  std::string qualname_;
  c10::FunctionSchema schema_;
};

// ["a", "b"]
std::vector<std::string> texts(const Expr& node) {
  const auto* list = node.as<ListExpr>();
  if (list == nullptr) throw ErrorReport(node.range, "expected a list of names");
  std::vector<std::string> all;
  for (const ExprPtr& item : list->items) {
    const auto* text = item->as<StringExpr>();
    if (text == nullptr) throw ErrorReport(item->range, "expected a list of names");
    all.push_back(text->value);
  }
  return all;
}

// A member of a class that is no method: NAME : type, NAME : Final[type] = value, __annotations__["NAME"] = type,
// __parameters__ = [names].
struct Member {
  std::string name;
  const Expr* type = nullptr;
  const Expr* value = nullptr;
};
Member member_of(const Stmt& node) {
  const auto* assign = node.as<AssignStmt>();
  if (assign == nullptr || assign->targets.size() != 1) throw ErrorReport(node.range, "expected a member of a class");
  const Expr& target = *assign->targets[0];
  if (const auto* name = target.as<NameExpr>()) return {name->name, assign->type.get(), assign->value.get()};
  const auto* element = target.as<SubscriptExpr>();
  const auto* text = element == nullptr ? nullptr : element->index->as<StringExpr>();
  if (text == nullptr || dotted_path(*element->value) != "__annotations__" || assign->value == nullptr)
    throw ErrorReport(node.range, "expected a member of a class");
  return {text->value, assign->value.get(), nullptr};
}

}  // namespace

void ArchivedProgram::set_constants(std::vector<IValue> constants) {
  // Traces hold Python's numbers as tensors of its widest types, which give way to those of what they meet.
  for (IValue& one : constants) {
    if (!one.isTensor() || !one.toTensor().defined() || one.toTensor().dim() != 0) continue;
    const c10::ScalarType dtype = one.toTensor().scalar_type();
    if (dtype == c10::ScalarType::Double || dtype == c10::ScalarType::Long)
      one.toTensor().unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  constants_ = std::move(constants);
}

const IValue* ArchivedProgram::constant(const std::string& name) {
  static constexpr std::string_view kBefore = "CONSTANTS.c";
  if (name.compare(0, kBefore.size(), kBefore) != 0) return nullptr;
  size_t number = 0;
  for (size_t i = kBefore.size(); i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9' || i > kBefore.size() + 8) return nullptr;
    number = number * 10 + static_cast<size_t>(name[i] - '0');
  }
  return name.size() > kBefore.size() && number < constants_.size() ? &constants_[number] : nullptr;
}

const ArchivedProgram::File* ArchivedProgram::file(const std::string& module) {
  const auto [entry, is_new] = files_.try_emplace(module);
  File& made = entry->second;
  if (!is_new) return &made;
  std::string path = "code/" + module + ".py";
  std::replace(path.begin() + 5, path.end() - 3, '.', '/');
  const torch::pickle::ZipRecord* record = file_.zip().find(path);
  if (record == nullptr) return &made;
  const uint64_t most = kLeastCode + kPacked * file_.zip().bytes()->view().size();
  made.statements = parse_program(std::make_shared<Source>(file_.zip().read(*record, most), path));
  for (const StmtPtr& node : made.statements) {
    const auto* def = node->as<DefStmt>();
    const auto* type = node->as<ClassStmt>();
    if (def == nullptr && type == nullptr) throw ErrorReport(node->range, "expected a function or a class");
    const std::string& name = def != nullptr ? def->name : type->name;
    if (!made.by_name.try_emplace(name, node.get()).second)
      throw ErrorReport(node->range, "'", name, "' is defined twice");
  }
  return &made;
}

const Stmt* ArchivedProgram::find(const std::string& name) {
  if (name.compare(0, 10, "__torch__.") != 0) return nullptr;
  const File* there = file(prefix_of(name));
  const auto found = there->by_name.find(last_of(name));
  return found == there->by_name.end() ? nullptr : found->second;
}

ScriptFunction* ArchivedProgram::add(const DefStmt& def, const std::string& name, const TypePtr& self) {
  if (def.return_type == nullptr) throw ErrorReport(def.range, "a function that does not say what it returns");
  auto made = std::make_unique<ScriptFunction>(name, schema_of(def, *this, operators_, self), [this, &def, self] {
    return compile_function(def, *this, operators_, self);
  });
  ScriptFunction* function = made.get();
  unit_.own(std::move(made));
  uncompiled_.push_back(function);
  return function;
}

void ArchivedProgram::compile_all() {
  while (!uncompiled_.empty()) {
    ScriptFunction* function = uncompiled_.front();
    uncompiled_.pop_front();
    check_versions(*function->compiled().graph);
  }
}

void ArchivedProgram::check_versions(const graph::Graph& graph) const {
  graph.for_nodes([&](const graph::Node* node) {
    // Of numbers they always meant the same.
    if (node->kind() != graph::Node::Kind::kCall || node->callable().handle() == nullptr) return;
    for (const auto& [op, since] : kMeaningSince) {
      TORCH_CHECK_NOT_IMPLEMENTED(file_.version() >= since || !node->calls(op), "jit: ", file_.origin(),
                                  " is of version ", file_.version(), ", in which ", op,
                                  " means what it does not since version ", since, ": load and save it with PyTorch");
    }
  });
}

Function* ArchivedProgram::function(const std::string& name, const SourceRange&) {
  if (const auto found = functions_.find(name); found != functions_.end()) return found->second;
  if (name.compare(0, 10, "__torch__.") != 0) return nullptr;
  if (const Stmt* node = find(name)) {
    const auto* def = node->as<DefStmt>();
    return def == nullptr ? nullptr : (functions_[name] = add(*def, name, nullptr));
  }
  const TypePtr owner = type(prefix_of(name));
  const auto* class_type = owner == nullptr ? nullptr : owner->castRaw<c10::ClassType>();
  if (class_type != nullptr) return class_type->findMethod(last_of(name));
  // Those of interfaces are made with them.
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

TypePtr ArchivedProgram::type(const std::string& name) {
  if (const auto found = types_.find(name); found != types_.end()) {
    // Classes that lead to themselves would keep themselves: the unit, which all objects keep, has them all.
    return open_.count(name) != 0 ? TypePtr(std::shared_ptr<void>(), found->second.get()) : found->second;
  }
  if (name.compare(0, 10, "__torch__.") != 0) return nullptr;
  if (name.compare(0, 24, "__torch__.torch.classes.") == 0) return c10::getCustomClass(name);
  const Stmt* node = find(name);
  const auto* definition = node == nullptr ? nullptr : node->as<ClassStmt>();
  return definition == nullptr ? nullptr : define(*definition, name);
}

TypePtr ArchivedProgram::type_of(const std::string& annotation) {
  return type_of_annotation(*parse_expression(std::make_shared<Source>(annotation, "a type")), *this);
}

Function* ArchivedProgram::creator(const TypePtr& type) {
  const auto class_type = type->cast<c10::ClassType>();
  if (class_type == nullptr) return nullptr;
  Function*& made = creators_[class_type->qualified_name()];
  if (made == nullptr) made = unit_.own(std::make_unique<Creator>(class_type, unit_));
  return made;
}

TypePtr ArchivedProgram::define(const ClassStmt& node, const std::string& name) {
  struct Open {
    std::set<std::string>& all;
    const std::string& name;
    Open(std::set<std::string>& all, const std::string& name) : all(all), name(name) { all.insert(name); }
    ~Open() { all.erase(name); }
  } const open(open_, name);
  if (open_.size() > kMostLevels)
    throw ErrorReport(node.range, "more than ", kMostLevels, " types that need each other");
  const std::string base = node.base == nullptr ? "" : dotted_path(*node.base);
  if (base == "NamedTuple") return define_tuple(node, name);
  if (base == "Enum") return define_enum(node, name);
  if (base == "Interface" || base == "ModuleInterface") {
    const auto type = c10::InterfaceType::create(name, base == "ModuleInterface");
    types_[name] = type;
    unit_.register_type(type);
    define_interface(node, type);
    return type;
  }
  if (!base.empty() && base != "Module") throw ErrorReport(node.range, "a class of an unknown kind: ", base);
  const auto type = c10::ClassType::create(name, base == "Module");
  types_[name] = type;  // it may name itself
  unit_.register_type(type);
  define_class(node, type);
  return type;
}

void ArchivedProgram::define_class(const ClassStmt& node, const c10::ClassTypePtr& type) {
  std::vector<std::string> parameters, buffers, before, behind;
  ClassNotes notes;
  std::vector<const DefStmt*> methods;
  for (const StmtPtr& statement : node.body) {
    if (statement->kind == Stmt::Kind::kPass) continue;
    if (const auto* def = statement->as<DefStmt>()) {
      methods.push_back(def);
      continue;
    }
    const Member member = member_of(*statement);
    if (member.type == nullptr) {
      if (member.value == nullptr) throw ErrorReport(statement->range, "expected a member of a class");
      const std::pair<const char*, std::vector<std::string>*> lists[] = {{"__parameters__", &parameters},
                                                                         {"__buffers__", &buffers},
                                                                         {"__forward_pre_hooks__", &before},
                                                                         {"__forward_hooks__", &behind}};
      for (const auto& [list, names] : lists) {
        if (member.name == list) *names = texts(*member.value);
      }
      continue;
    }
    try {
      if (member.value != nullptr) {
        const TypePtr wanted = type_of_annotation(*member.type, *this);
        type->addConstant(member.name, literal_value(*member.value, wanted, *this, operators_));
        notes.constants.push_back(member.name);
        continue;
      }
      const auto is_one_of = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), member.name) != names.end();
      };
      type->addAttribute(member.name, type_of_annotation(*member.type, *this), is_one_of(parameters),
                         is_one_of(buffers));
    } catch (const c10::Error& error) {
      throw ErrorReport(statement->range, error.msg());
    }
  }
  for (const DefStmt* def : methods) {
    if (type->findMethod(def->name) != nullptr)
      throw ErrorReport(def->range, "method '", def->name, "' already defined.");
    type->addMethod(add(*def, type->qualified_name() + "." + def->name, type));
  }
  for (const auto& [names, into] : {std::pair(&before, &notes.pre_hooks), std::pair(&behind, &notes.hooks)}) {
    for (const std::string& name : *names) {
      Function* hook = type->findMethod(name);
      if (hook == nullptr) throw ErrorReport(node.range, "the hook '", name, "' is not defined");
      into->push_back(hook);
    }
  }
  unit_.set_notes(*type, std::move(notes));
}

TypePtr ArchivedProgram::define_tuple(const ClassStmt& node, const std::string& name) {
  std::vector<std::string> fields;
  std::vector<TypePtr> types;
  for (const StmtPtr& statement : node.body) {
    if (statement->kind == Stmt::Kind::kPass) continue;
    const Member member = member_of(*statement);
    if (member.type == nullptr) throw ErrorReport(statement->range, "expected a field of a named tuple");
    if (std::find(fields.begin(), fields.end(), member.name) != fields.end())
      throw ErrorReport(statement->range, "the field '", member.name, "' is there twice");
    fields.push_back(member.name);
    types.push_back(type_of_annotation(*member.type, *this));
  }
  const TypePtr type = c10::TupleType::createNamed(name, std::move(fields), std::move(types));
  unit_.register_type(type);
  return types_[name] = type;
}

TypePtr ArchivedProgram::define_enum(const ClassStmt& node, const std::string& name) {
  std::vector<c10::EnumNameValue> members;
  for (const StmtPtr& statement : node.body) {
    const Member member = member_of(*statement);
    if (member.value == nullptr) throw ErrorReport(statement->range, "expected a member of an enumeration");
    members.emplace_back(member.name, literal_value(*member.value, nullptr, *this, operators_));
  }
  if (members.empty()) throw ErrorReport(node.range, "an enumeration without members");
  try {
    const TypePtr type = c10::EnumType::create(name, members[0].second.type(), std::move(members));
    unit_.register_type(type);
    return types_[name] = type;
  } catch (const c10::Error& error) {
    throw ErrorReport(node.range, error.msg());
  }
}

void ArchivedProgram::define_interface(const ClassStmt& node, const c10::InterfaceTypePtr& type) {
  for (const StmtPtr& statement : node.body) {
    const auto* def = statement->as<DefStmt>();
    if (def == nullptr || def->return_type == nullptr) {
      if (statement->kind == Stmt::Kind::kPass) continue;
      throw ErrorReport(statement->range, "expected a method of an interface");
    }
    const std::string name = type->qualified_name() + "." + def->name;
    if (functions_.count(name) != 0) throw ErrorReport(def->range, "method '", def->name, "' already defined.");
    type->addMethod(def->name);
    functions_[name] = unit_.own(std::make_unique<InterfaceMethod>(name, schema_of(*def, *this, operators_, type)));
  }
}

}  // namespace torch::jit
