#pragma once

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"

namespace at::cuda {

/// A tensor that a kernel which wants contiguous memory changes in place: itself, or another that commit() writes back.
class DenseInPlace {
 public:
  /// `reads`: whether what the tensor holds is needed.
  explicit DenseInPlace(const Tensor& self, bool reads = true)
      : self_(self),
        work_(self.is_contiguous() ? self
              : reads              ? at::clone(self, MemoryFormat::Contiguous)
                                   : empty_contiguous(self.sizes(), self.scalar_type(), self.device())) {}
  const Tensor& tensor() const { return work_; }
  void commit() {
    if (work_.is_same(self_)) return;
    at::copy_(self_, work_);
  }

 private:
  Tensor self_, work_;
};

}  // namespace at::cuda
