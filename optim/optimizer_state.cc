#include <typeinfo>
#include <unordered_set>
#include <utility>

#include "aten/ops/reduce/ops.h"
#include "c10/core/grad_mode.h"
#include "optim/field_visitors.h"
#include "optim/optimizer.h"

// What optimizers remember, as trees of values.
namespace torch::optim {
namespace {

using c10::IValue;
using GenericDict = c10::Dict<IValue, IValue>;
// Lists fields, to compare two objects.
class Collector : public FieldVisitor {
 public:
  std::vector<std::pair<std::string, IValue>> fields;

 protected:
  bool field(const char* name, Kind /*kind*/, IValue& value) override {
    fields.emplace_back(name, value);
    return false;
  }
};

// Gives the fields that are `from` the values of `to`, one after another.
class Replacer : public FieldVisitor {
 public:
  Replacer(Collector from, Collector to) : from_(std::move(from.fields)), to_(std::move(to.fields)) {}

 protected:
  bool field(const char* name, Kind kind, IValue& value) override;

 private:
  std::vector<std::pair<std::string, IValue>> from_, to_;
  size_t next_ = 0;
};

bool same_values(const IValue& a, const IValue& b) {
  if (a.isTensor() && b.isTensor()) {
    const at::Tensor x = a.toTensor(), y = b.toTensor();
    return x.sizes() == y.sizes() && x.scalar_type() == y.scalar_type() && x.device() == y.device() && at::equal(x, y);
  }
  if (!a.isList() || !b.isList()) return a.tag() == b.tag() && a == b;
  const auto x = a.toListRef(), y = b.toListRef();
  bool same = x.size() == y.size();
  for (size_t i = 0; same && i < x.size(); ++i) same = same_values(x[i], y[i]);
  return same;
}

bool Replacer::field(const char* /*name*/, Kind /*kind*/, IValue& value) {
  const size_t i = next_++;
  if (i >= from_.size() || i >= to_.size() || !same_values(value, from_[i].second)) return false;
  value = to_[i].second;
  return true;
}

template <class T>
bool same(const T& a, const T& b) {
  Collector x, y;
  const_cast<T&>(a).visit(x);
  const_cast<T&>(b).visit(y);
  bool same = x.fields.size() == y.fields.size();
  for (size_t i = 0; same && i < x.fields.size(); ++i) {
    same = x.fields[i].first == y.fields[i].first && same_values(x.fields[i].second, y.fields[i].second);
  }
  return same;
}

template <class T>
GenericDict fields_of(const T& object) {
  FieldSaver saver;
  const_cast<T&>(object).visit(saver);
  return saver.dict;
}

std::string path(const char* head, const std::string& index) {
  return c10::str(head, '.', index, '.');
}

// Dicts and lists of its own around the same tensors.
IValue copy_of_containers(const IValue& value) {
  if (value.isGenericDict()) {
    GenericDict copy;
    for (const auto& entry : value.toGenericDict()) copy.insert(entry.key(), copy_of_containers(entry.value()));
    return IValue(copy);
  }
  if (value.isList()) {
    c10::List<IValue> copy;
    for (const IValue& item : value.toListRef()) copy.push_back(copy_of_containers(item));
    return IValue(copy);
  }
  return value;
}

IValue required(const IValue& whole, const std::string& name, const std::string& path) {
  IValue part;
  TORCH_CHECK_VALUE(find_part(whole, name, &part), "load_state_dict: ", path, name, " is missing");
  return part;
}

}  // namespace

bool same_fields(const OptimizerOptions& a, const OptimizerOptions& b) {
  return same(a, b);
}
bool same_fields(const OptimizerParamState& a, const OptimizerParamState& b) {
  return same(a, b);
}

void inherit_fields(OptimizerOptions& options, const OptimizerOptions& defaults) {
  const std::unique_ptr<OptimizerOptions> unset = options.unset();
  if (!unset || typeid(options) != typeid(defaults)) return;
  Collector from, to;
  unset->visit(from);
  const_cast<OptimizerOptions&>(defaults).visit(to);
  Replacer replacer(std::move(from), std::move(to));
  options.visit(replacer);
}

// Defined where archives are (//utils/serialize), so that a program without archives links none.
namespace detail {
[[gnu::weak]] void write_state(torch::serialize::OutputArchive& archive, const StateDict& state);
[[gnu::weak]] StateDict read_state(const torch::serialize::InputArchive& archive, const Optimizer* optimizer);
}  // namespace detail

namespace {

void write(torch::serialize::OutputArchive& archive, const StateDict& state) {
  TORCH_CHECK(detail::write_state != nullptr,
              "saving an optimizer: archives are not linked; add //utils/serialize:optimizer_archive");
  detail::write_state(archive, state);
}

StateDict read(const torch::serialize::InputArchive& archive, const Optimizer* optimizer) {
  TORCH_CHECK(detail::read_state != nullptr,
              "loading an optimizer: archives are not linked; add //utils/serialize:optimizer_archive");
  return detail::read_state(archive, optimizer);
}

template <class T>
void write_fields(torch::serialize::OutputArchive& archive, const T& object) {
  write(archive, StateDict(IValue(fields_of(object))));
}

template <class T>
void read_fields(const torch::serialize::InputArchive& archive, T& object) {
  const IValue tree = read(archive, nullptr).tree();
  c10::NoGradGuard no_grad;
  FieldLoader loader(tree, "", nullptr);
  object.visit(loader);
}

}  // namespace

void OptimizerParamState::serialize(torch::serialize::InputArchive& archive) {
  read_fields(archive, *this);
}
void OptimizerParamState::serialize(torch::serialize::OutputArchive& archive) const {
  write_fields(archive, *this);
}
void OptimizerOptions::serialize(torch::serialize::InputArchive& archive) {
  read_fields(archive, *this);
}
void OptimizerOptions::serialize(torch::serialize::OutputArchive& archive) const {
  write_fields(archive, *this);
}

void Optimizer::save(torch::serialize::OutputArchive& archive) const {
  write(archive, state_dict());
}
void Optimizer::load(torch::serialize::InputArchive& archive) {
  load_state_dict(read(archive, this));
}

StateDict Optimizer::state_dict() const {
  Optimizer& self = const_cast<Optimizer&>(*this);  // for hooks
  self.call_hooks(Moment::kBeforeState);
  GenericDict states;
  c10::List<IValue> groups;
  int64_t number = 0;
  for (const OptimizerParamGroup& group : param_groups_) {
    std::vector<int64_t> numbers;
    for (const at::Tensor& p : group.params()) {
      const auto found = state_.find(p.unsafeGetTensorImpl());
      if (found != state_.end()) states.insert(IValue(number), IValue(fields_of(*found->second)));
      numbers.push_back(number++);
    }
    GenericDict fields = group.has_options() ? fields_of(group.options()) : GenericDict();
    for (const auto& [name, value] : group.extras()) fields.insert_or_assign(IValue(name), value);
    if (!group.param_names().empty()) fields.insert_or_assign(IValue("param_names"), IValue(group.param_names()));
    fields.insert_or_assign(IValue("params"), IValue(numbers));
    groups.push_back(IValue(fields));
  }
  StateDict dict;
  dict.set("state", IValue(states));
  dict.set("param_groups", IValue(groups));
  self.call_hooks(Moment::kAfterState, &dict);
  return dict;
}

void Optimizer::load_state_dict(const StateDict& given) {
  StateDict dict = given;
  for (const Hook& hook : hooks_) {
    if (hook.moment != Moment::kBeforeLoad) continue;
    dict = StateDict(copy_of_containers(given.tree()));
    call_hooks(Moment::kBeforeLoad, &dict);
    break;
  }
  const IValue groups = required(dict.tree(), "param_groups", "");
  IValue states;
  find_part(dict.tree(), "state", &states);
  const size_t count = names_of_parts(groups).size();
  TORCH_CHECK_VALUE(count == param_groups_.size(),
                    "loaded state dict has a different number of parameter groups: expected ", param_groups_.size(),
                    ", but got ", count);
  c10::NoGradGuard no_grad;
  StateMap fresh;
  std::vector<OptimizerParamGroup> fresh_groups;
  std::unordered_set<std::string> used;
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    const std::string here = path("param_groups", std::to_string(g));
    const IValue stored = required(groups, std::to_string(g), "param_groups.");
    const IValue numbers = required(stored, "params", here);
    const std::vector<std::string> places = names_of_parts(numbers);
    OptimizerParamGroup group(param_groups_[g]);
    TORCH_CHECK_VALUE(places.size() == group.params().size(),
                      "loaded state dict contains a parameter group that has a different size than the optimizer's "
                      "parameter group: expected ",
                      group.params().size(), ", but got ", places.size());
    FieldLoader loader(stored, here, nullptr, /*strict=*/true);
    if (group.has_options()) {
      group.options().visit(loader);
      group.options().check();
    }
    group.set_extras({});
    for (const std::string& name : names_of_parts(stored)) {
      if (loader.used().count(name) != 0 || name == "params" || name == "param_names") continue;
      group.set_extra(name, required(stored, name, here));
    }
    for (size_t k = 0; k < places.size(); ++k) {
      const at::Tensor& p = group.params()[k];
      const std::string number = std::to_string(checked_count(required(numbers, places[k], here), here + "params"));
      IValue part;
      if (!find_part(states, number, &part)) continue;
      TORCH_CHECK_VALUE(used.insert(number).second, "load_state_dict: parameter ", number, " is there twice");
      std::unique_ptr<OptimizerParamState> state = make_state();
      TORCH_CHECK_NOT_IMPLEMENTED(state != nullptr, "load_state_dict: this optimizer keeps no state");
      FieldLoader state_loader(part, path("state", number), &p);
      state->visit(state_loader);
      state_loader.check_all_used();
      fresh[p.unsafeGetTensorImpl()] = std::move(state);
    }
    fresh_groups.push_back(std::move(group));
  }
  for (const std::string& number : names_of_parts(states)) {
    TORCH_CHECK_VALUE(used.count(number) != 0, "load_state_dict: state.", number, " is of no parameter");
  }
  for (const std::string& name : names_of_parts(dict.tree())) {
    TORCH_CHECK_VALUE(name == "state" || name == "param_groups", "load_state_dict: this optimizer has no place for ",
                      name);
  }
  state_ = std::move(fresh);
  param_groups_ = std::move(fresh_groups);
  call_hooks(Moment::kAfterLoad);
}

}  // namespace torch::optim
