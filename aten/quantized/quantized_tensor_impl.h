#pragma once

#include <memory>

#include "aten/core/tensor.h"
#include "c10/core/qscheme.h"
#include "c10/core/tensor_impl.h"

namespace at {

/// What the integers of a quantized tensor stand for: q is scale * (q - zero_point), with one pair for all of them
/// (kPerTensorAffine) or one for each index of dimension `axis` (kPerChannelAffine: scales are double, zero points
/// int64; kPerChannelAffineFloatQParams: both are float).
struct Quantizer {
  QScheme scheme = kPerTensorAffine;
  double scale = 1;
  int64_t zero_point = 0;
  Tensor scales;
  Tensor zero_points;
  int64_t axis = 0;

  bool per_tensor() const { return scheme == kPerTensorAffine; }
};
using QuantizerPtr = std::shared_ptr<const Quantizer>;

/// A tensor of the dtypes quint8, qint8 and qint32, or quint4x2 and quint2x4: strided memory of integers, and a
/// quantizer. Its views have the quantizer too. Quantized tensors are never differentiable.
class QTensorImpl final : public c10::TensorImpl {
 public:
  QTensorImpl(intrusive_ptr<StorageImpl> storage, ScalarType dtype, Device device, IntArrayRef sizes,
              IntArrayRef strides, int64_t storage_offset, QuantizerPtr quantizer);

  const Quantizer& quantizer() const { return *quantizer_; }
  const QuantizerPtr& shared_quantizer() const { return quantizer_; }
  void set_quantizer(QuantizerPtr quantizer) { quantizer_ = std::move(quantizer); }

  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override;
  void shallow_copy_from(const c10::TensorImpl& other) override;
  const char* kind() const override { return "QTensorImpl"; }

 private:
  QuantizerPtr quantizer_;
};

namespace quantized {

/// The tensor's class. Throws c10::Error "<op>: expected a quantized tensor, but got a Float one" for another.
QTensorImpl& impl_of(const char* op, const Tensor& t);

/// The dtype of the integers: quint8 gives Byte, qint8 Char, qint32 Int. Throws c10::Error for other dtypes.
ScalarType integers_of(const char* op, ScalarType quantized);
/// The other way round.
ScalarType quantized_of(const char* op, ScalarType integers);

/// Several integers share a byte in QUInt4x2 and QUInt2x4, the first in its lowest bits; all of a tensor follow each
/// other, whatever its sizes.
constexpr int64_t elements_per_byte(ScalarType quantized) {
  return quantized == kQUInt4x2 ? 2 : quantized == kQUInt2x4 ? 4 : 1;
}

/// The integers as a dense tensor over the memory of `t`.
Tensor integers(const char* op, const Tensor& t);
/// A quantized tensor over the memory of a tensor of integers.
Tensor make_quantized(const Tensor& integers, QuantizerPtr quantizer);

}  // namespace quantized
}  // namespace at
