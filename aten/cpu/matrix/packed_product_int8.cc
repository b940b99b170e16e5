#include "aten/cpu/matrix/packed_product.h"

#define KINDLING_WEIGHT int8_t
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/matrix/packed_product_int8.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/cpu/matrix/packed_tile-inl.h"
#include "aten/cpu/matrix/packed_product-inl.h"
// clang-format on
