#include "aten/cpu/matrix/packed_product.h"

#define KINDLING_WEIGHT c10::Half
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/packed_product_half.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/packed_tile-inl.h"
#include "aten/cpu/matrix/packed_product-inl.h"
// clang-format on
