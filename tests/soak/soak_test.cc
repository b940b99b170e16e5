// Operators of random kinds and sizes, forwards and backwards, in a process that may use 512 MiB: each gets its memory,
// and the process does not grow.
//
//   bazel run //tests/soak:soak_test -- --operators=4000000
//   bazel run //tests/soak:soak_test -- --operators=4000000 --unlimited     where a container sets the limit
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "c10/memory/cpu_allocator.h"
#include "c10/testing/flags.h"

namespace {

using at::Tensor;

struct Flags {
  int64_t operators = 20000;
  uint64_t seed = 1;
  bool unlimited = false;
} flags;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kLimit = 512 * kMiB;
constexpr int64_t kHeld = 96 * kMiB;  // in tensors that live on

// Resident memory of this process.
int64_t resident_bytes() {
  long long size = 0, resident = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lld %lld", &size, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

class Soak {
 public:
  explicit Soak(uint64_t seed) : random_(seed) { torch::manual_seed(seed); }

  // One operator; its result lives on for a while.
  void step() {
    const int64_t n = size();
    keep(compute(random_() % 20, n));
    ++done_;
  }
  int64_t done() const { return done_; }

 private:
  // Mostly small, sometimes some MiB.
  int64_t size() {
    const double doublings = random_() % 200 == 0 ? 21.0 : 13.0;
    return static_cast<int64_t>(
        std::exp2(doublings * static_cast<double>(random_()) / static_cast<double>(random_.max())));
  }

  void keep(Tensor t) {
    held_bytes_ += static_cast<int64_t>(t.nbytes());
    held_.push_back(std::move(t));
    while (held_bytes_ > kHeld || held_.size() > 500) {
      const size_t k = random_() % held_.size();
      held_bytes_ -= static_cast<int64_t>(held_[k].nbytes());
      std::swap(held_[k], held_.back());
      held_.pop_back();
    }
  }

  static Tensor gradient(const Tensor& x, const Tensor& y) {
    y.sum().backward();
    return x.grad();
  }

  Tensor compute(uint64_t kind, int64_t n) {
    const int64_t side = std::max<int64_t>(1, static_cast<int64_t>(std::sqrt(static_cast<double>(n))));
    switch (kind) {
      case 0: return torch::ones({n}).add_(2).mul(3);
      case 1: return torch::rand({n}).exp().log();
      case 2: return torch::rand({side, side}).matmul(torch::rand({side, side}));
      case 3: return torch::rand({side, side}).t().contiguous();
      case 4: return torch::rand({n}).cumsum(0);
      case 5: return std::get<1>(torch::rand({n}).sort());
      case 6: return torch::cat({torch::rand({n}), torch::zeros({n / 2 + 1})});
      case 7: return torch::rand({side, side}).softmax(1);
      case 8: return torch::rand({n}).gt(0.5).nonzero();
      case 9: return torch::rand({n}).index_select(0, torch::randint(n, {n / 3 + 1}, torch::kLong));
      case 10: return torch::rand({1, 2, side, side}).repeat({1, 1, 1, 2});
      case 11: return torch::conv2d(torch::rand({1, 3, side, side}), torch::rand({4, 3, 1, 1}));
      case 12: return torch::rand({side, side, 1}).expand({side, side, 3}).sum(0);
      case 13: return torch::rand({n}).to(torch::kDouble).to(torch::kHalf);
      case 14: return torch::randperm(n).flip(0);
      case 15: return torch::where(torch::rand({n}) > 0.5, torch::ones({n}), torch::zeros({n}));
      case 16: {
        const Tensor x = torch::rand({side, side}).requires_grad_();
        return gradient(x, x.matmul(x).tanh());
      }
      case 17: {
        const Tensor x = torch::rand({n}).requires_grad_();
        return gradient(x, torch::sigmoid(x * x).pow(2));
      }
      case 18: {
        const Tensor x = torch::rand({side, side}).requires_grad_();
        return gradient(x, torch::layer_norm(x, {side}));
      }
      default: return std::get<0>(torch::rand({side, side}).topk(std::min<int64_t>(side, 5)));
    }
  }

  std::mt19937_64 random_;
  std::vector<Tensor> held_;
  int64_t held_bytes_ = 0;
  int64_t done_ = 0;
};

// Empty, or what went wrong.
std::string run() {
  Soak soak(flags.seed);
  constexpr int kReports = 20;
  int64_t highest = 0;
  for (int report = 1; report <= kReports; ++report) {
    while (soak.done() < flags.operators * report / kReports) soak.step();
    const int64_t resident = resident_bytes();
    const c10::CPUMemoryStats stats = c10::cpu_memory_stats();
    std::printf("%lld operators: %lld MiB resident, %lld MiB reserved, %lld MiB cached\n",
                static_cast<long long>(soak.done()), static_cast<long long>(resident / kMiB),
                static_cast<long long>(stats.reserved_bytes / kMiB), static_cast<long long>(stats.cached_bytes / kMiB));
    std::fflush(stdout);
    if (stats.peak_reserved_bytes > kLimit / 4 * 3)
      return "the allocator held " + std::to_string(stats.peak_reserved_bytes / kMiB) + " MiB";
    // Half of the run fills the caches; after that nothing is new. A sanitizer keeps freed memory to watch it.
    if (!C10_SANITIZED_ALLOCATION && report > kReports / 2 && resident > highest + 48 * kMiB)
      return "the process grew to " + std::to_string(resident / kMiB) + " MiB";
    if (report <= kReports / 2) highest = std::max(highest, resident);
  }
  return "";
}

TEST(Soak, MixedOperatorsLiveWithinTheirLimitAndStayFlat) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{static_cast<rlim_t>(kLimit), static_cast<rlim_t>(kLimit)};
    if (!flags.unlimited && !C10_SANITIZED_ALLOCATION && setrlimit(RLIMIT_DATA, &limit) != 0) _exit(2);
    std::string problem;
    try {
      problem = run();
    } catch (const std::exception& e) {
      problem = e.what();
    }
    if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
    std::fflush(nullptr);
    _exit(problem.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto status = c10::testing::parse_flags(
      argc, argv, {{"operators", &flags.operators}, {"seed", &flags.seed}, {"unlimited", &flags.unlimited}});
  if (status.has_value()) return *status;
  return RUN_ALL_TESTS();
}
