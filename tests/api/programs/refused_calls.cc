// Errors of layers, losses, shapes and factories, printed.
#include <torch/torch.h>

#include <iostream>

#include "tests/api/programs/program.h"
#include "tests/api/programs/report.h"

namespace {

using namespace torch;
namespace F = torch::nn::functional;

void part_1() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto t = torch::tensor({0, 1}), x = torch::rand({2, 3});
  REFUSED(torch::cat({a, b}));
  REFUSED(torch::cat({a, v}));
  REFUSED(torch::cat({a, a}, 5));
  REFUSED(torch::cat(std::vector<Tensor>{}));
  REFUSED(torch::stack({a, b}));
  REFUSED(torch::stack(std::vector<Tensor>{}));
  REFUSED(torch::stack({a}, 4));
  REFUSED(torch::vstack({a, b}));
  REFUSED(torch::hstack({a, b}));
  REFUSED(torch::conv2d(a, torch::rand({1, 1, 3, 3})));
  REFUSED(torch::conv2d(torch::rand({1, 2, 5, 5}), torch::rand({1, 3, 3, 3})));
  REFUSED(torch::conv2d(torch::rand({1, 1, 2, 2}), torch::rand({1, 1, 3, 3})));
  REFUSED(torch::conv2d(torch::rand({1, 1, 5, 5}), torch::rand({1, 1, 3, 3}), torch::rand({2})));
  REFUSED(torch::conv2d(torch::rand({1, 1, 5, 5}), torch::rand({1, 1, 3, 3}), Tensor(), IntArrayRef({0, 0})));
  REFUSED(torch::conv2d(torch::rand({1, 1, 5, 5}), torch::rand({1, 1, 3, 3}), Tensor(), 1, -1));
  REFUSED(torch::conv2d(torch::rand({1, 3, 5, 5}), torch::rand({2, 1, 3, 3}), Tensor(), 1, IntArrayRef({0, 0}), 1, 2));

  REFUSED(torch::conv1d(a, torch::rand({1, 2, 5})));
  REFUSED(torch::conv_transpose2d(torch::rand({1, 2, 5, 5}), torch::rand({3, 1, 3, 3})));
  REFUSED(torch::conv2d(torch::rand({1, 1, 5, 5}), torch::rand({1, 1, 3, 3}), torch::Tensor(), IntArrayRef({1, 1, 1})));
  REFUSED(torch::conv2d(torch::rand({1, 1, 5, 5}), torch::rand({1, 1, 3, 3}), Tensor(), 1, IntArrayRef({0, 0}),
                        IntArrayRef({0, 0})));

  REFUSED(torch::linear(a, b));
  REFUSED(torch::linear(a, torch::rand({2, 3}), torch::rand({5})));
  { nn::Linear l(4, 2); }
  {
    nn::Conv2d l(3, 2, 3);

    REFUSED(l(torch::rand({1, 1, 4, 4})));
  }
  {
    nn::LSTM l(3, 2);
    REFUSED(l(torch::rand({2, 2, 4})));
  }
  { nn::GRU l(3, 2); }
  { nn::BatchNorm2d l(3); }
  { nn::BatchNorm1d l(3); }
  { nn::LayerNorm l(nn::LayerNormOptions({4})); }
  programs::report("GroupNorm(2,3)", [] {
    nn::GroupNorm l(2, 3);
    l(torch::rand({1, 3, 2, 2}));
  });
  programs::report("Embedding range", [] {
    nn::Embedding e(3, 2);
    e(torch::tensor({5}));
  });
  programs::report("Embedding float", [] {
    nn::Embedding e(3, 2);
    e(torch::tensor({1.f}));
  });
  programs::report("Embedding neg", [] {
    nn::Embedding e(3, 2);
    e(torch::tensor({-1}));
  });
  programs::report("mha", [] { nn::MultiheadAttention m(5, 2); });

  programs::report("embedding padding", [] { nn::Embedding(nn::EmbeddingOptions(3, 2).padding_idx(7)); });
}

void part_2() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto t = torch::tensor({0, 1}), x = torch::rand({2, 3});

  programs::report("PReLU", [] {
    nn::PReLU p(nn::PReLUOptions().num_parameters(4));
    p(torch::rand({2, 3}));
  });
  programs::report("Fold", [] {
    nn::Fold f(nn::FoldOptions({4, 4}, {2, 2}));
    f(torch::rand({1, 3, 9}));
  });
  programs::report("pixel_shuffle", [] { torch::pixel_shuffle(torch::rand({1, 3, 2, 2}), 2); });
  programs::report("pixel_shuffle2", [] { torch::pixel_shuffle(torch::rand({3}), 2); });
  REFUSED(torch::nll_loss(x, torch::tensor({0, 5})));
  REFUSED(torch::nll_loss(x, torch::tensor({0})));
  REFUSED(torch::nll_loss(x, x));
  REFUSED(torch::cross_entropy_loss(x, torch::tensor({0, 5})));
  REFUSED(torch::cross_entropy_loss(x, torch::tensor({0, 1, 2})));
  REFUSED(torch::cross_entropy_loss(x, torch::tensor({0, 1}, kInt)));
  REFUSED(torch::cross_entropy_loss(x, torch::tensor({0.f, 1.f})));
  REFUSED(F::cross_entropy(x, t, F::CrossEntropyFuncOptions().weight(torch::rand({2}))));
  REFUSED(F::cross_entropy(x, t, F::CrossEntropyFuncOptions().label_smoothing(2)));

  REFUSED(torch::binary_cross_entropy(x * 3 + 1, x));

  REFUSED(torch::mse_loss(x, b));
  REFUSED(F::mse_loss(x, b));
  REFUSED(F::l1_loss(x, b));
  REFUSED(torch::kl_div(x, b));
  REFUSED(F::smooth_l1_loss(x, x, F::SmoothL1LossFuncOptions().beta(-1)));
  REFUSED(F::huber_loss(x, x, F::HuberLossFuncOptions().delta(-1)));
  REFUSED(torch::ctc_loss(x, t, t, t));
  REFUSED(F::cosine_embedding_loss(x, x, x));
  REFUSED(F::margin_ranking_loss(x, v, torch::rand({2, 2})));
  REFUSED(F::multi_margin_loss(x, torch::tensor({0, 9})));
  REFUSED(F::triplet_margin_loss(x, v, torch::tensor(1.)));
  REFUSED(F::one_hot(torch::tensor({0, 5}), 3));
  REFUSED(F::one_hot(x));
  REFUSED(F::one_hot(torch::tensor({-1})));
  REFUSED(F::one_hot(torch::empty({0}, kLong)));
  REFUSED(x.backward());
  {
    auto r = torch::rand({2}, requires_grad());
    REFUSED(r.backward());
    auto y = (r * 2).sum();
    y.backward();
    REFUSED(y.backward());
    REFUSED(r.add_(1));
    REFUSED((r * r).backward(torch::ones({3})));
    REFUSED(r.data_ptr<int>());
    REFUSED(r.accessor<float, 2>());
    REFUSED(r.accessor<int, 1>());
    REFUSED(r.item());

    REFUSED(torch::autograd::grad({(r * 2)}, {r}));
    auto z = r.exp();
    auto w = z.sum();
    REFUSED({
      torch::NoGradGuard g;
      z.add_(1);
    });

    REFUSED(r.detach().requires_grad_().set_requires_grad(true));
    REFUSED(torch::ones({2}, kLong).set_requires_grad(true));
    REFUSED(torch::ones({2}, torch::dtype(kLong).requires_grad(true)));
    REFUSED((r * 2).set_requires_grad(false));
    REFUSED(r.detach_());
    auto view = r.view({2});
    REFUSED(view.detach_());
    REFUSED(view.mul_(2));
    REFUSED(r.grad().backward());
  }
  REFUSED(torch::empty({0}).item());
  REFUSED(torch::empty({0}).max());
  REFUSED(torch::empty({0}).argmax());
  REFUSED(torch::empty({0, 3}).max(0));
}

void part_3() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto t = torch::tensor({0, 1}), x = torch::rand({2, 3});
  REFUSED(torch::empty({0}).min());
  REFUSED(torch::empty({0}).median());
  REFUSED(a.sum(5));
  REFUSED(a.sum({0, 0}));
  REFUSED(a.mean({0, -2}));
  REFUSED(torch::ones({2}, kLong).mean());
  REFUSED(a.max(3));
  REFUSED(a.argmax(2));
  REFUSED(a.norm(2, 4));
  REFUSED(a.std(7));
  REFUSED(a.cumsum(2));
  REFUSED(a.prod(2));
  REFUSED(a.all(2));
  REFUSED(a.sort(2));
  REFUSED(a.topk(9));
  REFUSED(a.topk(1, 4));
  REFUSED(a.kthvalue(9));
  REFUSED(a.kthvalue(0));
  REFUSED(a.unsqueeze(5));
  REFUSED(a.squeeze(5));
  REFUSED(a.transpose(0, 5));
  REFUSED(a.permute({0}));
  REFUSED(a.permute({0, 0}));
  REFUSED(a.permute({0, 5}));
  REFUSED(a.flatten(1, 0));
  REFUSED(a.flatten(0, 7));
  REFUSED(a.unflatten(0, {3, 3}));
  REFUSED(a.select(0, 9));
  REFUSED(a.select(5, 0));
  REFUSED(a.narrow(0, 1, 5));
  REFUSED(a.narrow(0, -9, 1));
  REFUSED(a.narrow(0, 0, -1));
  REFUSED(a.slice(4));
  REFUSED(a.slice(0, 0, 1, 0));
  REFUSED(a.split(0));
  REFUSED(a.split(-1));
  REFUSED(a.split_with_sizes({1, 2}));
  REFUSED(a.chunk(0));
  REFUSED(a.chunk(2, 6));
  REFUSED(a.unbind(3));
}

void part_4() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto t = torch::tensor({0, 1}), x = torch::rand({2, 3});
  REFUSED(a.diagonal(0, 0, 0));
  REFUSED(v.diagonal());
  REFUSED(torch::diag(torch::rand({2, 2, 2})));
  REFUSED(v.tril());
  REFUSED(torch::trace(v));
  REFUSED(a.flip({0, 0}));
  REFUSED(a.flip({4}));
  REFUSED(a.roll({1, 2}, {0}));
  REFUSED(torch::rot90(v));
  REFUSED(a.as_strided({2}, {1, 1}));
  REFUSED(a.as_strided({20}, {1}));
  REFUSED(a.unfold(0, 5, 1));
  REFUSED(a.unfold(0, 1, 0));
  REFUSED(a.movedim(0, 4));
  REFUSED(a.gather(0, torch::tensor({{7}})));
  REFUSED(a.gather(0, torch::tensor({7})));
  REFUSED(a.gather(1, torch::tensor({{0, 1, 2}, {0, 1, 2}, {0, 0, 0}})));
  REFUSED(a.gather(0, a));
  REFUSED(a.clone().scatter_(0, torch::tensor({{7}}), 1));

  REFUSED(a.index_select(0, torch::tensor({5})));
  REFUSED(a.index_select(0, a));
  REFUSED(a.index_select(7, torch::tensor({0})));
  REFUSED(a.index_select(0, torch::tensor({{0}})));
  REFUSED(a.take(torch::tensor({17})));
  REFUSED(a.take(a));

  REFUSED(torch::searchsorted(v, a.to(kDouble)));
  REFUSED(torch::bucketize(a, a));
  REFUSED(torch::arange(0, 5, -1));
  REFUSED(torch::arange(0, 5, 0));
  REFUSED(torch::arange(NAN));
  REFUSED(torch::linspace(0, 1, -1));
  REFUSED(torch::full({2}, 1, torch::kInt).item<bool>());

  REFUSED(torch::empty({2, -3}));
  REFUSED(torch::eye(-1));
  REFUSED(torch::randint(5, 5, {2}));
  REFUSED(torch::randint(5, 2, {2}));
}

void part_5() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto t = torch::tensor({0, 1}), x = torch::rand({2, 3});
  REFUSED(torch::randperm(-1));
  REFUSED(torch::normal(0, -1, {2}));

  REFUSED(a.bernoulli_(2));
  REFUSED(a.uniform_(2, 1));
  REFUSED(a.normal_(0, -1));
  REFUSED(a.exponential_(-1));
  REFUSED(a.geometric_(2));
  REFUSED(torch::multinomial(a, 5));
  REFUSED(torch::multinomial(-a, 1));
  REFUSED(torch::multinomial(torch::zeros({3}), 1));
  REFUSED(torch::multinomial(a.to(kLong), 1));
  REFUSED(torch::poisson(-a));

  REFUSED(torch::logspace(0, 1, -2));
  REFUSED(torch::from_blob(nullptr, {-2}));
  REFUSED(torch::tensor({1, 2}).to(kFloat).view(kLong));
  REFUSED(a.view(kDouble));
  REFUSED(torch::complex(a, b));
  REFUSED(torch::complex(a, a.to(kDouble)));
  REFUSED(torch::complex(torch::tensor({1}), torch::tensor({1})));
  REFUSED(torch::view_as_complex(a));
  REFUSED(torch::view_as_real(a));
  REFUSED(torch::imag(a));
  REFUSED(torch::polar(a, a.to(kDouble)));
  REFUSED(torch::heaviside(a, torch::ones({2, 3}, kLong)));
  REFUSED(torch::cdist(a, b));
  REFUSED(torch::dist(a, b));
}

void part_6() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto s = torch::tensor(1.f);
  [[maybe_unused]] const auto i = torch::tensor({0, 1}), e = torch::rand({1, 0, 5, 5});
  REFUSED(torch::rand({2, 3, 4}).index_copy_(0, i, torch::rand({2, 5, 4})));
  REFUSED(torch::rand({2, 3, 4}).index_copy_(1, i, torch::rand({2, 2, 5})));
  REFUSED(torch::rand({2, 3, 4}).index_add_(1, i, torch::rand({2, 2, 5})));
  REFUSED(torch::rand({2}).index_copy_(0, i, torch::rand({3})));
  REFUSED(torch::rand({2, 3}).index_copy_(0, i, torch::rand({2})));
  REFUSED(torch::rand({2, 3}).index_copy_(0, torch::tensor({0}), torch::tensor(1.f)));
  REFUSED(a.clone().index_copy_(0, torch::tensor({{0, 1}}), a));
  REFUSED(a.clone().index_fill_(0, torch::tensor({0, -1}), 1));
  REFUSED(a.index_fill(0, torch::tensor({{0}}), 1));
  REFUSED(a.clone().index_fill_(0, torch::tensor({-3}), 1));
  REFUSED(a.clone().index_add_(0, torch::tensor({-1, 0}), a));
  REFUSED(a.index_add(0, torch::tensor({{0}}), a));
  REFUSED(a.clone().index_copy_(0, torch::tensor({-1, 0}), a));
  REFUSED(torch::adaptive_max_pool2d(e, {1}));
  REFUSED(torch::adaptive_avg_pool3d(torch::rand({1, 1, 2, 2, 2}), {1}));

  REFUSED(torch::addmm(v, a, v));
  REFUSED(torch::addmm(v, v, a));
  REFUSED(torch::addmm(torch::rand({2, 2, 2}), a, a.t()));

  REFUSED(torch::baddbmm(a, torch::rand({2, 2, 3}), torch::rand({2, 4, 3})));

  REFUSED(torch::matmul(v, a.to(kDouble)));
  REFUSED(torch::matmul(torch::rand({2, 2, 3}), torch::rand({3, 2}, kDouble)));

  REFUSED(torch::ones({-1}));
  REFUSED(torch::rand({-1}));
  REFUSED(torch::randn({-1}));
  REFUSED(torch::full({-1}, 1));
  REFUSED(torch::empty({-1}));
  REFUSED(torch::randint(3, {-1}));

  REFUSED(a.new_zeros({-1}));
  REFUSED(a.new_ones({-2}));
  REFUSED(a.repeat({-1, 2, 2}));
  REFUSED(a.repeat({2, 1, -2}));
}

void part_7() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto s = torch::tensor(1.f);
  [[maybe_unused]] const auto i = torch::tensor({0, 1}), e = torch::rand({1, 0, 5, 5});
  REFUSED(a.masked_fill(torch::ones({5}, kBool), s));
  REFUSED(a.clone().masked_fill_(torch::ones({5}, kBool), 1));
  REFUSED(a.clone().masked_fill_(torch::ones({5, 2, 3}, kBool), 1));
  REFUSED(a.clone().masked_fill_(torch::ones({2, 2, 3}, kBool), 1));
  REFUSED(a.masked_scatter(torch::ones({4, 4}, kBool), a));

  REFUSED(a.masked_fill(a > 0, v));
  REFUSED(a.clone().masked_fill_(a > 0, v));
  REFUSED(torch::masked_scatter(a, a > 0, a.to(kDouble)));
  REFUSED(a.expand({5, 5}));
  REFUSED(a.expand({4, 2, -1, 7}));
  REFUSED(a.expand({-1, -1, 2, 3}));
  REFUSED(a.expand({2}));
  REFUSED(a.to(kLong).expand({2}));
  REFUSED(a.clone().index_put_({0}, torch::rand({4, 5})));
  REFUSED(a.clone().copy_(torch::rand({4, 2, 3})));
  REFUSED(a.slice(0, 0, 1).copy_(torch::rand({5, 3})));

  REFUSED(torch::cosine_embedding_loss(a, a, a));
  REFUSED(torch::triplet_margin_loss(a, v, s));
  REFUSED(F::triplet_margin_loss(a, v, s));
  REFUSED(F::multi_margin_loss(a, torch::tensor({0, 9})));
  REFUSED(torch::multi_margin_loss(a, torch::tensor({0, -1})));
  REFUSED(torch::multi_margin_loss(a, torch::tensor({0, 9})));
  REFUSED(torch::cross_entropy_loss(a, torch::tensor({0.f, 1.f})));
  REFUSED(torch::nll_loss(a, torch::tensor({0.f, 1.f})));
  REFUSED(torch::nll_loss2d(torch::rand({1, 2, 2, 2}), torch::rand({1, 2, 2})));

  REFUSED(torch::one_hot(a));
  REFUSED(torch::embedding(a, v));

  REFUSED(torch::col2im(torch::rand({1, 3, 9}), {4, 4}, {2, 2}, {1, 1}, {0, 0}, {1, 1}));
  REFUSED(a.as_strided({2}, {1, 1}));
  REFUSED(a.as_strided({2, 2}, {1}));
}

void part_8() {
  [[maybe_unused]] const auto a = torch::rand({2, 3}), b = torch::rand({4, 5}), v = torch::rand({3});
  [[maybe_unused]] const auto s = torch::tensor(1.f);
  [[maybe_unused]] const auto i = torch::tensor({0, 1}), e = torch::rand({1, 0, 5, 5});

  REFUSED(torch::isposinf(torch::complex(a, a)));
  REFUSED(torch::isneginf(torch::complex(a, a)));
  REFUSED(torch::round(torch::complex(a, a)));
  REFUSED(torch::frac(torch::complex(a, a)));
  REFUSED(a.gather(0, torch::tensor({{0, 0, 0, 0}})));

  REFUSED(a.clone().scatter_(0, torch::tensor({{0, 0, 0, 0}}), a));

  REFUSED(a.clone().scatter_(0, torch::tensor({{0}}), a.to(kDouble)));

  {
    auto r = torch::rand({2}, requires_grad());
    auto y = r * 2;
    y.set_requires_grad(false);
    std::cout << y.requires_grad() << "\n";
    REFUSED(y.requires_grad_(false));
    REFUSED((r * r).backward(torch::ones({3})));
    REFUSED(torch::autograd::grad({r * 2}, {r}, {torch::ones({5})}));
  }
}

void run() {
  part_1();
  part_2();
  part_3();
  part_4();
  part_5();
  part_6();
  part_7();
  part_8();
}

}  // namespace

KINDLING_PROGRAM(refused_calls, run);
