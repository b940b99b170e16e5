// float32 and bfloat16 convolutions with oneDNN, in the layouts it prefers.
#include "oneapi/dnnl/dnnl.h"

#include "aten/cpu/matrix/convolution_internal.h"
#include "aten/cpu/matrix/internal.h"
#include "aten/cpu/matrix/onednn_primitives.h"
#include "c10/parallel/parallel.h"
#include "c10/util/exception.h"

namespace at::matrix::internal {
namespace {

// What the windows reach into behind the input; negative where they leave some of it out.
int64_t reach_behind(const Convolution& c, int d) {
  return (c.output[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d] + 1 - c.input[d] - c.padding[d];
}

// oneDNN rounds the number of windows down, so that less than a stride may be left out.
int64_t padding_behind(const Convolution& c, int d) {
  const int64_t reach = reach_behind(c, d);
  return reach < 0 ? 0 : reach;
}

const char* refusal(const Convolution& c, ConvolutionPart part) {
  if (c.type != Type::kFloat32 && c.type != Type::kBFloat16) return "only float32 and bfloat16";
  if (c.type == Type::kBFloat16 && !onednn_has_avx512()) return "the processor has no AVX-512 for bfloat16";
  constexpr int64_t kLargest = int64_t{1} << 31;
  double work = static_cast<double>(c.batch) * static_cast<double>(c.out_channels) *
                static_cast<double>(c.in_channels / c.groups);
  for (int d = 0; d < 3; ++d) {
    const int64_t behind = reach_behind(c, d);
    if (behind <= -c.stride[d]) return "the windows leave out a stride of the input or more";
    if (c.input[d] >= kLargest || c.output[d] >= kLargest || behind >= kLargest) return "a size of 2^31 or more";
    work *= static_cast<double>(c.output[d] * c.kernel[d]);
  }
  if (work < 2048) return "too small for its cost a call";
  // Its layouts fill channels up to 16: several times the tensors' memory, read and written, where the product needs
  // none.
  if (is_product(c) && c.in_channels < 8 && c.out_channels < 8) return "a product of few channels";
  if (is_product_in_place(c, part)) return "a product of what lies in memory";
  return nullptr;
}

enum Kind : int64_t { kForward = 2, kForwardWithBias, kBackwardInput, kBackwardWeight };

struct Problem {
  const Convolution* c;
  Kind kind;
};

// Layouts of the three tensors as callers have them and as oneDNN may choose them.
struct Layouts {
  dnnl_memory_desc_t input, weight, output, any_input, any_weight, any_output, bias;
  dnnl_dims_t stride, dilation, padding, behind;
};

void dense_channels_last(Type type, int n, const int64_t* sizes, dnnl_memory_desc_t* plain) {
  int64_t strides[8];
  int64_t step = sizes[1];
  strides[1] = 1;
  for (int d = n - 1; d >= 2; --d) {
    strides[d] = step;
    step *= sizes[d];
  }
  strides[0] = step;
  *plain = onednn_memory(type, n, sizes, strides);
}

void dense(Type type, int n, const int64_t* sizes, dnnl_memory_desc_t* plain, dnnl_memory_desc_t* any) {
  int64_t strides[8];
  int64_t step = 1;
  for (int d = n - 1; d >= 0; --d) {
    strides[d] = step;
    step *= sizes[d];
  }
  *plain = onednn_memory(type, n, sizes, strides);
  *any = onednn_any_memory(type, n, sizes);
}

Layouts layouts_of(const Convolution& c) {
  Layouts l;
  int64_t in[5] = {c.batch, c.in_channels}, out[5] = {c.batch, c.out_channels}, w[6];
  int n = 0;
  if (c.groups > 1) w[n++] = c.groups;
  w[n++] = c.out_channels / c.groups;
  w[n++] = c.in_channels / c.groups;
  for (int i = 0; i < c.dims; ++i) {
    const int d = 3 - c.dims + i;
    in[2 + i] = c.input[d];
    out[2 + i] = c.output[d];
    w[n++] = c.kernel[d];
    l.stride[i] = c.stride[d];
    l.dilation[i] = c.dilation[d] - 1;
    l.padding[i] = c.padding[d];
    l.behind[i] = padding_behind(c, d);
  }
  dense(c.type, 2 + c.dims, in, &l.input, &l.any_input);
  dense(c.type, 2 + c.dims, out, &l.output, &l.any_output);
  if (c.channels_last) {
    // It computes in this layout about as fast as in its own, and without copies.
    dense_channels_last(c.type, 2 + c.dims, in, &l.input);
    dense_channels_last(c.type, 2 + c.dims, out, &l.output);
    l.any_input = l.input;
    l.any_output = l.output;
  }
  dense(c.type, n, w, &l.weight, &l.any_weight);
  dnnl_memory_desc_t unused;
  dense(c.type, 1, &c.out_channels, &l.bias, &unused);
  return l;
}

std::unique_ptr<Primitive> make(const void* context) {
  const Problem& p = *static_cast<const Problem*>(context);
  Layouts l = layouts_of(*p.c);
  dnnl_convolution_desc_t d;
  dnnl_status_t status;
  if (p.kind == kBackwardInput) {
    status = dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &l.any_input, &l.any_weight,
                                                              &l.any_output, l.stride, l.dilation, l.padding, l.behind);
  } else if (p.kind == kBackwardWeight) {
    status = dnnl_dilated_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &l.any_input,
                                                                 &l.any_weight, nullptr, &l.any_output, l.stride,
                                                                 l.dilation, l.padding, l.behind);
  } else {
    status = dnnl_dilated_convolution_forward_desc_init(
        &d, dnnl_forward_training, dnnl_convolution_direct, &l.any_input, &l.any_weight,
        p.kind == kForwardWithBias ? &l.bias : nullptr, &l.any_output, l.stride, l.dilation, l.padding, l.behind);
  }
  if (status == dnnl_unimplemented || status == dnnl_invalid_arguments) return nullptr;
  onednn_check(status, "convolution");
  dnnl_primitive_desc_t hint = nullptr, descriptor = nullptr;
  if (p.kind == kBackwardInput || p.kind == kBackwardWeight) {
    dnnl_convolution_desc_t forward;
    status = dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                                        &l.any_input, &l.any_weight, nullptr, &l.any_output, l.stride,
                                                        l.dilation, l.padding, l.behind);
    if (status == dnnl_success)
      status = dnnl_primitive_desc_create(&hint, &forward, onednn_attributes(), onednn_engine(), nullptr);
    if (status == dnnl_unimplemented || status == dnnl_invalid_arguments) return nullptr;
    onednn_check(status, "convolution hint");
  }
  status = dnnl_primitive_desc_create(&descriptor, &d, onednn_attributes(), onednn_engine(), hint);
  if (hint != nullptr) dnnl_primitive_desc_destroy(hint);
  if (status == dnnl_unimplemented) return nullptr;
  onednn_check(status, "convolution descriptor");
  using List = std::initializer_list<Primitive::Argument>;
  switch (p.kind) {
    case kForward:
      return std::make_unique<Primitive>(
          descriptor,
          List{{DNNL_ARG_SRC, l.input, false}, {DNNL_ARG_WEIGHTS, l.weight, false}, {DNNL_ARG_DST, l.output, true}});
    case kForwardWithBias:
      return std::make_unique<Primitive>(descriptor, List{{DNNL_ARG_SRC, l.input, false},
                                                          {DNNL_ARG_WEIGHTS, l.weight, false},
                                                          {DNNL_ARG_BIAS, l.bias, false},
                                                          {DNNL_ARG_DST, l.output, true}});
    case kBackwardInput:
      return std::make_unique<Primitive>(descriptor, List{{DNNL_ARG_DIFF_DST, l.output, false},
                                                          {DNNL_ARG_WEIGHTS, l.weight, false},
                                                          {DNNL_ARG_DIFF_SRC, l.input, true}});
    case kBackwardWeight:
      return std::make_unique<Primitive>(descriptor, List{{DNNL_ARG_DIFF_DST, l.output, false},
                                                          {DNNL_ARG_SRC, l.input, false},
                                                          {DNNL_ARG_DIFF_WEIGHTS, l.weight, true}});
  }
  return nullptr;
}

std::shared_ptr<const Primitive> primitive_for(const Convolution& c, Kind kind) {
  PrimitiveKey key = {
      kind,           static_cast<int64_t>(c.type), c.channels_last, c.dims, c.batch, c.groups, c.in_channels,
      c.out_channels, at::get_num_threads()};
  for (int d = 3 - c.dims; d < 3; ++d)
    key.insert(key.end(), {c.input[d], c.kernel[d], c.output[d], c.stride[d], c.dilation[d], c.padding[d]});
  const Problem problem{&c, kind};
  return cached_primitive(key, make, &problem);
}

void* mutable_(const void* p) {
  return const_cast<void*>(p);
}

// False where oneDNN has no such primitive.
bool run(const Convolution& c, Kind kind, std::initializer_list<Primitive::Value> values) {
  return with_memory_errors([&] {
    at::internal::ThreadLease lease;
    const auto primitive = primitive_for(c, kind);
    if (primitive != nullptr) primitive->execute(values);
    return primitive != nullptr;
  });
}

bool forward(const Convolution& c, const void* input, const void* weight, const void* bias, void* output) {
  if (bias == nullptr) {
    return run(c, kForward,
               {{DNNL_ARG_SRC, mutable_(input)}, {DNNL_ARG_WEIGHTS, mutable_(weight)}, {DNNL_ARG_DST, output}});
  }
  return run(c, kForwardWithBias,
             {{DNNL_ARG_SRC, mutable_(input)},
              {DNNL_ARG_WEIGHTS, mutable_(weight)},
              {DNNL_ARG_BIAS, mutable_(bias)},
              {DNNL_ARG_DST, output}});
}

bool backward_input(const Convolution& c, const void* grad_output, const void* weight, void* grad_input) {
  return run(c, kBackwardInput,
             {{DNNL_ARG_DIFF_DST, mutable_(grad_output)},
              {DNNL_ARG_WEIGHTS, mutable_(weight)},
              {DNNL_ARG_DIFF_SRC, grad_input}});
}

bool backward_weight(const Convolution& c, const void* grad_output, const void* input, void* grad_weight) {
  return run(c, kBackwardWeight,
             {{DNNL_ARG_DIFF_DST, mutable_(grad_output)},
              {DNNL_ARG_SRC, mutable_(input)},
              {DNNL_ARG_DIFF_WEIGHTS, grad_weight}});
}

}  // namespace

// Its own relu makes 0 of NaN, and would hide it.
constinit const ConvolutionCandidate kOneDnnConvolution{"onednn", true,           false,          refusal,
                                                        forward,  backward_input, backward_weight};

}  // namespace at::matrix::internal
