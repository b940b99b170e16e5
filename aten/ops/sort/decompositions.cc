#include "aten/ops/sort/decompositions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "aten/ops/unary/ops.h"

namespace at::decompositions {
namespace {

Tensor inverted_if(bool invert, const Tensor& found) {
  return invert ? at::logical_not(found) : found;
}

}  // namespace

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  return inverted_if(invert, at::any(at::eq(at::unsqueeze(elements, -1), at::reshape(test_elements, {-1})), -1));
}
Tensor isin(const Tensor& elements, const Scalar& test_element, bool, bool invert) {
  return inverted_if(invert, at::eq(elements, test_element));
}
Tensor isin(const Scalar& element, const Tensor& test_elements, bool, bool invert) {
  return inverted_if(invert, at::any(at::eq(test_elements, element)));
}

}  // namespace at::decompositions
