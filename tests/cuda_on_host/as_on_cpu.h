// Functions of CUDA tensors on the host against the same of CPU tensors, and in every order of threads.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/testing/testing.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace at::testing {

using Results = std::vector<Tensor>;
using Function = std::function<Results(const Tensor&)>;

struct Case {
  const char* name;
  Function run;
};

/// The same dtypes, sizes and numbers as of CPU tensors.
inline void expect_as_on_cpu(const Case& test, const Tensor& x, double tolerance) {
  const Results actual = test.run(x), expected = test.run(on_cpu(x));
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].defined(), expected[i].defined());
    if (!actual[i].defined()) continue;
    ASSERT_TRUE(actual[i].is_cuda());
    ASSERT_EQ(actual[i].scalar_type(), expected[i].scalar_type());
    ASSERT_EQ(sizes(actual[i]), sizes(expected[i]));
    expect_close(actual[i], expected[i], tolerance, tolerance);
  }
}

inline std::string bytes_of(const Results& results) {
  std::string bytes;
  for (const Tensor& t : results) {
    if (!t.defined()) continue;
    const Tensor dense = on_cpu(t).contiguous();
    bytes.append(static_cast<const char*>(dense.const_data_ptr()), dense.nbytes());
  }
  return bytes;
}

/// The same bits whatever the order of blocks, warps and lanes.
inline void expect_same_in_all_orders(const Case& test, const Tensor& x) {
  const simt::Options before = simt::options();
  std::vector<std::string> seen;
  for (const auto& [order, seed] : std::vector<std::pair<simt::Order, uint64_t>>{{simt::Order::kForward, 0},
                                                                                 {simt::Order::kReverse, 0},
                                                                                 {simt::Order::kRandom, 1},
                                                                                 {simt::Order::kRandom, 2}}) {
    simt::options().order = order;
    simt::options().seed = seed;
    seen.push_back(bytes_of(test.run(x)));
  }
  simt::options() = before;
  for (const std::string& bytes : seen) EXPECT_TRUE(bytes == seen.front()) << test.name;
}

}  // namespace at::testing
