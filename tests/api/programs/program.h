#pragma once

#include <map>
#include <string>

namespace programs {

// The programs that are linked, by name.
inline std::map<std::string, void (*)()>& all() {
  static std::map<std::string, void (*)()> programs;
  return programs;
}

}  // namespace programs

/// Lists a program: a function without arguments that writes to std::cout what programs_test.cc compares.
#define KINDLING_PROGRAM(name, function) \
  [[maybe_unused]] static const bool name##_is_listed = programs::all().emplace(#name, function).second
