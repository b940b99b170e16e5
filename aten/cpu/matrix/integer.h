#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aten/cpu/matrix/convolution.h"
#include "aten/cpu/matrix/gemm.h"

// Convolutions and matrix products of bytes with signed bytes. Sums are exact in 32 bits, beyond which they wrap:
// oneDNN computes them where the processor adds products of bytes without saturation between (AVX-512 VNNI), else
// products of 16 bits. What becomes of a sum is done while it is in the cache.

namespace at::matrix {

/// What becomes of the sums of a channel, by arrays of one number a channel.
struct IntegerResult {
  enum class To : uint8_t {
    kSums,      // int32
    kNumbers,   // float: sum * factor + after, rounded once where the processor has a fused multiply-add
    kIntegers,  // uint8: round(((sum + before * unit) * scale * factor + after + add) * inverse + shift) + zero_point,
                // halves to even, within [least, most]; each operation is rounded to float, the first two together as
                // above
  };
  To to = To::kSums;
  void* data = nullptr;           // [batch, places..., channels], dense
  const float* before = nullptr;  // of integers; null: nothing is added
  const float* factor = nullptr;
  const float* after = nullptr;  // of integers: null leaves out inverse and shift, too
  /// Of integers with `after` and without `before`: the bytes of another tensor, which lie as `data`. What is added is
  /// (byte - add_zero_point) * add_scale; null: nothing.
  const uint8_t* add = nullptr;
  float add_scale = 1;
  int32_t add_zero_point = 0;
  float unit = 1, scale = 1, inverse = 1, shift = 0;
  int32_t zero_point = 0, least = 0, most = 255;
};

/// Weights laid out for the processor at the first convolution, once for all that follow. Safe to use from several
/// threads.
class IntegerWeights {
 public:
  /// `weight` is [out_channels, in_channels / groups, kernel...] of `shape`, dense; only those sizes of it and its
  /// groups are read. From each weight of a channel its zero point is taken, which is a signed byte, too: one for all,
  /// or one a channel.
  IntegerWeights(const Convolution& shape, std::shared_ptr<const int8_t> weight, std::vector<int32_t> zero_points);
  ~IntegerWeights();
  IntegerWeights(const IntegerWeights&) = delete;
  IntegerWeights& operator=(const IntegerWeights&) = delete;

  /// The convolution of input - zero_point, which is [batch, places..., in_channels], dense. The zero point is a byte,
  /// 0 to 255: it stands where padding is. `spread` (three numbers, or null) puts the places of the input so far apart,
  /// with zero points between; that is what transposed convolutions convolve. Padding may be negative. Of `c` type,
  /// plain_sums, add, relu and channels_last are not read.
  void convolve(const Convolution& c, const uint8_t* input, int32_t zero_point, const IntegerResult& result,
                const int64_t* spread = nullptr) const;

  /// result [rows, out_channels] from input [rows, in_channels] where the window is one place and there is one group.
  void multiply(int64_t rows, const uint8_t* input, int32_t zero_point, const IntegerResult& result) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// c[m, n], dense, = a[m, k] b[k, n] of signed bytes, with sums in 32 bits, beyond which they wrap. False, and nothing
/// is done, where oneDNN has no such product here or a matrix has no dense rows or columns.
bool multiply_signed_bytes(int64_t m, int64_t n, int64_t k, const Operand& a, const Operand& b, int32_t* c);

/// Whether oneDNN computes the sums here.
bool integers_by_onednn();

}  // namespace at::matrix
