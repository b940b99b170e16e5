// Fused optimizer steps against the same steps composed of operators on lists, and the scaling of gradients. Numbers of
// PyTorch: //tests/conformance, //optim:optimizer_test.
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/foreach/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/core/grad_mode.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace at::native {

// The compositions, which other devices than the CPU take.
void _fused_adam_composed(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                          TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                          double weight_decay, double eps, bool amsgrad, bool maximize,
                          const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf);
void _fused_adamw_composed(TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,
                           TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1, double beta2,
                           double weight_decay, double eps, bool amsgrad, bool maximize,
                           const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf);
void _fused_sgd_composed(TensorList self, TensorList grads, TensorList momentum_buffer_list, double weight_decay,
                         double momentum, double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                         const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf);
void _fused_adagrad_composed(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                             double lr, double lr_decay, double weight_decay, double eps, bool maximize,
                             const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf);
void _fused_rmsprop_composed(TensorList self, TensorList grads, TensorList square_avgs, TensorList grad_avgs,
                             TensorList momentum_buffer_list, double lr, double alpha, double eps, double weight_decay,
                             double momentum, bool centered, bool maximize, const std::optional<Tensor>& grad_scale,
                             const std::optional<Tensor>& found_inf);
void _amp_foreach_non_finite_check_and_unscale_composed(TensorList self, Tensor& found_inf, const Tensor& inv_scale);

}  // namespace at::native

namespace {

using at::ScalarType;
using at::Tensor;
using Tensors = std::vector<Tensor>;

Tensor number(double value, ScalarType dtype = ScalarType::Float) {
  Tensor t = at::testing::blank({}, dtype);
  return at::fill_(t, value);
}

enum class Layout { kContiguous, kTransposed, kStrided };

Tensors list_of(ScalarType dtype, Layout layout, double salt, bool positive = false) {
  Tensors list;
  // Several threads' shares on the CPU; more than a block's threads on CUDA, whose kernels tests run on the host.
  const int64_t rows = at::testing::device().is_cuda() ? 2 : 130;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{3, 5}, {}, {0, 4}, {rows, 300}, {7}}) {
    const bool complex = at::isComplexType(dtype);
    std::vector<int64_t> real_sizes = sizes;
    if (complex) real_sizes.push_back(2);
    std::vector<double> numbers(static_cast<size_t>(c10::checked_numel(real_sizes)));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = std::sin(salt + 0.7 * static_cast<double>(i)) + (positive ? 1.5 : 0);
    const Tensor wide = at::testing::tensor_of(numbers, real_sizes, ScalarType::Double);
    Tensor t = at::to(complex ? at::view_as_complex(wide) : wide, dtype);
    if (t.dim() == 2 && layout == Layout::kTransposed) t = at::t(at::contiguous(at::t(t)));
    if (t.dim() == 2 && layout == Layout::kStrided) {
      const Tensor holes = at::testing::blank({sizes[0], 2 * sizes[1]}, dtype);
      Tensor strided = at::as_strided(holes, sizes, {2 * sizes[1], 2});
      at::copy_(strided, t);
      t = strided;
    }
    list.push_back(t);
  }
  return list;
}

Tensors copies(const Tensors& list) {
  Tensors result;
  for (const Tensor& t : list) result.push_back(at::clone(t));
  return result;
}

std::vector<double> values(const Tensors& list) {
  std::vector<double> all;
  for (const Tensor& t : list) {
    const std::vector<double> numbers = at::testing::values(t.is_complex() ? at::view_as_real(t) : t);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

void expect_close(const Tensors& got, const Tensors& want, double tolerance, const char* what) {
  const std::vector<double> a = values(got), b = values(want);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::fabs(b[i]))) << what << " " << i;
  }
}

struct Lists {
  Tensors params, grads, a, b, c, counts;
};
Lists lists_of(ScalarType dtype, Layout layout, Layout other) {
  Lists lists{list_of(dtype, layout, 1),      list_of(dtype, other, 2),        list_of(dtype, layout, 3),
              list_of(dtype, other, 4, true), list_of(dtype, layout, 5, true), {}};
  for (size_t i = 0; i < lists.params.size(); ++i) lists.counts.push_back(number(static_cast<double>(2 + i / 2)));
  return lists;
}
Lists copies(const Lists& l) {
  return {copies(l.params), copies(l.grads), copies(l.a), copies(l.b), copies(l.c), copies(l.counts)};
}

// Runs both on copies of the same lists and compares every list.
template <class Fused, class Composed>
void compare(const char* name, const Fused& fused, const Composed& composed) {
  for (const auto& [dtype, tolerance] : std::vector<std::pair<ScalarType, double>>{{ScalarType::Float, 1e-5},
                                                                                   {ScalarType::Double, 1e-12},
                                                                                   {ScalarType::ComplexDouble, 1e-12},
                                                                                   {ScalarType::BFloat16, 5e-2}}) {
    for (Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kStrided}) {
      const Lists one = lists_of(dtype, layout, Layout::kContiguous);
      Lists other = copies(one);
      fused(one);
      composed(other);
      expect_close(one.params, other.params, tolerance, name);
      expect_close(one.grads, other.grads, tolerance, name);
      expect_close(one.a, other.a, tolerance, name);
      expect_close(one.b, other.b, tolerance, name);
      expect_close(one.c, other.c, tolerance, name);
    }
  }
}

TEST(FusedSteps, AreTheirCompositions) {
  using L = const Lists&;
  for (const bool flag : {false, true}) {
    const std::optional<Tensor> scale = flag ? std::optional<Tensor>(number(4)) : std::nullopt;
    const double decay = flag ? 0.1 : 0;
    compare(
        "adam",
        [&](L l) {
          at::_fused_adam_(l.params, l.grads, l.a, l.b, l.c, l.counts, 0.1, 0.9, 0.99, decay, 1e-3, flag, flag, scale);
        },
        [&](L l) {
          at::native::_fused_adam_composed(l.params, l.grads, l.a, l.b, l.c, l.counts, 0.1, 0.9, 0.99, decay, 1e-3,
                                           flag, flag, scale, std::nullopt);
        });
    compare(
        "adamw, lr a tensor",
        [&](L l) {
          at::_fused_adamw_(l.params, l.grads, l.a, l.b, l.c, l.counts, number(0.1, ScalarType::Double), 0.9, 0.99, 0.2,
                            1e-3, flag, flag, scale);
        },
        [&](L l) {
          at::native::_fused_adamw_composed(l.params, l.grads, l.a, l.b, l.c, l.counts, 0.1, 0.9, 0.99, 0.2, 1e-3, flag,
                                            flag, scale, std::nullopt);
        });
    for (const bool first : {false, true}) {
      for (const double momentum : {0.0, 0.9}) {
        const bool nesterov = flag && momentum != 0;
        compare(
            "sgd",
            [&](L l) {
              at::_fused_sgd_(l.params, l.grads, l.a, decay, momentum, 0.1, 0, nesterov, flag, first, scale);
            },
            [&](L l) {
              at::native::_fused_sgd_composed(l.params, l.grads, l.a, decay, momentum, 0.1, 0, nesterov, flag, first,
                                              scale, std::nullopt);
            });
        compare(
            "rmsprop",
            [&](L l) {
              at::_fused_rmsprop_(l.params, l.grads, l.b, l.a, l.c, 0.1, 0.9, 1e-2, decay, momentum, false, flag,
                                  scale);
            },
            [&](L l) {
              at::native::_fused_rmsprop_composed(l.params, l.grads, l.b, l.a, l.c, 0.1, 0.9, 1e-2, decay, momentum,
                                                  false, flag, scale, std::nullopt);
            });
      }
    }
    compare(
        "adagrad",
        [&](L l) { at::_fused_adagrad_(l.params, l.grads, l.b, l.counts, 0.1, 0.2, decay, 1e-3, flag, scale); },
        [&](L l) {
          at::native::_fused_adagrad_composed(l.params, l.grads, l.b, l.counts, 0.1, 0.2, decay, 1e-3, flag, scale,
                                              std::nullopt);
        });
  }
}

TEST(FusedSteps, ScaledGradientsAreLeftUnscaled) {
  const Lists l = lists_of(ScalarType::Double, Layout::kStrided, Layout::kTransposed);
  const std::vector<double> before = values(l.grads);
  at::_fused_sgd_(l.params, l.grads, {}, 0, 0, 0.1, 0, false, true, false, number(4));
  const std::vector<double> after = values(l.grads);
  for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ(after[i], before[i] / 4);
}

TEST(FusedSteps, NothingChangesWhereAnInfWasFound) {
  const Lists l = lists_of(ScalarType::Float, Layout::kContiguous, Layout::kContiguous), kept = copies(l);
  at::_fused_adam_(l.params, l.grads, l.a, l.b, {}, l.counts, 0.1, 0.9, 0.99, 0, 1e-3, false, false, number(4),
                   number(1));
  EXPECT_EQ(values(l.params), values(kept.params));
  EXPECT_EQ(values(l.grads), values(kept.grads));
  EXPECT_EQ(values(l.a), values(kept.a));
  at::_fused_adam_(l.params, l.grads, l.a, l.b, {}, l.counts, 0.1, 0.9, 0.99, 0, 1e-3, false, false, number(4),
                   number(0));
  EXPECT_NE(values(l.params), values(kept.params));
}

TEST(FusedSteps, FunctionalAndOutForms) {
  const Lists l = lists_of(ScalarType::Float, Layout::kContiguous, Layout::kContiguous), kept = copies(l),
              in_place = copies(l);
  at::_fused_sgd_(in_place.params, in_place.grads, in_place.a, 0.1, 0.9, 0.1, 0, false, false, false);
  const auto [params, grads, buffers] = at::_fused_sgd(l.params, l.grads, l.a, 0.1, 0.9, 0.1, 0, false, false, false);
  EXPECT_EQ(values(params), values(in_place.params));
  EXPECT_EQ(values(buffers), values(in_place.a));
  EXPECT_EQ(values(l.params), values(kept.params));
  EXPECT_EQ(values(l.a), values(kept.a));
  const Tensors out = copies(l.grads);
  at::_fused_sgd_out(out, l.params, l.grads, l.a, 0.1, 0.9, 0.1, 0, false, false, false);
  EXPECT_EQ(values(out), values(in_place.params));
  EXPECT_EQ(values(l.params), values(kept.params));
}

TEST(FusedSteps, CountTheChange) {
  const Lists l = lists_of(ScalarType::Float, Layout::kContiguous, Layout::kContiguous);
  const int64_t before = l.params[0]._version(), state = l.a[0]._version();
  at::_fused_sgd_(l.params, l.grads, l.a, 0, 0.9, 0.1, 0, false, false, false);
  EXPECT_GT(l.params[0]._version(), before);
  EXPECT_GT(l.a[0]._version(), state);
}

TEST(FusedSteps, RefuseListsThatDoNotFit) {
  const Lists l = lists_of(ScalarType::Float, Layout::kContiguous, Layout::kContiguous), kept = copies(l);
  const auto sgd = [&](const Tensors& params, const Tensors& grads, const Tensors& buffers) {
    at::_fused_sgd_(params, grads, buffers, 0, 0.9, 0.1, 0, false, false, false);
  };
  sgd({}, {}, {});
  EXPECT_THROW(sgd(l.params, {l.grads[0]}, l.a), c10::Error);
  EXPECT_THROW(sgd(l.params, l.grads, {}), c10::Error);
  Tensors bad = l.grads;
  bad[4] = at::to(bad[4], ScalarType::Double);
  EXPECT_THROW(sgd(l.params, bad, l.a), c10::TypeError);
  bad[4] = l.grads[0];
  EXPECT_THROW(sgd(l.params, bad, l.a), c10::Error);
  bad[4] = Tensor();
  EXPECT_THROW(sgd(l.params, bad, l.a), c10::Error);
  const Tensors integers = {at::to(l.params[0], ScalarType::Long)};
  EXPECT_THROW(sgd(integers, integers, integers), c10::TypeError);
  EXPECT_THROW(at::_fused_adagrad_(l.params, l.grads, l.b, {number(1)}, 0.1, 0, 0, 1e-3, false), c10::Error);
  EXPECT_THROW(at::_fused_sgd_(l.params, l.grads, {}, 0, 0, l.params[0], 0, false, false, false), c10::Error);
  EXPECT_EQ(values(l.params), values(kept.params));
}

TEST(FusedSteps, NoGradientIsLost) {
  const Lists l = lists_of(ScalarType::Float, Layout::kContiguous, Layout::kContiguous);
  const Tensor rate = number(0.1);
  rate.unsafeGetTensorImpl()->set_autograd_key(true);
  const auto step = [&] { at::_fused_sgd_(l.params, l.grads, {}, 0, 0, rate, 0, false, false, false); };
  EXPECT_NE(c10::testing::message_of(step).find("lr requires a gradient"), std::string::npos);
  const c10::AutoGradMode off(false);
  step();
}

TEST(FusedSteps, MetaTensorsAreCheckedOnly) {
  const Tensors params = {at::empty_contiguous({2, 3}, ScalarType::Float, at::Device(at::DeviceType::Meta))};
  const Tensors other = {at::empty_contiguous({3}, ScalarType::Float, at::Device(at::DeviceType::Meta))};
  at::_fused_sgd_(params, params, {}, 0, 0, 0.1, 0, false, false, false);
  at::_fused_adam_(params, params, params, params, {}, {number(1)}, 0.1, 0.9, 0.99, 0, 1e-3, false, false);
  EXPECT_THROW(at::_fused_sgd_(params, other, {}, 0, 0, 0.1, 0, false, false, false), c10::Error);
}

TEST(Amp, UnscalesAndFindsWhatIsNotFinite) {
  for (const bool composed : {false, true}) {
    for (ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
      for (Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kStrided}) {
        for (const double bad : {0.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
          const Tensors list = list_of(dtype, layout, 1);
          if (bad != 0) {
            Tensor last = at::select(at::select(list[3], 0, list[3].size(0) - 1), 0, 299);
            at::fill_(last, bad);
          }
          const std::vector<double> before = values(list);
          Tensor found = number(0);
          if (composed) {
            at::native::_amp_foreach_non_finite_check_and_unscale_composed(list, found, number(0.5));
          } else {
            at::_amp_foreach_non_finite_check_and_unscale_(list, found, number(0.5));
          }
          EXPECT_EQ(at::item(found).toDouble(), bad != 0 ? 1 : 0);
          const std::vector<double> after = values(list);
          for (size_t i = 0; i < before.size(); ++i) {
            if (std::isfinite(before[i])) ASSERT_NEAR(after[i], before[i] / 2, 1e-7);  // tiny halves round
          }
        }
      }
    }
  }
  Tensor found = number(0), wrong = number(0, ScalarType::Double);
  const Tensors integers = {at::to(list_of(ScalarType::Float, Layout::kContiguous, 1)[0], ScalarType::Long)};
  EXPECT_THROW(at::_amp_foreach_non_finite_check_and_unscale_(integers, found, number(1)), c10::TypeError);
  EXPECT_THROW(at::_amp_foreach_non_finite_check_and_unscale_({}, wrong, number(1)), c10::Error);
}

TEST(Amp, ScaleGrowsAfterGoodStepsAndShrinksAfterABadOne) {
  Tensor scale = number(8), tracker = number(0, ScalarType::Int);
  const auto step = [&](double found) {
    at::_amp_update_scale_(scale, tracker, number(found), 2, 0.5, 2);
    return std::make_pair(at::item(scale).toDouble(), at::item(tracker).toLong());
  };
  EXPECT_EQ(step(0), std::make_pair(8.0, int64_t{1}));
  EXPECT_EQ(step(0), std::make_pair(16.0, int64_t{0}));
  EXPECT_EQ(step(0), std::make_pair(16.0, int64_t{1}));
  EXPECT_EQ(step(1), std::make_pair(8.0, int64_t{0}));
  at::fill_(scale, 3e38);
  step(0);
  EXPECT_EQ(step(0).second, 0);  // what is not finite is not taken
  EXPECT_TRUE(std::isfinite(at::item(scale).toDouble()));
  const auto [next, count] = at::_amp_update_scale(number(8), tracker, number(1), 2, 0.5, 2);
  EXPECT_EQ(at::item(next).toDouble(), 4);
  EXPECT_EQ(at::item(count).toLong(), 0);
  Tensor floating = number(0);
  EXPECT_THROW(at::_amp_update_scale_(scale, floating, number(1), 2, 0.5, 2), c10::Error);
}

}  // namespace
