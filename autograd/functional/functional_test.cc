#include "autograd/functional/functional.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/test_support.h"
#include "c10/util/exception.h"

namespace torch::autograd::functional {
namespace {

using at::Tensor;
using test::message_of;
using test::numbers;
using test::tensor_of;
using Values = std::vector<double>;

Tensor cube(const Tensor& x) { return at::mul(at::mul(x, x), x); }
Tensor twice(const Tensor& x) { return at::mul(x, 2); }
Tensor sum_of_cubes(const Tensor& x) { return at::sum(cube(x)); }
// x0 * y, elementwise, and the sum of x0.
variable_list two_of_two(const variable_list& in) { return {at::mul(in[0], in[1]), at::sum(in[0])}; }
// sum(x^2 y)
variable_list mixed(const variable_list& in) { return {at::sum(at::mul(at::mul(in[0], in[0]), in[1]))}; }

TEST(Functional, ProductsWithTheJacobian) {
  const auto [y, vj] = vjp(cube, tensor_of({1, 2}), tensor_of({1, 10}));
  EXPECT_EQ(numbers(y), (Values{1, 8}));
  EXPECT_EQ(numbers(vj), (Values{3, 120}));
  EXPECT_FALSE(vj.requires_grad());
  EXPECT_EQ(numbers(vjp(sum_of_cubes, tensor_of({1, 2})).second), (Values{3, 12}));
  const auto [z, jv] = jvp(cube, tensor_of({1, 2}), tensor_of({1, 10}));
  EXPECT_EQ(numbers(z), (Values{1, 8}));
  EXPECT_EQ(numbers(jv), (Values{3, 120}));
  const auto both = jvp(two_of_two, {tensor_of({1, 2}), tensor_of({3, 4})}, {tensor_of({1, 1}), tensor_of({1, 10})});
  EXPECT_EQ(numbers(both.second[0]), (Values{4, 24}));
  EXPECT_EQ(numbers(both.second[1]), Values{2});
  const auto back = vjp(two_of_two, {tensor_of({1, 2}), tensor_of({3, 4})}, {tensor_of({1, 10}), at::ones({}, at::TensorOptions().dtype(at::kDouble))});
  EXPECT_EQ(numbers(back.second[0]), (Values{4, 41}));
  EXPECT_EQ(numbers(back.second[1]), (Values{1, 20}));
}

TEST(Functional, Jacobians) {
  EXPECT_EQ(numbers(jacobian(cube, tensor_of({1, 2}))), (Values{3, 0, 0, 12}));
  const auto blocks = jacobian(two_of_two, {tensor_of({1, 2}), tensor_of({3, 4})});
  EXPECT_EQ(numbers(blocks[0][0]), (Values{3, 0, 0, 4}));
  EXPECT_EQ(numbers(blocks[0][1]), (Values{1, 0, 0, 2}));
  EXPECT_EQ(numbers(blocks[1][0]), (Values{1, 1}));
  EXPECT_EQ(numbers(blocks[1][1]), (Values{0, 0}));
  const Tensor wide = jacobian([](const Tensor& t) { return at::reshape(t, {2, 1}); }, tensor_of({1, 2}));
  EXPECT_EQ(wide.sizes(), at::IntArrayRef({2, 1, 2}));
  EXPECT_EQ(jacobian(cube, tensor_of({})).sizes(), at::IntArrayRef({0, 0}));
}

TEST(Functional, HessiansAndProducts) {
  EXPECT_EQ(numbers(hessian(sum_of_cubes, tensor_of({1, 2}))), (Values{6, 0, 0, 12}));
  const auto blocks = hessian(mixed, {tensor_of({1, 2}), tensor_of({3, 4})});
  EXPECT_EQ(numbers(blocks[0][0]), (Values{6, 0, 0, 8}));
  EXPECT_EQ(numbers(blocks[0][1]), (Values{2, 0, 0, 4}));
  EXPECT_EQ(numbers(blocks[1][0]), (Values{2, 0, 0, 4}));
  EXPECT_EQ(numbers(blocks[1][1]), (Values{0, 0, 0, 0}));
  const auto [f, hv] = hvp(sum_of_cubes, tensor_of({1, 2}), tensor_of({1, 10}));
  EXPECT_EQ(numbers(f), Values{9});
  EXPECT_EQ(numbers(hv), (Values{6, 120}));
  EXPECT_EQ(numbers(vhp(sum_of_cubes, tensor_of({1, 2}), tensor_of({1, 10})).second), (Values{6, 120}));
  const auto products = hvp(mixed, {tensor_of({1, 2}), tensor_of({3, 4})}, {tensor_of({1, 0}), tensor_of({0, 1})});
  EXPECT_EQ(numbers(products.second[0]), (Values{6, 4}));
  EXPECT_EQ(numbers(products.second[1]), (Values{2, 0}));
  // Of a linear function.
  EXPECT_EQ(numbers(hvp([](const Tensor& t) { return at::sum(twice(t)); }, tensor_of({1, 2}), tensor_of({1, 1})).second), (Values{0, 0}));
}

TEST(Functional, ResultsWithAGraph) {
  const Tensor x = tensor_of({1, 2}).set_requires_grad(true);
  const Tensor j = jacobian(cube, x, /*create_graph=*/true);
  EXPECT_EQ(numbers(grad({at::sum(j)}, {x})[0]), (Values{6, 12}));
  const auto hv = vhp(sum_of_cubes, x, tensor_of({1, 1}), /*create_graph=*/true).second;
  EXPECT_EQ(numbers(grad({at::sum(hv)}, {x})[0]), (Values{6, 6}));
  const auto jv = jvp(cube, x, tensor_of({1, 1}), /*create_graph=*/true).second;
  EXPECT_EQ(numbers(grad({at::sum(jv)}, {x})[0]), (Values{6, 12}));
  EXPECT_FALSE(jacobian(cube, x).requires_grad());
  const NoGradGuard no_grad;
  EXPECT_EQ(numbers(jacobian(cube, x)), (Values{3, 0, 0, 12}));
}

TEST(Functional, Errors) {
  const Tensor x = tensor_of({1, 2, 3});
  EXPECT_EQ(message_of([&] { jvp(twice, x); }),
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.");
  EXPECT_EQ(message_of([&] { vjp(twice, x); }),
            "The vector v can only be None if the user-provided function returns a single Tensor with a single element.");
  EXPECT_EQ(message_of([&] { vjp(twice, x, tensor_of({1, 2})); }), "v has invalid size: should be [3] but got [2].");
  EXPECT_EQ(message_of([&] { vjp(two_of_two, {x, x}, {x}); }), "v is a list of invalid length: should be 2 but got 1.");
  EXPECT_EQ(message_of([&] { hessian(twice, x); }), "The Tensor returned by the function given to hessian should contain a single element");
  EXPECT_EQ(message_of([&] { hvp(two_of_two, {x, x}, {x, x}); }), "The function given to hvp should return a single Tensor");
}

TEST(Functional, StrictRefusesIndependentResults) {
  const Tensor x = tensor_of({1, 2});
  const auto detached = [](const Tensor& t) { return at::mul(at::detach(t), 2); };
  const ListFunction of_first = [](const variable_list& in) -> variable_list { return {at::mul(in[0], 2)}; };
  EXPECT_EQ(numbers(jacobian(detached, x)), (Values{0, 0, 0, 0}));
  EXPECT_NE(message_of([&] { jacobian(detached, x, false, true); }).find("Output 0 of the user-provided function does not require gradients."),
            std::string::npos);
  EXPECT_EQ(numbers(jacobian(of_first, {x, x})[0][1]), (Values{0, 0, 0, 0}));
  EXPECT_EQ(message_of([&] { jacobian(of_first, {x, x}, false, true); }),
            "Output 0 of the user-provided function is independent of input 1. This is not allowed in strict mode.");
  EXPECT_EQ(message_of([&] { vjp(of_first, {x, x}, {x}, false, true); }),
            "The output of the user-provided function is independent of input 1. This is not allowed in strict mode.");
  EXPECT_NE(message_of([&] { hvp([](const Tensor& t) { return at::sum(twice(t)); }, x, x, false, true); }).find("While computing the hessian"),
            std::string::npos);
}

}  // namespace
}  // namespace torch::autograd::functional
