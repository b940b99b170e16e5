#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "c10/util/exception.h"
#include "graph/ir/text.h"
#include "quantization/pt2e/conv_batch_norm.h"
#include "quantization/pt2e/observe.h"
#include "quantization/pt2e/program_parts.h"
#include "quantization/pt2e/pt2e.h"

namespace torch::quantization {

using graph::Node;
using graph::Value;

namespace {

// Inputs and outputs that are annotated, sorted into groups that share an observer.
class Groups {
 public:
  Groups(const ExportedProgram& program, const Annotations& annotations, bool training) : training_(training) {
    check(program, annotations);
    for (Node* node : program.graph->block()) {
      const QuantizationAnnotation* const annotation = annotations.find(node);
      if (annotation == nullptr) continue;
      for (const graph::Operand& operand : node->operands()) {
        operand.for_values([&](Value* value) {
          const auto spec = annotation->input_qspec_map.find(value);
          if (spec != annotation->input_qspec_map.end()) add(Edge{value, node}, spec->second);
        });
      }
      if (annotation->output_qspec.has_value()) add(node, *annotation->output_qspec);
    }
    for (size_t i = 0; i < places_.size(); ++i) {
      if (const auto* shared = std::get_if<SharedQuantizationSpec>(places_[i].spec)) join(i, at(shared->edge_or_node));
    }
    resolve();
    share_equal_ones(annotations);
    resolve();
  }

  bool has(const EdgeOrNode& place) const { return index_.count(place) > 0; }
  /// The number of its group.
  size_t group(const EdgeOrNode& place) const { return find(at(place)); }

  /// Of a group; made when it is first asked for.
  const std::shared_ptr<ObserverBase>& observer(size_t group) {
    Place& place = places_[group];
    if (place.observer != nullptr) return place.observer;
    TORCH_CHECK_VALUE(place.says != nullptr && !place.open,
                      "prepare_pt2e: shared or derived quantization specs lead in a circle");
    place.open = true;
    if (const auto* spec = std::get_if<QuantizationSpec>(place.says)) {
      place.observer = made(*spec);
    } else if (const auto* fixed = std::get_if<FixedQParamsQuantizationSpec>(place.says)) {
      const auto options =
          ObserverOptions().dtype(fixed->dtype).quant_min(fixed->quant_min).quant_max(fixed->quant_max);
      const ObserverFactory factory = [=, scale = fixed->scale, zero = fixed->zero_point] {
        return FixedQParamsObserver(scale, zero, options).ptr();
      };
      place.observer = training_ ? FixedQParamsFakeQuantize(factory).ptr() : factory();
    } else {
      const auto& derived = std::get<DerivedQuantizationSpec>(*place.says);
      std::vector<std::shared_ptr<ObserverBase>> from;
      for (const EdgeOrNode& one : derived.derived_from) from.push_back(observer(find(at(one))));
      places_[group].observer =
          std::make_shared<DerivedObserverImpl>(derived.options, std::move(from), derived.derive_qparams_fn);
    }
    return places_[group].observer;
  }

 private:
  struct Place {
    EdgeOrNode place;
    const QuantizationSpecBase* spec;
    const QuantizationSpecBase* says = nullptr;  // of a root
    std::shared_ptr<ObserverBase> observer;      // of a root
    std::shared_ptr<ObserverBase> example;       // of a QuantizationSpec
    bool open = false;
  };

  static void check(const ExportedProgram& program, const Annotations& annotations) {
    for (const auto& [node, annotation] : annotations.all()) {
      TORCH_CHECK_VALUE(node->block() == &program.graph->block(),
                        "prepare_pt2e: only nodes of the program's own block can be annotated, but this one was:\n  ",
                        graph::print_node(*node));
      TORCH_CHECK_VALUE(!annotation.output_qspec.has_value() || node->result_count() > 0,
                        "prepare_pt2e: a node without results has an output_qspec:\n  ", graph::print_node(*node));
      for (const auto& [value, spec] : annotation.input_qspec_map) {
        bool used = false;
        for (const graph::Operand& operand : node->operands()) {
          operand.for_values([&, wanted = value](const Value* v) { used = used || v == wanted; });
        }
        TORCH_CHECK_VALUE(used, "prepare_pt2e: the input_qspec_map of a node names %", value->name(),
                          ", which it does not use:\n  ", graph::print_node(*node));
      }
    }
  }

  void add(EdgeOrNode place, const QuantizationSpecBase& spec) {
    if (!index_.emplace(place, places_.size()).second) return;
    parent_.push_back(places_.size());
    places_.push_back({place, &spec, nullptr, nullptr, nullptr});
  }
  size_t at(const EdgeOrNode& place) const {
    const auto found = index_.find(place);
    TORCH_CHECK_VALUE(found != index_.end(),
                      "prepare_pt2e: a shared or derived quantization spec names an input or output that has none");
    return found->second;
  }
  size_t find(size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(size_t a, size_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  // The spec of a group is the first one that says something.
  void resolve() {
    for (size_t i = 0; i < places_.size(); ++i) {
      Place& root = places_[find(i)];
      if (root.says == nullptr && !std::holds_alternative<SharedQuantizationSpec>(*places_[i].spec)) {
        root.says = places_[i].spec;
      }
    }
  }

  std::shared_ptr<ObserverBase> made(const QuantizationSpec& spec) const {
    TORCH_CHECK_VALUE(spec.observer_or_fake_quant_ctr != nullptr,
                      "QuantizationSpec: expected an observer_or_fake_quant_ctr, but got none");
    std::shared_ptr<ObserverBase> observer = spec.observer_or_fake_quant_ctr();
    TORCH_CHECK_VALUE(observer != nullptr, "QuantizationSpec: observer_or_fake_quant_ctr made nothing");
    return observer;
  }
  const ObserverBase* example(size_t i) {
    const Place& root = places_[find(i)];
    const auto* spec = root.says != nullptr ? std::get_if<QuantizationSpec>(root.says) : nullptr;
    if (spec == nullptr) return nullptr;
    if (places_[i].example == nullptr) places_[i].example = made(*spec);
    return places_[i].example.get();
  }

  // One tensor that is wanted in the same form at several places is observed once.
  void share_equal_ones(const Annotations& annotations) {
    std::map<const Value*, std::vector<size_t>> by_value;
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto* edge = std::get_if<Edge>(&places_[i].place);
      Node* const node = edge != nullptr ? edge->user : std::get<Node*>(places_[i].place);
      if (!annotations.find(node)->allow_implicit_sharing || example(i) == nullptr) continue;
      auto& known = by_value[edge != nullptr ? edge->value : node->result()];
      for (const size_t other : known) {
        if (!same_observer(*example(i), *example(other))) continue;
        join(i, other);
        break;
      }
      known.push_back(i);
    }
  }

  bool training_;
  std::map<EdgeOrNode, size_t> index_;
  std::vector<Place> places_;
  std::vector<size_t> parent_;
};

class Inserting {
 public:
  Inserting(ExportedProgram& program, Groups& groups) : program_(program), groups_(groups) {}

  void run() {
    graph::Block& block = program_.graph->block();
    std::vector<Value*> values;
    for (size_t i = 0; i < block.input_count(); ++i) values.push_back(block.input(i));
    for (Node* node : block) {
      for (size_t i = 0; i < node->result_count(); ++i) values.push_back(node->result(i));
    }
    for (Value* value : values) observe(value);
  }

 private:
  void observe(Value* value) {
    Node* const maker = value->node();
    Node* place = maker != nullptr ? maker->next() : program_.graph->block().first();
    std::vector<Node*> users;
    for (const graph::Use& use : value->uses()) {
      if (users.empty() || users.back() != use.node) users.push_back(use.node);
    }
    Value* seen = value;
    std::optional<size_t> own;
    if (maker != nullptr && value->index() == 0 && groups_.has(maker)) {
      own = groups_.group(maker);
      seen = insert(value, place, *own);
      for (Node* user : users) replace_use(user, value, seen);
    }
    std::map<size_t, Value*> inputs;
    for (Node* user : users) {
      const EdgeOrNode edge = Edge{value, user};
      if (user->block() != &program_.graph->block() || !groups_.has(edge)) continue;
      const size_t group = groups_.group(edge);
      if (own == group) continue;
      auto [found, fresh] = inputs.emplace(group, nullptr);
      if (fresh) found->second = insert(seen, place, group);
      replace_use(user, seen, found->second);
    }
  }

  Value* insert(Value* value, Node* place, size_t group) {
    const std::shared_ptr<ObserverBase>& observer = groups_.observer(group);
    Node* const node = insert_call(place, "quantization::observe", {value, observer_value(observer)});
    const auto [number, fresh] = numbers_.emplace(observer.get(), numbers_.size());
    node->result()->set_name("activation_post_process_" + std::to_string(number->second));
    if (value->info() != nullptr) node->result()->set_info(*value->info());
    return node->result();
  }

  ExportedProgram& program_;
  Groups& groups_;
  std::map<const ObserverBase*, size_t> numbers_;
};

ExportedProgram prepare(ExportedProgram&& given, Quantizer& quantizer, bool training) {
  ExportedProgram program = functional_program(std::move(given));
  if (!training) fold_batch_norms(program);
  quantizer.transform_for_annotation(program);
  Annotations annotations;
  quantizer.annotate(program, annotations);
  quantizer.validate(program, annotations);
  if (training) scale_weights_before_batch_norms(program, annotations);
  Groups groups(program, annotations, training);
  Inserting(program, groups).run();
  graph::verify(*program.graph);
  return program;
}

}  // namespace

ExportedProgram prepare_pt2e(ExportedProgram program, Quantizer& quantizer) {
  return prepare(std::move(program), quantizer, false);
}
ExportedProgram prepare_qat_pt2e(ExportedProgram program, Quantizer& quantizer) {
  return prepare(std::move(program), quantizer, true);
}

std::vector<std::shared_ptr<ObserverBase>> observers_of(const ExportedProgram& prepared) {
  std::vector<std::shared_ptr<ObserverBase>> all;
  std::set<const ObserverBase*> known;
  prepared.graph->for_nodes([&](const Node* node) {
    auto observer = observer_of(*node);
    if (observer != nullptr && known.insert(observer.get()).second) all.push_back(std::move(observer));
  });
  return all;
}

namespace {
void set_training(ExportedProgram& program, bool training) {
  program = renewed(std::move(program));
  program.graph->for_nodes([&](Node* node) {
    const bool drops = node->calls("aten::dropout") || node->calls("aten::feature_dropout");
    if (!drops && !node->calls("aten::_native_batch_norm_legit_functional") && !node->calls("aten::batch_norm")) return;
    const auto place = node->callable().schema().argument_index(drops ? "train" : "training");
    if (place.has_value()) node->set_operand(static_cast<size_t>(*place), c10::IValue(training));
  });
}
}  // namespace

void move_exported_model_to_eval(ExportedProgram& program) {
  set_training(program, false);
}
void move_exported_model_to_train(ExportedProgram& program) {
  set_training(program, true);
}

}  // namespace torch::quantization
