// Passes over programs that PyTorch exported: they still do the same, and sizes are what PyTorch says they are.
// KINDLING_FIXTURES names a folder with more of them.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "aten/aten.h"
#include "c10/value/dict.h"
#include "c10/value/object.h"
#include "export/pt2/pt2.h"
#include "graph/ir/text.h"
#include "graph/passes/common_subexpressions.h"
#include "graph/passes/constant_folding.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/decompose.h"
#include "graph/passes/draw.h"
#include "graph/passes/effects.h"
#include "graph/passes/fit.h"
#include "graph/passes/fold_batch_norm.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/shape_propagation.h"
#include "graph/passes/testing/programs.h"
#include "graph/plan/plan.h"
#include "gtest/gtest.h"
#include "tests/fixtures/fixture.h"

namespace torch::graph {
namespace {

using c10::IValue;
using c10::Stack;
namespace fs = std::filesystem;

// What the graph of a program is given for these arguments, (args, kwargs).
Stack inputs_of(const ExportedProgram& program, const IValue& arguments) {
  const std::vector<IValue> user = program.in_spec.flatten(arguments, "the example");
  Stack stack;
  size_t next = 0;
  for (const InputSpec& spec : program.signature.inputs) {
    switch (spec.kind) {
      case InputSpec::Kind::kUser:
      case InputSpec::Kind::kConstant:
        stack.push_back(user.at(next++));
        break;
      default:
        stack.emplace_back(program.state_dict.count(spec.target) > 0 ? program.state_dict.at(spec.target)
                                                                     : program.constants.at(spec.target));
    }
  }
  return stack;
}

// f(program, inputs) with the first call of its description.
template <class F>
void for_programs(const F& f) {
  const fs::path folder = fixtures::folder("export", "export/pt2/testdata");
  std::set<fs::path> descriptions;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") descriptions.insert(entry.path());
  }
  for (const fs::path& description : descriptions) {
    const fixtures::Fixture fixture(description.string());
    const auto run = [&](const fs::path& file, const std::string& name, const nlohmann::json& calls) {
      SCOPED_TRACE(file.filename().string() + " " + name);
      std::optional<ExportedProgram> program;
      try {
        program = load_exported(file.string(), name);
      } catch (const c10::Error&) {
        return;  // files that PyTorch refuses, too
      }
      const nlohmann::json& call = calls.is_array()          ? calls.at(0)
                                   : calls.contains("calls") ? calls["calls"].at(0)
                                                             : calls;
      std::vector<IValue> args;
      for (const auto& one : call.value("args", nlohmann::json::array())) args.push_back(fixture.value(one));
      const c10::impl::GenericDict kwargs(c10::AnyType::get(), c10::AnyType::get());
      if (call.contains("kwargs")) {
        for (const auto& [key, one] : call["kwargs"].items()) kwargs.insert_or_assign(key, fixture.value(one));
      }
      f(*program, inputs_of(*program, c10::ivalue::Tuple::create(
                                          std::vector<IValue>{c10::ivalue::Tuple::create(std::move(args)), kwargs})));
    };
    for (const auto& file : fixture.description()["files"]) {
      const fs::path path = folder / file.get<std::string>();
      if (!fs::exists(path)) continue;
      if (fixture.description().contains("programs")) {
        for (const auto& [name, calls] : fixture.description()["programs"].items()) run(path, name, calls);
      } else {
        run(path, "", fixture.description()["calls"]);
      }
    }
  }
}

bool draws(const Graph& graph) {
  bool any = false;
  graph.for_nodes([&](const Node* node) { any = any || draws_random_numbers(*node); });
  return any;
}

void expect_close(const Stack& got, const Stack& want, const Graph& graph) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (!got[i].isTensor()) continue;
    const at::Tensor a = got[i].toTensor(), b = want[i].toTensor();
    ASSERT_EQ(a.scalar_type(), b.scalar_type());
    EXPECT_TRUE(at::allclose(a, b, 1e-4, 1e-5, true)) << "value " << i << " of\n" << print(graph);
  }
}

TEST(ExportedPrograms, DoTheSameAfterPasses) {
  int programs = 0, decomposed = 0, planned = 0, functional = 0;
  for_programs([&](const ExportedProgram& program, const Stack& inputs) {
    ++programs;
    const Graph& graph = *program.graph;
    const Stack want = testing::run(graph, inputs);
    const auto all = graph.clone();
    for (const auto& pass :
         {+[](Graph& g) { return eliminate_dead_code(g); },
          +[](Graph& g) { return eliminate_common_subexpressions(g); }, +[](Graph& g) { return fold_constants(g); }}) {
      const auto copy = graph.clone();
      pass(*copy);
      verify(*copy);
      EXPECT_EQ(testing::difference(testing::run(*copy, inputs), want), "") << print(graph) << print(*copy);
      pass(*all);
    }
    verify(*all);
    EXPECT_EQ(testing::difference(testing::run(*all, inputs), want), "");
    draw(*all);

    // For these sizes alone.
    propagate_shapes(*all, inputs);
    verify(*all);
    if (!draws(graph)) {
      decomposed += decompose(*all).changes > 0;
      verify(*all);
      expect_close(testing::run(*all, inputs), want, *all);
    }
    propagate_shapes(*all, inputs);
    try {
      const Plan plan = plan_memory(*all);
      EXPECT_GE(plan.layout.bytes, plan.layout.lower_bound);
      ++planned;
    } catch (const c10::ValueError&) {
    }
    try {
      Functionalized made = functionalize(*all);
      verify(*made.graph);
      EXPECT_EQ(testing::functional_difference(*all, *made.graph, made.written_inputs, inputs), "");
      propagate_shapes(*made.graph, inputs);
      reinplace(*made.graph);
      verify(*made.graph);
      EXPECT_EQ(testing::functional_difference(*all, *made.graph, made.written_inputs, inputs), "")
          << print(*made.graph);
      ++functional;
    } catch (const c10::ValueError&) {
    }

    // With weights as constants.
    const auto frozen = graph.clone();
    Stack left;
    for (size_t i = inputs.size(); i-- > 0;) {
      const InputSpec::Kind kind = program.signature.inputs[i].kind;
      if (kind == InputSpec::Kind::kParameter || kind == InputSpec::Kind::kBuffer) {
        bind_input(*frozen, i, inputs[i].toTensor().detach());
      } else {
        left.insert(left.begin(), inputs[i]);
      }
    }
    verify(*frozen);
    if (draws(graph)) return;
    const Stack outputs(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(graph.block().outputs().size()));
    propagate_shapes(*frozen, left);
    fold_batch_norm(*frozen);
    fold_constants(*frozen);
    eliminate_dead_code(*frozen);
    verify(*frozen);
    Stack got = testing::run(*frozen, left);
    got.resize(outputs.size());
    expect_close(got, outputs, *frozen);
  });
  std::cout << programs << " programs, " << decomposed << " decomposed, " << planned << " planned, " << functional
            << " functional\n";
  EXPECT_GT(programs, 20);
  EXPECT_GT(decomposed, 5);
  EXPECT_GT(planned, 10);
  EXPECT_GT(functional, 10);
}

// The sizes that PyTorch wrote down, symbols among them, are found again from those of the inputs.
TEST(ExportedPrograms, SizesAreThoseThatWereWrittenDown) {
  int64_t same = 0, missing = 0, symbolic = 0;
  for_programs([&](const ExportedProgram& program, const Stack&) {
    const auto graph = program.graph->clone();
    std::vector<std::pair<const Value*, TensorInfo>> known;
    graph->for_nodes([&](const Node* node) {
      for (size_t i = 0; i < node->result_count(); ++i) {
        // What nothing reads an operator may give in another form.
        const bool counts = node->result(i)->info() != nullptr && !node->result(i)->uses().empty();
        if (counts) known.emplace_back(node->result(i), *node->result(i)->info());
      }
    });
    propagate_shapes(*graph);
    verify(*graph);
    std::set<std::string> names;
    for (const auto& [value, info] : known) {
      for (const IntExpr& e : info.sizes) e.collect_symbols(names);
    }
    const auto points = sample_points(names, graph->symbols());
    for (const auto& [value, info] : known) {
      if (value->info() == nullptr) {
        ++missing;
        continue;
      }
      ++same;
      EXPECT_EQ(value->info()->dtype, info.dtype);
      ASSERT_EQ(value->info()->sizes.size(), info.sizes.size()) << print_node(*value->node());
      for (size_t d = 0; d < info.sizes.size(); ++d) {
        symbolic += !info.sizes[d].is_constant();
        for (const auto& point : points) {
          EXPECT_EQ(value->info()->sizes[d].evaluate(point), info.sizes[d].evaluate(point))
              << info.sizes[d].str() << " in " << print_node(*value->node());
        }
      }
    }
  });
  std::cout << same << " the same, " << missing << " not found; " << symbolic << " sizes with symbols\n";
  EXPECT_GT(same, 100);
  EXPECT_GT(symbolic, 10);
}

}  // namespace
}  // namespace torch::graph
