// The operations of a group as instructions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "aten/cpu/pointwise.h"
#include "compile/group/group.h"
#include "compile/tape/machine.h"

namespace torch::compiler::tape {

/// What a program reads or writes: elements of `dtype`, one after the other. The driver says where they are: port k is
/// slot k of the context.
struct Port {
  Ref value;
  c10::ScalarType dtype;
  /// Of an input: one element for all of them, of which the slot holds kMostElements.
  bool same = false;
};

struct ProgramOptions {
  /// Whether the accumulator is used; else each operation is its loop's call.
  bool registers = true;
};

class Program {
 public:
  /// The operations that the outputs depend on, as far as the inputs do not give their values. Ports are numbered
  /// inputs first.
  Program(const Group& group, std::vector<Port> inputs, std::vector<Port> outputs, const ProgramOptions& options);

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  bool empty() const { return outputs_.empty(); }
  /// What it holds in memory.
  size_t bytes() const { return code_.size() * sizeof(Instruction) + constants_.size() * sizeof(Constant); }
  /// Of the memory, 64-byte aligned, that a run needs.
  size_t temporary_bytes() const { return temporaries_ * static_cast<size_t>(kSlotBytes); }
  /// Fills in the slots behind the ports.
  void prepare(Context& context, char* temporaries) const;
  void run(Context& context, int64_t first, int64_t steps) const { machine_.run(code_.data(), context, first, steps); }
  int64_t elements_of_step() const { return machine_.elements; }

 private:
  // Where a value is in memory, in the form that registers have.
  struct Place {
    uint16_t slot = 0;
    uint16_t bytes = 0;
  };
  using Key = uint64_t;
  static Key key_of(Ref ref) { return static_cast<uint64_t>(ref.kind) << 32 | ref.index; }

  void find_needed();
  void mark(Ref ref);
  Ref resolved(Ref ref) const;
  bool is_given(Ref ref) const { return ports_.count(key_of(ref)) > 0; }

  Instruction& emit(Instruction::Code code) {
    code_.emplace_back();
    code_.back().code = code;
    return code_.back();
  }
  void set_slot(Instruction& one, int k, Place place) {
    one.slot[k] = place.slot;
    one.bytes[k] = place.bytes;
  }
  uint16_t temporary();
  void release(Ref ref);
  bool in_accumulator(Ref ref) const { return accumulated_ && accumulator_ == ref; }
  bool in_memory(Ref ref);
  bool awaits_load(Ref ref);
  void save_accumulator();
  void load(Ref ref);
  Place place_of(Ref ref);
  Place own_constant(uint32_t index);
  Instruction convert(Place to, c10::ScalarType to_type, Place from, c10::ScalarType from_type);
  const void* parameters_of(const Operation& op);

  bool runs_in_registers(const Operation& op) const;
  void operation(uint32_t index);
  void register_operation(const Operation& op, Ref result);
  void called_operation(const Operation& op, Ref result);
  void settle(Ref result, Place place, c10::ScalarType type, c10::ScalarType dtype);
  void write_outputs(Ref result);

  const Group& group_;  // read while it is assembled, not afterwards
  std::vector<Port> inputs_, outputs_;
  ProgramOptions options_;
  const Machine& machine_;
  std::vector<Instruction> code_;

  struct alignas(64) Constant {
    char bytes[kSlotBytes];
  };
  std::vector<std::unique_ptr<Constant>> constants_;
  std::map<uint32_t, Place> constant_places_;
  std::vector<std::unique_ptr<at::pointwise::Params>> parameters_;
  std::vector<std::unique_ptr<at::cpu::Conversion>> conversions_;

  std::map<Key, size_t> ports_;  // inputs by their values
  std::map<Key, int> uses_;      // that are still to come
  std::vector<bool> needed_;     // operations
  std::map<Key, Place> places_;  // of values in temporaries and outputs
  std::vector<uint16_t> free_;
  std::map<Key, uint16_t> owned_;  // temporaries by the values in them
  std::vector<bool> written_;      // outputs
  bool accumulated_ = false;
  Ref accumulator_{Ref::Kind::kInput, 0};
  size_t temporaries_ = 0;
};

}  // namespace torch::compiler::tape
