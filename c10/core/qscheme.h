#pragma once

#include <cstdint>

namespace c10 {

// How the values of a quantized tensor map to real numbers.
enum class QScheme : uint8_t {
  PER_TENSOR_AFFINE = 0,
  PER_CHANNEL_AFFINE = 1,
  PER_TENSOR_SYMMETRIC = 2,
  PER_CHANNEL_SYMMETRIC = 3,
  PER_CHANNEL_AFFINE_FLOAT_QPARAMS = 4,
};

inline constexpr QScheme kPerTensorAffine = QScheme::PER_TENSOR_AFFINE;
inline constexpr QScheme kPerChannelAffine = QScheme::PER_CHANNEL_AFFINE;
inline constexpr QScheme kPerTensorSymmetric = QScheme::PER_TENSOR_SYMMETRIC;
inline constexpr QScheme kPerChannelSymmetric = QScheme::PER_CHANNEL_SYMMETRIC;
inline constexpr QScheme kPerChannelAffineFloatQParams = QScheme::PER_CHANNEL_AFFINE_FLOAT_QPARAMS;

}  // namespace c10
