// Errors of operators, printed: arguments of wrong sizes, dimensions and values.
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

using namespace torch;
namespace F = torch::nn::functional;

void part_1() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto c = torch::complex(torch::ones({2}), torch::ones({2}));
  [[maybe_unused]] auto i = torch::tensor({0, 1}, torch::kLong);
  REFUSED(c < c);
  REFUSED(c > 1);
  REFUSED(torch::lt(c, c));
  REFUSED(torch::maximum(c, c));
  REFUSED(torch::sort(c));

  REFUSED(torch::clamp(c, 0, 1));
  REFUSED(torch::floor(c));
  REFUSED(torch::argmax(c));

  REFUSED(c.ge_(c));
  REFUSED(torch::sign(c));

  REFUSED(torch::remainder(c, c));

  REFUSED(torch::softmax(a, 2));
  REFUSED(torch::softmax(a, -3));
  REFUSED(torch::log_softmax(a, 5));

  REFUSED(torch::histc(a, 0));
  REFUSED(torch::histc(a, 10, 3, 1));
  REFUSED(torch::histc(torch::ones({3}, torch::kLong), 4));
  REFUSED(torch::histc(torch::tensor({1.f, INFINITY}), 4));
  REFUSED(torch::bincount(torch::tensor({-1, 2})));

  REFUSED(torch::cross(torch::rand({2, 4}), torch::rand({2, 4}), 1));
  REFUSED(torch::cross(torch::rand({2, 4}), torch::rand({2, 4})));

  REFUSED(torch::meshgrid({v, torch::ones({2}, torch::kLong)}, "ij"));
  REFUSED(torch::meshgrid({v, v}, "zz"));
  REFUSED(torch::meshgrid(std::vector<Tensor>{}, "ij"));
  REFUSED(a.repeat({2}));
  REFUSED(a.repeat({2, -1}));
  REFUSED(a.repeat(IntArrayRef{}));

  {
    auto r = torch::rand({2, 3}, requires_grad());
    REFUSED(r.resize_({3}));
  }
}

void part_2() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto c = torch::complex(torch::ones({2}), torch::ones({2}));
  [[maybe_unused]] auto i = torch::tensor({0, 1}, torch::kLong);
  REFUSED(a.expand({3, 3}));
  REFUSED(a.expand({2}));
  REFUSED(a.expand({-1, 2, 3}));
  REFUSED(a.view({7}));
  REFUSED(a.view({-1, -1}));
  REFUSED(a.view({-1, 4}));
  REFUSED(a.reshape({4, 2}));
  REFUSED(a.t().view({6}));
  REFUSED(torch::rand({2, 3, 4}).t());
  REFUSED(a.clone().index_copy_(0, i, b));
  REFUSED(a.clone().index_copy_(2, i, a));
  REFUSED(a.clone().index_copy_(0, a, a));
  REFUSED(a.clone().index_copy_(0, torch::tensor({0, 5}), a));
  REFUSED(a.clone().index_copy_(0, i, a.to(kDouble)));
  REFUSED(a.clone().index_fill_(0, torch::tensor({5}), 1));
  REFUSED(a.clone().index_fill_(3, i, 1));
  REFUSED(a.clone().index_fill_(0, a, 1));
  REFUSED(a.clone().index_fill_(0, i, v));
  REFUSED(a.clone().index_fill_(0, torch::tensor({{0}}), 1));
  REFUSED(a.clone().index_add_(0, i, b));
  REFUSED(a.clone().index_add_(2, i, a));
  REFUSED(a.clone().index_add_(0, torch::tensor({0, 7}), a));
  REFUSED(a.clone().index_add_(0, i, a.to(kDouble)));
  REFUSED(a.clone().index_add_(0, torch::tensor({0}), a));
  REFUSED(a.clone().index_add_(0, a, a));
  REFUSED(a.clone().masked_scatter_(a > 2, b.to(kDouble)));
  REFUSED(a.clone().masked_scatter_(torch::ones({2, 3}, kBool), torch::rand({2})));
  REFUSED(a.clone().masked_scatter_(a, b));

  REFUSED(a.masked_fill(a > 0, v));
  REFUSED(a.masked_fill(torch::ones({5}, kBool), 1));
  REFUSED(a.masked_select(a));
  REFUSED(a.masked_select(torch::ones({5}, kBool)));
  REFUSED(torch::addmm(a, a, b));
  REFUSED(torch::addmm(v, a, torch::rand({3, 3}, kDouble)));
  REFUSED(torch::addmm(v.to(kDouble), a, torch::rand({3, 3})));
  REFUSED(torch::addmm(v, v, a));
  REFUSED(torch::addmm(torch::rand({7}), a, torch::rand({3, 3})));
}

void part_3() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto c = torch::complex(torch::ones({2}), torch::ones({2}));
  [[maybe_unused]] auto i = torch::tensor({0, 1}, torch::kLong);
  REFUSED(torch::addmv(v, a, v));
  REFUSED(torch::addr(a, v, v));

  REFUSED(torch::baddbmm(a, torch::rand({2, 2, 3}), torch::rand({3, 3, 3})));
  REFUSED(torch::mm(a, b));
  REFUSED(torch::mm(v, a));
  REFUSED(torch::mm(a, torch::rand({3, 2}, kDouble)));
  REFUSED(torch::matmul(a, b));
  REFUSED(torch::matmul(a, torch::tensor(1.)));
  REFUSED(torch::bmm(a, a));
  REFUSED(torch::bmm(torch::rand({2, 3, 4}), torch::rand({2, 3, 4})));
  REFUSED(torch::mv(a, a));
  REFUSED(torch::dot(v, a));
  REFUSED(torch::dot(v, torch::rand({4})));
  REFUSED(torch::dot(v, v.to(kDouble)));
  REFUSED(torch::outer(a, v));

  REFUSED(torch::tensordot(a, b, {1}, {0}));
  REFUSED(torch::einsum("ij,jk->ik", {a, b}));
  REFUSED(torch::einsum("ij->ijk", {a}));
  REFUSED(torch::einsum("i,j", {a, b}));
  REFUSED(torch::einsum("i$->i", {a}));
  REFUSED(torch::einsum("ijk", {a}));
  REFUSED(torch::einsum("ij", {a, b}));
  REFUSED(torch::einsum("", {}));
  REFUSED(a.clone().index_put_({torch::tensor({0, 5})}, 1));
  REFUSED(a.clone().index_put_({torch::tensor({0, 1})}, b));
  REFUSED(a.clone().index_put_({a}, 1));
  REFUSED(a.index({torch::tensor({5})}));
  REFUSED(a.index({i, i, i}));
  REFUSED(a.index({torch::ones({3}, kBool)}));
  REFUSED(a[5]);
  REFUSED(a[0][0][0]);
  REFUSED(a.index({5}));
  REFUSED(a.index({torch::indexing::Slice(torch::indexing::None, torch::indexing::None, -1)}));
  REFUSED(a.index({torch::indexing::Slice(torch::indexing::None, torch::indexing::None, 0)}));
  REFUSED(a.index({0, 0, 0}));
  REFUSED(torch::tensor(1.)[0]);
  REFUSED(a.clone().index_put_({0}, b));
  REFUSED(a.clone().index_put_({torch::tensor({0})}, torch::ones({3}, kDouble)));
}

void part_4() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto c = torch::complex(torch::ones({2}), torch::ones({2}));
  [[maybe_unused]] auto i = torch::tensor({0, 1}, torch::kLong);
  REFUSED(a.index({torch::tensor({0, 1}), torch::tensor({0, 1, 2})}));
  REFUSED(a + b);
  REFUSED(a.add_(torch::rand({3, 2, 3})));
  REFUSED(torch::ones({2}, kLong).add_(1.5));
  REFUSED(torch::ones({2}, kLong).add_(torch::ones({2})));
  REFUSED(torch::ones({2}, kBool) - torch::ones({2}, kBool));
  REFUSED(-torch::ones({2}, kBool));
  REFUSED(torch::ones({2}, kLong).div_(2));
  REFUSED(a & a);
  REFUSED(~a);
  REFUSED(torch::ones({2}, kLong) / 0);
  REFUSED(torch::floor_divide(torch::ones({2}, kLong), 0));
  REFUSED(torch::pow(torch::ones({2}, kLong), -1));
  REFUSED(torch::add(torch::ones({2}, kLong), torch::ones({2}, kLong), 1.5));
  REFUSED(torch::add(a, a, Scalar(c10::complex<double>(1, 1))));
  REFUSED(torch::sub(torch::ones({2}, kLong), true));
  REFUSED(torch::rsub(torch::ones({2}, kBool), 1));
  REFUSED(torch::mul_out(i, a, a));
  REFUSED(torch::fmod(torch::ones({2}, kLong), 0));
  REFUSED(torch::div(a, a, "up"));
  REFUSED(torch::where(a, a, a));
  REFUSED(torch::where(a > 0, a, b));
  REFUSED(torch::lerp(a, a.to(kDouble), 0.5));

  REFUSED(torch::avg_pool2d(v, 2));
  REFUSED(torch::avg_pool2d(torch::rand({1, 1, 2, 2}), 3));
  REFUSED(torch::avg_pool2d(torch::rand({1, 1, 4, 4}), 2, 1, 2));
  REFUSED(torch::avg_pool2d(torch::rand({1, 1, 4, 4}), {2, 2, 2}));
  REFUSED(torch::avg_pool2d(torch::rand({1, 1, 4, 4}), 2, 2, 0, false, true, 0));
  REFUSED(torch::max_pool2d(a, 2));
  REFUSED(torch::max_pool2d(torch::rand({1, 1, 2, 2}), 5));
  REFUSED(torch::max_pool2d(torch::rand({1, 1, 4, 4}), 2, 0));
  REFUSED(torch::avg_pool1d(a, 5));
  REFUSED(torch::avg_pool1d(v, 2));

  REFUSED(torch::adaptive_avg_pool2d(torch::rand({1, 2, 3, 3}), {2}));
  REFUSED(torch::avg_pool3d(a, 2));

  REFUSED(torch::max_pool3d(a, 2));
  REFUSED(torch::adaptive_max_pool2d(v, {2, 2}));
}

void part_5() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto c = torch::complex(torch::ones({2}), torch::ones({2}));
  [[maybe_unused]] auto i = torch::tensor({0, 1}, torch::kLong);
  REFUSED(torch::max_pool2d_with_indices(torch::rand({1, 1, 4, 4}), 2, 1, 2));
}

void run() {
  part_1();
  part_2();
  part_3();
  part_4();
  part_5();
}

}  // namespace

KINDLING_PROGRAM(refused_arguments, run);
