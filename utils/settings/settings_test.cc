// Settings by their documented names, and statistics of programs.
#include "utils/settings/settings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>

#include "aten/aten.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "utils/monitor/monitor.h"

namespace torch {
namespace {

using at::Tensor;
using c10::testing::message_of;

TEST(Determinism, ModesAndTheirNames) {
  EXPECT_FALSE(are_deterministic_algorithms_enabled());
  EXPECT_EQ(get_deterministic_debug_mode(), 0);
  set_deterministic_debug_mode("warn");
  EXPECT_TRUE(are_deterministic_algorithms_enabled() && is_deterministic_algorithms_warn_only_enabled());
  set_deterministic_debug_mode(2);
  EXPECT_TRUE(are_deterministic_algorithms_enabled());
  EXPECT_FALSE(is_deterministic_algorithms_warn_only_enabled());
  EXPECT_THROW(at::Context::alertNotDeterministic("mine"), c10::Error);
  EXPECT_EQ(message_of([] { set_deterministic_debug_mode("x"); }),
            "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got x");
  EXPECT_EQ(message_of([] { set_deterministic_debug_mode(4); }),
            "invalid value of debug_mode, expected 0, 1, or 2, but got 4");
  use_deterministic_algorithms(false);
  EXPECT_EQ(get_deterministic_debug_mode(), 0);
}

bool all_nan(const Tensor& tensor) {
  return at::isnan(tensor).all().item<bool>();
}

TEST(Determinism, FillsWhatNobodyWrote) {
  use_deterministic_algorithms(true);
  EXPECT_TRUE(utils::deterministic::fill_uninitialized_memory);
  EXPECT_TRUE(all_nan(at::empty({2, 3})));
  EXPECT_TRUE(all_nan(at::empty({100, 100}, at::kDouble)));
  EXPECT_TRUE(all_nan(at::empty({2}, at::kBFloat16)));
  EXPECT_TRUE(all_nan(at::empty({2}, at::kComplexFloat)));
  EXPECT_EQ(at::empty({2}, at::kByte)[0].item<int64_t>(), 255);
  EXPECT_EQ(at::empty({2}, at::kChar)[0].item<int64_t>(), 127);
  EXPECT_EQ(at::empty({2}, at::kInt)[1].item<int64_t>(), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(at::empty({2}, at::kLong)[1].item<int64_t>(), std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(at::empty({2}, at::kBool).all().item<bool>());
  EXPECT_TRUE(all_nan(at::empty_like(at::ones({2, 2}))));
  EXPECT_TRUE(all_nan(at::empty_strided({2, 2}, {1, 3})));
  EXPECT_TRUE(all_nan(at::empty_permuted({2, 2}, {1, 0})));
  EXPECT_TRUE(all_nan(at::new_empty(at::ones({2}), {3})));
  EXPECT_TRUE(all_nan(at::ones({2}).requires_grad_().new_empty({3})));
  EXPECT_TRUE(all_nan(torch::empty({3})));
  EXPECT_TRUE(all_nan(torch::empty_like(torch::ones({3}))));
  Tensor grown = at::ones({2});
  grown.resize_({5});
  EXPECT_EQ(at::isnan(grown).sum().item<int64_t>(), 3);
  EXPECT_EQ(grown[1].item<double>(), 1);
  EXPECT_EQ(at::zeros({3}).sum().item<double>(), 0);
  utils::deterministic::fill_uninitialized_memory = false;
  at::empty({1000}).fill_(1);
  EXPECT_FALSE(all_nan(at::empty({1000})));
  utils::deterministic::fill_uninitialized_memory = true;
  EXPECT_TRUE(all_nan(at::empty({1000})));
  use_deterministic_algorithms(false);
  at::empty({1000}).fill_(1);
  EXPECT_FALSE(all_nan(at::empty({1000})));
}

TEST(Settings, PrecisionAndSwitches) {
  EXPECT_EQ(get_float32_matmul_precision(), "highest");
  set_float32_matmul_precision("high");
  EXPECT_EQ(get_float32_matmul_precision(), "high");
  EXPECT_TRUE(backends::cuda::matmul::allow_tf32);
  backends::cuda::matmul::allow_tf32 = false;
  EXPECT_EQ(get_float32_matmul_precision(), "highest");
  backends::cudnn::benchmark = true;
  EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
  backends::cudnn::benchmark = false;
  EXPECT_TRUE(backends::cudnn::enabled);
  backends::cuda::enable_flash_sdp(false);
  EXPECT_FALSE(backends::cuda::flash_sdp_enabled());
  backends::cuda::enable_flash_sdp(true);
  EXPECT_EQ(backends::cudnn::is_available(), backends::cudnn::version() > 0);
  EXPECT_FALSE(backends::cpu::get_cpu_capability().empty());
}

TEST(Settings, Texts) {
  EXPECT_NE(__config__::show().find("built with"), std::string::npos);
  EXPECT_NE(__config__::parallel_info().find("at::get_num_threads() : "), std::string::npos);
  ::setenv("KINDLING_OF_THE_TEST", "here", 1);
  const std::string text = utils::collect_env::get_pretty_env_info();
  for (const char* part : {"PyTorch version: ", "OS: ", "Libc version: glibc-", "Is CUDA available: ",
                           "CPU:\nModel name: ", "\nFlags: ", "\nNUMA node(s): ", "\nNvidia driver version: ",
                           "\nCaching allocator config: ", "KINDLING_OF_THE_TEST=here\n", "ATen/Parallel:"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

struct Seen : monitor::EventHandler {
  void handle(const monitor::Event& event) override { events.push_back(event); }
  std::vector<monitor::Event> events;
};

TEST(Monitor, StatsAreLoggedByWindows) {
  using monitor::Aggregation;
  const auto seen = std::make_shared<Seen>();
  monitor::registerEventHandler(seen);
  {
    monitor::Stat<double> stat("a", {Aggregation::MEAN, Aggregation::COUNT, Aggregation::SUM, Aggregation::MAX,
                                     Aggregation::MIN, Aggregation::VALUE},
                               std::chrono::hours(1), 2);
    EXPECT_EQ(stat.name(), "a");
    EXPECT_EQ(stat.count(), 0);
    EXPECT_EQ(stat.get().at(Aggregation::MEAN), 0);
    stat.add(2);
    EXPECT_EQ(stat.count(), 1);
    EXPECT_TRUE(seen->events.empty());
    stat.add(5);
    stat.add(9);
    EXPECT_EQ(stat.count(), 0) << "what is more than two is dropped";
    EXPECT_EQ(stat.get(), (std::unordered_map<Aggregation, double>{{Aggregation::MEAN, 3.5},
                                                                   {Aggregation::COUNT, 2},
                                                                   {Aggregation::SUM, 7},
                                                                   {Aggregation::MAX, 5},
                                                                   {Aggregation::MIN, 2},
                                                                   {Aggregation::VALUE, 5}}));
    ASSERT_EQ(seen->events.size(), 1u);
    EXPECT_EQ(seen->events[0].name, "torch.monitor.Stat");
    EXPECT_EQ(std::get<double>(seen->events[0].data.at("a.mean")), 3.5);
    EXPECT_EQ(std::get<double>(seen->events[0].data.at("a.count")), 2);
  }
  EXPECT_EQ(seen->events.size(), 1u) << "nothing was left";
  {
    monitor::Stat<int64_t> stat("b", {Aggregation::SUM}, std::chrono::milliseconds(20));
    stat.add(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stat.add(4);
    ASSERT_EQ(seen->events.size(), 2u);
    EXPECT_EQ(std::get<int64_t>(seen->events[1].data.at("b.sum")), 1);
  }
  ASSERT_EQ(seen->events.size(), 3u) << "its end logs";
  EXPECT_EQ(std::get<int64_t>(seen->events[2].data.at("b.sum")), 4);
  monitor::unregisterEventHandler(seen);
  monitor::logEvent({"x", {}, {{"k", int64_t{1}}}});
  EXPECT_EQ(seen->events.size(), 3u);
}

}  // namespace
}  // namespace torch
