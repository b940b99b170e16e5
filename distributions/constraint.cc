#include "distributions/constraint.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/epsilon.h"
#include "c10/util/exception.h"
#include "distributions/detail.h"
#include "utils/repr/repr.h"

namespace torch::distributions {

Tensor TensorOrNumber::as_tensor(const at::TensorOptions& options) const {
  return is_number_ ? at::scalar_tensor(number_, options) : tensor_;
}

std::string TensorOrNumber::text() const {
  if (is_number_) return detail::number_text(number_);
  return detail::formatted(tensor_);
}

std::vector<Tensor> broadcast_all(std::initializer_list<TensorOrNumber> arguments) {
  at::TensorOptions options = at::TensorOptions().dtype(c10::get_default_dtype_as_scalartype());
  for (const TensorOrNumber& argument : arguments) {
    if (argument.is_tensor()) {
      options = argument.tensor().options();
      break;
    }
  }
  std::vector<Tensor> tensors;
  for (const TensorOrNumber& argument : arguments) tensors.push_back(argument.as_tensor(options));
  const bool same = std::all_of(tensors.begin(), tensors.end(),
                                [&](const Tensor& tensor) { return tensor.sizes() == tensors[0].sizes(); });
  return same ? tensors : at::broadcast_tensors(tensors);
}

namespace detail {

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char digits[40];
  const double magnitude = std::abs(value);
  // As Python chooses between the two forms.
  const bool scientific = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
  const auto form = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  std::string text(digits, std::to_chars(digits, digits + sizeof digits, value, form).ptr);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string number_text(const at::Scalar& value) {
  if (value.isBoolean()) return value.toBool() ? "True" : "False";
  if (value.isIntegral(/*includeBool=*/false)) return std::to_string(value.toLong());
  return number_text(value.toDouble());
}

std::string formatted(const Tensor& tensor) {
  return tensor.dim() == 0 && !tensor.is_meta() ? number_text(at::item(tensor)) : repr(tensor);
}

}  // namespace detail

namespace constraints {
namespace {

// A comparison with a bound.
#define TORCH_COMPARISON(name)                                                                    \
  Tensor name(const Tensor& value, const TensorOrNumber& bound) {                                 \
    return bound.is_number() ? at::name(value, bound.number()) : at::name(value, bound.tensor()); \
  }
TORCH_COMPARISON(gt)
TORCH_COMPARISON(ge)
TORCH_COMPARISON(lt)
TORCH_COMPARISON(le)
#undef TORCH_COMPARISON

std::string with_bound(const char* name, const char* bound_name, const TensorOrNumber& bound) {
  return std::string(name) + "(" + bound_name + "=" + bound.text() + ")";
}
std::string with_bounds(const char* name, const TensorOrNumber& lower, const TensorOrNumber& upper) {
  return std::string(name) + "(lower_bound=" + lower.text() + ", upper_bound=" + upper.text() + ")";
}

Tensor is_integer(const Tensor& value) {
  return at::eq(at::remainder(value, 1), 0);
}
Tensor all_of_matrix(const Tensor& holds) {
  return at::all(at::flatten(holds, -2), -1);
}
Tensor is_boolean(const Tensor& value) {
  return at::logical_or(at::eq(value, 0), at::eq(value, 1));
}

// A constraint without arguments or of bounds, whose type nobody asks for.
struct Plain final : ConstraintImpl {
  using Check = Tensor (*)(const Tensor& value, const TensorOrNumber& lower, const TensorOrNumber& upper);
  Plain(std::string text, bool discrete, int64_t dims, Check function, TensorOrNumber lower = {},
        TensorOrNumber upper = {})
      : text(std::move(text)),
        discrete(discrete),
        dims(dims),
        function(function),
        lower(std::move(lower)),
        upper(std::move(upper)) {}
  Tensor check(const Tensor& value) const override { return function(value, lower, upper); }
  bool is_discrete() const override { return discrete; }
  int64_t event_dim() const override { return dims; }
  std::string repr() const override { return text; }

  const std::string text;
  const bool discrete;
  const int64_t dims;
  const Check function;
  const TensorOrNumber lower, upper;
};

struct DependentImpl final : ConstraintImpl {
  DependentImpl(bool discrete, int64_t dims) : discrete(discrete), dims(dims) {}
  Tensor check(const Tensor&) const override {
    TORCH_CHECK_VALUE(false, "constraints::dependent: depends on other parameters and cannot be checked alone");
  }
  bool is_discrete() const override { return discrete; }
  int64_t event_dim() const override { return dims; }
  std::string repr() const override { return "Dependent()"; }
  bool is_dependent() const override { return true; }
  const bool discrete;
  const int64_t dims;
};

template <class Impl, class... Args>
Constraint make(Args&&... args) {
  return Constraint(std::make_shared<const Impl>(std::forward<Args>(args)...));
}

Tensor is_square(const Tensor& value) {
  TORCH_CHECK_VALUE(value.dim() >= 2, "a constraint of matrices needs two dimensions, got ", value.sizes());
  return at::full(value.sizes().slice(0, value.dim() - 2), value.size(-1) == value.size(-2),
                  value.options().dtype(at::kBool));
}
Tensor is_symmetric(const Tensor& value) {
  const Tensor square = is_square(value);
  if (value.size(-1) != value.size(-2)) return square;
  return all_of_matrix(at::isclose(value, value.mT(), 1e-5, /*atol=*/1e-6));
}
Tensor is_lower_triangular(const Tensor& value) {
  return all_of_matrix(at::eq(at::tril(value), value));
}

}  // namespace

Tensor GreaterThan::check(const Tensor& value) const {
  return gt(value, bound);
}
std::string GreaterThan::repr() const {
  return with_bound("GreaterThan", "lower_bound", bound);
}
Tensor GreaterThanEq::check(const Tensor& value) const {
  return ge(value, bound);
}
std::string GreaterThanEq::repr() const {
  return with_bound("GreaterThanEq", "lower_bound", bound);
}
Tensor LessThan::check(const Tensor& value) const {
  return lt(value, bound);
}
std::string LessThan::repr() const {
  return with_bound("LessThan", "upper_bound", bound);
}
Tensor Interval::check(const Tensor& value) const {
  return at::logical_and(ge(value, lower), le(value, upper));
}
std::string Interval::repr() const {
  return with_bounds("Interval", lower, upper);
}
Tensor HalfOpenInterval::check(const Tensor& value) const {
  return at::logical_and(ge(value, lower), lt(value, upper));
}
std::string HalfOpenInterval::repr() const {
  return with_bounds("HalfOpenInterval", lower, upper);
}

Tensor Independent::check(const Tensor& value) const {
  const Tensor each = base.check(value);
  TORCH_CHECK_VALUE(each.dim() >= ndims, repr(), ": a value needs ", base.event_dim() + ndims,
                    " dimensions or more, got one of sizes ", value.sizes());
  return ndims == 0 ? each : at::all(at::flatten(each, each.dim() - ndims), -1);
}
std::string Independent::repr() const {
  return "IndependentConstraint(" + base.repr() + ", " + std::to_string(ndims) + ")";
}

Tensor Cat::check(const Tensor& value) const {
  TORCH_CHECK_VALUE(-value.dim() <= dim && dim < value.dim(), "constraints::cat: dimension ", dim,
                    " is not one of a value of sizes ", value.sizes());
  std::vector<Tensor> checks;
  int64_t start = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    checks.push_back(parts[i].check(at::narrow(value, dim, start, lengths[i])));
    start += lengths[i];
  }
  return at::cat(checks, dim);
}
bool Cat::is_discrete() const {
  return std::any_of(parts.begin(), parts.end(), [](const Constraint& part) { return part.is_discrete(); });
}
int64_t Cat::event_dim() const {
  int64_t most = 0;
  for (const Constraint& part : parts) most = std::max(most, part.event_dim());
  return most;
}

Tensor Stack::check(const Tensor& value) const {
  TORCH_CHECK_VALUE(-value.dim() <= dim && dim < value.dim(), "constraints::stack: dimension ", dim,
                    " is not one of a value of sizes ", value.sizes());
  std::vector<Tensor> checks;
  for (size_t i = 0; i < parts.size(); ++i)
    checks.push_back(parts[i].check(at::select(value, dim, static_cast<int64_t>(i))));
  return at::stack(checks, dim);
}
bool Stack::is_discrete() const {
  return std::any_of(parts.begin(), parts.end(), [](const Constraint& part) { return part.is_discrete(); });
}
int64_t Stack::event_dim() const {
  int64_t most = 0;
  for (const Constraint& part : parts) most = std::max(most, part.event_dim());
  return dim + most < 0 ? most + 1 : most;
}

Tensor Real::check(const Tensor& value) const {
  return at::eq(value, value);
}
Tensor Simplex::check(const Tensor& value) const {
  return at::logical_and(at::all(at::ge(value, 0), -1), at::lt(at::abs(at::sub(at::sum(value, {-1}), 1)), 1e-6));
}
Tensor LowerCholesky::check(const Tensor& value) const {
  const Tensor positive_diagonal = at::all(at::gt(at::diagonal(value, 0, -2, -1), 0), -1);
  return at::logical_and(is_lower_triangular(value), positive_diagonal);
}
Tensor CorrCholesky::check(const Tensor& value) const {
  // Ten units in the last place for each term of a row's length.
  const double tolerance = detail::epsilon_of(value) * static_cast<double>(value.size(-1)) * 10;
  const Tensor length = at::linalg_vector_norm(value.detach(), 2, {-1});
  const Tensor unit = at::all(at::le(at::abs(at::sub(length, 1)), tolerance), -1);
  return at::logical_and(LowerCholesky().check(value), unit);
}
Tensor PositiveSemidefinite::check(const Tensor& value) const {
  const Tensor symmetric = is_symmetric(value);
  if (!at::all(symmetric).item<bool>()) return symmetric;
  return at::all(at::ge(at::linalg_eigvalsh(value), 0), -1);
}
Tensor PositiveDefinite::check(const Tensor& value) const {
  const Tensor symmetric = is_symmetric(value);
  if (!at::all(symmetric).item<bool>()) return symmetric;
  return at::eq(std::get<1>(at::linalg_cholesky_ex(value)), 0);
}

Constraint dependent(bool is_discrete, int64_t event_dim) {
  return make<DependentImpl>(is_discrete, event_dim);
}
bool is_dependent(const Constraint& constraint) {
  return constraint.is_dependent();
}
Constraint independent(const Constraint& base, int64_t reinterpreted_batch_ndims) {
  TORCH_CHECK_VALUE(reinterpreted_batch_ndims >= 0, "constraints::independent: reinterpreted_batch_ndims is ",
                    reinterpreted_batch_ndims, ", it may not be negative");
  return make<Independent>(base, reinterpreted_batch_ndims);
}

Constraint boolean() {
  return make<Plain>("Boolean()", true, 0, [](const Tensor& value, const TensorOrNumber&, const TensorOrNumber&) {
    return is_boolean(value);
  });
}
Constraint one_hot() {
  return make<Plain>("OneHot()", true, 1, [](const Tensor& value, const TensorOrNumber&, const TensorOrNumber&) {
    return at::logical_and(at::all(is_boolean(value), -1), at::eq(at::sum(value, {-1}), 1));
  });
}
Constraint integer_interval(const TensorOrNumber& lower_bound, const TensorOrNumber& upper_bound) {
  return make<Plain>(
      with_bounds("IntegerInterval", lower_bound, upper_bound), true, 0,
      [](const Tensor& value, const TensorOrNumber& lower, const TensorOrNumber& upper) {
        return at::logical_and(is_integer(value), at::logical_and(ge(value, lower), le(value, upper)));
      },
      lower_bound, upper_bound);
}
Constraint integer_less_than(const TensorOrNumber& upper_bound) {
  return make<Plain>(
      with_bound("IntegerLessThan", "upper_bound", upper_bound), true, 0,
      [](const Tensor& value, const TensorOrNumber&, const TensorOrNumber& upper) {
        return at::logical_and(is_integer(value), le(value, upper));
      },
      TensorOrNumber(), upper_bound);
}
Constraint integer_greater_than(const TensorOrNumber& lower_bound) {
  return make<Plain>(
      with_bound("IntegerGreaterThan", "lower_bound", lower_bound), true, 0,
      [](const Tensor& value, const TensorOrNumber& lower, const TensorOrNumber&) {
        return at::logical_and(is_integer(value), ge(value, lower));
      },
      lower_bound);
}
Constraint nonnegative_integer() {
  return integer_greater_than(0);
}
Constraint positive_integer() {
  return integer_greater_than(1);
}
Constraint real() {
  return make<Real>();
}
Constraint real_vector() {
  return independent(real(), 1);
}
Constraint positive() {
  return greater_than(0.0);
}
Constraint nonnegative() {
  return greater_than_eq(0.0);
}
Constraint greater_than(const TensorOrNumber& lower_bound) {
  return make<GreaterThan>(lower_bound);
}
Constraint greater_than_eq(const TensorOrNumber& lower_bound) {
  return make<GreaterThanEq>(lower_bound);
}
Constraint less_than(const TensorOrNumber& upper_bound) {
  return make<LessThan>(upper_bound);
}
Constraint interval(const TensorOrNumber& lower_bound, const TensorOrNumber& upper_bound) {
  return make<Interval>(lower_bound, upper_bound);
}
Constraint half_open_interval(const TensorOrNumber& lower_bound, const TensorOrNumber& upper_bound) {
  return make<HalfOpenInterval>(lower_bound, upper_bound);
}
Constraint unit_interval() {
  return interval(0.0, 1.0);
}
Constraint simplex() {
  return make<Simplex>();
}
Constraint multinomial(const TensorOrNumber& upper_bound) {
  return make<Plain>(
      "Multinomial()", true, 1,
      [](const Tensor& value, const TensorOrNumber&, const TensorOrNumber& upper) {
        return at::logical_and(at::all(at::ge(value, 0), -1), le(at::sum(value, {-1}), upper));
      },
      TensorOrNumber(), upper_bound);
}
Constraint lower_triangular() {
  return make<Plain>(
      "LowerTriangular()", false, 2,
      [](const Tensor& value, const TensorOrNumber&, const TensorOrNumber&) { return is_lower_triangular(value); });
}
Constraint lower_cholesky() {
  return make<LowerCholesky>();
}
Constraint corr_cholesky() {
  return make<CorrCholesky>();
}
Constraint square() {
  return make<Plain>("Square()", false, 2, [](const Tensor& value, const TensorOrNumber&, const TensorOrNumber&) {
    return is_square(value);
  });
}
Constraint symmetric() {
  return make<Plain>("Symmetric()", false, 2, [](const Tensor& value, const TensorOrNumber&, const TensorOrNumber&) {
    return is_symmetric(value);
  });
}
Constraint positive_semidefinite() {
  return make<PositiveSemidefinite>();
}
Constraint positive_definite() {
  return make<PositiveDefinite>();
}
Constraint cat(std::vector<Constraint> parts, int64_t dim, std::vector<int64_t> lengths) {
  if (lengths.empty()) lengths.assign(parts.size(), 1);
  TORCH_CHECK_VALUE(lengths.size() == parts.size(), "constraints::cat: ", parts.size(), " constraints and ",
                    lengths.size(), " lengths");
  return make<Cat>(std::move(parts), dim, std::move(lengths));
}
Constraint stack(std::vector<Constraint> parts, int64_t dim) {
  return make<Stack>(std::move(parts), dim);
}

}  // namespace constraints
}  // namespace torch::distributions
