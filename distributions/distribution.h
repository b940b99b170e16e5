// torch::distributions: what every distribution does.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "c10/util/exception.h"
#include "distributions/constraint.h"
#include "distributions/tensor_or_number.h"

namespace torch::distributions {

class Distribution;

/// A class of distributions, for what is chosen by classes (kl_divergence). `base` is what it is a special case of.
struct Kind {
  const char* name;
  const Kind* base;

  bool is(const Kind& other) const {
    for (const Kind* kind = this; kind; kind = kind->base) {
      if (kind == &other) return true;
    }
    return false;
  }
};

/// A parameter as a distribution holds it.
struct ParameterInfo {
  const char* name;
  Constraint constraint;
  /// Undefined where it follows from another parameter and nobody has asked for it yet. Such a parameter is not
  /// checked.
  Tensor value;
  /// Whether the text of the distribution shows it.
  bool is_shown = true;
};

/// What a distribution is made of: one class a distribution, with its parameters as members. Distributions of your own
/// derive from it and are handed around as `Distribution(std::make_shared<MyImpl>(...))`.
///
/// A result has sizes `batch_shape` (as many independent distributions as there are sets of parameters), a sample
/// sizes `sample_shape + batch_shape + event_shape`. What a distribution does not have throws NotImplementedError.
class DistributionImpl {
 public:
  DistributionImpl(std::vector<int64_t> batch_shape, std::vector<int64_t> event_shape)
      : batch_shape_(std::move(batch_shape)), event_shape_(std::move(event_shape)) {}
  virtual ~DistributionImpl() = default;
  DistributionImpl(const DistributionImpl&) = delete;
  DistributionImpl& operator=(const DistributionImpl&) = delete;

  static constexpr Kind kKind{"Distribution", nullptr};
  virtual const Kind& kind() const = 0;

  const std::vector<int64_t>& batch_shape() const { return batch_shape_; }
  const std::vector<int64_t>& event_shape() const { return event_shape_; }
  virtual std::vector<ParameterInfo> parameters() const = 0;
  virtual Constraint support() const = 0;
  virtual bool has_rsample() const { return false; }
  virtual bool has_enumerate_support() const { return false; }

  virtual Tensor mean() const;
  virtual Tensor mode() const;
  virtual Tensor variance() const;
  virtual Tensor stddev() const;
  virtual Tensor sample(IntArrayRef sample_shape) const;
  virtual Tensor rsample(IntArrayRef sample_shape) const;
  virtual Tensor log_prob(const Tensor& value) const;
  virtual Tensor cdf(const Tensor& value) const;
  virtual Tensor icdf(const Tensor& value) const;
  virtual Tensor enumerate_support(bool expand) const;
  virtual Tensor entropy() const;
  virtual Tensor perplexity() const;
  virtual std::string repr() const;

  bool validates_args() const { return validate_args_; }
  /// Throws ValueError for a parameter outside its constraint. Nothing where arguments are not validated.
  void check_parameters() const;
  /// Throws ValueError for a value whose sizes do not fit or that is outside the support. Nothing where arguments are
  /// not validated.
  void check_value(const Tensor& value) const;
  /// The same distribution with parameters of this batch shape; `Distribution::expand`.
  Distribution expand(IntArrayRef batch_shape) const;

  void set_validate_args(bool validate) { validate_args_ = validate; }

 protected:
  /// A distribution of parameters expanded to `batch_shape`, not validated again.
  virtual std::shared_ptr<DistributionImpl> expanded(IntArrayRef batch_shape) const;
  std::vector<int64_t> extended_shape(IntArrayRef sample_shape) const;
  [[noreturn]] void not_implemented(const char* what) const;

 private:
  const std::vector<int64_t> batch_shape_, event_shape_;
  bool validate_args_ = true;
};

/// One of the family p(x; t) = exp(<t, T(x)> - F(t) + k(x)), of which natural parameters t and log-normalizer F are
/// known. The divergence of two of a class follows from F and its gradient (Nielsen and Nock 2010): kl_divergence needs
/// no rule.
class ExponentialFamilyImpl : public DistributionImpl {
 public:
  using DistributionImpl::DistributionImpl;
  static constexpr Kind kKind{"ExponentialFamily", &DistributionImpl::kKind};

  virtual std::vector<Tensor> natural_params() const;
  virtual Tensor log_normalizer(const std::vector<Tensor>& natural_params) const;
  /// The mean of k(x).
  virtual double mean_carrier_measure() const;
  /// F(t) - <t, grad F(t)> - E[k(x)]: the entropy of a class that knows no simpler formula, for its entropy() to
  /// return.
  Tensor entropy_by_normalizer() const;
};

/// A distribution: a handle, copies share what cannot change. Sampled and computed with any device and floating dtype.
///
///     Normal normal(torch::zeros({3}), 1.0);           // three of them
///     torch::Tensor x = normal.sample({100});          // [100, 3], no gradient
///     torch::Tensor y = normal.rsample();              // [3], differentiable in loc and scale
///     torch::Tensor p = normal.log_prob(y);            // [3]
///     normal->scale;                                   // the members of a distribution are its parameters
///
/// Arguments are validated when a distribution is made and in log_prob and cdf, by ValueErrors that name parameter and
/// constraint; the last argument of every constructor, or set_default_validate_args, switches that off. Semantics and
/// random numbers are those of PyTorch's torch.distributions.
class Distribution {
 public:
  Distribution() = default;
  Distribution(std::shared_ptr<const DistributionImpl> impl) : impl_(std::move(impl)) {}

  /// How many independent distributions there are, and the sizes of one event.
  const std::vector<int64_t>& batch_shape() const { return impl().batch_shape(); }
  const std::vector<int64_t>& event_shape() const { return impl().event_shape(); }
  /// The parameters with their constraints, and where samples lie.
  std::vector<ParameterInfo> arg_constraints() const { return impl().parameters(); }
  Constraint support() const { return impl().support(); }
  /// Whether samples have gradients, and whether all values can be listed.
  bool has_rsample() const { return impl().has_rsample(); }
  bool has_enumerate_support() const { return impl().has_enumerate_support(); }

  /// Of sizes batch_shape + event_shape.
  Tensor mean() const { return impl().mean(); }
  Tensor mode() const { return impl().mode(); }
  Tensor variance() const { return impl().variance(); }
  Tensor stddev() const { return impl().stddev(); }

  /// A sample of sizes sample_shape + batch_shape + event_shape, without gradient.
  Tensor sample(IntArrayRef sample_shape = {}) const { return impl().sample(sample_shape); }
  /// The same with gradients in the parameters: by a transformation of fixed noise, or implicitly (Figurnov et al.
  /// 2018).
  Tensor rsample(IntArrayRef sample_shape = {}) const { return impl().rsample(sample_shape); }
  Tensor sample_n(int64_t n) const { return impl().sample({n}); }

  /// The logarithm of the density or mass at a value that broadcasts to batch_shape + event_shape.
  Tensor log_prob(const Tensor& value) const { return impl().log_prob(value); }
  /// P(X <= value), and its inverse.
  Tensor cdf(const Tensor& value) const { return impl().cdf(value); }
  Tensor icdf(const Tensor& value) const { return impl().icdf(value); }
  /// All values along a first dimension, [values] + batch_shape + event_shape; with `expand` false 1 in place of
  /// batch_shape.
  Tensor enumerate_support(bool expand = true) const { return impl().enumerate_support(expand); }
  /// In nats; exp of that.
  Tensor entropy() const { return impl().entropy(); }
  Tensor perplexity() const { return impl().perplexity(); }

  /// The same distribution of a larger batch shape; no memory is taken for parameters.
  Distribution expand(IntArrayRef batch_shape) const { return impl().expand(batch_shape); }
  /// "Normal(loc: torch.Size([3]), scale: torch.Size([3]))"
  std::string repr() const { return impl().repr(); }

  /// Throws c10::Error where there is none, as all methods do.
  const DistributionImpl& impl() const {
    TORCH_CHECK(impl_ != nullptr, "an empty distribution is used");
    return *impl_;
  }
  const std::shared_ptr<const DistributionImpl>& ptr() const { return impl_; }
  explicit operator bool() const { return impl_ != nullptr; }
  const DistributionImpl* operator->() const { return &impl(); }
  /// Whether it is a D or a special case of one, and as that: `d.as<Normal>()->loc`. Throws TypeError where it is not.
  template <class D>
  bool is() const {
    return impl().kind().is(D::Impl::kKind);
  }
  template <class D>
  D as() const {
    check_kind(D::Impl::kKind);
    D same;
    static_cast<Distribution&>(same) = *this;
    return same;
  }

  /// Whether distributions that are made from now on validate their arguments where their constructor is not told.
  /// True at the start.
  static void set_default_validate_args(bool validate);
  static bool default_validate_args();

 private:
  void check_kind(const Kind& kind) const;

  std::shared_ptr<const DistributionImpl> impl_;
};

std::ostream& operator<<(std::ostream& stream, const Distribution& distribution);

/// The base of the handles: Normal is a Holder<NormalImpl>. Empty when made without arguments.
template <class Impl_>
class Holder : public Distribution {
 public:
  using Impl = Impl_;
  Holder() = default;
  const Impl* operator->() const { return static_cast<const Impl*>(&impl()); }

 protected:
  void hold(std::shared_ptr<const Impl> impl) { static_cast<Distribution&>(*this) = Distribution(std::move(impl)); }
};

using ValidateArgs = std::optional<bool>;

namespace detail {

// Decides whether arguments are validated, and validates.
void finish(DistributionImpl& impl, ValidateArgs validate_args);

template <class Impl, class... Args>
std::shared_ptr<Impl> make(ValidateArgs validate_args, Args&&... args) {
  auto impl = std::make_shared<Impl>(std::forward<Args>(args)...);
  finish(*impl, validate_args);
  return impl;
}

}  // namespace detail
}  // namespace torch::distributions
