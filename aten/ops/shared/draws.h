#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "aten/core/tensor.h"
#include "aten/cpu/cast.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/strided_loop.h"
#include "aten/cpu/support/alignment.h"
#include "c10/core/cpu_generator.h"

// Drawing from the CPU generator into tensors. What each distribution draws, and in which order, is fixed: equal seeds give
// PyTorch's numbers.

namespace at::native::random {

/// Throws NotImplementedError for a dtype that draws of `op` do not have, and where two elements of `self` share a place.
void check_target(const char* op, const Tensor& self);

/// `out` with the size `size`, for the out= forms: numbers are drawn into its own memory.
Tensor& sized(const char* op, IntArrayRef size, Tensor& out);

/// The generator of a call, locked for its duration.
class Draws {
 public:
  explicit Draws(const std::optional<Generator>& generator)
      : impl_(get_generator_or_default<CPUGeneratorImpl>(generator, at::detail::getDefaultCPUGenerator())),
        lock_(impl_->mutex()) {}

  CPUGeneratorImpl& generator() { return *impl_; }
  uint32_t word() { return impl_->random(); }
  uint64_t word64() { return impl_->random64(); }
  void words(uint32_t* out, int64_t n) { impl_->random_fill(out, static_cast<size_t>(n)); }
  /// 53 bits in [0, 1).
  double uniform() { return static_cast<double>(impl_->random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  /// The next n of these, as n calls give them; several times faster.
  void uniforms(double* out, int64_t n);
  /// A standard normal number: of each pair the second is kept for the next call.
  double normal();

 private:
  CPUGeneratorImpl* impl_;
  std::lock_guard<std::mutex> lock_;
};

/// What Draws::uniform() gives, drawn ahead. The generator stands after the last number that was taken when this is
/// destroyed; until then nothing else may draw.
class UniformStream {
 public:
  explicit UniformStream(Draws& draws) : draws_(draws), before_(draws.generator().engine()) {}
  UniformStream(const UniformStream&) = delete;
  UniformStream& operator=(const UniformStream&) = delete;
  ~UniformStream();
  double next() {
    if (C10_UNLIKELY(taken_ == kAhead)) refill();
    return numbers_[taken_++];
  }

 private:
  static constexpr int64_t kAhead = 256;
  void refill();

  Draws& draws_;
  mt19937 before_;
  int64_t taken_ = kAhead;
  double numbers_[kAhead];
};

/// Where an in-place fill writes: complex tensors as real ones with one more dimension.
struct FillTarget {
  explicit FillTarget(const Tensor& self);
  cpu::Operand operand;
  ScalarType dtype;
  DimVector sizes, strides;
};

/// Calls produce(Source* out, n) for consecutive pieces and writes the numbers into `self` in the order of its memory,
/// converted from Source.
template <class Source, class Produce>
void fill_in_memory_order(const Tensor& self, const Produce& produce) {
  if (self.numel() == 0) return;
  constexpr int64_t kPiece = 512;
  const FillTarget target(self);
  const cpu::LoopNest nest(&target.operand, 1);
  const cpu::Conversion conversion = cpu::find_conversion(target.dtype, CppTypeToScalarType<Source>::value);
  const int64_t item = target.operand.item_size;
  cpu::LoopCursor cursor(nest, 0);
  for (int64_t left = nest.numel(); left > 0;) {
    const int64_t run = cursor.run_length() < kPiece ? cursor.run_length() : kPiece;
    Source numbers[kPiece];
    alignas(16) char converted[kPiece * 16];
    produce(numbers, run);
    if (nest.byte_stride(0, 0) == item && cpu::is_aligned(cursor.data(0), item)) {
      cpu::convert(conversion, cursor.data(0), numbers, run);
    } else {
      cpu::convert(conversion, converted, numbers, run);
      cpu::scatter_run(cursor.data(0), nest.byte_stride(0, 0), converted, run, item);
    }
    left -= run;
    if (left > 0) cursor.advance(run);
  }
}

/// The same, one number at a time.
template <class Source, class Draw>
void fill_each_in_memory_order(const Tensor& self, const Draw& draw) {
  fill_in_memory_order<Source>(self, [&](Source* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = draw();
  });
}

}  // namespace at::native::random
