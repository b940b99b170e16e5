// What programs are refused, what is printed of those that are not, and what the runtime checks.
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>

#include "aten/aten.h"
#include "c10/testing/message_of.h"
#include "compile/aot/prepare.h"
#include "compile/aot/printer.h"
#include "compile/aot/printing.h"
#include "compile/aot/runtime/checks.h"
#include "compile/aot/runtime/testing.h"
#include "compile/aot/runtime/weights.h"
#include "compile/aot/script_model.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"

namespace torch::aot {
namespace {

using c10::IValue;
using c10::testing::message_of;

// A program from text; what its inputs are stands there.
ExportedProgram program(const char* text, std::vector<IValue> tensors = {}) {
  ExportedProgram p;
  p.graph = graph::testing::parse(text, std::move(tensors));
  p.signature.inputs.resize(p.graph->block().input_count());
  p.signature.outputs.resize(p.graph->block().outputs().size());
  p.functional = true;
  return p;
}

// What the runtime throws is no error of this library.
template <class E, class F>
std::string what_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(Prepare, GivesOutputsMemoryOfTheirOwn) {
  const PreparedProgram p = prepare(program(R"(graph f(%x: Tensor<Float, cpu, [2, 3], [3, 1]>) {
    %0: Tensor = aten::neg(%x)
    %1: Tensor = aten::t(%0)
    return %0, %1, %0, %x
  })"));
  EXPECT_EQ(p.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(p.outputs, (std::vector<std::string>{"output0", "output1", "output2", "output3"}));
  std::set<const graph::Value*> seen;
  for (const graph::Operand& output : p.graph->block().outputs()) {
    ASSERT_TRUE(output.is_value());
    EXPECT_TRUE(seen.insert(output.value()).second);
  }
  EXPECT_TRUE(contains(print_program(p, {}).kernels, "apply<op::Neg>"));
}

// Of a program, the lines with `part` in them.
std::string lines_with(const std::string& text, const char* part) {
  std::string found;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (contains(line, part)) found += line + "\n";
    begin = end + 1;
  }
  return found;
}

TEST(Groups, ShareKernelsAndMemory) {
  const PreparedProgram p =
      prepare(program(R"(graph f(%x: Tensor<Float, cpu, [4, 6], [6, 1]>, %w: Tensor<Float, cpu, [6], [1]>) {
    %0: Tensor = aten::mul.Tensor(%x, %w)
    %1: Tensor = aten::relu(%0)
    %2: Tensor = aten::sum.dim_IntList(%1, [0], True, None)
    %3: Tensor = aten::sum.dim_IntList(%1, [1], True, None)
    %4: Tensor = aten::mul.Tensor(%1, %2)
    %5: Tensor = aten::relu(%4)
    %6: Tensor = aten::add.Tensor(%5, %3, 1)
    %7: Tensor = aten::sum.dim_IntList(%6, [0], True, None)
    return %7
  })"));
  ASSERT_EQ(p.groups.groups.size(), 2u);
  EXPECT_TRUE(p.groups.refused.empty());
  const PrintedProgram printed = print_program(p, {});
  EXPECT_EQ(lines_with(printed.report, "  group"),
            "  group0: mul.Tensor, relu\n  group1: mul.Tensor, relu, add.Tensor\n");
  // The second takes the place of what it reads last, which is where the first has put it.
  EXPECT_EQ(
      lines_with(printed.source, "char* const data[]"),
      "    char* const data[] = {m, const_cast<char*>(in_x), const_cast<char*>(in_w)};\n"
      "    char* const data[] = {m, const_cast<char*>(m), const_cast<char*>(m + 128), const_cast<char*>(m + 192)};\n");
  EXPECT_TRUE(contains(printed.kernels, "kernel_1")) << printed.kernels;
}

// What is read behind the row, or read elsewhere in its memory, is not overwritten.
TEST(Groups, LeaveWhatIsStillRead) {
  const auto data_of = [](const char* text) {
    return lines_with(print_program(prepare(program(text)), {}).source, "char* const data[]");
  };
  EXPECT_EQ(data_of(R"(graph f(%x: Tensor<Float, cpu, [6, 6], [6, 1]>) {
    %0: Tensor = aten::mm(%x, %x)
    %1: Tensor = aten::t(%0)
    %2: Tensor = aten::add.Tensor(%0, %1, 1)
    %3: Tensor = aten::mm(%2, %x)
    return %3
  })"),
            "    char* const data[] = {m + 192, const_cast<char*>(m), const_cast<char*>(m)};\n");
  EXPECT_EQ(data_of(R"(graph f(%x: Tensor<Float, cpu, [6, 6], [6, 1]>) {
    %0: Tensor = aten::mm(%x, %x)
    %1: Tensor = aten::softmax.int(%0, -1, None)
    %2: Tensor = aten::mul.Tensor(%1, %0)
    %3: Tensor = aten::mm(%2, %x)
    return %3
  })"),
            "    char* const data[] = {m + 192, const_cast<char*>(m)};\n");
  EXPECT_EQ(data_of(R"(graph f(%x: Tensor<Float, cpu, [6, 6], [6, 1]>) {
    %0: Tensor = aten::mm(%x, %x)
    %1: Tensor = aten::mul.Scalar(%0, 0.5)
    %2: Tensor = aten::softmax.int(%1, -1, None)
    %3: Tensor = aten::mm(%2, %x)
    return %3
  })"),
            "    char* const data[] = {m, const_cast<char*>(m)};\n");
}

TEST(Groups, AreCompiledForWhatIsAskedFor) {
  const PreparedProgram p = prepare(program(R"(graph f(%x: Tensor<Float, cpu, [2, 3], [3, 1]>) {
    %0: Tensor = aten::neg(%x)
    return %0
  })"));
  EXPECT_FALSE(contains(print_program(p, {}).kernels, "HWY_DISABLED_TARGETS"));
  PrintOptions options;
  options.header = "pkg/model.h";
  options.targets = {"baseline", "AVX2"};
  const std::string kernels = print_program(p, options).kernels;
  EXPECT_TRUE(contains(kernels, "#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3)\n"));
  EXPECT_TRUE(contains(kernels, "#define HWY_TARGET_INCLUDE \"pkg/model_kernels.cc\"\n"));
}

// Where a workspace's programs stand in its root folder, headers have no folder in their names.
TEST(Print, HeadersOfTheRootFolder) {
  const PreparedProgram p = prepare(program(R"(graph f(%x: Tensor<Float, cpu, [2, 3], [3, 1]>) {
    %0: Tensor = aten::neg(%x)
    return %0
  })"));
  PrintOptions options;
  options.header = "model.h";
  EXPECT_EQ(print_program(p, options).source.rfind("#include \"model.h\"\n", 0), 0u);
}

// Rows that cannot be gone through as such stay one call.
TEST(Groups, SayWhatTheyDoNotTake) {
  const PreparedProgram p =
      prepare(program(R"(graph f(%x: Tensor<Float, cpu, [4, 6], [6, 1]>, %y: Tensor<Float, cpu, [6, 4], [4, 1]>) {
    %0: Tensor = aten::softmax.int(%x, 0, None)
    %1: Tensor = aten::cumsum(%x, 1, None)
    return %0, %1
  })"));
  EXPECT_TRUE(p.groups.groups.empty());
  EXPECT_TRUE(contains(print_program(p, {}).kernels, "It has none"));
}

TEST(Prepare, SaysWhatItRefuses) {
  const auto refusal = [](ExportedProgram p, const PrepareOptions& options = {}) {
    return message_of<c10::ValueError>([&] { prepare(p, options); });
  };
  EXPECT_TRUE(contains(refusal(program(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = aten::nonzero(%x)
    return %0
  })")),
                       "sizes that depend on elements"));
  EXPECT_TRUE(contains(refusal(program(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = aten::rand_like(%x, None, None, None, None, None)
    return %0
  })")),
                       "random numbers"));
  EXPECT_TRUE(contains(refusal(program(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>, %c: bool) {
    %0: Tensor = if(%c) { yield %x } { yield %x }
    return %0
  })")),
                       "is no tensor of known dtype"));
  EXPECT_TRUE(contains(refusal(program(R"(graph f(%x: Tensor<Float, cpu, [3, 2], [1, 3]>) {
    %0: Tensor = aten::neg(%x)
    return %0
  })")),
                       "is not a dense row-major tensor"));
  const char* negation = R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = aten::neg(%x)
    return %0
  })";
  ExportedProgram gradient = program(negation);
  gradient.signature.outputs[0] = {OutputSpec::Kind::kInputGradient, "x"};
  EXPECT_TRUE(contains(refusal(std::move(gradient)), "a program that computes gradients of 'x' cannot be compiled"));
  ExportedProgram unknown = program(negation);
  unknown.signature.outputs[0] = {OutputSpec::Kind::kBufferMutation, "count"};
  EXPECT_TRUE(contains(refusal(std::move(unknown)), "changes 'count', which is none of its inputs"));
  ExportedProgram grows = program(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = aten::cat([%x, %x], 0)
    return %0
  })");
  grows.signature.outputs[0] = {OutputSpec::Kind::kInputMutation, "x"};
  EXPECT_TRUE(contains(refusal(std::move(grows)), "changes the sizes or the dtype of 'x'"));

  const char* dynamic = R"(graph f(%x: Tensor<Float, cpu, [s0, 2], [2, 1]>) {
    %0: Tensor = aten::neg(%x)
    return %0
  })";
  EXPECT_TRUE(contains(refusal(program(dynamic)), "sizes without an upper bound: s0"));
  PrepareOptions options;
  options.largest["s1"] = 5;
  options.largest["s0"] = 5;
  EXPECT_TRUE(contains(refusal(program(dynamic), options), "has no size 's1'"));
  options.largest.erase("s1");
  const PreparedProgram p = prepare(program(dynamic), options);
  EXPECT_EQ(p.graph->symbols().at("s0").max, 5);
  const std::string header = print_program(p, {}).header;
  EXPECT_TRUE(contains(header, "int64_t s0;  ///< within [0, 5]"));
  EXPECT_TRUE(contains(header, "kArenaBytes = 0"));  // the output is the caller's
}

TEST(Parts, SayWhatTheyRefuse) {
  const auto refusal = [](const char* text) { return message_of<c10::ValueError>([&] { prepare(program(text)); }); };
  EXPECT_TRUE(contains(refusal(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>, %c: Tensor<Bool, cpu, [], []>) {
    %0: Tensor = if(%c) { yield %x } { %1: Tensor = aten::cat([%x, %x], 0)
      yield %1 }
    return %0
  })"),
                       "branches with results of different sizes or dtypes"));
  EXPECT_TRUE(contains(refusal(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = loop(3, True, [%x]) { |%i: int, %y: Tensor|
      %1: Tensor = aten::add.Scalar(%y, %i, 1)
      yield True, %1 }
    return %0
  })"),
                       "a loop whose turns depend on elements, or on their number"));
  EXPECT_TRUE(contains(refusal(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = while([%x], []) { |%y: Tensor| yield %y } { |%z: Tensor|
      %1: Tensor = aten::neg(%z)
      yield %1 }
    return %0
  })"),
                       "a condition that is no tensor of bool"));
  EXPECT_TRUE(contains(refusal(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = scope["autocast"]("cpu", None, True, None) {
      %1: Tensor = aten::neg(%x)
      yield %1 }
    return %0
  })"),
                       "a scope of autocast"));
}

// What is known beforehand leaves no branch, nor does a scope of no gradients.
TEST(Parts, StandInPlaceWhereNothingDepends) {
  const PreparedProgram p = prepare(program(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = if(@0) {
      %1: Tensor = aten::neg(%x)
      yield %1 } {
      %2: Tensor = aten::sin(%x)
      yield %2 }
    %3: Tensor = scope["set_grad_enabled"](False) {
      %4: Tensor = aten::cos(%0)
      yield %4 }
    %5: Tensor = if(False) {
      yield %3 } {
      %6: Tensor = aten::tanh(%3)
      yield %6 }
    return %5
  })",
                                            {at::ones({}, c10::ScalarType::Bool)}));
  EXPECT_TRUE(p.parts.empty());
  const std::string source = print_program(p, {}).source;
  EXPECT_TRUE(contains(source, "aten::neg") && contains(source, "aten::cos") && contains(source, "aten::tanh") &&
              !contains(source, "aten::sin"));
}

// A loop of a known number of turns is one that scans nothing.
TEST(Parts, LoopsHaveTurns) {
  const PreparedProgram p = prepare(program(R"(graph f(%x: Tensor<Float, cpu, [2], [1]>) {
    %0: Tensor = loop(3, True, [%x]) { |%i: int, %y: Tensor|
      %1: Tensor = aten::sin(%y)
      yield True, %1 }
    return %0
  })"));
  ASSERT_EQ(p.parts.size(), 1u);
  EXPECT_EQ(p.parts.begin()->second.carried, 1u);
  EXPECT_EQ(p.parts.begin()->second.sliced, 0u);
  EXPECT_TRUE(contains(print_program(p, {}).source, "for (int64_t turn = 0; turn < 3; ++turn)"));
}

// Programs of Python compare sizes by its operators.
TEST(Parts, CompareSizes) {
  for (const auto& [name, comparison] :
       {std::pair{"gt", ">"}, {"ge", ">="}, {"lt", "<"}, {"le", "<="}, {"eq", "=="}, {"ne", "!="}}) {
    const c10::FunctionSchema schema = c10::parse_schema("_operator::" + std::string(name) + "(int a, int b) -> bool");
    ExportedProgram p = program(R"(graph f(%x: Tensor<Float, cpu, [s0, 2], [2, 1]>) {
      where s0 in [1, 9]
      %0: int = aten::sym_size.int(%x, 0)
      %1: Tensor = aten::sin(%x)
      return %1
    })");
    graph::Block& block = p.graph->block();
    const graph::Callable compares(schema, [](c10::Stack& stack) { stack = {IValue(true)}; });
    graph::Node* const condition =
        block.append(p.graph->call(compares, {block.first()->result(), graph::Operand(IValue(4))}));
    graph::Node* const branch = block.append(p.graph->make(graph::Node::Kind::kIf, {condition->result()}));
    branch->add_block().set_outputs({block.input(0)});
    branch->add_block().set_outputs({block.first()->next()->result()});
    block.set_outputs({branch->add_result(c10::TensorType::get())});
    const std::string source = print_program(prepare(p), {}).source;
    EXPECT_TRUE(contains(source, ("if (s0 " + std::string(comparison) + " 4) {").c_str())) << name;
  }
}

// Bodies lie in memory of one step, and what they multiply with among the program's weights.
TEST(Parts, ShareTheProgramsMemory) {
  const at::Tensor weight = at::ones({4, 4});
  const PreparedProgram p = prepare(program(R"(graph f(%x: Tensor<Float, cpu, [3, 4], [4, 1]>) {
    %0: Tensor, %1: Tensor = scan([%x], [%x], []) { |%state: Tensor, %row: Tensor|
      %2: Tensor = aten::mm(%state, @0)
      %3: Tensor = aten::add.Tensor(%2, %row, 1)
      %4: Tensor = aten::sum(%3, None)
      yield %3, %4 }
    return %0, %1
  })",
                                            {weight}));
  ASSERT_EQ(p.parts.size(), 1u);
  const ProgramPart& part = p.parts.begin()->second;
  EXPECT_EQ(part.carried, 1u);
  EXPECT_EQ(part.sliced, 1u);
  EXPECT_EQ(part.turns, graph::IntExpr(3));
  const PrintedProgram printed = print_program(p, {});
  EXPECT_EQ(printed.weights.size(), 64u);
  EXPECT_TRUE(contains(printed.source, "for (int64_t turn = 0; turn < 3; ++turn)"));
  EXPECT_TRUE(contains(printed.source, "class ModelPart0 {"));
  EXPECT_TRUE(printed.allocating.empty());
}

TEST(Script, SaysWhichInputsItCannotRead) {
  // A file is read first: of none of them anything is known.
  EXPECT_TRUE(contains(message_of([] { export_script("no_such_file.pt", {"float32[2]"}); }), "no_such_file.pt"));
  const char* const file = "compile/aot/testing/convnet_bn.pt";
  for (const char* text : {"float32", "float33[2]", "float32[2", "float32[-1]", "float32[n:2]", "float32[2,]", "[2]",
                           "float32[99999999999999999999]"}) {
    EXPECT_EQ(message_of<c10::ValueError>([&] { export_script(file, {text}); }),
              "input '" + std::string(text) + "': expected a dtype and sizes, as float32[n:1:16, 3]");
  }
  // The module does not take it.
  EXPECT_ANY_THROW(export_script(file, {"int64[2, 1, 12, 12]"}));
}

// Its weights become constants, sizes have the ranges that they were given.
TEST(Script, IsAProgram) {
  const ExportedProgram p = export_script("compile/aot/testing/convnet_bn.pt", {"float32[n:1:6, 1, 12, 12]"});
  EXPECT_EQ(p.graph->symbols().at("n"), (graph::IntRange{1, 6}));
  EXPECT_FALSE(p.constants.empty());
  EXPECT_EQ(prepare(p).inputs, std::vector<std::string>{"x"});
}

// What is no tensor is a constant of the class.
TEST(Print, OutputsThatAreNumbers) {
  ExportedProgram p = program(R"(graph f(%x: Tensor<Float, cpu, [s0, 2], [2, 1]>) {
    %0: Tensor = aten::neg(%x)
    %1: int = aten::sym_size.int(%x, 0)
    return 7, %0, %1, None, 0.5, True
  })");
  PrepareOptions options;
  options.largest["s0"] = 5;
  const PreparedProgram prepared = prepare(p, options);
  EXPECT_EQ(prepared.outputs, std::vector<std::string>{"output1"});
  const PrintedProgram printed = print_program(prepared, {});
  EXPECT_EQ(lines_with(printed.header, "static constexpr int64_t output"),
            "  static constexpr int64_t output0([[maybe_unused]] const Sizes& sizes) {\n"
            "  static constexpr int64_t output2([[maybe_unused]] const Sizes& sizes) {\n");
  EXPECT_TRUE(contains(printed.header, "    return 7;\n"));
  EXPECT_TRUE(contains(printed.header, "    return s0;\n"));
  EXPECT_TRUE(contains(printed.header, "static constexpr double output4("));
  EXPECT_TRUE(contains(printed.header, "static constexpr bool output5("));
  EXPECT_FALSE(contains(printed.header, "output3"));
  EXPECT_TRUE(contains(printed.report, "output3: a constant, no tensor\n"));
  EXPECT_TRUE(contains(message_of<c10::ValueError>([] {
                         prepare(program(R"(graph f(%x: Tensor<Float, cpu, [1], [1]>) {
                           %0: Scalar = aten::item(%x)
                           return %0
                         })"));
                       }),
                       "number"));
}

// A program with a buffer, `count`, whose new value is the first output.
ExportedProgram with_buffer(const char* text, const at::Tensor& initial) {
  ExportedProgram p = program(text);
  p.signature.inputs[0] = {InputSpec::Kind::kBuffer, "net.count"};
  p.signature.outputs[0] = {OutputSpec::Kind::kBufferMutation, "net.count"};
  p.state_dict["net.count"] = initial;
  return p;
}

TEST(States, AreComputedWhereTheyLie) {
  const at::Tensor initial = at::full({2, 2}, 3.0);
  const PreparedProgram p =
      prepare(with_buffer(R"(graph f(%c: Tensor<Float, cpu, [2, 2], [2, 1]>, %x: Tensor<Float, cpu, [2, 2], [2, 1]>) {
    %0: Tensor = aten::add.Tensor(%c, %x, 1)
    %1: Tensor = aten::mm(%0, %x)
    return %0, %1
  })",
                          initial));
  EXPECT_EQ(p.inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(p.outputs, std::vector<std::string>{"output"});
  EXPECT_EQ(p.updates, std::vector<size_t>{1});
  ASSERT_EQ(p.states.size(), 1u);
  EXPECT_EQ(p.states[0].name, "net_count");
  EXPECT_FALSE(p.states[0].initial.is_same(initial));
  const PrintedProgram printed = print_program(p, {});
  EXPECT_TRUE(contains(printed.report, "changes\n  net_count: Float [2, 2], in place\n"));
  EXPECT_TRUE(contains(printed.report, "buffers that last: 64 bytes, and 0 of what"));
  EXPECT_TRUE(contains(printed.header, "float* net_count;  ///< Float [2, 2]"));
  EXPECT_TRUE(contains(printed.header, "kBufferBytes = 64"));
  EXPECT_EQ(lines_with(printed.source, "char* const data[]"),
            "    char* const data[] = {s, const_cast<char*>(s), const_cast<char*>(in_x)};\n");
  EXPECT_TRUE(contains(lines_with(printed.source, "std::memcpy"), "std::memcpy(s, w"));
  PrintOptions options;
  options.class_name = "Buffers";
  EXPECT_TRUE(contains(message_of<c10::ValueError>([&] { print_program(p, options); }), "cannot be called Buffers"));
}

// What a buffer was is read after its new value is there, here and as a view.
TEST(States, AreComputedBesideWhereTheyAreStillRead) {
  for (const char* last : {"%c, 1", "%1, 1"}) {
    const std::string text =
        R"(graph f(%c: Tensor<Float, cpu, [2, 2], [2, 1]>, %x: Tensor<Float, cpu, [2, 2], [2, 1]>) {
    %0: Tensor = aten::mul.Tensor(%c, %x)
    %1: Tensor = aten::t(%c)
    %2: Tensor = aten::mm(%0, %x)
    %3: Tensor = aten::add.Tensor(%2, )" +
        std::string(last) + R"()
    return %0, %3
  })";
    const PrintedProgram printed = print_program(prepare(with_buffer(text.c_str(), at::zeros({2, 2}))), {});
    EXPECT_TRUE(contains(printed.report, "changes\n  net_count: Float [2, 2]\n"));
    EXPECT_EQ(lines_with(printed.source, "std::memcpy"), "  std::memcpy(s + 64, s, 16);\n");
    EXPECT_TRUE(contains(printed.source, "std::memset(s + 64, 0, 16);"));
  }
}

// Places, slices and masks of a buffer are written where it lies; where the numbers are its own, beside it.
TEST(States, AreWrittenInParts) {
  const auto source_of = [](const std::string& call) {
    const std::string text =
        R"(graph f(%c: Tensor<Float, cpu, [4, 2], [2, 1]>, %x: Tensor<Float, cpu, [1, 2], [2, 1]>, %i: Tensor<Long, cpu, [1], [1]>) {
    %s: Tensor = aten::slice.Tensor(%c, 0, 1, 2, 1)
    %0: Tensor = )" +
        call + R"(
    return %0, %x
  })";
    return print_program(prepare(with_buffer(text.c_str(), at::zeros({4, 2}))), {});
  };
  for (const char* call :
       {"aten::index_copy(%c, 0, %i, %x)", "aten::index_put(%c, [%i], %x, True)", "aten::index_add(%c, 0, %i, %x, 1)",
        "aten::slice_scatter(%c, %x, 0, 2, 3, 1)", "aten::slice_scatter(%c, %x, -2, -1, None, 1)"}) {
    const PrintedProgram printed = source_of(call);
    EXPECT_TRUE(contains(printed.report, "in place")) << call << printed.report;
    EXPECT_TRUE(printed.allocating.empty()) << call;
  }
  EXPECT_FALSE(contains(source_of("aten::index_copy(%c, 0, %i, %s)").report, "in place"));
  EXPECT_FALSE(contains(source_of("aten::slice_scatter(%c, %s, 0, 2, 3, 1)").report, "in place"));
}

TEST(Print, Numbers) {
  EXPECT_EQ(print(int64_t{7}), "7");
  EXPECT_EQ(print(int64_t{1} << 40), "INT64_C(1099511627776)");
  EXPECT_EQ(print(graph::IntExpr::parse("2*s0 + 1")), "((2 * s0) + 1)");
  EXPECT_EQ(print(graph::IntExpr::parse("s0 // 2")), "torch::aot::floordiv(s0, 2)");
  EXPECT_EQ(print_double(0.1), "0.10000000000000001");
  EXPECT_EQ(print_double(3), "3.0");
  EXPECT_EQ(print_double(-INFINITY), "-std::numeric_limits<double>::infinity()");
  EXPECT_EQ(quoted("a\"b\n"), "\"a\\\"b\\n\"");
}

TEST(Runtime, ChecksWeights) {
  alignas(64) char bytes[128] = {1, 2, 3};
  const uint64_t hash = hash_of(bytes, sizeof(bytes));
  check_weights("P", Weights(bytes, sizeof(bytes)), sizeof(bytes), hash);
  EXPECT_EQ(what_of<std::invalid_argument>([&] { check_weights("P", Weights(bytes, 64), sizeof(bytes), hash); }),
            "P: the weights have another size than those that it was compiled with");
  EXPECT_EQ(what_of<std::invalid_argument>([&] { check_weights("P", Weights(bytes + 1, 64), 64, hash); }),
            "P: the weights are not 64-byte aligned");
  bytes[100] = 1;
  EXPECT_EQ(
      what_of<std::invalid_argument>([&] { check_weights("P", Weights(bytes, sizeof(bytes)), sizeof(bytes), hash); }),
      "P: the weights are not those that it was compiled with");

  const std::string path = ::testing::TempDir() + "/weights.bin";
  EXPECT_TRUE(contains(what_of<std::runtime_error>([&] { Weights::map(path.c_str()); }), "cannot open the weights"));
  std::ofstream(path) << "0123456789";
  Weights mapped = Weights::map(path.c_str());
  EXPECT_EQ(std::string(mapped.data(), mapped.size()), "0123456789");
  const Weights moved = std::move(mapped);
  EXPECT_EQ(moved.size(), 10u);
}

TEST(Runtime, ChecksArguments) {
  alignas(8) char memory[16];
  check_pointer("P.run", "x", memory, 8);
  EXPECT_EQ(what_of<std::invalid_argument>([&] { check_pointer("P.run", "x", nullptr, 4); }), "P.run: x is null");
  EXPECT_EQ(what_of<std::invalid_argument>([&] { check_pointer("P.run", "x", memory + 1, 4); }),
            "P.run: x is not aligned to 4 bytes");
  check_range("P.run", "s0", 3, 1, 3);
  EXPECT_EQ(what_of<std::invalid_argument>([] { check_range("P.run", "s0", 4, 1, 3); }),
            "P.run: s0 is 4, but must be within [1, 3]");
  EXPECT_EQ(floordiv(-7, 2), -4);
  EXPECT_EQ(slice_start(-1, 4), 3);
  EXPECT_EQ(slice_start(9, 4), 4);
  EXPECT_EQ(slice_start(-9, 4), 0);
  EXPECT_EQ(mod(-7, 2), 1);
}

TEST(Testing, ComparesOutputs) {
  const float expected[] = {1, 2, NAN};
  const char* bytes = reinterpret_cast<const char*>(expected);
  Output output(sizeof(expected));
  std::memcpy(output.as<float>(), expected, sizeof(expected));
  EXPECT_EQ(output.compare("y", Element::kFloat, bytes, 0), 0);
  const float zeros[] = {0.0f, -0.0f};
  Output negative(sizeof(zeros));
  negative.as<float>()[0] = negative.as<float>()[1] = 0;
  EXPECT_EQ(negative.compare("z", Element::kFloat, reinterpret_cast<const char*>(zeros), 0), 1);
  EXPECT_EQ(negative.compare("z", Element::kFloat, reinterpret_cast<const char*>(zeros), 1e-5), 0);
  output.as<float>()[1] = 2.001f;
  EXPECT_EQ(output.compare("y", Element::kFloat, bytes, 1e-3), 0);
  EXPECT_EQ(output.compare("y", Element::kFloat, bytes, 1e-5), 1);
  output.as<float>()[1] = NAN;
  EXPECT_EQ(output.compare("y", Element::kFloat, bytes, 1e-3), 1);
  std::memcpy(output.as<float>(), expected, sizeof(expected));
  output.as<float>()[3] = 0;  // behind
  EXPECT_EQ(output.compare("y", Element::kFloat, bytes, 0), 1);
}

}  // namespace
}  // namespace torch::aot
