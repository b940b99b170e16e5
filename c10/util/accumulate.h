// Sums and products of integers, of ranges and of parts of sizes.
#pragma once

#include <cstdint>
#include <iterator>

#include "c10/util/exception.h"
#include "c10/util/safe_numerics.h"

namespace c10 {

template <class Iterator>
  requires requires(Iterator i) { *i; ++i; }
int64_t sum_integers(Iterator begin, Iterator end) {
  int64_t sum = 0;
  for (; begin != end; ++begin) sum += *begin;
  return sum;
}
template <class Iterator>
  requires requires(Iterator i) { *i; ++i; }
int64_t multiply_integers(Iterator begin, Iterator end) {
  int64_t product = 1;
  for (; begin != end; ++begin) product *= *begin;
  return product;
}

/// The product of the sizes from dimension k on, before dimension k, between two. Throw c10::Error for dimensions out
/// of range.
template <class C>
int64_t numelements_from_dim(int k, const C& dims) {
  TORCH_CHECK(k >= 0, "numelements_from_dim: negative dimension ", k);
  int64_t product = 1;
  for (size_t d = static_cast<size_t>(k); d < dims.size(); ++d) product *= dims[d];
  return product;
}
template <class C>
int64_t numelements_to_dim(int k, const C& dims) {
  TORCH_CHECK(k >= 0 && static_cast<size_t>(k) <= dims.size(), "numelements_to_dim: dimension ", k, " of ",
              dims.size());
  int64_t product = 1;
  for (size_t d = 0; d < static_cast<size_t>(k); ++d) product *= dims[d];
  return product;
}
template <class C>
int64_t numelements_between_dim(int k, int l, const C& dims) {
  TORCH_CHECK(k >= 0 && l >= 0 && static_cast<size_t>(k) <= dims.size() && static_cast<size_t>(l) <= dims.size(),
              "numelements_between_dim: dimensions ", k, " and ", l, " of ", dims.size());
  int64_t product = 1;
  for (int d = k < l ? k : l; d < (k < l ? l : k); ++d) product *= dims[static_cast<size_t>(d)];
  return product;
}

}  // namespace c10
