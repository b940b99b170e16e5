#include "export/capture/export.h"

#include <algorithm>
#include <set>

#include "aten/ops/copy/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "export/capture/lifting.h"
#include "export/capture/sizes.h"
#include "graph/capture/capture.h"
#include "graph/capture/kept_generator.h"
#include "graph/ir/text.h"
#include "graph/passes/fit.h"
#include "graph/passes/functionalize.h"
#include "graph/passes/generalise.h"
#include "nn/module/module_access.h"

namespace torch::export_detail {
namespace {

using c10::IValue;
using graph::Graph;

// How many sizes a program is captured at, until each integer has an expression.
constexpr size_t kFewPoints = graph::kFewestPoints;

IValue tuple(std::vector<IValue> values) {
  return c10::ivalue::Tuple::create(std::move(values));
}

TreeSpec spec_of(const IValue& value) {
  TreeSpec spec;
  if (value.isTuple() || value.isList()) {
    spec.kind = value.isTuple() ? TreeSpec::Kind::kTuple : TreeSpec::Kind::kList;
    const auto parts = value.isTuple() ? value.toTupleRef().elementsArrayRef() : value.toListRef();
    for (const IValue& part : parts) spec.children.push_back(spec_of(part));
  } else if (value.isGenericDict()) {
    spec.kind = TreeSpec::Kind::kDict;
    for (const auto& entry : value.toGenericDict()) {
      spec.keys.push_back(entry.key());
      spec.children.push_back(spec_of(entry.value()));
    }
  }
  return spec;
}
bool same_shape(const TreeSpec& a, const TreeSpec& b) {
  return a.kind == b.kind && a.keys.size() == b.keys.size() && a.children.size() == b.children.size() &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), same_shape);
}

// Where calls come from: the module whose forward runs.
class InModule : public graph::Source {
 public:
  explicit InModule(std::string text) : text_(std::move(text)) {}
  std::string text() const override { return text_; }

 private:
  std::string text_;
};

/// Follows which module of a tree runs.
class ModuleStack {
 public:
  explicit ModuleStack(const std::shared_ptr<const nn::Module>& root) {
    if (root == nullptr) return;
    auto& module = const_cast<nn::Module&>(*root);  // hooks are taken away again
    for (const auto& item : module.named_modules("", /*include_self=*/false)) {
      const auto source =
          std::make_shared<InModule>("in module " + item.key() + ", a " + nn::detail::class_name(*item.value()));
      handles_.push_back(item.value()->register_forward_pre_hook(
          [this, source](nn::Module&, const std::vector<at::Tensor>&) { stack_.push_back(source); },
          /*prepend=*/true));
      handles_.push_back(item.value()->register_forward_hook(
          [this](nn::Module&, const std::vector<at::Tensor>&, const std::vector<at::Tensor>&) {
            if (!stack_.empty()) stack_.pop_back();
          },
          /*prepend=*/false, /*always_call=*/true));
    }
  }
  ~ModuleStack() {
    for (nn::RemovableHandle& handle : handles_) handle.remove();
  }
  ModuleStack(const ModuleStack&) = delete;
  ModuleStack& operator=(const ModuleStack&) = delete;
  std::shared_ptr<const graph::Source> source() const { return stack_.empty() ? nullptr : stack_.back(); }
  void reset() { stack_.clear(); }

 private:
  std::vector<std::shared_ptr<InModule>> stack_;
  std::vector<nn::RemovableHandle> handles_;
};

/// The state of a module, and how to put it back.
class State {
 public:
  explicit State(const std::shared_ptr<const nn::Module>& module) {
    if (module == nullptr) return;
    TORCH_CHECK_VALUE(!module->has_uninitialized_params(),
                      "export_: the module has parameters without sizes; call it once first");
    for (const auto& item : module->named_parameters(true, /*remove_duplicate=*/false)) {
      add(InputSpec::Kind::kParameter, item.key(), item.value(), true);
    }
    for (const auto& item : module->named_buffers(true, /*remove_duplicate=*/false)) {
      const size_t dot = item.key().rfind('.');
      const std::string owner = dot == std::string::npos ? "" : item.key().substr(0, dot);
      const std::string own = dot == std::string::npos ? item.key() : item.key().substr(dot + 1);
      const nn::Module& holder = owner.empty() ? *module : *module->get_submodule(owner);
      add(InputSpec::Kind::kBuffer, item.key(), item.value(), nn::ModuleAccess::is_persistent(holder, own));
      keep(item.value());
    }
  }
  const std::vector<StateTensor>& tensors() const { return tensors_; }
  /// Called before a tensor is written for the first time.
  void keep(const at::Tensor& tensor) {
    const auto same = [&](const Kept& k) { return k.tensor.unsafeGetTensorImpl() == tensor.unsafeGetTensorImpl(); };
    if (std::any_of(kept_.begin(), kept_.end(), same)) return;
    const c10::ExcludeDispatchKeyGuard unrecorded{c10::DispatchKeySet(c10::DispatchKey::Tracer)};
    const c10::NoGradGuard no_grad;
    kept_.push_back({tensor, at::clone(tensor.detach())});
  }
  /// As it was.
  void restore() {
    const c10::NoGradGuard no_grad;
    for (const Kept& one : kept_) {
      if (difference(one.tensor, one.before).empty()) continue;
      at::Tensor tensor = one.tensor;
      at::copy_(tensor, one.before);
    }
  }
  /// Copies of what may have changed.
  std::vector<IValue> values() const {
    const c10::NoGradGuard no_grad;
    std::vector<IValue> all;
    for (const Kept& one : kept_) all.emplace_back(at::clone(one.tensor.detach()));
    return all;
  }

 private:
  struct Kept {
    at::Tensor tensor, before;
  };
  void add(InputSpec::Kind kind, const std::string& name, const at::Tensor& tensor, bool persistent) {
    if (!tensor.defined()) return;
    tensors_.push_back({kind, name, tensor, persistent});
  }
  std::vector<StateTensor> tensors_;
  std::vector<Kept> kept_;
};

class Exporting {
 public:
  Exporting(const Callable& callable, c10::Stack inputs, const ExportOptions& options)
      : callable_(callable),
        options_(options),
        example_(tuple(std::move(inputs))),
        in_spec_(spec_of(example_)),
        leaves_(in_spec_.flatten(example_, "the example inputs")),
        sizes_(leaves_, options.dynamic_shapes),
        state_(callable.module),
        modules_(callable.module) {
    TORCH_CHECK_VALUE(options.argument_names.empty() || options.argument_names.size() == in_spec_.children.size(),
                      "export_: ", options.argument_names.size(), " argument names for ", in_spec_.children.size(),
                      " arguments");
  }

  ExportedProgram run() {
    const graph::KeptGenerator kept;
    try {
      ExportedProgram made = program();
      state_.restore();
      return made;
    } catch (...) {
      state_.restore();
      throw;
    }
  }

 private:
  /// What the program was where sizes have those values.
  struct Point {
    Symbols symbols;
    std::unique_ptr<Graph> graph;
    std::vector<size_t> written;  // of a functional graph
  };

  ExportedProgram program() {
    Lifted lifted;
    if (!sizes_.is_dynamic()) {
      Point one = captured({}, leaves_);
      lifted.graph = std::move(one.graph);
      lifted.written = std::move(one.written);
      ExportedProgram made = assembled(std::move(lifted));
      if (options_.max_check_bytes > 0) check(made, {});
      return made;
    }
    const std::map<std::string, graph::IntRange> ranges = sizes_.ranges(2);
    std::set<std::string> names;
    for (const auto& [name, range] : ranges) names.insert(name);
    const std::vector<Symbols> points = graph::sample_points(names, ranges);
    lifted = generalised(points, ranges);
    ExportedProgram made = assembled(std::move(lifted));
    if (options_.max_check_bytes > 0) {
      for (const Symbols& symbols : held_out_points(ranges, points)) check(made, symbols);
    }
    widen(made);
    if (options_.max_check_bytes > 0) check(made, sizes_.example());
    return made;
  }

  Lifted generalised(const std::vector<Symbols>& points, const std::map<std::string, graph::IntRange>& ranges) {
    std::vector<Point> made;
    std::vector<const Graph*> graphs;
    std::vector<Symbols> used;
    const auto take = [&](size_t count) {
      for (size_t i = made.size(); i < std::min(count, points.size()); ++i) {
        made.push_back(captured(points[i], sizes_.at(points[i])));
        graphs.push_back(made.back().graph.get());
        used.push_back(points[i]);
        TORCH_CHECK_VALUE(made.back().written == made[0].written, "export_: the program writes to other tensors where ",
                          text_of(points[i]));
      }
    };
    Lifted lifted;
    take(kFewPoints);
    try {
      lifted.graph = graph::generalise(graphs, used, ranges);
    } catch (const c10::ValueError&) {
      // More points say more.
      take(points.size());
      try {
        lifted.graph = graph::generalise(graphs, used, ranges);
      } catch (c10::Error& error) {
        std::string seen;
        for (const Symbols& symbols : used) seen += (seen.empty() ? "" : "; ") + text_of(symbols);
        error.add_context("where export_ makes one graph of those at " + seen);
        throw;
      }
    }
    lifted.written = made[0].written;
    return lifted;
  }

  // Runs the program with its state and generator as at first.
  IValue called(const std::vector<IValue>& leaves) {
    const graph::KeptGenerator kept;
    modules_.reset();
    return callable_.call(in_spec_.unflatten(leaves).toTupleRef().elements().vec());
  }

  Point captured(const Symbols& symbols, const std::vector<IValue>& leaves) {
    graph::CaptureOptions wanted;
    for (const StateTensor& one : state_.tensors()) wanted.state.emplace_back(one.name, one.tensor);
    wanted.max_constant_bytes = options_.max_constant_bytes;
    wanted.keep_state = true;
    wanted.infos = true;
    wanted.source = [this] { return modules_.source(); };
    wanted.before_write = [this](const at::Tensor& t) { state_.keep(t); };
    std::optional<TreeSpec> out;
    const auto run = [&](const c10::Stack& in) {
      const IValue result = called(in);
      out = spec_of(result);
      return out->flatten(result, "the results");
    };
    graph::Captured made;
    try {
      made = graph::capture(run, sizes_.is_dynamic() ? leaves : sizes_.at({}), wanted);
    } catch (c10::Error& error) {
      if (!symbols.empty()) error.add_context("where export_ runs the program with " + text_of(symbols));
      throw;
    }
    state_.restore();
    TORCH_CHECK_VALUE(!options_.strict || made.notes.empty(), "export_: ", made.notes.front());
    TORCH_CHECK_VALUE(!out_spec_.has_value() || same_shape(*out_spec_, *out),
                      "export_: the program's results have another structure where ", text_of(symbols));
    out_spec_ = out;
    if (!options_.functional) return {symbols, std::move(made.graph), {}};
    graph::Functionalized functional = graph::functionalize(*made.graph);
    return {symbols, std::move(functional.graph), std::move(functional.written_inputs)};
  }

  ExportedProgram assembled(Lifted lifted) {
    ExportedProgram made;
    lifted.argument_names = options_.argument_names;
    lift(made, std::move(lifted), state_.tensors(), in_spec_, leaves_, sizes_.exprs());
    made.functional = options_.functional;
    TreeSpec none;
    none.kind = TreeSpec::Kind::kDict;
    made.in_spec.kind = TreeSpec::Kind::kTuple;
    made.in_spec.children = {in_spec_, none};
    made.out_spec = *out_spec_;
    made.example_inputs = tuple({example_, c10::impl::GenericDict(c10::StringType::get(), c10::AnyType::get())});
    made.argument_names = options_.argument_names;
    if (callable_.module != nullptr) {
      for (const auto& item : callable_.module->named_modules("", /*include_self=*/false)) {
        made.modules.push_back(item.key());
      }
    }
    return made;
  }

  // What differs between the program and C++ at these sizes; empty: nothing.
  std::string differs(const ExportedProgram& made, const Symbols& symbols) {
    const std::vector<IValue> ours = sizes_.at(symbols), theirs = sizes_.at(symbols);
    const c10::AutoGradMode same_mode(c10::GradMode::is_enabled());
    std::vector<IValue> want = out_spec_->flatten(called(ours), "the results");
    const std::vector<IValue> state_after = state_.values();
    state_.restore();
    std::vector<IValue> got;
    {
      const graph::KeptGenerator kept;
      got = made.run(theirs);
    }
    const std::vector<IValue> own_state_after = state_.values();
    state_.restore();
    const auto first = [](const char* what, const std::vector<IValue>& a, const std::vector<IValue>& b) -> std::string {
      for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        const std::string why = difference(a[i], b[i]);
        if (!why.empty()) return c10::str(what, " ", i, ": ", why);
      }
      return a.size() == b.size() ? "" : c10::str(what, "s: ", a.size(), " and ", b.size());
    };
    for (const std::string& why : {first("result", got, want), first("changed buffer", own_state_after, state_after),
                                   first("input", theirs, ours)}) {
      if (!why.empty()) return why;
    }
    return "";
  }

  void check(const ExportedProgram& made, const Symbols& symbols) {
    const std::optional<int64_t> bytes = sizes_.bytes(symbols);
    if (!bytes.has_value() || *bytes > options_.max_check_bytes) return;
    std::string why;
    try {
      why = differs(made, symbols);
    } catch (c10::Error& error) {
      if (!symbols.empty()) error.add_context("where export_ compares the program at " + text_of(symbols));
      throw;
    }
    TORCH_CHECK_VALUE(why.empty(), "export_: the program that was made does not do what the function does",
                      symbols.empty() ? "" : " where " + text_of(symbols), ": ", why);
  }

  std::string differs_or_fails(const ExportedProgram& made, const Symbols& symbols) {
    if (sizes_.bytes(symbols).value_or(INT64_MAX) > options_.max_check_bytes) return "it is too large to be tried";
    try {
      return differs(made, symbols);
    } catch (const std::exception& error) {
      state_.restore();
      return error.what();
    }
  }

  // Sizes without a stated minimum may be 1 where that makes no difference.
  void widen(ExportedProgram& made) {
    std::map<std::string, std::string> refused;
    Symbols ordinary, ones;
    for (const auto& [name, bounds] : sizes_.bounds()) {
      ordinary[name] = ones[name] = std::max<int64_t>(sizes_.example().at(name), made.graph->symbols().at(name).min);
      const bool tried = !bounds.min.has_value() && bounds.max.value_or(2) > 1;
      if (tried) refused[name] = "it was not tried";
    }
    if (options_.max_check_bytes > 0) {
      for (auto& [name, why] : refused) made.graph->symbols().at(name).min = ones[name] = 1;
      for (auto& [name, why] : refused) {
        Symbols symbols = ordinary;
        symbols[name] = 1;
        why = differs_or_fails(made, symbols);
      }
      const std::string together = refused.size() > 1 ? differs_or_fails(made, ones) : "";
      for (auto& [name, why] : refused) {
        if (why.empty()) why = together;
      }
    }
    for (const auto& [name, why] : refused) {
      TORCH_CHECK_VALUE(why.empty() || sizes_.example().at(name) > 1, "export_: ", name,
                        " is 1 in the example, but what the program is for other sizes is something else there: ", why);
      if (!why.empty()) made.graph->symbols().at(name).min = 2;
    }
  }

  const Callable& callable_;
  const ExportOptions& options_;
  IValue example_;
  TreeSpec in_spec_;
  std::vector<IValue> leaves_;
  Sizes sizes_;
  State state_;
  ModuleStack modules_;
  std::optional<TreeSpec> out_spec_;
};

}  // namespace

ExportedProgram export_program(const Callable& callable, c10::Stack inputs, const ExportOptions& options) {
  return Exporting(callable, std::move(inputs), options).run();
}

}  // namespace torch::export_detail
