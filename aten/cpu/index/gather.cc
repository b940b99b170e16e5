// gather and scatter.
#include <algorithm>

#include "aten/cpu/index/index.h"
#include "aten/cpu/support/strides.h"
#include "aten/cpu/support/visit_dtype.h"
#include "c10/parallel/parallel.h"

namespace at::cpu {
namespace {

constexpr int64_t kBlock = 16;              // indices checked together
constexpr int64_t kPage = 512;              // indices of a page
constexpr int64_t kFar = 1024;              // bytes between places that share no lines
constexpr int64_t kAheadBytes = 256 << 10;  // longest row that is asked for ahead of its use

// The index space split in `dim` (one run) and the other dimensions, of which the innermost by index's layout is a run too.
struct Plan {
  StridedDims<3> others;  // strides: index, dst, src
  int64_t n = 1;          // extent of index along dim
  int64_t index_step = 0, dst_step = 0, src_step = 0;
};

// The indexed array (src of a gather, dst of a scatter) moves along dim by the index, not by the position: its step is taken
// out of the plan and returned in `indexed_step`.
Plan make_plan(const GatherGeometry& g, bool gathering, int64_t& indexed_step) {
  Plan p;
  for (int d = g.ndim - 1; d >= 0; --d) {
    if (d == g.dim) {
      p.n = g.sizes[d];
      p.index_step = g.index_strides[d];
      p.dst_step = g.dst_strides[d];
      p.src_step = g.src_strides[d];
    } else {
      p.others.push(g.sizes[d], {g.index_strides[d], g.dst_strides[d], g.src_strides[d]});
    }
  }
  int64_t& step = gathering ? p.src_step : p.dst_step;
  indexed_step = step;
  step = 0;
  p.others.normalize();
  return p;
}

// f(index, dst, src offsets; run length; their steps). Runs go along dim where dim is the
// densest dimension of index, else along the innermost other dimension, each step of dim in turn.
template <class F>
void for_runs(const Plan& p, const F& f) {
  const int64_t others = p.others.numel();
  if (others == 0 || p.n == 0) return;
  const bool along = p.others.ndim == 0 || p.index_step <= p.others.strides[0][0];
  constexpr int64_t kGrain = 16384;
  if (along) {
    at::parallel_for(0, others, std::max<int64_t>(1, kGrain / p.n), [&](int64_t begin, int64_t end) {
      StridedWalk<3> w(p.others, 0, begin);
      for (int64_t i = begin; i < end; ++i, w.next()) {
        f(w.offset[0], w.offset[1], w.offset[2], p.n, p.index_step, p.dst_step, p.src_step);
      }
    });
    return;
  }
  const int64_t run = p.others.sizes[0];
  const int64_t i0 = p.others.strides[0][0], d0 = p.others.strides[1][0], s0 = p.others.strides[2][0];
  constexpr int64_t kShortest = 256;  // part of a run
  if (others / run >= 8 || run < 2 * kShortest) {
    at::parallel_for(0, others / run, std::max<int64_t>(1, kGrain / (p.n * run)), [&](int64_t begin, int64_t end) {
      StridedWalk<3> w(p.others, 1, begin);
      for (int64_t i = begin; i < end; ++i, w.next()) {
        for (int64_t k = 0; k < p.n; ++k) {
          f(w.offset[0] + k * p.index_step, w.offset[1] + k * p.dst_step, w.offset[2] + k * p.src_step, run, i0, d0, s0);
        }
      }
    });
    return;
  }
  at::parallel_for(0, run, std::max(kShortest, kGrain / (others / run * p.n)), [&](int64_t begin, int64_t end) {
    StridedWalk<3> w(p.others, 1);
    for (int64_t i = others / run; i > 0; --i, w.next()) {
      for (int64_t k = 0; k < p.n; ++k) {
        f(w.offset[0] + k * p.index_step + begin * i0, w.offset[1] + k * p.dst_step + begin * d0,
          w.offset[2] + k * p.src_step + begin * s0, end - begin, i0, d0, s0);
      }
    }
  });
}

// Reading at random, the processor does not see the rows coming: while n indices go to one, the next one in memory is
// asked for in order, if most of its lines will be wanted and the caches hold it.
struct RowAhead {
  const char* next;
  int64_t bytes = 0;  // for a block of indices

  RowAhead(const void* row, int64_t row_bytes, int64_t n) : next(static_cast<const char*>(row) + row_bytes) {
    if (row_bytes <= kAheadBytes && n * 64 >= row_bytes) bytes = (row_bytes / 64 * kBlock + n - 1) / n * 64;
  }
  void ask(int64_t i) const {
    const char* from = next + i / kBlock * bytes;
    for (int64_t k = 0; k < bytes; k += 64) __builtin_prefetch(from + k);
  }
};

template <ScatterOp kOp, class T>
inline T combined(T a, T b) {
  if constexpr (kOp == ScatterOp::kAssign) {
    return b;
  } else if constexpr (std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>) {
    return static_cast<T>(combined<kOp, float>(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (kOp == ScatterOp::kAdd) {
    if constexpr (std::is_same_v<T, Boolean>) return a || b;
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  } else if constexpr (kOp == ScatterOp::kMultiply) {
    if constexpr (std::is_same_v<T, Boolean>) return a && b;
    else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
  } else if constexpr (c10::is_complex_v<T>) {
    return a;  // complex numbers have no order; callers refuse
  } else if constexpr (kOp == ScatterOp::kMax) {
    return a == a && (b <= a) ? a : (a != a ? a : b);
  } else {
    return a == a && (b >= a) ? a : (a != a ? a : b);
  }
}

template <ScatterOp kOp, class T>
void scatter_typed(T* dst, const T* src, const int64_t* index, const GatherGeometry& g) {
  int64_t step;
  const Plan plan = make_plan(g, false, step);
  for_runs(plan, [&](int64_t io, int64_t dof, int64_t so, int64_t n, int64_t is, int64_t ds, int64_t ss) {
    const int64_t* at = index + io;
    const T* from = src + so;
    T* to = dst + dof;
    if (is == 0 && ds == 1 && ss == 1) {  // a slice to one place
      T* row = to + at[0] * step;
      for (int64_t i = 0; i < n; ++i) row[i] = combined<kOp>(row[i], from[i]);
      return;
    }
    if (is == 1 && ds == 0 && ss == 1 && step == 1) {  // within a row
      const RowAhead ahead(to, g.size * static_cast<int64_t>(sizeof(T)), n);
      constexpr int64_t kMany = 4;  // numbers that are there before the places are looked at
      int64_t i = 0;
      for (; i + kBlock <= n; i += kBlock) {
        ahead.ask(i);
        // What is read in order is asked for a page ahead, where the processor, which stops at its end, does not look.
        for (int64_t k = 0; k < kBlock; k += 8) __builtin_prefetch(at + i + k + kPage);
        __builtin_prefetch(from + i + kPage);
        for (int64_t j = i; j < i + kBlock; j += kMany) {
          T* const place[kMany] = {to + at[j], to + at[j + 1], to + at[j + 2], to + at[j + 3]};
          const T with[kMany] = {from[j], from[j + 1], from[j + 2], from[j + 3]};
          for (int64_t k = 0; k < kMany; ++k) *place[k] = combined<kOp>(*place[k], with[k]);
        }
      }
      for (; i < n; ++i) to[at[i]] = combined<kOp>(to[at[i]], from[i]);
      return;
    }
    int64_t i = 0;
    if (step * static_cast<int64_t>(sizeof(T)) >= kFar) {
      // The places are far from each other: those of a few elements later are asked for meanwhile.
      for (; i + kBlock < n; ++i) {
        __builtin_prefetch(to + (i + kBlock) * ds + at[(i + kBlock) * is] * step, 1);
        T& place = to[i * ds + at[i * is] * step];
        place = combined<kOp>(place, from[i * ss]);
      }
    }
    for (; i < n; ++i) {
      T& place = to[i * ds + at[i * is] * step];
      place = combined<kOp>(place, from[i * ss]);
    }
  });
}

}  // namespace

void gather(void* dst, const void* src, const int64_t* index, const GatherGeometry& g, int64_t item_size) {
  int64_t step;
  const Plan plan = make_plan(g, true, step);
  visit_item_size(item_size, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_runs(plan, [&](int64_t io, int64_t dof, int64_t so, int64_t n, int64_t is, int64_t ds, int64_t ss) {
      const int64_t* at = index + io;
      T* to = static_cast<T*>(dst) + dof;
      const T* from = static_cast<const T*>(src) + so;
      // Every index is checked just before its use, so that the indices are read from memory once.
      const auto size = static_cast<uint64_t>(g.size);
      int64_t i = 0;
      if (is == 1 && ds == 1 && ss == 0 && step == 1) {
        const RowAhead ahead(from, g.size * static_cast<int64_t>(sizeof(T)), n);
        if (ahead.bytes > 0) {
          for (; i + kBlock <= n; i += kBlock) {
            ahead.ask(i);
            bool inside = true;
            for (int64_t k = i; k < i + kBlock; ++k) inside &= static_cast<uint64_t>(at[k]) < size;
            if (!inside) break;
            for (int64_t k = i; k < i + kBlock; ++k) to[k] = from[at[k]];
          }
        }
        for (; i < n && static_cast<uint64_t>(at[i]) < size; ++i) to[i] = from[at[i]];
      } else {
        for (; i < n && static_cast<uint64_t>(at[i * is]) < size; ++i) to[i * ds] = from[i * ss + at[i * is] * step];
      }
      TORCH_CHECK(i == n, "index ", at[i * is], " is out of bounds for dimension ", g.dim, " with size ", g.size);
    });
  });
}

void scatter(void* dst, const void* src, const int64_t* index, const GatherGeometry& given, c10::ScalarType type, ScatterOp op) {
  if (op == ScatterOp::kAssign) {
    visit_item_size(static_cast<int64_t>(c10::elementSize(type)), [&](auto tag) {
      using T = typename decltype(tag)::type;
      scatter_typed<ScatterOp::kAssign>(static_cast<T*>(dst), static_cast<const T*>(src), index, given);
    });
    return;
  }
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(dst);
    const T* from = static_cast<const T*>(src);
    switch (op) {
      case ScatterOp::kAdd:
        return scatter_typed<ScatterOp::kAdd>(to, from, index, given);
      case ScatterOp::kMultiply:
        return scatter_typed<ScatterOp::kMultiply>(to, from, index, given);
      case ScatterOp::kMax:
        return scatter_typed<ScatterOp::kMax>(to, from, index, given);
      default:
        return scatter_typed<ScatterOp::kMin>(to, from, index, given);
    }
  };
  switch (type) {
    case c10::ScalarType::UInt16:
      return run(TypeTag<uint16_t>{});
    case c10::ScalarType::UInt32:
      return run(TypeTag<uint32_t>{});
    case c10::ScalarType::UInt64:
      return run(TypeTag<uint64_t>{});
    default:
      return visit_all(type, "scatter", run);
  }
}

}  // namespace at::cpu
