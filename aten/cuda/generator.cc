#include "aten/cuda/generator.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

#include "aten/cuda/capture.h"
#include "aten/cuda/graph.h"
#include "c10/core/storage.h"
#include "c10/core/tensor_impl.h"
#include "c10/cuda/capture_mode.h"
#include "c10/cuda/device.h"
#include "c10/cuda/registration.h"
#include "c10/cuda/stream.h"
#include "c10/util/exception.h"

namespace at {
namespace {

using c10::DeviceIndex;

constexpr size_t kSeedBytes = sizeof(uint64_t), kStateBytes = 2 * sizeof(uint64_t);

DeviceIndex checked_device(DeviceIndex device) {
  if (device == -1) return c10::cuda::current_device();
  const DeviceIndex count = c10::cuda::device_count_ensure_non_zero();
  TORCH_CHECK(device >= 0 && device < count, "there is no CUDA device ", static_cast<int>(device), " among ",
              static_cast<int>(count));
  return device;
}

uint64_t rounded_up(uint64_t words) {
  TORCH_CHECK(words <= std::numeric_limits<uint64_t>::max() - 3, "a kernel cannot draw ", words, " words a thread");
  return (words + 3) / 4 * 4;
}

void check_offset(uint64_t offset) {
  TORCH_CHECK(offset % 4 == 0, "offset must be a multiple of 4, got ", offset);
}

}  // namespace

// --- the state ---

void CUDAGeneratorState::check_not_captured(const char* call) const {
  TORCH_CHECK(captures_.empty(), "Cannot call ", call, " while a CUDA graph is captured that draws from the generator");
}

CUDAGeneratorState::Values CUDAGeneratorState::values(const char* call) const {
  std::lock_guard lock(mutex_);
  check_not_captured(call);
  return {seed_, offset_};
}

void CUDAGeneratorState::set(Values values, const char* call) {
  std::lock_guard lock(mutex_);
  check_not_captured(call);
  seed_ = values.seed;
  offset_ = values.offset;
}

void CUDAGeneratorState::restart(uint64_t seed) {
  std::lock_guard lock(mutex_);
  if (!captures_.empty() && seed == seed_) return;
  check_not_captured("CUDAGeneratorImpl::set_current_seed with another seed");
  seed_ = seed;
  offset_ = 0;
}

CUDAGeneratorState::Values CUDAGeneratorState::take(uint64_t words) {
  std::lock_guard lock(mutex_);
  const Values taken{seed_, offset_};
  offset_ += words;
  return taken;
}

PhiloxCudaState CUDAGeneratorState::take_in_graph(uint64_t words, unsigned long long id) {
  std::lock_guard lock(mutex_);
  for (Capture& capture : captures_) {
    if (capture.id != id) continue;
    const uint64_t before = capture.words;
    capture.words += words;
    return PhiloxCudaState(capture.memory, capture.memory + 1, before);
  }
  TORCH_CHECK(
      false,
      "a CUDA graph is captured that does not know this generator: call CUDAGraph::register_generator_state before "
      "CUDAGraph::capture_begin");
}

void CUDAGeneratorState::begin_capture(unsigned long long id, int64_t* memory) {
  std::lock_guard lock(mutex_);
  captures_.push_back({id, memory, 0});
}

uint64_t CUDAGeneratorState::end_capture(unsigned long long id) {
  std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(captures_.begin(), captures_.end(), [&](const Capture& capture) { return capture.id == id; });
  if (it == captures_.end()) return 0;
  const uint64_t words = it->words;
  captures_.erase(it);
  return words;
}

// --- the generator ---

CUDAGeneratorImpl::CUDAGeneratorImpl(DeviceIndex device_index)
    : CUDAGeneratorImpl(device_index, c10::make_intrusive<CUDAGeneratorState>()) {}

CUDAGeneratorImpl::CUDAGeneratorImpl(DeviceIndex device_index, c10::intrusive_ptr<CUDAGeneratorState> state)
    : GeneratorImpl(c10::Device(c10::kCUDA, checked_device(device_index)), c10::DispatchKeySet(c10::DispatchKey::CUDA)),
      mutex_(mutex()),
      state_(std::move(state)) {
  TORCH_CHECK(state_.defined(), "CUDAGeneratorImpl: expected a state");
}

void CUDAGeneratorImpl::set_current_seed(uint64_t seed) {
  state_->restart(seed);
  resets_rnn_state_ = true;
}

uint64_t CUDAGeneratorImpl::current_seed() const {
  return state_->values("CUDAGeneratorImpl::current_seed").seed;
}

uint64_t CUDAGeneratorImpl::seed() {
  const uint64_t seed = c10::detail::getNonDeterministicRandom();
  set_current_seed(seed);
  return seed;
}

void CUDAGeneratorImpl::set_philox_offset_per_thread(uint64_t offset) {
  check_offset(offset);
  const uint64_t seed = state_->values("CUDAGeneratorImpl::set_offset").seed;
  state_->set({seed, offset}, "CUDAGeneratorImpl::set_offset");
}

uint64_t CUDAGeneratorImpl::philox_offset_per_thread() const {
  return state_->values("CUDAGeneratorImpl::get_offset").offset;
}

c10::intrusive_ptr<c10::TensorImpl> CUDAGeneratorImpl::get_state() const {
  const CUDAGeneratorState::Values values = state_->values("CUDAGeneratorImpl::get_state");
  auto result = c10::TensorImpl::contiguous(c10::StorageImpl::allocate_cpu(kStateBytes), c10::ScalarType::Byte,
                                            c10::Device(c10::kCPU), static_cast<int64_t>(kStateBytes));
  auto* bytes = static_cast<uint8_t*>(result->data());
  std::memcpy(bytes, &values.seed, kSeedBytes);
  std::memcpy(bytes + kSeedBytes, &values.offset, sizeof(values.offset));
  return result;
}

void CUDAGeneratorImpl::set_state(const c10::TensorImpl& new_state) {
  TORCH_CHECK_TYPE(new_state.layout() == c10::Layout::Strided && new_state.device().is_cpu() &&
                       new_state.dtype() == c10::ScalarType::Byte,
                   "RNG state must be a torch.ByteTensor");
  const int64_t size = new_state.numel();
  TORCH_CHECK(new_state.dim() == 1 && (size == kStateBytes || size == kSeedBytes), "RNG state is wrong size: expected ",
              kStateBytes, " bytes in one dimension, got ", size, " in ", new_state.dim());
  std::array<uint8_t, kStateBytes> bytes{};
  const auto* from = static_cast<const uint8_t*>(new_state.data());
  for (int64_t i = 0; i < size; ++i) bytes[static_cast<size_t>(i)] = from[i * new_state.stride(0)];
  CUDAGeneratorState::Values values{};
  std::memcpy(&values.seed, bytes.data(), kSeedBytes);
  std::memcpy(&values.offset, bytes.data() + kSeedBytes, sizeof(values.offset));
  check_offset(values.offset);
  state_->set(values, "CUDAGeneratorImpl::set_state");
}

void CUDAGeneratorImpl::graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& new_state) {
  TORCH_CHECK(new_state.defined() && new_state->device().type() == device_type(),
              "graphsafe_set_state: expected a generator of a CUDA device");
  const auto& other = static_cast<const CUDAGeneratorImpl&>(*new_state);
  TORCH_CHECK(other.device() == device(), "graphsafe_set_state: expected a generator of ", device(), ", got one of ",
              other.device());
  state_ = other.state_;
}

c10::intrusive_ptr<c10::GeneratorImpl> CUDAGeneratorImpl::graphsafe_get_state() const {
  return c10::make_intrusive<CUDAGeneratorImpl>(device().index(), state_);
}

PhiloxCudaState CUDAGeneratorImpl::philox_cuda_state(uint64_t increment) {
  const uint64_t words = rounded_up(increment);
  const auto capture = c10::cuda::capture_id(c10::cuda::getCurrentCUDAStream(device().index()));
  if (capture.has_value()) return state_->take_in_graph(words, *capture);
  const CUDAGeneratorState::Values taken = state_->take(words);
  return PhiloxCudaState(taken.seed, taken.offset);
}

std::pair<uint64_t, uint64_t> CUDAGeneratorImpl::philox_engine_inputs(uint64_t increment) {
  const uint64_t words = rounded_up(increment);
  cuda::assertNotCapturing("Cannot call CUDAGeneratorImpl::philox_engine_inputs");
  const CUDAGeneratorState::Values taken = state_->take(words);
  return {taken.seed, taken.offset};
}

void CUDAGeneratorImpl::register_graph(cuda::CUDAGraph* graph) {
  graph->register_generator_state(state_, device().index());
}

void CUDAGeneratorImpl::unregister_graph(cuda::CUDAGraph* graph) {
  graph->unregister_generator_state(state_);
}

CUDAGeneratorImpl* CUDAGeneratorImpl::clone_impl() const {
  const CUDAGeneratorState::Values values = state_->values("CUDAGeneratorImpl::clone");
  return new CUDAGeneratorImpl(device().index(), c10::make_intrusive<CUDAGeneratorState>(values.seed, values.offset));
}

// --- those of the devices ---

namespace cuda::detail {
namespace {

struct Defaults {
  std::mutex mutex;
  std::array<std::unique_ptr<Generator>, C10_COMPILE_TIME_MAX_GPUS>
      generators;  // made when they are asked for, and never destroyed
};

Defaults& defaults() {
  static Defaults& made = []() -> Defaults& {
    static Defaults& all = *new Defaults;
    // A forked child finds them whole, and not locked by a thread that it does not have.
    const auto unlock = [] { all.mutex.unlock(); };
    pthread_atfork([] { all.mutex.lock(); }, unlock, unlock);
    return all;
  }();
  return made;
}

[[maybe_unused]] const bool g_registered = [] {
  c10::cuda::register_generators({.default_generator = getDefaultCUDAGenerator, .new_generator = createCUDAGenerator});
  return true;
}();

}  // namespace

const Generator& getDefaultCUDAGenerator(DeviceIndex device_index) {
  const DeviceIndex device = checked_device(device_index);
  Defaults& all = defaults();
  std::lock_guard lock(all.mutex);
  std::unique_ptr<Generator>& generator = all.generators[static_cast<size_t>(device)];
  if (generator == nullptr) {
    auto made = std::make_unique<Generator>(createCUDAGenerator(device));
    made->seed();
    generator = std::move(made);
  }
  return *generator;
}

Generator createCUDAGenerator(DeviceIndex device_index) {
  return make_generator<CUDAGeneratorImpl>(device_index);
}

}  // namespace cuda::detail
}  // namespace at
