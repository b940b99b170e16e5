// Parts of JSON documents, with errors that say where.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "c10/util/exception.h"
#include "utils/serialize/file_error.h"

namespace torch::pt2 {

using nlohmann::json;

// More than these are neither read nor written: graphs in each other, dimensions of a tensor.
constexpr int kDeepestGraphs = 32;
constexpr size_t kMostDimensions = 64;

// The parts of a document, with errors that say where.
class Document {
 public:
  Document(std::string file, std::string record) : file_(std::move(file)), record_(std::move(record)) {}

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    serialize::throw_format_error(c10::str(file_, ": ", record_, ": ", parts...));
  }
  json parse(const std::string& text) const {
    json j = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (j.is_discarded()) fail("is not JSON");
    return j;
  }
  const json& at(const json& j, const char* name) const {
    if (!j.is_object()) fail("expected an object with '", name, "', but got ", j.type_name());
    const auto found = j.find(name);
    if (found == j.end()) fail("'", name, "' is missing");
    return *found;
  }
  // Null where it is missing or null.
  const json* find(const json& j, const char* name) const {
    if (!j.is_object()) fail("expected an object, but got ", j.type_name());
    const auto found = j.find(name);
    return found == j.end() || found->is_null() ? nullptr : &*found;
  }
  const json& list(const json& j, const char* what) const {
    if (!j.is_array()) fail("expected a list of ", what, ", but got ", j.type_name());
    return j;
  }
  const json& object(const json& j, const char* what) const {
    if (!j.is_object()) fail("expected ", what, " by name, but got ", j.type_name());
    return j;
  }
  std::string text(const json& j, const char* what) const {
    if (!j.is_string()) fail("expected ", what, ", but got ", j.type_name());
    return j.get<std::string>();
  }
  int64_t whole(const json& j, const char* what) const {
    if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<uint64_t>() > INT64_MAX)) {
      fail("expected ", what, ", a whole number, but got ", j.type_name());
    }
    return j.get<int64_t>();
  }
  bool truth(const json& j, const char* what) const {
    if (!j.is_boolean()) fail("expected ", what, ", true or false, but got ", j.type_name());
    return j.get<bool>();
  }
  double real(const json& j, const char* what) const {
    if (j.is_number()) return j.get<double>();
    const std::string name = text(j, what);
    if (name == "Infinity") return INFINITY;
    if (name == "-Infinity") return -INFINITY;
    if (name != "NaN") fail("expected ", what, ", a number, but got '", name.substr(0, 40), "'");
    return NAN;
  }
  // A union: the tag, and what it holds.
  std::pair<std::string, const json*> chosen(const json& j, const char* what) const {
    if (!j.is_object() || j.size() != 1)
      fail("expected ", what, " with one tag, but got ", j.is_object() ? j.size() : 0);
    return {j.begin().key(), &j.begin().value()};
  }

 private:
  std::string file_, record_;
};

}  // namespace torch::pt2
