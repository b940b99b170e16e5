#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "aten/core/tensor.h"

namespace at {

// A tensor as text: rows of a matrix line by line, slices of more dimensions headed "(1,.,.) = ", and last the kind with the
// sizes, "[ CPUFloatType{2,3} ]". Numbers that are all integral print without decimals, others with four, with a common
// scale ("1e-05 *") or in scientific notation where their range asks for it. A number that stands alone shows all its digits.
// `line_size`: characters a line may have; wider matrices come in groups of columns. Of complex elements print the real parts,
// as libtorch's stream has it (torch::repr shows both).
std::string to_string(const Tensor& tensor, int64_t line_size = 80);

// The same on a stream, whatever its precision.
std::ostream& print(std::ostream& stream, const Tensor& tensor, int64_t line_size);
std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);
// On std::cout.
void print(const Tensor& tensor, int64_t linesize = 80);

}  // namespace at

namespace c10 {

// The elements with a space between them; after a hundred " ..." stands for the others.
template <class Stream, class Iterator>
void PrintSequence(Stream& stream, Iterator begin, Iterator end) {
  for (int i = 0; begin != end && i < 100; ++i, ++begin) {
    if (i > 0) stream << ' ';
    stream << *begin;
  }
  if (begin != end) stream << " ...";
}

}  // namespace c10

// std::cout << std::vector<torch::Tensor>(...), << sizes.vec(): in std, where argument-dependent lookup finds it. An operator of
// the program's own for vectors is more special, and is taken.
namespace std {
template <class... Types>
ostream& operator<<(ostream& stream, const vector<Types...>& values) {
  c10::PrintSequence(stream, values.begin(), values.end());
  return stream;
}
}  // namespace std
