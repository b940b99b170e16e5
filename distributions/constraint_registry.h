// Transforms from unconstrained tensors to what a constraint allows.
#pragma once

#include <functional>
#include <memory>
#include <typeindex>

#include "distributions/constraint.h"
#include "distributions/transform.h"

namespace torch::distributions {

/// By the type of a constraint: what makes the transform whose codomain it is. There are two, `biject_to` and
/// `transform_to`; constraints of your own are added to them.
///
///     Transform t = transform_to(normal.arg_constraints()[1].constraint);      // to positive scales
///     torch::Tensor scale = t(unconstrained);
///
///     biject_to.register_constraint<MyConstraint>([](const MyConstraint& c) { return ExpTransform(); });
class ConstraintRegistry {
 public:
  using Factory = std::function<Transform(const ConstraintImpl&)>;

  /// The transform to a constraint. Throws NotImplementedError for a type that was not registered.
  Transform operator()(const Constraint& constraint) const;

  /// Replaces what was registered for the type. Constraints of types derived from it are not meant.
  void register_factory(std::type_index type, Factory factory) const;
  template <class Impl, class F>
  void register_constraint(F factory) const {
    register_factory(typeid(Impl), [factory](const ConstraintImpl& impl) {
      return Transform(factory(static_cast<const Impl&>(impl)));
    });
  }

  enum class Which { BijectTo, TransformTo };
  explicit constexpr ConstraintRegistry(Which which) : which_(which) {}

 private:
  Which which_;
};

/// Bijective transforms, with determinants: for Hamiltonian Monte Carlo and densities of transformed parameters.
inline constexpr ConstraintRegistry biject_to(ConstraintRegistry::Which::BijectTo);
/// Transforms that cover all of the constraint, cheap and possibly not one-to-one: for optimizers.
inline constexpr ConstraintRegistry transform_to(ConstraintRegistry::Which::TransformTo);

}  // namespace torch::distributions
