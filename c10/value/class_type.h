// Types with members: classes (of programs and of torch::class_) and enumerations.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c10/value/ivalue.h"
#include "c10/value/type.h"

namespace torch::jit {
// A method or a free function that takes and gives values on a stack.
class Function;
}  // namespace torch::jit

namespace c10 {

class ClassAttribute {
 public:
  ClassAttribute(std::string name, TypePtr type, bool is_parameter, bool is_buffer)
      : name_(std::move(name)), type_(std::move(type)), is_parameter_(is_parameter), is_buffer_(is_buffer) {}
  const std::string& getName() const { return name_; }
  const TypePtr& getType() const { return type_; }
  bool is_parameter() const { return is_parameter_; }
  bool is_buffer() const { return is_buffer_; }

 private:
  std::string name_;
  TypePtr type_;
  bool is_parameter_;
  bool is_buffer_;
};

// A class: attributes, which are the slots of its objects in order, constants, properties and methods.
class ClassType final : public NamedType {
 public:
  static constexpr TypeKind Kind = TypeKind::ClassType;
  struct Property {
    std::string name;
    torch::jit::Function* getter = nullptr;
    torch::jit::Function* setter = nullptr;
  };

  static ClassTypePtr create(std::string qualified_name, bool is_module = false);
  ~ClassType() override;

  // Adds a slot and returns its number. Throws where the name is taken.
  size_t addAttribute(const std::string& name, TypePtr type, bool is_parameter = false, bool is_buffer = false);
  size_t addOrCheckAttribute(const std::string& name, const TypePtr& type, bool is_parameter = false, bool is_buffer = false);
  size_t numAttributes() const { return attributes_.size(); }
  const std::vector<ClassAttribute>& getAttributes() const { return attributes_; }
  const ClassAttribute& getAttribute(size_t slot) const { return attributes_.at(slot); }
  bool hasAttribute(std::string_view name) const { return findAttributeSlot(name).has_value(); }
  std::optional<size_t> findAttributeSlot(std::string_view name) const;
  // Throws where there is none: "Module has no attribute 'x'" is the wording of modules, "Type 'X' has no attribute 'x'" here.
  size_t getAttributeSlot(std::string_view name) const;
  TypePtr findAttribute(std::string_view name) const;
  const TypePtr& getAttribute(std::string_view name) const;
  bool is_parameter(size_t slot) const { return attributes_.at(slot).is_parameter(); }
  bool is_buffer(size_t slot) const { return attributes_.at(slot).is_buffer(); }

  size_t addConstant(const std::string& name, const IValue& value);
  std::optional<IValue> findConstant(std::string_view name) const;
  IValue getConstant(std::string_view name) const;
  size_t numConstants() const { return constants_.size(); }

  // The function outlives the class.
  void addMethod(torch::jit::Function* method);
  void addStaticMethod(torch::jit::Function* method);
  torch::jit::Function* findMethod(std::string_view name) const;
  torch::jit::Function& getMethod(std::string_view name) const;
  bool hasMethod(std::string_view name) const { return findMethod(name) != nullptr; }
  torch::jit::Function* findStaticMethod(std::string_view name) const;
  const std::vector<torch::jit::Function*>& methods() const { return methods_; }
  void addProperty(const std::string& name, torch::jit::Function* getter, torch::jit::Function* setter);
  std::optional<Property> getProperty(std::string_view name) const;
  const std::vector<Property>& properties() const { return properties_; }

  ArrayRef<TypePtr> containedTypes() const override { return attribute_types_; }
  bool is_module() const override { return is_module_; }

 private:
  ClassType(std::string name, bool is_module) : NamedType(Kind, std::move(name)), is_module_(is_module) {}
  std::string written(detail::TypeStyle) const override { return qualified_name(); }
  bool fits(const Type& other) const override;

  bool is_module_;
  std::vector<ClassAttribute> attributes_;
  std::vector<TypePtr> attribute_types_;
  std::vector<std::pair<std::string, IValue>> constants_;
  std::vector<torch::jit::Function*> methods_;
  std::vector<torch::jit::Function*> static_methods_;
  std::vector<Property> properties_;
};

using EnumNameValue = std::pair<std::string, IValue>;

// An enumeration: names with values of one type (int, float or str).
class EnumType final : public NamedType {
 public:
  static constexpr TypeKind Kind = TypeKind::EnumType;
  static EnumTypePtr create(std::string qualified_name, TypePtr value, std::vector<EnumNameValue> names_values);
  const TypePtr& getValueType() const { return value_; }
  const std::vector<EnumNameValue>& enumNamesValues() const { return names_values_; }
  ArrayRef<TypePtr> containedTypes() const override { return ArrayRef<TypePtr>(&value_, 1); }

 private:
  EnumType(std::string name, TypePtr value, std::vector<EnumNameValue> names_values);
  std::string written(detail::TypeStyle style) const override;
  bool same(const Type& other) const override;
  bool fits(const Type& other) const override;
  TypePtr value_;
  std::vector<EnumNameValue> names_values_;
};

}  // namespace c10
