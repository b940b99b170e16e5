// Gamma and Dirichlet numbers, keyed numbers and Sobol sequences: values that PyTorch gives, and what they mean.
#include <cmath>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/core/cpu_generator.h"

namespace at {
namespace {

using testing::elements;
using testing::expect_close;
using testing::expect_error;
using testing::tensor_of;
using testing::values;

Tensor key_of(const std::vector<double>& numbers, IntArrayRef sizes = {2}) {
  return testing::tensor_of(numbers, sizes, ScalarType::UInt64);
}

TEST(Samplers, GammaAndDirichlet) {
  if (testing::device().is_cuda()) GTEST_SKIP() << "the numbers of the CPU's generator; //aten/cuda:samplers_test has CUDA's";
  at::manual_seed(42);
  expect_close(at::_standard_gamma(tensor_of({0.5}, {2}, kDouble)), {1.5588052402318462, 0.3128827216734808}, 1e-14);
  at::manual_seed(42);
  expect_close(at::_sample_dirichlet(tensor_of({0.5, 1, 2}, {3})),
               {0.628486891312169, 0.3393001765440858, 0.0322129321437453});
  const Tensor zero = at::_standard_gamma(tensor_of({0}, {1}));
  EXPECT_EQ(values(zero)[0], std::numeric_limits<float>::min());
  const Tensor many = at::_standard_gamma(at::full({2000}, Scalar(3.0), tensor_of({0}, {1}, kDouble).options()));
  EXPECT_NEAR(values(at::mean(many))[0], 3, 0.2);
  expect_error<c10::NotImplementedError>([] { at::_standard_gamma(tensor_of({1}, {1}, kHalf)); },
                                         "not implemented for 'Half'");
  expect_error<c10::Error>([] { at::_sample_dirichlet(tensor_of({1}, {})); }, "at least one dimension");
}

// Against the derivative of the regularized incomplete functions in high precision.
TEST(Samplers, GradientsOfGammaAndBetaNumbers) {
  const std::vector<double> alpha = {0.01, 0.1, 0.5, 1, 1, 2.1, 8, 50, 300, 5000};
  const std::vector<double> x = {0.3, 1e-6, 3, 0.001, 10, 0.85, 20, 30, 350, 4800};
  expect_close(
      at::_standard_gamma_grad(tensor_of(alpha, {10}, kDouble), tensor_of(x, {10}, kDouble)),
      {37.034760047760756, 0.00013391768618329164, 2.9129424164403646, 0.007334456244883786, 2.9713640918353668,
       0.6629064751295639, 1.558616790182961, 0.7687741525252436, 1.0796539735087518, 0.9797605249074047},
      1e-9);
  // On either side of where the methods change, in the tails too.
  expect_close(
      at::_standard_gamma_grad(tensor_of({0.5, 0.5, 0.5, 3, 3, 3, 1000, 1000, 40000, 0.02}, {10}, kDouble),
                               tensor_of({0.14, 1.4, 4.5, 2, 9, 12, 900, 1100, 40500, 1e-30}, {10}, kDouble)),
      {0.63518056495994361, 2.1760499577157453, 3.3278327629489256, 0.85657142209780672, 1.7397554120638797,
       1.9494128178020728, 0.94840263817941041, 1.0485866785616168, 1.0062283124726087, 3.4266381739682597e-27},
      1e-11);
  expect_close(
      at::_dirichlet_grad(
          tensor_of({0.1, 0.9, 0.999, 0.5, 1e-6, 0.3, 0.45, 0.01, 0.96, 0.97, 0.995, 2e-4}, {12}, kDouble),
          tensor_of({0.2, 0.2, 5, 5, 0.01, 20, 20, 1, 300, 300, 300, 0.5}, {12}, kDouble),
          tensor_of({0.5, 0.5, 5.1, 5.1, 3.01, 50, 50, 101, 312, 312, 302, 5000.5}, {12}, kDouble)),
      {2.0510716349204589, 10.311052633730567, 0.21880554658420573, 0.15007487841071208, 0.0012327937810503637,
       0.017513257320204417, 0.021526003652940261, 0.011715471074685691, 0.0032077676962702702, 0.003224430507081332,
       0.0033194674578367227, 0.00037565677697962651},
      1e-11);
  // Beta(1, 1) is uniform: x = F(x) of it, and d x / d alpha = -x ln x.
  const Tensor u = tensor_of({0.1, 0.5, 0.9}, {3}, kDouble);
  expect_close(at::_dirichlet_grad(u, at::ones_like(u), at::full_like(u, Scalar(2))),
               {-0.1 * std::log(0.1) / 0.9, -0.5 * std::log(0.5) / 0.5, -0.9 * std::log(0.9) / 0.1}, 1e-10);
}

TEST(Samplers, KeysMakeKeys) {
  const Tensor key = key_of({842, 859});
  const Tensor one = at::_philox_key_fold_in(key, 5);
  EXPECT_EQ(elements<uint64_t>(one), (std::vector<uint64_t>{3097939988713294515u, 16319238706210937032u}));
  const Tensor split = at::_philox_key_split(key, 2);
  EXPECT_EQ(split.sizes(), IntArrayRef({2, 2}));
  EXPECT_EQ(elements<uint64_t>(at::select(split, 0, 0)),
            (std::vector<uint64_t>{15357978174590717533u, 4695327543562869645u}));
  EXPECT_EQ(elements<uint64_t>(at::select(split, 0, 1)), elements<uint64_t>(at::_philox_key_fold_in(key, 1)));
  const Tensor each = at::_philox_key_fold_in(key_of({842, 859}, {2, 2}), testing::indices_of({5, 1}, {2}));
  EXPECT_EQ(elements<uint64_t>(at::select(each, 0, 0)), elements<uint64_t>(one));
  expect_error<c10::Error>([] { at::_philox_key_split(tensor_of({1, 2}, {2}), 1); }, "expected a key of dtype uint64");
  expect_error<c10::Error>([&] { at::_philox_key_split(key_of({1, 2, 3}, {3}), 1); }, "last dimension has size 2");
}

TEST(Samplers, KeyedNumbers) {
  const Tensor a = key_of({842, 859}), b = key_of({203, 852});
  Tensor t = testing::blank({8});
  EXPECT_TRUE(at::_philox_uniform_(t, a, -1, 1).is_same(t));
  EXPECT_EQ(values(t),
            values(tensor_of({0.3637195825576782, -0.7304755449295044, -0.6554092168807983, -0.6784813404083252,
                              -0.5102003812789917, 0.7379302978515625, 0.8345786333084106, 0.13292968273162842},
                             {8})));
  expect_close(at::_philox_uniform(testing::blank({2}, kDouble), a, -1, 1),
               {-0.09024254554971223, -0.24327349230364215}, 1e-15);
  EXPECT_EQ(values(at::_philox_uniform(testing::blank({2}, kHalf), a, -1, 1)),
            (std::vector<double>{0.5908203125, 0.9443359375}));
  EXPECT_EQ(values(at::_philox_uniform(testing::blank({1}, kBFloat16), a, -1, 1)), (std::vector<double>{-0.2734375}));
  expect_close(at::_philox_normal(testing::blank({3}), b, 0.5, 2),
               {0.23899495601654053, 1.0502344369888306, 3.24194073677063}, 1e-6);
  expect_close(at::_philox_normal(testing::blank({3}, kDouble), b, 0.5, 2),
               {0.3736695330638724, 1.0957532848112375, -0.5338189144816465}, 1e-14);
  EXPECT_EQ(values(at::_philox_randint(testing::blank({2}, kLong), b, 0, 58)), (std::vector<double>{30, 6}));
  // A key for each row; strides do not matter.
  Tensor rows = at::transpose(testing::blank({8, 2}), 0, 1);
  at::_philox_uniform_(rows, key_of({203, 852, 842, 859}, {2, 2}), -1, 1);
  EXPECT_EQ(values(at::select(rows, 0, 1)), values(t));
  expect_error<c10::Error>([&] { at::_philox_uniform_(t, key_of({1, 2, 3, 4}, {2, 2}), 0, 1); },
                           "one for each of the first dimensions");
  expect_error<c10::Error>([&] { at::_philox_randint(testing::blank({2}, kChar), a, 0, 1000); }, "out of bounds for");
  expect_error<c10::NotImplementedError>([&] { at::_philox_randint(testing::blank({2}), a, 0, 9); },
                                         "not implemented for 'Float'");
}

TEST(Samplers, Sobol) {
  Tensor state = at::zeros({3, 30}, testing::blank({1}, kLong).options());
  at::_sobol_engine_initialize_state_(state, 3);
  EXPECT_EQ(elements<int64_t>(at::slice(at::select(state, 0, 2), 0, 0, 6)),
            (std::vector<int64_t>{536870912, 805306368, 402653184, 603979776, 973078528, 385875968}));
  const Tensor start = at::zeros({3}, state.options());
  const auto [points, last] = at::_sobol_engine_draw(start, 3, state, 3, 0, kFloat);
  EXPECT_EQ(values(points), (std::vector<double>{0.5, 0.5, 0.5, 0.75, 0.25, 0.25, 0.25, 0.75, 0.75}));
  Tensor forward = at::clone(start);
  at::_sobol_engine_ff_(forward, 3, state, 3, 0);
  EXPECT_EQ(elements<int64_t>(forward), elements<int64_t>(last));
  // The unit matrices leave all as it is.
  Tensor scrambled = at::clone(state);
  at::_sobol_engine_scramble_(scrambled, at::expand(at::eye(30, state.options()), {3, 30, 30}), 3);
  EXPECT_EQ(elements<int64_t>(scrambled), elements<int64_t>(state));
  // All dimensions begin with one half; the last one's directions are odd numbers at their places.
  Tensor all = at::zeros({21201, 30}, state.options());
  at::_sobol_engine_initialize_state_(all, 21201);
  EXPECT_EQ(values(at::amin(at::select(all, 1, 0)))[0], 536870912);
  EXPECT_EQ(values(at::amin(at::remainder(at::select(all, 1, 29), Scalar(2))))[0], 1);
  expect_error<c10::Error>([&] { at::_sobol_engine_initialize_state_(all, 21202); },
                           "expected a dimension from 1 to 21201");
  expect_error<c10::Error>([&] { at::_sobol_engine_draw(start, -1, state, 3, 0, kFloat); }, "fewer than");
}

}  // namespace
}  // namespace at
