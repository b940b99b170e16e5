// Fields of recorded cases that may be missing or null, and what a replay has read of them.
#pragma once

#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/conformance/case_values.h"

namespace recorded {

using Json = nlohmann::json;

// The members of recorded objects that were looked at, by the object's place in memory, since forget_reads(). What a
// case gives and its replay never looked at would be replayed with another value: check_all_read finds it.
using Reads = std::set<std::pair<const Json*, std::string>>;
inline Reads& reads() {
  thread_local Reads all;
  return all;
}
inline void forget_reads() {
  reads().clear();
}

// The member, which must be there: std::out_of_range where it is not. `c` outlives the replay of its case.
inline const Json& read(const Json& c, const char* key) {
  reads().emplace(&c, key);
  return c.at(key);
}
// There and not null.
inline bool has(const Json& c, const char* key) {
  reads().emplace(&c, key);
  return c.contains(key) && !c.at(key).is_null();
}
// Throws std::runtime_error with the name of a member of `c` that was not read, and of those of "config" and "kwargs"
// below it, e.g. check_all_read(run_of_a_module, "kwargs"). Those of `apart` are passed over with what is below.
void check_all_read(const Json& c, const std::string& what, std::initializer_list<std::string_view> apart = {});
// For a text that is none of those that `key` may have here.
[[noreturn]] inline void refuse_value(const char* key, const std::string& value) {
  throw std::runtime_error(std::string(key) + " \"" + value + "\" is not known to the replay");
}

inline int64_t integer_of(const Json& c, const char* key, int64_t otherwise) {
  return has(c, key) ? conformance::integer(c.at(key)) : otherwise;
}
inline double number_of(const Json& c, const char* key, double otherwise) {
  return has(c, key) ? conformance::number(c.at(key)) : otherwise;
}
inline bool flag_of(const Json& c, const char* key, bool otherwise) {
  return has(c, key) ? c.at(key).get<bool>() : otherwise;
}
inline std::string text_of(const Json& c, const char* key, const char* otherwise) {
  return has(c, key) ? c.at(key).get<std::string>() : otherwise;
}

// A number or a list of them.
inline std::vector<int64_t> integers(const Json& v) {
  std::vector<int64_t> all;
  if (v.is_array()) {
    for (const Json& x : v) all.push_back(conformance::integer(x));
  } else {
    all.push_back(conformance::integer(v));
  }
  return all;
}

// An object without members, for what is missing.
inline const Json& member_or_empty(const Json& c, const char* key) {
  static const Json empty = Json::object();
  return has(c, key) ? c.at(key) : empty;
}

}  // namespace recorded
