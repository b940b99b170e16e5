// Sums of products of bytes with signed bytes by oneDNN.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.h"

#include "aten/cpu/isa.h"
#include "aten/cpu/matrix/integer.h"
#include "aten/cpu/matrix/integer_internal.h"
#include "aten/cpu/matrix/internal.h"
#include "aten/cpu/matrix/onednn_primitives.h"
#include "c10/parallel/parallel.h"

namespace at::matrix {

// Without VNNI its products of bytes are added in pairs that saturate in 16 bits.
bool integers_by_onednn() {
  static const bool exact =
      (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_vnni) == dnnl_cpu_isa_avx512_core_vnni;
  return exact && cpu::isa() == cpu::Isa::kAvx512;
}

bool multiply_signed_bytes(int64_t m, int64_t n, int64_t k, const Operand& a, const Operand& b, int32_t* c) {
  if (!integers_by_onednn() || m < 2 || n < 2 || k < 1) return false;
  const bool a_rows = internal::is_row_major(a.row, a.col, m, k), b_rows = internal::is_row_major(b.row, b.col, k, n);
  if (!a_rows && !internal::is_row_major(a.col, a.row, k, m)) return false;
  if (!b_rows && !internal::is_row_major(b.col, b.row, n, k)) return false;
  const at::internal::ThreadLease lease;
  return internal::with_memory_errors([&] {
    return internal::onednn_multiply_signed_bytes(
        {.type = Type::kInt8, .m = m, .n = n, .k = k, .a = a, .b = b, .add = {}, .c = c, .c_row = n});
  });
}

namespace internal {
namespace {

enum Kind : int64_t { kIntegerProduct = 16, kIntegerConvolution };

struct Problem {
  const Convolution* c;
  int64_t rows;  // of a product
  Kind kind;
};

struct Descriptors {
  dnnl_memory_desc_t input, weight, any_weight, sums;
};

Descriptors product_descriptors(const Problem& p) {
  const int64_t n = p.c->out_channels, k = p.c->in_channels, b[2] = {k, n};
  return {onednn_memory(Type::kUint8, {p.rows, k}, {k, 1}), onednn_memory(Type::kInt8, {k, n}, {1, k}),
          onednn_any_memory(Type::kInt8, 2, b), onednn_memory(Type::kInt32, {p.rows, n}, {n, 1})};
}

dnnl_memory_desc_t channels_last(Type type, int n, const int64_t* sizes) {
  int64_t strides[5], step = sizes[1];
  strides[1] = 1;
  for (int d = n - 1; d >= 2; --d) {
    strides[d] = step;
    step *= sizes[d];
  }
  strides[0] = step;
  return onednn_memory(type, n, sizes, strides);
}

Descriptors convolution_descriptors(const Convolution& c) {
  int64_t in[5] = {c.batch, c.in_channels}, out[5] = {c.batch, c.out_channels}, w[6], strides[6];
  int n = 0;
  if (c.groups > 1) w[n++] = c.groups;
  w[n++] = c.out_channels / c.groups;
  w[n++] = c.in_channels / c.groups;
  for (int i = 0; i < c.dims; ++i) {
    in[2 + i] = c.input[3 - c.dims + i];
    out[2 + i] = c.output[3 - c.dims + i];
    w[n++] = c.kernel[3 - c.dims + i];
  }
  int64_t step = 1;
  for (int d = n - 1; d >= 0; step *= w[d--]) strides[d] = step;
  return {channels_last(Type::kUint8, 2 + c.dims, in), onednn_memory(Type::kInt8, n, w, strides),
          onednn_any_memory(Type::kInt8, n, w), channels_last(Type::kInt32, 2 + c.dims, out)};
}

Descriptors descriptors_of(const Problem& p) {
  return p.kind == kIntegerProduct ? product_descriptors(p) : convolution_descriptors(*p.c);
}

dnnl_status_t describe(const Problem& p, const Descriptors& d, dnnl_primitive_desc_t* descriptor) {
  if (p.kind == kIntegerProduct) {
    dnnl_matmul_desc_t product;
    onednn_check(dnnl_matmul_desc_init(&product, &d.input, &d.any_weight, nullptr, &d.sums), "product of integers");
    return dnnl_primitive_desc_create(descriptor, &product, onednn_attributes(), onednn_engine(), nullptr);
  }
  const Convolution& c = *p.c;
  dnnl_dims_t stride, dilation, front, behind;
  for (int i = 0; i < c.dims; ++i) {
    const int d = 3 - c.dims + i;
    stride[i] = c.stride[d];
    dilation[i] = c.dilation[d] - 1;
    front[i] = c.padding[d];
    const int64_t reach = (c.output[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d] + 1;
    behind[i] = std::max<int64_t>(0, reach - c.padding[d] - c.input[d]);
  }
  dnnl_convolution_desc_t convolution;
  const dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
      &convolution, dnnl_forward_inference, dnnl_convolution_direct, &d.input, &d.any_weight, nullptr, &d.sums, stride,
      dilation, front, behind);
  if (status != dnnl_success) return status;
  return dnnl_primitive_desc_create(descriptor, &convolution, onednn_attributes(), onednn_engine(), nullptr);
}

// With the weights in the layout it chooses.
std::unique_ptr<Primitive> make(const void* context) {
  const Problem& p = *static_cast<const Problem*>(context);
  const Descriptors d = descriptors_of(p);
  dnnl_primitive_desc_t descriptor = nullptr;
  const dnnl_status_t status = describe(p, d, &descriptor);
  if (status == dnnl_unimplemented || status == dnnl_invalid_arguments) return nullptr;
  onednn_check(status, "integer descriptor");
  const dnnl_memory_desc_t weight = onednn_query(descriptor, DNNL_ARG_WEIGHTS);
  return std::make_unique<Primitive>(
      descriptor, std::initializer_list<Primitive::Argument>{
                      {DNNL_ARG_SRC, d.input, false}, {DNNL_ARG_WEIGHTS, weight, false}, {DNNL_ARG_DST, d.sums, true}});
}

}  // namespace

struct OneDnnIntegerWeights::Layouts {
  std::shared_ptr<const int8_t> weight;
  std::mutex mutex;
  std::vector<std::pair<dnnl_memory_desc_t, std::unique_ptr<Scratch>>> made;

  void* find(const dnnl_memory_desc_t& wanted, const dnnl_memory_desc_t& own) {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [layout, data] : made) {
      if (dnnl_memory_desc_equal(&layout, &wanted)) return data->as<void>();
    }
    auto data = std::make_unique<Scratch>(dnnl_memory_desc_get_size(&wanted));
    onednn_reorder(own, const_cast<int8_t*>(weight.get()), wanted, data->as<void>());
    made.emplace_back(wanted, std::move(data));
    return made.back().second->as<void>();
  }

  bool run(const Problem& p, const PrimitiveKey& key, const uint8_t* input, int32_t* sums) {
    return with_memory_errors([&] {
      const auto primitive = cached_primitive(key, make, &p);
      if (primitive == nullptr) return false;
      void* const packed = find(primitive->layout(DNNL_ARG_WEIGHTS), descriptors_of(p).weight);
      primitive->execute(
          {{DNNL_ARG_SRC, const_cast<uint8_t*>(input)}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, sums}});
      return true;
    });
  }
};

OneDnnIntegerWeights::OneDnnIntegerWeights(std::shared_ptr<const int8_t> weight)
    : layouts_(std::make_unique<Layouts>()) {
  layouts_->weight = std::move(weight);
}
OneDnnIntegerWeights::~OneDnnIntegerWeights() = default;

bool OneDnnIntegerWeights::multiply(const Convolution& c, int64_t rows, const uint8_t* input, int32_t* sums,
                                    int threads) {
  return layouts_->run({&c, rows, kIntegerProduct}, {kIntegerProduct, rows, c.in_channels, c.out_channels, threads},
                       input, sums);
}

bool OneDnnIntegerWeights::convolve(const Convolution& c, const uint8_t* input, int32_t* sums, int threads) {
  constexpr int64_t kLargest = int64_t{1} << 31;
  PrimitiveKey key = {kIntegerConvolution, c.dims, c.batch, c.groups, c.in_channels, c.out_channels, threads};
  for (int d = 3 - c.dims; d < 3; ++d) {
    if (c.input[d] >= kLargest || c.output[d] >= kLargest) return false;
    key.insert(key.end(), {c.input[d], c.kernel[d], c.output[d], c.stride[d], c.dilation[d], c.padding[d]});
  }
  return layouts_->run({&c, 0, kIntegerConvolution}, key, input, sums);
}

}  // namespace internal
}  // namespace at::matrix
