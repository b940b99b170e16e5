#include "autograd/named/named_tensor.h"

#include <gtest/gtest.h>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"

namespace {

namespace named = torch::named;
using named::dim;
using named::dims;
using named::has_names;
using named::names;
using named::Names;

using at::Tensor;
using c10::testing::message_of;

Tensor with(at::IntArrayRef sizes, const Names& names) {
  return named::rename(torch::randn(sizes), names);
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(NamedTensors, NamesAreGivenAndTaken) {
  const Tensor x = with({2, 3}, {"N", "C"});
  EXPECT_EQ(names(x), (Names{"N", "C"}));
  EXPECT_TRUE(has_names(x));
  EXPECT_EQ(names(torch::ones({2, 3})), (Names{"*", "*"}));
  EXPECT_FALSE(has_names(named::rename(x, std::nullopt)));
  EXPECT_EQ(names(named::rename_some(x, {{"C", "channels"}})), (Names{"N", "channels"}));
  EXPECT_EQ(names(named::rename(x, Names{"*", "C"})), (Names{"*", "C"}));
  EXPECT_THROW(named::rename(x, Names{"N"}), c10::ValueError);
  EXPECT_THROW(named::rename(x, Names{"N", "N"}), c10::ValueError);
  EXPECT_THROW(named::rename(x, Names{"N", "1a"}), c10::ValueError);
  EXPECT_THROW(named::rename(x, Names{"N", "a-b"}), c10::ValueError);
  EXPECT_EQ(message_of<c10::ValueError>([&] {
              named::rename_some(x, {{"H", "h"}});
            }),
            "Name 'H' not found in ['N', 'C'].");
  // One memory.
  const Tensor base = torch::zeros({2});
  named::rename(base, Names{"N"}).add_(1);
  EXPECT_TRUE(at::equal(base, torch::ones({2})));
}

TEST(NamedTensors, RefineNames) {
  const Tensor x = torch::randn({2, 3, 5});
  EXPECT_EQ(names(named::refine_names(x, {"N", "...", "W"})), (Names{"N", "*", "W"}));
  EXPECT_EQ(names(named::refine_names(named::refine_names(x, {"N", "*", "*"}), {"*", "H", "W"})),
            (Names{"N", "H", "W"}));
  EXPECT_TRUE(contains(message_of<c10::ValueError>([] {
                         named::refine_names(with({2, 3}, {"N", "C"}), {"N", "D"});
                       }),
                       "'C' is different from 'D' at index 1"));
  EXPECT_THROW(named::refine_names(x, {"N"}), c10::ValueError);
  EXPECT_THROW(named::refine_names(x, {"...", "N", "..."}), c10::ValueError);
  EXPECT_THROW(named::refine_names(x, {"A", "B", "...", "C", "D"}), c10::ValueError);
}

TEST(NamedTensors, AlignFlattenAndUnflatten) {
  const Tensor x = with({2, 3, 4, 5}, {"N", "C", "H", "W"});
  const Tensor y = named::align_to(x, {"W", "...", "N"});
  EXPECT_EQ(names(y), (Names{"W", "C", "H", "N"}));
  EXPECT_EQ(y.sizes(), at::IntArrayRef({5, 3, 4, 2}));
  EXPECT_TRUE(at::equal(named::rename(y, std::nullopt), named::rename(x, std::nullopt).permute({3, 1, 2, 0})));
  const Tensor z = named::align_as(with({3}, {"C"}), x);
  EXPECT_EQ(z.sizes(), at::IntArrayRef({1, 3, 1, 1}));
  EXPECT_EQ(names(x * z), names(x));
  EXPECT_TRUE(contains(message_of<c10::ValueError>([&] { named::align_to(x, {"N", "C"}); }), "cannot find dim 'H'"));
  EXPECT_THROW(named::align_to(torch::ones({2}), {"N"}), c10::ValueError);
  const Tensor flat = named::flatten(x, {"C", "H", "W"}, "features");
  EXPECT_EQ(names(flat), (Names{"N", "features"}));
  EXPECT_EQ(flat.sizes(), at::IntArrayRef({2, 60}));
  EXPECT_THROW(named::flatten(x, {"C", "W"}, "f"), c10::ValueError);
  EXPECT_THROW(named::flatten(x, {"H", "C"}, "f"), c10::ValueError);
  const Tensor back = named::unflatten(flat, "features", {{"C", 3}, {"H", 4}, {"W", 5}});
  EXPECT_EQ(names(back), names(x));
  EXPECT_TRUE(at::equal(named::rename(back, std::nullopt), named::rename(x, std::nullopt)));
  EXPECT_ANY_THROW(named::unflatten(flat, "features", {{"C", 7}}));
}

TEST(NamedTensors, NamesAreKept) {
  const Tensor x = with({2, 3}, {"N", "C"});
  const std::vector<Tensor> kept = {x.abs(),
                                    x.exp(),
                                    x.neg(),
                                    x.clamp(0, 1),
                                    x.to(at::kDouble),
                                    x.detach(),
                                    x.cumsum(1),
                                    x.softmax(1),
                                    x.log_softmax(0),
                                    x.relu(),
                                    x.clone(),
                                    -x,
                                    x.sigmoid(),
                                    x.slice(0, 0, 1),
                                    x.tril(),
                                    x * 2,
                                    1 - x,
                                    x.gt(0),
                                    x.chunk(2)[1],
                                    at::zeros_like(x),
                                    x.masked_fill(named::rename(x, std::nullopt).gt(0), 1)};
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(names(kept[i]), names(x)) << i;
  EXPECT_EQ(names(std::get<1>(x.topk(1))), names(x));
  EXPECT_EQ(names(x.expand({4, 2, 3})), (Names{"*", "N", "C"}));
  EXPECT_EQ(names(x.unsqueeze(-1)), (Names{"N", "C", "*"}));
}

TEST(NamedTensors, NamesAreUnified) {
  const Tensor nc = with({3, 3}, {"N", "C"}), c = with({3}, {"C"}), n = with({3}, {"N"});
  EXPECT_EQ(names(nc + c), (Names{"N", "C"}));
  EXPECT_EQ(names(torch::ones({3}) * nc), (Names{"N", "C"}));
  EXPECT_EQ(names(with({3, 3}, {"N", "*"}) + with({3, 3}, {"*", "C"})), (Names{"N", "C"}));
  EXPECT_EQ(message_of([&] { nc + n; }),
            "Error when attempting to broadcast dims ['N', 'C'] and dims ['N']: dim 'C' and "
            "dim 'N' are at the same position from the right but do not match.");
  EXPECT_EQ(
      message_of([&] {
        with({3, 3}, {"N", "*"}) + n;
      }),
      "Misaligned dims when attempting to broadcast dims ['N', None] and dims ['N']: dim 'N' appears in a different "
      "position from the right across both lists.");
  EXPECT_EQ(names(at::cat({nc, torch::ones({1, 3})})), (Names{"N", "C"}));
  EXPECT_ANY_THROW(at::cat({nc, with({1, 3}, {"N", "D"})}));
  EXPECT_EQ(names(nc.eq(nc)), (Names{"N", "C"}));
  Tensor x = with({3, 3}, {"N", "*"});
  EXPECT_TRUE(x.add_(nc).is_same(x));
  EXPECT_EQ(names(x), (Names{"N", "C"}));
  // Nothing is touched where names do not fit.
  const Tensor before = named::rename(nc, std::nullopt).clone();
  Tensor y = nc;
  EXPECT_ANY_THROW(y.add_(n));
  EXPECT_TRUE(at::equal(named::rename(nc, std::nullopt), before));
  Tensor out = with({3, 3}, {"A", "B"});
  EXPECT_TRUE(contains(message_of([&] { at::add_out(out, nc, nc); }), "are not those of the result, ['N', 'C']"));
  Tensor unnamed = torch::zeros({3, 3});
  EXPECT_TRUE(contains(message_of([&] { unnamed += nc; }), "give it names with torch::named::rename first"));
}

TEST(NamedTensors, NamesAreRemoved) {
  const Tensor x = with({1, 3, 4, 5}, {"N", "C", "H", "W"});
  EXPECT_EQ(names(x.sum(dims(x, {"N", "C"}))), (Names{"H", "W"}));
  EXPECT_EQ(names(x.sum(dims(x, {"N", "C"}), true)), names(x));
  EXPECT_EQ(x.sum().dim(), 0);
  EXPECT_EQ(names(x.mean(dim(x, "H"))), (Names{"N", "C", "W"}));
  EXPECT_EQ(names(x.std(dim(x, "W"))), (Names{"N", "C", "H"}));
  EXPECT_EQ(names(x.logsumexp(1)), (Names{"N", "H", "W"}));
  EXPECT_EQ(names(std::get<1>(x.median(-1))), (Names{"N", "C", "H"}));
  EXPECT_EQ(names(std::get<0>(x.max(dim(x, "C")))), (Names{"N", "H", "W"}));
  EXPECT_EQ(names(x.squeeze()), (Names{"C", "H", "W"}));
  EXPECT_EQ(names(x.squeeze(dim(x, "C"))), names(x));
  EXPECT_EQ(names(x.select(dim(x, "C"), 0)), (Names{"N", "H", "W"}));
  EXPECT_EQ(names(x.unbind(-1)[2]), (Names{"N", "C", "H"}));
  EXPECT_EQ(names(x[0]), (Names{"C", "H", "W"}));
  EXPECT_DOUBLE_EQ(x.sum().item<double>(), named::rename(x, std::nullopt).sum().item<double>());
  EXPECT_THROW(x.sum(7), c10::IndexError);
}

TEST(NamedTensors, NamesArePermutedAndContracted) {
  const Tensor x = with({2, 3}, {"N", "C"});
  EXPECT_EQ(names(x.t()), (Names{"C", "N"}));
  EXPECT_EQ(names(x.transpose(0, -1)), (Names{"C", "N"}));
  EXPECT_EQ(names(x.permute({1, 0})), (Names{"C", "N"}));
  const Tensor weight = with({3, 4}, {"in", "out"});
  EXPECT_EQ(names(x.mm(weight)), (Names{"N", "out"}));
  EXPECT_EQ(names(x.matmul(weight)), (Names{"N", "out"}));
  EXPECT_EQ(names(x.mv(with({3}, {"something"}))), (Names{"N"}));
  EXPECT_FALSE(has_names(with({3}, {"a"}).dot(with({3}, {"b"}))));
  EXPECT_EQ(names(at::addmm(with({4}, {"out"}), x, weight)), (Names{"N", "out"}));
  EXPECT_ANY_THROW(at::addmm(with({4}, {"other"}), x, weight));
  EXPECT_EQ(names(with({2, 3, 4}, {"B", "N", "D"}).bmm(with({2, 4, 5}, {"B", "D", "M"}))), (Names{"B", "N", "M"}));
  const Tensor a = with({3, 2, 4, 5}, {"A", "B", "C", "D"}), b = with({2, 5, 6}, {"B", "E", "F"});
  EXPECT_EQ(names(named::matmul(a, b)), (Names{"A", "B", "C", "F"}));
  EXPECT_TRUE(at::equal(named::rename(named::matmul(a, b), std::nullopt),
                        at::matmul(named::rename(a, std::nullopt), named::rename(b, std::nullopt))));
  EXPECT_ANY_THROW(named::matmul(a, with({2, 5, 6}, {"X", "E", "F"})));
}

TEST(NamedTensors, OperatorsWithoutARuleAreRefused) {
  const Tensor x = with({2, 3}, {"N", "C"});
  EXPECT_TRUE(contains(message_of<c10::NotImplementedError>([&] { x.view({6}); }),
                       "is not supported with named tensors: torch::named::rename(tensor, std::nullopt)"));
  EXPECT_THROW(x.flip(0), c10::NotImplementedError);
  EXPECT_EQ(named::rename(x, std::nullopt).view({6}).dim(), 1);
}

TEST(NamedTensors, GradientsFlowAndHaveNoNames) {
  Tensor w = torch::randn({3, 4}).requires_grad_(), x = torch::randn({2, 3}), bias = torch::randn({4}).requires_grad_();
  const auto loss = [&](bool given) {
    const auto give = [&](const Tensor& t, const Names& n) { return given ? named::rename(t, n) : t; };
    const Tensor y = give(x, {"N", "in"}).matmul(give(w, {"in", "out"})) + give(bias, {"out"});
    return (y.tanh() * y).softmax(1).pow(2).mean(0).sum();
  };
  loss(false).backward();
  const Tensor expected_w = w.grad().clone(), expected_b = bias.grad().clone();
  w.mutable_grad().reset();
  bias.mutable_grad().reset();
  const Tensor result = loss(true);
  result.backward();
  EXPECT_FALSE(has_names(w.grad()));
  EXPECT_TRUE(at::equal(w.grad(), expected_w));
  EXPECT_TRUE(at::equal(bias.grad(), expected_b));
  // A leaf with names.
  Tensor leaf = named::rename(torch::ones({2, 2}), Names{"N", "C"}).requires_grad_();
  (leaf * leaf).sum().backward();
  EXPECT_TRUE(at::equal(named::rename(leaf.grad(), std::nullopt), torch::full({2, 2}, 2.)));
  EXPECT_TRUE(named::matmul(named::rename(w, Names{"a", "b"}), named::rename(torch::ones({4, 1}), Names{"b", "c"}))
                  .requires_grad());
}

}  // namespace
