#include "utils/benchmark/roofline.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "utils/benchmark/timer.h"

namespace torch::utils::benchmark {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Lanes>
[[gnu::always_inline]] inline void multiply_add(Lanes (&sums)[12]) {
  const Lanes x = Lanes{} + 1.0001f, y = Lanes{} + 1e-6f;
  for (int i = 0; i < 100000; ++i) {
    for (auto& s : sums) s = s * x + y;
  }
}

typedef float Lanes16 __attribute__((vector_size(64)));
typedef float Lanes8 __attribute__((vector_size(32)));

[[gnu::target("avx512f,fma")]] void multiply_add_512() {
  Lanes16 sums[12] = {};
  multiply_add(sums);
  for (auto& s : sums) keep(s);
}

[[gnu::target("avx2,fma")]] void multiply_add_256() {
  Lanes8 sums[12] = {};
  multiply_add(sums);
  for (auto& s : sums) keep(s);
}

// Past the caches: what is written need not be read first.
[[gnu::target("avx2")]] void stream(const char* from, char* to, size_t n) {
  for (size_t i = 0; i < n; i += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
  _mm_sfence();
}

// The least seconds of `trials` in which all threads run f(thread) at once.
template <class F>
double least_seconds(int threads, int trials, const F& f) {
  double least = 1e300;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> begin(static_cast<size_t>(threads)), end(static_cast<size_t>(threads));
    std::vector<std::thread> others;
    const auto run = [&](int i) {
      begin[static_cast<size_t>(i)] = now();
      f(i);
      end[static_cast<size_t>(i)] = now();
    };
    for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
    for (std::thread& t : others) t.join();
    least = std::min(least, *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end()));
  }
  return least;
}

}  // namespace

double Roofline::floor(double bytes_moved, double flops_done) const {
  const double memory = bytes > 0 ? bytes_moved / bytes : 0, arithmetic = flops > 0 ? flops_done / flops : 0;
  return std::max(memory, arithmetic);
}

Roofline measure_roofline(int threads) {
  Roofline r;
  const bool wide = __builtin_cpu_supports("avx512f");
  if (wide || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) {
    const double seconds = least_seconds(threads, 12, [&](int) { wide ? multiply_add_512() : multiply_add_256(); });
    r.flops = threads * 100000.0 * 12 * (wide ? 16 : 8) * 2 / seconds;
  }
  constexpr size_t kBytes = size_t{64} << 20;
  const std::unique_ptr<char, decltype(&std::free)> from(static_cast<char*>(std::aligned_alloc(4096, kBytes)),
                                                         std::free);
  const std::unique_ptr<char, decltype(&std::free)> to(static_cast<char*>(std::aligned_alloc(4096, kBytes)), std::free);
  std::memset(from.get(), 1, kBytes);
  std::memset(to.get(), 2, kBytes);
  const size_t part = kBytes / static_cast<size_t>(threads) / 64 * 64;
  const auto copied = [&](bool past_caches) {
    return least_seconds(threads, 10, [&](int i) {
      const size_t at = static_cast<size_t>(i) * part;
      if (past_caches) stream(from.get() + at, to.get() + at, part);
      else std::memcpy(to.get() + at, from.get() + at, part);
    });
  };
  double seconds = copied(false);
  if (__builtin_cpu_supports("avx2")) seconds = std::min(seconds, copied(true));
  r.bytes = 2.0 * static_cast<double>(part) * threads / seconds;
  return r;
}

}  // namespace torch::utils::benchmark
