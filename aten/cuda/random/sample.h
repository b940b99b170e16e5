// Numbers of distributions whose parameters are tensors, and what belongs to them: what the host asks of kernels, which
// run on the current stream. Arrays are dense, in device memory.
#pragma once

#include <cstdint>

#include "aten/cuda/philox_state.h"
#include "c10/core/scalar_type.h"

namespace at::cuda::random {

/// Each element draws from a subsequence of its own, whose first words these are.
inline constexpr uint64_t kWordsPerSample = 4096;

/// out[i] = a number of the distribution with the parameters a[i] and b[i].
struct SampleCall {
  int64_t n;  // > 0
  const double* a;
  const double* b;
  double* out;
  PhiloxCudaState random;
};
/// A mean below 0 or NaN ends the launch.
void sample_poisson(const SampleCall& call);
void sample_binomial(const SampleCall& call, bool in_float);
/// NaN for a parameter below 0.
void sample_gamma(const SampleCall& call);

/// out[i] = how number x[i] changes with its parameter; digammas[i] = digamma(alpha[i]).
void gamma_gradients(int64_t n, const double* alpha, const double* x, const double* digammas, double precision,
                     double* out);
/// The same of numbers with the distribution Beta(alpha[i], beta[i]), over 1 - x; shifts[i] = digamma(alpha[i]) -
/// digamma(alpha[i] + beta[i]).
void beta_gradients(int64_t n, const double* x, const double* alpha, const double* beta, const double* shifts,
                    double precision, double* out);

/// Puts the values of each run of equal keys into a random order. Keys are sorted.
void shuffle_ties(int64_t n, const int64_t* keys, int64_t* values, const PhiloxCudaState& random);

/// Pairs of uint64: to[i] = the key number data[i] of from[i % keys]; without `data` number `step` * (i / keys) +
/// `number`, and with `same_data` all have data[0].
struct FoldCall {
  int64_t n;     // > 0
  int64_t keys;  // > 0
  const uint64_t* from;
  uint64_t* to;
  const uint64_t* data;
  bool same_data;
  uint64_t step, number;
};
void fold_keys(const FoldCall& call);

/// `each` numbers of every key, one after the other; `to` is of `dtype`.
struct KeyedCall {
  int64_t keys;  // > 0
  int64_t each;  // > 0
  const uint64_t* from;
  void* to;
  ScalarType dtype;
};
void fill_keyed_uniform(const KeyedCall& call, double low, double high);
void fill_keyed_normal(const KeyedCall& call, double mean, double std);
void fill_keyed_integers(const KeyedCall& call, uint64_t first, uint64_t range);

/// The points number generated + steps, generated + 2 * steps ... of a Sobol sequence, `n` of them, where `quasi` is
/// point number `generated` and `bits` the direction numbers of a dimension: to `points` as numbers in [0, 1), float or
/// double, unless null, and the last one, or `quasi` where `n` is 0, to `last`.
struct SobolCall {
  int64_t n, dimension, bits, generated, steps;
  const int64_t* quasi;
  const int64_t* directions;
  void* points = nullptr;
  bool in_double = false;
  int64_t* last = nullptr;
};
void draw_sobol(const SobolCall& call);
/// Multiplies each of the `bits` directions of `dimension` dimensions by a matrix of bits, rows with the highest first.
void scramble_sobol(int64_t dimension, int64_t bits, const int64_t* from, const int64_t* matrices, int64_t* to);

}  // namespace at::cuda::random
