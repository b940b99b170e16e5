#include "aten/cuda/index/accumulate.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "aten/core/empty.h"
#include "aten/cpu/pointwise.h"
#include "aten/cuda/cub.h"
#include "aten/cuda/index/accumulate_call.h"
#include "aten/ops/copy/ops.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;

ScalarType compute_type_of(ScalarType dtype) {
  if (dtype == ScalarType::Double || dtype == ScalarType::ComplexDouble) return dtype;
  if (isComplexType(dtype)) return ScalarType::ComplexFloat;
  return isIntegralType(dtype, /*includeBool=*/true) ? ScalarType::Long : ScalarType::Float;
}

template <class Key, class Index>
void sort(const Tensor& places, const Tensor& numbers, const Tensor& keys, const Tensor& origins, int bits) {
  cub::with_scratch([&](void* scratch, size_t& bytes, cudaStream_t stream) {
    return cub::sort_pairs(scratch, bytes, static_cast<const Key*>(places.const_data_ptr()),
                           static_cast<Key*>(keys.mutable_data_ptr()),
                           static_cast<const Index*>(numbers.const_data_ptr()),
                           static_cast<Index*>(origins.mutable_data_ptr()), places.numel(), bits, stream);
  });
}

}  // namespace

void accumulate(const Accumulation& a) {
  const int64_t n = a.places.numel();
  if (n == 0 || a.to.numel() == 0) return;
  TORCH_CHECK(a.inner <= kMostElements, a.name,
              ": slices of more than 2^31 - 1 elements are not supported on CUDA tensors");
  const bool wide = a.rows > kMostElements || n > kMostElements;
  const ScalarType index_type = wide ? ScalarType::Long : ScalarType::Int;
  const Tensor places = a.places.scalar_type() == index_type ? a.places : at::to(a.places, index_type);
  const Tensor numbers = empty_contiguous({n}, index_type, a.to.device());
  launch_count_up(numbers.mutable_data_ptr(), wide, n);
  const Tensor keys = empty_contiguous({n}, index_type, a.to.device()),
               origins = empty_contiguous({n}, index_type, a.to.device());
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(a.rows - 1))));
  if (wide)
    sort<uint64_t, int64_t>(places, numbers, keys, origins, bits);
  else
    sort<uint32_t, int32_t>(places, numbers, keys, origins, bits);

  const ScalarType compute = compute_type_of(a.to.scalar_type());
  AccumulateCall call{};
  call.name = a.name;
  call.reduction = a.reduction;
  call.dtype = a.to.scalar_type();
  call.to = static_cast<char*>(a.to.mutable_data_ptr());
  call.from = static_cast<const char*>(a.from.const_data_ptr());
  call.one_element = a.from.numel() == 1;
  call.include_self = a.include_self;
  call.wide = wide;
  call.keys = keys.const_data_ptr();
  call.origins = origins.const_data_ptr();
  call.n = n;
  call.rows = a.rows;
  call.outer = a.outer;
  call.inner = a.inner;
  call.skipped = a.skipped;
  call.inner_divisor = FastDivisor(static_cast<uint32_t>(a.inner));
  call.scales = !a.alpha.equal(1);
  pointwise::store_element(a.alpha, compute, call.alpha);
  const int64_t together = kMostElements / a.inner;
  for (call.first = 0; call.first < n; call.first += together) {
    call.count = static_cast<uint32_t>(std::min(together, n - call.first));
    launch_accumulate(call, compute);
  }
  if (n > kShortSegment) launch_accumulate_long(call, compute);
}

}  // namespace at::cuda
