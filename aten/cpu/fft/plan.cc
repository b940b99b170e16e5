#include "aten/cpu/fft/plan.h"

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "aten/cpu/fft/fft.h"
#include "aten/cpu/fft/kernels.h"
#include "aten/cpu/support/byte_cache.h"

namespace at::cpu::fft {
namespace {

// Roots of unity as products of two from tables of about sqrt(n) roots, in a type with more digits than T.
template <class T>
class Roots {
 public:
  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;

  explicit Roots(size_t n) : n_(n), block_(static_cast<size_t>(std::sqrt(static_cast<double>(n))) + 1) {
    for (size_t k = 0; k < block_; ++k) fine_.push_back(exact(k));
    for (size_t k = 0; k <= n / block_; ++k) coarse_.push_back(exact(k * block_));
  }
  // exp(-2 pi i k / n) for k < n.
  void get(size_t k, T* re, T* im) const {
    const Number a = coarse_[k / block_], b = fine_[k % block_];
    *re = static_cast<T>(a.re * b.re - a.im * b.im);
    *im = static_cast<T>(a.re * b.im + a.im * b.re);
  }

 private:
  struct Number {
    Wide re, im;
  };
  // The angle is folded into an eighth of the circle, so that roots on the axes and diagonals are exact.
  Number exact(size_t k) const {
    const Wide pi = static_cast<Wide>(3.141592653589793238462643383279502884L);
    size_t a = 8 * k;
    const size_t octant = a / n_;
    a -= octant * n_;
    if (octant % 2 == 1) a = n_ - a;
    const Wide x = pi * static_cast<Wide>(a) / static_cast<Wide>(4 * n_);
    Wide c = std::cos(x), s = std::sin(x);
    if (((octant + 1) / 2) % 2 == 1) std::swap(c, s);
    const size_t quarter = octant / 2;
    if (quarter == 1 || quarter == 2) c = -c;
    if (quarter >= 2) s = -s;
    return {c, -s};
  }

  size_t n_, block_;
  std::vector<Number> fine_, coarse_;
};

// The passes' factors: fours first, whose results can be stored interleaved, then eights, then odd ones. Empty where n
// has a prime factor above kLargestRadix.
std::vector<int> factors(size_t n) {
  std::vector<int> odd, all;
  int twos = 0;
  while (n % 2 == 0) n /= 2, ++twos;
  for (int r : {3, 5, 7, 11, 13}) {
    while (n % static_cast<size_t>(r) == 0) n /= static_cast<size_t>(r), odd.push_back(r);
  }
  if (n != 1) return {};
  int fours = std::min(twos / 2, 2);
  int rest = twos - 2 * fours;
  const int eights = rest / 3 - (rest % 3 == 1 && rest > 1 ? 1 : 0);
  rest -= 3 * eights;
  all.assign(static_cast<size_t>(fours), 4);
  all.insert(all.end(), static_cast<size_t>(eights), 8);
  for (; rest >= 2; rest -= 2) all.push_back(4);
  if (rest == 1) all.push_back(2);
  all.insert(all.end(), odd.rbegin(), odd.rend());
  return all;
}

template <class T>
void add_passes(Plan<T>& plan, const std::vector<int>& radices) {
  size_t n = plan.n, s = 1;
  for (int radix : radices) {
    const size_t r = static_cast<size_t>(radix);
    Pass<T> pass;
    pass.radix = radix, pass.s = s, pass.m = n / r;
    if (pass.m > 1) {
      const Roots<T> roots(n);
      pass.roots.resize(2 * pass.m * (r - 1));
      T* to = pass.roots.data();
      for (size_t p = 0; p < pass.m; ++p) {
        for (size_t k = 1; k < r; ++k, to += 2) roots.get(p * k, to, to + 1);
      }
      if (s < kLanes<T>) {
        const size_t all = s * pass.m;
        pass.spread.resize(2 * all * (r - 1));
        for (size_t k = 1; k < r; ++k) {
          T* re = pass.spread.data() + 2 * (k - 1) * all;
          for (size_t i = 0; i < all; ++i) {
            const T* root = pass.roots.data() + 2 * ((i / s) * (r - 1) + k - 1);
            re[i] = root[0], re[all + i] = root[1];
          }
        }
      }
    }
    plan.passes.push_back(std::move(pass));
    n /= r, s *= r;
  }
}

// The length of a convolution: a power of two or three or five of them.
size_t convolution_length(size_t least) {
  size_t two = 16;
  while (two < least) two *= 2;
  size_t best = two;
  for (size_t odd : {size_t{3}, size_t{5}, size_t{7}, size_t{9}}) {
    size_t n = 16 * odd;
    while (n < least) n *= 2;
    best = std::min(best, n);
  }
  return best;
}

template <class T>
void add_chirp(Plan<T>& plan) {
  const size_t n = plan.n, length = convolution_length(2 * n - 1);
  plan.convolution = find_plan<T>(length, false);
  plan.chirp.resize(2 * n);
  const Roots<T> roots(2 * n);
  std::vector<T> re(length, T(0)), im(length, T(0));
  size_t square = 0;  // j^2 mod 2n
  const T scale = T(1) / static_cast<T>(length);
  for (size_t j = 0; j < n; ++j) {
    T c = 0, s = 0;
    roots.get(square, &c, &s);
    plan.chirp[j] = c, plan.chirp[n + j] = s;
    re[j] = c * scale, im[j] = -s * scale;
    if (j > 0) re[length - j] = re[j], im[length - j] = im[j];
    square = (square + 2 * j + 1) % (2 * n);
  }
  std::vector<T> other_re(length), other_im(length);
  const Split<T> spectrum =
      run_plan<T>(*plan.convolution, 1, {re.data(), im.data()}, {other_re.data(), other_im.data()});
  plan.chirp_spectrum.assign(spectrum.re, spectrum.re + length);
  plan.chirp_spectrum.insert(plan.chirp_spectrum.end(), spectrum.im, spectrum.im + length);
}

template <class T>
std::shared_ptr<const Plan<T>> make_plan(size_t n, bool real_roots) {
  auto plan = std::make_shared<Plan<T>>();
  plan->n = n;
  const std::vector<int> radices = factors(n);
  if (radices.empty() && n > 1) {
    add_chirp(*plan);
  } else {
    add_passes(*plan, radices);
  }
  if (real_roots) {
    const Roots<T> roots(2 * n);
    const size_t count = n / 2 + 1;
    plan->half_roots.resize(2 * count);
    for (size_t k = 0; k < count; ++k) roots.get(k, &plan->half_roots[k], &plan->half_roots[count + k]);
  }
  return plan;
}

struct Key {
  size_t n, size_of_number;
  bool real_roots;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const { return key.n * 32 + key.size_of_number * 2 + key.real_roots; }
};
using Cache = ByteCache<Key, KeyHash>;

Cache& cache() {
  static Cache* const all = [] {
    pthread_atfork([] { cache().lock(); }, [] { cache().unlock(); }, [] { cache().unlock(); });
    return new Cache(size_t{64} << 20);  // lives on while threads end
  }();
  return *all;
}

}  // namespace

template <class T>
size_t Plan<T>::bytes() const {
  size_t numbers = chirp.size() + chirp_spectrum.size() + half_roots.size();
  for (const Pass<T>& pass : passes) numbers += pass.roots.size() + pass.spread.size();
  return sizeof(Plan) + passes.size() * sizeof(Pass<T>) + numbers * sizeof(T);
}

template <class T>
std::shared_ptr<const Plan<T>> find_plan(size_t n, bool real_roots) {
  return cache().find<Plan<T>>({n, sizeof(T), real_roots}, [&] { return make_plan<T>(n, real_roots); });
}
template struct Plan<float>;
template struct Plan<double>;
template std::shared_ptr<const Plan<float>> find_plan(size_t, bool);
template std::shared_ptr<const Plan<double>> find_plan(size_t, bool);

CacheStats plan_cache_stats() {
  return cache().stats();
}
void set_plan_cache_limit(size_t bytes) {
  cache().set_limit(bytes);
}

}  // namespace at::cpu::fft
