// Paths of libtorch that lead to what lies elsewhere here; //tests/headers compiles each of them alone.
#include <ATen/ArrayRef.h>
#include <ATen/Backend.h>
#include <ATen/DimVector.h>
#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/DeprecatedTypeProperties.h>
#include <ATen/core/ScalarType.h>
#include <ATen/core/TensorBody.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/__lshift__.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_inv.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zero.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/Type.h>
#include <c10/util/accumulate.h>
#include <c10/util/quint8.h>
#include <c10/util/strides.h>
#include <c10/util/typeid.h>
#include <gtest/gtest.h>
#include <torch/csrc/Export.h>
#include <torch/csrc/api/include/torch/nn/modules/linear.h>
#include <torch/csrc/api/include/torch/types.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/detail/TensorDataContainer.h>
#include <torch/headeronly/version.h>
#include <torch/library.h>
#include <torch/version.h>

namespace {

TORCH_LIBRARY(include_paths, m) { m.def("twice(Tensor x) -> Tensor"); }

TEST(IncludePaths, GiveTheNames) {
  EXPECT_EQ(c10::maybe_wrap_dim(-1, 3), 2);
  EXPECT_EQ(c10::multiply_integers(std::vector<int64_t>{2, 3}), 6);
  EXPECT_EQ(c10::demangle(typeid(int).name()), "int");
  EXPECT_EQ(at::add(at::empty({2}).zero_(), 1).sum().item<float>(), 2);
  EXPECT_EQ(at::toString(at::Backend::SparseCUDA), std::string("SparseCUDA"));
}

}  // namespace
