#pragma once

#include <cstdint>
#include <memory>

#include "aten/cpu/matrix/convolution.h"

#if KINDLING_HAVE_ONEDNN
namespace at::matrix::internal {

/// Weights in the layouts that oneDNN chooses, each made when it is first asked for.
class OneDnnIntegerWeights {
 public:
  /// `weight` as IntegerWeights has it.
  explicit OneDnnIntegerWeights(std::shared_ptr<const int8_t> weight);
  ~OneDnnIntegerWeights();

  /// Writes sums, [rows, out_channels] of a window of one place, or else [batch, places..., out_channels], from
  /// `threads` threads, which the caller leases. False where oneDNN has no such primitive.
  bool multiply(const Convolution& c, int64_t rows, const uint8_t* input, int32_t* sums, int threads);
  /// Padding is a byte of 0.
  bool convolve(const Convolution& c, const uint8_t* input, int32_t* sums, int threads);

 private:
  struct Layouts;
  std::unique_ptr<Layouts> layouts_;
};

}  // namespace at::matrix::internal
#endif
