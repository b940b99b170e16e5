#include "tests/recorded/optim_values.h"

#include <algorithm>
#include <set>

#include "optim/field_visitors.h"
#include "optim/optim.h"
#include "tests/conformance/case_values.h"

namespace recorded {
namespace {

using c10::IValue;
using namespace torch::optim;

void set_options(OptimizerOptions& options, const Json& config) {
  FieldLoader loader(value_of(config), "", nullptr);
  options.visit(loader);
  loader.check_all_used();
}

template <class O, class Options>
std::unique_ptr<Optimizer> made(Options options, const Json& config, const std::vector<std::vector<at::Tensor>>& params,
                                const std::vector<Json>& group_configs) {
  set_options(options, config);
  std::vector<OptimizerParamGroup> groups;
  for (size_t g = 0; g < params.size(); ++g) {
    auto own = std::make_unique<Options>(options);
    set_options(*own, group_configs[g]);
    groups.emplace_back(params[g], std::move(own));
  }
  return std::make_unique<O>(groups, options);
}

}  // namespace

IValue value_of(const Json& recorded) {
  if (recorded.is_null()) return {};
  if (recorded.is_boolean()) return recorded.get<bool>();
  if (recorded.is_string()) return recorded.get<std::string>();
  if (recorded.is_number_integer()) return recorded.get<int64_t>();
  if (recorded.is_array()) {
    c10::List<IValue> list;
    for (const Json& item : recorded) list.push_back(value_of(item));
    return list;
  }
  if (recorded.is_object() && !recorded.contains("float")) {
    c10::Dict<IValue, IValue> dict;
    for (const auto& [name, item] : recorded.items()) dict.insert(IValue(name), value_of(item));
    return dict;
  }
  return conformance::number(recorded);
}

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const Json& config,
                                          const std::vector<std::vector<at::Tensor>>& params,
                                          const std::vector<Json>& groups) {
  if (name == "SGD") return made<SGD>(SGDOptions(1e-3), config, params, groups);
  if (name == "Adam") return made<Adam>(AdamOptions(), config, params, groups);
  if (name == "AdamW") return made<AdamW>(AdamWOptions(), config, params, groups);
  if (name == "Adagrad") return made<Adagrad>(AdagradOptions(), config, params, groups);
  if (name == "Adadelta") return made<Adadelta>(AdadeltaOptions(), config, params, groups);
  if (name == "Adafactor") return made<Adafactor>(AdafactorOptions(), config, params, groups);
  if (name == "Adamax") return made<Adamax>(AdamaxOptions(), config, params, groups);
  if (name == "ASGD") return made<ASGD>(ASGDOptions(), config, params, groups);
  if (name == "LBFGS") return made<LBFGS>(LBFGSOptions(), config, params, groups);
  if (name == "Muon") return made<Muon>(MuonOptions(), config, params, groups);
  if (name == "NAdam") return made<NAdam>(NAdamOptions(), config, params, groups);
  if (name == "RAdam") return made<RAdam>(RAdamOptions(), config, params, groups);
  if (name == "RMSprop") return made<RMSprop>(RMSpropOptions(), config, params, groups);
  if (name == "Rprop") return made<Rprop>(RpropOptions(), config, params, groups);
  if (name == "SparseAdam") return made<SparseAdam>(SparseAdamOptions(), config, params, groups);
  return nullptr;
}

void check_tree(Check& check, const std::string& what, const IValue& got, const Json& recorded,
                std::initializer_list<std::string_view> unrecorded) {
  if (conformance::is_tensor(recorded)) {
    if (!got.isTensor()) return check.fail(what + " is no tensor");
    return check.tensor(what, got.toTensor(), recorded, 100);
  }
  if (recorded.is_object() && !recorded.contains("float")) {
    std::set<std::string> names;
    for (const std::string& name : names_of_parts(got)) {
      if (std::find(unrecorded.begin(), unrecorded.end(), name) == unrecorded.end()) names.insert(name);
    }
    for (const auto& [name, part] : recorded.items()) {
      IValue value;
      if (!got.isGenericDict() || !find_part(got, name, &value)) {
        check.fail(what + " has no " + name);
        continue;
      }
      names.erase(name);
      check_tree(check, what + "." + name, value, part, unrecorded);
    }
    for (const std::string& name : names) check.fail(what + " has " + name + ", which is not recorded");
    return;
  }
  if (recorded.is_array()) {
    const size_t count = names_of_parts(got).size();
    if (got.isGenericDict() || count != recorded.size()) {
      return check.fail(what + " has " + std::to_string(count) + " parts, recorded " + std::to_string(recorded.size()));
    }
    for (size_t i = 0; i < count; ++i) {
      IValue value;
      find_part(got, std::to_string(i), &value);
      check_tree(check, what + "." + std::to_string(i), value, recorded[i], unrecorded);
    }
    return;
  }
  if (recorded.is_null()) return check.expect(got.isNone(), what + " is not None");
  if (recorded.is_string()) {
    return check.equal(what, got.isString() ? Json(got.toStringRef()) : Json(), recorded);
  }
  if (recorded.is_boolean()) return check.equal(what, got.isBool() ? Json(got.toBool()) : Json(), recorded);
  if (!got.isInt() && !got.isDouble()) return check.fail(what + " is no number");
  check.number(what, got.toScalar().toDouble(), recorded);
}

}  // namespace recorded
