// Streams take a DispatchKey by its name.
#pragma once

#include <string>

#include "c10/core/dispatch_key_set.h"
#include "c10/util/text_stream.h"

namespace c10 {

inline void to_text(std::string& out, DispatchKey key) {
  out += toString(key);
}

template <TextStream Stream, SameType<DispatchKey> X>
Stream& operator<<(Stream& out, X key) {
  out << toString(key);
  return out;
}

}  // namespace c10
