// What cuDNN's descriptors do, of which the library and its stand-in must think alike: attributes, what is refused when
// they are finalized, and that every graph that //aten/cuda:cudnn_graph builds is taken. No device is needed.
#include <cudnn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aten/cuda/cudnn/graph.h"

namespace at::cuda::cudnn {
namespace {

using Sizes = std::vector<int64_t>;

Sizes contiguous(const Sizes& sizes) {
  Sizes strides(sizes.size());
  int64_t next = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next *= sizes[i];
  }
  return strides;
}

cudnnStatus_t set(const Descriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  int64_t count, const void* values) {
  return cudnnBackendSetAttribute(d.get(), name, type, count, values);
}
cudnnStatus_t finalize(const Descriptor& d) {
  return cudnnBackendFinalize(d.get());
}

struct Made {
  Descriptor descriptor;
  cudnnStatus_t status;
};

Made tensor(int64_t id, const Sizes& sizes, const Sizes& strides, int64_t alignment = 16,
            cudnnDataType_t type = CUDNN_DATA_FLOAT) {
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes.data(), static_cast<int64_t>(sizes.size()));
  d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides.data(), static_cast<int64_t>(strides.size()));
  const cudnnStatus_t status = finalize(d);
  return {std::move(d), status};
}
cudnnStatus_t tensor_status(const Sizes& sizes, const Sizes& strides, int64_t alignment = 16) {
  return tensor(1, sizes, strides, alignment).status;
}

Made convolution(int64_t directions, const Sizes& padding, const Sizes& behind, const Sizes& stride,
                 const Sizes& dilation) {
  Descriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const auto list = [&](cudnnBackendAttributeName_t name, const Sizes& values) {
    d.set(name, CUDNN_TYPE_INT64, values.data(), static_cast<int64_t>(values.size()));
  };
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, directions);
  list(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
  list(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, behind);
  list(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride);
  list(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilation);
  const cudnnStatus_t status = finalize(d);
  return {std::move(d), status};
}

TEST(CudnnContract, AttributesOfTensors) {
  const Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t numbers[] = {1, 2, 3, 4};
  const float number = 1;
  EXPECT_EQ(finalize(d), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1, &number), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_INT64, 1, numbers), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 2, numbers), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 0, numbers), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, numbers), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendSetAttribute(nullptr, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, numbers),
            CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(cudnnBackendFinalize(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST(CudnnContract, AttributesAreReadOnceTheyAreFinal) {
  const Sizes sizes = {1, 2, 3, 4};
  const Descriptor raw(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  int64_t read[8], count = -1;
  const auto get = [&](const Descriptor& d, cudnnBackendAttributeType_t type, int64_t room, void* to) {
    count = -1;
    return cudnnBackendGetAttribute(d.get(), CUDNN_ATTR_TENSOR_DIMENSIONS, type, room, &count, to);
  };
  EXPECT_EQ(get(raw, CUDNN_TYPE_INT64, 8, read), CUDNN_STATUS_NOT_INITIALIZED);
  const Made made = tensor(1, sizes, contiguous(sizes));
  const Descriptor& d = made.descriptor;
  EXPECT_EQ(made.status, CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(finalize(d), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, read), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(get(d, CUDNN_TYPE_INT64, 8, read), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(read[3], 4);
  EXPECT_EQ(get(d, CUDNN_TYPE_INT64, 2, read), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(get(d, CUDNN_TYPE_INT64, 0, nullptr), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(get(d, CUDNN_TYPE_FLOAT, 8, read), CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
}

TEST(CudnnContract, Tensors) {
  const Sizes sizes = {2, 2, 3, 4};
  for (const Sizes& other : {Sizes{0, 2, 3, 4}, Sizes{2, 3, 4}, Sizes{2}, Sizes{70000, 70000, 3, 4}})
    EXPECT_EQ(tensor_status(other, contiguous(other)), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(tensor_status({-1, 2, 3, 4}, contiguous(sizes)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(tensor_status(sizes, {0, 12, 4, 1}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(tensor_status(sizes, {-24, 12, 4, 1}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(tensor_status(sizes, {12, 4, 1}), CUDNN_STATUS_BAD_PARAM);
  for (const int64_t alignment : {4, 8, 16, 1024})
    EXPECT_EQ(tensor_status(sizes, contiguous(sizes), alignment), CUDNN_STATUS_SUCCESS);
  for (const int64_t alignment : {0, 2, 3}) {
    EXPECT_EQ(tensor_status(sizes, contiguous(sizes), alignment), CUDNN_STATUS_BAD_PARAM);
  }
}

TEST(CudnnContract, DescriptionsOfConvolutions) {
  EXPECT_EQ(convolution(2, {0, 9}, {1, 0}, {1, 2}, {1, 3}).status, CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(convolution(1, {0}, {0}, {1}, {1}).status, CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(convolution(2, {0, 0}, {0, 0}, {0, 1}, {1, 1}).status, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(convolution(2, {0, 0}, {0, 0}, {1, 1}, {0, 1}).status, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(convolution(2, {-1, 0}, {0, 0}, {1, 1}, {1, 1}).status, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(convolution(2, {0, 0}, {-1, 0}, {1, 1}, {1, 1}).status, CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(convolution(3, {0, 0}, {0, 0}, {1, 1}, {1, 1}).status, CUDNN_STATUS_BAD_PARAM);
}

// A forward operation of these sizes, whose kernel is neither spread nor moved by more than one place.
cudnnStatus_t forward_status(const Sizes& x, const Sizes& w, const Sizes& y) {
  const Sizes zeros(x.size() - 2, 0), ones(x.size() - 2, 1);
  const Made tx = tensor(1, x, contiguous(x)), tw = tensor(2, w, contiguous(w)), ty = tensor(3, y, contiguous(y)),
             how = convolution(static_cast<int64_t>(zeros.size()), zeros, zeros, ones, ones);
  Descriptor d(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tx.descriptor);
  d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tw.descriptor);
  d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, ty.descriptor);
  d.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how.descriptor);
  d.set_number(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, false, 1);
  d.set_number(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, false, 0);
  return finalize(d);
}

TEST(CudnnContract, OperationsOfConvolutions) {
  EXPECT_EQ(forward_status({2, 4, 5, 5}, {3, 4, 3, 3}, {2, 3, 3, 3}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(forward_status({2, 4, 5}, {3, 4, 3}, {2, 3, 3}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(forward_status({2, 4, 5, 5}, {6, 2, 3, 3}, {2, 6, 3, 3}), CUDNN_STATUS_SUCCESS);  // two groups
  EXPECT_EQ(forward_status({2, 4, 5, 5}, {6, 3, 3, 3}, {2, 6, 3, 3}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(forward_status({2, 4, 5, 5}, {5, 2, 3, 3}, {2, 5, 3, 3}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(forward_status({2, 4, 5, 5}, {3, 4, 3, 3}, {2, 3, 4, 3}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(forward_status({2, 4, 5, 5}, {3, 4, 3, 3}, {1, 3, 3, 3}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(forward_status({0, 4, 5, 5}, {3, 4, 3, 3}, {0, 3, 3, 3}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(forward_status({2, 4, 2, 2}, {3, 4, 3, 3}, {2, 3, 1, 1}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalize(Descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)), CUDNN_STATUS_BAD_PARAM);
}

TEST(CudnnContract, GraphsAndPlansOfNothing) {
  EXPECT_EQ(finalize(Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalize(Descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalize(Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(cudnnBackendExecute(nullptr, nullptr, nullptr), CUDNN_STATUS_BAD_PARAM);
  const Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
      operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  const cudnnBackendDescriptor_t raw = operation.get();
  EXPECT_EQ(set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST(CudnnContract, PacksOfMemory) {
  const int64_t ids[] = {1, 2, 3};
  char bytes[3];
  void* const data[] = {bytes, bytes + 1, bytes + 2};
  for (const int64_t count : {3, 2}) {
    const Descriptor d(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    EXPECT_EQ(set(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(set(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(finalize(d), count == 3 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM);
  }
}

struct Network {
  cudnnRNNMode_t mode = CUDNN_LSTM;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, sums = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int input = 3, hidden = 5, projection = 5, layers = 2;
  uint32_t flags = CUDNN_RNN_PADDED_IO_DISABLED;
};
cudnnStatus_t status_of(const Network& n) {
  cudnnRNNDescriptor_t d = nullptr;
  EXPECT_EQ(cudnnCreateRNNDescriptor(&d), CUDNN_STATUS_SUCCESS);
  const cudnnStatus_t status = cudnnSetRNNDescriptor_v8(d, CUDNN_RNN_ALGO_STANDARD, n.mode, CUDNN_RNN_DOUBLE_BIAS,
                                                        CUDNN_BIDIRECTIONAL, CUDNN_LINEAR_INPUT, n.type, n.sums, n.math,
                                                        n.input, n.hidden, n.projection, n.layers, nullptr, n.flags);
  EXPECT_EQ(cudnnDestroyRNNDescriptor(d), CUDNN_STATUS_SUCCESS);
  return status;
}

TEST(CudnnContract, RecurrentNetworks) {
  const auto f = CUDNN_DATA_FLOAT, d = CUDNN_DATA_DOUBLE, h = CUDNN_DATA_HALF, b = CUDNN_DATA_BFLOAT16;
  for (const cudnnRNNMode_t mode : {CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU}) {
    EXPECT_EQ(status_of({mode, f, f, CUDNN_DEFAULT_MATH}), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(status_of({mode, f, f, CUDNN_FMA_MATH}), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(status_of({mode, d, d, CUDNN_DEFAULT_MATH}), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(status_of({mode, h, f, CUDNN_TENSOR_OP_MATH}), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(status_of({mode, b, f, CUDNN_TENSOR_OP_MATH}), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(status_of({mode, h, d, CUDNN_DEFAULT_MATH}), CUDNN_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(status_of({mode, d, f, CUDNN_DEFAULT_MATH}), CUDNN_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(status_of({mode, CUDNN_DATA_INT32, f, CUDNN_DEFAULT_MATH}), CUDNN_STATUS_NOT_SUPPORTED);
    const bool lstm = mode == CUDNN_LSTM;
    const auto sized = [&](int input, int hidden, int projection, int layers) {
      return status_of({mode, f, f, CUDNN_DEFAULT_MATH, input, hidden, projection, layers});
    };
    EXPECT_EQ(sized(3, 5, 2, 1), lstm ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(sized(3, 5, 6, 1), CUDNN_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(sized(3, 5, 0, 1), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(sized(0, 5, 5, 1), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(sized(3, 0, 0, 1), CUDNN_STATUS_BAD_PARAM);
    EXPECT_EQ(sized(3, 5, 5, 0), CUDNN_STATUS_BAD_PARAM);
  }
  Network n;
  n.flags = 4;
  EXPECT_EQ(status_of(n), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnDestroyRNNDescriptor(nullptr), CUDNN_STATUS_SUCCESS);
}

cudnnStatus_t data_status(cudnnDataType_t type, int longest, std::vector<int> lengths, int vector,
                          cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) {
  cudnnRNNDataDescriptor_t d = nullptr;
  EXPECT_EQ(cudnnCreateRNNDataDescriptor(&d), CUDNN_STATUS_SUCCESS);
  const auto batch = static_cast<int>(lengths.size());
  lengths.push_back(0);
  const cudnnStatus_t status =
      cudnnSetRNNDataDescriptor(d, type, layout, longest, batch, vector, lengths.data(), nullptr);
  EXPECT_EQ(cudnnDestroyRNNDataDescriptor(d), CUDNN_STATUS_SUCCESS);
  return status;
}

TEST(CudnnContract, DataOfRecurrentNetworks) {
  for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16})
    EXPECT_EQ(data_status(type, 3, {3, 2, 2}, 4), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(data_status(CUDNN_DATA_INT32, 3, {3, 2}, 4), CUDNN_STATUS_NOT_SUPPORTED);
  const auto f = CUDNN_DATA_FLOAT;
  EXPECT_EQ(data_status(f, 3, {2, 3}, 4), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(data_status(f, 3, {2, 3}, 4, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(data_status(f, 4, {3, 2}, 4), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(data_status(f, 2, {3, 2}, 4), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(data_status(f, 3, {3, 0}, 4), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(data_status(f, 3, {}, 4), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(data_status(f, 3, {3, 2}, 0), CUDNN_STATUS_BAD_PARAM);
}

TEST(CudnnContract, TensorsOfRecurrentNetworks) {
  cudnnTensorDescriptor_t d = nullptr;
  ASSERT_EQ(cudnnCreateTensorDescriptor(&d), CUDNN_STATUS_SUCCESS);
  const int sizes[] = {2, 3, 4}, strides[] = {12, 4, 1}, none[] = {2, 0, 4};
  EXPECT_EQ(cudnnSetTensorNdDescriptor(d, CUDNN_DATA_HALF, 3, sizes, strides), CUDNN_STATUS_SUCCESS);
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0, read[8] = {}, steps[8] = {};
  EXPECT_EQ(cudnnGetTensorNdDescriptor(d, 8, &type, &rank, read, steps), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(type, CUDNN_DATA_HALF);
  EXPECT_EQ(rank, 3);
  EXPECT_EQ(read[2], 4);
  EXPECT_EQ(steps[0], 12);
  EXPECT_EQ(cudnnSetTensorNdDescriptor(d, CUDNN_DATA_HALF, 3, none, strides), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnDestroyTensorDescriptor(d), CUDNN_STATUS_SUCCESS);
}

TEST(CudnnContract, NamesOfStatuses) {
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_SUCCESS), "CUDNN_STATUS_SUCCESS");
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM");
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED), "CUDNN_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(cudnnGetErrorString(static_cast<cudnnStatus_t>(77)), "CUDNN_UNKNOWN_STATUS");
}

ConvolutionProblem problem(int directions, int64_t in, int64_t groups, int64_t kernel, int64_t padding, int64_t stride,
                           int64_t dilation) {
  ConvolutionProblem p;
  p.dims = 2 + directions;
  p.x = {2, 4 * groups};
  p.w = {6 * groups, 4};
  p.y = {2, 6 * groups};
  for (int i = 0; i < directions; ++i) {
    const auto d = static_cast<size_t>(i);
    p.x[2 + d] = in + i;
    p.w[2 + d] = kernel;
    p.padding[d] = padding;
    p.stride[d] = stride;
    p.dilation[d] = dilation;
    p.y[2 + d] = (in + i + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  return p;
}

TEST(CudnnContract, TakesEveryGraphOfOurs) {
  const ConvolutionProblem problems[] = {
      problem(2, 7, 1, 3, 0, 1, 1), problem(2, 7, 1, 3, 1, 2, 1),  problem(2, 9, 3, 3, 2, 1, 2),
      problem(2, 5, 1, 1, 0, 3, 1), problem(2, 5, 1, 3, 11, 2, 1), problem(3, 6, 2, 2, 1, 2, 1),
      problem(3, 5, 1, 3, 1, 1, 2), problem(2, 1, 1, 1, 0, 1, 1),
  };
  int taken = 0;
  for (const ConvolutionProblem& basic : problems) {
    for (const ConvolutionPart part :
         {ConvolutionPart::kForward, ConvolutionPart::kGradInput, ConvolutionPart::kGradWeight}) {
      for (const cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
        for (const bool last : {false, true}) {
          for (int epilogue = 0; epilogue < (part == ConvolutionPart::kForward ? 8 : 1); ++epilogue) {
            ConvolutionProblem p = basic;
            p.part = part;
            p.type = type;
            p.channels_last = last;
            p.has_bias = (epilogue & 1) != 0, p.has_add = (epilogue & 2) != 0, p.relu = (epilogue & 4) != 0;
            p.alpha = 0.5;
            if (type == CUDNN_DATA_HALF) p.x_alignment = p.bias_alignment = 2;
            ASSERT_TRUE(is_consistent(p));
            EXPECT_TRUE(make_graph(p, nullptr).has_value());
            ++taken;
          }
        }
      }
    }
  }
  EXPECT_EQ(taken, 8 * 4 * 2 * 10);
}

TEST(CudnnContract, SizesThatAreNoConvolution) {
  // A transposed convolution whose output_padding reaches beyond its stride.
  ConvolutionProblem p = problem(2, 7, 1, 3, 0, 1, 2);
  p.x[2] += 1;
  EXPECT_FALSE(is_consistent(p));
  EXPECT_ANY_THROW(make_graph(p, nullptr));
  p = problem(2, 7, 1, 3, 0, 2, 2);
  p.x[2] += 1;
  EXPECT_TRUE(is_consistent(p));
}

}  // namespace
}  // namespace at::cuda::cudnn
