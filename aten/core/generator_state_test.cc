#include <gtest/gtest.h>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "c10/core/cpu_generator.h"

namespace at {
namespace {

uint32_t draw(const Generator& g) { return g.get<CPUGeneratorImpl>()->random(); }

TEST(GeneratorState, RestoresTheStream) {
  Generator g = detail::createCPUGenerator(42);
  for (int i = 0; i < 700; ++i) draw(g);
  const Tensor state = g.get_state();
  EXPECT_EQ(state.sizes(), IntArrayRef({5056}));
  EXPECT_EQ(state.scalar_type(), kByte);
  std::vector<uint32_t> first;
  for (int i = 0; i < 1000; ++i) first.push_back(draw(g));
  g.set_current_seed(1);
  g.set_state(state);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(draw(g), first[static_cast<size_t>(i)]);
  EXPECT_EQ(g.current_seed(), 42u);
}

TEST(GeneratorState, RefusesOtherTensors) {
  Generator g = detail::createCPUGenerator(42);
  TensorSpec spec;
  spec.sizes = DimVector{5056};
  spec.device = Device(kCPU);
  spec.dtype = kFloat;
  EXPECT_THROW(g.set_state(empty_spec(spec)), c10::TypeError);
  EXPECT_THROW(g.set_state(Tensor()), c10::TypeError);
  spec.dtype = kByte;
  spec.sizes = DimVector{2, 2528};
  EXPECT_THROW(g.set_state(empty_spec(spec)), c10::TypeError);
  spec.sizes = DimVector{100};
  EXPECT_THROW(g.set_state(empty_spec(spec)), c10::Error);
  EXPECT_EQ(draw(g), 1608637542u);
}

}  // namespace
}  // namespace at
