#include "compile/tape/program.h"

#include <algorithm>
#include <utility>

#include "aten/cpu/loops/loops.h"
#include "aten/cpu/loops/select.h"
#include "c10/util/exception.h"

namespace torch::compiler::tape {
namespace {

using c10::ScalarType;

// Constants stand behind the ports, temporaries behind all constants that there may be.
constexpr size_t kFirstTemporary = 320;

at::pointwise::Params params(ScalarType type, const std::vector<c10::Scalar>& numbers) {
  switch (numbers.size()) {
    case 0:
      return {type, {}};
    case 1:
      return {type, {numbers[0]}};
    case 2:
      return {type, {numbers[0], numbers[1]}};
    case 3:
      return {type, {numbers[0], numbers[1], numbers[2]}};
    default:
      TORCH_CHECK_VALUE(numbers.size() == 4, "an operation has ", numbers.size(), " parameters");
      return {type, {numbers[0], numbers[1], numbers[2], numbers[3]}};
  }
}

uint16_t size_of(ScalarType type) {
  return static_cast<uint16_t>(c10::elementSize(type));
}

// The loop of truth values.
at::cpu::ElementLoop loop_of_bools(Primitive primitive) {
  switch (primitive) {
    case Primitive::kLogicalAnd:
      return at::cpu::loops::bool_and.get();
    case Primitive::kLogicalOr:
      return at::cpu::loops::bool_or.get();
    case Primitive::kLogicalXor:
      return at::cpu::loops::bool_xor.get();
    case Primitive::kLogicalNot:
      return at::cpu::loops::bool_not.get();
    default:
      return nullptr;
  }
}
at::cpu::ElementLoop loop_of(const Operation& op) {
  at::cpu::ElementLoop loop = nullptr;
  if (op.primitive == Primitive::kWhere) {
    loop = at::cpu::select_loop(size_of(op.type));
  } else if (op.type == ScalarType::Bool) {
    loop = loop_of_bools(op.primitive);
  } else if (info_of(op.primitive).loop != nullptr) {
    loop = at::cpu::find_loop(*info_of(op.primitive).loop, op.type);
  }
  TORCH_CHECK_VALUE(loop != nullptr, "a group's ", info_of(op.primitive).name, " is not there for ", op.type);
  return loop;
}

bool is_predicate(const Operation& op) {
  return op.type == ScalarType::Bool || (info_of(op.primitive).form == Form::kPredicate);
}

}  // namespace

Program::Program(const Group& group, std::vector<Port> inputs, std::vector<Port> outputs, const ProgramOptions& options)
    : group_(group),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      options_(options),
      machine_(machine()),
      needed_(group.operations.size()),
      written_(outputs_.size()) {
  TORCH_CHECK_VALUE(inputs_.size() + outputs_.size() <= 64, "a group reads and writes ",
                    inputs_.size() + outputs_.size(), " tensors, more than the 64 that it may");
  for (size_t i = 0; i < inputs_.size(); ++i) ports_.emplace(key_of(inputs_[i].value), i);
  find_needed();
  code_.reserve(2 * group.operations.size() + outputs_.size() + 8);
  for (uint32_t i = 0; i < needed_.size(); ++i) {
    if (needed_[i]) operation(i);
  }
  // What is given, or a constant.
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (written_[i]) continue;
    const Ref value = resolved(outputs_[i].value);
    const ScalarType type = group_.type_of(value);
    const Place from = place_of(value);
    const auto slot = static_cast<uint16_t>(inputs_.size() + i);
    code_.push_back(convert({slot, size_of(outputs_[i].dtype)}, outputs_[i].dtype, from, type));
  }
  emit(machine_.end);
}

void Program::prepare(Context& context, char* temporaries) const {
  const size_t ports = inputs_.size() + outputs_.size();
  for (size_t i = 0; i < constants_.size(); ++i) context.at[ports + i] = constants_[i]->bytes;
  for (size_t i = 0; i < temporaries_; ++i) {
    context.at[kFirstTemporary + i] = temporaries + i * static_cast<size_t>(kSlotBytes);
  }
}

// A copy without a change is its operand.
Ref Program::resolved(Ref ref) const {
  while (ref.kind == Ref::Kind::kOperation && !is_given(ref)) {
    const Operation& op = group_.operations[ref.index];
    if (op.primitive != Primitive::kConvert || group_.dtype_of(op.operands[0]) != op.dtype) break;
    ref = op.operands[0];
  }
  return ref;
}

void Program::mark(Ref ref) {
  ref = resolved(ref);
  ++uses_[key_of(ref)];
  if (is_given(ref) || ref.kind == Ref::Kind::kConstant) return;
  TORCH_CHECK_VALUE(ref.kind == Ref::Kind::kOperation && ref.index < needed_.size(),
                    "a group's operation reads what is not there");
  needed_[ref.index] = true;
}
void Program::find_needed() {
  for (const Port& output : outputs_) mark(output.value);
  for (size_t i = needed_.size(); i-- > 0;) {
    if (!needed_[i]) continue;
    for (const Ref operand : group_.operations[i].operands) {
      TORCH_CHECK_VALUE(operand.kind != Ref::Kind::kOperation || operand.index < i || is_given(operand),
                        "a group's operation reads what is not there yet");
      mark(operand);
    }
  }
}

// --- where values are ---

uint16_t Program::temporary() {
  if (!free_.empty()) {
    const uint16_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  TORCH_CHECK_VALUE(kFirstTemporary + temporaries_ < kMostSlots, "a group has too many values at a time");
  return static_cast<uint16_t>(kFirstTemporary + temporaries_++);
}
void Program::release(Ref ref) {
  const Key key = key_of(ref);
  if (--uses_[key] > 0) return;
  if (const auto owned = owned_.find(key); owned != owned_.end()) {
    free_.push_back(owned->second);
    owned_.erase(owned);
    places_.erase(key);
  }
  if (in_accumulator(ref)) accumulated_ = false;
}

// Inputs that a register's loads have to widen.
bool Program::awaits_load(Ref ref) {
  if (!is_given(ref) || places_.count(key_of(ref)) > 0 || in_accumulator(ref)) return false;
  return inputs_[ports_.at(key_of(ref))].dtype == ScalarType::BFloat16;
}
bool Program::in_memory(Ref ref) {
  if (places_.count(key_of(ref)) > 0 || ref.kind == Ref::Kind::kConstant) return true;
  if (!is_given(ref)) return false;
  const ScalarType dtype = inputs_[ports_.at(key_of(ref))].dtype;
  return register_type(dtype) == dtype;
}
void Program::save_accumulator() {
  if (!accumulated_ || uses_[key_of(accumulator_)] <= 0 || in_memory(accumulator_)) return;
  const Place place{temporary(), 0};
  set_slot(emit(machine_.store), 0, place);
  places_[key_of(accumulator_)] = place;
  owned_[key_of(accumulator_)] = place.slot;
}
// Into the accumulator.
void Program::load(Ref ref) {
  save_accumulator();
  if (awaits_load(ref)) {
    const auto port = static_cast<uint16_t>(ports_.at(key_of(ref)));
    set_slot(emit(machine_.load_bfloat16), 0, {port, static_cast<uint16_t>(inputs_[port].same ? 0 : 2)});
  } else {
    const Place place = place_of(ref);
    set_slot(emit(machine_.load), 0, place);
  }
  accumulator_ = ref;
  accumulated_ = true;
}

Program::Place Program::own_constant(uint32_t index) {
  const auto known = constant_places_.find(index);
  if (known != constant_places_.end()) return known->second;
  const GroupConstant& constant = group_.constants.at(index);
  const at::pointwise::Params number = params(constant.type, {constant.value});
  auto slot = std::make_unique<Constant>();
  at::cpu::fill_run(slot->bytes, number.get(), kMostElements, size_of(constant.type));
  const size_t at = inputs_.size() + outputs_.size() + constants_.size();
  TORCH_CHECK_VALUE(at < kFirstTemporary, "a group has too many constants");
  constants_.push_back(std::move(slot));
  return constant_places_[index] = {static_cast<uint16_t>(at), 0};
}

// In memory, as registers have it. May change the accumulator, whose value is then in memory.
Program::Place Program::place_of(Ref ref) {
  if (const auto known = places_.find(key_of(ref)); known != places_.end()) return known->second;
  if (ref.kind == Ref::Kind::kConstant) return own_constant(ref.index);
  if (in_accumulator(ref) && !in_memory(ref)) {
    save_accumulator();
    return places_.at(key_of(ref));
  }
  const auto slot = static_cast<uint16_t>(ports_.at(key_of(ref)));
  const Port& port = inputs_[slot];
  const Place direct{slot, static_cast<uint16_t>(port.same ? 0 : size_of(port.dtype))};
  if (register_type(port.dtype) == port.dtype) return direct;
  if (port.dtype == ScalarType::BFloat16) {
    load(ref);
    save_accumulator();
    return places_.at(key_of(ref));
  }
  const Place place{temporary(), 0};
  code_.push_back(convert(place, register_type(port.dtype), direct, port.dtype));
  places_[key_of(ref)] = place;
  owned_[key_of(ref)] = place.slot;
  return place;
}

Instruction Program::convert(Place to, ScalarType to_type, Place from, ScalarType from_type) {
  conversions_.push_back(std::make_unique<at::cpu::Conversion>(at::cpu::find_conversion(to_type, from_type)));
  Instruction one;
  one.code = machine_.convert;
  one.conversion = conversions_.back().get();
  set_slot(one, 0, to);
  set_slot(one, 1, from);
  return one;
}

const void* Program::parameters_of(const Operation& op) {
  if (op.parameters.empty()) return nullptr;
  const ScalarType type = takes_width(op.primitive) ? ScalarType::Int : op.type;
  parameters_.push_back(std::make_unique<at::pointwise::Params>(params(type, op.parameters)));
  return parameters_.back()->get();
}

// --- operations ---

bool Program::runs_in_registers(const Operation& op) const {
  if (!options_.registers || op.type != ScalarType::Float) return false;
  if (op.dtype != ScalarType::Float && op.dtype != ScalarType::BFloat16) return false;
  if (op.primitive == Primitive::kConvert) {
    // To bfloat16, of float, is a rounding.
    return op.dtype == ScalarType::BFloat16 && group_.type_of(op.operands[0]) == ScalarType::Float;
  }
  return machine_.operation(op.primitive, 0) != nullptr;
}

void Program::operation(uint32_t index) {
  const Operation& op = group_.operations[index];
  const Ref result{Ref::Kind::kOperation, index};
  if (is_given(result) || resolved(result) != result) return;
  TORCH_CHECK_VALUE(op.operands.size() == info_of(op.primitive).operands && op.operands.size() <= 3 &&
                        op.parameters.size() == info_of(op.primitive).parameters,
                    "a group's ", info_of(op.primitive).name, " has ", op.operands.size(), " operands and ",
                    op.parameters.size(), " parameters");
  runs_in_registers(op) ? register_operation(op, result) : called_operation(op, result);
}

void Program::register_operation(const Operation& op, Ref result) {
  std::vector<Ref> operands;
  for (const Ref operand : op.operands) operands.push_back(resolved(operand));
  // What has to be widened by way of the accumulator, but for the last.
  std::vector<Ref> waiting;
  for (const Ref operand : operands) {
    if (awaits_load(operand) && std::find(waiting.begin(), waiting.end(), operand) == waiting.end()) {
      waiting.push_back(operand);
    }
  }
  for (const Ref operand : waiting) load(operand);
  size_t position = 0;
  while (position < operands.size() && !in_accumulator(operands[position])) ++position;
  if (position == operands.size()) {
    position = 0;
    load(operands[0]);
  }
  // The accumulator is overwritten: its value may be read again, here or later.
  const Ref held = operands[position];
  const auto here = std::count(operands.begin(), operands.end(), held);
  if (here > 1 || uses_[key_of(held)] > here) save_accumulator();
  Place others[2];
  int count = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (k != position) others[count++] = place_of(operands[k]);
  }
  if (op.primitive != Primitive::kConvert) {
    Instruction& one = emit(machine_.operation(op.primitive, static_cast<int>(position)));
    for (int k = 0; k < count; ++k) set_slot(one, k, others[k]);
    one.parameters = parameters_of(op);
  }
  if (op.dtype == ScalarType::BFloat16) emit(machine_.round_bfloat16);
  accumulated_ = false;
  for (const Ref operand : operands) release(operand);
  accumulated_ = true;
  accumulator_ = result;
  write_outputs(result);
}

void Program::called_operation(const Operation& op, Ref result) {
  std::vector<Ref> operands;
  for (const Ref operand : op.operands) operands.push_back(resolved(operand));
  std::vector<Place> places;
  for (const Ref operand : operands) places.push_back(place_of(operand));
  save_accumulator();
  accumulated_ = false;
  if (op.primitive == Primitive::kConvert) {
    const ScalarType from = group_.type_of(operands[0]);
    const Place to{temporary(), 0};
    code_.push_back(convert(to, op.dtype, places[0], from));
    for (const Ref operand : operands) release(operand);
    return settle(result, to, op.dtype, op.dtype);
  }
  const ScalarType type = is_predicate(op) ? ScalarType::Bool : op.type;
  const Place to{temporary(), 0};
  Instruction& one = emit(machine_.call);
  one.loop = loop_of(op);
  one.parameters = parameters_of(op);
  set_slot(one, 0, to);
  for (size_t k = 0; k < places.size(); ++k) set_slot(one, static_cast<int>(k) + 1, places[k]);
  for (const Ref operand : operands) release(operand);
  settle(result, to, type, op.dtype);
}

// A result lies in a temporary, as elements of `type`: rounded to `dtype` where that is another, and in the form that
// registers have.
void Program::settle(Ref result, Place place, ScalarType type, ScalarType dtype) {
  const auto step = [&](ScalarType next) {
    const Place to{temporary(), 0};
    code_.push_back(convert(to, next, place, type));
    free_.push_back(place.slot);
    place = to;
    type = next;
  };
  if (type != dtype) step(dtype);
  if (type != register_type(dtype)) step(register_type(dtype));
  places_[key_of(result)] = place;
  owned_[key_of(result)] = place.slot;
  write_outputs(result);
}

void Program::write_outputs(Ref result) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (written_[i] || resolved(outputs_[i].value) != result) continue;
    written_[i] = true;
    const ScalarType dtype = outputs_[i].dtype;
    const Place to{static_cast<uint16_t>(inputs_.size() + i), size_of(dtype)};
    if (in_accumulator(result) && (dtype == ScalarType::Float || dtype == ScalarType::BFloat16)) {
      set_slot(emit(dtype == ScalarType::Float ? machine_.store : machine_.store_bfloat16), 0, to);
      // Found there again.
      if (dtype == ScalarType::Float) places_.try_emplace(key_of(result), to);
    } else {
      const Place from = place_of(result);
      code_.push_back(convert(to, dtype, from, group_.type_of(result)));
    }
    release(result);
  }
}

}  // namespace torch::compiler::tape
