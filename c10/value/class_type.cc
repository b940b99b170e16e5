#include "c10/value/class_type.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "c10/util/exception.h"
#include "c10/value/custom_class_registry.h"
#include "c10/value/function.h"
#include "c10/value/object.h"

namespace c10 {
namespace {

torch::jit::Function* find_by_name(const std::vector<torch::jit::Function*>& functions, std::string_view name) {
  for (torch::jit::Function* function : functions) {
    if (function->name() == name) return function;
  }
  return nullptr;
}

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::string, ClassTypePtr> by_name;
  std::unordered_map<std::string_view, ClassTypePtr> by_cpp_class;  // the class's name in the ABI
};

Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

}  // namespace

// --- ClassType ---

ClassTypePtr ClassType::create(std::string qualified_name, bool is_module) {
  return ClassTypePtr(new ClassType(std::move(qualified_name), is_module));
}

ClassType::~ClassType() = default;

size_t ClassType::addAttribute(const std::string& name, TypePtr type, bool is_parameter, bool is_buffer) {
  TORCH_CHECK(type != nullptr, "attribute '", name, "' of ", qualified_name(), " needs a type");
  TORCH_CHECK(!hasAttribute(name), "attempting to add attribute '", name, "' to ", qualified_name(), ", which has one already");
  attributes_.emplace_back(name, type, is_parameter, is_buffer);
  attribute_types_.push_back(std::move(type));
  return attributes_.size() - 1;
}

size_t ClassType::addOrCheckAttribute(const std::string& name, const TypePtr& type, bool is_parameter, bool is_buffer) {
  const std::optional<size_t> slot = findAttributeSlot(name);
  if (!slot.has_value()) return addAttribute(name, type, is_parameter, is_buffer);
  TORCH_CHECK(type->isSubtypeOf(attributes_[*slot].getType()), "attribute '", name, "' of ", qualified_name(), " is ",
              attributes_[*slot].getType()->str(), ", not ", type->str());
  TORCH_CHECK(is_parameter == this->is_parameter(*slot) && is_buffer == this->is_buffer(*slot), "attribute '", name, "' of ",
              qualified_name(), " is of another kind (parameter, buffer or plain)");
  return *slot;
}

std::optional<size_t> ClassType::findAttributeSlot(std::string_view name) const {
  for (size_t slot = 0; slot < attributes_.size(); ++slot) {
    if (attributes_[slot].getName() == name) return slot;
  }
  return std::nullopt;
}

size_t ClassType::getAttributeSlot(std::string_view name) const {
  const std::optional<size_t> slot = findAttributeSlot(name);
  TORCH_CHECK(slot.has_value(), qualified_name(), " does not have an attribute with name '", name, "'");
  return *slot;
}

TypePtr ClassType::findAttribute(std::string_view name) const {
  const std::optional<size_t> slot = findAttributeSlot(name);
  return slot.has_value() ? attributes_[*slot].getType() : nullptr;
}

const TypePtr& ClassType::getAttribute(std::string_view name) const { return attributes_[getAttributeSlot(name)].getType(); }

size_t ClassType::addConstant(const std::string& name, const IValue& value) {
  TORCH_CHECK(!findConstant(name).has_value(), qualified_name(), " has a constant '", name, "' already");
  constants_.emplace_back(name, value);
  return constants_.size() - 1;
}

std::optional<IValue> ClassType::findConstant(std::string_view name) const {
  for (const auto& [constant, value] : constants_) {
    if (constant == name) return value;
  }
  return std::nullopt;
}

IValue ClassType::getConstant(std::string_view name) const {
  const std::optional<IValue> value = findConstant(name);
  TORCH_CHECK(value.has_value(), qualified_name(), " does not have a constant with name '", name, "'");
  return *value;
}

void ClassType::addMethod(torch::jit::Function* method) {
  TORCH_CHECK(findMethod(method->name()) == nullptr, "Can't redefine method: ", method->name(), " on class: ", qualified_name());
  methods_.push_back(method);
}

void ClassType::addStaticMethod(torch::jit::Function* method) {
  TORCH_CHECK(findStaticMethod(method->name()) == nullptr && findMethod(method->name()) == nullptr,
              "Can't redefine method: ", method->name(), " on class: ", qualified_name());
  static_methods_.push_back(method);
}

torch::jit::Function* ClassType::findMethod(std::string_view name) const { return find_by_name(methods_, name); }
torch::jit::Function* ClassType::findStaticMethod(std::string_view name) const { return find_by_name(static_methods_, name); }

torch::jit::Function& ClassType::getMethod(std::string_view name) const {
  torch::jit::Function* method = findMethod(name);
  TORCH_CHECK(method != nullptr, "Couldn't find method: '", name, "' on class: '", qualified_name(), "'");
  return *method;
}

void ClassType::addProperty(const std::string& name, torch::jit::Function* getter, torch::jit::Function* setter) {
  TORCH_CHECK(!getProperty(name).has_value(), qualified_name(), " has a property '", name, "' already");
  properties_.push_back({name, getter, setter});
}

std::optional<ClassType::Property> ClassType::getProperty(std::string_view name) const {
  for (const Property& property : properties_) {
    if (property.name == name) return property;
  }
  return std::nullopt;
}

bool ClassType::fits(const Type& other) const {
  if (other.kind() == TypeKind::AnyClassType) return true;
  const auto* interface = other.castRaw<InterfaceType>();
  if (interface == nullptr || (interface->is_module() && !is_module_)) return false;
  const std::vector<std::string>& wanted = interface->methodNames();
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) { return hasMethod(name); });
}

// --- EnumType ---

EnumType::EnumType(std::string name, TypePtr value, std::vector<EnumNameValue> names_values)
    : NamedType(Kind, std::move(name)), value_(std::move(value)), names_values_(std::move(names_values)) {}

EnumTypePtr EnumType::create(std::string qualified_name, TypePtr value, std::vector<EnumNameValue> names_values) {
  TORCH_CHECK(value != nullptr && (value->kind() == TypeKind::IntType || value->kind() == TypeKind::FloatType ||
                                   value->kind() == TypeKind::StringType),
              "Cannot create Enum with value type '", value == nullptr ? "" : value->str(), "', only int, float and string are supported");
  return EnumTypePtr(new EnumType(std::move(qualified_name), std::move(value), std::move(names_values)));
}

std::string EnumType::written(detail::TypeStyle style) const {
  return style == detail::TypeStyle::kAnnotation ? qualified_name() : c10::str("Enum<", qualified_name(), ">");
}

bool EnumType::same(const Type& other) const {
  return NamedType::same(other) && *value_ == *static_cast<const EnumType&>(other).value_;
}

bool EnumType::fits(const Type& other) const { return other.kind() == TypeKind::AnyEnumType; }

// --- objects ---

namespace ivalue {

void Object::setSlot(size_t slot, IValue value) {
  if (slot >= slots_.size()) {
    TORCH_CHECK_INDEX(slot < type()->numAttributes(), name(), " has no slot ", slot);
    slots_.resize(type()->numAttributes());
  }
  slots_[slot] = std::move(value);
}

IValue Object::getAttr(const std::string& name) const { return getSlot(type()->getAttributeSlot(name)); }
void Object::setAttr(const std::string& name, IValue value) { setSlot(type()->getAttributeSlot(name), std::move(value)); }

intrusive_ptr<Object> Object::copy() const {
  auto copied = create(type_, slots_.size());
  copied->slots_ = slots_;
  return copied;
}

void Object::surrender(std::vector<IValue>& into) {
  into.insert(into.end(), std::make_move_iterator(slots_.begin()), std::make_move_iterator(slots_.end()));
  slots_.clear();
}

}  // namespace ivalue

// --- classes of torch::class_ ---

void registerCustomClass(ClassTypePtr type, const std::type_info* cpp_class) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  const std::string& name = type->qualified_name();
  TORCH_CHECK(registry().by_name.find(name) == registry().by_name.end(), "Custom class with name ", name,
              " is already registered. Ensure that registration with torch::class_ is only called once.");
  if (cpp_class != nullptr) {
    TORCH_CHECK(registry().by_cpp_class.emplace(cpp_class->name(), type).second, "the C++ class of ", name,
                " is registered under another name already");
  }
  registry().by_name.emplace(name, std::move(type));
}

void deregisterCustomClass(const std::string& qualified_name) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().by_name.find(qualified_name);
  if (found == registry().by_name.end()) return;
  std::erase_if(registry().by_cpp_class, [&](const auto& entry) { return entry.second == found->second; });
  registry().by_name.erase(found);
}

ClassTypePtr getCustomClass(const std::string& qualified_name) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().by_name.find(qualified_name);
  return found == registry().by_name.end() ? nullptr : found->second;
}

std::vector<std::string> getAllCustomClassesNames() {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  std::vector<std::string> names;
  for (const auto& [name, type] : registry().by_name) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool isCustomClass(const IValue& value) { return value.isCustomClass(); }

ClassTypePtr getCustomClassTypeImpl(const std::type_info& cpp_class) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().by_cpp_class.find(cpp_class.name());
  TORCH_CHECK(found != registry().by_cpp_class.end(), "Can't find class id in custom class type map for ", cpp_class.name());
  return found->second;
}

namespace detail {

intrusive_ptr<intrusive_ptr_target> custom_object(const IValue& value, const ClassType& wanted) {
  TORCH_CHECK_TYPE(value.isObject(), "Trying to cast IValue to custom class but the IValue is ", value.tag_name());
  const ClassTypePtr type = value.toObjectRef().type();
  TORCH_CHECK_TYPE(type.get() == &wanted, "Tried to convert an IValue of type ", type->str(), " to custom class type ", wanted.str());
  TORCH_CHECK_TYPE(value.isCustomClass(), "Tried to cast IValue to custom class but it did not contain a custom class!");
  return value.toObjectRef().getSlot(0).toCapsule();
}

IValue custom_object_value(intrusive_ptr<intrusive_ptr_target> object, ClassTypePtr type) {
  auto holder = ivalue::Object::create(std::move(type), 1);
  holder->setSlot(0, IValue::make_capsule(std::move(object)));
  return IValue(std::move(holder));
}

}  // namespace detail
}  // namespace c10
