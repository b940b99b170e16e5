#include "c10/core/cpu_generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "c10/core/tensor_impl.h"

namespace at {
namespace {

CPUGeneratorImpl* impl(const Generator& g) {
  return g.get<CPUGeneratorImpl>();
}

std::vector<uint8_t> state_bytes(const Generator& g) {
  const auto state = g.unsafeGetGeneratorImpl()->get_state();
  const auto* bytes = static_cast<const uint8_t*>(state->data());
  return std::vector<uint8_t>(bytes, bytes + state->numel());
}

void set_state_bytes(const Generator& g, const uint8_t* data, size_t size) {
  const auto state = c10::TensorImpl::contiguous(
      c10::StorageImpl::allocate_cpu(size), c10::ScalarType::Byte, c10::Device(c10::kCPU), static_cast<int64_t>(size));
  if (size != 0) std::memcpy(state->data(), data, size);
  g.unsafeGetGeneratorImpl()->set_state(*state);
}

// The outputs that PyTorch's generator gives for these seeds.
TEST(CPUGenerator, FirstOutputsOfKnownSeeds) {
  Generator g = make_generator<CPUGeneratorImpl>(42);
  EXPECT_EQ(impl(g)->random(), 1608637542u);
  EXPECT_EQ(impl(g)->random(), 3421126067u);
  EXPECT_EQ(impl(g)->random(), 4083286876u);
  EXPECT_EQ(impl(g)->random(), 787846414u);
  g.set_current_seed(0);
  EXPECT_EQ(impl(g)->random(), 2357136044u);
  EXPECT_EQ(impl(g)->random(), 2546248239u);
  g.set_current_seed(~uint64_t{0});
  EXPECT_EQ(impl(g)->random(), 419326371u);
  EXPECT_EQ(impl(g)->random(), 479346978u);
}

TEST(CPUGenerator, StreamDependsOnTheLowHalfOfTheSeed) {
  Generator a = make_generator<CPUGeneratorImpl>(42);
  Generator b = make_generator<CPUGeneratorImpl>(42 + (uint64_t{1} << 32));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(impl(a)->random(), impl(b)->random());
  EXPECT_EQ(b.current_seed(), 42 + (uint64_t{1} << 32));
}

// The standard's engine is the reference for blocks beyond the first.
TEST(CPUGenerator, AgreesWithTheStandardEngine) {
  for (const uint32_t seed : {0u, 1u, 42u, 5489u, 4294967295u}) {
    std::mt19937 reference(seed);
    mt19937 engine(seed);
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(engine(), reference()) << seed << " " << i;
  }
}

TEST(CPUGenerator, FillEqualsSingleDrawsAtAnyPosition) {
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{623}, size_t{624}, size_t{625}}) {
    for (const size_t n : {size_t{0}, size_t{1}, size_t{5}, size_t{623}, size_t{624}, size_t{1249}, size_t{3000}}) {
      mt19937 a(7);
      mt19937 b(7);
      for (size_t i = 0; i < offset; ++i) {
        a();
        b();
      }
      std::vector<uint32_t> filled(n);
      a.fill(filled.data(), n);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(filled[i], b()) << offset << " " << i;
      EXPECT_EQ(a.left(), b.left());
      EXPECT_EQ(a.next(), b.next());
      ASSERT_EQ(a(), b());
    }
  }
}

TEST(CPUGenerator, Random64TakesTheHighHalfFirst) {
  Generator g = make_generator<CPUGeneratorImpl>(42);
  EXPECT_EQ(impl(g)->random64(), uint64_t{1608637542u} << 32 | 3421126067u);
  EXPECT_EQ(impl(g)->random64() % (uint64_t{1} << 63), 8314211556539077902u);
}

TEST(CPUGenerator, DefaultSeed) {
  Generator g = make_generator<CPUGeneratorImpl>();
  EXPECT_EQ(g.current_seed(), 67280421310721u);
  EXPECT_EQ(detail::createCPUGenerator().current_seed(), 67280421310721u);
  EXPECT_EQ(g.device(), c10::Device("cpu"));
}

template <typename T>
T read(const std::vector<uint8_t>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

TEST(CPUGenerator, StateLayout) {
  Generator g = make_generator<CPUGeneratorImpl>(42);
  std::vector<uint8_t> bytes = state_bytes(g);
  ASSERT_EQ(bytes.size(), 5056u);
  EXPECT_EQ(read<uint64_t>(bytes, 0), 42u);
  EXPECT_EQ(read<int32_t>(bytes, 8), 1);
  EXPECT_EQ(read<int32_t>(bytes, 12), 1);
  EXPECT_EQ(read<uint64_t>(bytes, 16), 0u);
  EXPECT_EQ(read<uint64_t>(bytes, 24), 42u);
  for (int i = 0; i < 4; ++i) impl(g)->random();
  // What randn(1) leaves: four words drawn and the second normal kept.
  constexpr uint64_t kNormal = 0x3fc07cd39b3d4b85u;
  impl(g)->set_next_double_normal_sample(__builtin_bit_cast(double, kNormal));
  bytes = state_bytes(g);
  EXPECT_EQ(read<int32_t>(bytes, 8), 621);
  EXPECT_EQ(read<uint64_t>(bytes, 16), 4u);
  EXPECT_EQ(read<uint64_t>(bytes, 5024), kNormal);
  EXPECT_EQ(bytes[5024], 0x85);
  EXPECT_EQ(bytes[5031], 0x3f);
  EXPECT_EQ(bytes[5040], 1);
  EXPECT_EQ(read<double>(bytes, 5016), 0.0);
  EXPECT_EQ(read<double>(bytes, 5032), 0.0);
}

TEST(CPUGenerator, StateRoundTripsAtEveryPosition) {
  for (const int drawn : {0, 1, 4, 623, 624, 625, 1000}) {
    Generator g = make_generator<CPUGeneratorImpl>(3);
    for (int i = 0; i < drawn; ++i) impl(g)->random();
    impl(g)->set_next_float_normal_sample(1.5f);
    const std::vector<uint8_t> bytes = state_bytes(g);
    Generator h = make_generator<CPUGeneratorImpl>(99);
    impl(h)->set_next_double_normal_sample(2.0);
    set_state_bytes(h, bytes.data(), bytes.size());
    EXPECT_EQ(state_bytes(h), bytes);
    EXPECT_FALSE(impl(h)->next_double_normal_sample().has_value());
    EXPECT_EQ(impl(h)->next_float_normal_sample(), 1.5f);
    EXPECT_EQ(h.current_seed(), 3u);
    for (int i = 0; i < 1300; ++i) ASSERT_EQ(impl(g)->random(), impl(h)->random());
  }
}

TEST(CPUGenerator, OlderStateHoldsPolarCoordinates) {
  Generator g = make_generator<CPUGeneratorImpl>(1);
  std::vector<uint8_t> bytes = state_bytes(g);
  bytes.resize(5048);
  const double x = 0.3;
  const double rho = 1.75;
  std::memcpy(&bytes[5016], &x, 8);
  std::memcpy(&bytes[5032], &rho, 8);
  bytes[5040] = 1;
  set_state_bytes(g, bytes.data(), bytes.size());
  EXPECT_DOUBLE_EQ(*impl(g)->next_double_normal_sample(), rho * std::sin(2.0 * 3.14159265358979323846 * x));
  EXPECT_FALSE(impl(g)->next_float_normal_sample().has_value());
}

TEST(CPUGenerator, BadStatesThrowAndChangeNothing) {
  Generator g = make_generator<CPUGeneratorImpl>(5);
  for (int i = 0; i < 10; ++i) impl(g)->random();
  const std::vector<uint8_t> good = state_bytes(g);
  const auto refuses = [&](size_t at, int32_t value) {
    std::vector<uint8_t> bad = good;
    std::memcpy(&bad[at], &value, 4);
    try {
      set_state_bytes(g, bad.data(), bad.size());
      ADD_FAILURE() << "accepted " << value << " at " << at;
    } catch (const c10::Error& e) {
      EXPECT_EQ(e.msg(), "Invalid mt19937 state");
    }
    EXPECT_EQ(state_bytes(g), good);
  };
  refuses(8, 0);
  refuses(8, -3);
  refuses(8, 625);
  refuses(8, 624);  // ten outputs are gone, so 624 cannot be left
  refuses(12, 0);
  refuses(16, 700);
  refuses(20, 1);
  for (const size_t size : {size_t{0}, size_t{5047}, size_t{5049}, size_t{5057}}) {
    std::vector<uint8_t> bad(size);
    EXPECT_THROW(set_state_bytes(g, bad.data(), size), c10::Error);
  }
  EXPECT_EQ(state_bytes(g), good);
}

TEST(CPUGenerator, SeedingDropsTheKeptNormal) {
  Generator g = make_generator<CPUGeneratorImpl>(5);
  impl(g)->set_next_double_normal_sample(1.0);
  g.set_current_seed(5);
  EXPECT_FALSE(impl(g)->next_double_normal_sample().has_value());
  impl(g)->set_next_double_normal_sample(1.0);
  const uint64_t seed = g.seed();
  EXPECT_FALSE(impl(g)->next_double_normal_sample().has_value());
  EXPECT_EQ(g.current_seed(), seed);
  EXPECT_NE(g.seed(), seed);
}

TEST(CPUGenerator, CloneIsIndependent) {
  Generator g = make_generator<CPUGeneratorImpl>(5);
  impl(g)->random();
  Generator h = g.clone();
  EXPECT_FALSE(g == h);
  EXPECT_EQ(state_bytes(g), state_bytes(h));
  const uint32_t next = impl(g)->random();
  EXPECT_EQ(impl(h)->random(), next);
  Generator same = g;
  EXPECT_TRUE(same == g);
}

TEST(CPUGenerator, DefaultGeneratorIsOne) {
  const Generator& g = detail::getDefaultCPUGenerator();
  manual_seed(42);
  EXPECT_EQ(g.current_seed(), 42u);
  std::lock_guard<std::mutex> lock(g.mutex());
  EXPECT_EQ(impl(g)->random(), 1608637542u);
  EXPECT_EQ(get_generator_or_default<CPUGeneratorImpl>(std::nullopt, g), impl(g));
  Generator other = detail::createCPUGenerator(1);
  EXPECT_EQ(get_generator_or_default<CPUGeneratorImpl>(other, g), impl(other));
}

TEST(Generator, UndefinedOnesThrow) {
  Generator g;
  EXPECT_FALSE(g.defined());
  EXPECT_THROW(g.current_seed(), c10::Error);
  EXPECT_THROW(g.set_current_seed(1), c10::Error);
  EXPECT_THROW(g.clone(), c10::Error);
  EXPECT_THROW(g.mutex(), c10::Error);
  EXPECT_THROW(check_generator<CPUGeneratorImpl>(std::nullopt), c10::Error);
  EXPECT_THROW(check_generator<CPUGeneratorImpl>(g), c10::Error);
  EXPECT_THROW(Generator(c10::intrusive_ptr<c10::GeneratorImpl>()), c10::Error);
}

TEST(CPUGenerator, HasNoOffsetAndKeepsTheStateOfItsOwn) {
  Generator g = make_generator<CPUGeneratorImpl>(3);
  EXPECT_THROW(g.set_offset(4), c10::Error);
  EXPECT_THROW(g.get_offset(), c10::Error);
  EXPECT_THROW(g.graphsafe_get_state(), c10::NotImplementedError);
  EXPECT_TRUE(g.key_set().has(c10::DispatchKey::CPU));
  const auto state = impl(g)->get_state();
  const uint32_t next = impl(g)->random();
  EXPECT_NE(impl(g)->random(), next);
  impl(g)->set_state(*state);
  EXPECT_EQ(impl(g)->random(), next);
}

// A device's generator as a program writes it for libtorch.
struct CountingGenerator final : public c10::GeneratorImpl {
  CountingGenerator() : GeneratorImpl(c10::Device(c10::kMeta), c10::DispatchKeySet(c10::DispatchKey::Meta)) {}
  void set_current_seed(uint64_t seed) override { seed_ = seed; }
  void set_offset(uint64_t offset) override { offset_ = offset; }
  uint64_t get_offset() const override { return offset_; }
  uint64_t current_seed() const override { return seed_; }
  uint64_t seed() override { return seed_ = 1; }
  void set_state(const c10::TensorImpl&) override {}
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return nullptr; }

 private:
  CountingGenerator* clone_impl() const override {
    auto* copy = new CountingGenerator();
    copy->offset_ = offset_;
    return copy;
  }

  uint64_t seed_ = 0;
  uint64_t offset_ = 0;
};

TEST(Generator, OfAnotherDevice) {
  Generator g = make_generator<CountingGenerator>();
  g.set_offset(5);
  Generator h = g.clone();
  g.set_offset(6);
  EXPECT_EQ(h.get_offset(), 5u);
  EXPECT_EQ(h.device(), c10::Device(c10::kMeta));
  EXPECT_EQ(h.getIntrusivePtr().use_count(), 1u);
}

}  // namespace
}  // namespace at
