// The generators of CUDA devices: Philox, whose whole state is a seed and an offset. Kernels take a part of its words
// each:
//
//   const at::Generator& standard = at::cuda::detail::getDefaultCUDAGenerator();
//   auto* generator = at::get_generator_or_default<at::CUDAGeneratorImpl>(given, standard);
//   at::PhiloxCudaState random;
//   {
//     std::lock_guard<std::mutex> lock(generator->mutex_);
//     random = generator->philox_cuda_state(words_per_thread);
//   }
//   // in the kernel: auto [seed, offset] = at::cuda::philox::unpack(random);
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "aten/cuda/philox_state.h"
#include "c10/core/generator.h"

namespace at {

namespace cuda {
struct CUDAGraph;
}

/// The seed and the offset, which generators may share. Every function may be called from any thread. While a graph is
/// captured that draws from it, seed and offset cannot be read or changed: these functions throw c10::Error then.
class CUDAGeneratorState : public c10::intrusive_ptr_target {
 public:
  explicit CUDAGeneratorState(uint64_t seed = c10::default_rng_seed_val, uint64_t offset = 0)
      : seed_(seed), offset_(offset) {}

  struct Values {
    uint64_t seed;
    uint64_t offset;
  };
  /// `call` names the generator's function in errors.
  Values values(const char* call) const;
  void set(Values values, const char* call);
  /// Offset 0; the seed that it has already may be set while a graph is captured, and changes nothing then.
  void restart(uint64_t seed);

  /// The next `words`, a multiple of 4, of each thread.
  Values take(uint64_t words);
  /// The same for work of the capture `id`; throws c10::Error where the graph does not know this state.
  PhiloxCudaState take_in_graph(uint64_t words, unsigned long long id);

  /// From now on until end_capture, what the capture draws is counted; its kernels read seed and offset from `memory`,
  /// two numbers.
  void begin_capture(unsigned long long id, int64_t* memory);
  /// The words that it has drawn.
  uint64_t end_capture(unsigned long long id);

 private:
  struct Capture {
    unsigned long long id;
    int64_t* memory;
    uint64_t words;
  };
  void check_not_captured(const char* call) const;

  mutable std::mutex mutex_;
  uint64_t seed_, offset_;
  std::vector<Capture> captures_;
};

struct CUDAGeneratorImpl final : public c10::GeneratorImpl {
  /// -1 is the current device.
  explicit CUDAGeneratorImpl(c10::DeviceIndex device_index = -1);
  CUDAGeneratorImpl(c10::DeviceIndex device_index, c10::intrusive_ptr<CUDAGeneratorState> state);
  ~CUDAGeneratorImpl() override = default;

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  /// A number of words that each thread has drawn, a multiple of 4.
  void set_offset(uint64_t offset) override { set_philox_offset_per_thread(offset); }
  uint64_t get_offset() const override { return philox_offset_per_thread(); }
  void set_philox_offset_per_thread(uint64_t offset);
  uint64_t philox_offset_per_thread() const;
  /// 16 bytes on the CPU, seed and offset; of the seed alone 8, for an offset of 0. Throws c10::TypeError for another
  /// kind of tensor.
  void set_state(const c10::TensorImpl& new_state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  /// Shares the other's state from now on, also while a graph is captured.
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& new_state) override;
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override;

  /// The next `increment` words, rounded up to a multiple of 4, of each thread, for kernels put on the current stream;
  /// in the stream's graph where that is captured. Throws c10::Error where the graph does not know the generator
  /// (CUDAGraph::register_generator_state). The caller holds mutex_.
  PhiloxCudaState philox_cuda_state(uint64_t increment);
  /// {seed, offset} of the same, as numbers, which no graph can have: throws c10::Error while the current stream is
  /// captured.
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment);

  void register_graph(cuda::CUDAGraph* graph);
  void unregister_graph(cuda::CUDAGraph* graph);
  const c10::intrusive_ptr<CUDAGeneratorState>& state() const { return state_; }

  /// Whether this is the first call: libraries that draw by themselves start again then.
  bool reset_rnn_state() { return std::exchange(resets_rnn_state_, false); }

  static c10::DeviceType device_type() { return c10::DeviceType::CUDA; }

  /// The generator's mutex(), by libtorch's name.
  std::mutex& mutex_;

 private:
  CUDAGeneratorImpl* clone_impl() const override;

  c10::intrusive_ptr<CUDAGeneratorState> state_;
  bool resets_rnn_state_ = true;
};

namespace cuda::detail {

/// The generator that operators use where none is given; seeded by the operating system at first use. -1 is the current
/// device.
const Generator& getDefaultCUDAGenerator(c10::DeviceIndex device_index = -1);
/// A new one with the default seed.
Generator createCUDAGenerator(c10::DeviceIndex device_index = -1);

}  // namespace cuda::detail
}  // namespace at
