#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <variant>

namespace c10::testing {

// A flag of a test program, and where its value goes: --name=VALUE, of a bool --name.
struct Flag {
  std::string name;
  std::variant<std::string*, int*, int64_t*, uint64_t*, bool*> target;
};

// Fills flags from the command line. Where the program is to end, its exit status: 0 after --help, which prints the flags;
// `failure` after a line about an unknown flag or a value that does not fit. Call it after testing::InitGoogleTest, which takes
// what is GoogleTest's.
//
//     uint64_t seed = 1;
//     if (const auto status = c10::testing::parse_flags(argc, argv, {{"seed", &seed}})) return *status;
std::optional<int> parse_flags(int argc, char** argv, std::initializer_list<Flag> flags, int failure = 2);

}  // namespace c10::testing
