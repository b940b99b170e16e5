#pragma once
// Checks and stand-ins that the index family's kernels share.

#include "aten/core/overlap.h"
#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/ops/dense/dense.h"

namespace at::native {

inline DimVector sizes_of(const Tensor& t) { return DimVector(t.sizes().begin(), t.sizes().end()); }
inline TensorSpec spec_like(const Tensor& t) { return {sizes_of(t), {}, t.scalar_type(), t.device()}; }

// `index` as a dense int64 tensor. Throws IndexError for another dtype than int64 or int32.
Tensor dense_index(const char* op, const Tensor& index);

// Throws IndexError "index 5 is out of bounds for dimension 0 with size 3" if an element is outside [0, size), or, with
// `negative`, [-size, size). Any layout.
void check_index_range(const Tensor& index, int64_t dim, int64_t size, bool negative);
// An element outside [0, size), if there is one.
std::optional<int64_t> index_outside(const Tensor& index, int64_t size);
// The same with the text "index out of range in self".
void check_index_in_self(const Tensor& index, int64_t size);

// The bytes of a scalar as an element of a type. Throws ValueError where the type does not hold it.
struct ScalarBytes {
  alignas(16) unsigned char bytes[16];
};
ScalarBytes scalar_bytes(const Scalar& value, ScalarType type);

// `other` or, where it shares memory with `self`, a copy.
Tensor apart_from(const Tensor& self, const Tensor& other);

// A tensor that is changed in place by a kernel that wants dense memory: itself, or a copy that commit() writes back.
class DenseInPlace {
 public:
  explicit DenseInPlace(const Tensor& self) : self_(self), work_(dense(self)) {}
  const Tensor& tensor() const { return work_; }
  void commit() {
    if (!work_.is_same(self_)) {
      Tensor target = self_;
      at::copy_(target, work_);
    }
  }

 private:
  const Tensor& self_;
  Tensor work_;
};

}  // namespace at::native
