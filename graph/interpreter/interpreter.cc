#include "graph/interpreter/interpreter.h"

#include <map>
#include <optional>
#include <utility>

#include "aten/autocast/autocast.h"
#include "aten/core/tensor.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "graph/ir/text.h"

namespace torch::graph {
namespace {

using c10::IValue;
using c10::Stack;
using Kind = Node::Kind;

// Where an instruction gets an operand from.
struct Input {
  enum class From : uint8_t { kRegister, kLastRegister, kConstant, kExpr, kList };
  From from;
  uint32_t index;  // of the register, or among the constants, expressions or lists
};
struct ListInput {
  c10::TypePtr element;
  std::vector<Input> parts;
};

struct Code;
struct Instruction {
  const Node* node;
  const Callable* callable;  // of kCall
  Kind kind;
  std::vector<Input> inputs;
  std::vector<uint32_t> outputs;
  std::vector<uint32_t> released;  // registers that nothing reads afterwards
  std::vector<Code> blocks;
  std::function<void(Stack&)> function;  // of kInvoke
};
struct Code {
  std::vector<uint32_t> inputs;
  std::vector<Instruction> instructions;
  std::vector<Input> outputs;
};

}  // namespace

struct detail::PreparedGraph {
  std::unique_ptr<Graph> graph;
  Code code;
  size_t registers = 0;
  std::vector<IValue> constants;
  std::vector<IntExpr> exprs;
  std::vector<ListInput> lists;
  // Symbols are the sizes of inputs.
  struct SizeOf {
    std::string symbol;
    size_t input, dim;
  };
  std::vector<SizeOf> sizes;
};

namespace {

// --- preparation ---

class Preparation {
 public:
  Preparation(detail::PreparedGraph& out, const Surroundings& surroundings) : out_(out), surroundings_(surroundings) {}
  size_t registers() const { return places_.size(); }

  Code block(const Block& b) {
    Code code;
    for (size_t i = 0; i < b.input_count(); ++i) code.inputs.push_back(place(b.input(i)));
    for (const Node* node : b) code.instructions.push_back(instruction(*node));
    for (const Operand& o : b.outputs()) code.outputs.push_back(input(o, nullptr));
    release(b, code);
    return code;
  }

 private:
  uint32_t place(const Value* value) {
    return places_.try_emplace(value, static_cast<uint32_t>(places_.size())).first->second;
  }

  // The type of the list that an argument wants, if it wants one.
  static c10::TypePtr element_type(const c10::TypePtr& wanted) {
    if (wanted == nullptr) return c10::AnyType::get();
    if (const auto optional = wanted->cast<c10::OptionalType>()) return element_type(optional->getElementType());
    const auto list = wanted->cast<c10::ListType>();
    return list == nullptr ? c10::TypePtr(c10::AnyType::get()) : list->getElementType();
  }

  Input input(const Operand& o, const c10::TypePtr& wanted);

  Instruction instruction(const Node& node) {
    Instruction made{&node,  node.kind() == Kind::kCall ? &node.callable() : nullptr, node.kind(), {}, {}, {}, {},
                     nullptr};
    for (size_t i = 0; i < node.operands().size(); ++i) {
      c10::TypePtr wanted;
      if (node.kind() == Kind::kCall && i < node.callable().schema().arguments().size()) {
        wanted = node.callable().schema().arguments()[i].type();
      }
      made.inputs.push_back(input(node.operand(i), wanted));
    }
    if (node.kind() == Kind::kInvoke) {
      if (surroundings_.function) made.function = surroundings_.function(node);
      TORCH_CHECK_VALUE(made.function != nullptr, "a graph invokes '", node.name(), "', which is not there");
    }
    for (size_t i = 0; i < node.block_count(); ++i) made.blocks.push_back(block(node.block(i)));
    for (size_t i = 0; i < node.result_count(); ++i) made.outputs.push_back(place(node.result(i)));
    return made;
  }

  // Finds each value's last reader in the block that makes it, which takes it where it is a plain operand.
  void release(const Block& b, Code& code) {
    const auto let_go = [&](const Value* value, std::optional<size_t> made_at) {
      const Node* last = nullptr;
      bool escapes = false;
      for (const Use& use : value->uses()) {
        const Node* user = use.node;
        while (user->block() != &b) user = user->block()->owner();
        if (user->kind() == Kind::kReturn) {
          escapes = true;
        } else if (last == nullptr || last->is_before(user)) {
          last = user;
        }
      }
      if (escapes) return;
      const uint32_t at = place(value);
      if (last == nullptr) {
        if (made_at.has_value()) code.instructions[*made_at].released.push_back(at);
        return;
      }
      Instruction& reader = code.instructions[index_.at(last)];
      // A list that is built in place, or a plain operand that occurs once.
      size_t direct = 0;
      for (const Use& use : value->uses()) direct += use.node == last;
      if (direct == 1) {
        for (Input& i : reader.inputs) {
          if (i.from == Input::From::kRegister && i.index == at && reader.blocks.empty()) {
            i.from = Input::From::kLastRegister;
            return;
          }
        }
      }
      reader.released.push_back(at);
    };
    size_t n = 0;
    for (const Node* node : b) index_[node] = n++;
    for (size_t i = 0; i < b.input_count(); ++i) let_go(b.input(i), std::nullopt);
    n = 0;
    for (const Node* node : b) {
      for (size_t i = 0; i < node->result_count(); ++i) let_go(node->result(i), n);
      ++n;
    }
  }

  detail::PreparedGraph& out_;
  const Surroundings& surroundings_;
  std::map<const Value*, uint32_t> places_;
  std::map<const Node*, size_t> index_;
};

Input Preparation::input(const Operand& o, const c10::TypePtr& wanted) {
  if (o.is_value()) return {Input::From::kRegister, place(o.value())};
  if (o.is_constant()) {
    out_.constants.push_back(o.constant());
    return {Input::From::kConstant, static_cast<uint32_t>(out_.constants.size() - 1)};
  }
  if (o.is_expr()) {
    out_.exprs.push_back(o.expr());
    return {Input::From::kExpr, static_cast<uint32_t>(out_.exprs.size() - 1)};
  }
  ListInput list{element_type(wanted), {}};
  for (const Operand& part : o.list()) list.parts.push_back(input(part, list.element));
  out_.lists.push_back(std::move(list));
  return {Input::From::kList, static_cast<uint32_t>(out_.lists.size() - 1)};
}

// --- runs ---

class Run {
 public:
  Run(const detail::PreparedGraph& prepared, RunListener* listener)
      : prepared_(prepared),
        listener_(listener),
        wants_results_(listener != nullptr && listener->wants_results()),
        registers_(prepared.registers) {}

  void run(Stack& stack) {
    const Code& code = prepared_.code;
    TORCH_CHECK(stack.size() == code.inputs.size(), "graph ", prepared_.graph->name(), " takes ", code.inputs.size(),
                " inputs, but got ", stack.size());
    for (const auto& size : prepared_.sizes) {
      const IValue& from = stack[size.input];
      TORCH_CHECK(from.isTensor() && static_cast<int64_t>(size.dim) < from.toTensor().dim(), "input ", size.input,
                  " of graph ", prepared_.graph->name(), " is no tensor with a dimension ", size.dim);
      symbols_[size.symbol] = from.toTensor().sizes()[size.dim];
    }
    for (size_t i = 0; i < stack.size(); ++i) registers_[code.inputs[i]] = std::move(stack[i]);
    stack.clear();
    body(code);
    for (const Input& output : code.outputs) stack.push_back(get(output));
  }

 private:
  IValue get(const Input& i) {
    switch (i.from) {
      case Input::From::kRegister:
        return registers_[i.index];
      case Input::From::kLastRegister:
        return std::move(registers_[i.index]);
      case Input::From::kConstant:
        return prepared_.constants[i.index];
      case Input::From::kExpr:
        return prepared_.exprs[i.index].evaluate(symbols_);
      case Input::From::kList:
        break;
    }
    const ListInput& list = prepared_.lists[i.index];
    const c10::impl::GenericList values(list.element);
    values.reserve(list.parts.size());
    for (const Input& part : list.parts) values.push_back(get(part));
    return values;
  }
  std::vector<IValue> get_all(const Input& list) {
    std::vector<IValue> values;
    for (const Input& part : prepared_.lists[list.index].parts) values.push_back(get(part));
    return values;
  }
  void put(const std::vector<uint32_t>& places, std::vector<IValue> values) {
    for (size_t i = 0; i < places.size(); ++i) registers_[places[i]] = std::move(values[i]);
  }

  void body(const Code& code) {
    for (const Instruction& one : code.instructions) {
      try {
        step(one);
      } catch (c10::Error& error) {
        error.add_context("in " + print_node(*one.node));
        failed(one);
        throw;
      } catch (...) {
        failed(one);
        throw;
      }
      if (wants_results_) {
        std::vector<IValue> results;
        for (const uint32_t at : one.outputs) results.push_back(registers_[at]);
        listener_->ran(*one.node, results);
      }
      for (const uint32_t at : one.released) registers_[at] = IValue();
    }
  }
  void failed(const Instruction& one) const {
    if (listener_ != nullptr) listener_->failed(*one.node);
  }
  // The outputs of a block that is run with these inputs.
  std::vector<IValue> block(const Code& code, std::vector<IValue> inputs) {
    put(code.inputs, std::move(inputs));
    body(code);
    std::vector<IValue> outputs;
    for (const Input& output : code.outputs) outputs.push_back(get(output));
    return outputs;
  }

  static bool truth(const IValue& v) { return v.isTensor() ? v.toTensor().item().toBool() : v.toBool(); }

  void step(const Instruction& one) {
    switch (one.kind) {
      case Kind::kCall: {
        stack_.clear();
        for (const Input& i : one.inputs) stack_.push_back(get(i));
        one.callable->call(stack_);
        check_results(one, stack_);
        for (size_t i = 0; i < stack_.size(); ++i) registers_[one.outputs[i]] = std::move(stack_[i]);
        return;
      }
      case Kind::kInvoke: {
        Stack stack;
        for (const Input& i : one.inputs) stack.push_back(get(i));
        one.function(stack);
        check_results(one, stack);
        return put(one.outputs, std::move(stack));
      }
      case Kind::kTuple: {
        std::vector<IValue> values = operands(one);
        const c10::TypePtr& type = one.node->result()->type();
        const auto tuple = type->cast<c10::TupleType>();
        registers_[one.outputs[0]] = tuple != nullptr && tuple->is_named()
                                         ? IValue(c10::ivalue::Tuple::createNamed(std::move(values), type))
                                         : IValue(c10::ivalue::Tuple::create(std::move(values)));
        return;
      }
      case Kind::kList: {
        const auto type = one.node->result()->type()->cast<c10::ListType>();
        const c10::impl::GenericList list(type == nullptr ? c10::TypePtr(c10::AnyType::get()) : type->getElementType());
        for (IValue& v : operands(one)) list.push_back(std::move(v));
        registers_[one.outputs[0]] = list;
        return;
      }
      case Kind::kDict: {
        const auto type = one.node->result()->type()->expect<c10::DictType>();
        const c10::impl::GenericDict dict(type->getKeyType(), type->getValueType());
        const std::vector<IValue> values = operands(one);
        for (size_t i = 0; i < values.size(); i += 2) dict.insert_or_assign(values[i], values[i + 1]);
        registers_[one.outputs[0]] = dict;
        return;
      }
      case Kind::kUnpack: {
        const IValue whole = get(one.inputs[0]);
        const c10::ArrayRef<IValue> parts = whole.isTuple() ? whole.toTupleRef().elementsArrayRef() : whole.toListRef();
        TORCH_CHECK_VALUE(parts.size() == one.outputs.size(), "Expected ", one.outputs.size(),
                          " elements in a list but found ", parts.size());
        for (size_t i = 0; i < parts.size(); ++i) registers_[one.outputs[i]] = parts[i];
        return;
      }
      case Kind::kGetAttr:
        registers_[one.outputs[0]] = get(one.inputs[0]).toObjectRef().getAttr(one.node->name());
        return;
      case Kind::kSetAttr: {
        const IValue object = get(one.inputs[0]);
        object.toObjectRef().setAttr(one.node->name(), get(one.inputs[1]));
        return;
      }
      case Kind::kCast: {
        IValue v = get(one.inputs[0]);
        const c10::TypePtr& wanted = one.node->result()->type();
        TORCH_CHECK_TYPE(v.type()->isSubtypeOf(wanted), "expected a value of type ", wanted->annotation_str(),
                         ", but got ", v.type()->annotation_str());
        registers_[one.outputs[0]] = std::move(v);
        return;
      }
      case Kind::kIsInstance:
        registers_[one.outputs[0]] = get(one.inputs[0]).type()->isSubtypeOf(one.node->tested_type());
        return;
      case Kind::kIf:
        return put(one.outputs, block(one.blocks[truth(get(one.inputs[0])) ? 0 : 1], {}));
      case Kind::kLoop:
        return loop(one);
      case Kind::kWhile:
        return while_loop(one);
      case Kind::kMap:
        return map(one);
      case Kind::kScan:
        return scan(one);
      case Kind::kScope:
        return scope(one);
      case Kind::kRaise:
        throw Raised(get(one.inputs[0]).toStringRef(), one.node->name());
      case Kind::kReturn:
        return;
    }
  }
  std::vector<IValue> operands(const Instruction& one) {
    std::vector<IValue> values;
    for (const Input& i : one.inputs) values.push_back(get(i));
    return values;
  }
  static void check_results(const Instruction& one, const Stack& stack) {
    TORCH_CHECK(stack.size() == one.outputs.size(), "expected ", one.outputs.size(), " results, but got ", stack.size(),
                " of\n  ", print_node(*one.node));
  }

  void loop(const Instruction& one) {
    const IValue most = get(one.inputs[0]);
    const int64_t turns = most.isNone() ? INT64_MAX : most.toInt();
    bool goes_on = get(one.inputs[1]).toBool();
    std::vector<IValue> carried = get_all(one.inputs[2]);
    for (int64_t turn = 0; turn < turns && goes_on; ++turn) {
      carried.insert(carried.begin(), turn);
      carried = block(one.blocks[0], std::move(carried));
      goes_on = carried.front().toBool();
      carried.erase(carried.begin());
    }
    put(one.outputs, std::move(carried));
  }
  void while_loop(const Instruction& one) {
    std::vector<IValue> carried = get_all(one.inputs[0]);
    const std::vector<IValue> others = get_all(one.inputs[1]);
    const auto all = [&] {
      std::vector<IValue> values = carried;
      values.insert(values.end(), others.begin(), others.end());
      return values;
    };
    while (truth(block(one.blocks[0], all()).at(0))) carried = block(one.blocks[1], all());
    put(one.outputs, std::move(carried));
  }

  // The length along 0 that all have.
  static int64_t length_of(const std::vector<IValue>& tensors) {
    TORCH_CHECK(!tensors.empty(), "expected tensors to go along");
    int64_t length = -1;
    for (const IValue& v : tensors) {
      TORCH_CHECK(v.isTensor() && v.toTensor().dim() > 0, "expected tensors with at least one dimension to go along");
      const int64_t own = v.toTensor().size(0);
      TORCH_CHECK(length < 0 || own == length, "expected tensors of one length along dimension 0, but got ", length,
                  " and ", own);
      length = own;
    }
    return length;
  }
  void map(const Instruction& one) {
    const std::vector<IValue> mapped = get_all(one.inputs[0]), others = get_all(one.inputs[1]);
    const int64_t length = length_of(mapped);
    TORCH_CHECK(length > 0, "expected at least one slice to map");
    std::vector<std::vector<at::Tensor>> made(one.outputs.size());
    for (int64_t i = 0; i < length; ++i) {
      std::vector<IValue> inputs;
      for (const IValue& v : mapped) inputs.emplace_back(at::select(v.toTensor(), 0, i));
      inputs.insert(inputs.end(), others.begin(), others.end());
      const std::vector<IValue> outputs = block(one.blocks[0], std::move(inputs));
      for (size_t k = 0; k < outputs.size(); ++k) made[k].push_back(outputs[k].toTensor());
    }
    for (size_t k = 0; k < made.size(); ++k) registers_[one.outputs[k]] = at::stack(made[k], 0);
  }
  void scan(const Instruction& one) {
    std::vector<IValue> carried = get_all(one.inputs[0]);
    const std::vector<IValue> scanned = get_all(one.inputs[1]), others = get_all(one.inputs[2]);
    const size_t kept = carried.size();
    const int64_t length = length_of(scanned);
    std::vector<std::vector<at::Tensor>> made(one.outputs.size() - kept);
    TORCH_CHECK(length > 0 || made.empty(), "expected at least one slice to scan");
    for (int64_t i = 0; i < length; ++i) {
      std::vector<IValue> inputs = std::move(carried);
      for (const IValue& v : scanned) inputs.emplace_back(at::select(v.toTensor(), 0, i));
      inputs.insert(inputs.end(), others.begin(), others.end());
      carried = block(one.blocks[0], std::move(inputs));
      for (size_t k = kept; k < carried.size(); ++k) made[k - kept].push_back(carried[k].toTensor());
      carried.resize(kept);
    }
    for (size_t k = 0; k < kept; ++k) registers_[one.outputs[k]] = std::move(carried[k]);
    for (size_t k = 0; k < made.size(); ++k) registers_[one.outputs[kept + k]] = at::stack(made[k], 0);
  }

  void scope(const Instruction& one) {
    const std::string& name = one.node->name();
    const std::vector<IValue> mode = operands(one);
    if (name == "autocast") {
      TORCH_CHECK(mode.size() == 4,
                  "a scope 'autocast' takes a device, a dtype, whether it is enabled and keeps casts");
      std::optional<c10::ScalarType> dtype;
      if (!mode[1].isNone()) dtype = static_cast<c10::ScalarType>(mode[1].toInt());
      const torch::amp::autocast region(mode[0].toStringRef(), dtype, mode[2].toBool(), mode[3].toOptional<bool>());
      return put(one.outputs, block(one.blocks[0], {}));
    }
    TORCH_CHECK(name == "set_grad_enabled" && mode.size() == 1, "a scope '", name, "' is not known");
    const c10::AutoGradMode region(mode[0].toBool());
    put(one.outputs, block(one.blocks[0], {}));
  }

  const detail::PreparedGraph& prepared_;
  RunListener* listener_;
  bool wants_results_;
  std::vector<IValue> registers_;
  Stack stack_;  // of the call that runs; a call leaves its results only
  std::map<std::string, int64_t> symbols_;
};

}  // namespace

Interpreter::Interpreter(const Graph& graph, const Surroundings& surroundings) {
  verify(graph);
  auto prepared = std::make_unique<detail::PreparedGraph>();
  prepared->graph = graph.clone();
  Preparation preparation(*prepared, surroundings);
  const Block& block = prepared->graph->block();
  prepared->code = preparation.block(block);
  prepared->registers = preparation.registers();
  for (size_t i = 0; i < block.input_count(); ++i) {
    const TensorInfo* info = block.input(i)->info();
    for (size_t d = 0; info != nullptr && d < info->sizes.size(); ++d) {
      if (info->sizes[d].kind() == IntExpr::Kind::kSymbol) prepared->sizes.push_back({info->sizes[d].name(), i, d});
    }
  }
  prepared_ = std::move(prepared);
}
Interpreter::~Interpreter() = default;
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;

void Interpreter::operator()(c10::Stack& stack, RunListener* listener) const {
  Run(*prepared_, listener).run(stack);
}
const Graph& Interpreter::graph() const {
  return *prepared_->graph;
}

}  // namespace torch::graph
