#include "aten/ops/foreach/multi_tensor.h"

#include <algorithm>
#include <cstring>

#include "aten/core/empty.h"
#include "aten/core/structured.h"
#include "aten/cpu/cast.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/streamed_rows.h"
#include "aten/cuda/elementwise_call.h"
#include "aten/cuda/foreach/list_call.h"
#include "c10/parallel/parallel.h"

namespace at::foreach {
namespace {

constexpr int64_t kBufferBytes = 4096;
constexpr int64_t kReducePiece = 65536;
constexpr int kMaxInputs = 3;

// One element of any compute type.
struct alignas(16) Number {
  char bytes[16];
};

// Whether the lists may be read or written as runs of elements: see the header.
bool are_runs(std::initializer_list<TensorList> lists, bool one_dtype) {
  const TensorList first = *lists.begin();
  for (const TensorList& list : lists) {
    if (&list != lists.begin() && list.data() == first.data()) continue;
    for (size_t i = 0; i < list.size(); ++i) {
      const Tensor& t = list[i];
      if (!t.defined()) return false;
      const Tensor& like = one_dtype ? first[0] : list[0];
      if (t.scalar_type() != like.scalar_type() || t.device() != first[0].device()) return false;
      if (!is_run(t) || t.sizes() != first[i].sizes() || !same_layout(t, first[i])) return false;
    }
  }
  return true;
}

struct Extent {
  const char* begin;
  const char* end;
};
Extent extent_of(const Tensor& t) {
  const char* data = static_cast<const char*>(t.const_data_ptr());
  return {data, data + t.numel() * static_cast<int64_t>(t.itemsize())};
}

// Whether no tensor of `out` shares memory with another one, nor with an input other than exactly its own.
bool written_apart(TensorList out, std::initializer_list<TensorList> inputs) {
  std::vector<Extent> extents;
  extents.reserve(out.size());
  for (const Tensor& t : out) {
    if (t.numel() > 0) extents.push_back(extent_of(t));
  }
  const auto before = [](const Extent& a, const Extent& b) { return a.begin < b.begin; };
  if (!std::is_sorted(extents.begin(), extents.end(), before)) std::sort(extents.begin(), extents.end(), before);
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].begin < extents[i - 1].end) return false;
  }
  // Lists that were made in one go lie in one order: the gap between two extents where an input lies is mostly the last
  // one's.
  size_t gap = 0;
  const auto lies_in_gap = [&](const Extent& e, size_t g) {
    return g <= extents.size() && (g == 0 || extents[g - 1].end <= e.begin) &&
           (g == extents.size() || e.end <= extents[g].begin);
  };
  for (const TensorList& list : inputs) {
    if (list.data() == out.data()) continue;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].numel() == 0) continue;
      const Extent e = extent_of(list[i]);
      if (lies_in_gap(e, gap) || lies_in_gap(e, ++gap)) continue;
      const Extent own = extent_of(out[i]);
      if (e.begin == own.begin && e.end == own.end && list[i].scalar_type() == out[i].scalar_type()) continue;
      gap = static_cast<size_t>(std::lower_bound(extents.begin(), extents.end(), e.begin,
                                                 [](const Extent& x, const char* at) { return x.begin < at; }) -
                                extents.begin());
      if (!lies_in_gap(e, gap)) return false;
    }
  }
  return true;
}

// Bools, which not every operator takes, are left to the operators.
bool fits_operand(const Scalar& number, const Tensor& t) {
  return !number.isBoolean() && at::pointwise::promoted_type({t, number}) == t.scalar_type();
}
bool fits_parameter(const Scalar& number, ScalarType dtype) {
  if (number.isBoolean() || (number.isComplex() && !isComplexType(dtype))) return false;
  return number.isIntegral(false) || !isIntegralType(dtype, true);
}
Number in_compute_type(const Scalar& number, ScalarType compute) {
  Number n;
  std::memcpy(n.bytes, at::pointwise::Params(compute, {number}).get(), sizeof(n.bytes));
  return n;
}

// A call in terms of raw memory.
struct Plan {
  struct Part {
    char* data[1 + kMaxInputs];  // null: the number
    const Number* number;
    const Number* parameter;
  };
  cpu::ElementLoop loop = nullptr;
  int operands = 1;  // with the result
  bool has_number = false;
  bool streams = false;
  cpu::Conversion to_compute[1 + kMaxInputs];  // [0]: from it, for the result
  bool converts = false;
  int64_t item_size[1 + kMaxInputs] = {};
  int64_t compute_size = 0;
  std::vector<Part> parts;
  std::vector<int64_t> starts;  // parts and the end
};

void run_part(const Plan& plan, const Plan::Part& part, int64_t begin, int64_t n, char (*buffers)[kBufferBytes]) {
  const int64_t chunk = (plan.streams ? cpu::StreamedPiece::kBytes : kBufferBytes) / plan.compute_size;
  if (!plan.converts && !plan.has_number && !plan.streams) {
    char* data[1 + kMaxInputs];
    for (int k = 0; k < plan.operands; ++k) data[k] = part.data[k] + begin * plan.item_size[k];
    plan.loop(data, n, part.parameter);
    return;
  }
  for (int k = 1; k < plan.operands; ++k) {
    if (part.data[k] == nullptr) {
      cpu::fill_run(buffers[k], part.number->bytes, n < chunk ? n : chunk, plan.compute_size);
    }
  }
  for (int64_t i = 0; i < n; i += chunk) {
    const int64_t m = n - i < chunk ? n - i : chunk;
    char* data[1 + kMaxInputs];
    cpu::StreamedPiece piece;
    for (int k = 0; k < plan.operands; ++k) {
      char* at = part.data[k] == nullptr ? nullptr : part.data[k] + (begin + i) * plan.item_size[k];
      const bool direct = at != nullptr && !plan.converts && !(k == 0 && plan.streams);
      data[k] = direct ? at : buffers[k];
      if (k > 0 && at != nullptr && !direct) cpu::convert(plan.to_compute[k], data[k], at, m);
      if (k > 0 && at != nullptr) piece.reads(at);
    }
    plan.loop(data, m, part.parameter);
    char* to = part.data[0] + (begin + i) * plan.item_size[0];
    if (plan.converts) {
      cpu::convert(plan.to_compute[0], to, data[0], m);
    } else if (plan.streams) {
      piece.write(to, data[0], m * plan.item_size[0]);
    }
  }
}

// Calls f(part, first element, count) for pieces that cover [begin, end) of all parts' elements together.
template <class F>
void for_parts(const std::vector<int64_t>& starts, int64_t begin, int64_t end, const F& f) {
  size_t part = static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), begin) - starts.begin()) - 1;
  for (; begin < end; ++part) {
    const int64_t stop = starts[part + 1] < end ? starts[part + 1] : end;
    if (stop > begin) f(part, begin - starts[part], stop - begin);
    begin = stop;
  }
}

void run(const Plan& plan) {
  at::parallel_for(0, plan.starts.back(), cpu::kPointwiseGrain, [&](int64_t begin, int64_t end) {
    alignas(64) char buffers[1 + kMaxInputs][kBufferBytes];
    for_parts(plan.starts, begin, end,
              [&](size_t part, int64_t first, int64_t n) { run_part(plan, plan.parts[part], first, n, buffers); });
    if (plan.streams) cpu::stream_fence();
  });
}

// Runs the kernels `lists` over CUDA tensors, some fifty a launch; `values` and `parameters` hold one number or one for
// each tensor.
void run_on_cuda(cuda::ListLauncher lists, TensorList out, std::initializer_list<Operand> operands,
                 const std::vector<Number>& values, const std::vector<Number>& parameters) {
  const ScalarType dtype = out[0].scalar_type();
  cuda::ListCall call;
  call.tensors = 0;
  call.first_block[0] = 0;
  const auto flush = [&] {
    if (call.tensors > 0) lists(dtype, call);
    call.tensors = 0;
  };
  const auto put = [](char* to, const std::vector<Number>& numbers, size_t i) {
    if (!numbers.empty()) std::memcpy(to, numbers[numbers.size() == 1 ? 0 : i].bytes, 8);
  };
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].numel() == 0) continue;
    cuda::ListCall::Entry& entry = call.entries[call.tensors];
    entry = {};
    entry.out = out[i].mutable_data_ptr();
    entry.numel = out[i].numel();
    int k = 0;
    for (const Operand& operand : operands) {
      entry.inputs[k++] = operand.numbers().has_value() ? nullptr : operand.tensors()[i].const_data_ptr();
    }
    put(entry.number, values, i);
    put(entry.parameter, parameters, i);
    const auto blocks = static_cast<uint32_t>((entry.numel - 1) / cuda::kListChunk + 1);
    call.first_block[call.tensors + 1] = call.first_block[call.tensors] + blocks;
    if (++call.tensors == cuda::kListTensors || call.first_block[call.tensors] > 1u << 30) flush();
  }
  flush();
}
// Whether run_on_cuda() takes tensors of that dtype by that operator.
bool cuda_takes(const cpu::ElementOp& op, ScalarType dtype) {
  return op.cuda != nullptr && op.cuda->lists != nullptr && isFloatingType(dtype);
}

std::vector<int64_t> starts_of(TensorList tensors) {
  std::vector<int64_t> starts;
  starts.reserve(tensors.size() + 1);
  starts.push_back(0);
  for (const Tensor& t : tensors) starts.push_back(starts.back() + t.numel());
  return starts;
}

}  // namespace

bool pointwise(const cpu::ElementOp& op, std::initializer_list<Operand> operands,
               const std::optional<Numbers>& parameter, std::vector<Tensor>* results) {
  TensorList lists[kMaxInputs];
  int list_count = 0;
  const Numbers* numbers = nullptr;
  for (const Operand& operand : operands) {
    if (operand.numbers().has_value()) {
      numbers = &*operand.numbers();
    } else {
      lists[list_count++] = operand.tensors();
    }
  }
  const TensorList first = lists[0];
  const TensorList second = list_count > 1 ? lists[1] : first, third = list_count > 2 ? lists[2] : first;
  if (!are_runs({first, second, third}, true)) return false;
  const ScalarType dtype = first[0].scalar_type();
  if (dtype == ScalarType::Bool || isFloat8Type(dtype)) return false;
  const ScalarType compute = cpu::compute_type(dtype);
  const bool on_cuda = first[0].is_cuda();
  if (on_cuda && !cuda_takes(op, dtype)) return false;
  Plan plan;
  plan.loop = cpu::find_loop(op, dtype);
  if (plan.loop == nullptr) return false;
  const size_t count = first.size();
  std::vector<Number> values, parameters;
  if (numbers != nullptr) {
    for (size_t i = 0; i < count; ++i) {
      if (!fits_operand((*numbers)[i], first[i])) return false;
    }
    for (size_t i = 0; i < numbers->distinct(count); ++i) values.push_back(in_compute_type((*numbers)[i], compute));
  }
  if (parameter.has_value()) {
    for (size_t i = 0; i < parameter->distinct(count); ++i) {
      if (!fits_parameter((*parameter)[i], dtype)) return false;
      parameters.push_back(in_compute_type((*parameter)[i], compute));
    }
  }
  if (results == nullptr && !written_apart(first, {second, third})) return false;

  if (results == nullptr) {
    structured::mark_written(first);
  } else {
    results->reserve(count);
    for (const Tensor& t : first) {
      results->push_back(t.is_contiguous() ? empty_contiguous(t.sizes(), dtype, t.device())
                                           : empty_with_strides(t.sizes(), t.strides(), dtype, t.device()));
    }
  }
  const TensorList out = results == nullptr ? first : TensorList(*results);
  if (on_cuda) {
    run_on_cuda(op.cuda->lists, out, operands, values, parameters);
    return true;
  }
  plan.operands = 1 + static_cast<int>(operands.size());
  plan.has_number = numbers != nullptr;
  plan.compute_size = static_cast<int64_t>(elementSize(compute));
  plan.converts = compute != dtype;
  for (int k = 0; k < plan.operands; ++k) plan.item_size[k] = static_cast<int64_t>(elementSize(dtype));
  if (plan.converts) {
    plan.to_compute[0] = cpu::find_conversion(dtype, compute);
    for (int k = 1; k < plan.operands; ++k) plan.to_compute[k] = cpu::find_conversion(compute, dtype);
  }
  plan.starts = starts_of(first);
  plan.streams =
      results != nullptr && !plan.converts && plan.starts.back() * plan.item_size[0] >= cpu::stream_threshold_bytes();
  plan.parts.resize(count);
  for (size_t i = 0; i < count; ++i) {
    Plan::Part& part = plan.parts[i];
    part.data[0] = static_cast<char*>(out[i].mutable_data_ptr());
    int k = 1;
    for (const Operand& operand : operands) {
      part.data[k++] = operand.numbers().has_value()
                           ? nullptr
                           : const_cast<char*>(static_cast<const char*>(operand.tensors()[i].const_data_ptr()));
    }
    part.number = values.empty() ? nullptr : &values[values.size() == 1 ? 0 : i];
    part.parameter = parameters.empty() ? nullptr : &parameters[parameters.size() == 1 ? 0 : i];
  }
  run(plan);
  return true;
}

bool zero(TensorList self) {
  if (!are_runs({self}, true) || !written_apart(self, {})) return false;
  structured::mark_written(self);
  const std::vector<int64_t> starts = starts_of(self);
  const auto item_size = static_cast<int64_t>(self[0].itemsize());
  at::parallel_for(0, starts.back(), cpu::kPointwiseGrain, [&](int64_t begin, int64_t end) {
    for_parts(starts, begin, end, [&](size_t i, int64_t first, int64_t n) {
      std::memset(static_cast<char*>(self[i].mutable_data_ptr()) + first * item_size, 0,
                  static_cast<size_t>(n * item_size));
    });
  });
  return true;
}

bool copy(TensorList self, TensorList src) {
  if (!are_runs({self, src}, false) || !written_apart(self, {src})) return false;
  structured::mark_written(self);
  const std::vector<int64_t> starts = starts_of(self);
  const cpu::Conversion conversion = cpu::find_conversion(self[0].scalar_type(), src[0].scalar_type());
  const auto to_size = static_cast<int64_t>(self[0].itemsize()), from_size = static_cast<int64_t>(src[0].itemsize());
  at::parallel_for(0, starts.back(), cpu::kPointwiseGrain, [&](int64_t begin, int64_t end) {
    for_parts(starts, begin, end, [&](size_t i, int64_t first, int64_t n) {
      char* to = static_cast<char*>(self[i].mutable_data_ptr()) + first * to_size;
      const char* from = static_cast<const char*>(src[i].const_data_ptr()) + first * from_size;
      if (to != from) cpu::convert(conversion, to, from, n);
    });
  });
  return true;
}

bool reduce(const cpu::ReduceKernel* kernel, const cpu::ReduceParams& params, TensorList self,
            std::vector<Tensor>& results) {
  if (kernel == nullptr || kernel->ordered || !are_runs({self}, true)) return false;
  struct alignas(16) State {
    char bytes[64];
  };
  struct Piece {
    size_t tensor;
    int64_t first, n;
  };
  std::vector<Piece> pieces;
  std::vector<int64_t> starts;
  int64_t total = 0;
  for (size_t i = 0; i < self.size(); ++i) {
    const int64_t n = self[i].numel();
    if (n == 0) return false;
    for (int64_t first = 0; first < n; first += kReducePiece) {
      pieces.push_back({i, first, n - first < kReducePiece ? n - first : kReducePiece});
      starts.push_back(total);
      total += pieces.back().n;
    }
  }
  results.reserve(self.size());
  for (size_t i = 0; i < self.size(); ++i) results.push_back(empty_contiguous({}, params.out_type));
  const auto item_size = static_cast<int64_t>(self[0].itemsize());
  std::vector<State> states(pieces.size());
  // A piece belongs to the range that its first element is in: pieces, and so results, do not depend on the threads.
  at::parallel_for(0, total, cpu::kPointwiseGrain, [&](int64_t begin, int64_t end) {
    for (auto p = static_cast<size_t>(std::lower_bound(starts.begin(), starts.end(), begin) - starts.begin());
         p < pieces.size() && starts[p] < end; ++p) {
      const Piece& piece = pieces[p];
      const char* data = static_cast<const char*>(self[piece.tensor].const_data_ptr()) + piece.first * item_size;
      kernel->init(&states[p], 1);
      kernel->accumulate(&states[p], data, 1, 0, piece.n, item_size, piece.first, params);
    }
  });
  for (size_t p = 0; p < pieces.size();) {
    State& state = states[p];
    const size_t tensor = pieces[p].tensor;
    for (++p; p < pieces.size() && pieces[p].tensor == tensor; ++p) kernel->combine(&state, &states[p], 1);
    kernel->finish(&state, 1, static_cast<char*>(results[tensor].mutable_data_ptr()), 0, nullptr, 0, params);
  }
  return true;
}

}  // namespace at::foreach
