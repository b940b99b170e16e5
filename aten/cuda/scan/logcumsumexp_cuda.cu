#include "aten/cuda/complex_math.cuh"
#include "aten/cuda/scan/scan.cuh"

namespace at::cuda {
namespace {

// exp(top) * sum
struct LogCumSumExp {
  using Compute = double;
  struct State {
    double top = -INFINITY, sum = 0;
  };
  static constexpr bool kOneByOne = false, kIndices = false;

  static KD_DEVICE State of(double x, int64_t) {
    State state;
    state.top = x;
    state.sum = x == -INFINITY ? 0 : 1;
    return state;
  }
  static KD_DEVICE State join(const State& a, const State& b) {
    if (a.sum == 0) return b;
    if (b.sum == 0) return a;
    State both;
    if (a.top == b.top) {
      both.top = a.top;
      both.sum = a.sum + b.sum;
    } else if (a.top > b.top) {
      both.top = a.top;
      both.sum = a.sum + b.sum * ::exp(b.top - a.top);
    } else {
      both.top = b.top;
      both.sum = a.sum * ::exp(a.top - b.top) + b.sum;
    }
    return both;
  }
  static KD_DEVICE double value(const State& state) {
    return state.sum == 0 ? state.top : state.top + ::log(state.sum);
  }
};

// log(e^a + e^b) of the one before and the element, from the larger real part; the imaginary part keeps the turns it
// has made, which depend on the order.
struct ComplexLogCumSumExp {
  using Compute = Complex;
  struct State {
    Complex value;
  };
  static constexpr bool kOneByOne = true, kIndices = false;

  static KD_DEVICE State of(Complex x, int64_t) { return {x}; }
  static KD_DEVICE State join(const State& a, const State& b) {
    const bool first = a.value.real() >= b.value.real();
    const Complex high = first ? a.value : b.value, low = first ? b.value : a.value;
    if (::isinf(high.real()) && high.real() == low.real()) {
      if (high.real() < 0) return {high};
      const Complex x = exp_of(high), y = exp_of(low);
      return {log_of(Complex(x.real() + y.real(), x.imag() + y.imag()))};
    }
    const Complex below = exp_of(Complex(low.real() - high.real(), low.imag() - high.imag()));
    const Complex added = log_of(Complex(1.0 + below.real(), below.imag()));
    return {Complex(high.real() + added.real(), high.imag() + added.imag())};
  }
  static KD_DEVICE Complex value(const State& state) { return state.value; }
};

}  // namespace

ScanLaunchers logcumsumexp_launchers(ScalarType dtype) {
  return c10::isComplexType(dtype) ? scan_launchers<ComplexLogCumSumExp>() : scan_launchers<LogCumSumExp>();
}

}  // namespace at::cuda
