#include "tests/recorded/replay.h"

#include <algorithm>

namespace recorded {
namespace {

bool names_result(const Family& family, const Json& one, const std::string& key) {
  if (family.except != nullptr && family.except(one, key)) return false;
  return std::any_of(family.results.begin(), family.results.end(), [&](const char* name) { return key == name; });
}

// Numbers, strings, booleans and tensors below `v`; those of a result only, once inside one. Counts `n` down and
// changes the leaf where it reaches zero.
bool plant(const Family& family, const Json& one, Json& v, bool in_result, size_t& n) {
  if (v.is_object() && v.contains("tensor")) {
    const std::vector<int64_t> size = v.at("size");
    const bool empty = std::find(size.begin(), size.end(), 0) != size.end();
    if (!in_result || empty || n-- > 0) return false;
    v["planted"] = true;
    return true;
  }
  if (v.is_object() || v.is_array()) {
    for (const auto& [key, member] : v.items()) {
      if (plant(family, one, member, in_result || (v.is_object() && names_result(family, one, key)), n)) return true;
    }
    return false;
  }
  if (!in_result || v.is_null() || n-- > 0) return false;
  if (v.is_boolean()) {
    v = !v.get<bool>();
  } else if (v.is_string()) {
    v = v.get<std::string>() + "?";
  } else {
    v = v.is_number_integer() ? Json(v.get<int64_t>() + 1) : Json(v.get<double>() + 1);
  }
  return true;
}

}  // namespace

CaseReport replay_case(const Family& family, const Recordings& recordings, const Json& one) {
  forget_reads();
  Check check(recordings);
  try {
    family.replay(one, check);
  } catch (const std::exception& error) {
    check.fail(error.what());
  }
  return {one.at("id"), check.failures(), check.skip_reason()};
}

Json with_planted_error(const Family& family, const Json& one, size_t n) {
  Json other = one;
  return plant(family, one, other, false, n) ? other : Json();
}

}  // namespace recorded
