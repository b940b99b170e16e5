// Rules of products of matrices, of convolutions and of what solves linear systems.
#include <algorithm>
#include <optional>

#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"
#include "func/rules.h"

namespace torch::func::detail {
namespace {

using at::Tensor;
using c10::IValue;
using c10::Stack;

void check_ranks(const BatchedCall& call, size_t a, int64_t rank_a, size_t b, int64_t rank_b) {
  TORCH_CHECK(call.rank(a) == rank_a && call.rank(b) == rank_b, call.schema().base_name(), ": expected tensors of ",
              rank_a, " and ", rank_b, " dimensions, got ", call.rank(a), " and ", call.rank(b));
}

// The product of two matrices, or batches of them, a sample. Matrices of which all samples have the same are multiplied
// with the rows of all samples at once.
Tensor product(const BatchedCall& call, size_t a, size_t b) {
  return at::matmul(call.tensor(a), call.tensor(b));
}

void mm(BatchedCall& call) {
  check_ranks(call, 0, 2, 1, 2);
  const bool all = call.batched(0) && call.batched(1);
  call.give(all ? at::bmm(call.tensor(0), call.tensor(1)) : product(call, 0, 1));
}

void bmm(BatchedCall& call) {
  check_ranks(call, 0, 3, 1, 3);
  TORCH_CHECK(call.sizes(0)[0] == call.sizes(1)[0] && call.sizes(0)[2] == call.sizes(1)[1],
              "Expected size for first two dimensions of batch2 tensor to be: [", call.sizes(0)[0], ", ",
              call.sizes(0)[2], "] but got: [", call.sizes(1)[0], ", ", call.sizes(1)[1], "].");
  call.give(product(call, 0, 1));
}

Tensor matrix_vector(const BatchedCall& call, size_t matrix, size_t vector) {
  check_ranks(call, matrix, 2, vector, 1);
  const Tensor m = call.tensor(matrix), v = call.tensor(vector);
  if (!call.batched(vector)) return at::matmul(m, v);
  if (!call.batched(matrix)) return at::matmul(v, at::transpose(m, 0, 1));
  return at::squeeze(at::matmul(m, at::unsqueeze(v, 2)), 2);
}

Tensor dot_of(const BatchedCall& call, Tensor a, bool a_batched, Tensor b, bool b_batched) {
  if (!a_batched) {
    std::swap(a, b);
    std::swap(a_batched, b_batched);
  }
  if (!b_batched) return at::matmul(a, b);
  return at::squeeze(at::matmul(at::unsqueeze(a, 1), at::unsqueeze(b, 2)), at::IntArrayRef({1, 2}));
}

void check_dot(const BatchedCall& call) {
  check_ranks(call, 0, 1, 1, 1);
  TORCH_CHECK(call.sizes(0) == call.sizes(1) && call.tensor(0).scalar_type() == call.tensor(1).scalar_type(),
              call.schema().base_name(), ": expected two vectors of one size and dtype, got sizes ", call.sizes(0),
              " and ", call.sizes(1), " of ", call.tensor(0).scalar_type(), " and ", call.tensor(1).scalar_type());
}

void dot(BatchedCall& call) {
  check_dot(call);
  call.give(dot_of(call, call.tensor(0), call.batched(0), call.tensor(1), call.batched(1)));
}
void vdot(BatchedCall& call) {
  check_dot(call);
  call.give(dot_of(call, at::conj(call.tensor(0)), call.batched(0), call.tensor(1), call.batched(1)));
}
void mv(BatchedCall& call) {
  call.give(matrix_vector(call, 0, 1));
}

// beta * self + alpha * the product, a tensor of `rank` dimensions a sample; with beta 0, self is not looked at.
// Integers have integers for factors.
void give_sum(BatchedCall& call, Tensor product, int64_t rank) {
  const auto factor = [&](const char* name) {
    const at::Scalar s = call.named(name).toScalar();
    return c10::isIntegralType(product.scalar_type(), true) ? at::Scalar(s.toLong()) : s;
  };
  const at::Scalar beta = factor("beta"), alpha = factor("alpha");
  const auto is = [](const at::Scalar& s, double number) { return !s.isComplex() && s.toDouble() == number; };
  if (!is(alpha, 1)) product = at::mul(product, alpha);
  if (is(beta, 0)) return call.give(call.every_sample(product, product.dim() > rank));
  Tensor self = call.padded(call.tensor(0), call.batched(0), rank);
  if (!is(beta, 1)) self = at::mul(self, beta);
  call.give(at::add(self, product));
}

void addmm(BatchedCall& call) {
  check_ranks(call, 1, 2, 2, 2);
  give_sum(call, product(call, 1, 2), 2);
}
void addmv(BatchedCall& call) {
  give_sum(call, matrix_vector(call, 1, 2), 1);
}
void baddbmm(BatchedCall& call) {
  check_ranks(call, 1, 3, 2, 3);
  give_sum(call, product(call, 1, 2), 3);
}
void addbmm(BatchedCall& call) {
  check_ranks(call, 1, 3, 2, 3);
  const Tensor products = product(call, 1, 2);
  give_sum(call, at::sum(products, {-3}, false, products.scalar_type()), 2);
}

void linear(BatchedCall& call) {
  const bool has_bias = call.is_tensor(2);
  const int64_t rank = call.rank(0);
  if (!call.batched(1)) {
    if (!has_bias || !call.batched(2)) return call.run();
    const Tensor all = at::linear(call.tensor(0), call.tensor(1), std::nullopt);
    // A result that is the same for all samples has no dimension of them yet.
    return call.give(at::add(all, call.padded(call.tensor(2), true, rank)));
  }
  const Tensor weight = call.tensor(1);
  TORCH_CHECK(call.rank(1) == 1 || call.rank(1) == 2, "linear: expected a weight of 1 or 2 dimensions, got ",
              call.rank(1));
  Tensor result;
  if (call.rank(1) == 1) {
    const Tensor x = call.tensor(0);
    result = at::sum(at::mul(x, call.padded(weight, true, rank)), {-1});
  } else if (rank == 1) {
    result = at::squeeze(at::matmul(at::unsqueeze(call.tensor(0), -2), at::transpose(weight, 1, 2)), -2);
  } else {
    // The weight's dimensions are a sample's last two.
    result = at::matmul(call.tensor(0), at::transpose(call.padded(weight, true, rank), -2, -1));
  }
  if (has_bias) result = at::add(result, call.padded(call.tensor(2), call.batched(2), rank));
  call.give(std::move(result));
}

// --- convolutions ---

// [B, N, C, ..] as [N, B * C, ..].
Tensor channels_of_all(const Tensor& t) {
  return at::flatten(at::movedim(t, 0, 1), 1, 2);
}
// And back.
Tensor samples_of_channels(const Tensor& t, int64_t batch) {
  return at::movedim(at::unflatten(t, 1, {batch, t.size(1) / batch}), 1, 0);
}
// [B, O, ..] as [B * O, ..].
Tensor first_two(const Tensor& t) {
  return at::flatten(t, 0, 1);
}

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups). Where all samples
// have the same weight, they are computed as one batch; else each has its own group of channels.
void convolution(BatchedCall& call) {
  const int64_t batch = call.batch_size();
  Stack arguments = call.arguments();
  if (!call.batched(1) && !(call.is_tensor(2) && call.batched(2))) {
    const Tensor input = call.tensor(0);
    arguments[0] = IValue(first_two(input));
    call.run(call.op(), std::move(arguments));
    return call.give(at::unflatten(call.results[0].toTensor(), 0, {batch, input.size(1)}));
  }
  if (call.batched(1)) {
    const bool transposed = call[6].toBool();
    const bool shared_input = !call.batched(0) && !transposed && call[8].toInt() == 1;
    arguments[0] = IValue(shared_input ? call.tensor(0) : channels_of_all(call.every_sample(0)));
    arguments[1] = IValue(first_two(call.tensor(1)));
    if (call.is_tensor(2)) arguments[2] = IValue(first_two(call.every_sample(2)));
    if (!shared_input) arguments[8] = IValue(call[8].toInt() * batch);
    call.run(call.op(), std::move(arguments));
    return call.give(samples_of_channels(call.results[0].toTensor(), batch));
  }
  const Tensor input = call.every_sample(0);
  arguments[0] = IValue(first_two(input));
  arguments[2] = IValue();
  call.run(call.op(), std::move(arguments));
  const Tensor result = at::unflatten(call.results[0].toTensor(), 0, {batch, input.size(1)});
  c10::DimVector sizes(static_cast<size_t>(result.dim()), 1);
  sizes[0] = batch;
  sizes[2] = call.sizes(2)[0];
  call.give(at::add(result, at::reshape(call.tensor(2), sizes)));
}

// convolution_backward(grad_output, input, weight, bias_sizes, stride, .., output_mask).
void convolution_backward(BatchedCall& call) {
  const int64_t batch = call.batch_size();
  const c10::List<bool> mask = call[10].toBoolList();
  const Tensor grad = call.every_sample(0);
  Tensor grad_input, grad_weight, grad_bias;
  const auto part = [&](const Tensor& grad_output, const Tensor& input, const Tensor& weight, int64_t groups,
                        size_t wanted) {
    Stack arguments = call.arguments();
    arguments[0] = IValue(grad_output);
    arguments[1] = IValue(input);
    arguments[2] = IValue(weight);
    arguments[3] = IValue();
    arguments[9] = IValue(groups);
    arguments[10] = IValue(std::vector<bool>{wanted == 0, wanted == 1, false});
    call.run(call.op(), std::move(arguments));
    return call.results[wanted].toTensor();
  };
  const int64_t groups = call[9].toInt();
  if (mask[0] && !call.batched(2)) {
    const Tensor all = part(first_two(grad), first_two(call.every_sample(1)), call.tensor(2), groups, 0);
    grad_input = at::unflatten(all, 0, {batch, grad.size(1)});
  }
  if ((mask[0] && call.batched(2)) || mask[1]) {
    const Tensor g = channels_of_all(grad), x = channels_of_all(call.every_sample(1)),
                 w = first_two(call.every_sample(2));
    if (mask[0] && call.batched(2)) grad_input = samples_of_channels(part(g, x, w, groups * batch, 0), batch);
    if (mask[1]) grad_weight = at::unflatten(part(g, x, w, groups * batch, 1), 0, {batch, call.sizes(2)[0]});
  }
  if (mask[2]) {
    std::vector<int64_t> dims{1};
    for (int64_t d = 3; d < grad.dim(); ++d) dims.push_back(d);
    grad_bias = at::sum(grad, dims);
  }
  call.results = {IValue(grad_input), IValue(grad_weight), IValue(grad_bias)};
}

// --- linear systems ---

// Batches of matrices, whose dimensions in front broadcast. Pivots and factors of reflectors are vectors.
void linalg_pair(BatchedCall& call) {
  const auto is_vector = [&](size_t i) {
    return call.schema().arguments()[i].name() == "pivots" || (i == 1 && call.schema().base_name() == "ormqr");
  };
  int64_t rank = 0;
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.is_tensor(i)) rank = std::max(rank, call.rank(i) + (is_vector(i) ? 1 : 0));
  }
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.is_tensor(i)) call.set(i, IValue(call.padded(call.every_sample(i), true, rank - (is_vector(i) ? 1 : 0))));
  }
  call.run();
}

// _linalg_solve_ex(A, B): B may be a vector, or a batch of vectors.
void linalg_solve(BatchedCall& call) {
  const int64_t a = call.rank(0), b = call.rank(1);
  const bool vectors = b == 1 || (b == a - 1 && call.sizes(1) == call.sizes(0).slice(0, static_cast<size_t>(a - 1)));
  if (!vectors) return linalg_pair(call);
  call.set(0, IValue(call.every_sample(0)));
  call.set(1, IValue(at::unsqueeze(call.padded(call.every_sample(1), true, a - 1), -1)));
  call.run();
  call.results[0] = IValue(at::squeeze(call.results[0].toTensor(), -1));
}

// What went wrong with the matrices of all samples.
void linalg_check_errors(BatchedCall& call) {
  call.run();
}

constexpr NamedRule kRules[] = {
    {"linalg_check_errors", &linalg_check_errors},
    {"mm", &mm},
    {"bmm", &bmm},
    {"mv", &mv},
    {"dot", &dot},
    {"vdot", &vdot},
    {"addmm", &addmm},
    {"addmv", &addmv},
    {"baddbmm", &baddbmm},
    {"addbmm", &addbmm},
    {"linear", &linear},
    {"convolution", &convolution},
    {"convolution_backward", &convolution_backward},
    {"linalg_pair", &linalg_pair},
    {"linalg_solve", &linalg_solve},
};

}  // namespace

c10::ArrayRef<NamedRule> product_rules() {
  return kRules;
}

}  // namespace torch::func::detail
