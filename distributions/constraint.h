// Where the values of a parameter or of samples lie.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "distributions/tensor_or_number.h"

namespace torch::distributions {

class Constraint;

/// What a constraint is made of. Constraints of your own derive from it; `Constraint` is the handle.
class ConstraintImpl {
 public:
  virtual ~ConstraintImpl() = default;
  /// For each event of `value` whether it holds: a bool tensor without the last event_dim() dimensions.
  virtual Tensor check(const Tensor& value) const = 0;
  virtual bool is_discrete() const { return false; }
  /// How many dimensions a value has at least; what is checked together.
  virtual int64_t event_dim() const { return 0; }
  /// "GreaterThan(lower_bound=0.0)"
  virtual std::string repr() const = 0;
  /// Whether it depends on other parameters and cannot be checked alone.
  virtual bool is_dependent() const { return false; }
};

/// A region of values: `constraints::positive().check(torch::tensor({1.0, -1.0}))` is {true, false}.
class Constraint {
 public:
  Constraint() = default;
  Constraint(std::shared_ptr<const ConstraintImpl> impl) : impl_(std::move(impl)) {}

  Tensor check(const Tensor& value) const { return impl().check(value); }
  bool is_discrete() const { return impl().is_discrete(); }
  int64_t event_dim() const { return impl().event_dim(); }
  bool is_dependent() const { return impl().is_dependent(); }
  std::string repr() const { return impl().repr(); }

  const ConstraintImpl& impl() const {
    TORCH_CHECK(impl_ != nullptr, "an empty constraint is used");
    return *impl_;
  }
  explicit operator bool() const { return impl_ != nullptr; }
  /// The constraint as one of type Impl, e.g. `c.as<constraints::GreaterThan>()`; null where it is another.
  template <class Impl>
  const Impl* as() const {
    return dynamic_cast<const Impl*>(impl_.get());
  }

 private:
  std::shared_ptr<const ConstraintImpl> impl_;
};

namespace constraints {

// The types of the constraints that other code asks for; what they hold are their arguments. The functions below make
// them.

#define TORCH_DECLARE_BOUND(Name)                                    \
  struct Name final : ConstraintImpl {                               \
    explicit Name(TensorOrNumber bound) : bound(std::move(bound)) {} \
    Tensor check(const Tensor& value) const override;                \
    std::string repr() const override;                               \
    const TensorOrNumber bound;                                      \
  };
TORCH_DECLARE_BOUND(GreaterThan)
TORCH_DECLARE_BOUND(GreaterThanEq)
TORCH_DECLARE_BOUND(LessThan)
#undef TORCH_DECLARE_BOUND

struct Interval final : ConstraintImpl {
  Interval(TensorOrNumber lower, TensorOrNumber upper) : lower(std::move(lower)), upper(std::move(upper)) {}
  Tensor check(const Tensor& value) const override;
  std::string repr() const override;
  const TensorOrNumber lower, upper;
};
struct HalfOpenInterval final : ConstraintImpl {
  HalfOpenInterval(TensorOrNumber lower, TensorOrNumber upper) : lower(std::move(lower)), upper(std::move(upper)) {}
  Tensor check(const Tensor& value) const override;
  std::string repr() const override;
  const TensorOrNumber lower, upper;
};
struct Independent final : ConstraintImpl {
  Independent(Constraint base, int64_t ndims) : base(std::move(base)), ndims(ndims) {}
  Tensor check(const Tensor& value) const override;
  bool is_discrete() const override { return base.is_discrete(); }
  int64_t event_dim() const override { return base.event_dim() + ndims; }
  std::string repr() const override;
  const Constraint base;
  const int64_t ndims;
};
struct Cat final : ConstraintImpl {
  Cat(std::vector<Constraint> parts, int64_t dim, std::vector<int64_t> lengths)
      : parts(std::move(parts)), dim(dim), lengths(std::move(lengths)) {}
  Tensor check(const Tensor& value) const override;
  bool is_discrete() const override;
  int64_t event_dim() const override;
  std::string repr() const override { return "Cat()"; }
  const std::vector<Constraint> parts;
  const int64_t dim;
  const std::vector<int64_t> lengths;
};
struct Stack final : ConstraintImpl {
  Stack(std::vector<Constraint> parts, int64_t dim) : parts(std::move(parts)), dim(dim) {}
  Tensor check(const Tensor& value) const override;
  bool is_discrete() const override;
  int64_t event_dim() const override;
  std::string repr() const override { return "Stack()"; }
  const std::vector<Constraint> parts;
  const int64_t dim;
};

// Those without arguments.
struct Real final : ConstraintImpl {
  Tensor check(const Tensor& value) const override;
  std::string repr() const override { return "Real()"; }
};
struct Simplex final : ConstraintImpl {
  Tensor check(const Tensor& value) const override;
  int64_t event_dim() const override { return 1; }
  std::string repr() const override { return "Simplex()"; }
};
struct LowerCholesky final : ConstraintImpl {
  Tensor check(const Tensor& value) const override;
  int64_t event_dim() const override { return 2; }
  std::string repr() const override { return "LowerCholesky()"; }
};
struct CorrCholesky final : ConstraintImpl {
  Tensor check(const Tensor& value) const override;
  int64_t event_dim() const override { return 2; }
  std::string repr() const override { return "CorrCholesky()"; }
};
struct PositiveSemidefinite final : ConstraintImpl {
  Tensor check(const Tensor& value) const override;
  int64_t event_dim() const override { return 2; }
  std::string repr() const override { return "PositiveSemidefinite()"; }
};
struct PositiveDefinite final : ConstraintImpl {
  Tensor check(const Tensor& value) const override;
  int64_t event_dim() const override { return 2; }
  std::string repr() const override { return "PositiveDefinite()"; }
};

/// What depends on other parameters: check throws ValueError.
Constraint dependent(bool is_discrete = false, int64_t event_dim = 0);
bool is_dependent(const Constraint& constraint);
/// `base` with its last `reinterpreted_batch_ndims` dimensions checked together.
Constraint independent(const Constraint& base, int64_t reinterpreted_batch_ndims);

/// 0 or 1.
Constraint boolean();
/// One 1 in the last dimension, else 0.
Constraint one_hot();
/// Integers from lower_bound to upper_bound, both among them.
Constraint integer_interval(const TensorOrNumber& lower_bound, const TensorOrNumber& upper_bound);
/// Integers up to upper_bound.
Constraint integer_less_than(const TensorOrNumber& upper_bound);
/// Integers from lower_bound on.
Constraint integer_greater_than(const TensorOrNumber& lower_bound);
Constraint nonnegative_integer();
Constraint positive_integer();
/// All but not-a-number.
Constraint real();
Constraint real_vector();
Constraint positive();
Constraint nonnegative();
/// value > lower_bound, and so on.
Constraint greater_than(const TensorOrNumber& lower_bound);
Constraint greater_than_eq(const TensorOrNumber& lower_bound);
Constraint less_than(const TensorOrNumber& upper_bound);
/// [lower_bound, upper_bound]
Constraint interval(const TensorOrNumber& lower_bound, const TensorOrNumber& upper_bound);
/// [lower_bound, upper_bound)
Constraint half_open_interval(const TensorOrNumber& lower_bound, const TensorOrNumber& upper_bound);
Constraint unit_interval();
/// Nonnegative vectors whose sum is 1, to 1e-6.
Constraint simplex();
/// Nonnegative integers whose sum is at most upper_bound.
Constraint multinomial(const TensorOrNumber& upper_bound);
/// Matrices with zeros above the diagonal; the same with a positive diagonal; the same with rows of length 1.
Constraint lower_triangular();
Constraint lower_cholesky();
Constraint corr_cholesky();
/// Matrices with as many rows as columns; those equal to their transpose, to 1e-6; without and without zero
/// eigenvalues.
Constraint square();
Constraint symmetric();
Constraint positive_semidefinite();
Constraint positive_definite();
/// Parts of dimension `dim`, lengths[i] elements each (empty: one each), with constraints of their own.
/// Throws ValueError where there are not as many lengths as constraints.
Constraint cat(std::vector<Constraint> parts, int64_t dim = 0, std::vector<int64_t> lengths = {});
/// The i-th slice of dimension `dim` with constraint i.
Constraint stack(std::vector<Constraint> parts, int64_t dim = 0);

}  // namespace constraints
}  // namespace torch::distributions
