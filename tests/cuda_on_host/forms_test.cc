// What few programs ask of operators with CUDA tensors, against the same of CPU tensors: rare dtypes, numbers out of
// the usual ranges, gradients, tensors with gaps.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace nn = torch::nn;
using at::ScalarType;
using torch::Tensor;

constexpr double kInf = std::numeric_limits<double>::infinity();
const torch::Device kCpu(torch::kCPU), kGpu(torch::kCUDA, 0);

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

Tensors on(const torch::Device& device, const Tensors& all) {
  Tensors moved;
  for (const Tensor& t : all) moved.push_back(t.defined() ? t.detach().to(device) : t);
  return moved;
}

std::vector<double> values_of(const Tensor& t) {
  Tensor own = t.detach().to(kCpu);
  if (own.layout() != at::kStrided) own = own.to_dense();
  if (own.is_complex()) own = torch::view_as_real(own.to(torch::kComplexDouble));
  own = own.to(torch::kDouble).contiguous();
  return {own.data_ptr<double>(), own.data_ptr<double>() + own.numel()};
}

void expect_same(const std::string& what, const Tensor& gpu, const Tensor& cpu, double tolerance) {
  EXPECT_TRUE(gpu.is_cuda()) << what;
  ASSERT_EQ(gpu.sizes(), cpu.sizes()) << what;
  ASSERT_EQ(gpu.scalar_type(), cpu.scalar_type()) << what;
  const std::vector<double> got = values_of(gpu), expected = values_of(cpu);
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    EXPECT_LE(std::fabs(got[i] - expected[i]), tolerance * (1 + std::fabs(expected[i])))
        << what << " at " << i << ": " << got[i] << " and not " << expected[i];
  }
}

// The tolerance is for sums, which a device joins in another order.
void expect_as_on_cpu(const std::string& what, const Function& f, const Tensors& in, double tolerance = 0) {
  const Tensors got = f(on(kGpu, in)), expected = f(in);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) expect_same(what, got[i], expected[i], tolerance);
}

// f's result and what it gives its inputs that want gradients.
void expect_gradients_as_on_cpu(const std::string& what, const std::function<Tensor(const Tensors&)>& f,
                                const Tensors& in, double tolerance) {
  const auto run = [&](const Tensors& given) {
    Tensors leaves;
    for (size_t i = 0; i < given.size(); ++i) leaves.push_back(given[i].detach().clone());
    for (size_t i = 0; i < given.size(); ++i) leaves[i].requires_grad_(in[i].requires_grad());
    Tensors results{f(leaves)};
    const Tensor weights = torch::arange(1, results[0].numel() + 1, torch::TensorOptions().device(results[0].device()))
                               .to(results[0].scalar_type())
                               .reshape(results[0].sizes());
    results[0].backward(weights / weights.numel());
    for (const Tensor& leaf : leaves) {
      if (leaf.requires_grad()) results.push_back(leaf.grad());
    }
    return results;
  };
  expect_as_on_cpu(what, run, in, tolerance);
}

Tensor numbers(at::IntArrayRef sizes, ScalarType dtype, uint64_t seed = 1) {
  torch::manual_seed(seed);
  if (at::isComplexType(dtype)) return torch::randn(sizes, torch::kComplexDouble).to(dtype);
  if (!at::isFloatingType(dtype)) return torch::randint(0, 100, sizes).to(dtype);
  return torch::randn(sizes, torch::kDouble).to(dtype);
}
Tensor doubles(const std::vector<double>& values) {
  return torch::tensor(values, torch::kDouble);
}
Tensor wanting(Tensor t) {
  return t.requires_grad_(true);
}
std::string named(const char* what, ScalarType dtype) {
  return std::string(what) + " of " + at::toString(dtype);
}

TEST(Forms, BlocksOfImagesOfEveryDtype) {
  for (const ScalarType dtype : {at::kByte, at::kShort, at::kHalf, at::kInt, at::kFloat, at::kLong, at::kDouble,
                                 at::kComplexFloat, at::kComplexDouble}) {
    const Tensor image = numbers({2, 3, 5, 6}, dtype);
    const auto columns = [](const Tensors& x) -> Tensors { return {at::im2col(x[0], {2, 3}, {1, 2}, {1, 0}, {2, 1})}; };
    expect_as_on_cpu(named("im2col", dtype), columns, {image});
    const Tensor blocks = numbers({2, 18, 6}, dtype);
    expect_as_on_cpu(
        named("col2im", dtype),
        [](const Tensors& x) -> Tensors {
          return {at::col2im(x[0], {5, 6}, {2, 3}, {1, 2}, {1, 0}, {2, 1})};
        },
        {blocks}, 1e-6);
  }
}

TEST(Forms, PaddingOfEveryDtype) {
  for (const ScalarType dtype : {at::kByte, at::kHalf, at::kInt, at::kDouble, at::kComplexFloat, at::kComplexDouble}) {
    const Tensor image = numbers({2, 4, 5}, dtype);
    for (const auto& [name, pad] :
         {std::pair<const char*, Tensor (*)(const Tensor&)>{"reflection",
                                                            [](const Tensor& x) {
                                                              return at::reflection_pad2d(x, {1, 2, 3, 0});
                                                            }},
          {"replication", [](const Tensor& x) {
             return at::replication_pad2d(x, {1, 2, 3, 0});
           }}}) {
      if (!image.is_floating_point() && !image.is_complex()) {
        expect_as_on_cpu(named(name, dtype), [&](const Tensors& x) -> Tensors { return {pad(x[0])}; }, {image});
        continue;
      }
      expect_gradients_as_on_cpu(
          named(name, dtype), [&](const Tensors& x) { return pad(x[0]); }, {wanting(image.clone())}, 1e-3);
    }
  }
  const Tensor whole = numbers({1, 7, 8}, at::kLong), image = numbers({1, 4, 5}, at::kLong);
  expect_as_on_cpu("reflection_pad2d_backward of integers",
                   [](const Tensors& x) -> Tensors {
                     return {at::reflection_pad2d_backward(x[0], x[1], {1, 2, 3, 0})};
                   },
                   {whole, image});
}

TEST(Forms, IntegersHaveDivisors) {
  const Tensor a = torch::tensor(std::vector<int64_t>{0, 0, 12, -18, 35, 1 << 20, std::numeric_limits<int64_t>::min()}),
               b = torch::tensor(std::vector<int64_t>{0, 5, 18, 12, -64, 1 << 12, 6});
  for (const ScalarType dtype : {at::kLong, at::kInt, at::kShort, at::kChar, at::kByte}) {
    expect_as_on_cpu(named("gcd and lcm", dtype),
                     [](const Tensors& x) -> Tensors {
                       return {at::gcd(x[0], x[1]), at::lcm(x[0], x[1]), at::signbit(x[0])};
                     },
                     {a.to(dtype), b.to(dtype)});
  }
  expect_as_on_cpu("repeat_interleave", [](const Tensors& x) -> Tensors { return {at::repeat_interleave(x[0])}; },
                   {torch::tensor(std::vector<int64_t>{2, 0, 3, 1}).to(at::kInt)});
}

TEST(Forms, UnsignedIntegersInOrder) {
  for (const ScalarType dtype : {at::kUInt16, at::kUInt32, at::kUInt64}) {
    const Tensor x = torch::randperm(50).to(dtype);
    expect_as_on_cpu(named("sort", dtype),
                     [](const Tensors& t) -> Tensors {
                       const auto [sorted, places] = at::sort(t[0], 0, true);
                       return {sorted, places};
                     },
                     {x});
  }
  const Tensor z = torch::view_as_complex(torch::randint(0, 2, {12, 3, 2}).to(at::kDouble));
  expect_as_on_cpu("unique_consecutive of complex numbers",
                   [](const Tensors& t) -> Tensors {
                     const auto [unique, inverse, counts] = at::unique_consecutive(t[0].reshape({-1}), true, true);
                     return {unique, inverse, counts};
                   },
                   {z});
}

TEST(Forms, GradientsOfLosses) {
  const Tensor x = wanting(numbers({40}, at::kDouble) * 3), y = numbers({40}, at::kDouble, 2);
  const struct {
    const char* name;
    Tensor (*loss)(const Tensor&, const Tensor&);
  } all[] = {{"smooth_l1", [](const Tensor& a, const Tensor& b) { return at::smooth_l1_loss(a, b, 0, 0.7); }},
             {"huber", [](const Tensor& a, const Tensor& b) { return at::huber_loss(a, b, 0, 0.7); }},
             {"softplus", [](const Tensor& a, const Tensor& b) { return at::softplus(a, 2, 3) * b; }}};
  for (const auto& f : all) {
    expect_gradients_as_on_cpu(
        f.name, [&](const Tensors& in) { return f.loss(in[0], in[1]); }, {x, y}, 1e-14);
  }
  const Tensor z = wanting(numbers({30}, at::kComplexDouble));
  for (Tensor (*f)(const Tensor&) : {at::sigmoid, at::tanh}) {
    expect_gradients_as_on_cpu(
        "sigmoid and tanh", [&](const Tensors& in) { return f(in[0]); }, {z}, 1e-12);
  }
  for (const ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const Tensor scores = wanting(numbers({6, 5}, dtype)),
                 targets = torch::tensor(std::vector<int64_t>{4, 0, 1, 1, 3, 2});
    for (const int64_t reduction : {0, 1}) {
      expect_gradients_as_on_cpu(
          named("nll_loss", dtype), [&](const Tensors& in) { return at::nll_loss(in[0], in[1], {}, reduction, 3); },
          {scores, targets}, 1e-2);
    }
  }
}

TEST(Forms, RealAndComplexFunctionsAtTheirEdges) {
  const Tensor x = doubles({0, 0.25, 0.75, -1.5, 3, 1e6 + 0.5, kInf, -kInf, NAN});
  expect_as_on_cpu(
      "sinc",
      [](const Tensors& t) -> Tensors {
        return {at::sinc(t[0]), at::sinc(t[0].to(at::kFloat))};
      },
      {x}, 1e-6);
  const Tensor other = doubles({0, 1, -3, 2, 3, 1e6, kInf, -kInf, 1});
  expect_as_on_cpu(
      "logaddexp",
      [](const Tensors& t) -> Tensors {
        return {at::logaddexp(t[0], t[1]), at::logaddexp2(t[0], t[1])};
      },
      {x, other}, 1e-14);
  const Tensor infinite = torch::complex(doubles({kInf, -kInf, kInf, -kInf}), doubles({2, 2, NAN, NAN}));
  expect_as_on_cpu("sqrt of infinities", [](const Tensors& t) -> Tensors { return {at::sqrt(t[0])}; }, {infinite});
  const Tensor low = torch::complex(doubles({-kInf, kInf}), doubles({1, 0}));
  expect_as_on_cpu("logaddexp of infinities", [](const Tensors& t) -> Tensors { return {at::logaddexp(t[0], t[0])}; },
                   {low});
  // Beyond the formulas.
  const Tensor far = doubles({103.5, 107, 109, -1e4, -1.5e4, -1e6, -3e9, -1e14, -1e30, -1e201, 40, -40.5});
  expect_as_on_cpu(
      "airy_ai", [](const Tensors& t) -> Tensors { return {at::special_airy_ai(t[0])}; }, {far}, 1e-12);
  const Tensor s = doubles({3, 4, 70, 71, 3, 2.5, 3, 1.5}),
               q = doubles({-2500.5, -3000.25, -20.5, -30.75, -16, -0.5, -2001.00001, -17.25});
  expect_as_on_cpu(
      "zeta", [](const Tensors& t) -> Tensors { return {at::special_zeta(t[0], t[1])}; }, {s, q}, 1e-12);
}

TEST(Forms, PolynomialsOfAnyDegree) {
  const Tensor x = doubles({-1.5, -0.3, 0, 0.5, 1, 2, 0.1, 0.9}), n = doubles({-1, 0, 1, 2, NAN, 2e6, 1 << 21, -1e9});
  using Polynomial = Tensor (*)(const Tensor&, const Tensor&);
  for (const Polynomial p : std::vector<Polynomial>{
           at::special_chebyshev_polynomial_t, at::special_chebyshev_polynomial_u, at::special_chebyshev_polynomial_v,
           at::special_chebyshev_polynomial_w, at::special_hermite_polynomial_h, at::special_hermite_polynomial_he,
           at::special_laguerre_polynomial_l, at::special_legendre_polynomial_p}) {
    expect_as_on_cpu(
        "a polynomial", [&](const Tensors& t) -> Tensors { return {p(t[0], t[1])}; }, {x, n}, 1e-14);
  }
}

TEST(Forms, NumbersOfARange) {
  for (const ScalarType dtype : {at::kComplexFloat, at::kComplexDouble}) {
    expect_as_on_cpu(
        named("linspace and logspace", dtype),
        [&](const Tensors& t) -> Tensors {
          const at::TensorOptions options = t[0].options().dtype(dtype);
          const c10::complex<double> from(0.5, -1), to(2, 3);
          return {at::linspace(from, to, 7, options), at::logspace(from, to, 7, 2.5, options),
                  at::logspace(-1, 2, 4, 10.0, options)};
        },
        {torch::zeros({1})}, dtype == at::kComplexFloat ? 1e-5 : 1e-12);
  }
  for (const ScalarType dtype : {at::kByte, at::kHalf, at::kFloat, at::kLong, at::kComplexDouble}) {
    expect_as_on_cpu(named("triu and tril", dtype),
                     [](const Tensors& t) -> Tensors {
                       return {at::triu(t[0], 1), at::tril(t[0], -1)};
                     },
                     {numbers({3, 5, 4}, dtype)});
  }
}

TEST(Forms, ScansAndSumsOfComplexNumbers) {
  for (const ScalarType dtype : {at::kComplexFloat, at::kComplexDouble}) {
    const double tolerance = dtype == at::kComplexFloat ? 1e-4 : 1e-11;
    for (const int64_t dim : {0, 1}) {
      expect_as_on_cpu(
          named("scans", dtype),
          [&](const Tensors& t) -> Tensors {
            return {at::cumprod(t[0], dim), at::cumsum(t[0], dim), at::logcumsumexp(t[0], dim), at::prod(t[0], dim)};
          },
          {numbers({6, 70}, dtype)}, tolerance);
    }
  }
  const double edge[] = {-kInf, -kInf, 1, 2, kInf, kInf, 3};
  Tensor z = torch::zeros({7}, torch::kComplexDouble);
  for (int64_t i = 0; i < 7; ++i) z.index_put_({i}, c10::complex<double>(edge[i], 0));
  expect_as_on_cpu(
      "logcumsumexp of infinities", [](const Tensors& t) -> Tensors { return {at::logcumsumexp(t[0], 0)}; }, {z},
      1e-12);
  const Tensor x = doubles({1, kInf, 2, 3, -kInf, 4, NAN, 5, 1, 2, 3, kInf}).reshape({3, 4});
  expect_as_on_cpu("moments of infinities",
                   [](const Tensors& t) -> Tensors {
                     const auto [variance, mean] = at::var_mean(t[0], at::OptionalIntArrayRef(1), true);
                     return {variance, mean};
                   },
                   {x});
}

TEST(Forms, LayerNormOfHalfTheParameters) {
  const Tensor x = wanting(numbers({5, 40}, at::kDouble)), weight = wanting(numbers({40}, at::kDouble, 2)),
               bias = wanting(numbers({40}, at::kDouble, 3));
  expect_gradients_as_on_cpu(
      "layer_norm with a bias", [](const Tensors& t) { return at::layer_norm(t[0], {40}, {}, t[1]); }, {x, bias},
      1e-12);
  expect_gradients_as_on_cpu(
      "layer_norm with a weight", [](const Tensors& t) { return at::layer_norm(t[0], {40}, t[1], {}); }, {x, weight},
      1e-12);
  expect_gradients_as_on_cpu(
      "layer_norm alone", [](const Tensors& t) { return at::layer_norm(t[0], {40}); }, {x}, 1e-12);
}

template <class Layer>
void expect_layer_as_on_cpu(const char* what, Layer& layer) {
  const Tensor x = numbers({3, 4, 5}, at::kFloat);
  const auto run = [&](const torch::Device& device) {
    layer->to(device);
    layer->zero_grad();
    const Tensor in = x.detach().clone().to(device).requires_grad_(true);
    const Tensor out = std::get<0>(layer(in));
    (out * out).sum().backward();
    Tensors results{out, in.grad().clone()};
    for (const Tensor& p : layer->parameters()) results.push_back(p.grad().clone());
    return results;
  };
  const Tensors expected = run(kCpu), got = run(kGpu);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) expect_same(what, got[i], expected[i], 1e-5);
}

TEST(Forms, GradientsOfRecurrentLayers) {
  torch::manual_seed(5);
  nn::RNN tanh(nn::RNNOptions(5, 6).nonlinearity(torch::kTanh)), relu(nn::RNNOptions(5, 6).nonlinearity(torch::kReLU));
  nn::LSTM projected(nn::LSTMOptions(5, 6).proj_size(4));
  expect_layer_as_on_cpu("tanh", tanh);
  expect_layer_as_on_cpu("relu", relu);
  expect_layer_as_on_cpu("projected", projected);
}

TEST(Forms, RowsOfDoublesAreRenormalizedInDouble) {
  const Tensor rows = numbers({4, 9}, at::kDouble), places = torch::tensor(std::vector<int64_t>{2, 0, 2});
  const Tensor norm = rows.norm(2, 1, true), expected = torch::where(norm > 0.5, rows * (0.5 / (norm + 1e-7)), rows);
  for (const torch::Device& device : {kCpu, kGpu}) {
    Tensor given = rows.clone().to(device);
    at::embedding_renorm_(given, places.to(device), 0.5, 2);
    const std::vector<double> got = values_of(given), all = values_of(expected), before = values_of(rows);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], i / 9 == 0 || i / 9 == 2 ? all[i] : before[i], 1e-15) << device << " at " << i;
    }
  }
}

TEST(Forms, SparseMatricesOfEveryDtype) {
  for (const ScalarType dtype : {at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble}) {
    const Tensor dense = numbers({5, 5}, dtype), triangle = dense.tril() + 4 * torch::eye(5, dtype),
                 sides = numbers({5, 3}, dtype, 2);
    expect_as_on_cpu(
        named("a sparse product", dtype),
        [](const Tensors& t) -> Tensors { return {at::mm(t[0].to_sparse_csr(), t[1])}; }, {triangle, sides}, 1e-5);
    expect_as_on_cpu(
        named("a sparse triangular system", dtype),
        [](const Tensors& t) -> Tensors {
          return {std::get<0>(at::triangular_solve(t[1], t[0].to_sparse_csr(), false))};
        },
        {triangle, sides}, 1e-5);
  }
}

// Numbers stand where they do in a dense tensor that is filled after the same seed.
TEST(Forms, RandomNumbersIntoTensorsWithGaps) {
  const auto filled = [](bool gaps, const std::function<void(Tensor&)>& fill) {
    Tensor all = torch::zeros({7, 3, 10}, torch::TensorOptions().device(kGpu).dtype(at::kFloat));
    Tensor t = gaps ? all.index({torch::indexing::Slice(), 1, torch::indexing::Slice(0, 8)})
                    : torch::zeros({7, 8}, all.options());
    torch::cuda::manual_seed(11);
    fill(t);
    if (gaps) {
      EXPECT_EQ(values_of(all.index({torch::indexing::Slice(), 0})), std::vector<double>(70));
      EXPECT_EQ(values_of(all.index({torch::indexing::Slice(), 1, torch::indexing::Slice(8)})),
                std::vector<double>(14));
    }
    return values_of(t);
  };
  for (const std::function<void(Tensor&)>& fill : std::vector<std::function<void(Tensor&)>>{
           [](Tensor& t) { t.uniform_(); }, [](Tensor& t) { t.normal_(); }, [](Tensor& t) { t.random_(0, 1000); }}) {
    EXPECT_EQ(filled(true, fill), filled(false, fill));
  }
  const auto points = [](const Tensors& t) -> Tensors {
    const auto [drawn, last] = at::_sobol_engine_draw(t[0], 4, t[1], 3, 0, at::kDouble);
    return {drawn, last};
  };
  Tensor state = torch::zeros({3, 30}, torch::kLong);
  at::_sobol_engine_initialize_state_(state, 3);
  expect_as_on_cpu("points of Sobol", points, {torch::zeros({3}, torch::kLong), state});
}

}  // namespace
