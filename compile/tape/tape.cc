#include "compile/tape/tape.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/cast.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/scratch.h"
#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"
#include "compile/tape/nest.h"
#include "compile/tape/program.h"

namespace torch::compiler {
namespace {

using c10::ScalarType;
using tape::Context;
using tape::evaluated;
using tape::kSlotBytes;
using tape::Nest;
using tape::NestOperand;
using tape::operand_of;
using tape::Port;
using tape::Program;

constexpr int64_t kTile = 1024;        // elements that are gathered at a time
constexpr int64_t kLongRun = 256;      // elements of a run that is gone through by itself
constexpr int64_t kGrain = 32768;      // elements worth a thread
constexpr int64_t kRowGrain = 16384;   // the same of rows
constexpr size_t kStackBytes = 16384;  // of a run's temporaries

// How a program gets at an operand.
enum class Access : uint8_t {
  kFlat,     ///< where it is: element after element
  kRun,      ///< the same along each run
  kSame,     ///< one element for all
  kRunSame,  ///< one for each run
  kTile,     ///< copied, a tile at a time
  kPeriod,   ///< copied once, since every tile finds the same
};
constexpr bool is_same(Access access) {
  return access == Access::kSame || access == Access::kRunSame;
}

struct TensorOperand {
  ScalarType dtype;
  int64_t item;
  Access access = Access::kFlat;
  size_t buffer = 0;  // where its copies are among a thread's
};

// What a port of a program is: one of the operands, or one of the buffers between the two programs around a row.
struct Connected {
  std::unique_ptr<Program> program;
  std::vector<size_t> ports;
};

constexpr size_t kMostPorts = 64;

// A thread's state of a program.
class Worker {
 public:
  Worker(const Connected& connected, char* const* data) : connected_(connected), data_(data) {
    if (connected.program == nullptr) return;
    const Program& program = *connected.program;
    const size_t needed = program.temporary_bytes() + connected.ports.size() * static_cast<size_t>(kSlotBytes);
    char* memory = stack_;
    if (needed > kStackBytes) {
      heap_.emplace(needed);
      memory = heap_->as<char>();
    }
    program.prepare(context_, memory);
    staging_ = memory + program.temporary_bytes();
  }

  // The program on m elements, which are where data[port] says.
  void run(int64_t m) {
    if (connected_.program == nullptr) return;
    const Program& program = *connected_.program;
    const int64_t step = program.elements_of_step();
    const size_t ports = connected_.ports.size();
    for (size_t k = 0; k < ports; ++k) context_.at[k] = data_[connected_.ports[k]];
    if (m < step) return run_part(m);
    program.run(context_, 0, m / step);
    // The last elements once more with those before them: the same results in the same places.
    if (m % step != 0) program.run(context_, m - step, 1);
  }

 private:
  // Less than a step: on copies.
  void run_part(int64_t m) {
    const Program& program = *connected_.program;
    const size_t inputs = program.inputs().size(), ports = connected_.ports.size();
    const auto item_of = [&](size_t k) {
      return static_cast<int64_t>(
          c10::elementSize(k < inputs ? program.inputs()[k].dtype : program.outputs()[k - inputs].dtype));
    };
    for (size_t k = 0; k < ports; ++k) {
      if (k < inputs && program.inputs()[k].same) continue;
      char* const slot = staging_ + k * static_cast<size_t>(kSlotBytes);
      if (k < inputs) {
        const int64_t item = item_of(k);
        std::memcpy(slot, context_.at[k], static_cast<size_t>(m * item));
        at::cpu::fill_run(slot + m * item, context_.at[k], program.elements_of_step() - m, item);
      }
      context_.at[k] = slot;
    }
    program.run(context_, 0, 1);
    for (size_t k = inputs; k < ports; ++k) {
      std::memcpy(data_[connected_.ports[k]], context_.at[k], static_cast<size_t>(m * item_of(k)));
    }
  }

  const Connected& connected_;
  char* const* data_;
  char* staging_ = nullptr;
  Context context_;
  alignas(64) char stack_[kStackBytes];
  std::optional<at::cpu::Scratch> heap_;
};

}  // namespace

struct Tape::Impl {
  Group group;  // its constants live here
  std::vector<int64_t> sizes;
  std::vector<TensorOperand> operands;  // inputs, then outputs
  std::optional<Nest> nest;
  bool long_runs = false;
  int64_t unit = 1;  // ranges of threads begin at multiples of so many elements
  int64_t tile = INT64_MAX;
  size_t buffer_bytes = 0;

  // All operations, or those before the row and those behind it.
  Connected before, after;
  int64_t row = 0;                  // its elements
  std::vector<size_t> row_buffers;  // where they are: the row, its result in its dtype, what goes past it
  // What the row is read from, where it is computed, and what it goes to in its own dtype, which may be the same.
  size_t row_source = 0, row_wide = 0, row_target = 0;

  Impl(const Group& g, const std::map<std::string, int64_t>& symbols, const TapeOptions& options) : group(g) {
    sizes = evaluated(group.sizes, symbols);
    std::vector<NestOperand> strides;
    for (const GroupInput& input : group.inputs) strides.push_back(add(input.info, symbols));
    for (const GroupOutput& output : group.outputs) {
      TORCH_CHECK_VALUE(evaluated(output.info.sizes, symbols) == sizes, "an output of a group has other sizes than it");
      strides.push_back(add(output.info, symbols));
    }
    TORCH_CHECK_VALUE(!group.outputs.empty() && operands.size() + 8 <= kMostPorts, "a group reads and writes ",
                      operands.size(), " tensors");
    size_t fixed = 0;
    if (group.row.has_value()) {
      TORCH_CHECK_VALUE(group.row->dims > 0 && static_cast<size_t>(group.row->dims) <= sizes.size(), "a row of ",
                        group.row->dims, " dimensions in a group of ", sizes.size());
      fixed = static_cast<size_t>(group.row->dims);
      row = 1;
      for (size_t d = sizes.size() - fixed; d < sizes.size(); ++d) row *= sizes[d];
    }
    nest.emplace(sizes, strides, group.inputs.size(), fixed);
    if (nest->numel() == 0) return;
    choose_access();
    row > 0 ? connect_row(options) : connect(options);
  }

  NestOperand add(const graph::TensorInfo& info, const std::map<std::string, int64_t>& symbols) {
    TORCH_CHECK_VALUE(register_type(info.dtype) != ScalarType::Undefined, "a group cannot take elements of ",
                      info.dtype);
    NestOperand operand = operand_of(info, sizes, symbols);
    operands.push_back({info.dtype, operand.item});
    return operand;
  }
  size_t add_buffer(int64_t bytes) {
    const size_t at = buffer_bytes;
    buffer_bytes += (static_cast<size_t>(bytes) + 63 + 64) / 64 * 64;
    return at;
  }
  bool is_output(size_t k) const { return k >= group.inputs.size(); }

  void choose_access() {
    long_runs = nest->dims() <= 1 || nest->run() >= std::max(kLongRun, row);
    int64_t period = 1;
    bool tiles = row > 0;
    for (size_t k = 0; k < operands.size(); ++k) {
      Access& access = operands[k].access;
      access = Access::kTile;
      if (nest->is_flat(k)) {
        access = Access::kFlat;
      } else if (!is_output(k) && nest->is_same(k)) {
        access = Access::kSame;
      } else if (long_runs && nest->run_stride(k) == operands[k].item) {
        access = Access::kRun;
      } else if (long_runs && nest->run_stride(k) == 0 && !is_output(k)) {
        access = Access::kRunSame;
      } else if (const int64_t own = long_runs || is_output(k) ? 0 : nest->period(k); own > 0 && own <= kTile) {
        access = Access::kPeriod;
        period = std::max(period, own);
      }
      tiles = tiles || access == Access::kTile || access == Access::kPeriod;
    }
    // Periods and rows are products of the innermost sizes: the smaller divides the larger.
    const int64_t least = std::max(period, row);
    if (tiles) tile = std::max<int64_t>(1, kTile / least) * least;
    unit = long_runs ? std::max<int64_t>(row, 1) : tiles ? tile : 1;
    for (TensorOperand& operand : operands) {
      if (is_same(operand.access)) operand.buffer = add_buffer(kSlotBytes);
      if (operand.access == Access::kTile || operand.access == Access::kPeriod) {
        operand.buffer = add_buffer(std::min(tile, nest->numel()) * operand.item);
      }
    }
  }

  // --- programs ---

  struct Ports {
    std::vector<Port> inputs, outputs;
    std::vector<size_t> input_places, output_places;
  };
  // All tensors that are read.
  Ports reading() const {
    Ports ports;
    for (size_t k = 0; k < group.inputs.size(); ++k) {
      ports.inputs.push_back(
          {{Ref::Kind::kInput, static_cast<uint32_t>(k)}, operands[k].dtype, is_same(operands[k].access)});
      ports.input_places.push_back(k);
    }
    return ports;
  }
  void write_output(Ports& ports, size_t i) const {
    const size_t k = group.inputs.size() + i;
    ports.outputs.push_back({group.outputs[i].value, operands[k].dtype});
    ports.output_places.push_back(k);
  }
  Connected made(Ports ports, const TapeOptions& options) const {
    Connected connected;
    if (ports.outputs.empty()) return connected;
    connected.ports = std::move(ports.input_places);
    connected.ports.insert(connected.ports.end(), ports.output_places.begin(), ports.output_places.end());
    connected.program = std::make_unique<Program>(group, std::move(ports.inputs), std::move(ports.outputs),
                                                  tape::ProgramOptions{options.registers});
    return connected;
  }

  void connect(const TapeOptions& options) {
    Ports ports = reading();
    for (size_t i = 0; i < group.outputs.size(); ++i) write_output(ports, i);
    before = made(std::move(ports), options);
  }

  void connect_row(const TapeOptions& options) {
    const RowOperation& r = *group.row;
    const ScalarType type = register_type(r.dtype);
    TORCH_CHECK_VALUE((type == ScalarType::Float || type == ScalarType::Double) && group.type_of(r.operand) == type &&
                          group.row_begin <= group.operations.size(),
                      "a group's row is of ", r.dtype, " and reads ", group.dtype_of(r.operand));
    Ports first = reading(), second = reading();
    const int64_t elements = std::min(tile, nest->numel());
    const auto buffer = [&](ScalarType dtype) {
      row_buffers.push_back(add_buffer(elements * static_cast<int64_t>(c10::elementSize(dtype))));
      return operands.size() + row_buffers.size() - 1;
    };
    const bool alone = group.outputs.size() == 1 && group.outputs[0].value.kind == Ref::Kind::kRow;
    // Where nothing comes behind it, in the output's memory, which is fetched while the row is being made.
    const bool in_output = alone && r.dtype == type;
    const size_t output = group.inputs.size();
    row_wide = in_output ? output : buffer(type);
    if (r.operand.kind == Ref::Kind::kInput && operands[r.operand.index].dtype == type &&
        !is_same(operands[r.operand.index].access)) {
      row_source = r.operand.index;
    } else {
      row_source = row_wide;
      first.outputs.push_back({r.operand, type});
      first.output_places.push_back(row_wide);
    }
    if (alone) {
      row_target = output;
      before = made(std::move(first), options);
      return;
    }
    row_target = r.dtype == type ? row_wide : buffer(r.dtype);
    second.inputs.push_back({{Ref::Kind::kRow, 0}, r.dtype});
    second.input_places.push_back(row_target);
    // What the epilogue reads of what stands before the row.
    std::vector<Ref> passed;
    for (size_t i = group.row_begin; i < group.operations.size(); ++i) {
      for (const Ref ref : group.operations[i].operands) {
        const bool early = ref.kind == Ref::Kind::kOperation && ref.index < group.row_begin;
        if (early && std::find(passed.begin(), passed.end(), ref) == passed.end()) passed.push_back(ref);
      }
    }
    for (const Ref ref : passed) {
      const ScalarType dtype = group.dtype_of(ref);
      const size_t place = buffer(dtype);
      first.outputs.push_back({ref, dtype});
      first.output_places.push_back(place);
      second.inputs.push_back({ref, dtype});
      second.input_places.push_back(place);
    }
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      const Ref value = group.outputs[i].value;
      const bool late =
          value.kind == Ref::Kind::kRow || (value.kind == Ref::Kind::kOperation && value.index >= group.row_begin);
      write_output(late ? second : first, i);
    }
    TORCH_CHECK_VALUE(first.inputs.size() + first.outputs.size() <= kMostPorts &&
                          second.inputs.size() + second.outputs.size() <= kMostPorts &&
                          operands.size() + row_buffers.size() <= 2 * kMostPorts,
                      "a group has too many values that go past its row");
    before = made(std::move(first), options);
    after = made(std::move(second), options);
  }

  // --- runs ---

  // An input whose sizes are the row's, as an array of the row's type; null where there is none.
  const void* along_row(std::optional<Ref> ref, char* const* data, std::optional<at::cpu::Scratch>& memory) const {
    if (!ref.has_value()) return nullptr;
    const size_t k = ref->index;
    const ScalarType type = register_type(group.row->dtype);
    const auto size = static_cast<int64_t>(c10::elementSize(type));
    if (operands[k].dtype == type && nest->run() >= row && nest->run_stride(k) == operands[k].item) return data[k];
    memory.emplace(static_cast<size_t>(row * (size + operands[k].item)));
    char* const wide = memory->as<char>();
    char* const raw = wide + row * size;
    nest->for_runs(k, 0, row, [&](int64_t offset, int64_t n, int64_t done) {
      at::cpu::gather_run(raw + done * operands[k].item, data[k] + offset, nest->run_stride(k), n, operands[k].item);
    });
    at::cpu::convert(at::cpu::find_conversion(type, operands[k].dtype), wide, raw, row);
    return wide;
  }

  template <class T>
  void rows_of(const T* from, T* to, int64_t rows, const void* weight, const void* bias) const {
    switch (group.row->function) {
      case RowFunction::kSoftmax:
        return at::cpu::softmax_rows(from, to, rows, row);
      case RowFunction::kLogSoftmax:
        return at::cpu::log_softmax_rows(from, to, rows, row);
      case RowFunction::kLayerNorm:
        for (int64_t r = 0; r < rows; ++r) {
          T mean, rstd;
          at::cpu::layer_norm_row(from + r * row, static_cast<const T*>(weight), static_cast<const T*>(bias),
                                  to + r * row, row, group.row->eps, &mean, &rstd);
        }
        return;
    }
  }
  // The elements at data[row's buffer] or its source go to its target.
  void run_row(char* const* data, int64_t elements, const void* weight, const void* bias) const {
    const ScalarType dtype = group.row->dtype, type = register_type(dtype);
    const char* const from = data[row_source];
    char* const to = data[row_wide];
    const int64_t rows = elements / row;
    if (type == ScalarType::Double) {
      rows_of(reinterpret_cast<const double*>(from), reinterpret_cast<double*>(to), rows, weight, bias);
    } else {
      rows_of(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), rows, weight, bias);
    }
    if (type != dtype) at::cpu::convert(at::cpu::find_conversion(dtype, type), data[row_target], to, elements);
  }

  void run_range(char* const* base, const void* weight, const void* bias, int64_t begin, int64_t end) const {
    std::optional<at::cpu::Scratch> memory;
    if (buffer_bytes > 0) memory.emplace(buffer_bytes);
    char* const buffers = buffer_bytes > 0 ? memory->as<char>() : nullptr;
    char* data[2 * kMostPorts];
    Worker first(before, data), second(after, data);
    const size_t count = operands.size();
    for (size_t b = 0; b < row_buffers.size(); ++b) data[count + b] = buffers + row_buffers[b];
    for (size_t k = 0; k < count; ++k) {
      const TensorOperand& operand = operands[k];
      if (operand.access != Access::kFlat && operand.access != Access::kRun) data[k] = buffers + operand.buffer;
      if (operand.access == Access::kSame) at::cpu::fill_run(data[k], base[k], tape::kMostElements, operand.item);
    }
    const int64_t run = nest->run();
    for (int64_t i = begin; i < end;) {
      int64_t n = std::min(tile, end - i);
      if (long_runs) n = std::min(n, run - i % run);
      for (size_t k = 0; k < count; ++k) {
        const TensorOperand& operand = operands[k];
        switch (operand.access) {
          case Access::kFlat:
            data[k] = base[k] + i * operand.item;
            break;
          case Access::kRun:
            data[k] = base[k] + nest->offset(k, i);
            break;
          case Access::kSame:
            break;
          case Access::kRunSame:
            if (i == begin || i % run == 0) {
              at::cpu::fill_run(data[k], base[k] + nest->offset(k, i), tape::kMostElements, operand.item);
            }
            break;
          case Access::kPeriod:
            if (i != begin) break;
            [[fallthrough]];
          case Access::kTile:
            if (!is_output(k)) gather(k, base[k], i, n, data[k]);
            break;
        }
      }
      first.run(n);
      if (row > 0) {
        run_row(data, n, weight, bias);
        second.run(n);
      }
      for (size_t k = group.inputs.size(); k < count; ++k) {
        if (operands[k].access == Access::kTile) scatter(k, base[k], i, n, data[k]);
      }
      i += n;
    }
  }
  void gather(size_t k, const char* base, int64_t index, int64_t count, char* to) const {
    const int64_t item = operands[k].item, stride = nest->run_stride(k);
    nest->for_runs(k, index, count, [&](int64_t offset, int64_t n, int64_t done) {
      at::cpu::gather_run(to + done * item, base + offset, stride, n, item);
    });
  }
  void scatter(size_t k, char* base, int64_t index, int64_t count, const char* from) const {
    const int64_t item = operands[k].item, stride = nest->run_stride(k);
    nest->for_runs(k, index, count, [&](int64_t offset, int64_t n, int64_t done) {
      at::cpu::scatter_run(base + offset, stride, from + done * item, n, item);
    });
  }

  void run(c10::ArrayRef<const void*> inputs, c10::ArrayRef<void*> outputs) const {
    char* base[kMostPorts];
    size_t k = 0, given = 0;
    for (const GroupInput& input : group.inputs) {
      const void* const from =
          input.constant.isNone() ? inputs.at(given++) : input.constant.toTensor().const_data_ptr();
      base[k++] = static_cast<char*>(const_cast<void*>(from));
    }
    TORCH_CHECK(given == inputs.size() && outputs.size() == group.outputs.size(), "a group with ", given,
                " inputs and ", group.outputs.size(), " outputs got ", inputs.size(), " and ", outputs.size());
    for (void* const to : outputs) base[k++] = static_cast<char*>(to);
    const int64_t numel = nest->numel();
    if (numel == 0) return;
    std::optional<at::cpu::Scratch> weight_memory, bias_memory;
    const void *weight = nullptr, *bias = nullptr;
    if (row > 0) {
      weight = along_row(group.row->weight, base, weight_memory);
      bias = along_row(group.row->bias, base, bias_memory);
    }
    const int64_t grain = row > 0 ? kRowGrain : kGrain;
    if (numel <= grain) return run_range(base, weight, bias, 0, numel);
    const int64_t units = (numel + unit - 1) / unit;
    at::parallel_for(0, units, std::max<int64_t>(1, grain / unit), [&](int64_t begin, int64_t end) {
      run_range(base, weight, bias, begin * unit, std::min(end * unit, numel));
    });
  }
};

Tape::Tape(const Group& group, const std::map<std::string, int64_t>& symbols, const TapeOptions& options)
    : impl_(std::make_unique<const Impl>(group, symbols, options)) {}
Tape::~Tape() = default;
Tape::Tape(Tape&&) noexcept = default;
Tape& Tape::operator=(Tape&&) noexcept = default;

void Tape::run(c10::ArrayRef<const void*> inputs, c10::ArrayRef<void*> outputs) const {
  impl_->run(inputs, outputs);
}

size_t Tape::bytes() const {
  size_t total = sizeof(Impl);
  for (const Connected* connected : {&impl_->before, &impl_->after}) {
    if (connected->program != nullptr) total += connected->program->bytes();
  }
  return total;
}

}  // namespace torch::compiler
