// Fields of recorded cases that may be missing or null.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/conformance/case_values.h"

namespace recorded {

using Json = nlohmann::json;

inline bool has(const Json& c, const char* key) {
  return c.contains(key) && !c.at(key).is_null();
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
