// multinomial, randperm, poisson, binomial, gamma and Dirichlet numbers, keyed numbers, Sobol sequences.
#include <bit>
#include <cmath>
#include <limits>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/capture.h"
#include "aten/cuda/cub.h"
#include "aten/cuda/index/dense.h"
#include "aten/cuda/random/generator_for.h"
#include "aten/cuda/random/sample.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/keyed_range.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using namespace cuda::random;

namespace {

template <class T>
const T* read(const Tensor& t) {
  return static_cast<const T*>(t.const_data_ptr());
}
template <class T>
T* written(const Tensor& t) {
  return static_cast<T*>(t.mutable_data_ptr());
}

Tensor doubles(const Tensor& t, IntArrayRef sizes) {
  return dense(at::expand(t, sizes), ScalarType::Double);
}
Tensor empty_doubles(const Tensor& like) {
  return empty_contiguous(like.sizes(), ScalarType::Double, like.device());
}

// Numbers of the parameters' sizes, in double.
template <class Sample>
Tensor sampled(const Tensor& a, const Tensor& b, const std::optional<Generator>& generator, const Sample& sample) {
  const Tensor numbers = empty_doubles(a);
  sample(SampleCall{.n = a.numel(),
                    .a = read<double>(a),
                    .b = b.defined() ? read<double>(b) : nullptr,
                    .out = written<double>(numbers),
                    .random = take(a.device(), generator, kWordsPerSample)});
  return numbers;
}

struct Bounds {
  double least, most;
};
// The smallest normal number above 0, and the largest one below 1.
Bounds inside_unit(ScalarType dtype) {
  if (dtype == ScalarType::Double) return {std::numeric_limits<double>::min(), std::nextafter(1.0, 0.0)};
  return {std::numeric_limits<float>::min(), std::nextafter(1.0f, 0.0f)};
}

double precision_of(ScalarType dtype) {
  return (dtype == ScalarType::Double ? std::numeric_limits<double>::epsilon()
                                      : double{std::numeric_limits<float>::epsilon()}) /
         16;
}

// Parameters are looked at by waiting for the device, which nothing can while a graph is captured: they are not checked
// then.
bool can_wait() {
  return cuda::currentStreamCaptureStatus() == cuda::CaptureStatus::None;
}

void check_weights(const Tensor& weights, const Tensor& greatest) {
  if (!can_wait()) return;
  const Tensor least = at::amin(weights, {-1}, true);
  const Tensor valid = at::logical_and(at::isfinite(greatest), at::ge(least, Scalar(0)));
  // 0: a weight that is none; 1: nothing but zeros.
  const Tensor states = at::add(at::to(valid, ScalarType::Long), at::logical_and(valid, at::gt(greatest, Scalar(0))));
  const int64_t state = at::item(at::amin(states)).toLong();
  TORCH_CHECK(state != 0, "probability tensor contains either `inf`, `nan` or element < 0");
  TORCH_CHECK(state != 1, "invalid multinomial distribution (sum of probabilities <= 0)");
}

// A number of whole parts for each weight, and draws among all parts: their sums are exact in whatever order they are
// made, and nothing finds a weight of 0.
Tensor drawn_with_replacement(const Tensor& weights, const Tensor& greatest, int64_t samples,
                              const std::optional<Generator>& generator) {
  const int64_t n = weights.size(-1);
  const double parts = static_cast<double>(uint64_t{1} << (52 - std::bit_width(static_cast<uint64_t>(n))));
  const Tensor shares = at::ceil(at::mul(at::div(weights, greatest), Scalar(parts)));
  const Tensor sums = at::cumsum(at::to(shares, ScalarType::Long), -1);
  Tensor u = empty_contiguous({weights.size(0), samples}, ScalarType::Double, weights.device());
  at::uniform_(u, 0, 1, generator);
  const Tensor places = at::to(at::mul(u, at::narrow(sums, -1, n - 1, 1)), ScalarType::Long);
  return at::searchsorted(sums, places, false, true);
}

void fold(const Tensor& key, const Tensor& out, const Tensor& data, uint64_t step, uint64_t number) {
  if (out.numel() == 0) return;
  const Tensor keys = dense(key);
  cuda::DenseInPlace to(out, false);
  fold_keys({.n = out.numel() / 2,
             .keys = key.numel() / 2,
             .from = read<uint64_t>(keys),
             .to = written<uint64_t>(to.tensor()),
             .data = data.defined() ? read<uint64_t>(data) : nullptr,
             .same_data = data.defined() && data.dim() == 0,
             .step = step,
             .number = number});
  to.commit();
}

template <class Fill>
Tensor& fill_keyed(Tensor& self, const Tensor& key, const Fill& fill) {
  if (self.numel() == 0) return self;
  const Tensor keys = dense(random::keys_of_parts(self, key));
  cuda::DenseInPlace to(self, false);
  fill(KeyedCall{.keys = keys.numel() / 2,
                 .each = self.numel() / (keys.numel() / 2),
                 .from = read<uint64_t>(keys),
                 .to = to.tensor().mutable_data_ptr(),
                 .dtype = self.scalar_type()});
  to.commit();
  return self;
}

}  // namespace

void multinomial_cuda(const Tensor& self, int64_t num_samples, bool replacement, std::optional<Generator> generator,
                      Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor rows = self.dim() == 2 ? self : at::unsqueeze(self, 0);
  const Tensor weights = at::to(rows, ScalarType::Double);
  const Tensor greatest = at::amax(weights, {-1}, true);
  check_weights(weights, greatest);
  Tensor drawn;
  if (replacement && num_samples > 1) {
    drawn = drawn_with_replacement(weights, greatest, num_samples, generator);
  } else {
    // The largest of w / q with q exponential are a sample without replacement (Efraimidis and Spirakis 2006).
    const bool wide = self.scalar_type() == ScalarType::Double;
    Tensor q = empty_contiguous(rows.sizes(), wide ? ScalarType::Double : ScalarType::Float, self.device());
    at::exponential_(q, 1, std::move(generator));
    drawn = std::get<1>(at::topk(at::div(weights, q), num_samples));
  }
  at::copy_(out, at::view(drawn, out.sizes()));
}

void randperm_cuda(int64_t n, std::optional<Generator> generator, TensorOptions, Tensor& out) {
  if (n == 0) return;
  const auto longs = [&] { return empty_contiguous({n}, ScalarType::Long, out.device()); };
  Tensor keys = longs();
  const Tensor sorted_keys = longs(), order = longs();
  at::random_(keys, std::numeric_limits<int64_t>::min(), std::optional<int64_t>(), generator);
  const Tensor places = at::arange(n, keys.options());
  cuda::cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
    return cuda::cub::sort_pairs(scratch, bytes, read<uint64_t>(keys), written<uint64_t>(sorted_keys),
                                 read<int64_t>(places), written<int64_t>(order), n, 64, stream);
  });
  shuffle_ties(n, read<int64_t>(sorted_keys), written<int64_t>(order), take(out.device(), generator, kWordsPerSample));
  at::copy_(out, order);
}

void poisson_cuda(const Tensor& self, std::optional<Generator> generator, Tensor& out) {
  if (out.numel() == 0) return;
  TORCH_CHECK(!can_wait() || at::item(at::all(at::ge(self, Scalar(0)))).toBool(),
              "invalid Poisson rate, expected rate to be non-negative");
  at::copy_(out, sampled(doubles(self, out.sizes()), Tensor(), generator, sample_poisson));
}

void binomial_cuda(const Tensor& count, const Tensor& prob, std::optional<Generator> generator, Tensor& out) {
  if (out.numel() == 0) return;
  const bool in_float = out.scalar_type() != ScalarType::Double;
  at::copy_(out, sampled(doubles(count, out.sizes()), doubles(prob, out.sizes()), generator,
                         [&](const SampleCall& call) { sample_binomial(call, in_float); }));
}

void standard_gamma_cuda(const Tensor& self, std::optional<Generator> generator, Tensor& out) {
  if (out.numel() == 0) return;
  at::copy_(out, sampled(doubles(self, out.sizes()), Tensor(), generator, sample_gamma));
  at::clamp_min_(out, Scalar(inside_unit(out.scalar_type()).least));
}

void standard_gamma_grad_cuda(const Tensor& self, const Tensor& output, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor alpha = doubles(self, out.sizes()), x = doubles(output, out.sizes()), digammas = at::digamma(alpha);
  const Tensor result = empty_doubles(out);
  gamma_gradients(out.numel(), read<double>(alpha), read<double>(x), read<double>(digammas),
                  precision_of(out.scalar_type()), written<double>(result));
  at::copy_(out, result);
}

void sample_dirichlet_cuda(const Tensor& self, std::optional<Generator> generator, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor gammas = sampled(doubles(self, out.sizes()), Tensor(), generator, sample_gamma);
  at::copy_(out, at::div(gammas, at::sum(gammas, {-1}, true)));
  const auto [least, most] = inside_unit(out.scalar_type());
  at::clamp_(out, Scalar(least), Scalar(most));
}

void dirichlet_grad_cuda(const Tensor& x, const Tensor& alpha, const Tensor& total, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor numbers = doubles(x, out.sizes()), a = doubles(alpha, out.sizes()), sum = doubles(total, out.sizes());
  const Tensor beta = at::sub(sum, a), shifts = at::sub(at::digamma(a), at::digamma(sum));
  const Tensor result = empty_doubles(out);
  beta_gradients(out.numel(), read<double>(numbers), read<double>(a), read<double>(beta), read<double>(shifts),
                 precision_of(out.scalar_type()), written<double>(result));
  at::copy_(out, result);
}

void philox_key_split_cuda(const Tensor& key, int64_t, Tensor& out) {
  fold(key, out, Tensor(), 1, 0);
}
void philox_key_fold_in_cuda(const Tensor& key, int64_t data, Tensor& out) {
  fold(key, out, Tensor(), 0, static_cast<uint64_t>(data));
}
void philox_key_fold_in_tensor_cuda(const Tensor& key, const Tensor& data, Tensor& out) {
  fold(key, out, dense(data.device() == key.device() ? data : at::to(data, key.device()), ScalarType::UInt64), 0, 0);
}

Tensor& philox_uniform_cuda_(Tensor& self, const Tensor& key, double low, double high) {
  philox_uniform_meta_(self, key, low, high);
  return fill_keyed(self, key, [&](const KeyedCall& call) { fill_keyed_uniform(call, low, high); });
}
Tensor& philox_normal_cuda_(Tensor& self, const Tensor& key, double mean, double std) {
  philox_normal_meta_(self, key, mean, std);
  return fill_keyed(self, key, [&](const KeyedCall& call) { fill_keyed_normal(call, mean, std); });
}
Tensor& philox_randint_cuda_(Tensor& self, const Tensor& key, std::optional<int64_t> low,
                             std::optional<int64_t> high) {
  philox_randint_meta_(self, key, low, high);
  const auto [from, range] = random::keyed_range(self, low, high);
  return fill_keyed(self, key, [&, from = from, range = range](const KeyedCall& call) {
    fill_keyed_integers(call, from, range);
  });
}

Tensor& sobol_engine_scramble_cuda_(Tensor& self, const Tensor& ltm, int64_t dimension) {
  sobol_engine_scramble_meta_(self, ltm, dimension);
  const Tensor from = dense(self), matrices = dense(ltm);
  const Tensor to = empty_contiguous(self.sizes(), ScalarType::Long, self.device());
  scramble_sobol(dimension, self.size(1), read<int64_t>(from), read<int64_t>(matrices), written<int64_t>(to));
  return at::copy_(self, to);
}

Tensor& sobol_engine_ff_cuda_(Tensor& self, int64_t n, const Tensor& sobolstate, int64_t dimension,
                              int64_t num_generated) {
  sobol_engine_ff_meta_(self, n, sobolstate, dimension, num_generated);
  const Tensor from = dense(self), directions = dense(sobolstate);
  const Tensor to = empty_contiguous({dimension}, ScalarType::Long, self.device());
  // Only the last of the points counts.
  draw_sobol({.n = n > 0 ? 1 : 0,
              .dimension = dimension,
              .bits = sobolstate.size(1),
              .generated = num_generated,
              .steps = n,
              .quasi = read<int64_t>(from),
              .directions = read<int64_t>(directions),
              .last = written<int64_t>(to)});
  return at::copy_(self, to);
}

std::tuple<Tensor, Tensor> sobol_engine_draw_cuda(const Tensor& quasi, int64_t n, const Tensor& sobolstate,
                                                  int64_t dimension, int64_t num_generated,
                                                  std::optional<ScalarType> dtype) {
  auto [points, last] = sobol_engine_draw_meta(quasi, n, sobolstate, dimension, num_generated, dtype);
  const Tensor from = dense(quasi), directions = dense(sobolstate);
  draw_sobol({.n = n,
              .dimension = dimension,
              .bits = sobolstate.size(1),
              .generated = num_generated,
              .steps = 1,
              .quasi = read<int64_t>(from),
              .directions = read<int64_t>(directions),
              .points = points.mutable_data_ptr(),
              .in_double = points.scalar_type() == ScalarType::Double,
              .last = written<int64_t>(last)});
  return {points, last};
}

}  // namespace at::native
