#include "func/transforms.h"

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::func::detail {

std::vector<at::Tensor*> only_tensors(const Structure& structure) {
  std::vector<at::Tensor*> tensors;
  for (const Structure* leaf : leaves_of(structure)) {
    TORCH_CHECK_VALUE(leaf->kind == Structure::Kind::kTensor, "Thing passed to transform API must be Tensor, got ",
                      c10::demangle(leaf->type->name()));
    tensors.push_back(leaf->tensor);
  }
  return tensors;
}

std::vector<at::Tensor*> only_results(const Structure& structure, const char* transform) {
  std::vector<at::Tensor*> tensors;
  for (const Structure* leaf : leaves_of(structure)) {
    TORCH_CHECK(leaf->kind == Structure::Kind::kTensor, transform, ": expected f to return only tensors, got ",
                c10::demangle(leaf->type->name()));
    TORCH_CHECK(leaf->tensor->defined(), transform, ": f returned an undefined tensor");
    tensors.push_back(leaf->tensor);
  }
  return tensors;
}

void check_scalar(const at::Tensor& value) {
  TORCH_CHECK(value.defined(), "grad_and_value(f)(*args): f returned an undefined tensor");
  TORCH_CHECK(value.dim() == 0, "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with ",
              value.dim(), " dims. Maybe you wanted to use the vjp or jacrev APIs instead?");
}

void check_same_count(size_t got, size_t want, const char* what) {
  TORCH_CHECK(got == want, what, " hold ", got, " tensors in place of ", want);
}

void check_tangents(const TensorList& primals, const TensorList& tangents) {
  check_same_count(tangents.size(), primals.size(), "jvp_fn: the tangents");
  for (size_t i = 0; i < primals.size(); ++i) {
    TORCH_CHECK(tangents[i].defined() && tangents[i].sizes() == primals[i].sizes(), "tangent:", i, " with shape ",
                tangents[i].defined() ? tangents[i].sizes() : at::IntArrayRef(),
                " doesn't match the shape ", primals[i].sizes(), " of the corresponding primal.");
    TORCH_CHECK(tangents[i].scalar_type() == primals[i].scalar_type(), "tangent:", i, " with dtype ",
                tangents[i].scalar_type(), " doesn't match the dtype ", primals[i].scalar_type(),
                " of the corresponding primal.");
  }
}

}  // namespace torch::func::detail
