// The out= forms whose results are sparse or nested, or are made of such tensors: what they write, and what they
// refuse.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/factories.h"
#include "autograd/nested.h"
#include "c10/dispatch/registry.h"
#include "c10/testing/message_of.h"
#include "gtest/gtest.h"

namespace {

using at::Tensor;
using c10::testing::message_of;

struct Form {
  const char* name;
  std::function<Tensor()> call;
  std::function<Tensor&(Tensor&)> into;
};

Tensor dense() {
  return torch::tensor({{0.0, 5.0, 0.0}, {6.0, 0.0, 7.0}});
}
Tensor coo() {
  return dense().to_sparse();
}
Tensor csr() {
  return dense().to_sparse_csr();
}
Tensor csc() {
  return dense().to_sparse_csc();
}
// One place twice, not in order.
Tensor loose() {
  return at::sparse_coo_tensor(torch::tensor({{1, 0, 1}, {2, 1, 2}}), torch::tensor({1.0, 2.0, 3.0}), {2, 3});
}
Tensor nested() {
  return torch::nested::nested_tensor({dense(), dense().slice(0, 0, 1)});
}
Tensor jagged() {
  return torch::nested::nested_tensor({dense(), dense().slice(0, 0, 1)}, at::TensorOptions().layout(at::kJagged));
}

bool is_plain(const Tensor& t) {
  return t.layout() == at::kStrided && !t.is_nested();
}

// What the tensor is made of.
std::vector<Tensor> parts(const Tensor& t) {
  if (t.is_nested()) return t.unbind();
  if (t.layout() == at::kSparse) return {t._indices(), t._values()};
  if (t.layout() == at::kSparseCsr || t.layout() == at::kSparseBsr)
    return {t.crow_indices(), t.col_indices(), t.values()};
  if (t.layout() == at::kStrided) return {t};
  return {t.ccol_indices(), t.row_indices(), t.values()};
}

void expect_same(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.layout(), expected.layout());
  ASSERT_EQ(actual.is_nested(), expected.is_nested());
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  if (actual.layout() == at::kSparse) {
    EXPECT_EQ(actual.is_coalesced(), expected.is_coalesced());
    EXPECT_EQ(actual.sparse_dim(), expected.sparse_dim());
  }
  const std::vector<Tensor> a = parts(actual), e = parts(expected);
  ASSERT_EQ(a.size(), e.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], e[i])) << a[i] << e[i];
}

// Tensors of the result's kind: without elements and with others, of other sizes.
std::vector<Tensor> outputs_like(const Tensor& result, at::ScalarType dtype) {
  const at::TensorOptions options = at::TensorOptions().dtype(dtype);
  if (is_plain(result)) return {at::empty({0}, options), at::ones(result.sizes(), options)};
  if (result.is_nested()) {
    const at::TensorOptions layout = options.layout(result.layout());
    return {torch::nested::nested_tensor({at::ones({1, 2}), at::ones({3, 2}), at::ones({2, 2})}, layout),
            torch::nested::nested_tensor({at::ones({4, 3})}, layout)};
  }
  if (result.layout() == at::kSparse) {
    return {at::sparse_coo_tensor({7}, options), at::ones({4, 2}, options).to_sparse(),
            at::ones({2, 3}, options).to_sparse(1)};
  }
  const std::vector<int64_t> block{2, 2};
  const bool blocked = result.layout() == at::kSparseBsr || result.layout() == at::kSparseBsc;
  const auto sizes = blocked ? at::OptionalIntArrayRef(block) : at::OptionalIntArrayRef();
  return {at::zeros({4, 2}, options).to_sparse(result.layout(), sizes),
          at::ones({2, 4}, options).to_sparse(result.layout(), sizes)};
}

#define FORM(name, ...)                                                                                                \
  Form {                                                                                                               \
#name, [] { return at::name(__VA_ARGS__); },                                                                       \
                                              [](Tensor & out) -> Tensor& { return at::name##_out(out, __VA_ARGS__); } \
  }

std::vector<Form> forms() {
  const Form sparse[] = {
      FORM(_coalesce, loose()),
      FORM(_coalesced, loose(), true),
      FORM(_indices_copy, loose()),
      FORM(_values_copy, loose()),
      FORM(indices_copy, coo()),
      FORM(values_copy, csr()),
      FORM(crow_indices_copy, csr()),
      FORM(col_indices_copy, csr()),
      FORM(ccol_indices_copy, csc()),
      FORM(row_indices_copy, csc()),
      FORM(_sparse_addmm, dense(), coo(), at::ones({3, 3}), 2, 3),
      FORM(_sparse_broadcast_to_copy, coo(), {2, 2, 3}),
      FORM(_sparse_coo_tensor_with_dims_and_tensors, 1, 0, {5}, torch::tensor({{4, 1}}), torch::tensor({1.0, 2.0})),
      FORM(_sparse_csr_prod, csr(), {0}, true),
      FORM(_sparse_csr_sum, csr(), {1}, true),
      FORM(_sparse_log_softmax, coo(), int64_t{1}, false),
      FORM(_sparse_softmax, coo(), int64_t{1}, false),
      FORM(_sparse_log_softmax_backward_data, coo(), at::_sparse_log_softmax(coo(), int64_t{1}, false), 1, coo()),
      FORM(_sparse_softmax_backward_data, coo(), at::_sparse_softmax(coo(), int64_t{1}, false), 1, coo()),
      FORM(_sparse_mask_projection, coo(), coo()),
      FORM(_sparse_sparse_matmul, coo(), coo().t()),
      FORM(_sparse_sum, coo(), {0}),
      FORM(_sparse_sum_backward, at::_sparse_sum(coo(), {0}), coo(), {0}),
      FORM(_spdiags, at::ones({1, 3}), torch::tensor({0}), {3, 3}),
      FORM(_to_dense, coo()),
      FORM(_to_sparse, dense()),
      FORM(_to_sparse, dense(), 1),
      FORM(_to_sparse, dense(), at::kSparseCsr),
      FORM(_to_sparse_csr, dense()),
      FORM(_to_sparse_csc, coo()),
      FORM(_to_sparse_bsr, dense(), {1, 3}),
      FORM(_to_sparse_bsc, dense(), {2, 1}),
      FORM(copy_sparse_to_sparse, coo(), loose()),
      FORM(native_norm, coo()),
      FORM(native_norm, coo(), 2, {0, 1}, false, std::nullopt),
      FORM(resize_as_sparse, coo(), at::sparse_coo_tensor({4, 5})),
      FORM(sparse_mask, dense(), coo()),
      FORM(sparse_resize, coo(), {4, 5}, 2, 0),
      FORM(sparse_resize_and_clear, coo(), {1, 2, 3}, 2, 1),
  };
  const Form nested_ones[] = {
      FORM(_nested_from_padded, at::to_padded_tensor(nested(), 0), at::_nested_tensor_size(nested())),
      FORM(_nested_from_padded_and_nested_example, at::to_padded_tensor(nested(), 0), nested()),
      FORM(_nested_get_values_copy, jagged()),
      FORM(_nested_tensor_from_mask, at::ones({2, 2, 3}), torch::tensor({{true, true}, {true, false}})),
      FORM(_nested_tensor_size, nested()),
      FORM(_nested_tensor_strides, nested()),
      FORM(_nested_tensor_storage_offsets, nested()),
      FORM(_nested_view_from_buffer_copy, at::arange(9, at::kFloat), at::_nested_tensor_size(nested()),
           at::_nested_tensor_strides(nested()), at::_nested_tensor_storage_offsets(nested())),
      FORM(_nested_view_from_jagged_copy, at::ones({5, 3}), torch::tensor({0, 2, 5}),
           at::_nested_get_jagged_dummy(jagged())),
      FORM(to_padded_tensor, nested(), -1),
      FORM(_nested_tensor_from_tensor_list, {dense(), dense()}),
  };
  std::vector<Form> all(std::begin(sparse), std::end(sparse));
  all.insert(all.end(), std::begin(nested_ones), std::end(nested_ones));
  return all;
}

TEST(OutForms, HoldTheResultWhateverTheyHeld) {
  for (const Form& form : forms()) {
    SCOPED_TRACE(form.name);
    const Tensor expected = form.call();
    for (Tensor& out : outputs_like(expected, expected.scalar_type())) {
      const auto version = out._version();
      Tensor& given = form.into(out);
      EXPECT_EQ(&given, &out);
      EXPECT_GT(out._version(), version);
      expect_same(out, expected);
    }
  }
}

TEST(OutForms, AreOfTheResultsLayout) {
  const Tensor others[] = {at::zeros({2, 3}), at::sparse_coo_tensor({2, 3}), at::zeros({2, 3}).to_sparse_csr(),
                           nested()};
  for (const Form& form : forms()) {
    SCOPED_TRACE(form.name);
    const Tensor expected = form.call();
    for (const Tensor& other : others) {
      if (other.layout() == expected.layout() && other.is_nested() == expected.is_nested()) continue;
      Tensor out = at::clone(other);
      const std::string message = message_of([&] { form.into(out); });
      const bool from_options = message.find("expected sparse layout, but got layout") == 0;
      EXPECT_TRUE(from_options || message.find("expected the output to be a ") != std::string::npos) << message;
      expect_same(out, other);
    }
  }
}

TEST(OutForms, ConvertToDtypesThatCanHoldTheResult) {
  for (const Form& form : forms()) {
    SCOPED_TRACE(form.name);
    const Tensor expected = form.call();
    if (expected.scalar_type() != at::kFloat) continue;
    const std::vector<Tensor> longs = outputs_like(expected, at::kLong), doubles = outputs_like(expected, at::kDouble);
    for (size_t i = 0; i < longs.size(); ++i) {
      Tensor out = longs[i];
      const Tensor before = at::clone(out);
      EXPECT_NE(
          message_of([&] { form.into(out); }).find("result type Float can't be cast to the desired output type Long"),
          std::string::npos);
      expect_same(out, before);
      Tensor wide = doubles[i];
      form.into(wide);
      expect_same(wide, expected.to(at::kDouble));
    }
  }
}

TEST(OutForms, MayBeAnArgument) {
  const auto check = [](Tensor t, const std::function<Tensor(const Tensor&)>& f,
                        const std::function<void(Tensor&)>& into) {
    const Tensor expected = f(at::clone(t));
    into(t);
    expect_same(t, expected);
  };
  check(
      loose(), [](const Tensor& t) { return at::_coalesce(t); }, [](Tensor& t) { at::_coalesce_out(t, t); });
  check(
      coo(), [](const Tensor& t) { return at::_coalesce(t); }, [](Tensor& t) { at::_coalesce_out(t, t); });
  check(
      coo(), [](const Tensor& t) { return at::sparse_mask(dense(), t); },
      [](Tensor& t) { at::sparse_mask_out(t, dense(), t); });
  check(
      coo(), [](const Tensor& t) { return at::_sparse_softmax(t, int64_t{0}, false); },
      [](Tensor& t) { at::_sparse_softmax_out(t, t, int64_t{0}, false); });
  check(
      dense(),
      [](const Tensor& t) {
        return at::_sparse_addmm(t, coo(), at::ones({3, 3}));
      },
      [](Tensor& t) {
        at::_sparse_addmm_out(t, t, coo(), at::ones({3, 3}));
      });
  check(
      nested(),
      [](const Tensor& t) {
        return at::_nested_from_padded_and_nested_example(at::ones({2, 2, 3}), t);
      },
      [](Tensor& t) {
        at::_nested_from_padded_and_nested_example_out(t, at::ones({2, 2, 3}), t);
      });
}

TEST(OutForms, HaveMemoryOfTheirOwn) {
  const Tensor self = coo();
  Tensor out = at::sparse_coo_tensor({1});
  at::_coalesced_out(out, self, true);
  out._values().fill_(1);
  EXPECT_EQ(self._values().sum().item<float>(), 18);
  const Tensor values = at::ones({2}), places = torch::tensor({{1, 0}});
  at::_sparse_coo_tensor_with_dims_and_tensors_out(out, 1, 0, {3}, places, values);
  out._values().fill_(7);
  EXPECT_EQ(values.sum().item<float>(), 2);
}

TEST(OutForms, OfFactoriesHaveTheOutputsDtype) {
  for (const at::ScalarType dtype : {at::kFloat, at::kLong}) {
    Tensor out = at::ones({3}, dtype).to_sparse();
    at::sparse_coo_tensor_out(out, {2, 5});
    expect_same(out, at::sparse_coo_tensor({2, 5}, dtype));
    at::_sparse_coo_tensor_with_dims_out(out, 1, 1, {2, 5});
    expect_same(out, at::_sparse_coo_tensor_with_dims(1, 1, {2, 5}, dtype));
  }
  Tensor strided = at::zeros({2});
  EXPECT_EQ(message_of([&] {
              at::sparse_coo_tensor_out(strided, {2, 5});
            }),
            "expected sparse layout, but got layout Strided");
}

TEST(OutForms, TakeNoPartInDerivatives) {
  const Tensor leaf = dense().requires_grad_();
  Tensor out = at::sparse_coo_tensor({2, 3});
  EXPECT_NE(message_of([&] { at::_to_sparse_out(out, leaf); }).find("don't support automatic differentiation"),
            std::string::npos);
  EXPECT_EQ(out._nnz(), 0);
}

// What was kept for backward is not what stands there now.
TEST(OutForms, AreChangesInPlace) {
  Tensor kept = coo(), parts = nested();
  const Tensor sum = at::_sparse_sum(at::mul(coo().requires_grad_(), kept)),
               total = at::mul(nested().requires_grad_(), parts).values().sum();
  at::_coalesce_out(kept, loose());
  at::_nested_from_padded_and_nested_example_out(parts, at::ones({2, 2, 3}), parts);
  for (const Tensor& t : {sum, total}) {
    EXPECT_NE(message_of([&] { t.backward(); }).find("modified by an inplace operation"), std::string::npos);
  }
}

TEST(OutForms, AreCallableByName) {
  const char* const names[] = {
      "_coalesce.out",
      "_coalesced",
      "_coalesced.out",
      "_indices_copy.out",
      "_nested_from_padded.out",
      "_nested_from_padded_and_nested_example.out",
      "_nested_get_values_copy.out",
      "_nested_tensor_from_mask.out",
      "_nested_tensor_from_tensor_list.out",
      "_nested_tensor_size.out",
      "_nested_tensor_storage_offsets.out",
      "_nested_tensor_strides.out",
      "_nested_view_from_buffer_copy.out",
      "_nested_view_from_jagged_copy.out",
      "_sparse_addmm.out",
      "_sparse_broadcast_to_copy.out",
      "_sparse_coo_tensor_with_dims.out",
      "_sparse_coo_tensor_with_dims_and_tensors.out",
      "_sparse_csr_prod.dim_dtype_out",
      "_sparse_csr_sum.dim_dtype_out",
      "_sparse_log_softmax.out",
      "_sparse_log_softmax_backward_data.out",
      "_sparse_mask_projection.out",
      "_sparse_softmax.out",
      "_sparse_softmax_backward_data.out",
      "_sparse_sparse_matmul.out",
      "_sparse_sum.dim_out",
      "_sparse_sum_backward.out",
      "_spdiags.out",
      "_to_dense.out",
      "_to_sparse.out",
      "_to_sparse.sparse_dim_out",
      "_to_sparse_bsc.out",
      "_to_sparse_bsr.out",
      "_to_sparse_csc.out",
      "_to_sparse_csr.out",
      "_values_copy.out",
      "ccol_indices_copy.out",
      "col_indices_copy.out",
      "copy_sparse_to_sparse",
      "copy_sparse_to_sparse.out",
      "crow_indices_copy.out",
      "indices_copy.out",
      "native_norm.ScalarOpt_dim_dtype_out",
      "native_norm.out",
      "resize_as_sparse",
      "resize_as_sparse.out",
      "row_indices_copy.out",
      "sparse_coo_tensor.size_out",
      "sparse_mask.out",
      "sparse_resize",
      "sparse_resize.out",
      "sparse_resize_and_clear",
      "sparse_resize_and_clear.out",
      "to_padded_tensor.out",
      "values_copy.out",
  };
  for (const std::string name : names) {
    const size_t dot = std::min(name.find('.'), name.size());
    const auto handle = c10::Dispatcher::singleton().findSchema(
        {"aten::" + name.substr(0, dot), dot == name.size() ? "" : name.substr(dot + 1)});
    EXPECT_TRUE(handle.has_value()) << name;
  }
  const auto call = [](const char* name, c10::Stack stack) {
    c10::Dispatcher::singleton().findSchemaOrThrow(name, "out").callBoxed(stack);
    return stack.at(0).toTensor();
  };
  const Tensor out = at::sparse_coo_tensor({1}), compressed = at::zeros({1, 1}).to_sparse_csr();
  expect_same(call("aten::_coalesce", {loose(), out}), at::_coalesce(loose()));
  expect_same(call("aten::sparse_mask", {dense(), coo(), out}), at::sparse_mask(dense(), coo()));
  expect_same(call("aten::_to_sparse_csr", {dense(), c10::IValue(), compressed}), dense().to_sparse_csr());
  expect_same(call("aten::_nested_tensor_size", {nested(), at::empty({0}, at::kLong)}),
              at::_nested_tensor_size(nested()));
}

// --- forms that change a copy ---
TEST(FunctionalForms, LeaveSelfAsItIs) {
  const Tensor self = coo(), before = coo();
  expect_same(at::sparse_resize(self, {4, 5}, 2, 0), coo().sparse_resize_({4, 5}, 2, 0));
  expect_same(at::sparse_resize_and_clear(self, {7}, 1, 0), coo().sparse_resize_and_clear_({7}, 1, 0));
  expect_same(at::resize_as_sparse(self, at::sparse_coo_tensor({4, 5})), coo().sparse_resize_({4, 5}, 2, 0));
  expect_same(at::copy_sparse_to_sparse(self, loose()), loose());
  EXPECT_FALSE(at::_coalesced(self, false).is_coalesced());
  expect_same(self, before);
  EXPECT_NE(message_of([&] {
              at::sparse_resize(self, {1, 1}, 2, 0);
            }).find("shrinking the size of sparse dimensions"),
            std::string::npos);
}

TEST(ToDenseBackward, IsTheGradientInTheLayoutOfTheInput) {
  const Tensor grad = torch::tensor({{1.0, 2.0, 3.0}, {4.0, 0.0, 6.0}});
  expect_same(at::to_dense_backward(grad, coo()), at::sparse_mask(grad, coo()));
  expect_same(at::to_dense_backward(grad, loose()), at::sparse_mask(grad, loose().coalesce()));
  expect_same(at::to_dense_backward(grad, coo(), false), grad.to_sparse());
  expect_same(at::to_dense_backward(grad, csr(), false), grad.to_sparse_csr());
  const Tensor blocks = dense().to_sparse_bsr({2, 1});
  expect_same(at::to_dense_backward(grad, blocks, false), grad.to_sparse_bsr({2, 1}));
  EXPECT_TRUE(at::to_dense_backward(grad, dense()).is_same(grad));
  EXPECT_EQ(message_of([&] { at::to_dense_backward(grad.slice(1, 1), coo()); }),
            "to_dense_backward: expected grad of the size of input, [2, 3], but got [2, 2]");
}

}  // namespace
