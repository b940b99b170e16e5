// Layout: how a tensor's elements are stored.
#pragma once

#include <cstdint>
#include <string>

#include "c10/util/text_stream.h"

namespace c10 {

enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged, NumOptions };

inline constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse, kSparseCsr = Layout::SparseCsr,
                        kMkldnn = Layout::Mkldnn, kSparseCsc = Layout::SparseCsc, kSparseBsr = Layout::SparseBsr,
                        kSparseBsc = Layout::SparseBsc, kJagged = Layout::Jagged;

constexpr const char* toString(Layout layout) {
  constexpr const char* kNames[] = {"Strided",   "Sparse",    "SparseCsr", "Mkldnn",        "SparseCsc",
                                    "SparseBsr", "SparseBsc", "Jagged",    "Unknown layout"};
  return kNames[static_cast<size_t>(layout)];
}
inline void to_text(std::string& out, Layout layout) {
  out += toString(layout);
}

template <TextStream Stream, SameType<Layout> X>
Stream& operator<<(Stream& out, X layout) {
  out << toString(layout);
  return out;
}

}  // namespace c10

namespace at {
using c10::Layout;
}
