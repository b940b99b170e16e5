#include "aten/cuda/index/move.h"

#include <algorithm>
#include <cstring>

#include "aten/cpu/pointwise.h"
#include "aten/cuda/index/move_call.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

constexpr int64_t kMostElements = (int64_t{1} << 31) - 1;

// Launches on dimensions below `dims` of the nest whose sizes are `sizes`, in parts where they hold too many elements.
void launch_parts(MoveCall call, const int64_t* sizes, int dims) {
  int64_t numel = 1;
  for (int d = 0; d < dims; ++d) numel *= sizes[d];
  if (numel <= kMostElements) {
    call.dims = dims;
    call.numel = static_cast<uint32_t>(numel);
    for (int d = 0; d < dims; ++d) call.sizes[d] = FastDivisor(static_cast<uint32_t>(sizes[d]));
    return launch_move(call);
  }
  const int outer = dims - 1;
  const int64_t inner = numel / sizes[outer];
  const int64_t together = inner > kMostElements ? 1 : kMostElements / inner;
  int64_t part_sizes[kMaxElementwiseDims];
  std::copy_n(sizes, dims, part_sizes);
  for (int64_t begin = 0; begin < sizes[outer]; begin += together) {
    MoveCall part = call;
    part_sizes[outer] = std::min(together, sizes[outer] - begin);
    part.to += begin * call.to_strides[outer];
    if (call.from != nullptr || call.kind == MoveCall::Kind::kPlaces) part.from += begin * call.from_strides[outer];
    if (call.index != nullptr) part.index += begin * call.index_strides[outer];
    launch_parts(part, part_sizes, inner > kMostElements ? outer : dims);
  }
}

// Elements that lie side by side on both sides are moved as larger ones.
void widen(MoveCall& call, int64_t* sizes, int dims) {
  const int64_t item = call.item_size;
  if (call.from == nullptr || call.to_strides[0] != item || call.from_strides[0] != item) return;
  if (call.index != nullptr && call.index_strides[0] != 0) return;
  uint64_t all = static_cast<uint64_t>(sizes[0] * item) | reinterpret_cast<uintptr_t>(call.to) |
                 reinterpret_cast<uintptr_t>(call.from);
  if (call.index != nullptr) all |= static_cast<uint64_t>(call.step);
  for (int d = 1; d < dims; ++d)
    all |= static_cast<uint64_t>(call.to_strides[d]) | static_cast<uint64_t>(call.from_strides[d]);
  int64_t wide = 16;
  while (wide > item && all % static_cast<uint64_t>(wide) != 0) wide /= 2;
  if (wide <= item) return;
  sizes[0] = sizes[0] * item / wide;
  call.to_strides[0] = call.from_strides[0] = wide;
  call.item_size = static_cast<int>(wide);
}

// The first operand has the shape.
void run(MoveCall& call, const cpu::Operand* operands, int count, char* MoveCall::*const* data,
         int64_t (MoveCall::*const* strides)[kMaxElementwiseDims]) {
  const cpu::LoopNest nest(operands, count);
  if (nest.numel() == 0) return;
  TORCH_CHECK(nest.dim() <= kMaxElementwiseDims, call.name, ": CUDA tensors of this layout leave ", nest.dim(),
              " dimensions when neighbours are merged; at most ", kMaxElementwiseDims, " are supported");
  int64_t sizes[kMaxElementwiseDims];
  for (int d = 0; d < nest.dim(); ++d) {
    sizes[d] = nest.size(d);
    for (int k = 0; k < count; ++k) (call.*strides[k])[d] = nest.byte_stride(k, d);
  }
  for (int k = 0; k < count; ++k) call.*data[k] = nest.data(k);
  if (call.kind != MoveCall::Kind::kPlaces) widen(call, sizes, nest.dim());
  launch_parts(call, sizes, nest.dim());
}

void set_places(MoveCall& call, const Places& places, int64_t unit) {
  call.index_is_long = places.is_long;
  call.size = places.size;
  call.step = places.step * unit;
  call.wraps = places.wraps;
}

using Data = char* MoveCall::*;
using Strides = int64_t (MoveCall::*)[kMaxElementwiseDims];

}  // namespace

Places places_of(const TensorBase& index, int64_t size, int64_t step, bool wraps) {
  TORCH_INTERNAL_ASSERT(index.scalar_type() == ScalarType::Long || index.scalar_type() == ScalarType::Int);
  return {pointwise::operand_of(index), index.scalar_type() == ScalarType::Long, size, step, wraps};
}

cpu::Operand operand_like(const TensorBase& t, IntArrayRef sizes, IntArrayRef strides) {
  return {static_cast<char*>(const_cast<void*>(t.const_data_ptr())), sizes.data(), strides.data(),
          static_cast<int64_t>(sizes.size()), static_cast<int64_t>(t.itemsize())};
}

void take(const char* name, const cpu::Operand& to, const cpu::Operand& from, const Places* places) {
  MoveCall call{};
  call.name = name;
  call.kind = MoveCall::Kind::kTake;
  call.item_size = static_cast<int>(to.item_size);
  if (places != nullptr) set_places(call, *places, to.item_size);
  const cpu::Operand operands[] = {to, from, places != nullptr ? places->index : cpu::Operand{}};
  const Data data[] = {&MoveCall::to, &MoveCall::from, &MoveCall::index};
  Strides strides[] = {&MoveCall::to_strides, &MoveCall::from_strides, &MoveCall::index_strides};
  run(call, operands, places != nullptr ? 3 : 2, data, strides);
}

void put(const char* name, const cpu::Operand& to, const cpu::Operand& from, const Places& places) {
  MoveCall call{};
  call.name = name;
  call.kind = MoveCall::Kind::kPut;
  call.item_size = static_cast<int>(to.item_size);
  set_places(call, places, to.item_size);
  const cpu::Operand operands[] = {from, to, places.index};
  const Data data[] = {&MoveCall::from, &MoveCall::to, &MoveCall::index};
  Strides strides[] = {&MoveCall::from_strides, &MoveCall::to_strides, &MoveCall::index_strides};
  run(call, operands, 3, data, strides);
}

void put_value(const char* name, const cpu::Operand& to, const void* value, const Places& places) {
  MoveCall call{};
  call.name = name;
  call.kind = MoveCall::Kind::kPut;
  call.item_size = static_cast<int>(to.item_size);
  std::memcpy(call.value, value, static_cast<size_t>(to.item_size));
  set_places(call, places, to.item_size);
  const cpu::Operand operands[] = {places.index, to};
  const Data data[] = {&MoveCall::index, &MoveCall::to};
  Strides strides[] = {&MoveCall::index_strides, &MoveCall::to_strides};
  run(call, operands, 2, data, strides);
}

void write_places(const char* name, const TensorBase& places, const Places& index, IntArrayRef base, bool add) {
  MoveCall call{};
  call.name = name;
  call.kind = MoveCall::Kind::kPlaces;
  call.item_size = static_cast<int>(places.itemsize());
  call.adds = add;
  set_places(call, index, 1);
  const cpu::Operand numbers{nullptr, places.sizes().data(), base.data(), static_cast<int64_t>(base.size()), 1};
  const cpu::Operand operands[] = {pointwise::operand_of(places), index.index, numbers};
  const Data data[] = {&MoveCall::to, &MoveCall::index, &MoveCall::from};
  Strides strides[] = {&MoveCall::to_strides, &MoveCall::index_strides, &MoveCall::from_strides};
  run(call, operands, base.empty() ? 2 : 3, data, strides);
}

}  // namespace at::cuda
