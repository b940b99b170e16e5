// Elements moved between places that a tensor of indices names and places in the order of the indices.
#pragma once

#include <cstdint>

#include "aten/core/tensor.h"
#include "aten/cpu/strided_loop.h"

namespace at::cuda {

/// The elements of an int32 or int64 tensor as places: element i of the other side lies `step` elements times i
/// further.
struct Places {
  cpu::Operand index;
  bool is_long;
  int64_t size;  // the indices lie in [0, size), or with `wraps` in [-size, size); the kernel ends where one does not
  int64_t step;
  bool wraps;
};

Places places_of(const TensorBase& index, int64_t size, int64_t step, bool wraps);
/// A tensor as an operand, with other sizes and strides (in elements).
cpu::Operand operand_like(const TensorBase& t, IntArrayRef sizes, IntArrayRef strides);

/// to[p] = from[p + step * index[p]] for all p of `to`; without `places` to[p] = from[p]. Elements are moved as bytes,
/// the two have one item size. Runs on the current stream of the current device.
void take(const char* name, const cpu::Operand& to, const cpu::Operand& from, const Places* places);
/// to[p + step * index[p]] = from[p] for all p of `from`. Of several elements for one place one stays, whichever.
void put(const char* name, const cpu::Operand& to, const cpu::Operand& from, const Places& places);
/// The same with one element, of to.item_size bytes, for all p of the index.
void put_value(const char* name, const cpu::Operand& to, const void* value, const Places& places);

/// places[p] = step * index[p] + base[p], or the same added to what is there; `base`: a number for each position by its
/// coordinates, as strides over the sizes of `places`, or empty. `places` is dense, of dtype int32 or int64.
void write_places(const char* name, const TensorBase& places, const Places& index, IntArrayRef base, bool add);

}  // namespace at::cuda
