// What save_exported() writes, of programs that no file gave.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "aten/aten.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/message_of.h"
#include "export/pt2/expr.h"
#include "export/pt2/pt2.h"
#include "export/pt2/test_programs.h"
#include "gmock/gmock.h"
#include "graph/ir/text.h"
#include "gtest/gtest.h"
#include "utils/pickle/testing.h"
#include "utils/pickle/zip.h"

namespace torch::pt2 {
namespace {

using c10::IValue;
using c10::testing::message_of;
using graph::Block;
using graph::Node;
using graph::Value;
using ::testing::HasSubstr;

std::string saved(const NamedPrograms& programs) {
  pickle::testing::StringSink sink;
  save_exported(programs, sink);
  return std::move(sink.text);
}
std::string saved(const ExportedProgram& program) {
  return saved({{"model", &program}});
}
ExportedProgram loaded(const std::string& bytes, const std::string& name = "") {
  return load_exported(std::make_shared<serialize::FileBytes>(bytes, "written"), name);
}

bool same(const IValue& a, const IValue& b) {
  if (a.isNone() || b.isNone()) return a.isNone() && b.isNone();
  if (a.isBool() || b.isBool()) return a.isBool() && b.isBool() && a.toBool() == b.toBool();
  if (!a.isTensor() || !b.isTensor()) {
    return a.tagKind() == b.tagKind() && a.toScalar().toDouble() == b.toScalar().toDouble();
  }
  const at::Tensor x = a.toTensor(), y = b.toTensor();
  return x.scalar_type() == y.scalar_type() && x.sizes() == y.sizes() && at::allclose(x, y, 0, 0, /*equal_nan=*/true);
}
std::vector<IValue> copied(const std::vector<IValue>& values) {
  std::vector<IValue> all;
  for (const IValue& v : values) all.push_back(v.isTensor() ? IValue(v.toTensor().clone()) : v);
  return all;
}
// Results, inputs and buffers after all calls agree.
void expect_same_runs(const TestProgram& test, const ExportedProgram& a, const ExportedProgram& b) {
  const c10::NoGradGuard no_grad;
  for (const std::vector<IValue>& inputs : test.inputs) {
    std::vector<IValue> of_a = copied(inputs), of_b = copied(inputs);
    const std::vector<IValue> x = a.run(of_a), y = b.run(of_b);
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(same(x[i], y[i])) << "result " << i;
    for (size_t i = 0; i < of_a.size(); ++i) EXPECT_TRUE(same(of_a[i], of_b[i])) << "input " << i;
  }
  for (const auto& [name, tensor] : a.state_dict) EXPECT_TRUE(same(tensor, b.state_dict.at(name))) << name;
}

TEST(SaveExported, ProgramsOfNodes) {
  for (const TestProgram& test : test_programs()) {
    SCOPED_TRACE(test.name);
    const std::string before = print(*test.program->graph);
    const std::string bytes = saved(*test.program);
    EXPECT_EQ(print(*test.program->graph), before);
    const ExportedProgram again = loaded(bytes);
    // From here on it is a program of a file.
    EXPECT_EQ(saved(again), saved(loaded(saved(again))));
    expect_same_runs(test, *test.program, again);
  }
}

TEST(SaveExported, RandomPrograms) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const TestProgram test = random_program(seed, 12);
    const ExportedProgram again = loaded(saved(*test.program));
    expect_same_runs(test, *test.program, again);
    EXPECT_EQ(print(*again.graph), print(*loaded(saved(again)).graph));
  }
}

TEST(SaveExported, SharedMemoryIsShared) {
  std::vector<TestProgram> all = test_programs();
  const ExportedProgram again = loaded(saved(*all.back().program));
  const at::Tensor whole = again.state_dict.at("whole"), turned = again.state_dict.at("turned");
  EXPECT_TRUE(turned.is_alias_of(whole));
  EXPECT_EQ(turned.strides(), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(again.state_dict.at("row").storage_offset(), 8);
  EXPECT_TRUE(again.state_dict.at("again").is_alias_of(whole));
  EXPECT_EQ(whole.storage().nbytes(), 64u);
}

TEST(SaveExported, SeveralProgramsInOneFile) {
  std::vector<TestProgram> all = test_programs();
  const std::string bytes = saved({{"first", all[0].program.get()}, {"second.b", all[2].program.get()}});
  expect_same_runs(all[0], *all[0].program, loaded(bytes, "first"));
  expect_same_runs(all[2], *all[2].program, loaded(bytes, "second.b"));
  EXPECT_THAT(message_of([&] { saved({{"a/b", all[0].program.get()}}); }), HasSubstr("no name of a program"));
  EXPECT_THAT(message_of([&] { saved({{"..", all[0].program.get()}}); }), HasSubstr("no name of a program"));
  EXPECT_THAT(message_of([&] {
                saved({{"a", all[0].program.get()}, {"a", all[0].program.get()}});
              }),
              HasSubstr("two programs of the name 'a'"));
  EXPECT_THAT(message_of([&] { saved(NamedPrograms()); }), HasSubstr("no program"));
}

TEST(SaveExported, FilesAndStreams) {
  std::vector<TestProgram> all = test_programs();
  const std::string path = ::testing::TempDir() + "/mlp.v1.pt2";
  save_exported(*all[0].program, path);
  expect_same_runs(all[0], *all[0].program, load_exported(path));
  const pickle::ZipReader zip(std::make_shared<serialize::FileBytes>(path));
  EXPECT_EQ(zip.bytes()->view().substr(30, 7), "mlp.v1/");
  for (const pickle::ZipRecord& record : zip.records()) {
    EXPECT_EQ(record.offset % 64, 0u) << record.name;
    EXPECT_FALSE(record.deflated);
  }
  EXPECT_EQ(zip.read(*zip.find("archive_format"), 9), "pt2");
  EXPECT_EQ(zip.read(*zip.find("archive_version"), 9), "0");
  EXPECT_EQ(zip.read(*zip.find(".data/version"), 9), "6\n");

  std::ostringstream stream;
  save_exported(*all[0].program, stream);
  EXPECT_EQ(stream.str(), saved(*all[0].program));
  std::ostringstream full;
  full.setstate(std::ios::badbit);
  EXPECT_THAT(message_of([&] { save_exported(*all[0].program, full); }), HasSubstr("stream failed"));

  // What cannot be written leaves the old file.
  all[0].program->out_spec = TreeSpec();
  all[0].program->out_spec.kind = TreeSpec::Kind::kTuple;
  EXPECT_THAT(message_of([&] { save_exported(*all[0].program, path); }), HasSubstr("out_spec has 0 values"));
  EXPECT_NO_THROW(load_exported(path));
  EXPECT_THROW(save_exported(*all[1].program, ::testing::TempDir() + "/nowhere/x.pt2"), serialize::IoError);
}

TEST(SaveExported, WhatIsKnownOfAProgram) {
  std::vector<TestProgram> all = test_programs();
  ExportedProgram& p = *all[4].program;
  p.argument_names = {"x", "count"};
  p.guards = {"L['x'].size()[0] % 2 == 0", "2*L['x'].size()[1] - 1 <= max(7, L['x'].stride()[0])"};
  p.modules = {"layers", "layers.0"};
  p.out_spec.children.resize(6);
  TreeSpec named;
  named.kind = TreeSpec::Kind::kNamedTuple;
  named.name = "mine.Pair";
  named.fields = {"a", "b"};
  named.children.resize(1);
  TreeSpec dict;
  dict.kind = TreeSpec::Kind::kDict;
  dict.name = "collections.OrderedDict";
  dict.keys = {"z", 3};
  dict.children.resize(2);
  named.children.push_back(dict);
  named.children[0].kind = TreeSpec::Kind::kList;
  named.children[0].children.resize(1);
  p.out_spec.children[0] = TreeSpec();
  p.out_spec.children.resize(4);
  p.out_spec.children.push_back(named);
  const ExportedProgram again = loaded(saved(p));
  EXPECT_EQ(again.argument_names, p.argument_names);
  EXPECT_EQ(again.guards, p.guards);
  EXPECT_EQ(again.modules, p.modules);
  EXPECT_EQ(again.graph->symbols().at("s0"), (graph::IntRange{2, 30}));
  const TreeSpec& back = again.out_spec.children.back();
  EXPECT_EQ(back.name, "mine.Pair");
  EXPECT_EQ(back.fields, named.fields);
  EXPECT_EQ(back.children[1].name, "collections.OrderedDict");
  EXPECT_EQ(back.children[1].keys[1].toInt(), 3);
  ASSERT_TRUE(again.example_inputs.isTuple());
  EXPECT_EQ(again.example_inputs.toTupleRef().elements()[0].toTupleRef().elements()[1].toTensor().item().toInt(), 2);
  EXPECT_FALSE(again.functional);

  for (const char* guard :
       {"__import__('os').system('x')", "L['x'].numpy()", "exec(\"1\")", "L['x'].__class__", "(lambda: 1)()",
        "L['x'].size()[0] == 1; x", "L['x", "''exec(1)", "L['a\\'] or exec('1')"}) {
    p.guards = {guard};
    EXPECT_THAT(message_of([&] { saved(p); }), HasSubstr("no condition on sizes")) << guard;
  }
}

// The part of a program's JSON around a text.
TEST(SaveExported, NamesAndNumbersInTheFile) {
  std::vector<TestProgram> all = test_programs();
  const auto model = [](const ExportedProgram& p) {
    const pickle::ZipReader zip(std::make_shared<serialize::FileBytes>(saved(p), "written"));
    return zip.read(*zip.find("models/model.json"), 1 << 20);
  };
  const std::string dynamic = model(*all[1].program);
  EXPECT_THAT(dynamic, HasSubstr("\"as_tensor\":{\"name\":\"if_\"}"));
  EXPECT_THAT(dynamic, HasSubstr("\"as_tensor\":{\"name\":\"if__1\"}"));
  EXPECT_THAT(dynamic, HasSubstr("\"name\":\"_3_rows\""));
  EXPECT_THAT(dynamic, HasSubstr("Mul(Integer(2), Symbol('s0', positive=True, integer=True))"));
  EXPECT_THAT(dynamic, HasSubstr("\"s0\":{\"max_val\":64,\"min_val\":2}"));
  const std::string constants = model(*all[2].program);
  EXPECT_THAT(constants, HasSubstr("{\"as_float\":\"-Infinity\"}"));
  EXPECT_THAT(constants, HasSubstr("{\"as_float\":\"NaN\"}"));
  EXPECT_THAT(constants, HasSubstr("{\"as_complex\":{\"imag\":-2.0,\"real\":1.0}}"));
  EXPECT_THAT(constants, HasSubstr("\"tensor_constant_name\":\"lifted_tensor_0\""));
  EXPECT_THAT(constants, Not(HasSubstr("lifted_tensor_1")));
  const std::string flow = model(*all[4].program);
  EXPECT_THAT(flow, HasSubstr("\"expr_str\":\"Symbol('s0', positive=True, integer=True)\",\"hint\":{\"as_int\":3}"));
  EXPECT_THAT(flow, HasSubstr("StrictGreaterThan(Symbol('s0', positive=True, integer=True), Integer(4))"));
}

TEST(SaveExported, WhatCannotBeWritten) {
  const auto error = [](const std::function<Value*(ExportedProgram&, Value*)>& make) {
    ExportedProgram p;
    Block& b = p.graph->block();
    Value* x = b.add_input(c10::TensorType::get(), "x");
    x->set_info(graph::TensorInfo());
    p.signature.inputs.emplace_back();
    p.signature.outputs.emplace_back();
    Value* out = make(p, x);
    if (out->type()->kind() == c10::TypeKind::TensorType && out->info() == nullptr && out->name() != "unknown")
      out->set_info(graph::TensorInfo());
    b.set_outputs({out});
    use_flat_trees(p);
    return message_of([&] { saved(p); });
  };
  const auto node = [](ExportedProgram& p, Node::Kind kind, std::vector<graph::Operand> operands,
                       const char* name = "") {
    Node* made = p.graph->block().append(p.graph->make(kind, std::move(operands)));
    made->set_name(name);
    return made;
  };
  using Kind = Node::Kind;
  EXPECT_EQ(error([&](ExportedProgram& p, Value* x) { return x; }), "no error");

  const std::string loop = error([&](ExportedProgram& p, Value* x) {
    Node* made = node(p, Kind::kLoop, {IValue(3), IValue(true), std::vector<graph::Operand>{x}});
    Block& body = made->add_block();
    body.add_input(c10::IntType::get());
    body.set_outputs({IValue(true), body.add_input(c10::TensorType::get())});
    return made->add_result(c10::TensorType::get(), "out");
  });
  EXPECT_THAT(loop, HasSubstr("no form for\n  %out: Tensor = loop(3, True, [%x])"));
  EXPECT_THAT(loop, HasSubstr("its loops are while_loop"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                node(p, Kind::kSetAttr, {x, IValue(1)}, "weight");
                return x;
              }),
              HasSubstr("set[\"weight\"](%x, 1)\nits programs have no objects"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                return node(p, Kind::kInvoke, {x}, "helper")->add_result(c10::TensorType::get());
              }),
              HasSubstr("no functions"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                node(p, Kind::kRaise, {IValue("no")}, "ValueError");
                return x;
              }),
              HasSubstr("raise nothing"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                call(p.graph->block(), "aten::split.Tensor", {x, IValue(2)});
                return x;
              }),
              HasSubstr("length is not known"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                Value* y = call(p.graph->block(), "aten::relu", {x})->result();
                y->set_name("unknown");
                return y;
              }),
              HasSubstr("the tensor 'unknown' of\n  %unknown: Tensor = aten::relu(%x)\nare not known"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                return call(p.graph->block(), "aten::full",
                            {std::vector<graph::Operand>{graph::IntExpr::symbol("s9")}, IValue(1)})
                    ->result();
              }),
              HasSubstr("in terms of s9, which is no size of an input"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                graph::TensorInfo info;
                info.dtype = c10::ScalarType::QInt8;
                x->set_info(info);
                return x;
              }),
              HasSubstr("no number for the dtype QInt8"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                return node(p, Kind::kList, {x, x})->add_result(c10::ListType::ofTensors());
              }),
              HasSubstr("its results are tensors and numbers"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                p.example_inputs = 3;
                return x;
              }),
              HasSubstr("the example inputs: expected a tuple"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                p.state_dict["w"] = at::ones({2}).to_sparse();
                return x;
              }),
              HasSubstr("'w' of the program is not strided"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                p.state_dict["w"] = at::empty({2}, at::TensorOptions().device(at::kMeta));
                return x;
              }),
              HasSubstr("lies on meta"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                p.signature.inputs[0].kind = InputSpec::Kind::kParameter;
                p.signature.inputs[0].target = "w";
                return x;
              }),
              HasSubstr("the tensor 'w', which the program does not have"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                p.signature.outputs[0] = {OutputSpec::Kind::kInputMutation, "y"};
                return x;
              }),
              HasSubstr("changes the input 'y', which the graph does not have"));
  EXPECT_THAT(error([&](ExportedProgram& p, Value* x) {
                p.modules = {"\xff"};
                return x;
              }),
              HasSubstr("not UTF-8"));
  ExportedProgram bare;
  EXPECT_THAT(message_of([&] { saved(bare); }), HasSubstr("in_spec is no tuple"));
}

// Sizes that are no expressions of this library keep PyTorch's text.
TEST(SaveExported, SizesThatAreOtherExpressions) {
  constexpr char kText[] =
      "TruncToInt(FloatPow(ToFloat(Symbol('s0', positive=True, integer=True)), Float('0.5', precision=53)))";
  ExportedProgram p;
  Value* x = p.graph->block().add_input(c10::TensorType::get(), "x");
  graph::TensorInfo info;
  info.sizes = {graph::IntExpr::symbol("s0")};
  info.strides = {1};
  x->set_info(info);
  p.opaque_sizes["opaque0"] = kText;
  Value* y = call(p.graph->block(), "aten::relu", {x})->result();
  info.sizes = {graph::IntExpr::symbol("opaque0"), graph::IntExpr::symbol("opaque0") + 1};
  info.strides = {graph::IntExpr::symbol("opaque0") + 1, 1};
  y->set_info(info);
  p.graph->block().set_outputs({y});
  p.signature.inputs.resize(1);
  p.signature.outputs.resize(1);
  use_flat_trees(p);
  const ExportedProgram again = loaded(saved(p));
  EXPECT_EQ(again.opaque_sizes.size(), 2u);
  EXPECT_EQ(again.opaque_sizes.at("opaque0"), kText);
  EXPECT_EQ(again.opaque_sizes.at("opaque1"), std::string("Add(") + kText + ", Integer(1))");
  EXPECT_EQ(again.graph->symbols().at("s0"), (graph::IntRange{0, INT64_MAX}));
  EXPECT_EQ(print(*loaded(saved(again)).graph), print(*again.graph));
  for (const char* text : {"__import__('os')", "Float(os.getcwd)", "Symbol('s0').name", "TruncToInt("}) {
    p.opaque_sizes["opaque0"] = text;
    EXPECT_THAT(message_of([&] { saved(p); }), HasSubstr("the size that opaque0 stands for cannot be written")) << text;
  }
}

// What grows with every node stays within bounds, or is refused.
TEST(SaveExported, LongAndDeepGraphs) {
  const auto program = [](const std::function<Value*(ExportedProgram&, Value*)>& make) {
    auto p = std::make_unique<ExportedProgram>();
    Value* x = p->graph->block().add_input(c10::TensorType::get(), "x");
    x->set_info(graph::TensorInfo());
    p->signature.inputs.resize(1);
    p->signature.outputs.resize(1);
    p->graph->block().set_outputs({make(*p, x)});
    use_flat_trees(*p);
    return p;
  };
  const auto written = [](const std::unique_ptr<ExportedProgram>& p) { loaded(saved(*p)); };
  written(program([](ExportedProgram& p, Value* x) {
    Value* v = x;
    for (int i = 0; i < 5000; ++i) v = call(p.graph->block(), "aten::neg_", {v})->result();
    return v;
  }));
  for (const char* target : {"_operator.add", "_operator.mul", "torch.sym_max"}) {
    written(program([&](ExportedProgram& p, Value* x) {
      Value* v = call(p.graph->block(), "aten::item", {x})->result();
      for (int i = 0; i < 300; ++i) v = call(p.graph->block(), target, {v, v})->result();
      return v;
    }));
    written(program([&](ExportedProgram& p, Value* x) {
      graph::TensorInfo whole;
      whole.dtype = c10::kLong;
      x->set_info(whole);
      Value* v = call(p.graph->block(), "aten::item", {x})->result();
      Value* w = call(p.graph->block(), "_operator.add", {v, IValue(1)})->result();
      for (int i = 0; i < 100; ++i) std::swap(v, w), v = call(p.graph->block(), target, {v, w})->result();
      return v;
    }));
  }
  const auto nested = [&](int depth) {
    return program([&](ExportedProgram& p, Value* x) {
      Block* b = &p.graph->block();
      std::vector<Node*> branches;
      for (int i = 0; i < depth; ++i) {
        branches.push_back(b->append(p.graph->make(Node::Kind::kIf, {x})));
        branches.back()->add_result(c10::TensorType::get())->set_info(graph::TensorInfo());
        b = &branches.back()->add_block();
        branches.back()->add_block().set_outputs({x});
      }
      b->set_outputs({x});
      for (int i = depth - 1; i > 0; --i) branches[i - 1]->block(0).set_outputs({branches[i]->result()});
      return branches[0]->result();
    });
  };
  written(nested(32));
  EXPECT_THAT(message_of([&] { written(nested(33)); }), HasSubstr("more than 32 others"));
  EXPECT_THAT(message_of([&] {
                written(program([](ExportedProgram& p, Value* x) {
                  Value* v = x;
                  for (int i = 0; i < 60; ++i) {
                    Node* list = p.graph->block().append(p.graph->make(Node::Kind::kList, {v, v}));
                    v = list->add_result(c10::ListType::create(v->type()));
                  }
                  return v;
                }));
              }),
              HasSubstr("a list of lists"));
}

TEST(Sympy, WritesWhatItReads) {
  for (const char* text : {"3*s0 + 1", "s0 // 2", "(s0 - u1) % 3", "max(1, s0*s1)", "min(s0, -u0)", "-7", "s0*s0*s0"}) {
    const graph::IntExpr e = graph::IntExpr::parse(text);
    std::string error;
    EXPECT_EQ(parse_sympy(sympy_of(e, {{"s0", {2, 9}}}), &error), e) << text;
  }
  EXPECT_EQ(sympy_of(graph::IntExpr::parse("s0 % 4"), {{"s0", {0, 9}}}),
            "Mod(Symbol('s0', positive=True, integer=True), Integer(4))");
  EXPECT_EQ(sympy_of(graph::IntExpr::parse("u0 % 4"), {}), "PythonMod(Symbol('u0', integer=True), Integer(4))");
}

}  // namespace
}  // namespace torch::pt2
