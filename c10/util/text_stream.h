// TextStream: a std::ostream-like type, known by its members, so that headers offer `operator<<` without a stream
// header.
//
// An operator for X is a template on X, too (`std::same_as<X> auto`-like), so that values which convert to X implicitly
// do not reach it.
#pragma once

#include <type_traits>

namespace c10 {

template <typename S>
concept TextStream = requires(S& s) {
  s.flush();
  s.write("", 0);
  s.precision();
};

template <typename A, typename B>
concept SameType = std::is_same_v<A, B>;

}  // namespace c10
