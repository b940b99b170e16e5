#include "aten/core/custom_class.h"

#include <mutex>

#include "c10/util/exception.h"
#include "c10/value/text_cursor.h"

namespace torch {
namespace {

class Method final : public jit::Function {
 public:
  Method(std::string name, std::string qualname, c10::FunctionSchema schema, std::function<void(c10::Stack&)> boxed)
      : name_(std::move(name)), qualname_(std::move(qualname)), schema_(std::move(schema)), boxed_(std::move(boxed)) {}

  const std::string& name() const override { return name_; }
  const std::string& qualname() const override { return qualname_; }
  const c10::FunctionSchema& getSchema() const override { return schema_; }

  void run(c10::Stack& stack) override {
    const std::vector<c10::Argument>& arguments = schema_.arguments();
    TORCH_CHECK_TYPE(stack.size() <= arguments.size(), qualname_, "(): expected at most ", arguments.size(), " arguments, got ",
                     stack.size());
    for (size_t i = stack.size(); i < arguments.size(); ++i) {
      TORCH_CHECK_TYPE(arguments[i].default_value().has_value(), qualname_, "(): missing argument '", arguments[i].name(), "'");
      stack.push_back(*arguments[i].default_value());
    }
    boxed_(stack);
  }

 private:
  std::string name_;
  std::string qualname_;
  c10::FunctionSchema schema_;
  std::function<void(c10::Stack&)> boxed_;
};

// Methods live as long as the program: a class may be referred to by its objects anywhere.
jit::Function* keep(std::unique_ptr<Method> method) {
  static std::mutex& mutex = *new std::mutex;
  static auto& methods = *new std::vector<std::unique_ptr<Method>>;
  const std::lock_guard<std::mutex> lock(mutex);
  methods.push_back(std::move(method));
  return methods.back().get();
}

void check_identifier(const char* what, const std::string& name) {
  c10::detail::TextCursor in(name, what);
  std::string read;
  TORCH_CHECK(in.identifier(&read, "letters, digits and '_'") && read == name, what, " must be a valid identifier, got '", name, "'");
}

}  // namespace

class_base::class_base(const std::string& ns, const std::string& name, std::string, const std::type_info& cpp_class) {
  check_identifier("Namespace name", ns);
  check_identifier("Class name", name);
  type_ = c10::ClassType::create("__torch__.torch.classes." + ns + "." + name);
  type_->addAttribute("capsule", c10::CapsuleType::get());
  c10::registerCustomClass(type_, &cpp_class);
}

jit::Function* class_base::add(
    const std::string& name, std::function<void(c10::Stack&)> boxed, detail::MethodTypes types, std::initializer_list<arg> named,
    bool is_static) {
  const std::string qualname = type_->qualified_name() + "." + name;
  const size_t first = is_static ? 0 : 1;
  TORCH_CHECK(is_static || (!types.arguments.empty() && *types.arguments[0] == *type_), qualname,
              ": the first argument is a c10::intrusive_ptr of the class");
  TORCH_CHECK(named.size() == 0 || named.size() + first == types.arguments.size(), "Default values must be specified for none or all "
              "arguments: ", qualname, " has ", types.arguments.size() - first, ", got ", named.size());
  std::vector<c10::Argument> arguments;
  for (size_t i = 0; i < types.arguments.size(); ++i) {
    const arg* given = i >= first && named.size() > 0 ? named.begin() + (i - first) : nullptr;
    std::string argument = given != nullptr ? given->name_ : i < first ? "self" : "_" + std::to_string(i);
    arguments.emplace_back(std::move(argument), types.arguments[i], std::nullopt, given != nullptr ? given->value_ : std::nullopt);
  }
  std::vector<c10::Argument> returns;
  returns.emplace_back("", types.result.value_or(c10::NoneType::get()));
  c10::FunctionSchema schema(name, "", std::move(arguments), std::move(returns));
  jit::Function* method = keep(std::make_unique<Method>(name, qualname, std::move(schema), std::move(boxed)));
  is_static ? type_->addStaticMethod(method) : type_->addMethod(method);
  return method;
}

void class_base::add_property(const std::string& name, jit::Function* getter, jit::Function* setter) {
  type_->addProperty(name, getter, setter);
}

void class_base::check_pickle() const {
  const c10::FunctionSchema& get = type_->getMethod("__getstate__").getSchema();
  const c10::FunctionSchema& set = type_->getMethod("__setstate__").getSchema();
  TORCH_CHECK(get.arguments().size() == 1, "__getstate__ should take exactly one argument: self. Got: ", get.str());
  TORCH_CHECK(set.arguments().size() == 2, "__setstate__ should take exactly two arguments: self and the state. Got: ", set.str());
  TORCH_CHECK(get.returns()[0].type()->isSubtypeOf(set.arguments()[1].type()), "__getstate__'s return type should match the input argument "
              "of __setstate__. Got ", get.returns()[0].type()->str(), " but expected ", set.arguments()[1].type()->str());
}

}  // namespace torch
