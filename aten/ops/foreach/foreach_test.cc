#include "aten/ops/foreach/ops.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/core/grad_mode.h"
#include "c10/core/thread_state.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Scalar;
using at::ScalarType;
using at::Tensor;

Tensor make(std::vector<double> values) {
  return at::testing::tensor_of(values, {static_cast<int64_t>(values.size())});
}
std::vector<std::vector<float>> values(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<float>> all;
  for (const Tensor& t : tensors) all.push_back(at::testing::elements<float>(t));
  return all;
}
using Lists = std::vector<std::vector<float>>;

// Numbers from 0.1 to 7 (integers from 1 to 7), other ones for every salt.
Tensor filled(at::IntArrayRef sizes, ScalarType dtype, int salt) {
  std::vector<double> numbers(static_cast<size_t>(c10::checked_numel(sizes)));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto n = static_cast<double>((static_cast<int>(i) * 37 + salt * 11) % 70);
    numbers[i] = at::isIntegralType(dtype, true) ? 1 + static_cast<int>(n / 10) % 7 : 0.1 + n / 10;
  }
  return at::testing::tensor_of(numbers, sizes, dtype);
}

// How the tensors of a list lie in memory.
enum class Layout { kContiguous, kTransposed, kStrided, kMixed };

std::vector<Tensor> list_of(ScalarType dtype, Layout layout, int salt) {
  std::vector<Tensor> list;
  // More than one thread's share on the CPU; more than a block's threads on CUDA, whose kernels tests run on the host.
  const int64_t columns = at::testing::device().is_cuda() ? 8 : 1000;
  const std::vector<std::vector<int64_t>> shapes = {{3, 5}, {}, {0, 4}, {7}, {70, columns}, {2, 1, 9}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    Tensor t = filled(shapes[i], dtype, salt + static_cast<int>(i));
    const bool matrix = t.dim() >= 2;
    const bool transposed = layout == Layout::kTransposed || (layout == Layout::kMixed && (salt + i) % 2 == 0);
    if (matrix && transposed) t = at::transpose(at::contiguous(at::transpose(t, 0, 1)), 0, 1);
    if (matrix && layout == Layout::kStrided) {
      Tensor wide = at::testing::blank({t.size(0), t.size(1) * 2 + 1}, dtype);
      if (t.dim() == 2) {
        Tensor part = at::slice(wide, 1, 0, t.size(1) * 2, 2);
        at::copy_(part, t);
        t = part;
      }
    }
    list.push_back(t);
  }
  return list;
}

std::vector<char> bytes(const Tensor& t) {
  const Tensor c = at::contiguous(at::testing::on_cpu(t));
  const char* p = static_cast<const char*>(c.const_data_ptr());
  return std::vector<char>(p, p + c.nbytes());
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected, const char* name) {
  ASSERT_EQ(got.size(), expected.size()) << name;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), expected[i].scalar_type()) << name << " " << i;
    EXPECT_EQ(got[i].sizes(), expected[i].sizes()) << name << " " << i;
    EXPECT_EQ(bytes(got[i]), bytes(expected[i]))
        << name << " of " << c10::toString(got[i].scalar_type()) << ", tensor " << i;
  }
}

using All = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
using AllInPlace = std::function<void(const std::vector<Tensor>&)>;
using One = std::function<Tensor(const Tensor&, size_t)>;
using OneInPlace = std::function<void(Tensor&, size_t)>;

// The operator on a list must do what the operator on each tensor does, to the bit, or throw where that throws.
void compare(const char* name, const std::vector<Tensor>& self, const All& all, const AllInPlace& all_, const One& one,
             const OneInPlace& one_) {
  std::vector<Tensor> expected;
  bool throws = false;
  try {
    for (size_t i = 0; i < self.size(); ++i) expected.push_back(one(self[i], i));
  } catch (const c10::Error&) {
    throws = true;
  }
  if (throws) {
    EXPECT_THROW(all(self), c10::Error) << name << " of " << c10::toString(self[0].scalar_type());
  } else {
    expect_same(all(self), expected, name);
  }
  if (!all_) return;
  std::vector<Tensor> changed, wanted;
  std::vector<int64_t> versions;
  for (const Tensor& t : self) {
    changed.push_back(at::empty_with_strides(t.sizes(), t.strides(), t.scalar_type(), t.device()));
    at::copy_(changed.back(), t);
    wanted.push_back(at::clone(t));
    versions.push_back(changed.back()._version());
  }
  throws = false;
  try {
    for (size_t i = 0; i < self.size(); ++i) one_(wanted[i], i);
  } catch (const c10::Error&) {
    throws = true;
  }
  if (throws) {
    EXPECT_THROW(all_(changed), c10::Error) << name << "_ of " << c10::toString(self[0].scalar_type());
    return;
  }
  all_(changed);
  expect_same(changed, wanted, name);
  for (size_t i = 0; i < changed.size(); ++i) EXPECT_GT(changed[i]._version(), versions[i]) << name << "_";
}

struct Unary {
  const char* name;
  std::vector<Tensor> (*all)(at::TensorList);
  void (*all_)(at::TensorList);
  Tensor (*one)(const Tensor&);
  Tensor& (*one_)(Tensor&);
};
const Unary kUnary[] = {
    {"exp", at::_foreach_exp, at::_foreach_exp_, at::exp, at::exp_},
    {"sqrt", at::_foreach_sqrt, at::_foreach_sqrt_, at::sqrt, at::sqrt_},
    {"abs", at::_foreach_abs, at::_foreach_abs_, at::abs, at::abs_},
    {"acos", at::_foreach_acos, at::_foreach_acos_, at::acos, at::acos_},
    {"asin", at::_foreach_asin, at::_foreach_asin_, at::asin, at::asin_},
    {"atan", at::_foreach_atan, at::_foreach_atan_, at::atan, at::atan_},
    {"ceil", at::_foreach_ceil, at::_foreach_ceil_, at::ceil, at::ceil_},
    {"cos", at::_foreach_cos, at::_foreach_cos_, at::cos, at::cos_},
    {"cosh", at::_foreach_cosh, at::_foreach_cosh_, at::cosh, at::cosh_},
    {"erf", at::_foreach_erf, at::_foreach_erf_, at::erf, at::erf_},
    {"erfc", at::_foreach_erfc, at::_foreach_erfc_, at::erfc, at::erfc_},
    {"expm1", at::_foreach_expm1, at::_foreach_expm1_, at::expm1, at::expm1_},
    {"floor", at::_foreach_floor, at::_foreach_floor_, at::floor, at::floor_},
    {"log", at::_foreach_log, at::_foreach_log_, at::log, at::log_},
    {"log10", at::_foreach_log10, at::_foreach_log10_, at::log10, at::log10_},
    {"log1p", at::_foreach_log1p, at::_foreach_log1p_, at::log1p, at::log1p_},
    {"log2", at::_foreach_log2, at::_foreach_log2_, at::log2, at::log2_},
    {"neg", at::_foreach_neg, at::_foreach_neg_, at::neg, at::neg_},
    {"tan", at::_foreach_tan, at::_foreach_tan_, at::tan, at::tan_},
    {"tanh", at::_foreach_tanh, at::_foreach_tanh_, at::tanh, at::tanh_},
    {"sin", at::_foreach_sin, at::_foreach_sin_, at::sin, at::sin_},
    {"sinh", at::_foreach_sinh, at::_foreach_sinh_, at::sinh, at::sinh_},
    {"round", at::_foreach_round, at::_foreach_round_, at::round, at::round_},
    {"lgamma", at::_foreach_lgamma, at::_foreach_lgamma_, at::lgamma, at::lgamma_},
    {"frac", at::_foreach_frac, at::_foreach_frac_, at::frac, at::frac_},
    {"reciprocal", at::_foreach_reciprocal, at::_foreach_reciprocal_, at::reciprocal, at::reciprocal_},
    {"sigmoid", at::_foreach_sigmoid, at::_foreach_sigmoid_, at::sigmoid, at::sigmoid_},
    {"trunc", at::_foreach_trunc, at::_foreach_trunc_, at::trunc, at::trunc_},
    {"rsqrt", at::_foreach_rsqrt, at::_foreach_rsqrt_, at::rsqrt, at::rsqrt_},
    {"sign", at::_foreach_sign, at::_foreach_sign_, at::sign, at::sign_},
};

struct Binary {
  const char* name;
  std::vector<Tensor> (*scalar)(at::TensorList, const Scalar&);
  void (*scalar_)(at::TensorList, const Scalar&);
  std::vector<Tensor> (*list)(at::TensorList, at::TensorList);
  void (*list_)(at::TensorList, at::TensorList);
  std::vector<Tensor> (*scalars)(at::TensorList, at::ArrayRef<Scalar>);
  void (*scalars_)(at::TensorList, at::ArrayRef<Scalar>);
  Tensor (*one)(const Tensor&, const Tensor&);
  Tensor (*one_scalar)(const Tensor&, const Scalar&);
};
Tensor add(const Tensor& a, const Tensor& b) {
  return at::add(a, b);
}
Tensor add_scalar(const Tensor& a, const Scalar& b) {
  return at::add(a, b);
}
Tensor sub(const Tensor& a, const Tensor& b) {
  return at::sub(a, b);
}
Tensor sub_scalar(const Tensor& a, const Scalar& b) {
  return at::sub(a, b);
}
std::vector<Tensor> add_lists(at::TensorList a, at::TensorList b) {
  return at::_foreach_add(a, b);
}
void add_lists_(at::TensorList a, at::TensorList b) {
  at::_foreach_add_(a, b);
}
std::vector<Tensor> sub_lists(at::TensorList a, at::TensorList b) {
  return at::_foreach_sub(a, b);
}
void sub_lists_(at::TensorList a, at::TensorList b) {
  at::_foreach_sub_(a, b);
}

const Binary kBinary[] = {
    {"add", at::_foreach_add, at::_foreach_add_, add_lists, add_lists_, at::_foreach_add, at::_foreach_add_, add,
     add_scalar},
    {"sub", at::_foreach_sub, at::_foreach_sub_, sub_lists, sub_lists_, at::_foreach_sub, at::_foreach_sub_, sub,
     sub_scalar},
    {"mul", at::_foreach_mul, at::_foreach_mul_, at::_foreach_mul, at::_foreach_mul_, at::_foreach_mul,
     at::_foreach_mul_, at::mul, at::mul},
    {"div", at::_foreach_div, at::_foreach_div_, at::_foreach_div, at::_foreach_div_, at::_foreach_div,
     at::_foreach_div_, at::div, at::div},
    {"pow", at::_foreach_pow, at::_foreach_pow_, at::_foreach_pow, at::_foreach_pow_, at::_foreach_pow,
     at::_foreach_pow_, at::pow, at::pow},
    {"maximum", at::_foreach_maximum, at::_foreach_maximum_, at::_foreach_maximum, at::_foreach_maximum_,
     at::_foreach_maximum, at::_foreach_maximum_, at::maximum, at::clamp_min},
    {"minimum", at::_foreach_minimum, at::_foreach_minimum_, at::_foreach_minimum, at::_foreach_minimum_,
     at::_foreach_minimum, at::_foreach_minimum_, at::minimum, at::clamp_max},
    {"clamp_min", at::_foreach_clamp_min, at::_foreach_clamp_min_, at::_foreach_clamp_min, at::_foreach_clamp_min_,
     at::_foreach_clamp_min, at::_foreach_clamp_min_, at::maximum, at::clamp_min},
    {"clamp_max", at::_foreach_clamp_max, at::_foreach_clamp_max_, at::_foreach_clamp_max, at::_foreach_clamp_max_,
     at::_foreach_clamp_max, at::_foreach_clamp_max_, at::minimum, at::clamp_max},
};

constexpr ScalarType kTypes[] = {ScalarType::Float,        ScalarType::Double,       ScalarType::Half,
                                 ScalarType::BFloat16,     ScalarType::Byte,         ScalarType::Short,
                                 ScalarType::Int,          ScalarType::Long,         ScalarType::Bool,
                                 ScalarType::ComplexFloat, ScalarType::ComplexDouble};

// In place, the result is cast back, as copying into the tensor does.
void assign(Tensor& t, const Tensor& result) {
  TORCH_CHECK(c10::canCast(result.scalar_type(), t.scalar_type()), "cannot be cast");
  at::copy_(t, result);
}

// A bool factor is refused by floats, as at::add refuses it, and counts as 0 or 1 where results are bool.
TEST(Foreach, BoolFactors) {
  const std::vector<Tensor> floats{make({1, 2, 3}), make({4})};
  for (bool alpha : {true, false}) {
    EXPECT_THROW(at::_foreach_add(floats, floats, Scalar(alpha)), c10::Error);
    EXPECT_THROW(at::_foreach_sub(floats, floats, Scalar(alpha)), c10::Error);
    EXPECT_THROW(at::_foreach_add(floats, at::view(make({1}), {}), Scalar(alpha)), c10::Error);
    const std::vector<Tensor> a{at::to(make({0, 1, 0}), at::kBool)}, b{at::to(make({1, 1, 0}), at::kBool)};
    expect_same(at::_foreach_add(a, b, Scalar(alpha)), {at::add(a[0], b[0], Scalar(alpha))}, "add");
  }
  // A bool is no number to subtract, and counts as one where it is added.
  EXPECT_THROW(at::_foreach_sub(floats, Scalar(true)), c10::Error);
  EXPECT_THROW(at::_foreach_sub_(floats, {Scalar(true), Scalar(true)}), c10::Error);
  EXPECT_TRUE(at::equal(at::_foreach_add(floats, Scalar(true))[0], at::add(floats[0], Scalar(true))));
}

TEST(Foreach, UnaryIsTheOperatorOnEach) {
  for (const Unary& op : kUnary) {
    for (ScalarType dtype : kTypes) {
      for (Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kStrided}) {
        compare(
            op.name, list_of(dtype, layout, 1), op.all, op.all_, [&](const Tensor& t, size_t) { return op.one(t); },
            [&](Tensor& t, size_t) { op.one_(t); });
      }
    }
  }
}

TEST(Foreach, BinaryIsTheOperatorOnEach) {
  for (const Binary& op : kBinary) {
    for (ScalarType dtype : kTypes) {
      for (Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kStrided, Layout::kMixed}) {
        const std::vector<Tensor> self = list_of(dtype, layout, 2), other = list_of(dtype, layout, 5);
        compare(
            op.name, self, [&](const std::vector<Tensor>& s) { return op.list(s, other); },
            [&](const std::vector<Tensor>& s) { op.list_(s, other); },
            [&](const Tensor& t, size_t i) { return op.one(t, other[i]); },
            [&](Tensor& t, size_t i) { assign(t, op.one(t, other[i])); });
      }
      const std::vector<Tensor> self = list_of(dtype, Layout::kContiguous, 3);
      const bool integers = at::isIntegralType(dtype, true);
      for (const Scalar& number : {Scalar(2), Scalar(3), Scalar(1.7), Scalar(0.5), Scalar(-1), Scalar(0), Scalar(1)}) {
        // -1 does not fit in uint8 and negative powers of integers are refused.
        if (number.isIntegral(false) && number.toLong() < 0 && integers) continue;
        compare(
            op.name, self, [&](const std::vector<Tensor>& s) { return op.scalar(s, number); },
            [&](const std::vector<Tensor>& s) { op.scalar_(s, number); },
            [&](const Tensor& t, size_t) { return op.one_scalar(t, number); },
            [&](Tensor& t, size_t) { assign(t, op.one_scalar(t, number)); });
      }
      const std::vector<Scalar> numbers =
          integers ? std::vector<Scalar>{2, 3, 4, 5, 6, 7} : std::vector<Scalar>{2.25, 3, 0.75, 5, 1.5, 2.5};
      compare(
          op.name, self, [&](const std::vector<Tensor>& s) { return op.scalars(s, numbers); },
          [&](const std::vector<Tensor>& s) { op.scalars_(s, numbers); },
          [&](const Tensor& t, size_t i) { return op.one_scalar(t, numbers[i]); },
          [&](Tensor& t, size_t i) { assign(t, op.one_scalar(t, numbers[i])); });
    }
  }
}

TEST(Foreach, TernaryIsTheOperatorOnEach) {
  for (ScalarType dtype : kTypes) {
    for (Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kMixed}) {
      const std::vector<Tensor> self = list_of(dtype, layout, 2), a = list_of(dtype, layout, 5),
                                b = list_of(dtype, layout, 8);
      const bool integers = at::isIntegralType(dtype, true);
      const Scalar number = integers ? Scalar(2) : Scalar(0.75);
      const std::vector<Scalar> numbers =
          integers ? std::vector<Scalar>{2, 3, 4, 5, 6, 7} : std::vector<Scalar>{2.25, 3, 0.75, 5, 1.5, 2.5};
      using L = const std::vector<Tensor>&;
      using T = const Tensor&;
      compare(
          "addcmul", self, [&](L s) { return at::_foreach_addcmul(s, a, b, number); },
          [&](L s) { at::_foreach_addcmul_(s, a, b, number); },
          [&](T t, size_t i) { return at::addcmul(t, a[i], b[i], number); },
          [&](Tensor& t, size_t i) { at::addcmul_(t, a[i], b[i], number); });
      compare(
          "addcmul list", self, [&](L s) { return at::_foreach_addcmul(s, a, b, numbers); },
          [&](L s) { at::_foreach_addcmul_(s, a, b, numbers); },
          [&](T t, size_t i) { return at::addcmul(t, a[i], b[i], numbers[i]); },
          [&](Tensor& t, size_t i) { at::addcmul_(t, a[i], b[i], numbers[i]); });
      compare(
          "addcdiv", self, [&](L s) { return at::_foreach_addcdiv(s, a, b, number); },
          [&](L s) { at::_foreach_addcdiv_(s, a, b, number); },
          [&](T t, size_t i) { return at::addcdiv(t, a[i], b[i], number); },
          [&](Tensor& t, size_t i) { at::addcdiv_(t, a[i], b[i], number); });
      compare(
          "addcdiv list", self, [&](L s) { return at::_foreach_addcdiv(s, a, b, numbers); },
          [&](L s) { at::_foreach_addcdiv_(s, a, b, numbers); },
          [&](T t, size_t i) { return at::addcdiv(t, a[i], b[i], numbers[i]); },
          [&](Tensor& t, size_t i) { at::addcdiv_(t, a[i], b[i], numbers[i]); });
      compare(
          "lerp", self, [&](L s) { return at::_foreach_lerp(s, a, b); }, [&](L s) { at::_foreach_lerp_(s, a, b); },
          [&](T t, size_t i) { return at::lerp(t, a[i], b[i]); },
          [&](Tensor& t, size_t i) { at::lerp_(t, a[i], b[i]); });
      compare(
          "lerp scalar", self, [&](L s) { return at::_foreach_lerp(s, a, number); },
          [&](L s) { at::_foreach_lerp_(s, a, number); }, [&](T t, size_t i) { return at::lerp(t, a[i], number); },
          [&](Tensor& t, size_t i) { at::lerp_(t, a[i], number); });
      compare(
          "add alpha", self, [&](L s) { return at::_foreach_add(s, a, number); },
          [&](L s) { at::_foreach_add_(s, a, number); }, [&](T t, size_t i) { return at::add(t, a[i], number); },
          [&](Tensor& t, size_t i) { at::add_(t, a[i], number); });
      compare(
          "sub alpha", self, [&](L s) { return at::_foreach_sub(s, a, number); },
          [&](L s) { at::_foreach_sub_(s, a, number); }, [&](T t, size_t i) { return at::sub(t, a[i], number); },
          [&](Tensor& t, size_t i) { at::sub_(t, a[i], number); });
      for (ScalarType other_type : {dtype, ScalarType::Double, ScalarType::Long}) {
        const Tensor zero_dim = filled({}, other_type, 3);
        compare(
            "add tensor", self, [&](L s) { return at::_foreach_add(s, zero_dim, number); },
            [&](L s) { at::_foreach_add_(s, zero_dim, number); },
            [&](T t, size_t) { return at::add(t, zero_dim, number); },
            [&](Tensor& t, size_t) { at::add_(t, zero_dim, number); });
        compare(
            "mul tensor", self, [&](L s) { return at::_foreach_mul(s, zero_dim); },
            [&](L s) { at::_foreach_mul_(s, zero_dim); }, [&](T t, size_t) { return at::mul(t, zero_dim); },
            [&](Tensor& t, size_t) { at::mul_(t, zero_dim); });
        compare(
            "div tensor", self, [&](L s) { return at::_foreach_div(s, zero_dim); },
            [&](L s) { at::_foreach_div_(s, zero_dim); }, [&](T t, size_t) { return at::div(t, zero_dim); },
            [&](Tensor& t, size_t) { at::div_(t, zero_dim); });
      }
      compare(
          "pow of a number", self, [&](L s) { return at::_foreach_pow(number, s); }, nullptr,
          [&](T t, size_t) { return at::pow(number, t); }, nullptr);
      compare(
          "zero", self, [&](L) { return self; }, [](L s) { at::_foreach_zero_(s); }, [](T t, size_t) { return t; },
          [](Tensor& t, size_t) { at::zero_(t); });
      for (ScalarType from : kTypes) {
        const std::vector<Tensor> src = list_of(from, layout, 9);
        compare(
            "copy", self, [&](L s) { return at::_foreach_copy(s, src); }, [&](L s) { at::_foreach_copy_(s, src); },
            [&](T t, size_t i) { return at::copy(t, src[i]); }, [&](Tensor& t, size_t i) { at::copy_(t, src[i]); });
      }
    }
  }
}

TEST(Foreach, NormAndMaxOfEach) {
  for (ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16, ScalarType::ComplexFloat}) {
    std::vector<Tensor> list = list_of(dtype, Layout::kContiguous, 1);
    for (double p : {0.0, 1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
      // The empty tensor has no infinity norm.
      if (p > 3) list.erase(list.begin() + 2);
      const std::vector<Tensor> norms = at::_foreach_norm(list, p);
      for (size_t i = 0; i < list.size(); ++i) {
        const Tensor one = at::norm(list[i], p);
        EXPECT_EQ(norms[i].scalar_type(), one.scalar_type());
        EXPECT_EQ(norms[i].dim(), 0);
        const double got = at::item(norms[i]).toDouble(), exact = at::item(one).toDouble();
        EXPECT_NEAR(got, exact, (dtype == ScalarType::BFloat16 ? 1e-2 : 1e-6) * std::fabs(exact)) << p << " " << i;
      }
    }
    if (at::isComplexType(dtype)) continue;
    const std::vector<Tensor> most = at::_foreach_max(list);
    for (size_t i = 0; i < list.size(); ++i) EXPECT_EQ(bytes(most[i]), bytes(at::max(list[i])));
  }
  EXPECT_THROW(at::_foreach_norm(list_of(ScalarType::Long, Layout::kContiguous, 1)), c10::Error);
  EXPECT_EQ(at::_foreach_norm({make({3, 4})}, 2, ScalarType::Double)[0].scalar_type(), ScalarType::Double);
}

TEST(Foreach, ArithmeticWithNumbersListsAndTensors) {
  const std::vector<Tensor> a = {make({1, 2}), make({3})}, b = {make({10, 20}), make({30})};
  const std::vector<Scalar> numbers = {2, 3};
  EXPECT_EQ(values(at::_foreach_add(a, 1)), (Lists{{2, 3}, {4}}));
  EXPECT_EQ(values(at::_foreach_add(a, b, 2)), (Lists{{21, 42}, {63}}));
  EXPECT_EQ(values(at::_foreach_mul(a, numbers)), (Lists{{2, 4}, {9}}));
  EXPECT_EQ(values(at::_foreach_sub(b, a)), (Lists{{9, 18}, {27}}));
  EXPECT_EQ(values(at::_foreach_div(b, a)), (Lists{{10, 10}, {10}}));
  EXPECT_EQ(values(at::_foreach_addcmul(a, a, b, 2)), (Lists{{21, 82}, {183}}));
  EXPECT_EQ(values(at::_foreach_addcdiv(a, b, a, numbers)), (Lists{{21, 22}, {33}}));
  EXPECT_EQ(values(at::_foreach_addcmul(a, a, b, make({2, 1}))), (Lists{{21, 82}, {93}}));
  EXPECT_EQ(values(at::_foreach_lerp(a, b, 1)), values(b));
  EXPECT_EQ(values(at::_foreach_maximum(a, 2)), (Lists{{2, 2}, {3}}));
  EXPECT_EQ(values(at::_foreach_clamp_max(a, 2)), (Lists{{1, 2}, {2}}));
  EXPECT_EQ(values(at::_foreach_pow(a, 2)), (Lists{{1, 4}, {9}}));
  EXPECT_EQ(values(at::_foreach_neg(a)), (Lists{{-1, -2}, {-3}}));
  EXPECT_EQ(values(at::_foreach_norm({make({3, 4}), make({2})})), (Lists{{5}, {2}}));
}

TEST(Foreach, InPlace) {
  std::vector<Tensor> a = {make({1, 4}), make({9})};
  at::_foreach_sqrt_(a);
  EXPECT_EQ(values(a), (Lists{{1, 2}, {3}}));
  at::_foreach_mul_(a, 2);
  at::_foreach_add_(a, a, 1);
  EXPECT_EQ(values(a), (Lists{{4, 8}, {12}}));
  at::_foreach_copy_(a, {make({1, 2}), make({3})});
  at::_foreach_addcdiv_(a, {make({1, 1}), make({1})}, {make({2, 2}), make({2})}, 2);
  EXPECT_EQ(values(a), (Lists{{2, 3}, {4}}));
  at::_foreach_zero_(a);
  EXPECT_EQ(values(a), (Lists{{0, 0}, {0}}));
}

// Tensors that share memory are changed one after the other, as a loop over them would.
TEST(Foreach, SharedMemoryIsChangedInOrder) {
  Tensor t = make({1, 2, 3, 4});
  at::_foreach_add_({t, t}, 1);
  EXPECT_EQ(values({t}), (Lists{{3, 4, 5, 6}}));
  // The second tensor reads what the first has written.
  const Tensor low = at::slice(t, 0, 0, 2), high = at::slice(t, 0, 2, 4);
  at::_foreach_mul_({low, high}, {make({10, 10}), low});
  EXPECT_EQ(values({t}), (Lists{{30, 40, 150, 240}}));
  at::_foreach_copy_({low, high}, {high, low});
  EXPECT_EQ(values({t}), (Lists{{150, 240, 150, 240}}));
}

TEST(Foreach, ListsMustFit) {
  const std::vector<Tensor> a = {make({1}), make({2})}, one = {make({1})};
  EXPECT_THROW(at::_foreach_add(a, one), c10::Error);
  EXPECT_THROW(at::_foreach_add(std::vector<Tensor>{}, 1), c10::Error);
  const std::vector<Scalar> numbers = {1};
  EXPECT_THROW(at::_foreach_mul(a, numbers), c10::Error);
  EXPECT_THROW(at::_foreach_mul(a, make({1, 2})), c10::Error);               // not 0-dim
  EXPECT_THROW(at::_foreach_addcmul(a, a, a, make({1, 2, 3})), c10::Error);  // three numbers for two tensors
  EXPECT_THROW(at::_foreach_addcmul(a, a, a, at::unsqueeze(make({1, 2}), 0)), c10::Error);
  EXPECT_THROW(
      at::_foreach_add_(std::vector<Tensor>{make({1, 2}), make({1})}, std::vector<Tensor>{make({1, 2, 3}), make({1})}),
      c10::Error);
}

TEST(Foreach, OutFormsFillTheListThatIsGiven) {
  const std::vector<Tensor> a = {make({1, 4}), make({9})}, out = {make({0, 0}), make({})};
  at::_foreach_sqrt_out(out, a);
  EXPECT_EQ(values(out), (Lists{{1, 2}, {3}}));
  at::_foreach_add_out(out, a, a, 2);
  EXPECT_EQ(values(out), (Lists{{3, 12}, {27}}));
  EXPECT_EQ(values(a), (Lists{{1, 4}, {9}}));
  EXPECT_THROW(at::_foreach_sqrt_out({out[0]}, a), c10::Error);
}

TEST(Foreach, CopiesProductsAndSumsOfPowers) {
  const std::vector<Tensor> a = {make({1, 4}), make({9})};
  const std::vector<Tensor> clones = at::_foreach_clone(a);
  EXPECT_EQ(values(clones), values(a));
  EXPECT_FALSE(clones[0].is_same(a[0]));
  EXPECT_EQ(values(at::_foreach_zero(a)), (Lists{{0, 0}, {0}}));
  EXPECT_EQ(values(a), (Lists{{1, 4}, {9}}));
  const std::vector<Tensor> rows = {at::unsqueeze(a[0], 0)}, columns = {at::unsqueeze(a[0], 1)};
  EXPECT_EQ(values(at::_foreach_mm(rows, columns)), (Lists{{17}}));
  EXPECT_EQ(values(at::_foreach_powsum({make({-1, 2}), make({})}, 3)), (Lists{{9}, {0}}));
}

// The operators on single tensors, which record gradients, get to see those; here no derivative of theirs is linked.
TEST(Foreach, GradientsAreThoseOfTheOperatorOnEach) {
  const std::vector<Tensor> a = {make({1, 2}), make({3})}, grown = {make({1, 2}), make({3})};
  const Tensor number = at::squeeze(make({2}));
  a[1].unsafeGetTensorImpl()->set_autograd_key(true);
  number.unsafeGetTensorImpl()->set_autograd_key(true);
  const auto recorded = [](const auto& call) {
    return c10::testing::message_of(call).find("a gradient, but no derivative is linked") != std::string::npos;
  };
  EXPECT_TRUE(recorded([&] { at::_foreach_add(a, 1); }));
  EXPECT_TRUE(recorded([&] { at::_foreach_mul(grown, a); }));
  EXPECT_TRUE(recorded([&] { at::_foreach_add(grown, number); }));
  EXPECT_TRUE(recorded([&] { at::_foreach_zero_({a[1]}); }));
  EXPECT_TRUE(recorded([&] { at::_foreach_norm(a); }));
  EXPECT_TRUE(recorded([&] { at::_foreach_sqrt(a); }));
  const c10::AutoGradMode off(false);
  EXPECT_EQ(values(at::_foreach_add(a, 1)), (Lists{{2, 3}, {4}}));
  at::_foreach_mul_(a, grown);
  EXPECT_EQ(values(a), (Lists{{1, 4}, {9}}));
}

TEST(Foreach, MetaTensorsGoOneByOne) {
  const std::vector<Tensor> a = {at::empty_contiguous({2, 3}, ScalarType::Float, at::Device(at::DeviceType::Meta))};
  const std::vector<Tensor> b = {make({1, 2, 3})};
  const std::vector<Tensor> sums = at::_foreach_add(a, a);
  EXPECT_TRUE(sums[0].is_meta());
  EXPECT_EQ(sums[0].sizes(), at::IntArrayRef({2, 3}));
  EXPECT_TRUE(at::_foreach_norm(a)[0].is_meta());
  EXPECT_EQ(values(at::_foreach_exp({make({0})})), (Lists{{1}}));
}

TEST(Foreach, NothingIsWrittenWhereOneOutputDoesNotFit) {
  const std::vector<Tensor> a = {make({1.5, 2.5}), make({3.5}), make({4.5, 5.5, 6.5})};
  const Tensor first = make({7, 8}), twice = make({9, 9});
  const auto message = [&](const Tensor& last) {
    return c10::testing::message_of([&] { at::_foreach_frac_out({first, twice, last}, a); });
  };
  EXPECT_NE(message(twice).find("the same tensor is out[1], of size [1], and out[2], of size [3]"), std::string::npos);
  EXPECT_EQ(values({first, twice}), (Lists{{7, 8}, {9, 9}}));
  const Tensor integers = at::empty_contiguous({3}, ScalarType::Long);
  EXPECT_THROW(at::_foreach_frac_out({first, twice, integers}, a), c10::Error);
  EXPECT_EQ(values({first, twice}), (Lists{{7, 8}, {9, 9}}));
}

TEST(Foreach, ChangesAreCounted) {
  const std::vector<Tensor> a = {make({1, 4}), make({9})};
  const int64_t before = a[1]._version();
  at::_foreach_add_(a, 1);
  EXPECT_EQ(a[1]._version(), before + 1);
}

}  // namespace
