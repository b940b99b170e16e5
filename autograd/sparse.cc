#include "autograd/sparse.h"

#include <utility>
#include <vector>

#include "aten/core/context.h"
#include "aten/ops/view/ops.h"
#include "autograd/autograd.h"

namespace torch::sparse {
namespace {

using at::Tensor;
using torch::autograd::variable_list;

bool is_compressed(const Tensor& t) {
  const at::Layout layout = t.layout();
  return layout == at::kSparseCsr || layout == at::kSparseCsc || layout == at::kSparseBsr || layout == at::kSparseBsc;
}
bool has_parts(const Tensor& t) {
  return t.defined() && (t.layout() == at::kSparse || is_compressed(t));
}

// The specified elements, as a leaf.
Tensor values_of(const Tensor& t) {
  const Tensor own = t.detach();
  return (t.layout() == at::kSparse ? own._values() : own.values()).clone().requires_grad_(t.requires_grad());
}

// A tensor like `t` of these elements.
Tensor with_values(const Tensor& t, const Tensor& values) {
  const Tensor like = t.detach();
  const at::TensorOptions options = values.options().requires_grad(false).layout(t.layout());
  if (t.layout() == at::kSparse)
    return at::_sparse_coo_tensor_unsafe(like._indices(), values, t.sizes(), options, like.is_coalesced());
  const bool by_rows = t.layout() == at::kSparseCsr || t.layout() == at::kSparseBsr;
  return at::sparse_compressed_tensor(by_rows ? like.crow_indices() : like.ccol_indices(),
                                      by_rows ? like.col_indices() : like.row_indices(), values, t.sizes(), options);
}

}  // namespace

check_sparse_tensor_invariants::check_sparse_tensor_invariants(bool enable) : before_(is_enabled()) {
  at::globalContext().setCheckSparseTensorInvariants(enable);
}
check_sparse_tensor_invariants::~check_sparse_tensor_invariants() {
  at::globalContext().setCheckSparseTensorInvariants(before_);
}
bool check_sparse_tensor_invariants::is_enabled() {
  return at::globalContext().checkSparseTensorInvariants();
}
void check_sparse_tensor_invariants::enable() {
  at::globalContext().setCheckSparseTensorInvariants(true);
}
void check_sparse_tensor_invariants::disable() {
  at::globalContext().setCheckSparseTensorInvariants(false);
}

Gradcheck as_sparse_gradcheck(Gradcheck check) {
  return [check = std::move(check)](const torch::autograd::GradcheckFunction& function, const variable_list& inputs,
                                    const torch::autograd::GradcheckOptions& options) {
    variable_list dense;
    for (const Tensor& input : inputs) dense.push_back(has_parts(input) ? values_of(input) : input);
    const auto of_values = [&](const variable_list& given) {
      variable_list arguments;
      for (size_t i = 0; i < given.size(); ++i)
        arguments.push_back(has_parts(inputs[i]) ? with_values(inputs[i], given[i]) : given[i]);
      variable_list results = function(arguments);
      for (Tensor& result : results) {
        if (has_parts(result)) result = result.to_dense();
      }
      return results;
    };
    return check(of_values, dense, options);
  };
}

}  // namespace torch::sparse
