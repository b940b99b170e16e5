// Sparse CUDA tensors against CPU tensors: layouts, products, sums, conversions, memory.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cuda/graph.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/cuda/testing.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace at {
namespace {

using c10::cuda::testing::in_all_orders;
using testing::expect_close;

const Device kGpu(DeviceType::CUDA, 0), kHost(DeviceType::CPU);

Tensor to_gpu(const Tensor& t) {
  return at::to(t, kGpu, t.scalar_type());
}
Tensor to_cpu(const Tensor& t) {
  return at::to(t, kHost, t.scalar_type());
}
Tensor dense_of(const Tensor& t) {
  const Tensor own = to_cpu(t);
  return own.layout() == Layout::Strided ? own : at::to_dense(own);
}

void expect_same(const Tensor& gpu, const Tensor& cpu, double tolerance = 1e-12) {
  EXPECT_TRUE(gpu.is_cuda());
  EXPECT_EQ(gpu.layout(), cpu.layout());
  EXPECT_EQ(gpu.scalar_type(), cpu.scalar_type());
  ASSERT_EQ(testing::sizes(gpu), testing::sizes(cpu));
  const auto wide = [](const Tensor& t) {
    const Tensor own = dense_of(t);
    return at::to(own.is_complex() ? at::view_as_real(own) : own, kDouble);
  };
  expect_close(wide(gpu), wide(cpu), tolerance, tolerance);
}

// 5 x 7, with a row that is empty and places that are named twice.
Tensor sample_matrix(ScalarType dtype = kDouble) {
  const Tensor indices = testing::tensor_of({3, 0, 3, 1, 4, 3, 0, 6, 2, 6, 0, 5, 2, 1}, {2, 7}, kLong);
  return at::sparse_coo_tensor(indices, testing::sample({7}, dtype), {5, 7});
}

TEST(CudaSparse, CoordinatesAreCoalesced) {
  in_all_orders([] {
    for (const ScalarType dtype : {kDouble, kFloat, kLong, kBool, kComplexDouble, kHalf}) {
      const Tensor t = at::to(sample_matrix(), dtype), gpu = to_gpu(t);
      EXPECT_FALSE(at::is_coalesced(gpu));
      const Tensor once = at::coalesce(gpu), expected = at::coalesce(t);
      EXPECT_TRUE(at::is_coalesced(once));
      EXPECT_EQ(testing::values(at::indices(to_cpu(once))), testing::values(at::indices(expected)));
      expect_same(once, expected);
      expect_same(at::to_dense(gpu), at::to_dense(t));
    }
    // With dense dimensions.
    const Tensor indices = testing::tensor_of({2, 0, 2}, {1, 3}, kLong);
    const Tensor t = at::sparse_coo_tensor(indices, testing::sample({3, 4}, kDouble), {3, 4});
    expect_same(at::coalesce(to_gpu(t)), at::coalesce(t));
    expect_same(at::to_dense(to_gpu(t)), at::to_dense(t));
    // Sizes are found where they are not given, and invariants are looked at where the tensors are.
    const Tensor found = at::sparse_coo_tensor(to_gpu(indices), to_gpu(testing::sample({3}, kDouble)));
    EXPECT_EQ(testing::sizes(found), (std::vector<int64_t>{3}));
    testing::expect_error<Error>(
        [&] { at::_validate_sparse_coo_tensor_args(to_gpu(indices), to_gpu(testing::sample({3}, kDouble)), {2}); },
        "size is inconsistent with indices: for dim 0, size is 2 but found index 2");
  });
}

TEST(CudaSparse, FromDenseAndBetweenLayouts) {
  in_all_orders([] {
    Tensor dense = at::to_dense(sample_matrix());
    dense = at::cat({dense, at::neg(dense)}, 0);
    dense = at::narrow(at::cat({dense, dense}, 1), 1, 0, 8);  // 10 x 8
    const Tensor gpu = to_gpu(dense);
    expect_same(at::to_sparse(gpu), at::to_sparse(dense));
    expect_same(at::to_sparse_csr(gpu), at::to_sparse_csr(dense));
    expect_same(at::to_sparse_csc(gpu), at::to_sparse_csc(dense));
    expect_same(at::to_sparse_bsr(gpu, {2, 4}), at::to_sparse_bsr(dense, {2, 4}));
    expect_same(at::to_sparse_bsc(gpu, {5, 2}), at::to_sparse_bsc(dense, {5, 2}));
    const auto same_parts = [](const Tensor& a, const Tensor& b) {
      EXPECT_EQ(testing::values(to_cpu(at::crow_indices(a))), testing::values(at::crow_indices(b)));
      EXPECT_EQ(testing::values(to_cpu(at::col_indices(a))), testing::values(at::col_indices(b)));
    };
    same_parts(at::to_sparse_csr(gpu), at::to_sparse_csr(dense));
    same_parts(at::to_sparse_bsr(gpu, {2, 4}), at::to_sparse_bsr(dense, {2, 4}));
    for (const auto& [on_gpu, on_cpu] : {std::pair(at::to_sparse_csr(gpu), at::to_sparse_csr(dense)),
                                         std::pair(at::to_sparse_csc(gpu), at::to_sparse_csc(dense)),
                                         std::pair(at::to_sparse_bsr(gpu, {2, 2}), at::to_sparse_bsr(dense, {2, 2}))}) {
      expect_same(at::to_sparse(on_gpu), at::to_sparse(on_cpu));
      expect_same(at::to_dense(on_gpu), dense);
      expect_same(at::to_sparse_csr(on_gpu), at::to_sparse_csr(on_cpu));
    }
    // Batches.
    const Tensor many = at::stack({dense, at::mul(dense, 2)}), many_gpu = to_gpu(many);
    expect_same(at::to_sparse_csr(many_gpu), at::to_sparse_csr(many));
    expect_same(at::to_dense(at::to_sparse_csr(many_gpu)), many);
    expect_same(at::to_sparse(at::to_sparse_csr(many_gpu)), at::to_sparse(at::to_sparse_csr(many)));
  });
}

TEST(CudaSparse, ProductsWithDenseMatrices) {
  in_all_orders([] {
    for (const ScalarType dtype : {kDouble, kFloat, kLong, kComplexDouble, kHalf, kBFloat16}) {
      const double tolerance = dtype == kHalf || dtype == kBFloat16 ? 2e-2 : dtype == kFloat ? 1e-5 : 1e-12;
      const Tensor t = at::to(sample_matrix(), dtype), csr = at::to_sparse_csr(at::coalesce(t));
      const Tensor csc = at::to_sparse_csc(at::coalesce(t));
      for (const int64_t columns : {1, 3, 5, 70}) {
        const Tensor dense = at::to(testing::sample({7, columns}, kDouble, 3), dtype),
                     added = at::to(testing::sample({5, columns}, kDouble, 4), dtype);
        for (const Tensor& sparse : {t, csr, csc}) {
          expect_same(at::mm(to_gpu(sparse), to_gpu(dense)), at::mm(sparse, dense), tolerance);
          expect_same(at::addmm(to_gpu(added), to_gpu(sparse), to_gpu(dense), 2, 3),
                      at::addmm(added, sparse, dense, 2, 3), tolerance);
        }
        expect_same(at::_sparse_mm(to_gpu(t), to_gpu(dense)), at::_sparse_mm(t, dense), tolerance);
      }
      const Tensor left = at::to(testing::sample({4, 5}, kDouble, 3), dtype);
      expect_same(at::mm(to_gpu(left), to_gpu(csr)), at::mm(left, csr), tolerance);
      const Tensor vector = at::to(testing::sample({7}, kDouble, 3), dtype);
      expect_same(at::mv(to_gpu(csr), to_gpu(vector)), at::mv(csr, vector), tolerance);
    }
    // Rows that are longer than a warp.
    const Tensor wide = testing::sample({3, 200}, kDouble), x = testing::sample({200, 1}, kDouble, 2);
    expect_same(at::mm(at::to_sparse_csr(to_gpu(wide)), to_gpu(x)), at::mm(wide, x));
    // A batch.
    const Tensor many = at::stack({at::coalesce(sample_matrix()), at::coalesce(sample_matrix())});
    const Tensor right = testing::sample({2, 7, 3}, kDouble);
    expect_same(at::bmm(to_gpu(many), to_gpu(right)), at::bmm(many, right));
  });
}

TEST(CudaSparse, ProductsOfTwoSparseMatrices) {
  in_all_orders([] {
    const Tensor t = sample_matrix(), turned = at::transpose(t, 0, 1);
    expect_same(at::mm(to_gpu(t), to_gpu(turned)), at::mm(t, turned));
    const Tensor a = at::to_sparse_csr(at::coalesce(t)), b = at::to_sparse_csr(at::coalesce(turned));
    expect_same(at::mm(to_gpu(a), to_gpu(b)), at::mm(a, b));
    const Tensor none = at::sparse_coo_tensor({7, 2}, t.options());
    expect_same(at::mm(to_gpu(t), to_gpu(none)), at::mm(t, none));
  });
}

TEST(CudaSparse, ElementwiseAndSums) {
  in_all_orders([] {
    const Tensor t = sample_matrix(), gpu = to_gpu(t), dense = testing::sample({5, 7}, kDouble, 5);
    const Tensor other = at::coalesce(at::to_sparse(at::mul(dense, at::gt(dense, 0)))), other_gpu = to_gpu(other);
    expect_same(at::add(gpu, other_gpu, 2), at::add(t, other, 2));
    expect_same(at::sub(gpu, other_gpu), at::sub(t, other));
    expect_same(at::add(to_gpu(dense), gpu, 3), at::add(dense, t, 3));
    expect_same(at::mul(gpu, other_gpu), at::mul(t, other));
    expect_same(at::mul(at::coalesce(gpu), other_gpu), at::mul(at::coalesce(t), other));
    expect_same(at::mul(gpu, to_gpu(dense)), at::mul(t, dense));
    expect_same(at::mul(gpu, 3), at::mul(t, 3));
    expect_same(at::div(gpu, 3), at::div(t, 3));
    expect_same(at::sin(gpu), at::sin(t));
    expect_same(at::neg(gpu), at::neg(t));
    expect_same(at::sparse_mask(to_gpu(dense), at::coalesce(gpu)), at::sparse_mask(dense, at::coalesce(t)));
    expect_same(at::sparse_mask(gpu, other_gpu), at::sparse_mask(t, other));
    expect_same(at::sum(gpu), at::sum(t));
    expect_same(at::sum(gpu, IntArrayRef{0}), at::sum(t, IntArrayRef{0}));
    expect_same(at::_sparse_sum(gpu, IntArrayRef{1}), at::_sparse_sum(t, IntArrayRef{1}));
    const Tensor csr = at::to_sparse_csr(at::coalesce(t)), csr_gpu = to_gpu(csr);
    expect_same(at::add(csr_gpu, csr_gpu), at::add(csr, csr));
    expect_same(at::mul(csr_gpu, csr_gpu), at::mul(csr, csr));
    expect_same(at::sin(csr_gpu), at::sin(csr));
    expect_same(at::add(to_gpu(dense), csr_gpu), at::add(dense, csr));
  });
}

TEST(CudaSparse, WrittenIntoGivenTensors) {
  in_all_orders([] {
    const Tensor t = sample_matrix(), csc = at::to_sparse_csc(at::coalesce(t));
    const Tensor turned = at::to_sparse_csc(at::coalesce(at::transpose(t, 0, 1)));
    Tensor out = at::to_sparse_csr(at::zeros({5, 5}, TensorOptions(kGpu).dtype(kDouble))),
           on_cpu = at::to_sparse_csr(at::zeros({5, 5}, TensorOptions().dtype(kDouble)));
    at::mm_out(out, to_gpu(csc), to_gpu(turned));
    expect_same(out, at::mm_out(on_cpu, csc, turned));
    Tensor dense = at::zeros({0}, TensorOptions(kGpu).dtype(kDouble));
    const Tensor right = testing::sample({7, 3}, kDouble);
    at::mm_out(dense, to_gpu(t), to_gpu(right));
    expect_same(dense, at::mm(t, right));
  });
}

TEST(CudaSparse, RowsAreReduced) {
  in_all_orders([] {
    const Tensor csr = at::to_sparse_csr(at::coalesce(sample_matrix())), dense = testing::sample({7, 3}, kDouble, 2);
    const Tensor grad = testing::sample({5, 3}, kDouble, 4);
    for (const char* kind : {"sum", "mean", "amax", "amin"}) {
      const auto [result, argument] = at::_sparse_mm_reduce_impl(csr, dense, kind);
      const auto [on_gpu, argument_on_gpu] = at::_sparse_mm_reduce_impl(to_gpu(csr), to_gpu(dense), kind);
      expect_same(on_gpu, result);
      expect_same(argument_on_gpu, argument);
      const auto [of_self, of_dense] =
          at::_sparse_mm_reduce_impl_backward(csr, grad, dense, kind, argument, {true, true});
      const auto [self_on_gpu, dense_on_gpu] = at::_sparse_mm_reduce_impl_backward(
          to_gpu(csr), to_gpu(grad), to_gpu(dense), kind, argument_on_gpu, {true, true});
      expect_same(self_on_gpu, of_self);
      expect_same(dense_on_gpu, of_dense);
    }
  });
}

TEST(CudaSparse, TriangularSystems) {
  in_all_orders([] {
    for (const ScalarType dtype : {kDouble, kComplexDouble}) {
      const Tensor square =
          at::add(at::mul(testing::sample({5, 5}, kDouble), 0.1), at::eye(5, TensorOptions().dtype(kDouble)));
      const Tensor a = at::to_sparse_csr(at::to(square, dtype)), b = at::to(testing::sample({5, 3}, kDouble, 2), dtype);
      for (const bool upper : {false, true}) {
        for (const bool unit : {false, true}) {
          expect_same(at::linalg_solve_triangular(to_gpu(a), to_gpu(b), upper, true, unit),
                      at::linalg_solve_triangular(a, b, upper, true, unit));
        }
      }
      const Tensor turned = at::contiguous(at::transpose(b, 0, 1));
      expect_same(at::linalg_solve_triangular(to_gpu(a), to_gpu(turned), true, false, false),
                  at::linalg_solve_triangular(a, turned, true, false, false));
    }
  });
}

TEST(CudaSparse, SoftmaxOfElements) {
  in_all_orders([] {
    const Tensor indices = testing::tensor_of({0, 0, 1, 2, 2, 2, 1, 3, 0, 0, 1, 2}, {2, 6}, kLong);
    const Tensor t = at::sparse_coo_tensor(indices, testing::sample({6, 2}, kDouble), {3, 4, 2});
    for (const int64_t dim : {0, 1, 2}) {
      for (const bool log : {false, true}) {
        const auto softmax = [&](const Tensor& x) {
          return log ? at::_sparse_log_softmax(x, dim, false) : at::_sparse_softmax(x, dim, false);
        };
        const Tensor y = softmax(t);
        expect_same(softmax(to_gpu(t)), y);
        const auto backward = [&](const Tensor& grad, const Tensor& result, const Tensor& x) {
          return log ? at::_sparse_log_softmax_backward_data(grad, result, dim, x)
                     : at::_sparse_softmax_backward_data(grad, result, dim, x);
        };
        expect_same(backward(to_gpu(t), to_gpu(y), to_gpu(t)), backward(t, y, t));
      }
    }
  });
}

TEST(CudaSparse, SampledAndStoredProducts) {
  in_all_orders([] {
    const Tensor t = sample_matrix(), gpu = to_gpu(t), csr = at::to_sparse_csr(at::coalesce(t));
    for (const int64_t inner : {1, 40}) {
      const Tensor a = testing::sample({5, inner}, kDouble, 3), b = testing::sample({inner, 7}, kDouble, 4);
      expect_same(at::sparse_sampled_addmm(to_gpu(csr), to_gpu(a), to_gpu(b), 2, 3),
                  at::sparse_sampled_addmm(csr, a, b, 2, 3));
    }
    const Tensor right = testing::sample({7, 3}, kDouble, 5);
    const Tensor added = at::to_sparse(testing::sample({5, 3}, kDouble, 6));
    expect_same(at::hspmm(gpu, to_gpu(right)), at::hspmm(t, right));
    expect_same(at::smm(gpu, to_gpu(right)), at::smm(t, right));
    expect_same(at::sspaddmm(to_gpu(added), gpu, to_gpu(right)), at::sspaddmm(added, t, right));
    for (const std::vector<int64_t>& dim : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
      expect_same(at::_sparse_csr_sum(to_gpu(csr), dim, true), at::_sparse_csr_sum(csr, dim, true));
      expect_same(at::_sparse_csr_prod(to_gpu(csr), dim, true), at::_sparse_csr_prod(csr, dim, true));
    }
    const Tensor lines = testing::sample({3, 6}, kDouble), offsets = testing::tensor_of({-1, 0, 2}, {3}, kLong);
    expect_same(at::_spdiags(to_gpu(lines), to_gpu(offsets), {5, 6}), at::_spdiags(lines, offsets, {5, 6}));
  });
}

// Products, sums and functions of elements wait for nothing.
TEST(CudaSparse, WorkOnStoredElementsIsCaptured) {
  in_all_orders([] {
    const Tensor csr = at::to_sparse_csr(at::coalesce(sample_matrix())), gpu = to_gpu(csr);
    const Tensor dense = testing::sample({7, 3}, kDouble), other = testing::sample({7, 3}, kDouble, 9);
    Tensor right = to_gpu(dense), product, sum;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    {
      cuda::CUDAGraph graph;
      {
        torch::cuda::graph capture(graph);
        product = at::mm(at::mul(at::sin(gpu), 2), right);
        sum = at::to_dense(gpu);
      }
      for (const Tensor& values : {other, dense}) {
        at::copy_(right, values);
        graph.replay();
        expect_same(product, at::mm(at::mul(at::sin(csr), 2), values));
        expect_same(sum, at::to_dense(csr));
      }
    }
    product = sum = Tensor();
  });
}

TEST(CudaSparse, ViewsAndParts) {
  in_all_orders([] {
    const Tensor t = sample_matrix(), gpu = to_gpu(t);
    expect_same(at::transpose(gpu, 0, 1), at::transpose(t, 0, 1));
    expect_same(at::unsqueeze(gpu, 1), at::unsqueeze(t, 1));
    expect_same(at::select(gpu, 0, 3), at::select(t, 0, 3));
    expect_same(at::slice(gpu, 1, 1, 6, 2), at::slice(t, 1, 1, 6, 2));
    const Tensor wanted = testing::tensor_of({3, 0, 3, 2}, {4}, kLong);
    expect_same(at::index_select(gpu, 0, to_gpu(wanted)), at::index_select(t, 0, wanted));
    expect_same(at::index_select(gpu, 1, to_gpu(wanted)), at::index_select(t, 1, wanted));
    expect_same(at::cat({gpu, gpu}, 0), at::cat({t, t}, 0));
    expect_same(at::cat({gpu, gpu}, 1), at::cat({t, t}, 1));
    expect_same(at::clone(gpu), t);
    expect_same(at::zeros_like(gpu), at::zeros_like(t));
    Tensor into = at::zeros_like(gpu);
    at::copy_(into, t);
    expect_same(into, t);
    at::zero_(into);
    EXPECT_EQ(at::_nnz(into), 0);
    EXPECT_EQ(to_cpu(gpu).device(), kHost);
  });
}

}  // namespace
}  // namespace at
