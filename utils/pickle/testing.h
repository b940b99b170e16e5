#pragma once

#include <string>
#include <vector>

#include "c10/value/ivalue.h"
#include "utils/serialize/file_io.h"

namespace torch::pickle::testing {

class StringSink : public serialize::Sink {
 public:
  void write(const void* data, size_t bytes) override { text.append(static_cast<const char*>(data), bytes); }
  std::string text;
};

// Takes apart what holds itself, which reference counts alone would keep.
inline void take_apart(c10::IValue value) {
  std::vector<c10::IValue> left = {std::move(value)};
  while (!left.empty()) {
    const c10::IValue v = std::move(left.back());
    left.pop_back();
    if (v.isList()) {
      for (const c10::IValue& item : v.toListRef()) left.push_back(item);
      v.toList().clear();
    } else if (v.isGenericDict()) {
      for (const auto& entry : v.toGenericDict()) left.push_back(entry.value());
      v.toGenericDict().clear();
    } else if (v.isTuple() && v.use_count() < 1000) {
      for (const c10::IValue& item : v.toTupleRef().elementsArrayRef()) {
        if (item.isList() || item.isGenericDict()) left.push_back(item);
      }
    }
  }
}

}  // namespace torch::pickle::testing
