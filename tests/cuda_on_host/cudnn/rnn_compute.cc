// The sums of recurrent networks, by plain loops: forward, and backward from what the reserve holds of forward.
#include <algorithm>
#include <cmath>

#include "tests/cuda_on_host/cudnn/numbers.h"
#include "tests/cuda_on_host/cudnn/rnn.h"

namespace cudnn_standin {
namespace {

// What a reserve holds: of forward, then of the gradients of the sums.
constexpr uint64_t kOfForward = 0x464F5257415244, kOfBackward = 0x4241434B5741;
constexpr size_t kHeader = 64;

// Places in a reserve, in elements. Rows are those of all steps.
struct Layer {
  int64_t x, mask, out;  // the input, what it was multiplied by, the result
};
struct Part {
  int64_t gates;  // activated; then the gradients of the sums of the input
  int64_t cells;  // of an LSTM; of a GRU what r multiplies, then the gradient of that
  int64_t raw;    // the hidden state before it is projected
  int64_t grads;  // of the hidden state behind it
};
struct Layout {
  std::vector<Layer> layers;
  std::vector<Part> parts;
  int64_t count = 0;
};

Layout layout_of(const Network& n, int64_t rows) {
  Layout all;
  const auto take = [&](int64_t columns) {
    const int64_t at = all.count;
    all.count += rows * columns;
    return at;
  };
  for (int64_t layer = 0; layer < n.layers; ++layer) {
    const int64_t x = take(n.input_of(layer)), mask = take(n.input_of(layer));
    all.layers.push_back({x, mask, take(n.state * n.directions)});
    for (int64_t direction = 0; direction < n.directions; ++direction) {
      const int64_t gates = take(n.gates() * n.hidden), cells = take(n.hidden), raw = take(n.hidden);
      all.parts.push_back({gates, cells, raw, take(n.state)});
    }
  }
  return all;
}

uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

template <class C>
C sigmoid(C x) {
  return 1 / (1 + std::exp(-x));
}

template <class C>
class Run {
 public:
  Run(const Network& n, const Data& x, const NetworkMemory& m)
      : n_(n), m_(m), rows_(x.rows()), lengths_(x.lengths), layout_(layout_of(n, rows_)) {
    for (int t = 0; t < lengths_[0]; ++t) {
      first_.push_back(first_.empty() ? 0 : first_.back() + counts_.back());
      counts_.push_back(std::count_if(lengths_.begin(), lengths_.end(), [&](int length) { return length > t; }));
    }
    if (m.reserve == nullptr) own_.resize(static_cast<size_t>(layout_.count));
    base_ = m.reserve != nullptr ? reinterpret_cast<C*>(static_cast<char*>(m.reserve) + kHeader) : own_.data();
  }

  void forward() {
    for (int64_t layer = 0; layer < n_.layers; ++layer) {
      feed(layer);
      for (int64_t direction = 0; direction < n_.directions; ++direction) forward_part(layer, direction);
    }
    const C* const out = at(layout_.layers.back().out);
    for (int64_t i = 0; i < rows_ * width(); ++i) store(m_.y, n_.type, i, out[i]);
    mark(kOfForward);
  }

  void backward_data() {
    expect(kOfForward, "cudnnRNNBackwardData_v8");
    std::vector<C> grads(static_cast<size_t>(rows_ * width()));
    for (int64_t i = 0; i < rows_ * width(); ++i) grads[static_cast<size_t>(i)] = load<C>(m_.grad_y, n_.type, i);
    for (int64_t layer = n_.layers; layer-- > 0;) {
      const int64_t inputs = n_.input_of(layer);
      std::vector<C> of_input(static_cast<size_t>(rows_ * inputs));
      for (int64_t direction = 0; direction < n_.directions; ++direction)
        backward_part(layer, direction, grads, of_input);
      const C* const mask = at(layout_.layers[static_cast<size_t>(layer)].mask);
      for (int64_t i = 0; i < rows_ * inputs; ++i) of_input[static_cast<size_t>(i)] *= mask[i];
      grads = std::move(of_input);
    }
    for (int64_t i = 0; i < rows_ * n_.input; ++i) store(m_.grad_x, n_.type, i, grads[static_cast<size_t>(i)]);
    mark(kOfBackward);
  }

  void backward_weights() {
    expect(kOfBackward, "cudnnRNNBackwardWeights_v8");
    for (int64_t part = 0; part < n_.parts(); ++part) {
      const int64_t layer = part / n_.directions, inputs = n_.input_of(layer), gates = n_.gates() * n_.hidden;
      const WeightOffsets o = offsets_of(n_, part);
      const Part& p = layout_.parts[static_cast<size_t>(part)];
      for (int64_t row = 0; row < rows_; ++row) {
        std::vector<C> of_sums(at(p.gates) + row * gates, at(p.gates) + (row + 1) * gates), of_state = of_sums;
        if (n_.mode == CUDNN_GRU) std::copy_n(at(p.cells) + row * n_.hidden, n_.hidden, &of_state[2 * hidden()]);
        const C* const x = at(layout_.layers[static_cast<size_t>(layer)].x) + row * inputs;
        const std::vector<C> before = state_before(part, row);
        for (int64_t g = 0; g < gates; ++g) {
          const auto i = static_cast<size_t>(g);
          for (int64_t k = 0; k < inputs; ++k) add(o.input + g * inputs + k, of_sums[i] * x[k]);
          for (int64_t k = 0; k < n_.state; ++k)
            add(o.recurrent + g * n_.state + k, of_state[i] * before[static_cast<size_t>(k)]);
          if (!n_.biases) continue;
          add(o.input_bias + g, of_sums[i]);
          add(o.recurrent_bias + g, of_state[i]);
        }
        if (!n_.projected()) continue;
        for (int64_t s = 0; s < n_.state; ++s) {
          for (int64_t k = 0; k < n_.hidden; ++k)
            add(o.projection + s * n_.hidden + k, at(p.grads)[row * n_.state + s] * at(p.raw)[row * n_.hidden + k]);
        }
      }
    }
    for (size_t i = 0; i < sums_.size(); ++i) {
      const auto to = static_cast<int64_t>(i);
      if (sums_[i] != 0) store(m_.grad_weights, n_.type, to, load<C>(m_.grad_weights, n_.type, to) + sums_[i]);
    }
  }

 private:
  int64_t width() const { return n_.state * n_.directions; }
  size_t hidden() const { return static_cast<size_t>(n_.hidden); }
  C* at(int64_t offset) const { return base_ + offset; }
  C weight(int64_t offset) const { return load<C>(m_.weights, n_.type, offset); }
  void add(int64_t offset, C value) {
    if (sums_.empty()) sums_.resize(static_cast<size_t>(weight_count(n_)));
    sums_[static_cast<size_t>(offset)] += value;
  }
  void mark(uint64_t tag) {
    if (m_.reserve != nullptr) std::memcpy(m_.reserve, &tag, sizeof tag);
  }
  void expect(uint64_t tag, const char* call) {
    uint64_t found = 0;
    std::memcpy(&found, m_.reserve, sizeof found);
    if (found != tag) report(std::string(call) + ": the reserve is not as the call before has to leave it");
  }

  // The input of a layer: data, or the results of the layer below, some of them dropped.
  void feed(int64_t layer) {
    const Layer& l = layout_.layers[static_cast<size_t>(layer)];
    const int64_t count = rows_ * n_.input_of(layer);
    std::fill_n(at(l.mask), count, C(1));
    if (layer == 0) {
      for (int64_t i = 0; i < count; ++i) at(l.x)[i] = load<C>(m_.x, n_.type, i);
      return;
    }
    const Dropout& d = *n_.dropout;
    if (m_.reserve != nullptr && d.states != nullptr && d.probability > 0) {
      DropoutStates states;
      std::memcpy(&states, d.states, sizeof states);
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t bits = mixed(mixed(states.seed) + mixed(states.calls) * 3 + static_cast<uint64_t>(i) * 5);
        const double uniform = static_cast<double>(bits >> 11) * 0x1p-53;
        at(l.mask)[i] = uniform < d.probability ? C(0) : C(1) / (C(1) - static_cast<C>(d.probability));
      }
      ++states.calls;
      std::memcpy(d.states, &states, sizeof states);
    }
    const C* const below = at(layout_.layers[static_cast<size_t>(layer - 1)].out);
    for (int64_t i = 0; i < count; ++i) at(l.x)[i] = below[i] * at(l.mask)[i];
  }

  // The row of the step before, -1 where a sequence begins.
  int64_t row_before(int64_t direction, int64_t t, int64_t sample) const {
    const int64_t before = direction == 0 ? t - 1 : t + 1;
    if (before < 0 || before >= static_cast<int64_t>(counts_.size())) return -1;
    const auto i = static_cast<size_t>(before);
    return sample < counts_[i] ? first_[i] + sample : -1;
  }

  std::vector<C> state_before(int64_t part, int64_t row) const {
    const int64_t direction = part % n_.directions, layer = part / n_.directions;
    const auto t = std::upper_bound(first_.begin(), first_.end(), row) - first_.begin() - 1;
    const int64_t sample = row - first_[static_cast<size_t>(t)], before = row_before(direction, t, sample);
    return state_of(layer, direction, before, sample);
  }

  std::vector<C> state_of(int64_t layer, int64_t direction, int64_t row, int64_t sample) const {
    std::vector<C> h(static_cast<size_t>(n_.state));
    const auto batch = static_cast<int64_t>(lengths_.size());
    const int64_t first = ((layer * n_.directions + direction) * batch + sample) * n_.state;
    const C* const out = at(layout_.layers[static_cast<size_t>(layer)].out);
    for (int64_t k = 0; k < n_.state; ++k) {
      h[static_cast<size_t>(k)] = row >= 0           ? out[row * width() + direction * n_.state + k]
                                  : m_.hx != nullptr ? load<C>(m_.hx, n_.type, first + k)
                                                     : C(0);
    }
    return h;
  }

  C cell_before(int64_t part, int64_t row, int64_t sample, int64_t k) const {
    if (row >= 0) return at(layout_.parts[static_cast<size_t>(part)].cells)[row * n_.hidden + k];
    const auto batch = static_cast<int64_t>(lengths_.size());
    return m_.cx != nullptr ? load<C>(m_.cx, n_.type, (part * batch + sample) * n_.hidden + k) : C(0);
  }

  void forward_part(int64_t layer, int64_t direction) {
    const int64_t part = layer * n_.directions + direction, inputs = n_.input_of(layer), gates = n_.gates();
    const auto steps = static_cast<int64_t>(counts_.size()), batch = static_cast<int64_t>(lengths_.size());
    const WeightOffsets o = offsets_of(n_, part);
    const Part& p = layout_.parts[static_cast<size_t>(part)];
    const Layer& l = layout_.layers[static_cast<size_t>(layer)];
    for (int64_t order = 0; order < steps; ++order) {
      const int64_t t = direction == 0 ? order : steps - 1 - order;
      for (int64_t sample = 0; sample < counts_[static_cast<size_t>(t)]; ++sample) {
        const int64_t row = first_[static_cast<size_t>(t)] + sample, before = row_before(direction, t, sample);
        const std::vector<C> h = state_of(layer, direction, before, sample);
        const C* const x = at(l.x) + row * inputs;
        const auto sum_x = [&](int64_t g, int64_t k) {
          const int64_t i = g * n_.hidden + k;
          C sum = n_.biases ? weight(o.input_bias + i) : C(0);
          for (int64_t j = 0; j < inputs; ++j) sum += weight(o.input + i * inputs + j) * x[j];
          return sum;
        };
        const auto sum_h = [&](int64_t g, int64_t k) {
          const int64_t i = g * n_.hidden + k;
          C sum = n_.biases ? weight(o.recurrent_bias + i) : C(0);
          for (int64_t j = 0; j < n_.state; ++j)
            sum += weight(o.recurrent + i * n_.state + j) * h[static_cast<size_t>(j)];
          return sum;
        };
        C* const kept = at(p.gates) + row * gates * n_.hidden;
        C* const raw = at(p.raw) + row * n_.hidden;
        for (int64_t k = 0; k < n_.hidden; ++k) {
          const auto gate = [&](int64_t g) -> C& { return kept[g * n_.hidden + k]; };
          C& cell = at(p.cells)[row * n_.hidden + k];
          if (n_.mode == CUDNN_LSTM) {
            for (const int64_t g : {0, 1, 3}) gate(g) = sigmoid(sum_x(g, k) + sum_h(g, k));
            gate(2) = std::tanh(sum_x(2, k) + sum_h(2, k));
            cell = gate(1) * cell_before(part, before, sample, k) + gate(0) * gate(2);
            raw[k] = gate(3) * std::tanh(cell);
          } else if (n_.mode == CUDNN_GRU) {
            for (const int64_t g : {0, 1}) gate(g) = sigmoid(sum_x(g, k) + sum_h(g, k));
            cell = sum_h(2, k);
            gate(2) = std::tanh(sum_x(2, k) + gate(0) * cell);
            raw[k] = (1 - gate(1)) * gate(2) + gate(1) * h[static_cast<size_t>(k)];
          } else {
            const C sum = sum_x(0, k) + sum_h(0, k);
            raw[k] = gate(0) = n_.mode == CUDNN_RNN_TANH ? std::tanh(sum) : std::max(sum, C(0));
          }
        }
        const bool last = direction == 0 ? t + 1 == lengths_[static_cast<size_t>(sample)] : t == 0;
        C* const out = at(l.out) + row * width() + direction * n_.state;
        for (int64_t s = 0; s < n_.state; ++s) {
          C value = raw[s];
          if (n_.projected()) {
            value = 0;
            for (int64_t k = 0; k < n_.hidden; ++k) value += weight(o.projection + s * n_.hidden + k) * raw[k];
          }
          out[s] = value;
          if (last && m_.hy != nullptr) store(m_.hy, n_.type, (part * batch + sample) * n_.state + s, value);
        }
        if (!last || m_.cy == nullptr || n_.mode != CUDNN_LSTM) continue;
        for (int64_t k = 0; k < n_.hidden; ++k)
          store(m_.cy, n_.type, (part * batch + sample) * n_.hidden + k, at(p.cells)[row * n_.hidden + k]);
      }
    }
  }

  void backward_part(int64_t layer, int64_t direction, const std::vector<C>& grads, std::vector<C>& of_input) {
    const int64_t part = layer * n_.directions + direction, inputs = n_.input_of(layer), gates = n_.gates();
    const auto steps = static_cast<int64_t>(counts_.size()), batch = static_cast<int64_t>(lengths_.size());
    const WeightOffsets o = offsets_of(n_, part);
    const Part& p = layout_.parts[static_cast<size_t>(part)];
    const auto carried = [&](const void* from, int64_t size) {
      std::vector<C> all(static_cast<size_t>(batch * size));
      for (int64_t i = 0; from != nullptr && i < batch * size; ++i)
        all[static_cast<size_t>(i)] = load<C>(from, n_.type, part * batch * size + i);
      return all;
    };
    std::vector<C> of_h = carried(m_.grad_hy, n_.state),
                   of_c = carried(n_.mode == CUDNN_LSTM ? m_.grad_cy : nullptr, n_.hidden);
    for (int64_t order = steps; order-- > 0;) {
      const int64_t t = direction == 0 ? order : steps - 1 - order;
      for (int64_t sample = 0; sample < counts_[static_cast<size_t>(t)]; ++sample) {
        const int64_t row = first_[static_cast<size_t>(t)] + sample, before = row_before(direction, t, sample);
        const std::vector<C> h = state_of(layer, direction, before, sample);
        C* const carry = &of_h[static_cast<size_t>(sample * n_.state)];
        std::vector<C> of_out(static_cast<size_t>(n_.state)), of_raw(hidden());
        for (int64_t s = 0; s < n_.state; ++s) {
          const auto i = static_cast<size_t>(s);
          of_out[i] = carry[s] + grads[static_cast<size_t>(row * width() + direction * n_.state + s)];
          at(p.grads)[row * n_.state + s] = of_out[i];
          carry[s] = 0;
        }
        for (int64_t k = 0; k < n_.hidden; ++k) {
          C& to = of_raw[static_cast<size_t>(k)];
          if (!n_.projected()) to = of_out[static_cast<size_t>(k)];
          for (int64_t s = 0; n_.projected() && s < n_.state; ++s)
            to += weight(o.projection + s * n_.hidden + k) * of_out[static_cast<size_t>(s)];
        }
        C* const kept = at(p.gates) + row * gates * n_.hidden;
        std::vector<C> of_recurrent(static_cast<size_t>(gates * n_.hidden));
        for (int64_t k = 0; k < n_.hidden; ++k) {
          const auto gate = [&](int64_t g) -> C& { return kept[g * n_.hidden + k]; };
          C& cell = at(p.cells)[row * n_.hidden + k];
          const C of_h_k = of_raw[static_cast<size_t>(k)];
          if (n_.mode == CUDNN_LSTM) {
            C& of_cell = of_c[static_cast<size_t>(sample * n_.hidden + k)];
            const C i = gate(0), f = gate(1), g = gate(2), out = gate(3), squashed = std::tanh(cell);
            const C d = of_cell + of_h_k * out * (1 - squashed * squashed);
            gate(3) = of_h_k * squashed * out * (1 - out);
            gate(0) = d * g * i * (1 - i);
            gate(2) = d * i * (1 - g * g);
            gate(1) = d * cell_before(part, before, sample, k) * f * (1 - f);
            of_cell = d * f;
          } else if (n_.mode == CUDNN_GRU) {
            const C r = gate(0), z = gate(1), fresh = gate(2);
            const C of_fresh = of_h_k * (1 - z) * (1 - fresh * fresh);
            gate(1) = of_h_k * (h[static_cast<size_t>(k)] - fresh) * z * (1 - z);
            gate(0) = of_fresh * cell * r * (1 - r);
            gate(2) = of_fresh;
            cell = of_fresh * r;
            carry[k] += of_h_k * z;
          } else {
            const C out = gate(0);
            gate(0) = n_.mode == CUDNN_RNN_TANH ? of_h_k * (1 - out * out) : out > 0 ? of_h_k : C(0);
          }
          for (int64_t g = 0; g < gates; ++g)
            of_recurrent[static_cast<size_t>(g * n_.hidden + k)] = n_.mode == CUDNN_GRU && g == 2 ? cell : gate(g);
        }
        for (int64_t i = 0; i < gates * n_.hidden; ++i) {
          for (int64_t j = 0; j < inputs; ++j)
            of_input[static_cast<size_t>(row * inputs + j)] += weight(o.input + i * inputs + j) * kept[i];
          for (int64_t j = 0; j < n_.state; ++j)
            carry[j] += weight(o.recurrent + i * n_.state + j) * of_recurrent[static_cast<size_t>(i)];
        }
      }
    }
    for (int64_t i = 0; m_.grad_hx != nullptr && i < batch * n_.state; ++i)
      store(m_.grad_hx, n_.type, part * batch * n_.state + i, of_h[static_cast<size_t>(i)]);
    for (int64_t i = 0; m_.grad_cx != nullptr && n_.mode == CUDNN_LSTM && i < batch * n_.hidden; ++i)
      store(m_.grad_cx, n_.type, part * batch * n_.hidden + i, of_c[static_cast<size_t>(i)]);
  }

  const Network& n_;
  const NetworkMemory& m_;
  const int64_t rows_;
  const std::vector<int>& lengths_;
  const Layout layout_;
  std::vector<int64_t> first_, counts_;  // of every step: its first row, its rows
  std::vector<C> own_, sums_;
  C* base_ = nullptr;
};

template <class F>
void with_type(const Network& n, const Data& x, const NetworkMemory& m, const F& f) {
  if (n.type == CUDNN_DATA_DOUBLE) {
    Run<double> run(n, x, m);
    f(run);
  } else {
    Run<float> run(n, x, m);
    f(run);
  }
}

}  // namespace

size_t reserve_bytes(const Network& n, const Data& x) {
  const size_t item = n.type == CUDNN_DATA_DOUBLE ? sizeof(double) : sizeof(float);
  return kHeader + static_cast<size_t>(layout_of(n, x.rows()).count) * item;
}

void run_forward(const Network& n, const Data& x, const NetworkMemory& m) {
  with_type(n, x, m, [](auto& run) { run.forward(); });
}
void run_backward_data(const Network& n, const Data& x, const NetworkMemory& m) {
  with_type(n, x, m, [](auto& run) { run.backward_data(); });
}
void run_backward_weights(const Network& n, const Data& x, const NetworkMemory& m) {
  with_type(n, x, m, [](auto& run) { run.backward_weights(); });
}

}  // namespace cudnn_standin
