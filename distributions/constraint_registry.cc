#include "distributions/constraint_registry.h"

#include <map>
#include <mutex>

#include "aten/ops/binary/ops.h"
#include "c10/util/exception.h"

namespace torch::distributions {
namespace {

namespace c = constraints;

using Factory = ConstraintRegistry::Factory;
using Table = std::map<std::type_index, Factory>;

template <class Impl, class F>
void add(Table& table, F factory) {
  table[typeid(Impl)] = [factory](const ConstraintImpl& impl) {
    return Transform(factory(static_cast<const Impl&>(impl)));
  };
}

// exp(x) * scale + bound
Transform beyond(const TensorOrNumber& bound, double scale) {
  return ComposeTransform({ExpTransform(), AffineTransform(bound, scale)});
}

bool is_number(const TensorOrNumber& bound, double value) {
  return bound.is_number() && bound.number().toDouble() == value;
}

Transform between(const TensorOrNumber& lower, const TensorOrNumber& upper) {
  if (is_number(lower, 0) && is_number(upper, 1)) return SigmoidTransform();
  if (lower.is_number() && upper.is_number())
    return ComposeTransform(
        {SigmoidTransform(), AffineTransform(lower, upper.number().toDouble() - lower.number().toDouble())});
  const std::vector<Tensor> bounds = broadcast_all({lower, upper});
  return ComposeTransform({SigmoidTransform(), AffineTransform(bounds[0], bounds[1] - bounds[0])});
}

Table common(const ConstraintRegistry& registry) {
  Table table;
  add<c::Real>(table, [](const c::Real&) { return identity_transform(); });
  add<c::GreaterThan>(table, [](const c::GreaterThan& one) { return beyond(one.bound, 1); });
  add<c::GreaterThanEq>(table, [](const c::GreaterThanEq& one) { return beyond(one.bound, 1); });
  add<c::LessThan>(table, [](const c::LessThan& one) { return beyond(one.bound, -1); });
  add<c::Interval>(table, [](const c::Interval& one) { return between(one.lower, one.upper); });
  add<c::HalfOpenInterval>(table, [](const c::HalfOpenInterval& one) { return between(one.lower, one.upper); });
  add<c::CorrCholesky>(table, [](const c::CorrCholesky&) { return CorrCholeskyTransform(); });
  add<c::Independent>(
      table, [registry](const c::Independent& one) { return IndependentTransform(registry(one.base), one.ndims); });
  const auto each = [registry](const std::vector<Constraint>& parts) {
    std::vector<Transform> transforms;
    for (const Constraint& part : parts) transforms.push_back(registry(part));
    return transforms;
  };
  add<c::Cat>(table, [each](const c::Cat& one) { return CatTransform(each(one.parts), one.dim, one.lengths); });
  add<c::Stack>(table, [each](const c::Stack& one) { return StackTransform(each(one.parts), one.dim); });
  return table;
}

struct Tables {
  std::mutex mutex;
  Table bijections, transforms;

  Tables() : bijections(common(biject_to)), transforms(common(transform_to)) {
    add<c::Simplex>(bijections, [](const c::Simplex&) { return StickBreakingTransform(); });
    add<c::Simplex>(transforms, [](const c::Simplex&) { return SoftmaxTransform(); });
    add<c::LowerCholesky>(transforms, [](const c::LowerCholesky&) { return LowerCholeskyTransform(); });
    add<c::PositiveDefinite>(transforms, [](const c::PositiveDefinite&) { return PositiveDefiniteTransform(); });
    add<c::PositiveSemidefinite>(transforms,
                                 [](const c::PositiveSemidefinite&) { return PositiveDefiniteTransform(); });
  }
};

Tables& tables() {
  static Tables all;
  return all;
}

}  // namespace

Transform ConstraintRegistry::operator()(const Constraint& constraint) const {
  const ConstraintImpl& impl = constraint.impl();
  const std::type_index type = typeid(impl);
  Factory factory;
  {
    std::lock_guard lock(tables().mutex);
    const Table& table = which_ == Which::BijectTo ? tables().bijections : tables().transforms;
    const auto found = table.find(type);
    if (found != table.end()) factory = found->second;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(factory, which_ == Which::BijectTo ? "biject_to" : "transform_to",
                              " knows no transform to the constraint ", constraint.repr());
  return factory(impl);
}

void ConstraintRegistry::register_factory(std::type_index type, Factory factory) const {
  std::lock_guard lock(tables().mutex);
  (which_ == Which::BijectTo ? tables().bijections : tables().transforms)[type] = std::move(factory);
}

}  // namespace torch::distributions
