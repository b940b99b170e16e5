#include "examples/serve/metrics.h"

#include <gtest/gtest.h>

#include <thread>

namespace serve {
namespace {

TEST(Histogram, CountsUpToEachBound) {
  Histogram histogram({0.1, 1, 10});
  for (const double value : {0.05, 0.1, 0.5, 10.0, 11.0}) histogram.observe(value);
  std::string text;
  histogram.write(text, "h", "model=\"a\"");
  EXPECT_EQ(text,
            "h_bucket{model=\"a\",le=\"0.1\"} 2\nh_bucket{model=\"a\",le=\"1\"} 3\n"
            "h_bucket{model=\"a\",le=\"10\"} 4\nh_bucket{model=\"a\",le=\"+Inf\"} 5\n"
            "h_sum{model=\"a\"} 21.65\nh_count{model=\"a\"} 5\n");
}

TEST(Histogram, OfManyThreads) {
  Histogram histogram(time_bounds());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) histogram.observe(0.5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(histogram.count(), 20000u);
  EXPECT_EQ(histogram.sum(), 10000.0);
}

TEST(StatusCounter, CountsByStatus) {
  StatusCounter counter;
  for (const int status : {200, 404, 200, -1, 600}) counter.add(status);
  EXPECT_EQ(counter.counts(), (std::vector<std::pair<int, uint64_t>>{{200, 2}, {404, 1}}));
}

TEST(Recent, KeepsTheLastThousand) {
  Recent recent;
  EXPECT_EQ(quantile(recent.sorted(), 0.5), 0);
  for (int i = 1; i <= 1500; ++i) recent.add(i);
  const std::vector<double> sorted = recent.sorted();
  ASSERT_EQ(sorted.size(), 1000u);
  EXPECT_EQ(sorted.front(), 501);
  EXPECT_EQ(quantile(sorted, 0.5), 1000);
  EXPECT_EQ(quantile(sorted, 0.99), 1490);
  EXPECT_EQ(quantile(sorted, 1), 1500);
  EXPECT_EQ(quantile({7}, 0.99), 7);
}

TEST(Label, IsEscaped) {
  EXPECT_EQ(label_text("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
}

}  // namespace
}  // namespace serve
