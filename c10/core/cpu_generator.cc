#include "c10/core/cpu_generator.h"

#include <pthread.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "c10/core/tensor_impl.h"

namespace at {
namespace {

constexpr int kShift = 397;

constexpr uint32_t twist(uint32_t upper, uint32_t lower) {
  const uint32_t y = (upper & 0x80000000u) | (lower & 0x7fffffffu);
  return (y >> 1) ^ ((0u - (lower & 1u)) & 0x9908b0dfu);
}

// What the state's bytes hold, in order; the machine is little-endian, as the format is.
struct StateBytes {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[mt19937::kWords];
  double normal_x;
  double normal_y;
  double normal_rho;
  int32_t normal_is_valid;
  uint32_t padding;
};
struct FloatCache {
  float value;
  uint8_t is_valid;
  uint8_t padding[3];
};
static_assert(sizeof(StateBytes) == 5048 && sizeof(FloatCache) == 8);

}  // namespace

void mt19937::reseed(uint64_t seed) {
  seed_ = seed;
  state_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  left_ = 1;
  next_ = 0;
}

// Word i needs words i + 1 and i + 397 (mod 624) only, so each loop but for the last word has no carried dependency
// nearer than 227 words.
void mt19937::next_block() {
  uint32_t* s = state_.data();
  for (int i = 0; i < kWords - kShift; ++i) s[i] = s[i + kShift] ^ twist(s[i], s[i + 1]);
  for (int begin = kWords - kShift; begin < kWords - 1; begin += kWords - kShift) {
    const int end = begin + (kWords - kShift) < kWords - 1 ? begin + (kWords - kShift) : kWords - 1;
    // At most 227 words, read 227 words behind where they are written.
    const uint32_t* C10_RESTRICT source = s + begin + kShift - kWords;
    uint32_t* C10_RESTRICT target = s + begin;
    for (int i = 0; i < end - begin; ++i) target[i] = source[i] ^ twist(target[i], target[i + 1]);
  }
  s[kWords - 1] = s[kShift - 1] ^ twist(s[kWords - 1], s[0]);
  left_ = kWords;
  next_ = 0;
}

void mt19937::fill(uint32_t* out, size_t n) {
  while (n != 0) {
    // left counts the block's remaining words plus one.
    size_t have = static_cast<size_t>(left_) - 1;
    if (have == 0) {
      next_block();
      left_ = kWords + 1;
      have = kWords;
    }
    const size_t take = have < n ? have : n;
    const uint32_t* from = state_.data() + next_;
    for (size_t i = 0; i < take; ++i) out[i] = temper(from[i]);
    next_ += static_cast<uint32_t>(take);
    left_ -= static_cast<int32_t>(take);
    out += take;
    n -= take;
  }
}

bool mt19937::restore(uint64_t seed, int32_t left, uint64_t next, const std::array<uint32_t, kWords>& words) {
  if (left < 1 || left > kWords || next > kWords) return false;
  // Reading goes on at `next` until left runs out: what remains must lie inside the block.
  if (left > 1 && next + static_cast<uint64_t>(left) - 1 > kWords) return false;
  seed_ = seed;
  left_ = left;
  next_ = static_cast<uint32_t>(next);
  state_ = words;
  return true;
}

CPUGeneratorImpl::CPUGeneratorImpl(uint64_t seed) : GeneratorImpl(c10::Device(c10::kCPU), c10::DispatchKeySet(c10::DispatchKey::CPU)), engine_(seed) {}

void CPUGeneratorImpl::set_current_seed(uint64_t seed) {
  next_double_normal_.reset();
  next_float_normal_.reset();
  engine_.reseed(seed);
}

uint64_t CPUGeneratorImpl::seed() {
  const uint64_t seed = c10::detail::getNonDeterministicRandom();
  set_current_seed(seed);
  return seed;
}

void CPUGeneratorImpl::set_offset(uint64_t) {
  TORCH_CHECK(false, "CPU Generator does not use offset");
}

uint64_t CPUGeneratorImpl::get_offset() const {
  TORCH_CHECK(false, "CPU Generator does not use offset");
  __builtin_unreachable();
}

c10::intrusive_ptr<c10::TensorImpl> CPUGeneratorImpl::get_state() const {
  StateBytes state{};
  state.seed = engine_.seed();
  state.left = engine_.left();
  state.seeded = 1;
  state.next = engine_.next();
  for (int i = 0; i < mt19937::kWords; ++i) state.words[i] = engine_.words()[static_cast<size_t>(i)];
  state.normal_y = next_double_normal_.value_or(0.0);
  state.normal_is_valid = next_double_normal_.has_value();
  FloatCache cache{};
  cache.value = next_float_normal_.value_or(0.0f);
  cache.is_valid = next_float_normal_.has_value();
  constexpr int64_t kBytes = sizeof(state) + sizeof(cache);
  auto result = c10::TensorImpl::contiguous(c10::StorageImpl::allocate_cpu(kBytes), c10::ScalarType::Byte, device_, kBytes);
  auto* bytes = static_cast<uint8_t*>(result->data());
  std::memcpy(bytes, &state, sizeof(state));
  std::memcpy(bytes + sizeof(state), &cache, sizeof(cache));
  return result;
}

void CPUGeneratorImpl::set_state(const c10::TensorImpl& new_state) {
  TORCH_CHECK_TYPE(new_state.layout() == c10::Layout::Strided && new_state.device().is_cpu() &&
                       new_state.dtype() == c10::ScalarType::Byte,
                   "RNG state must be a torch.ByteTensor");
  TORCH_CHECK_TYPE(new_state.dim() == 1, "RNG state must be a 1-D torch.ByteTensor, but got ", new_state.dim(), " dimensions");
  // A few thousand bytes: copied one by one, they may lie anywhere.
  std::vector<uint8_t> bytes(static_cast<size_t>(new_state.numel()));
  const auto* from = static_cast<const uint8_t*>(new_state.data());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = from[static_cast<int64_t>(i) * new_state.stride(0)];
  restore(bytes.data(), bytes.size());
}

void CPUGeneratorImpl::restore(const uint8_t* data, size_t size) {
  constexpr size_t kFull = sizeof(StateBytes) + sizeof(FloatCache);
  TORCH_CHECK(size == kFull || size == sizeof(StateBytes), "Expected a CPUGeneratorImplState of size ",
              kFull, " but found the input RNG state size to be ", size);
  StateBytes state;
  std::memcpy(&state, data, sizeof(state));
  std::array<uint32_t, mt19937::kWords> words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(state.words[i]);
  mt19937 engine;
  TORCH_CHECK(state.seeded == 1 && engine.restore(state.seed, state.left, state.next, words), "Invalid mt19937 state");
  std::optional<double> normal;
  std::optional<float> float_normal;
  if (size == kFull) {
    FloatCache cache;
    std::memcpy(&cache, data + sizeof(state), sizeof(cache));
    if (state.normal_is_valid != 0) normal = state.normal_y;
    if (cache.is_valid != 0) float_normal = cache.value;
  } else if (state.normal_is_valid != 0) {
    // The older form keeps the pair's polar coordinates.
    constexpr double kTwoPi = 6.283185307179586476925286766559;
    normal = state.normal_rho * __builtin_sin(kTwoPi * state.normal_x);
  }
  engine_ = engine;
  next_double_normal_ = normal;
  next_float_normal_ = float_normal;
}

CPUGeneratorImpl* CPUGeneratorImpl::clone_impl() const {
  auto* copy = new CPUGeneratorImpl();
  copy->engine_ = engine_;
  copy->next_double_normal_ = next_double_normal_;
  copy->next_float_normal_ = next_float_normal_;
  return copy;
}

namespace detail {

const Generator& getDefaultCPUGenerator() {
  // Never destroyed: operators may run while other globals are.
  static const Generator& generator = []() -> const Generator& {
    static const Generator& made = *new Generator(createCPUGenerator(c10::detail::getNonDeterministicRandom()));
    // A forked child finds it whole, and not locked by a thread that it does not have.
    const auto unlock = [] { made.mutex().unlock(); };
    pthread_atfork([] { made.mutex().lock(); }, unlock, unlock);
    return made;
  }();
  return generator;
}

Generator createCPUGenerator(uint64_t seed) {
  return make_generator<CPUGeneratorImpl>(seed);
}

}  // namespace detail

}  // namespace at
