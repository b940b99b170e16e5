// Streams take a DispatchKey by its name, a set of them as "DispatchKeySet(CPU, Autograd)", lowest first.
#pragma once

#include <string>

#include "c10/core/dispatch_key_set.h"
#include "c10/util/text_stream.h"

namespace c10 {

inline void to_text(std::string& out, DispatchKey key) {
  out += toString(key);
}

inline void to_text(std::string& out, DispatchKeySet keys) {
  out += "DispatchKeySet(";
  bool first = true;
  for (const DispatchKey key : keys) {
    if (!first) out += ", ";
    first = false;
    out += toString(key);
  }
  out += ')';
}

/// The text that streams show.
inline std::string toString(DispatchKeySet keys) {
  std::string text;
  to_text(text, keys);
  return text;
}

template <TextStream Stream, SameType<DispatchKey> X>
Stream& operator<<(Stream& out, X key) {
  out << toString(key);
  return out;
}

template <TextStream Stream, SameType<DispatchKeySet> X>
Stream& operator<<(Stream& out, X keys) {
  out << toString(keys);
  return out;
}

}  // namespace c10
