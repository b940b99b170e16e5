#include "aten/cpu/reduce/reduce.h"

#include <bit>
#include <vector>

#include "aten/cpu/support/strides.h"
#include "c10/parallel/parallel.h"

namespace at::cpu {
namespace {

constexpr int64_t kStateBytes = 16384;   // states of one tile, on the stack
constexpr int64_t kPieceWork = 65536;    // elements that are worth a piece of their own
constexpr int64_t kMaxPieces = 32;       // pieces of a reduction that is split over its inputs
constexpr int64_t kFewRows = 255;        // and at most so many of rows of memory
constexpr int64_t kFewOutputs = 2048;    // at most so many outputs are computed piecewise

struct Plan {
  const ReduceKernel& kernel;
  const ReduceParams& params;
  StridedDims<3> kept;  // strides: input, first result, second result
  StridedDims<1> reduced;
  const char* in;
  char* out[2];
  int64_t tile = 1;  // outputs that are computed together, on one thread
};

// Feeds the elements of `reduced` (from `in`, logical position `position` on) into the m states of a tile.
void accumulate_tile(const Plan& plan, void* states, const char* in, int64_t m, int64_t m_stride, const StridedDims<1>& reduced,
                     int64_t position) {
  if (reduced.ndim == 0) {
    plan.kernel.accumulate(states, in, m, m_stride, 1, 0, position, plan.params);
    return;
  }
  StridedWalk<1> walk(reduced, 1);
  const int64_t n = reduced.sizes[0], stride = reduced.strides[0][0];
  for (int64_t left = walk.total(); left > 0; --left, walk.next(), position += n) {
    plan.kernel.accumulate(states, in + walk.offset[0], m, m_stride, n, stride, position, plan.params);
  }
}

// As many outputs as have room, but no more than keep every thread busy: neighbouring outputs that are also neighbours in
// the input are read together, and want to be many; others do not mind.
int64_t tile_size(const Plan& plan, int64_t run, int64_t n, int64_t outputs) {
  // A power of two: halves of it stay multiples of a vector.
  int64_t tile = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(kStateBytes / plan.kernel.state_size)));
  const int64_t least = plan.reduced.ndim > 0 && plan.kept.ndim > 0 && plan.reduced.strides[0][0] < plan.kept.strides[0][0] ? 16 : 512;
  while (tile > run && tile > 1) tile /= 2;
  while (tile / 2 >= least && tile * n > 4 * kPieceWork && outputs / tile < 4 * at::get_num_threads()) tile /= 2;
  return tile;
}

// Calls f(tile's number of outputs, offsets of its first output, stride index 0 strides) for the tiles [begin, end).
template <class F>
void for_tiles(const Plan& plan, int64_t begin, int64_t end, const F& f) {
  const int64_t run = plan.kept.ndim > 0 ? plan.kept.sizes[0] : 1;
  const int64_t tile = plan.tile;
  const int64_t tiles_per_run = (run + tile - 1) / tile;
  const int64_t s0 = plan.kept.ndim > 0 ? plan.kept.strides[0][0] : 0;
  const int64_t s1 = plan.kept.ndim > 0 ? plan.kept.strides[1][0] : 0;
  const int64_t s2 = plan.kept.ndim > 0 ? plan.kept.strides[2][0] : 0;
  StridedWalk<3> walk(plan.kept, 1, begin / tiles_per_run);
  int64_t part = begin % tiles_per_run;
  for (int64_t t = begin; t < end; ++t) {
    const int64_t first = part * tile;
    const int64_t m = run - first < tile ? run - first : tile;
    f(m, first + (t / tiles_per_run) * run, walk.offset[0] + first * s0, walk.offset[1] + first * s1, walk.offset[2] + first * s2,
      s0, s1, s2);
    if (++part == tiles_per_run) {
      part = 0;
      walk.next();
    }
  }
}

void reduce_by_outputs(const Plan& plan, int64_t tiles, int64_t work_per_tile) {
  const int64_t grain = work_per_tile >= kPieceWork ? 1 : (kPieceWork + work_per_tile - 1) / work_per_tile;
  const bool any = plan.reduced.numel() > 0;  // else plan.in may be null
  at::parallel_for(0, tiles, grain, [&](int64_t begin, int64_t end) {
    alignas(64) char states[kStateBytes];
    for_tiles(plan, begin, end,
              [&](int64_t m, int64_t, int64_t in, int64_t out0, int64_t out1, int64_t s0, int64_t s1, int64_t s2) {
                plan.kernel.init(states, m);
                if (any) accumulate_tile(plan, states, plan.in + in, m, s0, plan.reduced, 0);
                plan.kernel.finish(states, m, plan.out[0] ? plan.out[0] + out0 : nullptr, s1,
                                   plan.out[1] ? plan.out[1] + out1 : nullptr, s2, plan.params);
              });
  });
}

void reduce_by_inputs(const Plan& plan, int64_t tiles, int64_t outputs, int split, int64_t pieces) {
  const int64_t state_size = plan.kernel.state_size;
  const int64_t piece_bytes = (outputs * state_size + 63) / 64 * 64;
  std::vector<char> buffer(static_cast<size_t>(pieces * piece_bytes + 64));
  char* base = buffer.data() + (64 - reinterpret_cast<uintptr_t>(buffer.data()) % 64) % 64;
  const int64_t size = plan.reduced.sizes[split], stride = plan.reduced.strides[0][split];
  int64_t below = 1;
  for (int d = 0; d < split; ++d) below *= plan.reduced.sizes[d];
  at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t from = size / pieces * piece + (size % pieces) * piece / pieces;
      const int64_t to = size / pieces * (piece + 1) + (size % pieces) * (piece + 1) / pieces;
      StridedDims<1> part = plan.reduced;
      part.sizes[split] = to - from;
      char* states = base + piece * piece_bytes;
      plan.kernel.init(states, outputs);
      if (to == from) continue;
      for_tiles(plan, 0, tiles, [&](int64_t m, int64_t first, int64_t in, int64_t, int64_t, int64_t s0, int64_t, int64_t) {
        accumulate_tile(plan, states + first * state_size, plan.in + in + from * stride, m, s0, part, from * below);
      });
    }
  });
  for (int64_t piece = 1; piece < pieces; ++piece) plan.kernel.combine(base, base + piece * piece_bytes, outputs);
  for_tiles(plan, 0, tiles,
            [&](int64_t m, int64_t first, int64_t, int64_t out0, int64_t out1, int64_t, int64_t s1, int64_t s2) {
              plan.kernel.finish(base + first * state_size, m, plan.out[0] ? plan.out[0] + out0 : nullptr, s1,
                                 plan.out[1] ? plan.out[1] + out1 : nullptr, s2, plan.params);
            });
}

}  // namespace

void reduce(const ReduceKernel& kernel, const ReduceArgs& args, const ReduceParams& params) {
  Plan plan{kernel, params, StridedDims<3>(), StridedDims<1>(), static_cast<const char*>(args.in),
            {static_cast<char*>(args.out[0]), static_cast<char*>(args.out[1])}};
  bool reads = true;  // nothing is addressed where nothing is read
  for (int d = 0; d < args.ndim; ++d) reads = reads && args.sizes[d] != 0;
  for (int d = args.ndim - 1; d >= 0; --d) {
    if (args.reduced[d]) {
      plan.reduced.push(args.sizes[d], {args.strides[d]});
    } else {
      plan.kept.push(args.sizes[d], {reads ? args.strides[d] : 0, args.out[0] ? args.out_strides[0][d] : 0, args.out[1] ? args.out_strides[1][d] : 0});
    }
  }
  plan.kept.normalize();
  plan.reduced.normalize(kernel.ordered);
  const int64_t outputs = plan.kept.numel(), n = plan.reduced.numel();
  if (outputs == 0) return;
  const int64_t run = plan.kept.ndim > 0 ? plan.kept.sizes[0] : 1;
  const int64_t tile = plan.tile = tile_size(plan, run, n, outputs);
  const int64_t tiles = outputs / run * ((run + tile - 1) / tile);

  // Whole rows of memory are shared out row by row while there are enough of them.
  const bool rows =
      plan.reduced.ndim == 1 && plan.kept.ndim > 0 && plan.reduced.strides[0][0] < plan.kept.strides[0][0];
  if (outputs <= (rows ? kFewRows : kFewOutputs) && n > 1 && tiles * kPieceWork < outputs * n &&
      outputs * n >= 4 * kPieceWork) {
    int split = plan.reduced.ndim - 1;
    // The outermost dimension keeps each piece's memory together; where it is short, the longest one.
    if (!kernel.ordered && plan.reduced.sizes[split] < 8) {
      for (int d = 0; d < plan.reduced.ndim; ++d) {
        if (plan.reduced.sizes[d] > plan.reduced.sizes[split]) split = d;
      }
    }
    int64_t pieces = outputs * n / kPieceWork;
    if (pieces > kMaxPieces) pieces = kMaxPieces;
    if (pieces > plan.reduced.sizes[split]) pieces = plan.reduced.sizes[split];
    if (pieces > tiles) return reduce_by_inputs(plan, tiles, outputs, split, pieces);
  }
  reduce_by_outputs(plan, tiles, run / ((run + tile - 1) / tile) * (n > 0 ? n : 1));
}

void reduce_all(const ReduceKernel& kernel, const void* in, int64_t n, int64_t item_size, void* out0, void* out1,
                const ReduceParams& params) {
  if (n >= 4 * kPieceWork) {
    const bool reduced = true;
    return reduce(kernel, {in, 1, &n, &item_size, &reduced, {out0, out1}, {&item_size, &item_size}}, params);
  }
  alignas(64) char state[64];
  kernel.init(state, 1);
  kernel.accumulate(state, static_cast<const char*>(in), 1, 0, n, item_size, 0, params);
  kernel.finish(state, 1, static_cast<char*>(out0), 0, static_cast<char*>(out1), 0, params);
}

}  // namespace at::cpu
