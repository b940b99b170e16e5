// Norms, condition numbers, ranks and pseudoinverses.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/kernels.h"
#include "aten/ops/linalg/matrices.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/epsilon.h"

namespace at::native {

using namespace linalg;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_norm_dtype(const Tensor& self, std::optional<ScalarType> dtype, const char* op) {
  check_floating(self, op);
  if (!dtype) return;
  const ScalarType type = self.scalar_type();
  TORCH_CHECK(isFloatingType(*dtype) || isComplexType(*dtype), op,
              ": dtype should be floating point or complex, but got ", *dtype);
  TORCH_CHECK(isComplexType(type) == isComplexType(*dtype), op, ": dtype should be ",
              isComplexType(type) ? "complex" : "real", " for ", isComplexType(type) ? "complex" : "real",
              " inputs, but got ", *dtype);
  TORCH_CHECK(promoteTypes(type, *dtype) == *dtype, op, ": the dtype of the input (", type,
              ") should be convertible without narrowing to the specified dtype (", *dtype, ")");
}

Tensor in_dtype(const Tensor& self, std::optional<ScalarType> dtype) {
  return dtype && *dtype != self.scalar_type() ? at::to(self, *dtype) : self;
}

// Norms of no numbers are 0, but some have no value then.
void check_identity(const Tensor& self, double ord, OptionalIntArrayRef dim) {
  if (!(ord < 0 || ord == kInfinity)) return;
  if (!dim.has_value() || dim->empty()) {
    TORCH_CHECK(self.numel() != 0, "linalg.vector_norm cannot compute the ", ord,
                " norm on an empty tensor because the operation does not have an identity");
    return;
  }
  for (int64_t d : *dim) {
    TORCH_CHECK(self.dim() == 0 || self.size(d) != 0, "linalg.vector_norm cannot compute the ", ord,
                " norm on the dimension ", d,
                "because this dimension is empty and the operation does not have an identity");
  }
}

}  // namespace

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim,
                          std::optional<ScalarType> dtype) {
  check_norm_dtype(self, dtype, "linalg.vector_norm");
  TORCH_CHECK(!ord.isComplex(), "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
  check_identity(self, ord.toDouble(), dim);
  const Tensor x = in_dtype(self, dtype);
  return at::norm(x, ord, dim.has_value() ? *dim : IntArrayRef(), keepdim);
}

Tensor linalg_powsum(const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim,
                     std::optional<ScalarType> dtype) {
  check_norm_dtype(self, dtype, "linalg._powsum");
  return at::sum(at::pow(at::abs(in_dtype(self, dtype)), ord), dim, keepdim);
}

namespace {

struct MatrixDims {
  int64_t rows, columns;
};

MatrixDims check_matrix_norm(const Tensor& A, IntArrayRef dim, std::optional<ScalarType> dtype, bool low) {
  constexpr const char* op = "linalg.matrix_norm";
  check_matrix(A, op);
  check_floating(A, op, low);
  TORCH_CHECK(dim.size() == 2, op, ": dim must be a 2-tuple. Got ", c10::Join(", ", dim));
  const MatrixDims dims{maybe_wrap_dim(dim[0], A.dim()), maybe_wrap_dim(dim[1], A.dim())};
  TORCH_CHECK(dims.rows != dims.columns, op, ": dims must be different. Got (", dim[0], ", ", dim[1], ")");
  check_norm_dtype(A, dtype, op);
  return dims;
}

// The largest, or the smallest, of norms along `dim`: 0 where there is none and the largest is asked for.
Tensor extreme(const Tensor& norms, int64_t dim, bool largest, bool keepdim) {
  if (!largest) return at::amin(norms, IntArrayRef{dim}, keepdim);
  if (norms.size(dim) == 0) return at::sum(norms, IntArrayRef{dim}, keepdim);
  return at::amax(norms, IntArrayRef{dim}, keepdim);
}

Tensor singular_values(const Tensor& A, const MatrixDims& dims) {
  return at::linalg_svdvals(at::movedim(A, IntArrayRef{dims.rows, dims.columns}, IntArrayRef{-2, -1}));
}

// Puts the two reduced dimensions back as ones of size 1.
Tensor keep(Tensor t, const MatrixDims& dims, bool keepdim) {
  if (!keepdim) return t;
  t = at::unsqueeze(t, std::min(dims.rows, dims.columns));
  return at::unsqueeze(t, std::max(dims.rows, dims.columns));
}

}  // namespace

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim, bool keepdim,
                          std::optional<ScalarType> dtype) {
  const double order = ord.toDouble(), size = std::abs(order);
  TORCH_CHECK(size == 1 || size == 2 || size == kInfinity, "linalg.matrix_norm: Order ", order, " not supported.");
  const MatrixDims dims = check_matrix_norm(self, dim, dtype, size != 2);
  const Tensor A = in_dtype(self, dtype);
  if (size == 2) return keep(extreme(singular_values(A, dims), -1, order > 0, false), dims, keepdim);
  const bool of_rows = size == kInfinity;
  const int64_t summed = of_rows ? dims.columns : dims.rows, kept = of_rows ? dims.rows : dims.columns;
  const Tensor sums = at::linalg_vector_norm(A, Scalar(1), IntArrayRef{summed}, true);
  return keep(extreme(at::squeeze(sums, summed), kept > summed ? kept - 1 : kept, order > 0, false), dims, keepdim);
}

Tensor linalg_matrix_norm_str(const Tensor& self, std::string_view ord, IntArrayRef dim, bool keepdim,
                              std::optional<ScalarType> dtype) {
  const MatrixDims dims = check_matrix_norm(self, dim, dtype, ord != "nuc");
  TORCH_CHECK(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order ", ord, " not supported.");
  if (ord == "fro")
    return at::linalg_vector_norm(self, Scalar(2), IntArrayRef{dims.rows, dims.columns}, keepdim, dtype);
  return keep(at::sum(singular_values(in_dtype(self, dtype), dims), IntArrayRef{-1}), dims, keepdim);
}

namespace {

// Whether linalg_norm takes a matrix norm.
bool is_matrix_norm(const Tensor& self, bool has_order, OptionalIntArrayRef dim) {
  if (dim.has_value()) {
    TORCH_CHECK(dim->size() == 1 || dim->size() == 2,
                "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
    return has_order && dim->size() == 2;
  }
  TORCH_CHECK(!has_order || self.dim() == 1 || self.dim() == 2,
              "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ", self.dim(), "D.");
  return has_order && self.dim() == 2;
}

}  // namespace

Tensor linalg_norm(const Tensor& self, const std::optional<Scalar>& ord, OptionalIntArrayRef dim, bool keepdim,
                   std::optional<ScalarType> dtype) {
  if (is_matrix_norm(self, ord.has_value(), dim)) {
    return at::linalg_matrix_norm(self, *ord, dim.has_value() ? *dim : IntArrayRef{0, 1}, keepdim, dtype);
  }
  return at::linalg_vector_norm(self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
}

Tensor linalg_norm_str(const Tensor& self, std::string_view ord, OptionalIntArrayRef dim, bool keepdim,
                       std::optional<ScalarType> dtype) {
  is_matrix_norm(self, true, dim);
  return at::linalg_matrix_norm(self, ord, dim.has_value() ? *dim : IntArrayRef{0, 1}, keepdim, dtype);
}

Tensor nuclear_norm(const Tensor& self, bool keepdim) {
  return at::linalg_matrix_norm(self, "nuc", IntArrayRef{-2, -1}, keepdim);
}

Tensor nuclear_norm_dim(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return at::linalg_matrix_norm(self, "nuc", dim, keepdim);
}

namespace {

Tensor zero_conditions(const Tensor& self) {
  return at::zeros(batch_of(self.sizes()), self.options().dtype(toRealValueType(self.scalar_type())));
}

// norm(A) norm(A^-1), infinite where A is singular.
template <class Ord>
Tensor condition_by_inverse(const Tensor& self, const Ord& ord) {
  if (self.numel() == 0) return zero_conditions(self);
  const auto [inverse, info] = at::linalg_inv_ex(self, false);
  const Tensor norm = at::linalg_matrix_norm(self, ord, IntArrayRef{-2, -1});
  const Tensor product = at::mul(norm, at::linalg_matrix_norm(inverse, ord, IntArrayRef{-2, -1}));
  return at::where(at::gt(info, Scalar(0)), at::full({}, Scalar(kInfinity), product.options()), product);
}

}  // namespace

Tensor linalg_cond(const Tensor& self, const std::optional<Scalar>& p) {
  TORCH_CHECK(self.dim() >= 2, "linalg.cond: The input tensor must have at least 2 dimensions.");
  const double ord = p ? p->toDouble() : 2, size = std::abs(ord);
  if (size == 2) {
    const Tensor values = at::linalg_svdvals(self);
    if (self.numel() == 0) return zero_conditions(self);
    const Tensor largest = at::select(values, -1, 0), smallest = at::select(values, -1, -1);
    return ord > 0 ? at::div(largest, smallest) : at::div(smallest, largest);
  }
  TORCH_CHECK_VALUE(size == 1 || size == kInfinity, "linalg.cond got an invalid norm type: ", ord);
  check_square(self, c10::str("linalg.cond(ord=", ord, ")").c_str());
  return condition_by_inverse(self, *p);
}

Tensor linalg_cond_str(const Tensor& self, std::string_view p) {
  TORCH_CHECK(self.dim() >= 2, "linalg.cond: The input tensor must have at least 2 dimensions.");
  check_square(self, c10::str("linalg.cond(ord=", p, ")").c_str());
  TORCH_CHECK_VALUE(p == "fro" || p == "nuc", "linalg.cond got an invalid norm type: ", p);
  // The values of a singular matrix's infinite inverse do not exist, its sum of singular values neither.
  if (p == "fro" || self.numel() == 0) return condition_by_inverse(self, p);
  const Tensor values = at::linalg_svdvals(self);
  return at::mul(at::sum(values, IntArrayRef{-1}), at::sum(at::reciprocal(values), IntArrayRef{-1}));
}

namespace {

double default_rtol(const Tensor& t) {
  return epsilon_of(t.scalar_type()) * static_cast<double>(std::max(t.size(-1), t.size(-2)));
}

void check_tolerance(const Tensor& t, const char* op, const char* name) {
  TORCH_CHECK(!t.is_complex(), op, ": ", name, " tensor of complex type is not supported. Got ", t.scalar_type());
}

// Which values count: those above max(atol, rtol * largest). Unless both are given, a positive atol makes rtol 0.
struct Tolerances {
  Tensor atol, rtol;
};
Tolerances tolerances(const Tensor& t, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol,
                      const char* op) {
  const TensorOptions reals = t.options().dtype(kDouble);
  const bool has_atol = atol.has_value() && atol->defined(), has_rtol = rtol.has_value() && rtol->defined();
  if (has_atol) check_tolerance(*atol, op, "atol");
  if (has_rtol) check_tolerance(*rtol, op, "rtol");
  Tolerances both;
  both.atol = has_atol ? *atol : at::zeros({}, reals);
  if (has_rtol) {
    both.rtol = *rtol;
  } else {
    const Tensor usual = at::full({}, Scalar(default_rtol(t)), reals);
    both.rtol = has_atol ? at::where(at::gt(*atol, Scalar(0)), at::zeros({}, reals), usual) : usual;
  }
  return both;
}
Tolerances tolerances(const Tensor& t, std::optional<double> atol, std::optional<double> rtol) {
  const double absolute = atol.value_or(0), relative = rtol.value_or(absolute > 0 ? 0 : default_rtol(t));
  const TensorOptions reals = t.options().dtype(kDouble);
  return {at::full({}, Scalar(absolute), reals), at::full({}, Scalar(relative), reals)};
}

Tensor limit_of(const Tolerances& t, const Tensor& largest) {
  const TensorOptions type = largest.options();
  return at::maximum(at::to(at::unsqueeze(t.atol, -1), type.dtype().toScalarType()),
                     at::mul(at::to(at::unsqueeze(t.rtol, -1), type.dtype().toScalarType()), largest));
}

Tensor rank_of(const Tensor& input, const Tolerances& t, bool hermitian) {
  const Tensor values = hermitian ? at::abs(at::linalg_eigvalsh(input)) : at::linalg_svdvals(input);
  const Tensor largest = at::amax(values, IntArrayRef{-1}, true);
  return at::sum(at::gt(values, limit_of(t, largest)), IntArrayRef{-1});
}

// Checks an argument of matrix_rank; nothing where there is a matrix with elements, else the ranks.
std::optional<Tensor> rank_of_nothing(const Tensor& input) {
  check_matrix(input, "torch.linalg.matrix_rank", "input");
  const ScalarType type = toRealValueType(input.scalar_type());
  TORCH_CHECK(type == kFloat || type == kDouble, "This function doesn't handle types other than float and double");
  if (input.numel() != 0) return std::nullopt;
  return at::zeros(batch_of(input.sizes()), input.options().dtype(kLong));
}

}  // namespace

Tensor linalg_matrix_rank_tensors(const Tensor& input, const std::optional<Tensor>& atol,
                                  const std::optional<Tensor>& rtol, bool hermitian) {
  if (const std::optional<Tensor> none = rank_of_nothing(input)) return *none;
  return rank_of(input, tolerances(input, atol, rtol, "torch.linalg.matrix_rank"), hermitian);
}

Tensor linalg_matrix_rank_floats(const Tensor& self, std::optional<double> atol, std::optional<double> rtol,
                                 bool hermitian) {
  if (const std::optional<Tensor> none = rank_of_nothing(self)) return *none;
  return rank_of(self, tolerances(self, atol, rtol), hermitian);
}

Tensor linalg_matrix_rank(const Tensor& self, double tol, bool hermitian) {
  return at::linalg_matrix_rank(self, std::optional<double>(tol), std::optional<double>(0), hermitian);
}

Tensor linalg_matrix_rank_tol(const Tensor& input, const Tensor& tol, bool hermitian) {
  return at::linalg_matrix_rank(input, std::optional<Tensor>(tol),
                                std::optional<Tensor>(at::zeros({}, input.options().dtype(kDouble))), hermitian);
}

namespace {

Tensor pinv_of(const Tensor& A, const Tolerances& t, bool hermitian) {
  if (A.numel() == 0) return at::empty(with(batch_of(A.sizes()), {A.size(-1), A.size(-2)}), A.options());
  if (hermitian) {
    const auto [values, vectors] = at::linalg_eigh(A);
    const Tensor sizes = at::abs(values), limit = limit_of(t, at::amax(sizes, IntArrayRef{-1}, true));
    const Tensor inverse = at::where(at::gt(sizes, limit), at::reciprocal(values), at::zeros({}, values.options()));
    return at::matmul(at::mul(vectors, at::unsqueeze(inverse, -2)), at::adjoint(vectors));
  }
  const auto [U, S, Vh] = at::linalg_svd(A, false);
  const Tensor limit = limit_of(t, at::narrow(S, -1, 0, 1));
  const Tensor inverse = at::where(at::gt(S, limit), at::reciprocal(S), at::zeros({}, S.options()));
  return at::matmul(at::mul(at::adjoint(Vh), at::unsqueeze(inverse, -2)), at::adjoint(U));
}

void check_pinv(const Tensor& A) {
  const ScalarType type = toRealValueType(A.scalar_type());
  TORCH_CHECK(A.dim() >= 2 && (type == kFloat || type == kDouble), "linalg.pinv(", A.scalar_type(), "{", A.sizes(),
              "}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types");
}

}  // namespace

Tensor linalg_pinv_tensors(const Tensor& self, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol,
                           bool hermitian) {
  check_pinv(self);
  return pinv_of(self, tolerances(self, atol, rtol, "torch.linalg.pinv"), hermitian);
}

Tensor linalg_pinv_floats(const Tensor& self, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  check_pinv(self);
  Tolerances both = tolerances(self, atol, rtol);
  return at::linalg_pinv(self, std::optional<Tensor>(both.atol), std::optional<Tensor>(both.rtol), hermitian);
}

Tensor linalg_pinv(const Tensor& self, double rcond, bool hermitian) {
  return at::linalg_pinv(self, std::optional<double>(0), std::optional<double>(rcond), hermitian);
}

Tensor linalg_pinv_rcond(const Tensor& self, const Tensor& rcond, bool hermitian) {
  check_pinv(self);
  return at::linalg_pinv(self, std::optional<Tensor>(at::zeros({}, self.options().dtype(kDouble))),
                         std::optional<Tensor>(rcond), hermitian);
}

Tensor pinverse(const Tensor& self, double rcond) {
  return at::linalg_pinv(self, rcond, false);
}

// Throws where a function of that name found that one of its matrices cannot be worked with; `info` has a number for
// each.
void linalg_check_errors(const Tensor& info, std::string_view api_name, bool is_matrix) {
  TORCH_CHECK(info.scalar_type() == kInt, "_linalg_check_errors: expected info of dtype Int, but got ",
              info.scalar_type());
  static constexpr std::pair<std::string_view, Failure> kFailures[] = {
      {"inv", Failure::kInverse}, {"cholesky", Failure::kCholesky}, {"svd", Failure::kSvd},
      {"eig", Failure::kEigen},   {"lu_factor", Failure::kLu},      {"ldl", Failure::kLdl},
      {"solve", Failure::kSolve}};
  for (const auto& [part, failure] : kFailures) {
    if (api_name.find(part) == std::string_view::npos) continue;
    check_info(is_matrix ? at::reshape(info, {}) : info, std::string(api_name).c_str(), failure);
    return;
  }
  TORCH_CHECK(!at::item(at::any(at::ne(info, Scalar(0)))).toBool(), api_name, ": a matrix could not be worked with");
}

// The gradient of matrix_exp(self) for that of its result.
Tensor matrix_exp_backward(const Tensor& self, const Tensor& grad) {
  const int64_t n = self.size(-1);
  const Tensor a = at::adjoint(self);
  const Tensor rows = at::cat({at::cat({a, grad}, -1), at::cat({at::zeros_like(a), a}, -1)}, -2);
  return at::narrow(at::narrow(at::linalg_matrix_exp(rows), -2, 0, n), -1, n, n);
}

}  // namespace at::native
