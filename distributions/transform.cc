#include "distributions/transform.h"

#include <algorithm>
#include <cmath>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/padding/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/scan/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "distributions/detail.h"
#include "distributions/distribution.h"

namespace torch::distributions {
namespace {

using detail::sum_rightmost;

// --- the inverse of another transform ---

class InverseImpl final : public TransformImpl {
 public:
  explicit InverseImpl(std::shared_ptr<const TransformImpl> of) : of_(std::move(of)) {}
  Constraint domain() const override { return of_->codomain(); }
  Constraint codomain() const override { return of_->domain(); }
  bool is_bijective() const override { return of_->is_bijective(); }
  TensorOrNumber sign() const override { return of_->sign(); }
  Tensor forward(const Tensor& x) const override { return of_->call_inverse(x); }
  Tensor inverse(const Tensor& y) const override { return of_->call(y); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    return -of_->log_abs_det_jacobian(y, x);
  }
  std::vector<int64_t> forward_shape(IntArrayRef shape) const override { return of_->inverse_shape(shape); }
  std::vector<int64_t> inverse_shape(IntArrayRef shape) const override { return of_->forward_shape(shape); }
  std::string name() const override { return "_InverseTransform"; }
  std::string repr() const override { return name() + "(" + of_->repr() + ")"; }
  bool equals(const TransformImpl& other) const override {
    const auto* inverse = dynamic_cast<const InverseImpl*>(&other);
    return inverse && of_->equals(*inverse->of_);
  }
  Transform with_cache(int64_t cache_size) const override { return of_->with_cache(cache_size).inv(); }
  Transform inv() const override { return Transform(of_); }

 private:
  const std::shared_ptr<const TransformImpl> of_;
};

void check_dims(const char* name, IntArrayRef shape, int64_t least) {
  TORCH_CHECK_VALUE(static_cast<int64_t>(shape.size()) >= least, name, ": a value has ", least,
                    " dimensions or more, got sizes ", shape);
}

}  // namespace

TransformImpl::TransformImpl(int64_t cache_size) : cache_size_(cache_size) {
  TORCH_CHECK_VALUE(cache_size == 0 || cache_size == 1, "cache_size is 0 or 1, got ", cache_size);
}

void TransformImpl::not_implemented(const char* what) const {
  TORCH_CHECK_NOT_IMPLEMENTED(false, name(), " has no ", what);
  __builtin_unreachable();
}
TensorOrNumber TransformImpl::sign() const {
  not_implemented("sign");
}
Tensor TransformImpl::inverse(const Tensor&) const {
  not_implemented("inverse");
}
Tensor TransformImpl::log_abs_det_jacobian(const Tensor&, const Tensor&) const {
  not_implemented("log_abs_det_jacobian");
}
Transform TransformImpl::with_cache(int64_t cache_size) const {
  if (cache_size != cache_size_) not_implemented("with_cache");
  return Transform(shared_from_this());
}
Transform TransformImpl::inv() const {
  return Transform(std::make_shared<InverseImpl>(shared_from_this()));
}

Tensor TransformImpl::call(const Tensor& x) const {
  if (cache_size_ == 0) return forward(x);
  std::lock_guard lock(mutex_);
  if (!cached_x_.defined() || !cached_x_.is_same(x)) {
    cached_y_ = forward(x);
    cached_x_ = x;
  }
  return cached_y_;
}
Tensor TransformImpl::call_inverse(const Tensor& y) const {
  if (cache_size_ == 0) return inverse(y);
  std::lock_guard lock(mutex_);
  if (!cached_y_.defined() || !cached_y_.is_same(y)) {
    cached_x_ = inverse(y);
    cached_y_ = y;
  }
  return cached_x_;
}

namespace {

// --- transforms without parameters: one class, and what it does as functions ---

struct Map {
  const char* name;
  Constraint (*domain)();
  Constraint (*codomain)();
  Tensor (*forward)(const Tensor& x);
  Tensor (*inverse)(const Tensor& y);
  Tensor (*log_abs_det_jacobian)(const Tensor& x, const Tensor& y) = nullptr;  // none: not bijective
  int sign = 0;                                                                // none
  std::vector<int64_t> (*forward_shape)(IntArrayRef) = nullptr;                // the sizes are kept
  std::vector<int64_t> (*inverse_shape)(IntArrayRef) = nullptr;
};

class MapImpl final : public TransformImpl {
 public:
  MapImpl(const Map& map, int64_t cache_size) : TransformImpl(cache_size), map_(map) {}
  Constraint domain() const override { return map_.domain(); }
  Constraint codomain() const override { return map_.codomain(); }
  bool is_bijective() const override { return map_.log_abs_det_jacobian != nullptr; }
  TensorOrNumber sign() const override {
    if (map_.sign == 0) not_implemented("sign");
    return map_.sign;
  }
  Tensor forward(const Tensor& x) const override { return map_.forward(x); }
  Tensor inverse(const Tensor& y) const override { return map_.inverse(y); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    if (!map_.log_abs_det_jacobian) not_implemented("log_abs_det_jacobian");
    return map_.log_abs_det_jacobian(x, y);
  }
  std::vector<int64_t> forward_shape(IntArrayRef shape) const override {
    check_dims(map_.name, shape, map_.domain().event_dim());
    return map_.forward_shape ? map_.forward_shape(shape) : shape.vec();
  }
  std::vector<int64_t> inverse_shape(IntArrayRef shape) const override {
    check_dims(map_.name, shape, map_.codomain().event_dim());
    return map_.inverse_shape ? map_.inverse_shape(shape) : shape.vec();
  }
  std::string name() const override { return map_.name; }
  bool equals(const TransformImpl& other) const override {
    const auto* map = dynamic_cast<const MapImpl*>(&other);
    return map && &map->map_ == &map_;
  }
  Transform with_cache(int64_t cache_size) const override {
    return Transform(std::make_shared<MapImpl>(map_, cache_size));
  }

 private:
  const Map& map_;
};

Constraint vectors() {
  return constraints::real_vector();
}
Constraint matrices() {
  return constraints::independent(constraints::real(), 2);
}
Tensor same(const Tensor& x) {
  return x;
}

// sigmoid, away from 0 and 1, where logarithms of densities are infinite.
Tensor clipped_sigmoid(const Tensor& x) {
  return at::clamp(at::sigmoid(x), detail::tiny_of(x), 1 - detail::epsilon_of(x));
}
Tensor logit_of_clipped(const Tensor& y) {
  const Tensor clamped = at::clamp(y, detail::tiny_of(y), 1 - detail::epsilon_of(y));
  return at::log(clamped) - at::log1p(-clamped);
}

const Map kAbs{"AbsTransform", constraints::real, constraints::positive, at::abs, same};
const Map kExp{"ExpTransform",
               constraints::real,
               constraints::positive,
               at::exp,
               at::log,
               [](const Tensor& x, const Tensor&) { return x; },
               1};
const Map kSigmoid{"SigmoidTransform",
                   constraints::real,
                   constraints::unit_interval,
                   clipped_sigmoid,
                   logit_of_clipped,
                   [](const Tensor& x, const Tensor&) { return -at::softplus(-x) - at::softplus(x); },
                   1};
const Map kSoftplus{"SoftplusTransform",
                    constraints::real,
                    constraints::positive,
                    [](const Tensor& x) { return at::softplus(x); },
                    [](const Tensor& y) { return at::log(-at::expm1(-y)) + y; },
                    [](const Tensor& x, const Tensor&) { return -at::softplus(-x); },
                    1};
const Map kTanh{"TanhTransform", constraints::real, [] { return constraints::interval(-1.0, 1.0); }, at::tanh,
                at::atanh,
                // log(1 - tanh(x)^2) without cancellation
                [](const Tensor& x, const Tensor&) { return 2.0 * (std::log(2.0) - x - at::softplus(-2.0 * x)); }, 1};
const Map kSoftmax{"SoftmaxTransform", vectors, constraints::simplex,
                   [](const Tensor& x) { return at::softmax(x, -1); }, at::log};

// log of how many follow each but the last of n + 1.
Tensor log_following(const Tensor& like, int64_t n) {
  return at::log(at::arange(n, 0, -1, like.options()));
}

Tensor stick_breaking(const Tensor& x) {
  const Tensor z = clipped_sigmoid(x - log_following(x, x.size(-1)));
  const Tensor left = at::cumprod(1 - z, -1);
  return at::constant_pad_nd(z, {0, 1}, 1) * at::constant_pad_nd(left, {1, 0}, 1);
}
Tensor stick_breaking_inverse(const Tensor& y) {
  const Tensor first = at::narrow(y, -1, 0, y.size(-1) - 1);
  // Rounding may leave a little less than nothing.
  const Tensor left = at::clamp(1 - at::cumsum(first, -1), detail::tiny_of(y));
  return at::log(first) - at::log(left) + log_following(y, y.size(-1) - 1);
}
Tensor stick_breaking_determinant(const Tensor& x, const Tensor& y) {
  const Tensor shifted = x - log_following(x, x.size(-1));
  return at::sum(-shifted + at::log_sigmoid(shifted) + at::log(at::narrow(y, -1, 0, y.size(-1) - 1)), {-1});
}
std::vector<int64_t> with_last(IntArrayRef shape, int64_t more) {
  std::vector<int64_t> other = shape.vec();
  other.back() += more;
  return other;
}
const Map kStickBreaking{"StickBreakingTransform",
                         vectors,
                         constraints::simplex,
                         stick_breaking,
                         stick_breaking_inverse,
                         stick_breaking_determinant,
                         0,
                         [](IntArrayRef shape) { return with_last(shape, 1); },
                         [](IntArrayRef shape) { return with_last(shape, -1); }};

// --- matrices ---

Tensor lower_cholesky(const Tensor& x) {
  return at::tril(x, -1) + at::diag_embed(at::exp(at::diagonal(x, 0, -2, -1)));
}
Tensor lower_cholesky_inverse(const Tensor& y) {
  return at::tril(y, -1) + at::diag_embed(at::log(at::diagonal(y, 0, -2, -1)));
}
const Map kLowerCholesky{"LowerCholeskyTransform", matrices, constraints::lower_cholesky, lower_cholesky,
                         lower_cholesky_inverse};
const Map kPositiveDefinite{"PositiveDefiniteTransform", matrices, constraints::positive_definite,
                            [](const Tensor& x) {
                              const Tensor factor = lower_cholesky(x);
                              return at::matmul(factor, factor.mT());
                            },
                            [](const Tensor& y) { return lower_cholesky_inverse(at::linalg_cholesky(y)); }};

// Where the elements up to a diagonal stand in a flattened D x D matrix, row by row.
Tensor lower_places(int64_t d, int64_t diagonal, const Tensor& like) {
  const Tensor places = at::tril_indices(d, d, diagonal, like.options().dtype(at::kLong));
  return at::select(places, 0, 0) * d + at::select(places, 0, 1);
}
Tensor lower_elements(const Tensor& matrix, int64_t diagonal) {
  return at::index_select(at::flatten(matrix, -2), -1, lower_places(matrix.size(-1), diagonal, matrix));
}
// D of D (D - 1) / 2 numbers.
int64_t correlated(int64_t n) {
  const int64_t d = static_cast<int64_t>(std::llround((1 + std::sqrt(1 + 8.0 * static_cast<double>(n))) / 2));
  TORCH_CHECK_VALUE(d * (d - 1) / 2 == n, "CorrCholeskyTransform: a vector has D (D - 1) / 2 numbers for some D, got ",
                    n);
  return d;
}

Tensor corr_cholesky(const Tensor& x) {
  const double most = 1 - detail::epsilon_of(x);
  const int64_t d = correlated(x.size(-1));
  const Tensor partial = at::clamp(at::tanh(x), -most, most);
  std::vector<int64_t> sizes = x.sizes().slice(0, x.dim() - 1).vec();
  const Tensor places = at::expand(lower_places(d, -1, x), x.sizes());
  sizes.push_back(d * d);
  const Tensor flat = at::scatter(at::zeros(sizes, x.options()), -1, places, partial);
  sizes.back() = d;
  sizes.push_back(d);
  const Tensor r = at::reshape(flat, sizes);
  const Tensor left = at::cumprod(at::sqrt(1 - r * r), -1);
  return (r + at::eye(d, x.options())) * at::constant_pad_nd(at::narrow(left, -1, 0, d - 1), {1, 0}, 1);
}
Tensor corr_cholesky_inverse(const Tensor& y) {
  const int64_t d = y.size(-1);
  const Tensor left = 1 - at::cumsum(y * y, -1);
  const Tensor before = at::constant_pad_nd(at::narrow(left, -1, 0, d - 1), {1, 0}, 1);
  const Tensor t = lower_elements(y, -1) / at::sqrt(lower_elements(before, -1));
  return (at::log1p(t) - at::log1p(-t)) / 2;
}
Tensor corr_cholesky_determinant(const Tensor& x, const Tensor& y) {
  // Of the sticks, which a row's squares break, and of tanh.
  const Tensor left = lower_elements(1 - at::cumsum(y * y, -1), -2);
  const Tensor of_tanh = x + at::softplus(-2.0 * x) - std::log(2.0);
  return 0.5 * at::sum(at::log(left), {-1}) - 2.0 * at::sum(of_tanh, {-1});
}
const Map kCorrCholesky{"CorrCholeskyTransform",
                        vectors,
                        constraints::corr_cholesky,
                        corr_cholesky,
                        corr_cholesky_inverse,
                        corr_cholesky_determinant,
                        0,
                        [](IntArrayRef shape) {
                          std::vector<int64_t> other = shape.vec();
                          const int64_t d = correlated(other.back());
                          other.back() = d;
                          other.push_back(d);
                          return other;
                        },
                        [](IntArrayRef shape) {
                          const int64_t d = shape.back();
                          TORCH_CHECK_VALUE(shape[shape.size() - 2] == d,
                                            "CorrCholeskyTransform: a matrix is square, got sizes ", shape);
                          std::vector<int64_t> other = shape.slice(0, shape.size() - 1).vec();
                          other.back() = d * (d - 1) / 2;
                          return other;
                        }};

Transform map(const Map& map, int64_t cache_size) {
  return Transform(std::make_shared<MapImpl>(map, cache_size));
}

// --- transforms with parameters ---

bool same_value(const TensorOrNumber& a, const TensorOrNumber& b) {
  if (a.is_number() && b.is_number()) return a.number().toDouble() == b.number().toDouble();
  if (a.is_number()) return at::all(at::eq(b.tensor(), a.number())).item<bool>();
  if (b.is_number()) return at::all(at::eq(a.tensor(), b.number())).item<bool>();
  return at::all(at::eq(a.tensor(), b.tensor())).item<bool>();
}
Tensor times(const Tensor& x, const TensorOrNumber& y) {
  return y.is_number() ? at::mul(x, y.number()) : at::mul(x, y.tensor());
}
Tensor plus(const Tensor& x, const TensorOrNumber& y) {
  return y.is_number() ? at::add(x, y.number()) : at::add(x, y.tensor());
}
std::vector<int64_t> broadcast_with(IntArrayRef shape, const TensorOrNumber& parameter) {
  if (!parameter.is_tensor()) return shape.vec();
  std::vector<int64_t> longer = shape.vec(), shorter = parameter.tensor().sizes().vec();
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  for (size_t i = 1; i <= shorter.size(); ++i) {
    int64_t& size = longer[longer.size() - i];
    const int64_t other = shorter[shorter.size() - i];
    TORCH_CHECK(size == other || size == 1 || other == 1, "sizes ", shape, " do not broadcast with a parameter of ",
                parameter.tensor().sizes());
    if (size == 1) size = other;
  }
  return longer;
}

class AffineImpl final : public TransformImpl {
 public:
  AffineImpl(TensorOrNumber loc, TensorOrNumber scale, int64_t event_dim, int64_t cache_size)
      : TransformImpl(cache_size), loc_(std::move(loc)), scale_(std::move(scale)), event_dim_(event_dim) {}
  Constraint domain() const override {
    return event_dim_ == 0 ? constraints::real() : constraints::independent(constraints::real(), event_dim_);
  }
  Constraint codomain() const override { return domain(); }
  bool is_bijective() const override { return true; }
  TensorOrNumber sign() const override {
    if (scale_.is_tensor()) return at::sign(scale_.tensor());
    const double scale = scale_.number().toDouble();
    return scale > 0 ? 1 : scale < 0 ? -1 : 0;
  }
  Tensor forward(const Tensor& x) const override { return plus(times(x, scale_), loc_); }
  Tensor inverse(const Tensor& y) const override {
    const Tensor moved = loc_.is_number() ? at::sub(y, loc_.number()) : at::sub(y, loc_.tensor());
    return scale_.is_number() ? at::div(moved, scale_.number()) : at::div(moved, scale_.tensor());
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override {
    const Tensor each = scale_.is_number()
                            ? detail::full_of(x, std::log(std::abs(scale_.number().toDouble())))
                            : at::expand(at::log(at::abs(scale_.tensor())), broadcast_with(x.sizes(), scale_));
    return sum_rightmost(each, event_dim_);
  }
  std::vector<int64_t> forward_shape(IntArrayRef shape) const override {
    return broadcast_with(broadcast_with(shape, loc_), scale_);
  }
  std::vector<int64_t> inverse_shape(IntArrayRef shape) const override { return forward_shape(shape); }
  std::string name() const override { return "AffineTransform"; }
  bool equals(const TransformImpl& other) const override {
    const auto* affine = dynamic_cast<const AffineImpl*>(&other);
    return affine && same_value(loc_, affine->loc_) && same_value(scale_, affine->scale_);
  }
  Transform with_cache(int64_t cache_size) const override {
    return AffineTransform(loc_, scale_, event_dim_, cache_size);
  }

 private:
  const TensorOrNumber loc_, scale_;
  const int64_t event_dim_;
};

class PowerImpl final : public TransformImpl {
 public:
  PowerImpl(TensorOrNumber exponent, int64_t cache_size) : TransformImpl(cache_size), exponent_(std::move(exponent)) {}
  Constraint domain() const override { return constraints::positive(); }
  Constraint codomain() const override { return constraints::positive(); }
  bool is_bijective() const override { return true; }
  TensorOrNumber sign() const override {
    if (exponent_.is_tensor()) return at::sign(exponent_.tensor());
    const double exponent = exponent_.number().toDouble();
    return exponent > 0 ? 1 : exponent < 0 ? -1 : 0;
  }
  Tensor forward(const Tensor& x) const override {
    return exponent_.is_number() ? at::pow(x, exponent_.number()) : at::pow(x, exponent_.tensor());
  }
  Tensor inverse(const Tensor& y) const override {
    return exponent_.is_number() ? at::pow(y, 1 / exponent_.number().toDouble()) : at::pow(y, 1 / exponent_.tensor());
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    return at::log(at::abs(times(y, exponent_) / x));
  }
  std::vector<int64_t> forward_shape(IntArrayRef shape) const override { return broadcast_with(shape, exponent_); }
  std::vector<int64_t> inverse_shape(IntArrayRef shape) const override { return forward_shape(shape); }
  std::string name() const override { return "PowerTransform"; }
  bool equals(const TransformImpl& other) const override {
    const auto* power = dynamic_cast<const PowerImpl*>(&other);
    return power && same_value(exponent_, power->exponent_);
  }
  Transform with_cache(int64_t cache_size) const override { return PowerTransform(exponent_, cache_size); }

 private:
  const TensorOrNumber exponent_;
};

class CumulativeDistributionImpl final : public TransformImpl {
 public:
  CumulativeDistributionImpl(Distribution distribution, int64_t cache_size)
      : TransformImpl(cache_size), distribution_(std::move(distribution)) {}
  Constraint domain() const override { return distribution_.support(); }
  Constraint codomain() const override { return constraints::unit_interval(); }
  bool is_bijective() const override { return true; }
  TensorOrNumber sign() const override { return 1; }
  Tensor forward(const Tensor& x) const override { return distribution_.cdf(x); }
  Tensor inverse(const Tensor& y) const override { return distribution_.icdf(y); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return distribution_.log_prob(x); }
  std::string name() const override { return "CumulativeDistributionTransform"; }
  Transform with_cache(int64_t cache_size) const override {
    return CumulativeDistributionTransform(distribution_, cache_size);
  }

 private:
  const Distribution distribution_;
};

class ReshapeImpl final : public TransformImpl {
 public:
  ReshapeImpl(std::vector<int64_t> in_shape, std::vector<int64_t> out_shape, int64_t cache_size)
      : TransformImpl(cache_size), in_shape_(std::move(in_shape)), out_shape_(std::move(out_shape)) {
    TORCH_CHECK_VALUE(detail::product(in_shape_) == detail::product(out_shape_), "ReshapeTransform: in_shape ",
                      IntArrayRef(in_shape_), " and out_shape ", IntArrayRef(out_shape_),
                      " have different numbers of elements");
  }
  Constraint domain() const override { return of(in_shape_); }
  Constraint codomain() const override { return of(out_shape_); }
  bool is_bijective() const override { return true; }
  Tensor forward(const Tensor& x) const override { return at::reshape(x, forward_shape(x.sizes())); }
  Tensor inverse(const Tensor& y) const override { return at::reshape(y, inverse_shape(y.sizes())); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override {
    return at::zeros(x.sizes().slice(0, x.dim() - static_cast<int64_t>(in_shape_.size())), x.options());
  }
  std::vector<int64_t> forward_shape(IntArrayRef shape) const override { return changed(shape, in_shape_, out_shape_); }
  std::vector<int64_t> inverse_shape(IntArrayRef shape) const override { return changed(shape, out_shape_, in_shape_); }
  std::string name() const override { return "ReshapeTransform"; }
  bool equals(const TransformImpl& other) const override {
    const auto* reshape = dynamic_cast<const ReshapeImpl*>(&other);
    return reshape && reshape->in_shape_ == in_shape_ && reshape->out_shape_ == out_shape_;
  }
  Transform with_cache(int64_t cache_size) const override {
    return ReshapeTransform(in_shape_, out_shape_, cache_size);
  }

 private:
  static Constraint of(const std::vector<int64_t>& shape) {
    return constraints::independent(constraints::real(), static_cast<int64_t>(shape.size()));
  }
  static std::vector<int64_t> changed(IntArrayRef shape, IntArrayRef from, IntArrayRef to) {
    check_dims("ReshapeTransform", shape, static_cast<int64_t>(from.size()));
    const size_t batch = shape.size() - from.size();
    TORCH_CHECK_VALUE(shape.slice(batch) == from, "ReshapeTransform: the last sizes must be ", from, ", got ", shape);
    return detail::joined(shape.slice(0, batch), to);
  }

  const std::vector<int64_t> in_shape_, out_shape_;
};

// --- transforms of transforms ---

class IndependentTransformImpl final : public TransformImpl {
 public:
  IndependentTransformImpl(Transform base, int64_t ndims, int64_t cache_size)
      : TransformImpl(cache_size), base_(base.with_cache(cache_size)), ndims_(ndims) {}
  Constraint domain() const override { return constraints::independent(base_.domain(), ndims_); }
  Constraint codomain() const override { return constraints::independent(base_.codomain(), ndims_); }
  bool is_bijective() const override { return base_.bijective(); }
  TensorOrNumber sign() const override { return base_.sign(); }
  Tensor forward(const Tensor& x) const override {
    check_dims("IndependentTransform", x.sizes(), domain().event_dim());
    return base_(x);
  }
  Tensor inverse(const Tensor& y) const override {
    check_dims("IndependentTransform", y.sizes(), codomain().event_dim());
    return base_.impl().call_inverse(y);
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    return sum_rightmost(base_.log_abs_det_jacobian(x, y), ndims_);
  }
  std::vector<int64_t> forward_shape(IntArrayRef shape) const override { return base_.forward_shape(shape); }
  std::vector<int64_t> inverse_shape(IntArrayRef shape) const override { return base_.inverse_shape(shape); }
  std::string name() const override { return "IndependentTransform"; }
  std::string repr() const override { return name() + "(" + base_.repr() + ", " + std::to_string(ndims_) + ")"; }
  bool equals(const TransformImpl& other) const override {
    const auto* independent = dynamic_cast<const IndependentTransformImpl*>(&other);
    return independent && independent->ndims_ == ndims_ && independent->base_ == base_;
  }
  Transform with_cache(int64_t cache_size) const override { return IndependentTransform(base_, ndims_, cache_size); }

 private:
  const Transform base_;
  const int64_t ndims_;
};

class ComposeImpl final : public TransformImpl {
 public:
  ComposeImpl(std::vector<Transform> parts, int64_t cache_size) : TransformImpl(cache_size) {
    for (const Transform& part : parts) parts_.push_back(cache_size ? part.with_cache(cache_size) : part);
  }
  Constraint domain() const override {
    if (parts_.empty()) return constraints::real();
    int64_t dims = parts_.back().codomain().event_dim();
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      const int64_t in = part->domain().event_dim();
      dims = std::max(dims + in - part->codomain().event_dim(), in);
    }
    return at_least(parts_.front().domain(), dims);
  }
  Constraint codomain() const override {
    if (parts_.empty()) return constraints::real();
    int64_t dims = parts_.front().domain().event_dim();
    for (const Transform& part : parts_) {
      const int64_t out = part.codomain().event_dim();
      dims = std::max(dims + out - part.domain().event_dim(), out);
    }
    return at_least(parts_.back().codomain(), dims);
  }
  bool is_bijective() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const Transform& part) { return part.bijective(); });
  }
  TensorOrNumber sign() const override {
    TensorOrNumber product = 1;
    for (const Transform& part : parts_) product = detail::product_of(product, part.sign());
    return product;
  }
  Tensor forward(const Tensor& x) const override {
    Tensor y = x;
    for (const Transform& part : parts_) y = part(y);
    return y;
  }
  Tensor inverse(const Tensor& y) const override {
    Tensor x = y;
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) x = part->impl().call_inverse(x);
    return x;
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    if (parts_.empty()) return at::zeros_like(x);
    int64_t dims = domain().event_dim();
    Tensor from = x, sum;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Transform& part = parts_[i];
      const Tensor to = i + 1 < parts_.size() ? part(from) : y;
      const Tensor term = sum_rightmost(part.log_abs_det_jacobian(from, to), dims - part.domain().event_dim());
      sum = i ? sum + term : term;
      dims += part.codomain().event_dim() - part.domain().event_dim();
      from = to;
    }
    return sum;
  }
  std::vector<int64_t> forward_shape(IntArrayRef shape) const override {
    std::vector<int64_t> sizes = shape.vec();
    for (const Transform& part : parts_) sizes = part.forward_shape(sizes);
    return sizes;
  }
  std::vector<int64_t> inverse_shape(IntArrayRef shape) const override {
    std::vector<int64_t> sizes = shape.vec();
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) sizes = part->inverse_shape(sizes);
    return sizes;
  }
  std::string name() const override { return "ComposeTransform"; }
  std::string repr() const override {
    std::string text = name() + "(\n    ";
    for (size_t i = 0; i < parts_.size(); ++i) text += (i ? ",\n    " : "") + parts_[i].repr();
    return text + "\n)";
  }
  bool equals(const TransformImpl& other) const override {
    const auto* compose = dynamic_cast<const ComposeImpl*>(&other);
    return compose && compose->parts_ == parts_;
  }
  Transform with_cache(int64_t cache_size) const override { return ComposeTransform(parts_, cache_size); }
  Transform inv() const override {
    std::vector<Transform> inverses;
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) inverses.push_back(part->inv());
    return ComposeTransform(std::move(inverses));
  }

 private:
  static Constraint at_least(const Constraint& constraint, int64_t dims) {
    const int64_t more = dims - constraint.event_dim();
    return more > 0 ? constraints::independent(constraint, more) : constraint;
  }

  std::vector<Transform> parts_;
};

class CatImpl final : public TransformImpl {
 public:
  CatImpl(std::vector<Transform> parts, int64_t dim, std::vector<int64_t> lengths, int64_t cache_size)
      : TransformImpl(cache_size), parts_(std::move(parts)), dim_(dim), lengths_(std::move(lengths)) {
    if (lengths_.empty()) lengths_.assign(parts_.size(), 1);
    TORCH_CHECK_VALUE(lengths_.size() == parts_.size(), "CatTransform: ", parts_.size(), " transforms and ",
                      lengths_.size(), " lengths");
  }
  Constraint domain() const override {
    std::vector<Constraint> all;
    for (const Transform& part : parts_) all.push_back(part.domain());
    return constraints::cat(std::move(all), dim_, lengths_);
  }
  Constraint codomain() const override {
    std::vector<Constraint> all;
    for (const Transform& part : parts_) all.push_back(part.codomain());
    return constraints::cat(std::move(all), dim_, lengths_);
  }
  bool is_bijective() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const Transform& part) { return part.bijective(); });
  }
  Tensor forward(const Tensor& x) const override {
    const std::vector<Tensor> from = slices(x);
    std::vector<Tensor> to;
    for (size_t i = 0; i < parts_.size(); ++i) to.push_back(parts_[i](from[i]));
    return at::cat(to, dim_);
  }
  Tensor inverse(const Tensor& y) const override {
    const std::vector<Tensor> from = slices(y);
    std::vector<Tensor> to;
    for (size_t i = 0; i < parts_.size(); ++i) to.push_back(parts_[i].impl().call_inverse(from[i]));
    return at::cat(to, dim_);
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    const std::vector<Tensor> xs = slices(x), ys = slices(y);
    const int64_t dims = domain().event_dim();
    std::vector<Tensor> all;
    for (size_t i = 0; i < parts_.size(); ++i)
      all.push_back(sum_rightmost(parts_[i].log_abs_det_jacobian(xs[i], ys[i]), dims - parts_[i].domain().event_dim()));
    // Where the parts stand in what is left of the sizes; they add up where they belong to one event.
    const int64_t dim = (dim_ >= 0 ? dim_ - x.dim() : dim_) + dims;
    if (dim < 0) return at::cat(all, dim);
    Tensor sum = all[0];
    for (size_t i = 1; i < all.size(); ++i) sum = sum + all[i];
    return sum;
  }
  std::string name() const override { return "CatTransform"; }
  bool equals(const TransformImpl& other) const override {
    const auto* cat = dynamic_cast<const CatImpl*>(&other);
    return cat && cat->parts_ == parts_ && cat->dim_ == dim_ && cat->lengths_ == lengths_;
  }
  Transform with_cache(int64_t cache_size) const override { return CatTransform(parts_, dim_, lengths_, cache_size); }

 private:
  std::vector<Tensor> slices(const Tensor& value) const {
    int64_t length = 0;
    for (int64_t one : lengths_) length += one;
    TORCH_CHECK_VALUE(-value.dim() <= dim_ && dim_ < value.dim() && value.size(dim_) == length,
                      "CatTransform: dimension ", dim_, " of a value must have ", length, " elements, got sizes ",
                      value.sizes());
    return at::split_with_sizes(value, lengths_, dim_);
  }

  const std::vector<Transform> parts_;
  const int64_t dim_;
  std::vector<int64_t> lengths_;
};

class StackImpl final : public TransformImpl {
 public:
  StackImpl(std::vector<Transform> parts, int64_t dim, int64_t cache_size)
      : TransformImpl(cache_size), parts_(std::move(parts)), dim_(dim) {}
  Constraint domain() const override {
    std::vector<Constraint> all;
    for (const Transform& part : parts_) all.push_back(part.domain());
    return constraints::stack(std::move(all), dim_);
  }
  Constraint codomain() const override {
    std::vector<Constraint> all;
    for (const Transform& part : parts_) all.push_back(part.codomain());
    return constraints::stack(std::move(all), dim_);
  }
  bool is_bijective() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const Transform& part) { return part.bijective(); });
  }
  Tensor forward(const Tensor& x) const override {
    const std::vector<Tensor> from = slices(x);
    std::vector<Tensor> to;
    for (size_t i = 0; i < parts_.size(); ++i) to.push_back(parts_[i](from[i]));
    return at::stack(to, dim_);
  }
  Tensor inverse(const Tensor& y) const override {
    const std::vector<Tensor> from = slices(y);
    std::vector<Tensor> to;
    for (size_t i = 0; i < parts_.size(); ++i) to.push_back(parts_[i].impl().call_inverse(from[i]));
    return at::stack(to, dim_);
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    const std::vector<Tensor> xs = slices(x), ys = slices(y);
    std::vector<Tensor> all;
    for (size_t i = 0; i < parts_.size(); ++i) all.push_back(parts_[i].log_abs_det_jacobian(xs[i], ys[i]));
    return at::stack(all, dim_);
  }
  std::string name() const override { return "StackTransform"; }
  bool equals(const TransformImpl& other) const override {
    const auto* stack = dynamic_cast<const StackImpl*>(&other);
    return stack && stack->parts_ == parts_ && stack->dim_ == dim_;
  }
  Transform with_cache(int64_t cache_size) const override { return StackTransform(parts_, dim_, cache_size); }

 private:
  std::vector<Tensor> slices(const Tensor& value) const {
    TORCH_CHECK_VALUE(
        -value.dim() <= dim_ && dim_ < value.dim() && value.size(dim_) == static_cast<int64_t>(parts_.size()),
        "StackTransform: dimension ", dim_, " of a value must have ", parts_.size(), " elements, got sizes ",
        value.sizes());
    return at::unbind(value, dim_);
  }

  const std::vector<Transform> parts_;
  const int64_t dim_;
};

}  // namespace

AbsTransform::AbsTransform(int64_t cache_size) : Transform(map(kAbs, cache_size)) {}
ExpTransform::ExpTransform(int64_t cache_size) : Transform(map(kExp, cache_size)) {}
SigmoidTransform::SigmoidTransform(int64_t cache_size) : Transform(map(kSigmoid, cache_size)) {}
SoftplusTransform::SoftplusTransform(int64_t cache_size) : Transform(map(kSoftplus, cache_size)) {}
TanhTransform::TanhTransform(int64_t cache_size) : Transform(map(kTanh, cache_size)) {}
SoftmaxTransform::SoftmaxTransform(int64_t cache_size) : Transform(map(kSoftmax, cache_size)) {}
StickBreakingTransform::StickBreakingTransform(int64_t cache_size) : Transform(map(kStickBreaking, cache_size)) {}
CorrCholeskyTransform::CorrCholeskyTransform(int64_t cache_size) : Transform(map(kCorrCholesky, cache_size)) {}
LowerCholeskyTransform::LowerCholeskyTransform(int64_t cache_size) : Transform(map(kLowerCholesky, cache_size)) {}
PositiveDefiniteTransform::PositiveDefiniteTransform(int64_t cache_size)
    : Transform(map(kPositiveDefinite, cache_size)) {}
AffineTransform::AffineTransform(const TensorOrNumber& loc, const TensorOrNumber& scale, int64_t event_dim,
                                 int64_t cache_size)
    : Transform(std::make_shared<AffineImpl>(loc, scale, event_dim, cache_size)) {}
PowerTransform::PowerTransform(const TensorOrNumber& exponent, int64_t cache_size)
    : Transform(std::make_shared<PowerImpl>(exponent, cache_size)) {}
CumulativeDistributionTransform::CumulativeDistributionTransform(const Distribution& distribution, int64_t cache_size)
    : Transform(std::make_shared<CumulativeDistributionImpl>(distribution, cache_size)) {}
ReshapeTransform::ReshapeTransform(IntArrayRef in_shape, IntArrayRef out_shape, int64_t cache_size)
    : Transform(std::make_shared<ReshapeImpl>(in_shape.vec(), out_shape.vec(), cache_size)) {}
IndependentTransform::IndependentTransform(const Transform& base_transform, int64_t reinterpreted_batch_ndims,
                                           int64_t cache_size)
    : Transform(std::make_shared<IndependentTransformImpl>(base_transform, reinterpreted_batch_ndims, cache_size)) {}
ComposeTransform::ComposeTransform(std::vector<Transform> parts, int64_t cache_size)
    : Transform(std::make_shared<ComposeImpl>(std::move(parts), cache_size)) {}
CatTransform::CatTransform(std::vector<Transform> tseq, int64_t dim, std::vector<int64_t> lengths, int64_t cache_size)
    : Transform(std::make_shared<CatImpl>(std::move(tseq), dim, std::move(lengths), cache_size)) {}
StackTransform::StackTransform(std::vector<Transform> tseq, int64_t dim, int64_t cache_size)
    : Transform(std::make_shared<StackImpl>(std::move(tseq), dim, cache_size)) {}

Transform identity_transform() {
  return ComposeTransform({});
}

}  // namespace torch::distributions
