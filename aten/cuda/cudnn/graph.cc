#include "aten/cuda/cudnn/graph.h"

#include <utility>

namespace at::cuda::cudnn {
namespace {

using Sizes = std::array<int64_t, 5>;

Sizes strides_of(const Sizes& sizes, int dims, bool channels_last) {
  Sizes strides{};
  int64_t next = 1;
  if (channels_last) {
    strides[1] = 1;
    next = sizes[1];
  }
  for (int d = dims - 1; d >= 0; --d) {
    if (d == 1 && channels_last) continue;
    strides[static_cast<size_t>(d)] = next;
    next *= sizes[static_cast<size_t>(d)];
  }
  return strides;
}

class Builder {
 public:
  explicit Builder(const ConvolutionProblem& p)
      : p_(p), compute_(p.type == CUDNN_DATA_DOUBLE ? p.type : CUDNN_DATA_FLOAT) {}

  std::optional<Graph> build(cudnnHandle_t handle) {
    const bool fused = p_.has_bias || p_.has_add || p_.relu;
    const size_t x = tensor(TensorId::kX, p_.x, p_.x_alignment), w = tensor(TensorId::kW, p_.w, p_.w_alignment);
    const size_t y = tensor(TensorId::kY, p_.y, p_.y_alignment);
    const size_t sums = fused ? intermediate() : y;
    if (!convolution(x, w, sums) || (fused && !epilogue(sums, y))) return std::nullopt;
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    std::vector<cudnnBackendDescriptor_t> operations;
    for (const size_t i : operations_) operations.push_back(parts_[i].get());
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations.data(),
              static_cast<int64_t>(operations.size()));
    if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    if (!graph.try_finalize()) return std::nullopt;
    return Graph{std::move(parts_), std::move(graph)};
  }

 private:
  size_t add_part(Descriptor part) {
    parts_.push_back(std::move(part));
    return parts_.size() - 1;
  }

  size_t tensor(TensorId id, const Sizes& sizes, int64_t alignment, bool is_virtual = false) {
    Descriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const Sizes strides = strides_of(sizes, p_.dims, p_.channels_last);
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, static_cast<int64_t>(id));
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, is_virtual ? compute_ : p_.type);
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
    t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes.data(), p_.dims);
    t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides.data(), p_.dims);
    if (is_virtual) t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    t.finalize();
    return add_part(std::move(t));
  }
  // What one operation hands to the next.
  size_t intermediate() { return tensor(static_cast<TensorId>(next_virtual_++), p_.y, 16, true); }

  bool convolution(size_t x, size_t w, size_t y) {
    const int directions = p_.dims - 2;
    Descriptor c(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    c.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, compute_);
    c.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    c.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{directions});
    c.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, p_.padding.data(), directions);
    c.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, p_.padding.data(), directions);
    c.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, p_.stride.data(), directions);
    c.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, p_.dilation.data(), directions);
    c.finalize();

    // Of each part: the operation, and its names for x, w, y, the description and the factors.
    struct Names {
      cudnnBackendDescriptorType_t operation;
      cudnnBackendAttributeName_t x, w, y, description, alpha, beta;
    };
    constexpr Names kNames[] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
    };
    const Names& names = kNames[static_cast<int>(p_.part)];
    Descriptor operation(names.operation);
    operation.set(names.x, parts_[x]);
    operation.set(names.w, parts_[w]);
    operation.set(names.y, parts_[y]);
    operation.set(names.description, c);
    operation.set_number(names.alpha, p_.type == CUDNN_DATA_DOUBLE, 1);
    operation.set_number(names.beta, p_.type == CUDNN_DATA_DOUBLE, 0);
    if (!operation.try_finalize()) return false;
    add_part(std::move(c));
    operations_.push_back(add_part(std::move(operation)));
    return true;
  }

  // One number a channel.
  size_t bias() {
    Sizes sizes{};
    for (int d = 0; d < p_.dims; ++d) sizes[static_cast<size_t>(d)] = d == 1 ? p_.y[1] : 1;
    return tensor(TensorId::kBias, sizes, p_.bias_alignment);
  }

  bool epilogue(size_t sums, size_t y) {
    int left = p_.has_add + p_.has_bias + p_.relu;
    const auto next = [&] { return --left == 0 ? y : intermediate(); };
    if (p_.has_add) {
      const size_t add = tensor(TensorId::kAdd, p_.y, p_.add_alignment), to = next();
      if (!pointwise(CUDNN_POINTWISE_ADD, sums, &add, to, p_.alpha)) return false;
      sums = to;
    }
    if (p_.has_bias) {
      const size_t add = bias(), to = next();
      if (!pointwise(CUDNN_POINTWISE_ADD, sums, &add, to)) return false;
      sums = to;
    }
    return !p_.relu || pointwise(CUDNN_POINTWISE_RELU_FWD, sums, nullptr, y);
  }

  bool pointwise(cudnnPointwiseMode_t mode, size_t x, const size_t* b, size_t y, double alpha = 1) {
    Descriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute_);
    how.finalize();
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts_[x]);
    if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, parts_[*b]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts_[y]);
    if (alpha != 1) operation.set_number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, p_.type == CUDNN_DATA_DOUBLE, alpha);
    if (!operation.try_finalize()) return false;
    add_part(std::move(how));
    operations_.push_back(add_part(std::move(operation)));
    return true;
  }

  const ConvolutionProblem& p_;
  const cudnnDataType_t compute_;
  std::vector<Descriptor> parts_;
  std::vector<size_t> operations_;
  int64_t next_virtual_ = static_cast<int64_t>(TensorId::kFirstVirtual);
};

}  // namespace

bool is_consistent(const ConvolutionProblem& p) {
  for (int d = 0; d < p.dims - 2; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t reach = p.dilation[i] * (p.w[2 + i] - 1) + 1, room = p.x[2 + i] + 2 * p.padding[i] - reach;
    if (room < 0 || room / p.stride[i] + 1 != p.y[2 + i]) return false;
  }
  return true;
}

std::optional<Graph> make_graph(const ConvolutionProblem& problem, cudnnHandle_t handle) {
  return Builder(problem).build(handle);
}

}  // namespace at::cuda::cudnn
