#include "aten/cpu/matrix/fma_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/fma_peak.cc"
#include "hwy/foreach_target.h"  // keep first
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"

#include <chrono>
#include <vector>

#include "c10/parallel/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace at::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `rounds` rounds of twelve independent chains; returns the number of operations.
template <class T>
double Chains(int64_t rounds, double* sink) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kChains = 12;
  V sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = hn::Set(d, static_cast<T>(i));
  V x = hn::Set(d, static_cast<T>(0.999)), y = hn::Set(d, static_cast<T>(0.001));
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = hn::MulAdd(sum[i], x, y);
  V all = sum[0];
  for (int i = 1; i < kChains; ++i) all = hn::Add(all, sum[i]);
  *sink += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, all)));
  return 2.0 * static_cast<double>(rounds) * kChains * static_cast<double>(hn::Lanes(d));
}

double ChainsFloat(int64_t rounds, double* sink) { return Chains<float>(rounds, sink); }
double ChainsDouble(int64_t rounds, double* sink) { return Chains<double>(rounds, sink); }

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::matrix {

double fma_peak_gflops(Type type, int threads, int trials) {
  using clock = std::chrono::steady_clock;
  double best = 0;
  std::vector<double> sinks(static_cast<size_t>(threads) * 8);
  std::vector<double> operations(static_cast<size_t>(threads) * 8);
  for (int trial = 0; trial < trials; ++trial) {
    const auto start = clock::now();
    at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        operations[i * 8] = type == Type::kFloat64 ? AT_ISA_FUNCTION(ChainsDouble)(2000000, &sinks[i * 8])
                                                   : AT_ISA_FUNCTION(ChainsFloat)(2000000, &sinks[i * 8]);
    });
    const double t = std::chrono::duration<double>(clock::now() - start).count();
    double total = 0;
    for (int i = 0; i < threads; ++i) total += operations[static_cast<size_t>(i) * 8];
    if (total / t > best) best = total / t;
  }
  volatile double keep = 0;
  for (double s : sinks) keep = keep + s;
  return best * 1e-9;
}

}  // namespace at::matrix
#endif
