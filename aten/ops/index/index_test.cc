#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/parallel/parallel.h"

namespace at::testing {
namespace {

constexpr ScalarType kTypes[] = {
    ScalarType::Byte, ScalarType::Char,  ScalarType::Short,  ScalarType::Int,          ScalarType::Long,          ScalarType::Half,
    ScalarType::Float, ScalarType::Double, ScalarType::Bool, ScalarType::ComplexFloat, ScalarType::ComplexDouble, ScalarType::BFloat16};

c10::List<std::optional<Tensor>> list(std::vector<std::optional<Tensor>> v) {
  c10::List<std::optional<Tensor>> l;
  for (auto& t : v) l.push_back(t);
  return l;
}

// The flat position of coordinates in a contiguous tensor.
size_t flat(IntArrayRef sizes, const std::vector<int64_t>& at) {
  int64_t f = 0;
  for (size_t d = 0; d < sizes.size(); ++d) f = f * sizes[d] + at[d];
  return static_cast<size_t>(f);
}
std::vector<int64_t> coordinates(IntArrayRef sizes, int64_t i) {
  std::vector<int64_t> at(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    at[d] = i % sizes[d];
    i /= sizes[d];
  }
  return at;
}

Tensor random_index(std::vector<int64_t> sizes, int64_t high, unsigned seed) {
  const Tensor raw = sample(sizes, ScalarType::Double, seed);
  std::vector<int64_t> v;
  for (double x : values(raw)) v.push_back(static_cast<int64_t>(std::fabs(x) * 1000) % high);
  return indices_of(v, sizes);
}

// On CUDA tensors the kernel finds a bad index, and all of the device's work ends (//tests/cuda_on_host:index_test).
template <class E, class F>
void expect_bad_index(const F& f, const char* text) {
  if (!device().is_cuda()) expect_error<E>(f, text);
}

TEST(Index, GatherAndScatterAgreeWithPlainLoops) {
  for (ScalarType type : kTypes) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{9}, {4, 7}, {7, 40}, {3, 5, 4}}) {
      for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
        std::vector<int64_t> index_shape = shape;
        for (int64_t& n : index_shape) n = n > 3 ? n - 1 : n;
        index_shape[static_cast<size_t>(dim)] = 6;
        const Tensor index = random_index(index_shape, shape[static_cast<size_t>(dim)], 8);
        const auto iv = values(index);
        const Tensor base = sample(shape, type, 9), src_base = sample(index_shape, type, 10);
        for (const Tensor& x : layouts(base)) {
          for (const Tensor& at : layouts(index)) {
            const auto xv = values(base), sv = values(src_base);
            std::vector<double> taken, put = xv, added = xv;
            for (int64_t i = 0; i < index.numel(); ++i) {
              auto c = coordinates(index_shape, i);
              c[static_cast<size_t>(dim)] = static_cast<int64_t>(iv[static_cast<size_t>(i)]);
              taken.push_back(xv[flat(shape, c)]);
              put[flat(shape, c)] = sv[static_cast<size_t>(i)];
              added[flat(shape, c)] += sv[static_cast<size_t>(i)];
            }
            expect_close(at::gather(x, dim, at), taken, 0, 0);
            for (const Tensor& src : layouts(src_base)) {
              expect_close(at::scatter(x, dim, at, src), put, 0, 0);
              if (type == ScalarType::Byte || type == ScalarType::Bool) continue;
              expect_close(at::scatter_add(x, dim, at, src), added, 4 * tolerance(type), 8 * tolerance(type));
              Tensor inplace = at::clone(x);
              at::scatter_add_(inplace, dim, at, src);
              expect_close(inplace, added, 4 * tolerance(type), 8 * tolerance(type));
            }
          }
        }
      }
    }
  }
}

TEST(Index, SlicesAlongADimension) {
  for (ScalarType type : kTypes) {
    const Tensor base = sample({4, 5, 6}, type, 11);
    for (const Tensor& x : layouts(base)) {
      for (int64_t dim = 0; dim < 3; ++dim) {
        const Tensor index = indices_of({3, 0, 3}, {3});
        std::vector<int64_t> shape = sizes(base);
        shape[static_cast<size_t>(dim)] = 3;
        const Tensor source = sample(shape, type, 12);
        const auto xv = values(base), sv = values(source);
        std::vector<double> taken, copied = xv, added = xv, filled = xv;
        for (int64_t i = 0; i < source.numel(); ++i) {
          auto c = coordinates(shape, i);
          c[static_cast<size_t>(dim)] = c[static_cast<size_t>(dim)] == 1 ? 0 : 3;
          taken.push_back(xv[flat(base.sizes(), c)]);
          copied[flat(base.sizes(), c)] = sv[static_cast<size_t>(i)];
          added[flat(base.sizes(), c)] += 2 * sv[static_cast<size_t>(i)];
          filled[flat(base.sizes(), c)] = 1;
        }
        expect_close(at::index_select(x, dim, index), taken, 0, 0);
        expect_close(at::index_copy(x, dim, index, source), copied, 0, 0);
        expect_close(at::index_fill(x, dim, index, Scalar(1)), filled, 0, 0);
        if (type == ScalarType::Byte || type == ScalarType::Bool) continue;
        expect_close(at::index_add(x, dim, index, source, Scalar(2)), added, 8 * tolerance(type), 16 * tolerance(type));
        Tensor inplace = at::clone(x);
        at::index_add_(inplace, dim, index, source, Scalar(2));
        expect_close(inplace, added, 8 * tolerance(type), 16 * tolerance(type));
      }
    }
  }
}

// Enough slices that threads share them out: by place, by columns where the places are few, and with few outer blocks.
TEST(Index, ManySlicesMeet) {
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  for (const auto& [outer, places, used, width] : std::vector<std::array<int64_t, 4>>{
           {1, 300, 300, 64}, {1, 300, 40, 33}, {1, 50, 3, 256}, {1, 50, 1, 40}, {3, 70, 70, 20}, {9, 70, 70, 16}}) {
    constexpr int64_t kCount = 2000;
    const Tensor base = sample({outer, places, width}, ScalarType::Double, 21), source = sample({outer, kCount, width}, ScalarType::Double, 22);
    std::vector<int64_t> index(kCount);
    for (int64_t i = 0; i < kCount; ++i) index[static_cast<size_t>(i)] = i * i * 7919 % 104729 % used;
    std::vector<double> added = values(base), copied = added;
    const std::vector<double> sv = values(source);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < kCount; ++i) {
        for (int64_t k = 0; k < width; ++k) {
          const auto to = static_cast<size_t>((o * places + index[static_cast<size_t>(i)]) * width + k);
          const double value = sv[static_cast<size_t>((o * kCount + i) * width + k)];
          added[to] += value;
          copied[to] = value;
        }
      }
    }
    // The order of the additions is that of index, so the results are the same to the bit; on CUDA tensors many are a
    // tree.
    const double tolerance = device().is_cuda() ? 1e-12 : 0;
    expect_close(at::index_add(base, 1, indices_of(index, {kCount}), source), added, tolerance, tolerance);
    expect_close(at::index_copy(base, 1, indices_of(index, {kCount}), source), copied, 0, 0);
  }
  at::set_num_threads(threads);
}

TEST(Index, ByTensors) {
  const Tensor base = sample({4, 5, 6}, ScalarType::Float, 13);
  const auto v = values(base);
  for (const Tensor& x : layouts(base)) {
    const Tensor i = indices_of({1, -1, 0, 2}, {2, 2}), j = indices_of({4, 0}, {2});
    Tensor r = at::index(x, list({i, j}));
    EXPECT_EQ(sizes(r), (std::vector<int64_t>{2, 2, 6}));
    EXPECT_EQ(values(r)[6 + 2], v[flat({4, 5, 6}, {3, 0, 2})]);
    r = at::index(x, list({std::nullopt, i}));
    EXPECT_EQ(sizes(r), (std::vector<int64_t>{4, 2, 2, 6}));
    EXPECT_EQ(values(r)[flat({4, 2, 2, 6}, {2, 0, 1, 3})], v[flat({4, 5, 6}, {2, 4, 3})]);
    expect_bad_index<IndexError>([&] { at::index(x, list({indices_of({4}, {1})})); },
                                 "index 4 is out of bounds for dimension 0 with size 4");
  }
  const Tensor k = indices_of({0, 3}, {2});
  // Separated indices: their dimensions come first.
  const Tensor r = at::index(base, list({k, std::nullopt, k}));
  EXPECT_EQ(sizes(r), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(values(r)[flat({2, 5}, {1, 2})], v[flat({4, 5, 6}, {3, 2, 3})]);

  const Tensor mask = tensor_of({1, 0, 1, 1}, {4}, ScalarType::Bool);
  EXPECT_EQ(sizes(at::index(base, list({mask}))), (std::vector<int64_t>{3, 5, 6}));
  expect_error<IndexError>(
      [&] { at::index(base, list({tensor_of({1, 0, 1}, {3}, ScalarType::Bool)})); },
      "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [4, 5, 6] at index 0");
  expect_error<IndexError>([&] { at::index(base, list({k, k, k, k})); }, "too many indices for tensor of dimension 3");
  expect_error<IndexError>([&] { at::index(base, list({sample({2})})); }, "tensors used as indices must be long");
  expect_error<IndexError>([&] { at::index(base, list({k, indices_of({0, 1, 2}, {3})})); }, "could not be broadcast together with shapes [2], [3]");
}

TEST(Index, PutByTensors) {
  const Tensor base = sample({4, 5, 6}, ScalarType::Float, 14);
  for (const Tensor& x : layouts(base)) {
    auto expected = values(base);
    const Tensor i = indices_of({1, 1, -1}, {3}), j = indices_of({2, 2, 0}, {3}), s = sample({3, 6}, ScalarType::Float, 15);
    const auto sv = values(s);
    for (int64_t k = 0; k < 6; ++k) {
      expected[flat({4, 5, 6}, {1, 2, k})] += sv[static_cast<size_t>(k)] + sv[static_cast<size_t>(6 + k)];
      expected[flat({4, 5, 6}, {3, 0, k})] += sv[static_cast<size_t>(12 + k)];
    }
    expect_close(at::index_put(x, list({i, j}), s, true), expected);
    Tensor inplace = at::clone(x);
    at::index_put_(inplace, list({i, j}), s, true);
    expect_close(inplace, expected);
    // Without accumulation the last one stays.
    const Tensor last = at::index_put(x, list({i, j}), s, false);
    EXPECT_EQ(values(last)[flat({4, 5, 6}, {1, 2, 3})], sv[6 + 3]);
    const Tensor separated = at::index_put(x, list({i, std::nullopt, j}), tensor_of({7}, {}), false);
    EXPECT_EQ(values(separated)[flat({4, 5, 6}, {3, 4, 0})], 7);
  }
  Tensor t = at::clone(base);
  const auto before = values(t);
  expect_bad_index<IndexError>(
      [&] {
        at::index_put_(t, list({indices_of({0, 9}, {2})}), tensor_of({1}, {}));
      },
      "index 9 is out of bounds");
  expect_error<Error>([&] { at::index_put_(t, list({indices_of({0}, {1})}), sample({2})); }, "cannot be broadcast to indexing result of shape [1, 5, 6]");
  expect_error<Error>([&] { at::index_put_(t, list({indices_of({0}, {1})}), sample({}, ScalarType::Double)); }, "Index put requires the source and destination dtypes match");
  expect_close(t, before);
}

TEST(Index, WhatIsTakenByPiecesKeepsItsOrder) {
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  const std::vector<int64_t> shape{3, 5, 20'001};
  std::vector<double> numbers, selected, coordinates, scattered, source;
  for (int64_t i = 0; i < 3 * 5 * 20'001; ++i) numbers.push_back(static_cast<double>(i * 31 % 7 % 3));
  scattered = numbers;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    const auto at = static_cast<int64_t>(i);
    source.push_back(static_cast<double>(source.size() % 1000));
    scattered[i] = source.back();
    selected.push_back(numbers[i]);
    for (int64_t c : {at / 100'005, at / 20'001 % 5, at % 20'001}) coordinates.push_back(static_cast<double>(c));
  }
  const Tensor x = tensor_of(numbers, shape), mask = at::to(x, ScalarType::Bool);
  const Tensor found = at::nonzero(x);
  ASSERT_EQ(found.size(0), static_cast<int64_t>(selected.size()));
  EXPECT_EQ(values(found), coordinates);
  EXPECT_EQ(values(at::masked_select(x, mask)), selected);
  EXPECT_EQ(values(at::masked_scatter(x, mask, tensor_of(source, {static_cast<int64_t>(source.size())}))), scattered);
  // As many as fit, and -1 where there are no more.
  const std::vector<double> head(coordinates.begin(), coordinates.begin() + 3 * 40'000);
  EXPECT_EQ(values(at::nonzero_static(x, 40'000)), head);
  const auto padded = values(at::nonzero_static(x, static_cast<int64_t>(selected.size()) + 1));
  EXPECT_EQ(std::vector<double>(padded.end() - 3, padded.end()), (std::vector<double>{-1, -1, -1}));

  // Each column to other rows.
  std::vector<double> row_numbers;
  for (int64_t i = 0; i < 64'000; ++i) row_numbers.push_back(static_cast<double>(i * 17 % 97));
  const Tensor rows = tensor_of(row_numbers, {64, 1000}, ScalarType::Long), from = sample({64, 1000});
  const Tensor to = tensor_of(std::vector<double>(97'000), {97, 1000});
  const Tensor put = at::scatter(to, 0, rows, from), added = at::scatter_add(to, 0, rows, from);
  at::set_num_threads(1);
  EXPECT_EQ(values(put), values(at::scatter(to, 0, rows, from)));
  EXPECT_EQ(values(added), values(at::scatter_add(to, 0, rows, from)));
  at::set_num_threads(threads);
}

TEST(Index, Masked) {
  for (ScalarType type : kTypes) {
    const Tensor base = sample({3, 4}, type, 16), mask = tensor_of({1, 0, 0, 1}, {4}, ScalarType::Bool);
    for (const Tensor& x : layouts(base)) {
      auto filled = values(base);
      std::vector<double> selected;
      for (size_t r = 0; r < 3; ++r) {
        selected.push_back(filled[r * 4]);
        selected.push_back(filled[r * 4 + 3]);
        filled[r * 4] = filled[r * 4 + 3] = 1;
      }
      expect_close(at::masked_fill(x, mask, Scalar(1)), filled, 0, 0);
      expect_close(at::masked_fill(x, mask, tensor_of({1}, {})), filled, 0, 0);
      Tensor inplace = at::clone(x);
      at::masked_fill_(inplace, mask, Scalar(1));
      expect_close(inplace, filled, 0, 0);
      expect_close(at::masked_select(x, mask), selected, 0, 0);
      auto scattered = values(base);
      const Tensor source = sample({8}, type, 17);
      const auto sv = values(source);
      for (size_t r = 0; r < 3; ++r) scattered[r * 4] = sv[2 * r], scattered[r * 4 + 3] = sv[2 * r + 1];
      expect_close(at::masked_scatter(x, mask, source), scattered, 0, 0);
    }
  }
  expect_close(at::nonzero(tensor_of({0, 1, 2, 0}, {2, 2})), {0, 1, 1, 0});
  EXPECT_EQ(sizes(at::nonzero(tensor_of({1}, {}))), (std::vector<int64_t>{1, 0}));
  expect_error<Error>([] { at::masked_fill(sample({3}), sample({3}), Scalar(1)); }, "only supports boolean masks");
  Tensor small = sample({3});
  expect_error<Error>([&] { at::masked_fill_(small, tensor_of({1, 0}, {2, 1}, ScalarType::Bool), Scalar(1)); }, "doesn't match the broadcast shape [2, 3]");
}

TEST(Index, TakeAndPut) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {2, 2});
  for (const Tensor& t : layouts(x)) {
    expect_close(at::take(t, indices_of({3, -4, 1}, {3})), {4, 1, 2});
    expect_close(at::put(t, indices_of({0, 0}, {2}), tensor_of({5, 6}, {2})), {6, 2, 3, 4});
    expect_close(at::put(t, indices_of({0, 0}, {2}), tensor_of({5, 6}, {2}), true), {12, 2, 3, 4});
  }
  expect_close(at::take_along_dim(x, indices_of({1, 0}, {2, 1}), 1), {2, 3});
  expect_close(at::take_along_dim(x, indices_of({-1, -2}, {2, 1}), 1), {2, 3});
  const auto outside = [&] { at::take_along_dim(x, indices_of({-3, 0}, {2, 1}), 1); };
  // Elsewhere gather finds it.
  device().is_cpu() ? expect_error<IndexError>(outside, "index -3 is out of bounds")
                    : expect_bad_index<c10::Error>(outside, "is out of bounds");
  const Tensor narrow = at::to(indices_of({1, 0}, {2, 1}), ScalarType::Int);
  expect_close(at::gather(x, 1, narrow), {2, 3});
  expect_close(at::scatter(x, 1, narrow, Scalar(9)), {1, 9, 9, 4});
  expect_close(at::scatter_add(x, 1, narrow, tensor_of({10, 20}, {2, 1})), {1, 12, 23, 4});
  expect_bad_index<IndexError>([&] { at::take(x, indices_of({4}, {1})); },
                               "tried to access index 4 on a tensor of 4 elements");
}

TEST(Index, Embedding) {
  for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
    const Tensor w = sample({5, 130}, type, 18), i = indices_of({4, 0, 4, 2}, {2, 2});
    const Tensor y = at::embedding(w, i);
    EXPECT_EQ(sizes(y), (std::vector<int64_t>{2, 2, 130}));
    EXPECT_EQ(values(y)[2 * 130 + 7], values(w)[4 * 130 + 7]);
    const Tensor g = sample({2, 2, 130}, type, 19);
    const auto gv = values(g);
    const auto gw = values(at::embedding_dense_backward(g, i, 5, -1, false));
    EXPECT_NEAR(gw[4 * 130 + 7], gv[7] + gv[2 * 130 + 7], 10 * tolerance(type));
    EXPECT_EQ(gw[130 + 7], 0);
    const auto scaled = values(at::embedding_dense_backward(g, i, 5, 2, true));
    EXPECT_NEAR(scaled[4 * 130 + 7], (gv[7] + gv[2 * 130 + 7]) / 2, 10 * tolerance(type));
    EXPECT_EQ(scaled[2 * 130 + 7], 0);
  }
  expect_bad_index<IndexError>(
      [] {
        at::embedding(sample({5, 2}), indices_of({5}, {1}));
      },
      "index out of range in self");
  expect_error<Error>([] { at::embedding(sample({5}), indices_of({0}, {1})); }, "'weight' must be 2-D");
  expect_error<Error>([] { at::embedding(sample({5, 2}), sample({1})); }, "Expected tensor for argument #1 'indices' to have one of");
}

TEST(Index, ScatterReductions) {
  const Tensor x = tensor_of({1, 2, 3}, {3}), i = indices_of({0, 0, 2}, {3}), s = tensor_of({4, 5, 6}, {3});
  expect_close(at::scatter_reduce(x, 0, i, s, "sum"), {10, 2, 9});
  expect_close(at::scatter_reduce(x, 0, i, s, "sum", false), {9, 2, 6});
  expect_close(at::scatter_reduce(x, 0, i, s, "prod"), {20, 2, 18});
  expect_close(at::scatter_reduce(x, 0, i, s, "mean"), {10.0 / 3, 2, 4.5});
  expect_close(at::scatter_reduce(x, 0, i, s, "mean", false), {4.5, 2, 6});
  expect_close(at::scatter_reduce(x, 0, i, s, "amax"), {5, 2, 6});
  expect_close(at::scatter_reduce(x, 0, i, s, "amin", false), {4, 2, 6});
  expect_close(at::scatter(x, 0, i, s, "multiply"), {20, 2, 18});
  expect_close(at::scatter(x, 0, i, Scalar(2), "add"), {5, 2, 5});
  expect_close(at::index_reduce(x, 0, i, s, "prod"), {20, 2, 18});
}

// What index_reduce leaves of one place, whose own element stands first.
double reduced(const std::string& reduce, const std::vector<double>& v, bool include_self, bool integer) {
  if (v.size() == 1) return v[0];
  const auto first = v.begin() + (include_self ? 0 : 1);
  if (reduce == "amax") return *std::max_element(first, v.end());
  if (reduce == "amin") return *std::min_element(first, v.end());
  if (reduce == "prod") return std::accumulate(first, v.end(), 1.0, std::multiplies<>());
  const double mean = std::accumulate(first, v.end(), 0.0) / static_cast<double>(v.end() - first);
  return integer ? std::floor(mean) : mean;
}

TEST(Index, ReducesSlices) {
  for (const ScalarType type : {kFloat, kDouble, kLong, kChar, kHalf}) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{9}, {5, 7}, {4, 5, 70}, {6, 300}}) {
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        std::vector<int64_t> source_shape = shape;
        source_shape[dim] = 4;
        const std::vector<int64_t> places = {3, 0, 3, 3};
        const Tensor base = sample(shape, type, 31), source = sample(source_shape, type, 32);
        std::vector<std::vector<double>> met;
        for (const double v : values(base)) met.push_back({v});
        const std::vector<double> sv = values(source);
        for (size_t i = 0; i < sv.size(); ++i) {
          auto at = coordinates(source_shape, static_cast<int64_t>(i));
          at[dim] = places[static_cast<size_t>(at[dim])];
          met[flat(shape, at)].push_back(sv[i]);
        }
        const auto d = static_cast<int64_t>(dim);
        const Tensor index = indices_of(places, {4});
        for (const std::string reduce : {"amax", "amin", "mean", "prod"}) {
          for (const bool include_self : {true, false}) {
            std::vector<double> want;
            for (const auto& v : met) want.push_back(reduced(reduce, v, include_self, !isFloatingType(type)));
            SCOPED_TRACE(reduce + " " + toString(type) + " " + std::to_string(dim));
            const double tol = 8 * tolerance(type);
            if (type == kChar && reduce == "prod") continue;  // beyond its numbers
            expect_close(at::index_reduce(base, d, index, source, reduce, include_self), want, tol, tol);
            for (const Tensor& layout : layouts(source)) {
              for (Tensor x : layouts(at::clone(base))) {
                at::index_reduce_(x, d, at::to(index, kInt), layout, reduce, include_self);
                expect_close(x, want, tol, tol);
              }
            }
          }
        }
      }
    }
  }
  // One element, and NaN.
  Tensor x = tensor_of({1, 5, 3}, {3}), one = tensor_of({4}, {});
  at::index_reduce_(x, 0, indices_of({0}, {1}), one, "amax");
  at::index_reduce_(x, 0, indices_of({1}, {}), one, "amin");
  at::index_reduce_(x, 0, indices_of({2}, {1}), tensor_of({std::nan("")}, {1}), "amin");
  at::index_reduce_(one, 0, indices_of({0}, {}), tensor_of({6}, {}), "prod");
  expect_close(x, {4, 4, std::nan("")});
  expect_close(one, {24});
}

// Places far from each other, and slices that go to one place.
TEST(Index, ScattersInPlaceAsPlainLoops) {
  for (const ScalarType type : {kFloat, kDouble, kLong, kShort}) {
    for (const std::vector<int64_t>& index_shape : std::vector<std::vector<int64_t>>{{40, 1}, {40, 3}, {3, 300}}) {
      const std::vector<int64_t> shape = {9, 300};
      const Tensor base = sample(shape, type, 33), source = sample(index_shape, type, 34);
      const Tensor spread = random_index(index_shape, 9, 35), index = random_index({index_shape[0], 1}, 9, 36);
      for (const Tensor& at : {spread, at::expand(index, index_shape)}) {
        std::vector<double> put = values(base), added = put, greatest = put;
        const std::vector<double> av = values(at), sv = values(source);
        for (size_t i = 0; i < sv.size(); ++i) {
          const size_t to = static_cast<size_t>(av[i]) * 300 + i % static_cast<size_t>(index_shape[1]);
          put[to] = sv[i];
          added[to] += sv[i];
          greatest[to] = std::max(greatest[to], sv[i]);
        }
        for (const Tensor& layout : layouts(source)) {
          for (const bool transposed : {false, true}) {
            const auto fresh = [&] {
              return transposed ? at::transpose(at::clone(at::transpose(base, 0, 1), MemoryFormat::Contiguous), 0, 1)
                                : at::clone(base);
            };
            Tensor x = fresh(), y = fresh(), z = fresh();
            expect_close(at::scatter_(x, 0, at, layout), put, 0, 0);
            expect_close(at::scatter_add_(y, 0, at, layout), added, 1e-5, 1e-5);
            expect_close(at::scatter_reduce_(z, 0, at, layout, "amax"), greatest, 0, 0);
          }
        }
      }
    }
  }
}

// Long rows, in which places are hit many times.
TEST(Index, ScattersWithinRowsAsPlainLoops) {
  const std::vector<int64_t> shape = {3, 5}, index_shape = {3, 75};
  for (const ScalarType type : {kFloat, kDouble, kLong, kShort}) {
    const Tensor base = sample(shape, type, 37), source = sample(index_shape, type, 38);
    const Tensor at = random_index(index_shape, 5, 39);
    std::vector<double> put = values(base), added = put, greatest = put;
    const std::vector<double> av = values(at), sv = values(source);
    for (size_t i = 0; i < sv.size(); ++i) {
      const size_t to = i / 75 * 5 + static_cast<size_t>(av[i]);
      put[to] = sv[i];
      added[to] += sv[i];
      greatest[to] = std::max(greatest[to], sv[i]);
    }
    for (const Tensor& layout : layouts(source)) {
      Tensor x = at::clone(base), y = at::clone(base), z = at::clone(base);
      expect_close(at::scatter_(x, 1, at, layout), put, 0, 0);
      expect_close(at::scatter_add_(y, 1, at, layout), added, 1e-5, 1e-5);
      expect_close(at::scatter_reduce_(z, 1, at, layout, "amax"), greatest, 0, 0);
    }
  }
}

// Wherever a bad index stands, nothing is written.
TEST(Index, BadIndicesAreFoundBeforehand) {
  if (device().is_cuda()) GTEST_SKIP() << "kernels find them";
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  const Tensor base = sample({2, 9}), source = sample({2, 75});
  for (const int64_t bad : {int64_t{9}, int64_t{-1}, kLeast, kLeast + 9, kMost, kMost - 9}) {
    for (const size_t position : {size_t{0}, size_t{70}, size_t{77}, size_t{149}}) {
      std::vector<int64_t> numbers(150, 8);
      numbers[position] = bad;
      const Tensor dense = indices_of(numbers, {2, 75});
      const Tensor strided = at::transpose(at::clone(at::transpose(dense, 0, 1), MemoryFormat::Contiguous), 0, 1);
      for (const Tensor& index : {dense, strided}) {
        Tensor x = at::clone(base);
        const std::string message = "index " + std::to_string(bad) + " is out of bounds for dimension 1 with size 9";
        expect_error<Error>([&] { at::scatter_add_(x, 1, index, source); }, message.c_str());
        expect_error<Error>([&] { at::scatter_(x, 1, index, source); }, message.c_str());
        expect_close(x, base);
      }
    }
  }
}

TEST(Index, BadArguments) {
  const Tensor x = sample({3, 4});
  expect_bad_index<Error>(
      [&] {
        at::gather(x, 0, indices_of({3}, {1, 1}));
      },
      "index 3 is out of bounds for dimension 0 with size 3");
  expect_bad_index<Error>([&] { at::gather(x, 0, indices_of({-1}, {1, 1})); }, "index -1 is out of bounds");
  expect_error<Error>([&] { at::gather(x, 0, indices_of({0}, {1})); }, "Index tensor must have the same number of dimensions as input tensor");
  expect_error<Error>([&] { at::gather(x, 0, sample({1, 1})); }, "gather(): Expected dtype int32/int64 for index");
  expect_error<Error>([&] { at::gather(x, 0, indices_of({0, 0, 0, 0, 0}, {1, 5})); }, "Size does not match at dimension 1");
  Tensor t = at::clone(x);
  expect_bad_index<Error>(
      [&] {
        at::scatter_(t, 0, indices_of({0, 7}, {1, 2}), Scalar(5));
      },
      "index 7 is out of bounds");
  expect_close(t, x);
  expect_bad_index<IndexError>([&] { at::index_select(x, 0, indices_of({3}, {1})); }, "index out of range in self");
  expect_error<IndexError>([&] { at::index_select(x, 0, indices_of({0, 0}, {2, 1})); }, "Index is supposed to be a vector");
  expect_error<IndexError>([&] { at::index_select(x, 2, indices_of({0}, {1})); }, "Dimension out of range");
  expect_error<Error>([&] { at::index_add(x, 0, indices_of({0}, {1}), sample({1, 3})); },
                      "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
                      "[3, 4] source.shape = [1, 3]");
  expect_bad_index<IndexError>([&] { at::index_add(sample({3}), 0, indices_of({3}, {1}), sample({1})); },
                               "index out of range in self");
  expect_bad_index<Error>(
      [&] {
        at::index_add(x, 0, indices_of({3}, {1}), sample({1, 4}));
      },
      "index 3 is out of bounds for dimension 0 with size 3");
  expect_error<Error>([&] { at::index_copy(x, 1, indices_of({0}, {1}), sample({2, 1})); },
                      "Destination slice shape: 3 at dimension 1 and source slice shape: 2 at dimension 0.");
  Tensor eighths = at::to(tensor_of({1, 2}, {2}), at::kFloat8_e4m3fn);
  Tensor whole = at::to(tensor_of({7, 8}, {2}), at::kFloat8_e4m3fn);
  expect_error<NotImplementedError>(
      [&] { at::index_reduce_out(whole, eighths, 0, indices_of({0}, {1}), at::narrow(eighths, 0, 0, 1), "prod"); },
      "\"index_func_\" not implemented for 'Float8_e4m3fn'");
  expect_close(at::to(whole, at::kFloat), {7, 8}, 0, 0);
  const Tensor mask = at::to(tensor_of({1, 0}, {2}), at::kBool);
  expect_error<Error>(
      [&] {
        at::masked_scatter_backward(sample({2}), mask, {int64_t{1} << 62, 4});
      },
      "overflow");
  const Tensor small = at::to(tensor_of({1, 2}, {2}), at::kChar);
  Tensor kept = at::to(tensor_of({7, 8}, {2}), at::kChar);
  expect_error<Error>([&] { at::index_fill_out(kept, small, 0, indices_of({0}, {1}), Scalar(300)); },
                      "value cannot be converted to type int8_t without overflow");
  expect_close(kept, {7, 8}, 0, 0);
  expect_error<IndexError>([&] { at::index_fill(x, 0, sample({1}), Scalar(1)); },
                           "index_fill_(): Expected dtype int64 for index.");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor added = at::index_add(tensor_of({1, 2}, {2}), 0, indices_of({0}, {1}), tensor_of({1}, {1}), Scalar(nan));
  expect_close(added, {nan, 2});
  expect_close(at::index_add(tensor_of({1, 2}, {2}), 0, indices_of({1}, {1}), tensor_of({1}, {1}), Scalar(1e30)), {1, 1e30});
}

}  // namespace
// 2048 + 1 is 2048 in half.
TEST(EmbeddingBag, SumsOfHalfAreRoundedOnce) {
  const Tensor weight = tensor_of({2048, 1}, {2, 1}, ScalarType::Half), start = indices_of({0}, {1});
  const Tensor index = indices_of({0, 1, 1}, {3}), ones = tensor_of({1, 1, 1}, {3}, ScalarType::Half);
  expect_close(std::get<0>(at::embedding_bag(weight, index, start)), {2050}, 0, 0);
  expect_close(std::get<0>(at::embedding_bag(weight, index, start, false, 0, false, ones)), {2050}, 0, 0);
}

// Bags of 0 to 5 rows, 21 columns, with an index that does not count: what adding the rows up one by one gives.
TEST(EmbeddingBag, SumsMeansAndMaxima) {
  constexpr int64_t kWidth = 21, kRows = 9;
  std::vector<double> table;
  for (int64_t i = 0; i < kRows * kWidth; ++i) table.push_back(static_cast<double>(i * 31 % 17 - 8));
  const std::vector<double> indices = {3, 0, 3, 8, 5, 5, 1, 2, 7, 4}, offsets = {0, 2, 2, 7, 8};
  for (ScalarType t : {ScalarType::Float, ScalarType::Double}) {
    const Tensor weight = tensor_of(table, {kRows, kWidth}, t);
    const Tensor index = tensor_of(indices, {10}, ScalarType::Long), start = tensor_of(offsets, {5}, ScalarType::Long);
    for (int64_t mode : {0, 1, 2}) {
      const auto [result, bag_of, sizes, best] =
          at::embedding_bag(weight, index, start, false, mode, false, {}, false, 5);
      const std::vector<double> got = values(result), counted = values(sizes), rows = values(best);
      for (size_t b = 0; b < 5; ++b) {
        const size_t begin = static_cast<size_t>(offsets[b]),
                     end = b + 1 < 5 ? static_cast<size_t>(offsets[b + 1]) : 10;
        for (int64_t k = 0; k < kWidth; ++k) {
          double sum = 0, max = 0, row = 0;
          int count = 0;
          for (size_t i = begin; i < end; ++i) {
            if (indices[i] == 5) continue;
            const double value = table[static_cast<size_t>(indices[i]) * kWidth + static_cast<size_t>(k)];
            if (count == 0 || value > max) max = value, row = indices[i];
            sum += value;
            ++count;
          }
          const size_t at = b * kWidth + static_cast<size_t>(k);
          EXPECT_NEAR(got[at], mode == 0 ? sum : mode == 1 ? sum / std::max(count, 1) : max, 1e-6);
          EXPECT_EQ(counted[b], count);
          if (mode == 2) EXPECT_EQ(rows[at], row);
        }
      }
    }
  }
}

TEST(Index, ReducesSegments) {
  const Tensor data = tensor_of({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  const Tensor lengths = indices_of({1, 0, 3}, {3}), offsets = indices_of({0, 1, 1, 4}, {4});
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<const char*, std::vector<double>>> expected = {{"sum", {1, 2, 0, 0, 15, 18}},
                                                                             {"mean", {1, 2, nan, nan, 5, 6}},
                                                                             {"max", {1, 2, -inf, -inf, 7, 8}},
                                                                             {"min", {1, 2, inf, inf, 3, 4}},
                                                                             {"prod", {1, 2, 1, 1, 105, 192}}};
  for (const auto& [reduce, want] : expected) {
    for (const Tensor& x : layouts(data)) {
      expect_close(at::segment_reduce(x, reduce, lengths), want);
      expect_close(at::segment_reduce(x, reduce, std::nullopt, std::nullopt, offsets), want);
    }
  }
  expect_close(at::segment_reduce(data, "mean", lengths, {}, {}, 0, false, Scalar(3)), {4, 5, 3, 3, 6, 7});
  // Wide rows, one with a NaN.
  std::vector<double> wide = values(sample({9, 37}));
  wide[4 * 37 + 5] = nan;
  for (const std::string reduce : {"sum", "mean", "max", "min", "prod"}) {
    const double first = reduce == "prod" ? 1 : reduce == "max" ? -inf : reduce == "min" ? inf : 0;
    std::vector<double> want(2 * 37, first);
    for (size_t i = 0; i < wide.size(); ++i) {
      const size_t segment = i / 37 < 3 ? 0 : 1;
      double& w = want[segment * 37 + i % 37];
      const double x = wide[i];
      if (reduce == "prod") w *= x;
      if (reduce == "sum") w += x;
      if (reduce == "mean") w += x / (segment == 0 ? 3 : 6);
      if (reduce == "max") w = std::isnan(x) || x > w ? x : w;
      if (reduce == "min") w = std::isnan(x) || x < w ? x : w;
    }
    expect_close(at::segment_reduce(tensor_of(wide, {9, 37}), reduce, indices_of({3, 6}, {2})), want, 1e-5, 1e-6);
  }
  // Each row by itself.
  const Tensor rows = at::segment_reduce(data, "sum", indices_of({2, 0, 0, 2, 1, 1, 0, 2}, {4, 2}), {}, {}, 1);
  expect_close(rows, {3, 0, 0, 7, 5, 6, 0, 15});
  expect_error<Error>([&] { at::segment_reduce(data, "sum", indices_of({1, 1}, {2})); },
                      "sum to data.size(lengths.dim()-1)");
  expect_close(at::segment_reduce(data, "sum", indices_of({1, 1}, {2}), {}, {}, 0, /*unsafe=*/true), {1, 2, 3, 4});
  expect_error<Error>([&] { at::segment_reduce(data, "sum", indices_of({9}, {1}), {}, {}, 0, true); }, "at most");
  expect_error<Error>([&] { at::segment_reduce(data, "sum", indices_of({-1, 5}, {2})); }, "negative value");
  expect_error<Error>([&] { at::segment_reduce(data, "sum", {}, {}, indices_of({0, 9}, {2})); }, "do not decrease");
  expect_error<Error>([&] { at::segment_reduce(data, "sum"); }, "Either lengths or offsets must be defined");
  expect_error<Error>([&] { at::segment_reduce(data, "median", lengths); }, "unsupported reduction");
  expect_error<NotImplementedError>([&] { at::segment_reduce(indices_of({1}, {1}), "sum", indices_of({1}, {1})); },
                                    "for 'Long'");
}

TEST(Index, MaskedIndicesMayLieOutside) {
  const Tensor x = tensor_of({1, 2, 3}, {3}), index = indices_of({0, 7, -9}, {3});
  const Tensor mask = tensor_of({1, 0, 1}, {3}, ScalarType::Bool);
  expect_close(at::_unsafe_masked_index(x, mask, list({index}), Scalar(-1)), {1, -1, 1});
  expect_close(at::_unsafe_masked_index_put_accumulate(x, mask, list({index}), tensor_of({10, 20, 30}, {3})),
               {41, 2, 3});
  expect_error<Error>([&] { at::_unsafe_masked_index(x, index, list({index}), Scalar(0)); }, "expected a bool mask");
  expect_bad_index<IndexError>([&] { at::_unsafe_index(x, list({index})); }, "out of bounds");
}

TEST(Index, PrunesRows) {
  const auto [kept, places] =
      at::_rowwise_prune(tensor_of({1, 2, 3, 4, 5, 6}, {3, 2}), tensor_of({1, 0, 1}, {3}, ScalarType::Bool), kInt);
  expect_close(kept, {1, 2, 5, 6});
  EXPECT_EQ(elements<int32_t>(places), (std::vector<int32_t>{0, -1, 1}));
  expect_error<Error>([] { at::_rowwise_prune(blank({3, 2}), blank({3}), kInt); }, "should be of type bool");
}

}  // namespace at::testing
