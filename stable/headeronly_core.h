#pragma once

// What torch::headeronly calls by other names: lists that are referred to, accessors of elements, dispatch by dtype.

#include <cstddef>
#include <cstdint>

#include "aten/core/dispatch.h"
#include "aten/core/dispatch_v2.h"
#include "aten/core/tensor_accessor.h"
#include "c10/util/array_ref.h"
#include "stable/headeronly.h"

namespace c10 {
template <class T>
using HeaderOnlyArrayRef = ArrayRef<T>;
}  // namespace c10

namespace torch::headeronly {

using IntHeaderOnlyArrayRef = c10::ArrayRef<int64_t>;

using at::DefaultPtrTraits;
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
using HeaderOnlyTensorAccessor = at::TensorAccessor<T, N, PtrTraits, index_t>;
template <class T, size_t N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
using HeaderOnlyGenericPackedTensorAccessor = at::GenericPackedTensorAccessor<T, N, PtrTraits, index_t>;

}  // namespace torch::headeronly

#define THO_DISPATCH_CASE(TYPE, ...) AT_DISPATCH_CASE(TYPE, __VA_ARGS__)
#define THO_DISPATCH_SWITCH(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, __VA_ARGS__)
#define THO_DISPATCH_V2(TYPE, NAME, BODY, ...) AT_DISPATCH_V2(TYPE, NAME, BODY, __VA_ARGS__)
