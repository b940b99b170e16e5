// for (auto&& [i, x] : c10::enumerate(values)): the elements with their numbers.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>

namespace c10 {
namespace detail {

template <class Iterator, class Value>
struct EnumerateIterator {
  size_t index;
  Iterator place;
  std::pair<size_t, Value> operator*() const { return {index, *place}; }
  EnumerateIterator& operator++() {
    ++index;
    ++place;
    return *this;
  }
  bool operator==(const EnumerateIterator& other) const { return place == other.place; }
};

template <class Range>
class Enumerate {
 public:
  explicit Enumerate(Range&& range) : range_(std::forward<Range>(range)) {}
  auto begin() { return make(0, std::begin(range_)); }
  auto end() { return make(0, std::end(range_)); }
  auto begin() const { return make(0, std::begin(range_)); }
  auto end() const { return make(0, std::end(range_)); }

 private:
  template <class Iterator>
  static auto make(size_t index, Iterator place) {
    return EnumerateIterator<Iterator, decltype(*place)>{index, place};
  }
  Range range_;
};

}  // namespace detail

template <class Range>
auto enumerate(Range&& range) {
  return detail::Enumerate<Range>(std::forward<Range>(range));
}

}  // namespace c10
