// Prints GFLOP/s of the matrix engine's candidates and their share of the multiply-add peak measured in the same run.
//
//   bazel run //aten/cpu/matrix:matrix_benchmark -- [threads] [processor_time]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "aten/cpu/matrix/fma_peak.h"
#include "aten/cpu/matrix/gemm.h"
#include "c10/parallel/parallel.h"

namespace {

bool processor_time = false;

// Wall time, or the processor time of this process: the better measure on a machine that does other things too.
double seconds() {
  if (processor_time) {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

struct Measured {
  double seconds;  // the least
  double of_peak;  // the median share of the peak, which is measured before and after each run: clocks change
};

// Several runs of about 10 ms, of `operations` multiply-adds and additions each call.
template <class F>
Measured measure(const F& f, double operations, at::matrix::Type peak_type, int threads) {
  f();
  const double start = seconds();
  f();
  const double once = seconds() - start;
  const int repeats = once > 0.01 ? 1 : static_cast<int>(0.01 / (once + 1e-9)) + 1;
  Measured result{1e30, 0};
  std::vector<double> shares;
  double before = at::matrix::fma_peak_gflops(peak_type, threads, 1);
  for (int trial = 0; trial < 11; ++trial) {
    const double t0 = seconds();
    for (int i = 0; i < repeats; ++i) f();
    const double t = (seconds() - t0) / repeats;
    const double after = at::matrix::fma_peak_gflops(peak_type, threads, 1);
    result.seconds = std::min(result.seconds, t);
    shares.push_back(operations / t / (0.5e9 * (before + after)));
    before = after;
  }
  std::nth_element(shares.begin(), shares.begin() + 5, shares.end());
  result.of_peak = shares[5];
  return result;
}

struct Shape {
  int64_t batch, m, n, k;
  bool a_transposed, b_transposed, bias;
  const char* what;
};

constexpr Shape kShapes[] = {
    {1, 1024, 1024, 1024, false, false, false, "mm 1024"},
    {1, 2048, 2048, 2048, false, false, false, "mm 2048"},
    {1, 512, 512, 512, false, false, false, "mm 512"},
    {1, 1024, 1024, 256, false, true, true, "linear forward 1024x256 -> 1024"},
    {1, 1024, 256, 1024, false, true, true, "linear forward 1024x1024 -> 256"},
    {1, 1024, 768, 256, false, true, true, "linear forward 1024x256 -> 768"},
    {1, 1024, 256, 1024, false, false, false, "linear backward, input"},
    {1, 1024, 256, 1024, true, false, false, "linear backward, weight"},
    {32, 128, 128, 64, false, true, false, "attention scores, batch 32"},
    {1, 128, 128, 128, false, false, false, "mm 128"},
    {1, 64, 64, 64, false, false, false, "mm 64"},
    {1, 32, 32, 32, false, false, false, "mm 32"},
    {1, 16, 16, 16, false, false, false, "mm 16"},
    {1, 8, 8, 8, false, false, false, "mm 8"},
    {1, 512, 256, 256, false, true, true, "linear 512x256 -> 256"},
    {1, 512, 768, 256, false, true, true, "linear 512x256 -> 768"},
    {1, 512, 256, 1024, false, true, true, "linear 512x1024 -> 256"},
    {1, 512, 256, 768, false, false, false, "linear 512x256 -> 768, backward, input"},
    {1, 256, 1024, 512, true, false, false, "linear 512x1024 -> 256, backward, weight"},
    {1, 768, 256, 512, true, false, false, "linear 512x256 -> 768, backward, weight"},
    {1, 256, 256, 256, false, false, false, "mm 256"},
    {1, 64, 1024, 1024, false, true, true, "linear 64x1024 -> 1024"},
    {1, 64, 16, 8, false, true, true, "linear 64x8 -> 16"},
    {1, 1, 1024, 1024, false, true, false, "vector times 1024x1024, transposed"},
};

void run(const Shape& s, at::matrix::Type type, int threads) {
  const int64_t size = at::matrix::type_size(type);
  std::vector<char> a(s.batch * s.m * s.k * size + 64), b(s.batch * s.k * s.n * size + 64), c(s.batch * s.m * s.n * size + 64),
      bias(s.n * size);
  at::matrix::Gemm g;
  g.type = type;
  g.m = s.m, g.n = s.n, g.k = s.k;
  g.batch[1] = s.batch;
  g.a = {a.data(), s.a_transposed ? 1 : s.k, s.a_transposed ? s.m : 1, {0, s.m * s.k}};
  g.b = {b.data(), s.b_transposed ? 1 : s.n, s.b_transposed ? s.k : 1, {0, s.k * s.n}};
  if (s.bias) g.add = {bias.data(), 0, 1, {0, 0}};
  g.c = c.data();
  g.c_row = s.n;
  g.c_batch[1] = s.m * s.n;
  std::printf("%-40s", s.what);
  for (int i = 0; i < at::matrix::candidate_count(); ++i) {
    const at::matrix::Candidate* candidate = at::matrix::candidate(i);
    if (candidate->refusal(g) != nullptr && !(candidate->name[0] == 'o' && s.m > 1 && type == at::matrix::Type::kFloat32)) continue;
    if (candidate->name[0] == 'p') continue;
    const double each = type == at::matrix::Type::kComplex64 ? 8 : 2;
    const double operations = each * static_cast<double>(s.batch * s.m * s.n * s.k);
    const auto peak_type = type == at::matrix::Type::kFloat64 ? type : at::matrix::Type::kFloat32;
    const Measured m = measure([&] { candidate->run(g); }, operations, peak_type, threads);
    std::printf("  %s %8.1f GFLOP/s %5.1f%% %9.2f us", candidate->name, 1e-9 * operations / m.seconds, 100 * m.of_peak,
                1e6 * m.seconds);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  processor_time = argc > 2 && std::strcmp(argv[2], "processor_time") == 0;
  at::set_num_threads(threads);
  const double peak = at::matrix::fma_peak_gflops(at::matrix::Type::kFloat32, threads);
  const double peak64 = at::matrix::fma_peak_gflops(at::matrix::Type::kFloat64, threads);
  std::printf("%d threads; multiply-add peak: float32 %.1f, float64 %.1f GFLOP/s\n", threads, peak, peak64);
  for (const Shape& s : kShapes) run(s, at::matrix::Type::kFloat32, threads);
  std::printf("bfloat16 (share of the float32 peak)\n");
  for (const Shape& s : kShapes) run(s, at::matrix::Type::kBFloat16, threads);
  std::printf("complex64\n");
  for (const Shape& s : kShapes) run(s, at::matrix::Type::kComplex64, threads);
  std::printf("int32, int64 (share of the float32 peak)\n");
  for (const Shape& s : kShapes) run(s, at::matrix::Type::kInt32, threads);
  for (const Shape& s : kShapes) run(s, at::matrix::Type::kInt64, threads);
  std::printf("float64\n");
  for (const Shape& s : kShapes) run(s, at::matrix::Type::kFloat64, threads);
  return 0;
}
