// segment_reduce, embedding_renorm_.
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cuda/index/dense.h"
#include "aten/cuda/index/rows_call.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/index/plan.h"
#include "aten/ops/view/ops.h"

namespace at::native {

// The bounds are checked on the host, which waits for them.
void segment_reduce_cuda(const Tensor& data, std::string_view reduce, const std::optional<Tensor>& lengths,
                         const std::optional<Tensor>&, const std::optional<Tensor>& offsets, int64_t axis, bool unsafe,
                         const std::optional<Scalar>& initial, Tensor& out) {
  using cuda::SegmentReduction;
  axis = maybe_wrap_dim(axis, data.dim());
  const DimSplit s = split_at_dim(data.sizes(), axis);
  const int64_t segments = out.size(axis);
  const std::vector<int64_t> bounds = segment_bounds(lengths, offsets, s.outer, segments, s.size, unsafe);
  if (out.numel() == 0) return;
  const Tensor on_host = empty_contiguous({static_cast<int64_t>(bounds.size())}, ScalarType::Long);
  std::memcpy(on_host.mutable_data_ptr(), bounds.data(), bounds.size() * sizeof(int64_t));
  const Tensor on_device = at::to(on_host, data.device()), x = dense(data);
  cuda::DenseInPlace work(out, /*reads=*/false);
  cuda::SegmentCall call{};
  call.from = static_cast<const char*>(x.const_data_ptr());
  call.to = static_cast<char*>(work.tensor().mutable_data_ptr());
  call.dtype = data.scalar_type();
  call.item = static_cast<int64_t>(data.itemsize());
  call.rows = s.outer;
  call.size = s.size;
  call.segments = segments;
  call.inner = s.inner;
  call.bounds = static_cast<const int64_t*>(on_device.const_data_ptr());
  call.reduction = reduce == "sum"    ? SegmentReduction::kSum
                   : reduce == "mean" ? SegmentReduction::kMean
                   : reduce == "max"  ? SegmentReduction::kMax
                   : reduce == "min"  ? SegmentReduction::kMin
                                      : SegmentReduction::kProd;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  call.start = initial.has_value() ? initial->toDouble()
               : reduce == "max"   ? -kInfinity
               : reduce == "min"   ? kInfinity
               : reduce == "prod"  ? 1
                                   : 0;
  call.has_initial = initial.has_value();
  cuda::launch_segment_reduce(call);
  work.commit();
}

Tensor& embedding_renorm_cuda_(Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  embedding_renorm_meta_(self, indices, max_norm, norm_type);
  TORCH_CHECK_NOT_IMPLEMENTED(isFloatingType(self.scalar_type()), "\"embedding_renorm_\" not implemented for '",
                              self.scalar_type(), "'");
  if (self.numel() == 0 || indices.numel() == 0) return self;
  const Tensor x = dense(self), flat = at::reshape(dense(indices, ScalarType::Long), {indices.numel()});
  const Tensor rows = empty_contiguous({flat.numel(), self.size(1)}, self.scalar_type(), self.device());
  cuda::RenormCall call{};
  call.from = static_cast<const char*>(x.const_data_ptr());
  call.to = static_cast<char*>(rows.mutable_data_ptr());
  call.dtype = self.scalar_type();
  call.item = static_cast<int64_t>(self.itemsize());
  call.n = flat.numel();
  call.rows = self.size(0);
  call.width = self.size(1);
  call.indices = static_cast<const int64_t*>(flat.const_data_ptr());
  call.max_norm = max_norm;
  call.norm_type = norm_type;
  cuda::launch_renorm(call);
  // An index that stands twice gives the same row twice.
  index_copy_cuda_(self, 0, flat, rows);
  return self;
}

}  // namespace at::native
