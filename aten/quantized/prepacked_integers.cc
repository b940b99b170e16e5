#include "aten/quantized/prepacked_integers.h"

#include <utility>

#include "aten/cpu/matrix/integer.h"
#include "aten/ops/dense/dense.h"
#include "aten/quantized/onednn_shapes.h"
#include "c10/core/tensor_impl.h"
#include "c10/util/exception.h"

namespace at::quantized {
namespace {

using Weights = std::shared_ptr<const matrix::IntegerWeights>;

class PrepackedIntegers final : public c10::TensorImpl {
 public:
  PrepackedIntegers(const c10::TensorImpl& dense, int64_t weight_groups, Weights packed)
      : TensorImpl(dense.storage(), dense.dtype(), dense.device(), dense.sizes()),
        weights(std::move(packed)),
        groups(weight_groups),
        packed_version(dense.version()) {}
  c10::intrusive_ptr<c10::TensorImpl> shallow_copy() const override {
    auto copy = c10::make_intrusive<PrepackedIntegers>(*this, groups, weights);
    copy->packed_version = packed_version;
    return copy;
  }
  const char* kind() const override { return "PrepackedIntegers"; }

  Weights weights;
  int64_t groups;
  uint32_t packed_version;
};

void check(const char* op, const Tensor& weight, int64_t groups) {
  check_integer_weight(op, weight, groups);
  TORCH_CHECK(weight.is_cpu(), op, ": expected a weight on the CPU, but got one on ", weight.device());
}

Weights packed(const Tensor& dense, int64_t groups) {
  matrix::Convolution shape;
  shape.dims = static_cast<int>(std::max<int64_t>(1, dense.dim() - 2));
  shape.groups = groups;
  shape.in_channels = dense.size(1) * groups;
  shape.out_channels = dense.size(0);
  for (int64_t i = 2; i < dense.dim(); ++i) shape.kernel[3 - shape.dims + i - 2] = dense.size(i);
  return std::make_shared<const matrix::IntegerWeights>(
      shape, std::shared_ptr<const int8_t>(dense.data_ptr<int8_t>(), [dense](const int8_t*) {}),
      std::vector<int32_t>());
}

}  // namespace

Tensor prepack_integers(const char* op, const Tensor& weight, int64_t groups) {
  check(op, weight, groups);
  // Of its own: from the first element of its memory on.
  const Tensor own = at::clone(native::dense(weight), MemoryFormat::Contiguous);
  return Tensor(c10::make_intrusive<PrepackedIntegers>(*own.unsafeGetTensorImpl(), groups, packed(own, groups)));
}

Weights integer_weights(const char* op, const Tensor& weight, int64_t groups) {
  check(op, weight, groups);
  const auto* kept = dynamic_cast<const PrepackedIntegers*>(weight.unsafeGetTensorImpl());
  if (kept != nullptr && kept->groups == groups && kept->packed_version == kept->version()) return kept->weights;
  return packed(native::dense(weight), groups);
}

bool multiplies_bytes() {
  return matrix::integers_by_onednn();
}

}  // namespace at::quantized
