#include "export/pt2/test_programs.h"

#include <random>

#include "aten/aten.h"
#include "c10/dispatch/registry.h"
#include "export/pt2/lowering.h"
#include "export/pt2/scalar_operators.h"
#include "graph/interpreter/interpreter.h"

namespace torch::pt2 {

using c10::IValue;
using graph::Block;
using graph::IntExpr;
using graph::Node;
using graph::Operand;
using graph::TensorInfo;
using graph::Value;

Node* call(Block& block, const std::string& name, std::vector<Operand> operands) {
  const size_t dot = name.find('.');
  std::optional<graph::Callable> callable = scalar_operator(name);
  if (!callable.has_value()) {
    callable.emplace(c10::Dispatcher::singleton().findSchemaOrThrow(
        name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)));
  }
  const auto& arguments = callable->schema().arguments();
  for (size_t i = operands.size(); i < arguments.size(); ++i) operands.emplace_back(*arguments[i].default_value());
  return block.append(block.graph().call(*callable, std::move(operands)));
}

namespace {

TensorInfo info(std::vector<IntExpr> sizes, c10::ScalarType dtype = c10::kFloat) {
  TensorInfo info;
  info.dtype = dtype;
  info.strides.assign(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) info.strides[i - 1] = info.strides[i] * sizes[i];
  info.sizes = std::move(sizes);
  return info;
}
Value* input(ExportedProgram& program, const std::string& name, TensorInfo info) {
  Value* value = program.graph->block().add_input(c10::TensorType::get(), name);
  value->set_info(std::move(info));
  program.signature.inputs.push_back({});
  return value;
}
Value* stored(ExportedProgram& program, InputSpec::Kind kind, const std::string& name, const at::Tensor& tensor,
              bool persistent = true) {
  InputSpec spec;
  spec.kind = kind;
  spec.target = name;
  spec.persistent = persistent;
  program.signature.inputs.push_back(spec);
  const bool state = kind == InputSpec::Kind::kParameter || (kind == InputSpec::Kind::kBuffer && persistent);
  (state ? program.state_dict : program.constants).emplace(name, tensor);
  return program.graph->block().add_input(c10::TensorType::get(), name);
}
Value* parameter(ExportedProgram& program, const std::string& name, const at::Tensor& tensor) {
  at::Tensor own = tensor;
  own.set_requires_grad(true);
  return stored(program, InputSpec::Kind::kParameter, name, own);
}
void outputs(ExportedProgram& program, std::vector<Operand> all) {
  while (program.signature.outputs.size() < all.size()) program.signature.outputs.push_back({});
  program.graph->block().set_outputs(std::move(all));
}
template <class T>
at::Tensor scalar(T value) {
  return at::scalar_tensor(value, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value));
}
IValue ints(std::initializer_list<int64_t> all) {
  return c10::List<int64_t>(all);
}
TestProgram made(std::string name) {
  return {std::move(name), std::make_unique<ExportedProgram>(), {}};
}

TestProgram mlp() {
  TestProgram made_program = made("mlp");
  ExportedProgram& p = *made_program.program;
  at::manual_seed(3);
  Value* x = input(p, "x", info({5, 4}));
  Value* w0 = parameter(p, "layers.0.weight", at::randn({8, 4}));
  Value* b0 = parameter(p, "layers.0.bias", at::randn({8}));
  Value* w1 = parameter(p, "layers.1.weight", at::randn({3, 8}));
  Block& b = p.graph->block();
  Value* hidden = call(b, "aten::linear", {x, w0, b0})->result();
  Value* active = call(b, "aten::relu", {hidden})->result();
  Value* out = call(b, "aten::linear", {active, w1})->result();
  outputs(p, {call(b, "aten::log_softmax.int", {out, IValue(-1)})->result()});
  made_program.inputs = {{at::randn({5, 4})}};
  return made_program;
}

// Sizes that are expressions, symbols and values of odd names, an input after the weights that PyTorch has first.
TestProgram dynamic() {
  TestProgram made_program = made("dynamic");
  ExportedProgram& p = *made_program.program;
  const IntExpr n = IntExpr::symbol("unit"), m = IntExpr::symbol("m");
  p.graph->symbols()["unit"] = {2, 64};
  Value* x = input(p, "if", info({n, 4}));
  Value* y = input(p, "if", info({m}));
  Block& b = p.graph->block();
  Node* view = call(b, "aten::reshape", {x, std::vector<Operand>{n * 2, IValue(2)}});
  view->result()->set_info(info({n * 2, 2}));
  view->result()->set_name("3 rows");
  Node* zeros =
      call(b, "aten::full", {std::vector<Operand>{max(floordiv(n, 2), mod(m, 3) + 1)}, IValue(1.5), IValue(6)});
  zeros->result()->set_info(info({max(floordiv(n, 2), mod(m, 3) + 1)}));
  Node* sum = call(b, "aten::sum", {y});
  sum->result()->set_info(info({}));
  sum->result()->set_name("3 rows");
  outputs(p, {view->result(), zeros->result(), sum->result(), n * m - 1});
  made_program.inputs = {{at::randn({6, 4}), at::randn({5})}, {at::randn({2, 4}), at::randn({1})}};
  return made_program;
}

TestProgram constants() {
  TestProgram made_program = made("constants");
  ExportedProgram& p = *made_program.program;
  Value* x = input(p, "x", info({3}));
  Value* scratch = stored(p, InputSpec::Kind::kBuffer, "scratch", at::arange(3, at::kFloat), false);
  Value* table = stored(p, InputSpec::Kind::kConstantTensor, "table", at::ones({3}));
  Block& b = p.graph->block();
  const at::Tensor literal = at::full({3}, 2.5);
  Value* sum = call(b, "aten::add.Tensor", {x, IValue(literal)})->result();
  Value* more = call(b, "aten::add.Tensor", {sum, scratch, IValue(-0.5)})->result();
  Value* joined = call(b, "aten::cat", {std::vector<Operand>{more, IValue(literal), table}, IValue(0)})->result();
  Value* huge = call(b, "aten::clamp", {joined, IValue(-INFINITY), IValue(1e30)})->result();
  Value* filled = call(b, "aten::full", {ints({2}), IValue(NAN), IValue(7)})->result();
  Value* complex = call(b, "aten::mul.Scalar", {x, IValue(c10::complex<double>(1, -2))})->result();
  outputs(p, {huge, filled, complex, IValue(), IValue(3), IValue(2.5), IValue(literal), x});
  made_program.inputs = {{at::randn({3})}};
  return made_program;
}

TestProgram lists() {
  TestProgram made_program = made("lists");
  ExportedProgram& p = *made_program.program;
  Value* x = input(p, "x", info({6, 2}));
  Block& b = p.graph->block();
  Value* parts = call(b, "aten::split.Tensor", {x, IValue(2)})->result();
  Node* unpack = b.append(p.graph->make(Node::Kind::kUnpack, {parts}));
  for (int i = 0; i < 3; ++i) unpack->add_result(c10::TensorType::get());
  Node* list = b.append(p.graph->make(Node::Kind::kList, {unpack->result(2), unpack->result(0)}));
  list->add_result(c10::ListType::ofTensors());
  Value* joined = call(b, "aten::cat", {list->result(), IValue(1)})->result();
  Value* all = call(b, "aten::cat", {parts, IValue(1)})->result();
  c10::List<std::optional<at::Tensor>> indices;
  Value* picked =
      call(b, "aten::index.Tensor", {x, std::vector<Operand>{IValue(), IValue(at::tensor({1, 0}))}})->result();
  Node* top = call(b, "aten::max.dim", {x, IValue(0)});
  outputs(p, {joined, all, picked, top->result(0), unpack->result(1)});
  made_program.inputs = {{at::randn({6, 2})}};
  return made_program;
}

// Branches and loops that take tensors and numbers from around them.
TestProgram control_flow() {
  TestProgram made_program = made("control_flow");
  ExportedProgram& p = *made_program.program;
  const IntExpr n = IntExpr::symbol("s0");
  p.graph->symbols()["s0"] = {2, 30};
  Value* x = input(p, "x", info({n, 3}));
  Value* count = input(p, "count", info({}, c10::kLong));
  Value* weight = parameter(p, "weight", at::ones({3}) * 0.5);
  Block& b = p.graph->block();
  graph::Graph& g = *p.graph;
  const auto tensor = [](Block& block, const std::string& name, std::vector<Operand> operands, TensorInfo about) {
    Value* result = call(block, name, std::move(operands))->result();
    result->set_info(std::move(about));
    return result;
  };
  Value* rows = call(b, "aten::sym_size.int", {x, IValue(0)})->result();
  Value* many = call(b, "_operator.gt", {rows, IValue(4)})->result();
  many->set_type(c10::BoolType::get());

  Node* branch = b.append(g.make(Node::Kind::kIf, {many}));
  branch->add_result(c10::TensorType::get())->set_info(info({n * 3}));
  Block& yes = branch->add_block();
  Value* scaled = tensor(yes, "aten::mul.Tensor", {x, weight}, info({n, 3}));
  Value* cells = call(yes, "_operator.mul", {rows, IValue(3)})->result();
  yes.set_outputs({tensor(yes, "aten::reshape", {scaled, std::vector<Operand>{cells}}, info({n * 3}))});
  Block& no = branch->add_block();
  no.set_outputs({tensor(no, "aten::reshape", {x, std::vector<Operand>{n * 3}}, info({n * 3}))});

  // while (i < count) { i += 1; total = sin(total) + weight }
  Value* zero = tensor(b, "aten::zeros_like", {count}, info({}, c10::kLong));
  Value* start = tensor(b, "aten::zeros", {ints({3})}, info({3}));
  Node* loop = b.append(g.make(Node::Kind::kWhile, {std::vector<Operand>{zero, start}, std::vector<Operand>{}}));
  loop->add_result(c10::TensorType::get())->set_info(info({}, c10::kLong));
  loop->add_result(c10::TensorType::get())->set_info(info({3}));
  const auto add_inputs = [](Block& block, const std::vector<TensorInfo>& infos) {
    for (const TensorInfo& about : infos) block.add_input(c10::TensorType::get())->set_info(about);
  };
  Block& condition = loop->add_block();
  add_inputs(condition, {info({}, c10::kLong), info({3})});
  condition.set_outputs({tensor(condition, "aten::lt.Tensor", {condition.input(0), count}, info({}, c10::kBool))});
  Block& body = loop->add_block();
  add_inputs(body, {info({}, c10::kLong), info({3})});
  Value* next = tensor(body, "aten::add.Scalar", {body.input(0), IValue(1)}, info({}, c10::kLong));
  Value* sine = tensor(body, "aten::sin", {body.input(1)}, info({3}));
  body.set_outputs({next, tensor(body, "aten::add.Tensor", {sine, weight}, info({3}))});

  Node* map = b.append(g.make(Node::Kind::kMap, {std::vector<Operand>{x}, std::vector<Operand>{weight}}));
  map->add_result(c10::TensorType::get())->set_info(info({n, 3}));
  Block& each = map->add_block();
  add_inputs(each, {info({3}), info({3})});
  each.set_outputs({tensor(each, "aten::mul.Tensor", {each.input(0), each.input(1)}, info({3}))});

  Node* scan = b.append(
      g.make(Node::Kind::kScan, {std::vector<Operand>{start}, std::vector<Operand>{x}, std::vector<Operand>{}}));
  scan->add_result(c10::TensorType::get())->set_info(info({3}));
  scan->add_result(c10::TensorType::get())->set_info(info({n, 3}));
  Block& step = scan->add_block();
  add_inputs(step, {info({3}), info({3})});
  Value* sum = tensor(step, "aten::add.Tensor", {step.input(0), step.input(1)}, info({3}));
  Value* shifted = tensor(step, "aten::add.Tensor", {sum, weight}, info({3}));
  step.set_outputs({sum, shifted});

  Node* scope = b.append(g.make(Node::Kind::kScope, {IValue(false)}));
  scope->set_name("set_grad_enabled");
  scope->add_result(c10::TensorType::get())->set_info(info({n, 3}));
  Block& quiet = scope->add_block();
  quiet.set_outputs({tensor(quiet, "aten::mul.Tensor", {x, weight}, info({n, 3}))});

  outputs(p, {branch->result(), loop->result(0), loop->result(1), map->result(), scan->result(0), scan->result(1),
              scope->result()});
  p.example_inputs = c10::ivalue::Tuple::create(
      std::vector<IValue>{c10::ivalue::Tuple::create(std::vector<IValue>{at::randn({3, 3}), scalar(int64_t{2})}),
                          c10::impl::GenericDict(c10::StringType::get(), c10::AnyType::get())});
  made_program.inputs = {{at::randn({3, 3}), scalar(int64_t{2})}, {at::randn({6, 3}), scalar(int64_t{0})}};
  return made_program;
}

TestProgram numbers() {
  TestProgram made_program = made("numbers");
  ExportedProgram& p = *made_program.program;
  Value* n = input(p, "n", info({}, c10::kLong));
  Value* r = input(p, "r", info({}));
  Value* t = input(p, "t", info({}, c10::kBool));
  Block& b = p.graph->block();
  Value* whole = call(b, "aten::item", {n})->result();
  Value* real = call(b, "aten::item", {r})->result();
  Value* truth = call(b, "aten::item", {t})->result();
  Value* twice = call(b, "_operator.mul", {whole, IValue(2)})->result();
  Value* half = call(b, "_operator.truediv", {whole, IValue(2)})->result();
  Value* less = call(b, "_operator.lt", {whole, IValue(3)})->result();
  Value* scaled = call(b, "_operator.mul", {real, IValue(0.5)})->result();
  Value* wrapped = b.append(p.graph->call(wrapped_number(), {real}))->result();
  Value* sum = call(b, "aten::add.Tensor", {r, wrapped})->result();
  Value* filled = call(b, "aten::full_like", {r, real})->result();
  Node* branch = b.append(p.graph->make(Node::Kind::kIf, {truth}));
  branch->add_result(c10::TensorType::get())->set_info(info({}));
  for (const double factor : {2.5, -1.0}) {
    Block& inner = branch->add_block();
    Value* product = call(inner, "aten::mul.Tensor", {r, filled})->result();
    Value* more = call(inner, "aten::mul.Scalar", {product, IValue(factor)})->result();
    for (Value* v : {product, more}) v->set_info(info({}));
    inner.set_outputs({more});
  }
  Value* is_less = call(b, "aten::full_like", {n, less})->result();
  // PyTorch 2.15 does not read a program whose results are truth values.
  outputs(p, {whole, twice, half, real, scaled, sum, filled, branch->result(), is_less});
  made_program.inputs = {{scalar(int64_t{4}), scalar(1.25f), scalar(true)},
                         {scalar(int64_t{-1}), scalar(-3.0f), scalar(false)}};
  return made_program;
}

TestProgram mutation() {
  TestProgram made_program = made("mutation");
  ExportedProgram& p = *made_program.program;
  Value* total = stored(p, InputSpec::Kind::kBuffer, "total", at::zeros({3}));
  Value* x = input(p, "x", info({3}));
  Value* out = input(p, "out", info({3}));
  Block& b = p.graph->block();
  Value* sum = call(b, "aten::add.Tensor", {total, x})->result();
  Value* twice = call(b, "aten::mul.Scalar", {x, IValue(2)})->result();
  outputs(p, {sum, twice, call(b, "aten::sub.Tensor", {sum, out})->result()});
  p.signature.outputs[0] = {OutputSpec::Kind::kBufferMutation, "total"};
  p.signature.outputs[1] = {OutputSpec::Kind::kInputMutation, "out"};
  p.functional = true;
  made_program.inputs = {{at::randn({3}), at::randn({3})}};
  return made_program;
}

TestProgram in_place() {
  TestProgram made_program = made("in_place");
  ExportedProgram& p = *made_program.program;
  Value* total = stored(p, InputSpec::Kind::kBuffer, "total", at::zeros({3}));
  Value* x = input(p, "x", info({3}));
  Block& b = p.graph->block();
  Value* added = call(b, "aten::add_.Tensor", {total, x})->result();
  call(b, "aten::mul_.Scalar", {x, IValue(2)});
  outputs(p, {call(b, "aten::exp", {added})->result()});
  made_program.inputs = {{at::randn({3})}};
  return made_program;
}

// Weights that overlap, and one under two names.
TestProgram shared() {
  TestProgram made_program = made("shared");
  ExportedProgram& p = *made_program.program;
  const at::Tensor whole = at::randn({4, 4});
  Value* x = input(p, "x", info({2, 4}));
  Value* a = stored(p, InputSpec::Kind::kBuffer, "whole", whole);
  Value* t = stored(p, InputSpec::Kind::kBuffer, "turned", whole.t());
  Value* row = stored(p, InputSpec::Kind::kBuffer, "row", whole.select(0, 2));
  p.state_dict.emplace("again", whole);
  Block& b = p.graph->block();
  Value* y = call(b, "aten::matmul", {x, a})->result();
  Value* z = call(b, "aten::matmul", {y, t})->result();
  outputs(p, {call(b, "aten::add.Tensor", {z, row})->result()});
  made_program.inputs = {{at::randn({2, 4})}};
  return made_program;
}

}  // namespace

void use_flat_trees(ExportedProgram& program) {
  const auto tuple = [](size_t leaves) {
    TreeSpec spec;
    spec.kind = TreeSpec::Kind::kTuple;
    spec.children.resize(leaves);
    return spec;
  };
  size_t users = 0, results = 0;
  for (const InputSpec& spec : program.signature.inputs) {
    users += spec.kind == InputSpec::Kind::kUser || spec.kind == InputSpec::Kind::kConstant;
  }
  for (const OutputSpec& spec : program.signature.outputs) results += spec.kind == OutputSpec::Kind::kUser;
  program.in_spec = tuple(2);
  program.in_spec.children[0] = tuple(users);
  program.in_spec.children[1].kind = TreeSpec::Kind::kDict;
  program.out_spec = tuple(results);
}

void fill_infos(ExportedProgram& program, const std::vector<IValue>& inputs) {
  struct Listener : graph::RunListener {
    std::map<const Node*, std::vector<IValue>> results;
    void ran(const Node& node, c10::ArrayRef<IValue> all) override { results[&node] = all.vec(); }
  };
  Listener listener;
  const graph::Interpreter run(*program.graph);
  c10::Stack stack;
  size_t next = 0;
  for (const InputSpec& spec : program.signature.inputs) {
    if (spec.target.empty()) {
      const IValue& given = inputs.at(next++);
      stack.push_back(given.isTensor() ? IValue(given.toTensor().clone()) : given);
    } else {
      const auto found = program.state_dict.find(spec.target);
      stack.emplace_back(
          (found == program.state_dict.end() ? program.constants.at(spec.target) : found->second).clone());
    }
  }
  const c10::NoGradGuard no_grad;
  run(stack, &listener);
  std::vector<const Node*> theirs;
  run.graph().for_nodes([&](const Node* node) { theirs.push_back(node); });
  size_t i = 0;
  program.graph->for_nodes([&](Node* node) {
    const auto found = listener.results.find(theirs.at(i++));
    if (found == listener.results.end()) return;
    for (size_t r = 0; r < node->result_count(); ++r) {
      const IValue& value = found->second[r];
      if (value.isTensor() && node->result(r)->info() == nullptr) node->result(r)->set_info(info_of(value.toTensor()));
    }
  });
}

std::vector<TestProgram> test_programs() {
  std::vector<TestProgram> all;
  for (TestProgram (*make)() : {mlp, dynamic, constants, lists, control_flow, numbers, mutation, in_place, shared}) {
    all.push_back(make());
    use_flat_trees(*all.back().program);
    fill_infos(*all.back().program, all.back().inputs[0]);
  }
  return all;
}

TestProgram random_program(unsigned seed, int nodes) {
  std::mt19937 random(seed);
  TestProgram made_program = made("random_" + std::to_string(seed));
  ExportedProgram& p = *made_program.program;
  const auto draw = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const TensorInfo about = info({2, 3});
  std::vector<Value*> known;
  for (size_t i = 0; i < 1 + draw(3); ++i) known.push_back(input(p, draw(2) == 0 ? "x" : "", about));
  for (size_t i = 0; i < draw(3); ++i) known.push_back(parameter(p, "w" + std::to_string(i), at::rand({2, 3})));
  Value* const condition = input(p, "c", info({}, c10::kBool));
  at::manual_seed(seed);
  // Nodes of a block that see `visible` and what they make themselves.
  const std::function<void(Block&, std::vector<Value*>, int, int)> fill = [&](Block& b, std::vector<Value*> visible,
                                                                              int count, int depth) {
    const auto any = [&]() -> Operand {
      if (draw(12) == 0) return IValue(at::rand({2, 3}));
      return visible[draw(visible.size())];
    };
    const auto keep = [&](Value* v) {
      if (v->info() == nullptr) v->set_info(about);
      static constexpr const char* kNames[] = {"", "add", "x", "class", "a b", "getitem", "_"};
      v->set_name(kNames[draw(7)]);
      visible.push_back(v);
    };
    for (int i = 0; i < count; ++i) {
      switch (draw(depth > 2 ? 6 : 9)) {
        case 0:
          keep(call(b, "aten::add.Tensor", {any(), any(), IValue(static_cast<int64_t>(draw(3)))})->result());
          break;
        case 1:
          keep(call(b, "aten::mul.Tensor", {any(), any()})->result());
          break;
        case 2:
          keep(call(b, "aten::clamp", {any(), IValue(), IValue(static_cast<double>(draw(9)))})->result());
          break;
        case 3: {
          Node* split = call(b, "aten::unbind.int", {any(), IValue(0)});
          Node* parts = b.append(b.graph().make(Node::Kind::kUnpack, {split->result()}));
          for (int k = 0; k < 2; ++k) parts->add_result(c10::TensorType::get())->set_info(info({3}));
          keep(call(b, "aten::stack", {std::vector<Operand>{parts->result(draw(2)), parts->result(draw(2))}, IValue(0)})
                   ->result());
          break;
        }
        case 4: {
          Node* top = call(b, "aten::max.dim", {any(), IValue(1), IValue(true)});
          top->result(0)->set_info(info({2, 1}));
          top->result(1)->set_info(info({2, 1}, c10::kLong));
          keep(call(b, "aten::sub.Tensor", {any(), top->result(0)})->result());
          break;
        }
        case 5:
          keep(call(b, "aten::where.self", {condition, any(), any()})->result());
          break;
        case 6: {
          Node* branch = b.append(b.graph().make(Node::Kind::kIf, {condition}));
          keep(branch->add_result(c10::TensorType::get()));
          visible.pop_back();
          fill(branch->add_block(), visible, 1 + static_cast<int>(draw(3)), depth + 1);
          fill(branch->add_block(), visible, 1 + static_cast<int>(draw(3)), depth + 1);
          visible.push_back(branch->result());
          break;
        }
        case 7: {
          Node* scope = b.append(b.graph().make(Node::Kind::kScope, {IValue(draw(2) == 0)}));
          scope->set_name("set_grad_enabled");
          keep(scope->add_result(c10::TensorType::get()));
          visible.pop_back();
          fill(scope->add_block(), visible, 1 + static_cast<int>(draw(3)), depth + 1);
          visible.push_back(scope->result());
          break;
        }
        default: {
          const Operand over = any();
          Node* map = b.append(b.graph().make(Node::Kind::kMap, {std::vector<Operand>{over}, std::vector<Operand>{}}));
          keep(map->add_result(c10::TensorType::get()));
          Block& each = map->add_block();
          each.add_input(c10::TensorType::get(), "x")->set_info(info({3}));
          Node* sum = call(each, "aten::sum.dim_IntList", {visible[draw(visible.size() - 1)], ints({0})});
          sum->result()->set_info(info({3}));
          Node* both = call(each, "aten::add.Tensor", {each.input(0), sum->result()});
          both->result()->set_info(info({3}));
          each.set_outputs({both->result()});
          break;
        }
      }
    }
    if (depth > 0) b.set_outputs({call(b, "aten::neg", {visible.back()})->result()});
    if (depth > 0) b.outputs()[0].value()->set_info(about);
    if (depth == 0) known = std::move(visible);
  };
  fill(p.graph->block(), known, nodes, 0);
  outputs(p, {known.back(), known[known.size() / 2]});
  use_flat_trees(p);
  for (const bool truth : {true, false}) {
    std::vector<IValue> inputs;
    for (const InputSpec& spec : p.signature.inputs) {
      if (spec.kind == InputSpec::Kind::kUser) inputs.emplace_back(at::rand({2, 3}));
    }
    inputs.back() = scalar(truth);
    made_program.inputs.push_back(std::move(inputs));
  }
  return made_program;
}

}  // namespace torch::pt2
