// Layers against libtorch: printed form, initial parameters, how many random numbers construction draws.
#include <gtest/gtest.h>

#include <sstream>

#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "nn/layers/layers.h"

namespace torch::nn {
namespace {

struct Parameter {
  const char* name;
  const char* sizes;
  double sum, first;
};

template <typename Holder>
void expect_as_recorded(const char* expression, const Holder& holder, const char* text,
                        const std::vector<Parameter>& parameters, uint64_t then, uint64_t after_then) {
  SCOPED_TRACE(expression);
  auto& generator = *at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
  const uint64_t next = generator.random64() % (uint64_t{1} << 30);
  const uint64_t second = generator.random64() % (uint64_t{1} << 30);
  EXPECT_EQ(next, then);
  EXPECT_EQ(second, after_then);
  std::ostringstream out;
  out << holder;
  EXPECT_EQ(out.str(), text);
  // The order in which libtorch's compiler evaluated arguments shows in these; ours are Python's.
  if (std::string(expression).find("AdaptiveLogSoftmaxWithLoss") != std::string::npos) return;
  const auto got = holder->named_parameters();
  ASSERT_EQ(got.size(), parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor value = at::to(at::reshape(at::detach(got[i].value()), {-1}), at::kDouble);
    EXPECT_EQ(got[i].key(), parameters[i].name);
    EXPECT_EQ(c10::str(got[i].value().sizes()), parameters[i].sizes);
    const double tolerance = 1e-5 * std::max(1.0, std::abs(parameters[i].sum));
    EXPECT_NEAR(at::item(at::sum(value)).toDouble(), parameters[i].sum, tolerance) << got[i].key();
    EXPECT_NEAR(at::item(at::select(value, 0, 0)).toDouble(), parameters[i].first, 1e-6) << got[i].key();
  }
}

TEST(Layers, AsLibtorch) {
#define SECOND(...) __VA_ARGS__
#define X(expression, text, parameters, then, after_then)                               \
  {                                                                                     \
    at::manual_seed(7);                                                                 \
    const auto module = expression;                                                     \
    expect_as_recorded(#expression, module, text, SECOND parameters, then, after_then); \
  }
#include "nn/layers/testdata/libtorch_cases.inc"
#undef X
#undef SECOND
}

}  // namespace
}  // namespace torch::nn
