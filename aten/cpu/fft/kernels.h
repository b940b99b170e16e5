#pragma once
// The vectorised parts of a transform, over split numbers (real and imaginary parts apart). A block is `width` lines
// side by side: number j of line l is at [j * width + l]; width is 1 or kLanes.

#include <type_traits>

#include "aten/cpu/fft/plan.h"

namespace at::cpu::fft {

template <class T>
struct Split {
  T* re;
  T* im;
};

// Numbers of up to a block of lines in memory: number j of line l has its real part at start[l][j * step] and its
// imaginary part `imag` further, unless they are `real` numbers. Lines that a block is short of are zeros.
template <class T>
struct Memory {
  T* start[kLanes<std::remove_const_t<T>>];
  size_t count;
  int64_t step;
  int64_t imag;
  bool real;
};

template <class T>
void load(const Memory<const T>& from, size_t width, size_t n, Split<T> to);
template <class T>
void store(Split<T> from, size_t width, size_t n, T scale, const Memory<T>& to);

// The forward transform of a block of numbers in `a`; the result is in `a` or `b`, of which each has plan.work_length()
// * width numbers, and both are overwritten.
template <class T>
Split<T> run_plan(const Plan<T>& plan, size_t width, Split<T> a, Split<T> b);

// Between the transform of plan.n complex numbers, which are 2 n real ones in pairs, and the n + 1 numbers of their own
// half transform, in place. Back it is twice the numbers, made for an inverse transform without a factor.
template <class T>
void half_from_pairs(const Plan<T>& plan, size_t width, Split<T> z);
template <class T>
void pairs_from_half(const Plan<T>& plan, size_t width, Split<T> x);

}  // namespace at::cpu::fft
