#include "aten/cuda/reduce/reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "aten/cpu/support/strides.h"
#include "aten/cuda/launch_shape.h"
#include "c10/memory/allocator.h"
#include "c10/util/exception.h"

namespace at::cuda {
namespace {

constexpr int64_t kMost = (int64_t{1} << 31) - 1;
constexpr int64_t kMostPieces = 1024;    // that an output is computed in
constexpr int64_t kLeastPerThread = 4;   // elements or vectors, of a piece
constexpr int64_t kWarpElements = 2048;  // more are given to a block where there are not many outputs

template <int kOperands>
Dims<kOperands> device_dims(const char* name, const cpu::StridedDims<kOperands>& from) {
  TORCH_CHECK(from.ndim <= kMaxReduceDims, name, ": CUDA tensors of this layout leave ", from.ndim,
              " dimensions when neighbours are merged; at most ", kMaxReduceDims, " are supported");
  Dims<kOperands> dims;
  dims.count = from.ndim;
  for (int d = 0; d < from.ndim; ++d) {
    dims.sizes[d] = FastDivisor(static_cast<uint32_t>(std::max<int64_t>(1, from.sizes[d])));
    for (int k = 0; k < kOperands; ++k) dims.strides[k][d] = from.strides[k][d];
  }
  return dims;
}

// Calls f(part, first index, byte offsets) for parts of at most kMost elements that together are `dims`, in order.
template <int kOperands>
using Offsets = std::array<int64_t, static_cast<size_t>(kOperands)>;
template <int kOperands, class F>
void for_parts(const cpu::StridedDims<kOperands>& dims, const F& f, int64_t first = 0,
               const Offsets<kOperands>& offsets = {}) {
  const int64_t numel = dims.numel();
  if (numel <= kMost) return f(dims, first, offsets);
  cpu::StridedDims<kOperands> part = dims;
  const int outer = dims.ndim - 1;
  const int64_t inner = numel / dims.sizes[outer], together = std::max<int64_t>(1, kMost / inner);
  for (int64_t begin = 0; begin < dims.sizes[outer]; begin += together) {
    part.sizes[outer] = std::min(together, dims.sizes[outer] - begin);
    Offsets<kOperands> at = offsets;
    for (int k = 0; k < kOperands; ++k) at[static_cast<size_t>(k)] += begin * dims.strides[k][outer];
    if (part.sizes[outer] == 1) part.ndim = outer;
    for_parts<kOperands>(part, f, first + begin * inner, at);
  }
}

// Whether vectors of `bytes` can be read: at `in`, along dimension 0 of `along`, whatever the index in the other
// dimensions.
template <int kA, int kB>
bool reads_vectors(const char* in, int64_t lanes, int64_t item, const cpu::StridedDims<kA>& along,
                   const cpu::StridedDims<kB>& across, bool may_have_rest) {
  const int64_t bytes = std::min<int64_t>(16, lanes * item);
  if (along.ndim == 0 || along.strides[0][0] != item || along.sizes[0] < lanes) return false;
  if (reinterpret_cast<uintptr_t>(in) % static_cast<uintptr_t>(bytes) != 0) return false;
  if (along.sizes[0] % lanes != 0 && !(may_have_rest && along.ndim == 1)) return false;
  for (int d = 1; d < along.ndim; ++d) {
    if (along.strides[0][d] % bytes != 0) return false;
  }
  for (int d = 0; d < across.ndim; ++d) {
    if (across.strides[0][d] % bytes != 0) return false;
  }
  return true;
}

int64_t magnitude(int64_t v) {
  return v < 0 ? -v : v;
}

// How the elements of a call are read, and by which threads.
void plan(ReduceCall& call, const cpu::StridedDims<3>& kept, const cpu::StridedDims<1>& reduced) {
  const int64_t item = static_cast<int64_t>(c10::elementSize(call.in_dtype));
  const bool one_alignment = call.pair.second == nullptr || (call.pair.second - call.in) % 16 == 0;
  const int64_t n = call.elements, outputs = call.outputs;
  call.access = ReduceAccess::kElements;
  call.piece = reduce_piece(static_cast<size_t>(item));
  call.piece_shift = static_cast<uint32_t>(std::countr_zero(call.piece));
  if (one_alignment && n >= kReduceVector && reads_vectors(call.in, call.piece, item, reduced, kept, true))
    call.access = ReduceAccess::kVectors;
  else if (one_alignment && reads_vectors(call.in, kReduceOutputs, item, kept, reduced, false))
    call.access = ReduceAccess::kOutputVectors;
  const int64_t reduced_stride = reduced.ndim > 0 ? magnitude(reduced.strides[0][0]) : INT64_MAX;
  const int64_t kept_stride = kept.ndim > 0 ? magnitude(kept.strides[0][0]) : INT64_MAX;
  call.lanes_reduce = call.access == ReduceAccess::kVectors ||
                      (call.access == ReduceAccess::kElements && n > 1 && reduced_stride <= kept_stride);
  const int64_t units =
      call.access == ReduceAccess::kVectors ? std::max<int64_t>(1, n / kReduceVector) : std::max<int64_t>(1, n);
  if (call.lanes_reduce) {
    const bool whole_block = units > 32 && (n > kWarpElements || outputs < kMostBlocks) && units >= kReduceThreads / 2;
    call.threads = whole_block
                       ? kReduceThreads
                       : static_cast<uint32_t>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(units, 32))));
  } else {
    const int64_t columns = call.access == ReduceAccess::kOutputVectors ? outputs / kReduceOutputs : outputs;
    const int64_t lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(columns, 32))));
    const int64_t room = kReduceThreads / lanes, wanted = std::max<int64_t>(1, units / kLeastPerThread);
    call.threads = static_cast<uint32_t>(std::bit_floor(static_cast<uint64_t>(std::min(room, wanted))));
  }
}

// How many blocks share an output so that the device is busy.
uint32_t pieces_for(const ReduceCall& call) {
  const int64_t units = call.access == ReduceAccess::kVectors ? call.elements / kReduceVector : call.elements;
  const int64_t columns = call.access == ReduceAccess::kOutputVectors ? call.outputs / kReduceOutputs : call.outputs;
  const int64_t blocks = std::max<int64_t>(1, columns / (kReduceThreads / call.threads));
  const int64_t wanted = kMostBlocks / blocks, room = units / (int64_t{call.threads} * kLeastPerThread);
  return static_cast<uint32_t>(std::clamp<int64_t>(std::min(wanted, room), 1, kMostPieces));
}

void run(const char* name, ReduceFinder find, const cpu::ReduceArgs& args, const ReducePair& pair, ScalarType in_dtype,
         const ScalarType (&out_dtypes)[2], const cpu::ReduceParams& params) {
  cpu::StridedDims<3> kept;
  cpu::StridedDims<1> reduced;
  bool reads = true;
  for (int d = 0; d < args.ndim; ++d) reads = reads && args.sizes[d] != 0;
  for (int d = args.ndim - 1; d >= 0; --d) {
    if (args.reduced[d]) {
      reduced.push(args.sizes[d], {args.strides[d]});
    } else {
      kept.push(args.sizes[d], {reads ? args.strides[d] : 0, args.out[0] ? args.out_strides[0][d] : 0,
                                args.out[1] ? args.out_strides[1][d] : 0});
    }
  }
  kept.normalize();
  if (kept.numel() == 0) return;
  const ReduceLaunchers launchers = find(in_dtype, params);
  TORCH_CHECK_NOT_IMPLEMENTED(launchers.pieces != nullptr, "\"", name, "\" not implemented for '", in_dtype,
                              "' on CUDA tensors");
  reduced.normalize(launchers.ordered);
  for_parts(kept, [&](const cpu::StridedDims<3>& outputs, int64_t first_output, const Offsets<3>& at) {
    std::vector<ReduceCall> calls;
    uint32_t total = 0;
    for_parts(reduced, [&](const cpu::StridedDims<1>& elements, int64_t position, const Offsets<1>& offset) {
      ReduceCall call{};
      call.name = name;
      call.in_dtype = in_dtype;
      call.in = static_cast<const char*>(args.in) + (reads ? at[0] + offset[0] : 0);
      call.outputs = static_cast<uint32_t>(outputs.numel());
      call.elements = static_cast<uint32_t>(elements.numel());
      call.position = position;
      for (size_t k = 0; k < 2; ++k) {
        call.out[k] = args.out[k] ? static_cast<char*>(args.out[k]) + at[k + 1] : nullptr;
        call.out_dtype[k] = out_dtypes[k];
      }
      call.params = params;
      call.pair = pair;
      if (pair.second != nullptr) call.pair.second += call.in - static_cast<const char*>(args.in);
      call.first_output = first_output;
      plan(call, outputs, elements);
      call.kept = device_dims(name, outputs);
      call.reduced = device_dims(name, elements);
      if (call.access == ReduceAccess::kVectors && call.reduced.count > 1) {
        call.reduced.sizes[0] = FastDivisor(call.reduced.sizes[0].divisor / call.piece);
        call.reduced.strides[0][0] *= call.piece;
      }
      call.pieces = pieces_for(call);
      call.first_piece = total;
      total += call.pieces;
      calls.push_back(call);
    });
    c10::DataPtr states;
    if (total > 1) {
      const auto bytes = static_cast<size_t>(total) * static_cast<size_t>(outputs.numel() * launchers.state_size);
      states = c10::GetAllocator(c10::DeviceType::CUDA)->allocate(bytes);
    }
    for (ReduceCall& call : calls) {
      call.total_pieces = total;
      call.states = static_cast<char*>(states.get());
      launchers.pieces(call);
    }
    if (total > 1) launchers.join(calls.front());
  });
}

}  // namespace

void reduce(const char* name, ReduceFinder find, const cpu::ReduceArgs& args, ScalarType in_dtype,
            const ScalarType (&out_dtypes)[2], const cpu::ReduceParams& params) {
  run(name, find, args, {}, in_dtype, out_dtypes, params);
}

void reduce_pairs(const char* name, ReduceFinder find, const cpu::ReduceArgs& args, const ReducePair& pair,
                  ScalarType in_dtype, const ScalarType (&out_dtypes)[2]) {
  run(name, find, args, pair, in_dtype, out_dtypes, {});
}

}  // namespace at::cuda
