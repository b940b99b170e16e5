// The cells of recurrent layers: a thread for a hidden unit of a sample.
#include <cmath>
#include <cstdint>

#include "aten/cuda/elementwise.cuh"
#include "aten/cuda/rnn/cell_call.h"

namespace at::cuda {
namespace {

KD_DEVICE float tanh_of(float x) {
  return ::tanhf(x);
}
KD_DEVICE double tanh_of(double x) {
  return ::tanh(x);
}
KD_DEVICE float sigmoid_of(float x) {
  return 1.0f / (1.0f + ::expf(-x));
}
KD_DEVICE double sigmoid_of(double x) {
  return 1.0 / (1.0 + ::exp(-x));
}

// Unit k of row i.
struct Unit {
  uint32_t i, k, size;
  KD_DEVICE int64_t place() const { return int64_t{i} * size + k; }
  KD_DEVICE int64_t gate(int g, int gates) const { return (int64_t{i} * gates + g) * size + k; }
};
KD_DEVICE Unit unit_of(uint32_t index, const FastDivisor& size) {
  const uint32_t row = divide(index, size);
  return {row, index - row * size.divisor, size.divisor};
}

template <class C, class T>
KD_DEVICE C get(const void* memory, int64_t place) {
  return convert<C>(static_cast<const T*>(memory)[place]);
}
template <class T, class C>
KD_DEVICE void put(void* memory, int64_t place, C value) {
  static_cast<T*>(memory)[place] = convert<T>(value);
}

struct Lstm {
  template <class C, class T>
  static KD_DEVICE void run(const CellCall& call, const Unit& u) {
    const C i = sigmoid_of(get<C, C>(call.sums, u.gate(0, 4))), f = sigmoid_of(get<C, C>(call.sums, u.gate(1, 4)));
    const C g = tanh_of(get<C, C>(call.sums, u.gate(2, 4))), o = sigmoid_of(get<C, C>(call.sums, u.gate(3, 4)));
    const C c = f * get<C, T>(call.cell, u.place()) + i * g, h = o * tanh_of(c);
    if (call.gates != nullptr) {
      put<T>(call.gates, u.gate(0, 4), i);
      put<T>(call.gates, u.gate(1, 4), f);
      put<T>(call.gates, u.gate(2, 4), g);
      put<T>(call.gates, u.gate(3, 4), o);
      put<T>(call.kept, u.place(), c);
    }
    put<T>(call.cell, u.place(), c);
    put<T>(call.out, u.place(), h);
    if (call.state != nullptr) put<T>(call.state, u.place(), h);
  }
};

struct LstmHidden {
  template <class C, class T>
  static KD_DEVICE void run(const CellCall& call, const Unit& u) {
    const C o = get<C, T>(call.gates, u.gate(3, 4));
    put<T>(call.out, u.place(), o * tanh_of(get<C, T>(call.kept, u.place())));
  }
};

struct Gru {
  template <class C, class T>
  static KD_DEVICE void run(const CellCall& call, const Unit& u) {
    const C r = sigmoid_of(get<C, C>(call.sums, u.gate(0, 3)) + get<C, C>(call.recurrent, u.gate(0, 3)));
    const C z = sigmoid_of(get<C, C>(call.sums, u.gate(1, 3)) + get<C, C>(call.recurrent, u.gate(1, 3)));
    const C from_hidden = get<C, C>(call.recurrent, u.gate(2, 3));
    const C n = tanh_of(r * from_hidden + get<C, C>(call.sums, u.gate(2, 3)));
    const C h = z * (get<C, T>(call.state, u.place()) - n) + n;
    if (call.gates != nullptr) {
      put<T>(call.gates, u.gate(0, 3), r);
      put<T>(call.gates, u.gate(1, 3), z);
      put<T>(call.gates, u.gate(2, 3), n);
      put<T>(call.kept, u.place(), from_hidden);
    }
    put<T>(call.out, u.place(), h);
    put<T>(call.state, u.place(), h);
  }
};

struct Rnn {
  template <class C, class T>
  static KD_DEVICE void run(const CellCall& call, const Unit& u) {
    const C x = get<C, C>(call.sums, u.place()), h = call.relu ? (x < C(0) ? C(0) : x) : tanh_of(x);
    put<T>(call.out, u.place(), h);
    put<T>(call.state, u.place(), h);
  }
};

template <class C, class T>
KD_DEVICE C gradient_of_state(const CellGradientCall& call, const Unit& u) {
  const C g = get<C, T>(call.grad_state, u.place());
  return call.grad_out == nullptr ? g : g + get<C, T>(call.grad_out, u.place());
}
template <class C, class T>
KD_DEVICE C state_before(const CellGradientCall& call, const Unit& u) {
  return get<C, T>(u.i < call.continued ? call.before : call.first, u.place());
}

struct LstmBackward {
  template <class C, class T>
  static KD_DEVICE void run(const CellGradientCall& call, const Unit& u) {
    const C i = get<C, T>(call.gates, u.gate(0, 4)), f = get<C, T>(call.gates, u.gate(1, 4));
    const C g = get<C, T>(call.gates, u.gate(2, 4)), o = get<C, T>(call.gates, u.gate(3, 4));
    const C t = tanh_of(get<C, T>(call.kept, u.place())), of_h = gradient_of_state<C, T>(call, u);
    const C of_c = of_h * o * (C(1) - t * t) + get<C, T>(call.grad_cell, u.place());
    put<T>(call.grad_gates, u.gate(0, 4), of_c * g * (i * (C(1) - i)));
    put<T>(call.grad_gates, u.gate(1, 4), of_c * state_before<C, T>(call, u) * (f * (C(1) - f)));
    put<T>(call.grad_gates, u.gate(2, 4), of_c * i * (C(1) - g * g));
    put<T>(call.grad_gates, u.gate(3, 4), of_h * t * (o * (C(1) - o)));
    put<T>(call.grad_cell, u.place(), of_c * f);
  }
};

struct GruBackward {
  template <class C, class T>
  static KD_DEVICE void run(const CellGradientCall& call, const Unit& u) {
    const C r = get<C, T>(call.gates, u.gate(0, 3)), z = get<C, T>(call.gates, u.gate(1, 3));
    const C n = get<C, T>(call.gates, u.gate(2, 3)), of_h = gradient_of_state<C, T>(call, u);
    const C of_n = of_h * (C(1) - z) * (C(1) - n * n);
    const C of_z = of_h * (state_before<C, T>(call, u) - n) * (z * (C(1) - z));
    const C of_r = of_n * get<C, T>(call.kept, u.place()) * (r * (C(1) - r));
    put<T>(call.grad_gates, u.gate(0, 3), of_r);
    put<T>(call.grad_recurrent, u.gate(0, 3), of_r);
    put<T>(call.grad_gates, u.gate(1, 3), of_z);
    put<T>(call.grad_recurrent, u.gate(1, 3), of_z);
    put<T>(call.grad_gates, u.gate(2, 3), of_n);
    put<T>(call.grad_recurrent, u.gate(2, 3), of_n * r);
    put<T>(call.grad_state, u.place(), of_h * z);
  }
};

struct RnnBackward {
  template <class C, class T>
  static KD_DEVICE void run(const CellGradientCall& call, const Unit& u) {
    const C y = get<C, T>(call.out, u.place()), of_h = gradient_of_state<C, T>(call, u);
    const C g = call.relu ? (y > C(0) ? of_h : C(0)) : of_h * (C(1) - y * y);
    put<T>(call.grad_gates, u.place(), g);
  }
};

template <class Fn, class C, class T, class Call>
__global__ void each_unit(const __grid_constant__ Call call, uint32_t n) {
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
    Fn::template run<C, T>(call, unit_of(i, call.size));
}

template <class Fn, class Call>
void launch_units(const Call& call) {
  const uint32_t n = call.rows * call.size.divisor;
  const auto go = [&](auto kernel) {
    c10::cuda::launch_or_throw(call.name, kernel, shape_for(n, 1, c10::cuda::getCurrentCUDAStream()), call, n);
  };
  switch (call.dtype) {
    case ScalarType::Double:
      return go(each_unit<Fn, double, double, Call>);
    case ScalarType::Half:
      return go(each_unit<Fn, float, Half, Call>);
    case ScalarType::BFloat16:
      return go(each_unit<Fn, float, BFloat16, Call>);
    default:
      return go(each_unit<Fn, float, float, Call>);
  }
}

}  // namespace

void launch_lstm_cell(const CellCall& call) {
  launch_units<Lstm>(call);
}
void launch_gru_cell(const CellCall& call) {
  launch_units<Gru>(call);
}
void launch_rnn_cell(const CellCall& call) {
  launch_units<Rnn>(call);
}
void launch_lstm_hidden(const CellCall& call) {
  launch_units<LstmHidden>(call);
}
void launch_lstm_cell_backward(const CellGradientCall& call) {
  launch_units<LstmBackward>(call);
}
void launch_gru_cell_backward(const CellGradientCall& call) {
  launch_units<GruBackward>(call);
}
void launch_rnn_cell_backward(const CellGradientCall& call) {
  launch_units<RnnBackward>(call);
}

}  // namespace at::cuda
