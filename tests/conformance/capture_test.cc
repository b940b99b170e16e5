// Every recorded call of //tests/conformance, and its backward pass, captured: the graph gives the same bits.
// KINDLING_CASES names a folder with others.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/core/grad_mode.h"
#include "graph/capture/recorder.h"
#include "graph/interpreter/interpreter.h"
#include "graph/ir/text.h"
#include "graph/passes/effects.h"
#include "graph/passes/testing/programs.h"
#include "gtest/gtest.h"
#include "tests/conformance/case_set.h"
#include "tests/conformance/replay.h"

namespace torch::graph {
namespace {

using c10::IValue;

// What shares memory when a graph runs is in one set.
class SharedMemory final : public RunListener {
 public:
  explicit SharedMemory(const Graph& graph) : sets_(graph) {}
  void ran(const Node& node, c10::ArrayRef<IValue> results) override {
    std::map<const void*, std::vector<int>> memory;
    for (const Operand& operand : node.operands()) {
      if (operand.is_constant()) add(operand.constant(), sets_.of(operand), memory);
      operand.for_values([&](const Value* v) { add(values_.at(v), {sets_.of(v)}, memory); });
    }
    for (size_t i = 0; i < results.size(); ++i) {
      values_.insert_or_assign(node.result(i), results[i]);
      for_storages(results[i], [&](const void* storage) {
        const auto shared = memory.find(storage);
        if (shared == memory.end()) return;
        const int set = sets_.of(node.result(i));
        EXPECT_TRUE(std::find(shared->second.begin(), shared->second.end(), set) != shared->second.end())
            << print_node(node) << " gives memory of its arguments";
      });
    }
  }

 private:
  template <class F>
  static void for_storages(const IValue& v, const F& f) {
    if (v.isTensor()) {
      const at::Tensor t = v.toTensor();
      if (t.has_storage() && t.storage().nbytes() > 0) f(t.storage().unsafeGetStorageImpl());
    } else if (v.isList()) {
      for (const IValue& part : v.toListRef()) for_storages(part, f);
    }
  }
  static void add(const IValue& v, const std::vector<int>& sets, std::map<const void*, std::vector<int>>& memory) {
    for_storages(v, [&](const void* storage) {
      std::vector<int>& all = memory[storage];
      all.insert(all.end(), sets.begin(), sets.end());
    });
  }
  AliasSets sets_;
  std::map<const Value*, IValue> values_;
};

// Calls the body twice: recorded, then as the graph.
class Replay {
 public:
  void operator()(const std::function<void()>& body) {
    Graph graph("call");
    std::vector<IValue> made;
    std::vector<Operand> outputs;
    std::optional<at::Tensor> state;
    bool fits = true, plain = true, writes = false;
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    Recorder::Options options;
    options.unknown = [&](const at::Tensor& t) {
      // Calls may write to it.
      if (t.layout() != c10::kStrided || t.is_nested() || t.is_quantized()) {
        plain = false;
        return Operand(IValue(t));
      }
      if (t.unsafeGetTensorImpl()->is_wrapped_number()) return Operand(IValue(t));
      const at::Tensor copy = [&] {
        const c10::ExcludeDispatchKeyGuard below{c10::DispatchKeySet(c10::DispatchKey::Tracer)};
        const c10::NoGradGuard no_grad;
        return at::clone(t);
      }();
      fits = fits && copy.strides() == t.strides() && !t.is_conj() && !t.is_neg();
      return Operand(IValue(copy));
    };
    options.before = [&](const c10::OperatorHandle& op, const c10::Stack& arguments) {
      writes = writes || op.schema().is_mutable();
      if (!state.has_value()) {
        const c10::ExcludeDispatchKeyGuard below{c10::DispatchKeySet(c10::DispatchKey::Tracer)};
        state = generator.get_state();
      }
      for (const IValue& v : arguments) fits = fits && !v.isGenerator();
      // Uninitialised memory, and what the body holds in another form than the graph.
      fits = fits && std::string(op.op().name).rfind("empty", 0) != 0 &&
             std::string(op.op().name).rfind("new_empty", 0) != 0;
    };
    Recorder recorder(graph.block().return_node(), std::move(options));
    {
      const Recording on(recorder);
      body();
    }
    verify(graph);
    if (!fits || (writes && !plain) || !state.has_value()) {
      ++skipped;
      return;
    }
    for (const auto& [tensor, operand] : recorder.results()) {
      made.emplace_back(tensor);
      outputs.push_back(operand);
    }
    graph.block().set_outputs(std::move(outputs));
    verify(graph);
    const at::Tensor after = generator.get_state();
    generator.set_state(*state);
    c10::Stack got;
    const Interpreter interpreter(graph);
    SharedMemory shared(interpreter.graph());
    interpreter(got, &shared);
    const std::string found = testing::difference(got, made);
    EXPECT_EQ(found, "") << print(graph);
    generator.set_state(after);
    ++replayed;
  }
  int64_t replayed = 0, skipped = 0;
};

TEST(CaptureReplay, RecordedCallsGiveTheSameBits) {
  Replay replay;
  std::vector<std::string> sets;
  for (const char* name : {"first_families", "gradients", "nested", "newer", "quantized", "shapes", "sparse"}) {
    sets.push_back("tests/conformance/" + std::string(name) + ".tar.gz");
  }
  if (const char* more = std::getenv("KINDLING_CASES")) sets = {more};
  for (const std::string& path : sets) {
    const conformance::CaseSet set(path);
    for (const std::string& name : set.names()) {
      SCOPED_TRACE(path + " " + name);
      conformance::Options options;
      options.runner = [&](const std::function<void()>& body) { replay(body); };
      const conformance::OperatorReport report = conformance::replay_operator(set, name, options);
      EXPECT_TRUE(report.failures.empty()) << report.failures[0].text();
    }
  }
  RecordProperty("replayed", std::to_string(replay.replayed));
  std::cout << replay.replayed << " replayed, " << replay.skipped << " not\n";
  EXPECT_GT(replay.replayed, 1000);
}

}  // namespace
}  // namespace torch::graph
