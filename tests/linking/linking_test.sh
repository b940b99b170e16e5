#!/usr/bin/env bash
# Reads the symbols of programs that call one operator: add, and mm in a region of autocast.
#   linking_test.sh PLAIN WITH_DERIVATIVES WITH_AUTOCAST WITH_SPARSE WITH_NESTED BY_NAME DISTRIBUTION
set -euo pipefail
failed=0

expect_absent() {
  local found
  found="$(nm -C "$1" | grep -E "$2" || true)"
  if [ -n "$found" ]; then
    printf 'FAIL: %s holds what it should not (%s):\n%s\n' "$1" "$2" "$found"
    failed=1
  fi
}

"$1"
"$2"
"$3"
"$4"
"$5"
"$6"
"$7"

operators="$(nm -C "$1" | sed -n 's/.* [DdBb] at::operators:://p' | sort | tr '\n' ' ')"
if [ "$operators" != "add_Tensor " ]; then
  echo "FAIL: the program calls add.Tensor and holds the operators: $operators"
  failed=1
fi
# No registry, no schemas, no engine, no other operator's kernels.
expect_absent "$1" 'c10::Dispatcher|c10::SchemaParser|torch::autograd'
expect_absent "$1" 'at::native::(mul|sub|div|sum|copy)_'
# With all derivatives on the link line the nodes of add and of what its formula calls are there, but nothing that runs
# backward, and no operator that add's derivatives do not reach.
expect_absent "$2" 'torch::autograd::Engine::(execute|evaluate)|torch::autograd::(backward|run_backward)\('
expect_absent "$2" 'at::operators::(mm|convolution|softmax|sort|embedding)'
# LAPACK is on its link line, too, and the program starts without it.
if readelf -d "$2" | grep -q 'NEEDED.*\(blas\|lapack\)'; then
  echo "FAIL: $2 calls no operator of linalg and needs LAPACK"
  failed=1
fi
# Autocast has kernels for mm and none for operators that are not called, and comes with none of them.
kernels="$(nm -C "$3" | sed -nE 's/.* [DdBbTt] at::autocast_kernels::([a-z]*)(_cpu|_cuda)?(\(.*)?$/\1/p' | sort -u | tr '\n' ' ')"
if [ "$kernels" != "mm " ]; then
  echo "FAIL: the program calls mm and autocast has kernels of: $kernels"
  failed=1
fi
expect_absent "$3" 'at::operators::(linear|bmm|convolution|softmax|cat|layer_norm)'
# Sparse tensors: their kernels of add, and none of operators that are not called.
if [ "$(nm -C "$4" | grep -c 'at::native::add_sparse(')" -ne 1 ]; then
  echo "FAIL: $4 has no kernel of add for sparse tensors"
  failed=1
fi
expect_absent "$4" 'at::native::(mm|div|neg|sum|to_dense)_sparse\('
# Nested tensors: the same.
if [ "$(nm -C "$5" | grep -c 'at::nested_kernels::add_Tensor(')" -ne 1 ]; then
  echo "FAIL: $5 has no kernel of add for nested tensors"
  failed=1
fi
expect_absent "$5" 'at::native::(sum|linear|softmax)_nested\(|at::nested_kernels::(mul_Tensor|div_Tensor|neg)\('
expect_absent "$1" '_sparse|SparseTensorImpl|_nested|NestedTensorImpl'
expect_absent "$2" '_sparse|SparseTensorImpl|_nested|NestedTensorImpl'
# Decompositions: on the link line, and none of a program that does not ask for one, though it knows their operators by name.
if [ "$(nm -C "$6" | grep -c ' at::operators::addcmul$')" -ne 1 ]; then
  echo "FAIL: $6 does not know the operators of the family"
  failed=1
fi
expect_absent "$6" ' [BDRTbdrt] at::(decompositions|decomposition_constants)::'
# A normal distribution and its divergence from another: no other one, no transforms, no other formulas, no linear algebra,
# nothing that runs backward.
if [ "$(nm -C "$7" | grep -c 'torch::distributions::NormalImpl::log_prob')" -ne 1 ]; then
  echo "FAIL: $7 has no normal distribution"
  failed=1
fi
expect_absent "$7" 'torch::distributions::(Laplace|Gamma|LogNormal|MultivariateNormal|Categorical|Transform)[A-Za-z]*Impl::'
expect_absent "$7" 'torch::distributions::(kl_divergence\(|register_kl|ConstraintRegistry)|at::operators::linalg_'
formulas="$(nm -C "$7" | grep -o 'KlFormula<[^>]*>::compute' | sort -u | tr '\n' ' ')"
if [ "$formulas" != "KlFormula<torch::distributions::NormalImpl, torch::distributions::NormalImpl>::compute " ]; then
  echo "FAIL: $7 takes the divergence of two normal distributions and holds the formulas: $formulas"
  failed=1
fi
expect_absent "$7" 'torch::autograd::Engine::(execute|evaluate)'
if readelf -d "$7" | grep -q 'NEEDED.*\(blas\|lapack\)'; then
  echo "FAIL: $7 makes a normal distribution and needs LAPACK"
  failed=1
fi
exit $failed
