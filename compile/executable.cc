#include "compile/executable.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <variant>

#include "aten/core/empty.h"
#include "aten/core/from_blob.h"
#include "aten/core/tensor.h"
#include "aten/cpu/support/scratch.h"
#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "compile/group/group_compiler.h"
#include "compile/layers/fusion.h"
#include "compile/tape/tape.h"
#include "graph/interpreter/interpreter.h"
#include "graph/passes/channels_last.h"
#include "graph/passes/common_subexpressions.h"
#include "graph/passes/constant_folding.h"
#include "graph/passes/dead_code.h"
#include "graph/passes/decompose.h"
#include "graph/passes/effects.h"
#include "graph/passes/fold_batch_norm.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/shape_propagation.h"
#include "graph/plan/plan.h"

namespace torch::compiler {
namespace {

using c10::IValue;
using c10::Stack;
using graph::Graph;
using graph::Node;
using graph::Operand;
using graph::Value;

size_t nodes_of(const Graph& graph) {
  size_t count = 0;
  graph.for_nodes([&](const Node*) { ++count; });
  return count;
}

std::vector<int64_t> values_of(const std::vector<graph::IntExpr>& list) {
  std::vector<int64_t> values;
  for (const graph::IntExpr& e : list) values.push_back(e.evaluate({}));
  return values;
}

// A result of a step: in the arena, or made when it is needed.
struct Place {
  std::vector<int64_t> sizes, strides;
  c10::ScalarType dtype;
  c10::Device device;
  int64_t offset = -1;  // -1: not in the arena
};
// What the graph invokes.
struct Step {
  std::variant<Tape, Layer, std::unique_ptr<const DeviceGroup>> kernel;
  std::vector<Place> results;
};

// What one run needs: an arena, and the tensors in it.
struct Context {
  std::optional<at::cpu::Scratch> arena;
  std::vector<std::vector<at::Tensor>> tensors;  // of each step's results; undefined where they are not in the arena
};

thread_local Context* t_context = nullptr;

}  // namespace

struct Executable::Impl {
  ExecutableReport report;
  std::vector<FusedPart> parts;
  std::map<std::string, Step> steps;
  std::vector<const Step*> in_order;
  int64_t arena_bytes = 0;
  size_t step_bytes = 0;
  std::vector<size_t> written_inputs;  // that the first outputs go into
  size_t constants = 0;
  std::unique_ptr<graph::Interpreter> interpreter;
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Context>> free;
  mutable size_t contexts = 0;

  Impl(const Graph& source, const Stack& examples, const ExecutableOptions& options) {
    report.nodes = nodes_of(source);
    std::unique_ptr<Graph> graph = prepared(source, examples, options.constants);
    if (constants > 0) make_layers(*graph, options.weights);
    if (options.fuse) make_groups(*graph, options);
    if (!steps.empty()) place_results(*graph);
    graph::Surroundings surroundings;
    surroundings.function = [this](const Node& node) -> std::function<void(Stack&)> {
      const auto found = steps.find(node.name());
      if (found == steps.end()) return nullptr;
      const auto index =
          static_cast<size_t>(std::find(in_order.begin(), in_order.end(), &found->second) - in_order.begin());
      return [step = &found->second, index](Stack& stack) { run(*step, index, stack); };
    };
    interpreter = std::make_unique<graph::Interpreter>(*graph, surroundings);
  }

  // Without calls that write, and with what is known of its tensors.
  std::unique_ptr<Graph> prepared(const Graph& source, const Stack& examples, size_t wanted_constants) {
    std::unique_ptr<Graph> graph = source.clone();
    graph::propagate_shapes(*graph, examples);
    bool writes = false;
    graph->for_nodes([&](const Node* node) { writes = writes || !graph::written_operands(*node).empty(); });
    if (writes) {
      try {
        graph::Functionalized functional = graph::functionalize(*graph);
        written_inputs = std::move(functional.written_inputs);
        graph = std::move(functional.graph);
        graph::propagate_shapes(*graph, examples);
      } catch (const c10::ValueError& error) {
        report.notes.push_back(std::string("no groups where memory is written: ") + error.msg());
      }
    }
    if (wanted_constants > 0) take_constants(*graph, examples, wanted_constants);
    graph::eliminate_common_subexpressions(*graph);
    graph::eliminate_dead_code(*graph);
    return graph;
  }

  // Inputs as constants, and what follows from that.
  void take_constants(Graph& graph, const Stack& examples, size_t count) {
    bool writes = false;
    for (const size_t i : written_inputs) writes = writes || i < count;
    graph.for_nodes([&](const Node* node) { writes = writes || !graph::written_operands(*node).empty(); });
    if (writes) {
      report.notes.push_back("the program writes to its constants, which stay inputs");
      return;
    }
    constants = count;
    for (size_t& i : written_inputs) i -= count;
    for (size_t i = 0; i < count; ++i) graph::bind_input(graph, 0, examples.at(i).toTensor().detach());
    const Stack rest(examples.begin() + static_cast<std::ptrdiff_t>(count), examples.end());
    graph::fold_batch_norm(graph);
    graph::decompose(graph, [](const c10::OperatorHandle& op) { return op.schema().name() == "aten::conv2d"; });
    graph::propagate_shapes(graph, rest);
    graph::fold_constants(graph);
    graph::use_channels_last(graph, is_packable_convolution);
    graph::propagate_shapes(graph, rest);
  }

  void make_layers(Graph& graph, LayerWeights* shared) {
    LayerWeights own;
    const Fusions fusions = find_fusions(graph);
    std::vector<std::vector<const Node*>> groups;
    for (const Node* node : graph.block()) {
      const auto group = fusions.groups.find(node);
      if (group != fusions.groups.end()) {
        groups.push_back(group->second);
      } else if (fusions.runs_with.count(node) == 0 && is_layer(*node)) {
        groups.push_back({node});
      }
    }
    for (const std::vector<const Node*>& group : groups) {
      Step step{Layer(group, shared != nullptr ? *shared : own), {}};
      std::unique_ptr<Node> made = graph.make(Node::Kind::kInvoke, inputs_of(group));
      made->set_name("layer" + std::to_string(report.layers++));
      made->set_source(group.front()->source());
      Value* const old = group.back()->result();
      Value* const result = made->add_result(old->type(), old->name());
      result->set_info(*old->info());
      steps.emplace(made->name(), std::move(step));
      made.release()->move_before(const_cast<Node*>(group.back()));
      old->replace_all_uses_with(result);
      for (size_t i = group.size(); i-- > 0;) const_cast<Node*>(group[i])->erase();
      report.layer_nodes += group.size();
    }
    graph::eliminate_dead_code(graph);
  }

  void make_groups(Graph& graph, const ExecutableOptions& options) {
    parts = fuse(graph, options.groups);
    report.groups = parts.size();
    for (const FusedPart& part : parts) {
      report.grouped_nodes += nodes_of(*part.graph);
      const c10::Device device = part.group.outputs[0].info.device;
      if (device.is_cpu()) {
        steps.emplace(part.graph->name(), Step{Tape(part.group), {}});
      } else {
        steps.emplace(part.graph->name(), Step{group_compiler(device.type())->compile(part.group, device), {}});
      }
    }
  }

  void place_results(const Graph& graph) {
    graph::PlanOptions wanted;
    wanted.outputs = false;
    // A device's allocator keeps memory apart that its streams may still use.
    wanted.places = [](const Node& node) {
      return node.kind() == Node::Kind::kInvoke && node.result(0)->info()->device.is_cpu();
    };
    std::optional<graph::Plan> plan;
    try {
      plan = graph::plan_memory(graph, wanted);
      arena_bytes = plan->layout.bytes;
      report.arena_bytes = arena_bytes;
      report.unshared_bytes = plan->unshared_bytes;
    } catch (const c10::ValueError& error) {
      report.notes.push_back(std::string("memory is not planned: ") + error.msg());
    }
    for (const Node* node : graph.block()) {
      if (node->kind() != Node::Kind::kInvoke) continue;
      Step& step = steps.at(node->name());
      if (const auto* tape = std::get_if<Tape>(&step.kernel)) step_bytes += tape->bytes();
      if (const auto* group = std::get_if<std::unique_ptr<const DeviceGroup>>(&step.kernel)) {
        step_bytes += (*group)->bytes();
      }
      for (size_t i = 0; i < node->result_count(); ++i) {
        const graph::TensorInfo& info = *node->result(i)->info();
        Place place{values_of(info.sizes), values_of(info.strides), info.dtype, info.device};
        if (plan.has_value()) {
          const size_t buffer = plan->buffers_of(node->result(i)).at(0);
          if (plan->buffers[buffer].bytes > 0) place.offset = plan->layout.offsets[buffer];
        }
        step.results.push_back(std::move(place));
      }
      in_order.push_back(&step);
    }
  }

  static void run(const Step& step, size_t index, Stack& stack) {
    const void* from[64];
    void* to[64];
    size_t count = 0;
    for (const IValue& v : stack) from[count++] = v.unsafe_tensor_impl()->data();
    std::vector<at::Tensor>& held = t_context->tensors[index];
    Stack results;
    results.reserve(step.results.size());
    for (size_t i = 0; i < step.results.size(); ++i) {
      const Place& place = step.results[i];
      results.emplace_back(held[i].defined() ? held[i]
                                             : at::empty_with_strides(place.sizes, place.strides, place.dtype,
                                                                      place.device));
      to[i] = results.back().unsafe_tensor_impl()->data();
    }
    if (const auto* tape = std::get_if<Tape>(&step.kernel)) {
      tape->run({from, count}, {to, results.size()});
    } else if (const auto* group = std::get_if<std::unique_ptr<const DeviceGroup>>(&step.kernel)) {
      (*group)->run({from, count}, {to, results.size()});
    } else {
      const auto floats = [&](size_t i) { return i < count ? static_cast<const float*>(from[i]) : nullptr; };
      std::get<Layer>(step.kernel).run(floats(0), floats(1), static_cast<float*>(to[0]));
    }
    stack = std::move(results);
  }

  std::unique_ptr<Context> take_context() const {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!free.empty()) {
        std::unique_ptr<Context> context = std::move(free.back());
        free.pop_back();
        return context;
      }
      ++contexts;
    }
    auto context = std::make_unique<Context>();
    if (arena_bytes > 0) context->arena.emplace(static_cast<size_t>(arena_bytes));
    for (const Step* step : in_order) {
      std::vector<at::Tensor>& tensors = context->tensors.emplace_back();
      for (const Place& place : step->results) {
        if (place.offset < 0) {
          tensors.emplace_back();
          continue;
        }
        tensors.push_back(at::from_blob(context->arena->as<char>() + place.offset, place.sizes, place.strides,
                                        at::TensorOptions().dtype(place.dtype)));
      }
    }
    return context;
  }
  void give_back(std::unique_ptr<Context> context) const {
    const std::lock_guard<std::mutex> lock(mutex);
    free.push_back(std::move(context));
  }

  void operator()(Stack& stack) const {
    const c10::NoGradGuard no_gradients;
    std::vector<at::Tensor> changed;
    for (const size_t i : written_inputs) changed.push_back(stack.at(i).toTensor());
    struct InUse {
      const Impl& owner;
      std::unique_ptr<Context> context;
      Context* before;
      explicit InUse(const Impl& impl) : owner(impl), context(impl.take_context()), before(t_context) {
        t_context = context.get();
      }
      ~InUse() {
        t_context = before;
        owner.give_back(std::move(context));
      }
    };
    {
      const InUse use(*this);
      (*interpreter)(stack);
    }
    for (size_t i = 0; i < changed.size(); ++i) at::copy_(changed[i], stack[i].toTensor());
    stack.erase(stack.begin(), stack.begin() + static_cast<std::ptrdiff_t>(changed.size()));
  }
};

Executable::Executable(const Graph& graph, const Stack& examples, const ExecutableOptions& options)
    : impl_(std::make_unique<Impl>(graph, examples, options)) {}
Executable::~Executable() = default;

void Executable::operator()(Stack& stack) const {
  (*impl_)(stack);
}
const ExecutableReport& Executable::report() const {
  return impl_->report;
}
size_t Executable::constants() const {
  return impl_->constants;
}
const Graph& Executable::graph() const {
  return impl_->interpreter->graph();
}
const std::vector<FusedPart>& Executable::parts() const {
  return impl_->parts;
}
size_t Executable::bytes() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  // A node and its values take some hundreds of bytes, here and prepared.
  return impl_->step_bytes + impl_->report.nodes * 1024 + impl_->contexts * static_cast<size_t>(impl_->arena_bytes);
}

}  // namespace torch::compiler
