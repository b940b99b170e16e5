// Errors of operators, printed: dtypes that they do not take.
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

using namespace torch;
namespace F = torch::nn::functional;

void part_1() {
  [[maybe_unused]] const auto f = torch::ones({2}), c = torch::complex(f, f), cd = c.to(kComplexDouble),
                              h = f.to(kHalf);
  [[maybe_unused]] auto l = torch::ones({2}, kLong), b = torch::ones({2}, kBool), u = torch::ones({2}, kByte);
  REFUSED(f & f);
  REFUSED(f | f);
  REFUSED(f ^ f);
  REFUSED(torch::bitwise_left_shift(f, f));
  REFUSED(torch::bitwise_right_shift(f, 1));
  REFUSED(torch::bitwise_left_shift(c, 1));
  REFUSED(torch::bitwise_left_shift(b, b));
  REFUSED(torch::gcd(f, f));
  REFUSED(torch::lcm(f, f));
  REFUSED(torch::gcd(b, b));
  REFUSED(f & 1);
  REFUSED(torch::bitwise_not(f));
  REFUSED(torch::lcm(b, b));
  REFUSED(c <= c);
  REFUSED(c >= 1);
  REFUSED(c < cd);
  REFUSED(torch::gt(f, c));
  REFUSED(torch::le(c, 1));
  REFUSED(c.lt_(1));
  REFUSED(torch::le(cd, c));
  REFUSED(torch::eq(c, c));
  REFUSED(torch::minimum(c, c));
  REFUSED(torch::fmax(c, c));
  REFUSED(torch::fmin(c, c));
  REFUSED(torch::fmod(c, c));
  REFUSED(torch::fmod(c, 2));
  REFUSED(torch::remainder(c, 2));
  REFUSED(torch::remainder(2, c));
  REFUSED(torch::floor_divide(c, c));

  REFUSED(torch::heaviside(c, c));
  REFUSED(torch::logaddexp(c, c));
}

void part_2() {
  [[maybe_unused]] const auto f = torch::ones({2}), c = torch::complex(f, f), cd = c.to(kComplexDouble),
                              h = f.to(kHalf);
  [[maybe_unused]] auto l = torch::ones({2}, kLong), b = torch::ones({2}, kBool), u = torch::ones({2}, kByte);
  REFUSED(torch::maximum(b, b));
  REFUSED(torch::max(c, c));

  REFUSED(torch::xlogy(c, c));

  REFUSED(torch::gcd(c, c));
  REFUSED(torch::ceil(c));
  REFUSED(torch::round(c));
  REFUSED(torch::trunc(c));
  REFUSED(torch::frac(c));

  REFUSED(torch::sort(c));

  REFUSED(torch::msort(c));
  REFUSED(torch::argsort(c));

  REFUSED(torch::argmax(c));

  REFUSED(torch::cummax(b, 0));
  REFUSED(torch::logsumexp(b, 0));
  REFUSED(torch::histc(l));
}

void part_3() {
  [[maybe_unused]] const auto f = torch::ones({2}), c = torch::complex(f, f), cd = c.to(kComplexDouble),
                              h = f.to(kHalf);
  [[maybe_unused]] auto l = torch::ones({2}, kLong), b = torch::ones({2}, kBool), u = torch::ones({2}, kByte);
  REFUSED(torch::bincount(l, f.to(kLong)));

  REFUSED(torch::_unique2(c));

  REFUSED(torch::cumsum(b, 0));
  REFUSED(torch::prod(b));

  REFUSED(torch::sign(b));

  REFUSED(torch::pow(b, true));
  REFUSED(torch::pow(b, 2));

  REFUSED(torch::clamp(c, 0, 1));
  REFUSED(torch::clamp_min(c, 0));

  REFUSED(torch::relu(b));

  REFUSED(torch::sigmoid(l));

  REFUSED(torch::hardtanh(b));
}

void part_4() {
  [[maybe_unused]] const auto f = torch::ones({2}), c = torch::complex(f, f), cd = c.to(kComplexDouble),
                              h = f.to(kHalf);
  [[maybe_unused]] auto l = torch::ones({2}, kLong), b = torch::ones({2}, kBool), u = torch::ones({2}, kByte);

  REFUSED(torch::digamma(c));
  REFUSED(torch::isposinf(c));
  REFUSED(torch::signbit(c));
  REFUSED(torch::nan_to_num(c));
  REFUSED(torch::conv1d(torch::ones({1, 1, 3}, kLong), torch::ones({1, 1, 2}, kLong)));

  REFUSED(torch::dropout(l, .5, true));
  REFUSED(torch::batch_norm(torch::ones({2, 2}, kLong), {}, {}, {}, {}, true, .1, 1e-5, false));

  REFUSED(torch::avg_pool2d(torch::ones({1, 1, 2, 2}, kLong), 2));
  REFUSED(torch::max_pool2d(torch::ones({1, 1, 2, 2}, kBool), 2));
  REFUSED(torch::max_pool2d(c.view({1, 1, 2}), 1));

  REFUSED(torch::l1_loss(l, l));

  REFUSED(torch::embedding(torch::ones({2, 2}), f));
  REFUSED(l.uniform_());
  REFUSED(l.normal_());
  REFUSED(torch::randn({2}, kLong));
  REFUSED(torch::rand({2}, kLong));

  REFUSED(torch::bernoulli(l));
  REFUSED(torch::multinomial(l, 1));

  REFUSED(torch::poisson(l));
  REFUSED(torch::rand_like(l));
  REFUSED(torch::randperm(3, kHalf));

  REFUSED(torch::fft::fft(b));
  REFUSED(torch::linspace(0, 1, 3, kLong));
}

void part_5() {
  [[maybe_unused]] const auto f = torch::ones({2}), c = torch::complex(f, f), cd = c.to(kComplexDouble),
                              h = f.to(kHalf);
  [[maybe_unused]] auto l = torch::ones({2}, kLong), b = torch::ones({2}, kBool), u = torch::ones({2}, kByte);

  REFUSED(torch::eye(2, kBool));

  REFUSED(torch::std(l));
  REFUSED(torch::var(l));

  REFUSED(torch::mean(b));

  REFUSED(torch::addmm(l, l, l));

  REFUSED(torch::dot(l, f));

  REFUSED(torch::cdist(torch::ones({2, 2}, kLong), torch::ones({2, 2}, kLong)));
}

void run() {
  part_1();
  part_2();
  part_3();
  part_4();
  part_5();
}

}  // namespace

KINDLING_PROGRAM(refused_dtypes, run);
