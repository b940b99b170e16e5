#include "aten/cpu/elementwise.h"

#include <cstring>

#include "aten/cpu/cast.h"
#include "aten/cpu/streamed_rows.h"
#include "aten/cpu/support/alignment.h"
#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"

namespace at::cpu {
namespace {

constexpr int64_t kBufferBytes = 4096;
// Shorter innermost runs are gathered several at a time.
constexpr int64_t kShortRun = 256;

struct ArgPlan {
  Conversion to_compute;    // inputs
  Conversion from_compute;  // outputs
  int64_t item_size = 0;
  int64_t compute_size = 0;
  bool converts = false;
  bool aligned = true;
  bool contiguous = false;  // the whole operand, in the nest's order
  bool run_direct = false;  // the loop may read or write runs of dimension 0 in place
  bool flat_direct = false;  // the loop may read or write any range in place
  bool streams = false;
};

struct Plan {
  Plan(const LoopNest& n, ElementLoop l, const void* c, int o) : nest(n), loop(l), context(c), outputs(o) {}
  const LoopNest& nest;
  ElementLoop loop;
  const void* context;
  int outputs;
  int64_t chunk = 0;
  bool any_streams = false;
  ArgPlan args[kMaxOperands];
};

struct Buffers {
  alignas(64) char compute[kMaxOperands][kBufferBytes];
  alignas(64) char raw[kBufferBytes];
};

// Walks one operand over runs of dimension 0 from a linear index and calls visit(data, n, done).
template <class Visit>
void walk(const LoopNest& nest, int k, int64_t linear_index, int64_t count, const Visit& visit) {
  int64_t index[kMaxLoopDims];
  char* data = nest.data(k);
  const int dims = nest.dim();
  for (int d = 0; d < dims; ++d) {
    const int64_t i = d + 1 == dims ? linear_index : linear_index % nest.size(d);
    linear_index /= nest.size(d);
    index[d] = i;
    data += i * nest.byte_stride(k, d);
  }
  for (int64_t done = 0; done < count;) {
    const int64_t left = nest.size(0) - index[0];
    const int64_t n = left < count - done ? left : count - done;
    visit(data, n, done);
    done += n;
    index[0] += n;
    data += n * nest.byte_stride(k, 0);
    for (int d = 0; index[d] == nest.size(d) && d + 1 < dims; ++d) {
      data += nest.byte_stride(k, d + 1) - nest.size(d) * nest.byte_stride(k, d);
      index[d] = 0;
      ++index[d + 1];
    }
  }
}

void load_run(const ArgPlan& a, const char* data, int64_t stride, int64_t n, char* raw, char* to) {
  if (!a.converts) {
    gather_run(to, data, stride, n, a.item_size);
  } else if (stride == a.item_size && a.aligned) {
    convert(a.to_compute, to, data, n);
  } else if (stride == 0) {
    alignas(16) char item[16];
    std::memcpy(item, data, static_cast<size_t>(a.item_size));
    convert(a.to_compute, raw, item, 1);
    fill_run(to, raw, n, a.compute_size);
  } else {
    gather_run(raw, data, stride, n, a.item_size);
    convert(a.to_compute, to, raw, n);
  }
}

void store_run(const ArgPlan& a, const char* from, char* raw, char* data, int64_t stride, int64_t n, StreamedPiece& piece) {
  if (a.streams) {
    piece.write(data, from, n * a.item_size);
  } else if (!a.converts) {
    scatter_run(data, stride, from, n, a.item_size);
  } else if (stride == a.item_size && a.aligned) {
    convert(a.from_compute, data, from, n);
  } else {
    convert(a.from_compute, raw, from, n);
    scatter_run(data, stride, raw, n, a.item_size);
  }
}

void run_rows(const Plan& plan, Buffers& buffers, int64_t begin, int64_t end) {
  const LoopNest& nest = plan.nest;
  const int count = nest.operands();
  bool all_direct = true;
  for (int k = 0; k < count; ++k) all_direct = all_direct && plan.args[k].run_direct;
  LoopCursor cursor(nest, begin);
  for (int64_t left = end - begin; left > 0;) {
    const int64_t n = cursor.run_length() < left ? cursor.run_length() : left;
    if (all_direct) {
      plan.loop(cursor.data(), n, plan.context);
    } else {
      for (int k = plan.outputs; k < count; ++k) {
        if (!plan.args[k].run_direct && nest.byte_stride(k, 0) == 0) {
          load_run(plan.args[k], cursor.data(k), 0, n < plan.chunk ? n : plan.chunk, buffers.raw, buffers.compute[k]);
        }
      }
      for (int64_t i = 0; i < n; i += plan.chunk) {
        const int64_t m = n - i < plan.chunk ? n - i : plan.chunk;
        char* data[kMaxOperands];
        StreamedPiece piece;
        for (int k = 0; k < count; ++k) {
          const ArgPlan& a = plan.args[k];
          const int64_t stride = nest.byte_stride(k, 0);
          char* at = cursor.data(k) + i * stride;
          data[k] = a.run_direct ? at : buffers.compute[k];
          if (plan.any_streams && k >= plan.outputs && stride == a.item_size) piece.reads(at);
          if (k >= plan.outputs && !a.run_direct && stride != 0) load_run(a, at, stride, m, buffers.raw, data[k]);
        }
        plan.loop(data, m, plan.context);
        for (int k = 0; k < plan.outputs; ++k) {
          const int64_t stride = nest.byte_stride(k, 0);
          if (!plan.args[k].run_direct) {
            store_run(plan.args[k], data[k], buffers.raw, cursor.data(k) + i * stride, stride, m, piece);
          }
        }
      }
    }
    left -= n;
    if (left > 0) cursor.advance(n);
  }
}

void run_flat(const Plan& plan, Buffers& buffers, int64_t begin, int64_t end) {
  const LoopNest& nest = plan.nest;
  const int count = nest.operands();
  for (int64_t i = begin; i < end; i += plan.chunk) {
    const int64_t m = end - i < plan.chunk ? end - i : plan.chunk;
    char* data[kMaxOperands];
    StreamedPiece piece;
    for (int k = 0; k < count; ++k) {
      const ArgPlan& a = plan.args[k];
      if (plan.any_streams && k >= plan.outputs && a.contiguous) piece.reads(nest.data(k) + i * a.item_size);
      if (a.flat_direct) {
        data[k] = nest.data(k) + i * a.item_size;
        continue;
      }
      data[k] = buffers.compute[k];
      if (k < plan.outputs) continue;
      if (a.contiguous) {
        load_run(a, nest.data(k) + i * a.item_size, a.item_size, m, buffers.raw, data[k]);
        continue;
      }
      char* raw = a.converts ? buffers.raw : data[k];
      const int64_t stride = nest.byte_stride(k, 0);
      walk(nest, k, i, m, [&](const char* from, int64_t n, int64_t done) {
        gather_run(raw + done * a.item_size, from, stride, n, a.item_size);
      });
      if (a.converts) convert(a.to_compute, data[k], raw, m);
    }
    plan.loop(data, m, plan.context);
    for (int k = 0; k < plan.outputs; ++k) {
      const ArgPlan& a = plan.args[k];
      if (a.flat_direct) continue;
      if (a.contiguous) {
        store_run(a, data[k], buffers.raw, nest.data(k) + i * a.item_size, a.item_size, m, piece);
        continue;
      }
      const char* raw = data[k];
      if (a.converts) {
        convert(a.from_compute, buffers.raw, data[k], m);
        raw = buffers.raw;
      }
      const int64_t stride = nest.byte_stride(k, 0);
      walk(nest, k, i, m, [&](char* to, int64_t n, int64_t done) {
        scatter_run(to, stride, raw + done * a.item_size, n, a.item_size);
      });
    }
  }
}

void run_range(const Plan& plan, int64_t begin, int64_t end) {
  Buffers buffers;
  if (plan.nest.dim() == 1 || plan.nest.size(0) >= kShortRun) {
    run_rows(plan, buffers, begin, end);
  } else {
    run_flat(plan, buffers, begin, end);
  }
  if (plan.any_streams) stream_fence();
}

bool aliases_input(const LoopNest& nest, int output, int outputs) {
  for (int k = outputs; k < nest.operands(); ++k) {
    if (nest.data(k) == nest.data(output)) return true;
  }
  return false;
}

}  // namespace

c10::ScalarType compute_type(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Half:
    case c10::ScalarType::BFloat16: return c10::ScalarType::Float;
    case c10::ScalarType::Bool:
    case c10::ScalarType::Byte:
    case c10::ScalarType::Char:
    case c10::ScalarType::Short: return c10::ScalarType::Int;
    case c10::ScalarType::UInt16:
    case c10::ScalarType::UInt32:
      return c10::ScalarType::UInt64;
    default:
      return isFloat8Type(dtype) ? c10::ScalarType::Float : dtype;
  }
}

ElementLoop find_loop(const ElementOp& op, c10::ScalarType dtype) {
  if (C10_LIKELY(dtype == c10::ScalarType::Float)) return op.float32.get();
  const auto table = [&]() -> decltype(&op.float32) {
    switch (compute_type(dtype)) {
      case c10::ScalarType::Float: return op.float8 || !isFloat8Type(dtype) ? &op.float32 : nullptr;
      case c10::ScalarType::Double: return &op.float64;
      case c10::ScalarType::Int: return &op.int32;
      case c10::ScalarType::Long: return &op.int64;
      case c10::ScalarType::ComplexFloat: return &op.complex64;
      case c10::ScalarType::ComplexDouble: return &op.complex128;
      case c10::ScalarType::UInt64: return &op.uint64;
      default: return nullptr;
    }
  }();
  return table != nullptr ? table->get() : nullptr;
}

void elementwise(ElementLoop loop, const void* context, const ElementArg* args, int outputs, int count, int64_t grain) {
  TORCH_INTERNAL_ASSERT(loop != nullptr && outputs >= 1 && count <= kMaxOperands);
  Operand operands[kMaxOperands];
  for (int k = 0; k < count; ++k) operands[k] = args[k].operand;
  const LoopNest nest(operands, count);
  const int64_t numel = nest.numel();
  if (numel == 0) return;

#if !KINDLING_FEW_LOOPS
  // All of one dense layout, and of the loop's types.
  bool direct = nest.dim() == 1 && outputs == 1;
  char* data[kMaxOperands];
  int64_t item_sizes[kMaxOperands];
  for (int k = 0; k < count && direct; ++k) {
    data[k] = nest.data(k);
    item_sizes[k] = args[k].operand.item_size;
    direct = args[k].dtype == args[k].compute && nest.byte_stride(k, 0) == item_sizes[k] &&
        is_aligned(data[k], item_sizes[k]);
  }
  if (direct) {
    elementwise_contiguous(loop, context, data, item_sizes, outputs, count, numel, grain);
    return;
  }
#endif

  Plan plan(nest, loop, context, outputs);
  int64_t widest = 1;
  for (int k = 0; k < count; ++k) {
    ArgPlan& a = plan.args[k];
    a.item_size = args[k].operand.item_size;
    a.converts = args[k].dtype != args[k].compute;
    a.compute_size = static_cast<int64_t>(c10::elementSize(args[k].compute));
    if (a.converts) {
      if (k < outputs) {
        a.from_compute = find_conversion(args[k].dtype, args[k].compute);
      } else {
        a.to_compute = find_conversion(args[k].compute, args[k].dtype);
      }
    }
    int64_t expected = a.item_size;
    a.contiguous = true;
    for (int d = 0; d < nest.dim(); ++d) {
      a.contiguous = a.contiguous && nest.byte_stride(k, d) == expected;
      expected *= nest.size(d);
    }
    if (k < outputs && a.contiguous && !a.converts && numel * a.item_size >= stream_threshold_bytes()) {
      a.streams = !aliases_input(nest, k, outputs);
      plan.any_streams = plan.any_streams || a.streams;
    }
    a.aligned = is_aligned(nest.data(k), a.item_size);
    a.run_direct = !a.converts && !a.streams && a.aligned && nest.byte_stride(k, 0) == a.item_size;
    a.flat_direct = !a.converts && !a.streams && a.aligned && a.contiguous;
    widest = widest > a.item_size ? widest : a.item_size;
    widest = widest > a.compute_size ? widest : a.compute_size;
  }
  plan.chunk = (plan.any_streams ? StreamedPiece::kBytes : kBufferBytes) / widest;

  if (numel <= grain) {
    run_range(plan, 0, numel);
    return;
  }
  at::parallel_for(0, numel, grain, [&](int64_t begin, int64_t end) { run_range(plan, begin, end); });
}

void elementwise_contiguous(ElementLoop loop, const void* context, char* const* data, const int64_t* item_sizes,
                            int outputs, int count, int64_t n, int64_t grain) {
  if (n <= grain) {
    if (n > 0) loop(data, n, context);
    return;
  }
  bool streams = outputs == 1 && n * item_sizes[0] >= stream_threshold_bytes();
  for (int k = outputs; k < count; ++k) streams = streams && data[k] != data[0];
  at::parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
    char* at[kMaxOperands];
    if (!streams) {
      for (int k = 0; k < count; ++k) at[k] = data[k] + begin * item_sizes[k];
      loop(at, end - begin, context);
      return;
    }
    alignas(64) char buffer[StreamedPiece::kBytes];
    const int64_t chunk = StreamedPiece::kBytes / item_sizes[0];
    for (int64_t i = begin; i < end; i += chunk) {
      const int64_t m = end - i < chunk ? end - i : chunk;
      at[0] = buffer;
      StreamedPiece piece;
      for (int k = 1; k < count; ++k) {
        at[k] = data[k] + i * item_sizes[k];
        piece.reads(at[k]);
      }
      loop(at, m, context);
      piece.write(data[0] + i * item_sizes[0], buffer, m * item_sizes[0]);
    }
    stream_fence();
  });
}

}  // namespace at::cpu
