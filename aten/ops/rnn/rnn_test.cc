#include <cmath>
#include <tuple>

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/rnn/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/core/grad_mode.h"
#include "c10/parallel/parallel.h"

namespace at::testing {
namespace {

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const Tensor& t) {
  const std::vector<double> v = values(t);
  const size_t cols = static_cast<size_t>(t.size(1));
  Rows rows(static_cast<size_t>(t.size(0)));
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].assign(v.begin() + static_cast<int64_t>(i * cols), v.begin() + static_cast<int64_t>((i + 1) * cols));
  return rows;
}

struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
  std::vector<Tensor> list() const {
    std::vector<Tensor> l{w_ih, w_hh, b_ih, b_hh};
    if (w_hr.defined()) l.push_back(w_hr);
    return l;
  }
};

// Half of sample()'s values.
Tensor small(IntArrayRef sizes, ScalarType dtype, unsigned seed) {
  std::vector<double> v = values(sample(sizes, ScalarType::Double, seed));
  for (double& x : v) x *= 0.5;
  return tensor_of(v, sizes, dtype);
}

Weights weights(int64_t gates, int64_t input, int64_t hidden, ScalarType dtype = ScalarType::Double,
                int64_t state = 0) {
  Weights w;
  w.w_ih = small({gates * hidden, input}, dtype, 3);
  w.w_hh = small({gates * hidden, state != 0 ? state : hidden}, dtype, 4);
  w.b_ih = small({gates * hidden}, dtype, 5);
  w.b_hh = small({gates * hidden}, dtype, 6);
  if (state != 0) w.w_hr = small({state, hidden}, dtype, 7);
  return w;
}

// int64 on the CPU, as lengths and batch sizes are on any device.
Tensor counts(const std::vector<int64_t>& v) {
  const Tensor t = at::empty({static_cast<int64_t>(v.size())}, TensorOptions().dtype(kLong).device(kCPU));
  std::copy(v.begin(), v.end(), t.data_ptr<int64_t>());
  return t;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

std::vector<double> affine(const Tensor& w, const std::vector<double>& x, const Tensor& b) {
  const Rows rows = rows_of(w);
  std::vector<double> y = b.defined() ? values(b) : std::vector<double>(rows.size(), 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < x.size(); ++j) y[i] += rows[i][j] * x[j];
  }
  return y;
}

// One step for one sample, from the formulas.
void plain_step(const char* kind, const Weights& w, const std::vector<double>& x, std::vector<double>* h,
                std::vector<double>* c) {
  const std::vector<double> a = affine(w.w_ih, x, w.b_ih), b = affine(w.w_hh, *h, w.b_hh);
  const std::string name = kind;
  const size_t n = name == "lstm" ? c->size() : h->size();
  std::vector<double> fresh(n);
  for (size_t i = 0; i < n; ++i) {
    if (name == "lstm") {
      const auto sum = [&](size_t k) { return a[k * n + i] + b[k * n + i]; };
      (*c)[i] = sigmoid(sum(1)) * (*c)[i] + sigmoid(sum(0)) * std::tanh(sum(2));
      fresh[i] = sigmoid(sum(3)) * std::tanh((*c)[i]);
    } else if (name == "gru") {
      const double r = sigmoid(a[i] + b[i]), z = sigmoid(a[n + i] + b[n + i]);
      fresh[i] = (1 - z) * std::tanh(a[2 * n + i] + r * b[2 * n + i]) + z * (*h)[i];
    } else {
      fresh[i] = name == "tanh" ? std::tanh(a[i] + b[i]) : std::max(a[i] + b[i], 0.0);
    }
  }
  *h = w.w_hr.defined() ? affine(w.w_hr, fresh, Tensor()) : fresh;
}

TEST(Rnn, CellsAreTheirFormulas) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16, ScalarType::Half}) {
    const double rtol = dtype == ScalarType::Double ? 1e-12 : dtype == ScalarType::Float ? 1e-5 : 3e-2;
    for (const int64_t hidden : {1, 3, 19}) {
      const Tensor x = small({2, 4}, dtype, 1), h0 = small({2, hidden}, dtype, 2), c0 = small({2, hidden}, dtype, 8);
      const auto expected = [&](const char* kind, const Weights& w, Rows* cells) {
        Rows h = rows_of(h0);
        *cells = rows_of(c0);
        std::vector<double> flat;
        for (size_t i = 0; i < 2; ++i) {
          plain_step(kind, w, rows_of(x)[i], &h[i], &(*cells)[i]);
          flat.insert(flat.end(), h[i].begin(), h[i].end());
        }
        return flat;
      };
      Rows cells;
      const Weights l = weights(4, 4, hidden, dtype), g = weights(3, 4, hidden, dtype),
                    r = weights(1, 4, hidden, dtype);
      const auto [h, c] = at::lstm_cell(x, {h0, c0}, l.w_ih, l.w_hh, l.b_ih, l.b_hh);
      expect_close(h, expected("lstm", l, &cells), rtol, rtol);
      expect_close(at::select(c, 0, 1), cells[1], rtol, rtol);
      expect_close(at::gru_cell(x, h0, g.w_ih, g.w_hh, g.b_ih, g.b_hh), expected("gru", g, &cells), rtol, rtol);
      expect_close(at::rnn_tanh_cell(x, h0, r.w_ih, r.w_hh, r.b_ih, r.b_hh), expected("tanh", r, &cells), rtol, rtol);
      expect_close(at::rnn_relu_cell(x, h0, r.w_ih, r.w_hh, r.b_ih, r.b_hh), expected("relu", r, &cells), rtol, rtol);
    }
  }
}

// Both directions of a layer on packed sequences, with and without a projection, against one sample at a time.
void check_packed_sequences(const std::vector<int64_t>& lengths, const std::vector<int64_t>& batches, int64_t state,
                            bool biased) {
  const int64_t batch = static_cast<int64_t>(lengths.size()), out = state != 0 ? state : 5;
  Weights f = weights(4, 3, 5, ScalarType::Double, state);
  if (!biased) f.b_ih = f.b_hh = Tensor();
  Weights b = f;
  b.w_ih = small(f.w_ih.sizes(), ScalarType::Double, 11);
  std::vector<Tensor> params;
  for (const Weights& w : {f, b}) {
    for (const Tensor& t : w.list()) {
      if (t.defined()) params.push_back(t);
    }
  }
  const Tensor x = small({lengths[0], batch, 3}, ScalarType::Double, 1),
               h0 = small({2, batch, out}, ScalarType::Double, 2), c0 = small({2, batch, 5}, ScalarType::Double, 9);
  const auto [data, batch_sizes] = at::_pack_padded_sequence(x, counts(lengths), false);
  EXPECT_EQ(elements<int64_t>(batch_sizes), batches);
  const auto [y, h, c] = at::lstm(data, batch_sizes, {h0, c0}, params, biased, 1, 0.0, false, true);
  const auto [padded, counted] = at::_pad_packed_sequence(y, batch_sizes, false, 0, 0);
  EXPECT_EQ(elements<int64_t>(counted), lengths);
  for (size_t i = 0; i < lengths.size(); ++i) {
    for (int64_t d = 0; d < 2; ++d) {
      const auto sample_of = [&](const Tensor& t) {
        return values(at::select(at::select(t, 0, d), 0, static_cast<int64_t>(i)));
      };
      std::vector<double> hi = sample_of(h0), ci = sample_of(c0);
      for (int64_t k = 0; k < lengths[i]; ++k) {
        const int64_t t = d == 0 ? k : lengths[i] - 1 - k;
        plain_step("lstm", d == 0 ? f : b, values(at::select(at::select(x, 0, t), 0, static_cast<int64_t>(i))), &hi,
                   &ci);
        const Tensor row = at::select(at::select(padded, 0, t), 0, static_cast<int64_t>(i));
        expect_close(at::narrow(row, 0, d * out, out), hi, 1e-12, 1e-12);
      }
      expect_close(tensor_of(sample_of(h), {out}, ScalarType::Double), hi, 1e-12, 1e-12);
      expect_close(tensor_of(sample_of(c), {5}, ScalarType::Double), ci, 1e-12, 1e-12);
    }
  }
}

TEST(Rnn, PackedSequencesRunEachForItself) {
  for (const int64_t state : {0, 2}) {
    for (const bool biased : {true, false}) {
      check_packed_sequences({4, 2, 1}, {3, 2, 1, 1}, state, biased);
      check_packed_sequences({10, 10, 7, 1}, {4, 3, 3, 3, 3, 3, 3, 2, 2, 2}, state, biased);
    }
  }
}

// The weights of the hidden state a quarter as large, so that differences do not grow from step to step.
Weights calm(Weights w, ScalarType dtype) {
  std::vector<double> v = values(w.w_hh);
  for (double& x : v) x *= 0.25;
  w.w_hh = tensor_of(v, w.w_hh.sizes(), dtype);
  return w;
}

// Over many steps the weights are laid out first; a sample's result does not depend on those beside it or on threads.
TEST(Rnn, LongBatchesRunEachSampleForItself) {
  for (const ScalarType dtype : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
    const double rtol = dtype == ScalarType::Double ? 1e-12 : dtype == ScalarType::Float ? 1e-5 : 5e-2;
    const Weights l = calm(weights(4, 3, 29, dtype), dtype), g = calm(weights(3, 3, 29, dtype), dtype),
                  r = calm(weights(1, 3, 29, dtype), dtype);
    const Tensor x = small({12, 19, 3}, dtype, 1), h0 = small({1, 19, 29}, dtype, 2), c0 = small({1, 19, 29}, dtype, 8);
    const auto run = [&](const Tensor& in, const Tensor& h, const Tensor& c) {
      return std::vector<Tensor>{std::get<0>(at::lstm(in, {h, c}, l.list(), true, 1, 0.0, false, false, false)),
                                 std::get<0>(at::gru(in, h, g.list(), true, 1, 0.0, false, false, false)),
                                 std::get<0>(at::rnn_tanh(in, h, r.list(), true, 1, 0.0, false, false, false)),
                                 std::get<0>(at::rnn_relu(in, h, r.list(), true, 1, 0.0, false, false, false))};
    };
    const std::vector<Tensor> all = run(x, h0, c0);
    const char* kinds[] = {"lstm", "gru", "tanh", "relu"};
    const Weights* of_kind[] = {&l, &g, &r, &r};
    for (size_t kind = 0; kind < 4; ++kind) {
      for (const int64_t i : {0, 18}) {
        std::vector<double> h = rows_of(at::select(h0, 0, 0))[static_cast<size_t>(i)],
                            c = rows_of(at::select(c0, 0, 0))[static_cast<size_t>(i)];
        for (int64_t t = 0; t < 12; ++t) {
          plain_step(kinds[kind], *of_kind[kind], values(at::select(at::select(x, 0, t), 0, i)), &h, &c);
          expect_close(at::select(at::select(all[kind], 0, t), 0, i), h, rtol, rtol);
        }
      }
    }
    const int threads = at::get_num_threads();
    at::set_num_threads(threads == 1 ? 3 : 1);
    const std::vector<Tensor> with_others = run(x, h0, c0);
    at::set_num_threads(threads);
    for (size_t kind = 0; kind < 4; ++kind) expect_close(with_others[kind], all[kind], 0, 0);
    if (dtype == ScalarType::BFloat16) continue;
    const std::vector<Tensor> part = run(at::narrow(x, 1, 7, 2), at::narrow(h0, 1, 7, 2), at::narrow(c0, 1, 7, 2));
    for (size_t kind = 0; kind < 4; ++kind) expect_close(part[kind], at::narrow(all[kind], 1, 7, 2), 0, 0);
  }
}

// A dense batch is a packed one of equal lengths; layers run one after the other.
TEST(Rnn, LayersAndBatchFirst) {
  const Weights a = weights(3, 3, 4), b = weights(3, 4, 4);
  const Tensor x = small({5, 2, 3}, ScalarType::Double, 1), h0 = small({2, 2, 4}, ScalarType::Double, 2);
  std::vector<Tensor> params = a.list();
  for (const Tensor& t : b.list()) params.push_back(t);
  const auto [y, h] = at::gru(x, h0, params, true, 2, 0.5, false, false, false);
  const auto [y1, h1] = at::gru(x, at::narrow(h0, 0, 0, 1), a.list(), true, 1, 0.0, true, false, false);
  const auto [y2, h2] = at::gru(y1, at::narrow(h0, 0, 1, 1), b.list(), true, 1, 0.0, true, false, false);
  expect_close(y, y2, 1e-14, 1e-14);
  expect_close(h, at::cat({h1, h2}), 1e-14, 1e-14);
  const auto [transposed, h3] = at::gru(at::transpose(x, 0, 1), h0, params, true, 2, 0.0, false, false, true);
  EXPECT_EQ(sizes(transposed), (std::vector<int64_t>{2, 5, 4}));
  expect_close(at::transpose(transposed, 0, 1), y, 0, 0);
  expect_close(h3, h, 0, 0);
}

TEST(Rnn, RefusesWhatDoesNotFit) {
  const Weights w = weights(4, 3, 5);
  const Tensor x = sample({2, 2, 3}, ScalarType::Double), h = sample({1, 2, 5}, ScalarType::Double);
  const auto run = [&](const Tensor& input, const std::vector<Tensor>& hx, const std::vector<Tensor>& params,
                       double dropout = 0) {
    return at::lstm(input, hx, params, true, 1, dropout, true, false, false);
  };
  expect_error<c10::Error>([&] { run(x, {h}, w.list()); }, "lstm expects two hidden states");
  expect_error<c10::Error>([&] { run(x, {h, h}, {w.w_ih}); }, "got an incorrect number of RNN parameters");
  expect_error<c10::Error>(
      [&] {
        run(sample({2, 2, 4}, ScalarType::Double), {h, h}, w.list());
      },
      "Expected an input of size 3");
  expect_error<c10::Error>(
      [&] {
        run(x, {at::narrow(h, 1, 0, 1), h}, w.list());
      },
      "Expected hidden state of size [2, 5], got [1, 5]");
  expect_error<c10::Error>([&] { run(sample({2, 2, 3}), {h, h}, w.list()); }, "dtype");
  expect_error<c10::Error>(
      [&] {
        run(at::narrow(x, 0, 0, 0), {h, h}, w.list());
      },
      "Expected sequence length to be larger than 0 in RNN");
  expect_error<c10::Error>(
      [&] {
        run(x, {h, h}, w.list(), 1.5);
      },
      "dropout probability has to be between 0 and 1, but got 1.5");
  expect_error<c10::Error>(
      [&] {
        at::lstm(at::select(x, 0, 0), counts({1, 2}), {h, h}, w.list(), true, 1, 0.0, true, false);
      },
      "increase");
}

TEST(PackedSequence, RefusesLengthsThatDoNotFit) {
  const Tensor x = sample({3, 2, 2});
  expect_error<c10::Error>(
      [&] {
        at::_pack_padded_sequence(x, counts({1, 2}), false);
      },
      "`lengths` array must be sorted in decreasing order");
  expect_error<c10::Error>([&] { at::_pack_padded_sequence(x, counts({1, 0}), false); }, "has to be greater than 0");
  expect_error<c10::Error>(
      [&] {
        at::_pack_padded_sequence(x, counts({4, 1}), false);
      },
      "Expected lengths of at most 3");
  expect_error<c10::Error>([&] { at::_pack_padded_sequence(x, counts({1}), false); }, "to be equal to batch_size");
  expect_error<c10::Error>(
      [&] {
        at::_pad_packed_sequence(sample({3, 2}), counts({2, 1}), false, 0, 1);
      },
      "max sequence length being 2");
  expect_error<c10::Error>(
      [&] {
        at::_pad_packed_sequence(sample({4, 2}), counts({2, 1}), false, 0, 0);
      },
      "Expected data of 3 rows");
}

TEST(PackedSequence, GradientsGoBackToTheRows) {
  // Three steps of two samples, the second of which has one.
  const Tensor grad = tensor_of({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  const Tensor padded = at::_pack_padded_sequence_backward(grad, {3, 2, 2}, counts({2, 1, 1}), false);
  EXPECT_EQ(values(padded), (std::vector<double>{1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}));
  const Tensor first = at::_pack_padded_sequence_backward(grad, {2, 3, 2}, counts({2, 1, 1}), true);
  EXPECT_EQ(values(first), values(at::transpose(padded, 0, 1)));
  expect_error<c10::Error>(
      [&] {
        at::_pack_padded_sequence_backward(grad, {3, 2, 2}, counts({3, 1}), false);
      },
      "Expected batch_sizes from 0 to 2, got 3");
  expect_error<c10::Error>(
      [&] {
        at::_pack_padded_sequence_backward(grad, {1, 2, 2}, counts({2, 2}), false);
      },
      "of at most 1 steps, got 2");
  expect_error<c10::Error>(
      [&] {
        at::_pack_padded_sequence_backward(grad, {3, 2, 2}, counts({2, 1}), false);
      },
      "Expected a gradient of 3 rows");
}

}  // namespace
}  // namespace at::testing
