// The classes that torch::class_ made known, by name and by C++ class. Thread-safe.
#pragma once

#include <string>
#include <typeinfo>
#include <vector>

#include "c10/value/class_type.h"

namespace c10 {

// Throws where the name is taken. `cpp_class` is the class whose objects these are.
void registerCustomClass(ClassTypePtr type, const std::type_info* cpp_class);
void deregisterCustomClass(const std::string& qualified_name);
// By its full name, "__torch__.torch.classes.<namespace>.<name>"; null where there is none.
ClassTypePtr getCustomClass(const std::string& qualified_name);
std::vector<std::string> getAllCustomClassesNames();
bool isCustomClass(const IValue& value);

}  // namespace c10

namespace torch {
using c10::getCustomClass;
using c10::isCustomClass;
}  // namespace torch
