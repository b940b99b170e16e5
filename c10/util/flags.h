// Settings of a program as variables that its command line can set, by the names of gflags.
//
//   C10_DEFINE_int(epochs, 10, "How often to pass the data.");      // in namespace c10: FLAGS_epochs
//   int main(int argc, char** argv) {
//     if (!c10::ParseCommandLineFlags(&argc, &argv)) return 1;      // --epochs=3
//
// Texts of a bool: true, false, 1, 0, and --name alone. Arguments that are no flags stay, in their order.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "c10/macros/macros.h"

namespace c10 {

/// What --help prints first.
void SetUsageMessage(const std::string& text);
const char* UsageMessage();
/// Sets the flags named and takes them out of argv. False after an unknown flag or a value that does not fit, said on
/// the standard error stream, and after --help.
bool ParseCommandLineFlags(int* argc, char*** argv);
bool CommandLineFlagsHasBeenParsed();

namespace detail {
using FlagParser = bool (*)(const std::string& text, void* place);
template <class T>
bool parse_flag(const std::string& text, void* place);
struct FlagRegistration {
  FlagRegistration(const char* name, const char* help, void* place, FlagParser parser, bool is_bool);
};
}  // namespace detail

}  // namespace c10

#define KD_DEFINE_FLAG_(type, name, default_value, help)                                                        \
  namespace c10 {                                                                                               \
  type FLAGS_##name = default_value;                                                                            \
  namespace {                                                                                                   \
  const detail::FlagRegistration kd_flag_##name(#name, help, &FLAGS_##name, &detail::parse_flag<type>,          \
                                                std::is_same_v<type, bool>);                                         \
  }                                                                                                             \
  }                                                                                                             \
  using c10::FLAGS_##name
#define C10_DEFINE_int(name, default_value, help) KD_DEFINE_FLAG_(int, name, default_value, help)
#define C10_DEFINE_int32(name, default_value, help) KD_DEFINE_FLAG_(int32_t, name, default_value, help)
#define C10_DEFINE_int64(name, default_value, help) KD_DEFINE_FLAG_(int64_t, name, default_value, help)
#define C10_DEFINE_double(name, default_value, help) KD_DEFINE_FLAG_(double, name, default_value, help)
#define C10_DEFINE_bool(name, default_value, help) KD_DEFINE_FLAG_(bool, name, default_value, help)
#define C10_DEFINE_string(name, default_value, help) KD_DEFINE_FLAG_(std::string, name, default_value, help)
#define C10_DECLARE_int(name) KD_DECLARE_FLAG_(int, name)
#define C10_DECLARE_int32(name) KD_DECLARE_FLAG_(int32_t, name)
#define C10_DECLARE_int64(name) KD_DECLARE_FLAG_(int64_t, name)
#define C10_DECLARE_double(name) KD_DECLARE_FLAG_(double, name)
#define C10_DECLARE_bool(name) KD_DECLARE_FLAG_(bool, name)
#define C10_DECLARE_string(name) KD_DECLARE_FLAG_(std::string, name)
#define KD_DECLARE_FLAG_(type, name) \
  namespace c10 {                    \
  extern type FLAGS_##name;          \
  }                                  \
  using c10::FLAGS_##name
