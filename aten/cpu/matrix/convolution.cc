#include "aten/cpu/matrix/convolution.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>

#include "aten/cpu/matrix/channel_order.h"
#include "aten/cpu/matrix/convolution_internal.h"
#include "aten/cpu/matrix/internal.h"
#include "c10/parallel/parallel.h"
#include "c10/util/bfloat16.h"
#include "c10/util/exception.h"
#include "c10/util/half.h"

namespace at::matrix {
namespace internal {

bool is_product(const Convolution& c) {
  for (int d = 0; d < 3; ++d)
    if (c.kernel[d] != 1 || c.stride[d] != 1 || c.padding[d] != 0 || c.input[d] != c.output[d]) return false;
  return true;
}

bool is_product_in_place(const Convolution& c, ConvolutionPart part) {
  if (!is_product(c) || c.groups != 1 || c.channels_last || c.type != Type::kFloat32) return false;
  // Each image is a product, for which the weights are packed anew; and few weights are sums of many numbers.
  const int64_t places = c.input[0] * c.input[1] * c.input[2];
  if (part == ConvolutionPart::kGradWeight && std::min(c.in_channels, c.out_channels) < 64) return false;
  return c.batch == 1 || places >= 128;
}

namespace {

struct Sizes {
  int64_t in_group, out_group, window, inputs, outputs, unfolded;
  explicit Sizes(const Convolution& c)
      : in_group(c.in_channels / c.groups),
        out_group(c.out_channels / c.groups),
        window(c.kernel[0] * c.kernel[1] * c.kernel[2]),
        inputs(c.input[0] * c.input[1] * c.input[2]),
        outputs(c.output[0] * c.output[1] * c.output[2]),
        unfolded(in_group * window) {}
};

// How many output places are unfolded at a time: about a megabyte.
int64_t piece_of(const Convolution& c, const Sizes& s) {
  const int64_t room = (int64_t{1} << 20) / type_size(c.type) / (s.unfolded > 0 ? s.unfolded : 1);
  const int64_t piece = room < 64 ? 64 : room;
  return piece < s.outputs ? piece : s.outputs;
}

// Visits what columns `first` ... first + count (output places) and each row (channel, window place) of the unfolded
// matrix refer to, a run of columns at a time: f(row, column, columns, index into the group's input), from which the
// next ones lie stride[2] apart, or -1 for padding.
template <class F>
void visit_unfolded(const Convolution& c, const Sizes& s, int64_t first, int64_t count, const F& f) {
  const int64_t step = c.stride[2];
  int64_t row = 0;
  for (int64_t channel = 0; channel < s.in_group; ++channel) {
    for (int64_t k0 = 0; k0 < c.kernel[0]; ++k0) {
      for (int64_t k1 = 0; k1 < c.kernel[1]; ++k1) {
        for (int64_t k2 = 0; k2 < c.kernel[2]; ++k2, ++row) {
          // The windows of a line whose place k2 lies inside.
          const int64_t shift = k2 * c.dilation[2] - c.padding[2], room = c.input[2] - 1 - shift;
          const int64_t low = shift < 0 ? at::divup(-shift, step) : 0, high = room < 0 ? 0 : room / step + 1;
          int64_t o2 = first % c.output[2], o1 = first / c.output[2] % c.output[1],
                  o0 = first / c.output[2] / c.output[1];
          for (int64_t column = 0; column < count;) {
            const int64_t i0 = o0 * c.stride[0] - c.padding[0] + k0 * c.dilation[0];
            const int64_t i1 = o1 * c.stride[1] - c.padding[1] + k1 * c.dilation[1];
            const int64_t end = std::min(c.output[2], o2 + count - column);
            if (i0 < 0 || i0 >= c.input[0] || i1 < 0 || i1 >= c.input[1]) {
              f(row, column, end - o2, -1);
            } else {
              const int64_t begins = std::clamp(low, o2, end), ends = std::clamp(high, begins, end);
              const int64_t base = ((channel * c.input[0] + i0) * c.input[1] + i1) * c.input[2] + shift;
              if (begins > o2) f(row, column, begins - o2, -1);
              if (ends > begins) f(row, column + begins - o2, ends - begins, base + begins * step);
              if (end > ends) f(row, column + ends - o2, end - ends, -1);
            }
            column += end - o2;
            o2 = 0;
            if (++o1 == c.output[1]) o1 = 0, ++o0;
          }
        }
      }
    }
  }
}

template <class T>
void unfold(const Convolution& c, const Sizes& s, const T* input, int64_t first, int64_t count, T* to) {
  const int64_t step = c.stride[2];
  visit_unfolded(c, s, first, count, [&](int64_t row, int64_t column, int64_t columns, int64_t at) {
    T* const run = to + row * count + column;
    if (at < 0) {
      std::fill(run, run + columns, T{});
    } else if (step == 1) {
      std::copy(input + at, input + at + columns, run);
    } else {
      for (int64_t i = 0; i < columns; ++i) run[i] = input[at + i * step];
    }
  });
}

template <class T>
T plus(T x, T y) {
  return static_cast<T>(x + y);
}
struct Complex64 {
  float re, im;
};
struct Complex128 {
  double re, im;
};
Complex64 plus(Complex64 x, Complex64 y) {
  return {x.re + y.re, x.im + y.im};
}
Complex128 plus(Complex128 x, Complex128 y) {
  return {x.re + y.re, x.im + y.im};
}

template <class F>
void visit_type(Type type, const F& f) {
  switch (type) {
    case Type::kFloat32:
      return f(float{});
    case Type::kFloat64:
      return f(double{});
    case Type::kUint8:
      return f(uint8_t{});
    case Type::kInt8:
      return f(int8_t{});
    case Type::kInt16:
      return f(int16_t{});
    case Type::kInt32:
      return f(int32_t{});
    case Type::kInt64:
      return f(int64_t{});
    case Type::kComplex64:
      return f(Complex64{});
    case Type::kComplex128:
      return f(Complex128{});
    case Type::kFloat16:
    case Type::kBFloat16:
      break;
  }
  TORCH_INTERNAL_ASSERT(false, "half types are converted before");
}

template <class T>
void forward(const Convolution& c, const T* input, const T* weight, const T* bias, T* output) {
  const Sizes s(c);
  const int64_t piece = piece_of(c, s), pieces = at::divup(s.outputs, piece);
  const bool direct = is_product(c);
  at::parallel_for(0, c.batch * c.groups * pieces, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch(direct ? 64 : static_cast<size_t>(s.unfolded * piece) * sizeof(T));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / pieces, first = i % pieces * piece, group = image % c.groups;
      const int64_t count = s.outputs - first < piece ? s.outputs - first : piece;
      const T* in = input + image * s.in_group * s.inputs;
      Gemm g;
      g.type = c.type;
      g.m = s.out_group, g.n = count, g.k = s.unfolded;
      g.a = {weight + group * s.out_group * s.unfolded, s.unfolded, 1, {0, 0}};
      if (direct) {
        g.b = {in + first, s.inputs, 1, {0, 0}};
      } else {
        unfold(c, s, in, first, count, scratch.as<T>());
        g.b = {scratch.as<T>(), count, 1, {0, 0}};
      }
      if (bias != nullptr) g.add = {bias + group * s.out_group, 1, 0, {0, 0}};
      g.c = output + image * s.out_group * s.outputs + first;
      g.c_row = s.outputs;
      gemm(g);
    }
  });
}

template <class T>
void backward_input(const Convolution& c, const T* grad_output, const T* weight, T* grad_input) {
  const Sizes s(c);
  const int64_t piece = piece_of(c, s), step = c.stride[2];
  const bool direct = is_product(c);
  at::parallel_for(0, c.batch * c.groups, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch(direct ? 64 : static_cast<size_t>(s.unfolded * piece) * sizeof(T) + 64);
    for (int64_t image = begin; image < end; ++image) {
      T* in = grad_input + image * s.in_group * s.inputs;
      if (!direct) std::fill(in, in + s.in_group * s.inputs, T{});
      for (int64_t first = 0; first < s.outputs; first += piece) {
        const int64_t count = s.outputs - first < piece ? s.outputs - first : piece;
        Gemm g;
        g.type = c.type;
        g.m = s.unfolded, g.n = count, g.k = s.out_group;
        g.a = {weight + image % c.groups * s.out_group * s.unfolded, 1, s.unfolded, {0, 0}};
        g.b = {grad_output + image * s.out_group * s.outputs + first, s.outputs, 1, {0, 0}};
        T* columns = scratch.as<T>();
        g.c = direct ? in + first : columns;
        g.c_row = direct ? s.inputs : count;
        gemm(g);
        if (direct) continue;
        visit_unfolded(c, s, first, count, [&](int64_t row, int64_t column, int64_t places, int64_t at) {
          const T* const run = columns + row * count + column;
          for (int64_t i = 0; at >= 0 && i < places; ++i) in[at + i * step] = plus(in[at + i * step], run[i]);
        });
      }
    }
  });
}

template <class T>
void backward_weight(const Convolution& c, const T* grad_output, const T* input, T* grad_weight) {
  const Sizes s(c);
  const int64_t piece = piece_of(c, s);
  const bool direct = is_product(c);
  at::parallel_for(0, c.groups, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch(direct ? 64 : static_cast<size_t>(s.unfolded * piece) * sizeof(T) + 64);
    for (int64_t group = begin; group < end; ++group) {
      T* to = grad_weight + group * s.out_group * s.unfolded;
      for (int64_t i = 0; i < s.out_group * s.unfolded; ++i) to[i] = T{};
      for (int64_t n = 0; n < c.batch; ++n) {
        const int64_t image = n * c.groups + group;
        for (int64_t first = 0; first < s.outputs; first += piece) {
          const int64_t count = s.outputs - first < piece ? s.outputs - first : piece;
          const T* in = input + image * s.in_group * s.inputs;
          Gemm g;
          g.type = c.type;
          g.m = s.out_group, g.n = s.unfolded, g.k = count;
          g.a = {grad_output + image * s.out_group * s.outputs + first, s.outputs, 1, {0, 0}};
          if (direct) {
            g.b = {in + first, 1, s.inputs, {0, 0}};
          } else {
            unfold(c, s, in, first, count, scratch.as<T>());
            g.b = {scratch.as<T>(), 1, count, {0, 0}};
          }
          g.c = to;
          g.c_row = s.unfolded;
          g.add = {to, s.unfolded, 1, {0, 0}};
          gemm(g);
        }
      }
    }
  });
}

// A float32 copy of float16 or bfloat16 values.
class Widened {
 public:
  Widened(Type type, const void* values, int64_t count) : scratch_(static_cast<size_t>(count) * sizeof(float) + 64) {
    float* to = scratch_.as<float>();
    if (values == nullptr) return;
    if (type == Type::kFloat16)
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(static_cast<const c10::Half*>(values)[i]);
    else
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(static_cast<const c10::BFloat16*>(values)[i]);
  }
  float* get() const { return scratch_.as<float>(); }
  void narrow_to(Type type, void* values, int64_t count) const {
    if (type == Type::kFloat16)
      for (int64_t i = 0; i < count; ++i) static_cast<c10::Half*>(values)[i] = static_cast<c10::Half>(get()[i]);
    else
      for (int64_t i = 0; i < count; ++i) static_cast<c10::BFloat16*>(values)[i] = static_cast<c10::BFloat16>(get()[i]);
  }

 private:
  Scratch scratch_;
};

bool is_half(const Convolution& c) {
  return c.type == Type::kFloat16 || c.type == Type::kBFloat16;
}

Convolution as_float(const Convolution& c) {
  Convolution wide = c;
  wide.type = Type::kFloat32;
  return wide;
}

int64_t input_count(const Convolution& c) {
  return c.batch * c.in_channels * Sizes(c).inputs;
}
int64_t output_count(const Convolution& c) {
  return c.batch * c.out_channels * Sizes(c).outputs;
}
int64_t weight_count(const Convolution& c) {
  return c.out_channels * Sizes(c).unfolded;
}

bool run_forward(const Convolution& c, const void* input, const void* weight, const void* bias, void* output) {
  if (is_half(c)) {
    Widened in(c.type, input, input_count(c)), w(c.type, weight, weight_count(c)), b(c.type, bias, c.out_channels);
    Widened out(c.type, nullptr, output_count(c));
    convolution_forward(as_float(c), in.get(), w.get(), bias == nullptr ? nullptr : b.get(), out.get());
    out.narrow_to(c.type, output, output_count(c));
    return true;
  }
  visit_type(c.type, [&](auto tag) {
    using T = decltype(tag);
    forward<T>(c, static_cast<const T*>(input), static_cast<const T*>(weight), static_cast<const T*>(bias),
               static_cast<T*>(output));
  });
  return true;
}

bool run_backward_input(const Convolution& c, const void* grad_output, const void* weight, void* grad_input) {
  if (is_half(c)) {
    Widened out(c.type, grad_output, output_count(c)), w(c.type, weight, weight_count(c)),
        in(c.type, nullptr, input_count(c));
    convolution_backward_input(as_float(c), out.get(), w.get(), in.get());
    in.narrow_to(c.type, grad_input, input_count(c));
    return true;
  }
  visit_type(c.type, [&](auto tag) {
    using T = decltype(tag);
    backward_input<T>(c, static_cast<const T*>(grad_output), static_cast<const T*>(weight),
                      static_cast<T*>(grad_input));
  });
  return true;
}

bool run_backward_weight(const Convolution& c, const void* grad_output, const void* input, void* grad_weight) {
  if (is_half(c)) {
    Widened out(c.type, grad_output, output_count(c)), in(c.type, input, input_count(c)),
        w(c.type, nullptr, weight_count(c));
    convolution_backward_weight(as_float(c), out.get(), in.get(), w.get());
    w.narrow_to(c.type, grad_weight, weight_count(c));
    return true;
  }
  visit_type(c.type, [&](auto tag) {
    using T = decltype(tag);
    backward_weight<T>(c, static_cast<const T*>(grad_output), static_cast<const T*>(input),
                       static_cast<T*>(grad_weight));
  });
  return true;
}

template <class T, class Wide>
void finish(const Convolution& c, T* output) {
  const T* const add = static_cast<const T*>(c.add);
  const Wide alpha = static_cast<Wide>(c.alpha);
  at::parallel_for(0, output_count(c), int64_t{1} << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Wide x = static_cast<Wide>(output[i]);
      if (add != nullptr) x += alpha * static_cast<Wide>(add[i]);
      output[i] = static_cast<T>(c.relu && x < 0 ? Wide{0} : x);
    }
  });
}

const char* takes_all(const Convolution&, ConvolutionPart) {
  return nullptr;
}

}  // namespace

void finish_output(const Convolution& c, void* output) {
  if (c.add == nullptr && !c.relu) return;
  switch (c.type) {
    case Type::kFloat32:
      return finish<float, float>(c, static_cast<float*>(output));
    case Type::kFloat64:
      return finish<double, double>(c, static_cast<double*>(output));
    case Type::kFloat16:
      return finish<c10::Half, float>(c, static_cast<c10::Half*>(output));
    case Type::kBFloat16:
      return finish<c10::BFloat16, float>(c, static_cast<c10::BFloat16*>(output));
    default:
      TORCH_INTERNAL_ASSERT(false, "convolution: only floating types are rectified");
  }
}

constinit const ConvolutionCandidate kUnfoldingConvolution{
    "unfolding", false, false, takes_all, run_forward, run_backward_input, run_backward_weight};

}  // namespace internal

namespace {

constexpr const ConvolutionCandidate* kCandidates[] = {
#if KINDLING_HAVE_ONEDNN
    &internal::kFlatConvolution,
    &internal::kGroupConvolution,
    &internal::kWinogradConvolution,
    &internal::kOneDnnConvolution,
#endif
    &internal::kUnfoldingConvolution,
};

// What a convolution reads and writes, of whichever part: the two operands, a bias or null, and the result.
struct Operands {
  struct Operand {
    const void* data;
    int64_t channels, places;  // of an activation; 0 of the weights, whose order is always the same
  };
  Operand left, right;
  const void* bias;
  Operand result;
};

bool run_part(const ConvolutionCandidate& k, const Convolution& c, ConvolutionPart part, const void* left,
              const void* right, const void* bias, void* result) {
  switch (part) {
    case ConvolutionPart::kForward:
      return k.forward(c, left, right, bias, result);
    case ConvolutionPart::kGradInput:
      return k.backward_input(c, left, right, result);
    case ConvolutionPart::kGradWeight:
      return k.backward_weight(c, left, right, result);
  }
  return false;
}

// An operand with its channels first: a copy of an activation, the weights themselves.
class ChannelsFirst {
 public:
  ChannelsFirst(const Convolution& c, const Operands::Operand& x) : c_(c), x_(x) {
    if (x.channels > 0) copy_.emplace(static_cast<size_t>(c.batch * x.channels * x.places * type_size(c.type)));
  }
  void read() const {
    if (copy_) internal::transpose_images(x_.data, c_.batch, x_.places, x_.channels, type_size(c_.type), data());
  }
  void write_back() const {
    void* const to = const_cast<void*>(x_.data);
    if (copy_) internal::transpose_images(data(), c_.batch, x_.channels, x_.places, type_size(c_.type), to);
  }
  void* data() const { return copy_ ? copy_->as<void>() : const_cast<void*>(x_.data); }

 private:
  const Convolution& c_;
  const Operands::Operand& x_;
  std::optional<internal::Scratch> copy_;
};

// In the order of channels that the candidate takes.
bool run_in_order(const ConvolutionCandidate& k, const Convolution& c, ConvolutionPart part, const Operands& x) {
  if (!c.channels_last || k.takes_channels_last)
    return run_part(k, c, part, x.left.data, x.right.data, x.bias, const_cast<void*>(x.result.data));
  Convolution first = c;
  first.channels_last = false;
  const ChannelsFirst left(c, x.left), right(c, x.right), result(c, x.result);
  left.read();
  right.read();
  const bool done = run_part(k, first, part, left.data(), right.data(), x.bias, result.data());
  if (done) result.write_back();
  return done;
}

bool run(const ConvolutionCandidate& k, const Convolution& c, ConvolutionPart part, const Operands& x) {
  if (part != ConvolutionPart::kForward || (c.add == nullptr && !c.relu)) return run_in_order(k, c, part, x);
  // A sum would have to be turned with the result.
  if (k.takes_relu && (c.add == nullptr || !c.channels_last || k.takes_channels_last))
    return run_in_order(k, c, part, x);
  Convolution plain = c;
  plain.add = nullptr;
  plain.relu = false;
  if (!run_in_order(k, plain, part, x)) return false;
  internal::finish_output(c, const_cast<void*>(x.result.data));
  return true;
}

// Why `candidate` did not do it; null where it did. One that finds no memory leaves the work to the last, which needs
// least.
const char* attempt(const ConvolutionCandidate& candidate, const Convolution& c, ConvolutionPart part,
                    const Operands& x) {
  if (const char* refusal = candidate.refusal(c, part)) return refusal;
  const bool last = &candidate == *std::rbegin(kCandidates);
  try {
    return run(candidate, c, part, x) ? nullptr : "no implementation for these sizes";
  } catch (const c10::OutOfMemoryError&) {
    if (last) throw;
  } catch (const std::bad_alloc&) {  // there was no memory for the error either; now there is again
    TORCH_CHECK_WITH(OutOfMemoryError, !last, "convolution: not enough memory");
  }
  return "no memory for its layouts";
}

// By the first candidate that can.
void compute(const Convolution& c, ConvolutionPart part, const char* what, const Operands& x) {
  const char *reason = nullptr, *refused = nullptr;  // why the candidate before did not do it, and its name
  for (const ConvolutionCandidate* candidate : kCandidates) {
    const char* const refusal = attempt(*candidate, c, part, x);
    const bool done = refusal == nullptr;
    if (done && verbose()) {
      std::fprintf(stderr, "matrix: convolution %s %lldx%lld -> %lld groups %lld: %s%s%s%s%s%s\n", what,
                   static_cast<long long>(c.batch), static_cast<long long>(c.in_channels),
                   static_cast<long long>(c.out_channels), static_cast<long long>(c.groups), candidate->name,
                   reason ? " (" : "", reason ? refused : "", reason ? ": " : "", reason ? reason : "",
                   reason ? ")" : "");
    }
    if (done) return;
    reason = refusal;
    refused = candidate->name;
  }
}

// Whether there is nothing to multiply. The output may have elements all the same: of padding alone.
bool is_empty(const Convolution& c) {
  return internal::input_count(c) == 0 || internal::output_count(c) == 0;
}

void zero(void* p, int64_t elements, Type type) {
  if (elements > 0) std::memset(p, 0, static_cast<size_t>(elements * type_size(type)));
}

}  // namespace

const ConvolutionCandidate* convolution_candidate(int i) {
  return kCandidates[i];
}
int convolution_candidate_count() {
  return sizeof(kCandidates) / sizeof(kCandidates[0]);
}

void convolution_forward(const Convolution& c, const void* input, const void* weight, const void* bias, void* output) {
  if (internal::output_count(c) == 0) return;
  const internal::Sizes s(c);
  if (is_empty(c)) {
    // Nothing is summed: the bias alone.
    Gemm g;
    g.type = c.type;
    g.batch[1] = c.batch;
    g.m = c.channels_last ? s.outputs : c.out_channels, g.n = c.channels_last ? c.out_channels : s.outputs;
    g.c = output, g.c_row = g.n, g.c_batch[1] = g.m * g.n;
    if (bias != nullptr) g.add = {bias, c.channels_last ? 0 : 1, c.channels_last ? 1 : 0, {0, 0}};
    gemm(g);
    return internal::finish_output(c, output);
  }
  compute(c, ConvolutionPart::kForward, "forward",
          {{input, c.in_channels, s.inputs}, {weight, 0, 0}, bias, {output, c.out_channels, s.outputs}});
}

void convolution_backward_input(const Convolution& c, const void* grad_output, const void* weight, void* grad_input) {
  if (internal::input_count(c) == 0) return;
  if (is_empty(c)) return zero(grad_input, internal::input_count(c), c.type);
  const internal::Sizes s(c);
  compute(c, ConvolutionPart::kGradInput, "backward input",
          {{grad_output, c.out_channels, s.outputs}, {weight, 0, 0}, nullptr, {grad_input, c.in_channels, s.inputs}});
}

void convolution_backward_weight(const Convolution& c, const void* grad_output, const void* input, void* grad_weight) {
  if (internal::weight_count(c) == 0) return;
  if (is_empty(c)) return zero(grad_weight, internal::weight_count(c), c.type);
  const internal::Sizes s(c);
  compute(c, ConvolutionPart::kGradWeight, "backward weight",
          {{grad_output, c.out_channels, s.outputs}, {input, c.in_channels, s.inputs}, nullptr, {grad_weight, 0, 0}});
}

}  // namespace at::matrix
