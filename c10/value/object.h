// Objects of classes, and how values hold those of torch::class_.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c10/value/class_type.h"
#include "c10/value/ivalue.h"

namespace torch::jit {
struct CompilationUnit;
}  // namespace torch::jit

namespace c10 {

// A class, and what keeps its functions alive.
struct StrongTypePtr {
  StrongTypePtr(std::shared_ptr<torch::jit::CompilationUnit> cu, TypePtr type) : cu_(std::move(cu)), type_(std::move(type)) {}
  std::shared_ptr<torch::jit::CompilationUnit> cu_;
  TypePtr type_;
};

namespace ivalue {

// An object: one slot an attribute of its class.
struct Object final : detail::Aggregate {
  Object(StrongTypePtr type, size_t slots) : type_(std::move(type)), slots_(slots) {}
  ~Object() override { detail::drop_values(std::move(slots_)); }
  static intrusive_ptr<Object> create(StrongTypePtr type, size_t slots) { return make_intrusive<Object>(std::move(type), slots); }
  static intrusive_ptr<Object> create(ClassTypePtr type, size_t slots) { return create(StrongTypePtr(nullptr, std::move(type)), slots); }

  ClassTypePtr type() const { return type_.type_->expect<ClassType>(); }
  const StrongTypePtr& strong_type() const { return type_; }
  std::shared_ptr<torch::jit::CompilationUnit> compilation_unit() const { return type_.cu_; }
  // The class's qualified name.
  std::string name() const { return type()->qualified_name(); }

  // Slots grow with the class: one that was never set is None.
  void setSlot(size_t slot, IValue value);
  const IValue& getSlot(size_t slot) const {
    TORCH_CHECK_INDEX(slot < slots_.size(), name(), " has no slot ", slot);
    return slots_[slot];
  }
  void unsafeRemoveSlot(size_t slot) { slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(slot)); }
  // By attribute; throw where the class has none of that name.
  IValue getAttr(const std::string& name) const;
  void setAttr(const std::string& name, IValue value);
  const std::vector<IValue>& slots() const { return slots_; }
  void resizeObject(size_t slots) { slots_.resize(slots); }
  // Another object of the same class with the same values.
  intrusive_ptr<Object> copy() const;
  void surrender(std::vector<IValue>& into) override;

 private:
  StrongTypePtr type_;
  std::vector<IValue> slots_;
};

}  // namespace ivalue

inline IValue::IValue(intrusive_ptr<ivalue::Object> value) : IValue(Tag::Object, std::move(value)) {}
inline intrusive_ptr<ivalue::Object> IValue::toObject() const { return shared<ivalue::Object>(Tag::Object); }
inline ivalue::Object& IValue::toObjectRef() const { return held<ivalue::Object>(Tag::Object); }

namespace detail {
// The object of torch::class_ in `value`. Throws where `value` is none, or of another class than `wanted`.
intrusive_ptr<intrusive_ptr_target> custom_object(const IValue& value, const ClassType& wanted);
IValue custom_object_value(intrusive_ptr<intrusive_ptr_target> object, ClassTypePtr type);
}  // namespace detail

// The class that torch::class_ registered for T.
template <class T>
ClassTypePtr getCustomClassType() {
  return getCustomClassTypeImpl(typeid(T));
}

template <class T>
  requires std::is_convertible_v<T*, CustomClassHolder*>
IValue::IValue(intrusive_ptr<T> object)
    : IValue(object ? detail::custom_object_value(intrusive_ptr<CustomClassHolder>(std::move(object)), getCustomClassType<T>()) : IValue()) {}

template <class T>
intrusive_ptr<T> IValue::toCustomClass() const {
  auto object = detail::custom_object(*this, *getCustomClassType<T>());
  return intrusive_ptr<T>::reclaim(static_cast<T*>(static_cast<CustomClassHolder*>(object.release())));
}

template <class T>
  requires std::is_base_of_v<CustomClassHolder, T>
TypePtr detail::TypeOf<intrusive_ptr<T>>::get() {
  return getCustomClassType<T>();
}

}  // namespace c10
