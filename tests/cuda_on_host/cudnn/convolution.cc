#include "tests/cuda_on_host/cudnn/convolution.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tests/cuda_on_host/cudnn/numbers.h"

namespace cudnn_standin {
namespace {

// A tensor's numbers, [a][b][depth][height][width].
template <class C>
struct Numbers {
  std::array<int64_t, 5> sizes{1, 1, 1, 1, 1};
  std::vector<C> values;
  int64_t plane() const { return sizes[2] * sizes[3] * sizes[4]; }
};

// TF32: 10 bits behind the leading one, rounded to the nearest, halves away from zero.
float rounded_to_tf32(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7F800000) == 0x7F800000) return x;
  return std::bit_cast<float>((bits + 0x1000) & 0xFFFFE000);
}

std::array<int64_t, 5> filled(const std::vector<int64_t>& list) {
  std::array<int64_t, 5> all{1, 1, 1, 1, 1};
  const size_t spatial = list.size() - 2;
  all[0] = list[0], all[1] = list[1];
  for (size_t i = 0; i < spatial; ++i) all[5 - spatial + i] = list[2 + i];
  return all;
}

// f(place in memory) for the elements in the order of Numbers.
template <class F>
void for_elements(const Descriptor& tensor, const F& f) {
  const auto sizes = filled(tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS));
  const auto strides = filled(tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES));
  for (int64_t a = 0; a < sizes[0]; ++a)
    for (int64_t b = 0; b < sizes[1]; ++b)
      for (int64_t z = 0; z < sizes[2]; ++z)
        for (int64_t y = 0; y < sizes[3]; ++y) {
          const int64_t line = a * strides[0] + b * strides[1] + z * strides[2] + y * strides[3];
          for (int64_t x = 0; x < sizes[4]; ++x) f(line + x * strides[4]);
        }
}

struct Geometry {
  std::array<int64_t, 3> padding{}, stride{1, 1, 1}, dilation{1, 1, 1};
};

Geometry geometry_of(const Descriptor& how) {
  Geometry g;
  const auto fill = [&](int name, std::array<int64_t, 3>& to) {
    const auto list = how.list<int64_t>(name);
    for (size_t i = 0; i < list.size(); ++i) to[3 - list.size() + i] = list[i];
  };
  fill(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, g.padding);
  fill(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, g.stride);
  fill(CUDNN_ATTR_CONVOLUTION_DILATIONS, g.dilation);
  return g;
}

// The results in one direction whose window has its number k within the input: from first to before end.
struct Range {
  int64_t first, end, shift;  // result i reads input i * stride + shift
};
Range range_of(int64_t in, int64_t out, int64_t k, int64_t stride, int64_t dilation, int64_t padding) {
  const int64_t shift = k * dilation - padding;
  const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t end = in - 1 - shift < 0 ? 0 : (in - 1 - shift) / stride + 1;
  return {first, std::max(first, std::min(end, out)), shift};
}

// f(place of the kernel, first result, first input, count, step of the input) for every piece of a line of a plane.
template <class C, class F>
void for_lines(const Numbers<C>& x, const Numbers<C>& w, const Numbers<C>& y, const Geometry& g, const F& f) {
  int64_t place = 0;
  for (int64_t a = 0; a < w.sizes[2]; ++a) {
    const Range rz = range_of(x.sizes[2], y.sizes[2], a, g.stride[0], g.dilation[0], g.padding[0]);
    for (int64_t b = 0; b < w.sizes[3]; ++b) {
      const Range ry = range_of(x.sizes[3], y.sizes[3], b, g.stride[1], g.dilation[1], g.padding[1]);
      for (int64_t k = 0; k < w.sizes[4]; ++k, ++place) {
        const Range rx = range_of(x.sizes[4], y.sizes[4], k, g.stride[2], g.dilation[2], g.padding[2]);
        if (rx.end == rx.first) continue;
        for (int64_t z = rz.first; z < rz.end; ++z)
          for (int64_t v = ry.first; v < ry.end; ++v) {
            const int64_t of_y = (z * y.sizes[3] + v) * y.sizes[4] + rx.first;
            const int64_t of_x = ((z * g.stride[0] + rz.shift) * x.sizes[3] + v * g.stride[1] + ry.shift) * x.sizes[4] +
                                 rx.first * g.stride[2] + rx.shift;
            f(place, of_y, of_x, rx.end - rx.first, g.stride[2]);
          }
      }
    }
  }
}

// What an engine does to sums.
struct Manner {
  bool short_sums = false;  // rounded to `type` behind each channel
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  uint64_t start = 0;  // which channel or sample comes first
};

template <class C>
void convolve(Part part, Numbers<C>& x, Numbers<C>& w, Numbers<C>& y, const Geometry& g, const Manner& how) {
  const int64_t inputs = w.sizes[1], groups = x.sizes[1] / inputs, outputs = w.sizes[0] / groups;
  const int64_t batch = x.sizes[0], in = x.plane(), out = y.plane(), kernel = w.plane();
  const auto turned = [&](int64_t i, int64_t n) { return (i + static_cast<int64_t>(how.start % 1024)) % n; };
  const auto close = [&](C* sums, int64_t n) {
    if (!how.short_sums) return;
    for (int64_t i = 0; i < n; ++i) sums[i] = rounded_to(how.type, sums[i]);
  };
  Numbers<C>& to = part == Part::kForward ? y : part == Part::kGradData ? x : w;
  std::fill(to.values.begin(), to.values.end(), C(0));
  for (int64_t step = 0; step < batch; ++step) {
    const int64_t n = turned(step, batch);
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t one = 0; one < outputs; ++one)
        for (int64_t other = 0; other < inputs; ++other) {
          // The channel that is summed over starts anywhere.
          const int64_t o = group * outputs + (part == Part::kGradData ? turned(one, outputs) : one);
          const int64_t i = part == Part::kForward ? turned(other, inputs) : other;
          C* const xs = x.values.data() + (n * x.sizes[1] + group * inputs + i) * in;
          C* const ys = y.values.data() + (n * y.sizes[1] + o) * out;
          C* const ws = w.values.data() + (o * inputs + i) * kernel;
          for_lines(x, w, y, g, [&](int64_t place, int64_t of_y, int64_t of_x, int64_t count, int64_t stride) {
            C* const line = ys + of_y;
            C* const from = xs + of_x;
            if (part == Part::kForward) {
              const C factor = ws[place];
              for (int64_t j = 0; j < count; ++j) line[j] += factor * from[j * stride];
            } else if (part == Part::kGradData) {
              const C factor = ws[place];
              for (int64_t j = 0; j < count; ++j) from[j * stride] += factor * line[j];
            } else {
              C sum = 0;
              for (int64_t j = 0; j < count; ++j) sum += line[j] * from[j * stride];
              ws[place] += sum;
            }
          });
          if (part == Part::kForward) close(ys, out);
          if (part == Part::kGradData) close(xs, in);
          if (part == Part::kGradFilter) close(ws, kernel);
        }
  }
}

template <class C>
class Run {
 public:
  Run(const Engine& engine, const std::map<int64_t, void*>& data, uint64_t run)
      : engine_(engine), data_(data), run_(run) {}

  void operation(const Descriptor& op) {
    if (op.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      pointwise(op);
    else
      convolution(op);
  }

 private:
  bool has(cudnnBackendNumericalNote_t note) const { return (engine_.notes >> note & 1) != 0; }

  static int64_t id_of(const Descriptor& tensor) { return tensor.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0); }
  static cudnnDataType_t type_of(const Descriptor& tensor) {
    return tensor.get(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  }

  Numbers<C> empty(const Descriptor& tensor) const {
    Numbers<C> n;
    n.sizes = filled(tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS));
    n.values.resize(static_cast<size_t>(n.sizes[0] * n.sizes[1] * n.plane()));
    return n;
  }
  Numbers<C> read(const Descriptor& tensor) {
    if (tensor.get(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false)) return virtual_.at(id_of(tensor));
    Numbers<C> n = empty(tensor);
    const void* const memory = data_.at(id_of(tensor));
    size_t i = 0;
    for_elements(tensor, [&](int64_t place) { n.values[i++] = load<C>(memory, type_of(tensor), place); });
    return n;
  }
  void write(const Descriptor& tensor, Numbers<C> n) {
    if (tensor.get(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false)) {
      for (C& value : n.values) value = rounded_to(type_of(tensor), value);
      virtual_[id_of(tensor)] = std::move(n);
      return;
    }
    void* const memory = data_.at(id_of(tensor));
    size_t i = 0;
    for_elements(tensor, [&](int64_t place) { store(memory, type_of(tensor), place, n.values[i++]); });
  }

  void convolution(const Descriptor& op) {
    const ConvolutionNames names = names_of(op.type);
    const int parts[] = {names.x, names.w, names.y};
    const int result = names.part == Part::kForward ? 2 : names.part == Part::kGradData ? 0 : 1;
    Numbers<C> all[3];
    for (int i = 0; i < 3; ++i) {
      const Descriptor& tensor = *op.part(parts[i]);
      all[i] = i == result ? empty(tensor) : read(tensor);
      if (i == result || type_of(tensor) != CUDNN_DATA_FLOAT || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) continue;
      const bool to_half = has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
      for (C& value : all[i].values) {
        value =
            to_half ? rounded_to(CUDNN_DATA_HALF, value) : static_cast<C>(rounded_to_tf32(static_cast<float>(value)));
      }
    }
    const Manner how{has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION), type_of(*op.part(parts[result])),
                     has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) ? run_ + 1 : 0};
    convolve(names.part, all[0], all[1], all[2], geometry_of(*op.part(names.description)), how);
    write(*op.part(parts[result]), std::move(all[result]));
  }

  void pointwise(const Descriptor& op) {
    const auto mode =
        op.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)->get(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY);
    Numbers<C> x = read(*op.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    if (mode == CUDNN_POINTWISE_RELU_FWD) {
      for (C& value : x.values) value = value < C(0) ? C(0) : value;
    } else {
      const Numbers<C> b = read(*op.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
      const C first = static_cast<C>(op.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1)),
              second = static_cast<C>(op.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1));
      int64_t place[5] = {}, steps[5];
      for (int d = 4, next = 1; d >= 0; --d) {
        steps[d] = b.sizes[static_cast<size_t>(d)] == 1 ? 0 : next;
        next *= static_cast<int>(b.sizes[static_cast<size_t>(d)]);
      }
      for (C& value : x.values) {
        int64_t at = 0;
        for (int d = 0; d < 5; ++d) at += place[d] * steps[d];
        value = first * value + second * b.values[static_cast<size_t>(at)];
        for (int d = 4; d >= 0 && ++place[d] == x.sizes[static_cast<size_t>(d)]; --d) place[d] = 0;
      }
    }
    write(*op.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC), std::move(x));
  }

  const Engine& engine_;
  const std::map<int64_t, void*>& data_;
  const uint64_t run_;
  std::map<int64_t, Numbers<C>> virtual_;
};

}  // namespace

ConvolutionNames names_of(cudnnBackendDescriptorType_t operation) {
  switch (operation) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {Part::kGradData,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {Part::kGradFilter,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {Part::kForward,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

std::vector<Operand> operands_of(const Descriptor& operation) {
  if (operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    std::vector<Operand> all = {{operation.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), false}};
    if (const Descriptor* const b = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) all.push_back({b, false});
    all.push_back({operation.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC), true});
    return all;
  }
  const ConvolutionNames names = names_of(operation.type);
  return {{operation.part(names.x), names.part == Part::kGradData},
          {operation.part(names.w), names.part == Part::kGradFilter},
          {operation.part(names.y), names.part == Part::kForward}};
}

void compute(const Descriptor& graph, const Engine& engine, const std::map<int64_t, void*>& data, uint64_t run) {
  const auto& operations = graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).parts;
  const auto type = operands_of(*operations[0])[0].tensor->get(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  const auto with = [&](auto&& all) {
    for (const auto& operation : operations) all.operation(*operation);
  };
  if (type == CUDNN_DATA_DOUBLE)
    with(Run<double>(engine, data, run));
  else
    with(Run<float>(engine, data, run));
}

}  // namespace cudnn_standin
