#include "aten/cpu/matrix/attention.h"

#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "aten/cpu/matrix/attention_dropout.h"
#include "aten/cpu/matrix/attention_rows.h"
#include "aten/cpu/matrix/internal.h"
#include "aten/cpu/matrix/packed.h"
#include "c10/parallel/parallel.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"

namespace at::matrix {
namespace {

using internal::Scratch;

constexpr int64_t kQueryBlock = 64;
constexpr int64_t kKeyBlock = 256;

bool keeps(uint64_t row, double dropout, int64_t key) {
  return static_cast<double>(attention_draw(row, key)) * 0x1p-53 >= dropout;
}

// A matrix of one head: rows of a HeadTensor.
template <class S>
struct Rows {
  S* data;
  int64_t row, col;
  Rows(const HeadTensor& t, int64_t batch, int64_t head) : data(static_cast<S*>(t.data)), row(t.row), col(t.col) {
    if (data != nullptr) data += batch * t.batch + head * t.head;  // null: it has no elements
  }
  Rows(S* p, int64_t r) : data(p), row(r), col(1) {}
  Rows from(int64_t i) const {
    Rows r = *this;
    if (data != nullptr) r.data += i * row;
    return r;
  }
};

template <class T>
constexpr Type kTypeOf = sizeof(T) == 8 ? Type::kFloat64 : Type::kFloat32;

// C = alpha A B + beta C; transposed operands by exchanged strides.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, double alpha, const T* a, int64_t a_row, int64_t a_col, const T* b,
              int64_t b_row, int64_t b_col, bool accumulate, T* c, int64_t c_row, int64_t c_col = 1) {
  Gemm g;
  g.type = kTypeOf<T>;
  g.m = m, g.n = n, g.k = k;
  g.a = {a, a_row, a_col, {0, 0}};
  g.b = {b, b_row, b_col, {0, 0}};
  g.c = c, g.c_row = c_row, g.c_col = c_col;
  if (accumulate) g.add = {c, c_row, c_col, {0, 0}};
  g.alpha = Factor(alpha);
  gemm(g);
}

// `count` rows in T: the rows themselves where S is T, else a converted copy in `space`.
template <class S, class T>
Rows<const T> computed(const Rows<const S>& r, int64_t count, int64_t cols, T* space) {
  if constexpr (sizeof(S) == sizeof(T)) {
    Rows<const T> same(r.data, r.row);
    same.col = r.col;
    return same;
  } else {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < cols; ++j) space[i * cols + j] = static_cast<T>(static_cast<float>(r.data[i * r.row + j * r.col]));
    return Rows<const T>(space, cols);
  }
}

// Scores of a block of queries and keys are masked.
template <class S, class T>
void mask_scores(const Attention& a, int64_t batch, int64_t head, int64_t q0, int64_t rows, int64_t k0, int64_t cols,
                 T* s) {
  const T minus_infinity = -std::numeric_limits<T>::infinity();
  if (a.mask_kind != MaskKind::kNone) {
    const int64_t first = batch * a.mask.batch + head * a.mask.head + q0 * a.mask.row + k0 * a.mask.col;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        const int64_t at = first + i * a.mask.row + j * a.mask.col;
        T& x = s[i * cols + j];
        if (a.mask_kind == MaskKind::kBoolean) {
          if (!static_cast<const uint8_t*>(a.mask.data)[at]) x = minus_infinity;
        } else if constexpr (sizeof(S) == sizeof(T)) {
          x += static_cast<const T*>(a.mask.data)[at];
        } else {
          x += static_cast<float>(static_cast<const S*>(a.mask.data)[at]);
        }
      }
    }
  }
  if (a.causal && k0 + cols > q0 + 1) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = q0 + i + 1 > k0 ? q0 + i + 1 - k0 : 0; j < cols; ++j) s[i * cols + j] = minus_infinity;
  }
}

template <class T>
void drop(const Attention& a, int64_t head_number, int64_t q0, int64_t rows, int64_t k0, int64_t cols, T* weights) {
  const T kept = a.dropout < 1 ? static_cast<T>(1 / (1 - a.dropout)) : T(0);
  for (int64_t i = 0; i < rows; ++i) {
    const uint64_t row = attention_row_seed(a.seed, head_number, q0 + i);
    for (int64_t j = 0; j < cols; ++j)
      weights[i * cols + j] = keeps(row, a.dropout, k0 + j) ? weights[i * cols + j] * kept : T(0);
  }
}

// How many keys any query of [q0, q0 + rows) sees.
int64_t visible_keys(const Attention& a, int64_t q0, int64_t rows) {
  return a.causal && q0 + rows < a.keys ? q0 + rows : a.keys;
}

// The right side of products, B[k, n]. Where several blocks of queries meet it, it is laid out once.
template <class T>
class Right {
 public:
  Right(int64_t n, int64_t k, const T* b, int64_t row, int64_t col, bool lay_out) : b_{b, row, col, {0, 0}} {
    if (lay_out) packed_.emplace(kTypeOf<T>, n, k, b_);
  }
  // C[m, n] = alpha A[m, k] B, or that added to C, with the first n columns and k rows of B.
  void multiply(int64_t m, int64_t n, int64_t k, double alpha, const T* a, int64_t a_row, int64_t a_col,
                bool accumulate, T* c, int64_t c_row) const {
    if (packed_.has_value()) {
      packed_->multiply_part(m, n, k, {a, a_row, a_col, {0, 0}}, c, c_row, accumulate ? c : nullptr, c_row, alpha);
    } else {
      at::matrix::multiply<T>(m, n, k, alpha, a, a_row, a_col, static_cast<const T*>(b_.data), b_.row, b_.col,
                              accumulate, c, c_row);
    }
  }

 private:
  Operand b_;
  std::optional<PackedMatrix> packed_;
};

// The keys of a block, transposed, and its values, in T; what is converted and not laid out lies in the spaces.
template <class T>
struct KeyBlock {
  template <class S>
  KeyBlock(const Attention& a, const Rows<const S>& keys, const Rows<const S>& values, int64_t count, bool lay_out,
           T* key_space, T* value_space)
      : KeyBlock(a, computed<S, T>(keys, count, a.width, key_space),
                 computed<S, T>(values, count, a.value_width, value_space), count, lay_out) {}
  KeyBlock(const Attention& a, const Rows<const T>& keys, const Rows<const T>& values, int64_t count, bool lay_out)
      : key(count, a.width, keys.data, keys.col, keys.row, lay_out),
        value(a.value_width, count, values.data, values.row, values.col, lay_out) {}

  Right<T> key, value;
};

// Whether more than one block of queries meets the same keys.
bool meets_often(const Attention& a) {
  return a.heads / a.key_heads * a.queries > kQueryBlock && a.width > 0 && a.value_width > 0;
}

// `near`: the blocks of this head's keys, or none.
template <class S, class T>
void forward_block(const Attention& a, int64_t batch, int64_t head, int64_t q0, const std::deque<KeyBlock<T>>& near,
                   const HeadTensor& out, T* log_sum, T* space) {
  const int64_t rows = a.queries - q0 < kQueryBlock ? a.queries - q0 : kQueryBlock;
  const int64_t key_head = head / (a.heads / a.key_heads);
  T* s = space;
  T* result = s + kQueryBlock * kKeyBlock;
  T* query_space = result + kQueryBlock * a.value_width;
  T* key_space = query_space + kQueryBlock * a.width;
  T* value_space = key_space + kKeyBlock * a.width;
  T max[kQueryBlock], sum[kQueryBlock], correction[kQueryBlock];
  for (int64_t i = 0; i < rows; ++i) max[i] = -std::numeric_limits<T>::infinity(), sum[i] = 0;

  const Rows<const T> query = computed<S, T>(Rows<const S>(a.query, batch, head).from(q0), rows, a.width, query_space);
  const Rows<const S> keys(a.key, batch, key_head), values(a.value, batch, key_head);
  const int64_t visible = visible_keys(a, q0, rows);
  for (int64_t k0 = 0; k0 < visible; k0 += kKeyBlock) {
    const int64_t cols = visible - k0 < kKeyBlock ? visible - k0 : kKeyBlock;
    std::optional<KeyBlock<T>> own;
    if (near.empty()) own.emplace(a, keys.from(k0), values.from(k0), cols, false, key_space, value_space);
    const KeyBlock<T>& block = near.empty() ? *own : near[static_cast<size_t>(k0 / kKeyBlock)];
    block.key.multiply(rows, cols, a.width, a.scale, query.data, query.row, query.col, false, s, cols);
    mask_scores<S, T>(a, batch, head, q0, rows, k0, cols, s);
    internal::softmax_step<T>(s, rows, cols, cols, max, sum, correction);
    if (a.dropout > 0) drop(a, batch * a.heads + head, q0, rows, k0, cols, s);
    if (k0 > 0) internal::scale_rows<T>(result, rows, a.value_width, a.value_width, correction);
    block.value.multiply(rows, a.value_width, cols, 1, s, cols, 1, k0 > 0, result, a.value_width);
  }
  const Rows<S> to = Rows<S>(out, batch, head).from(q0);
  for (int64_t i = 0; i < rows; ++i) {
    const bool sees = sum[i] != 0;  // true for NaN, which must show
    const T factor = sees ? 1 / sum[i] : T(0);
    if (log_sum != nullptr)
      log_sum[q0 + i] = sees ? max[i] + std::log(sum[i]) : std::numeric_limits<T>::infinity();
    for (int64_t j = 0; j < a.value_width; ++j)
      to.data[i * to.row + j * to.col] = sees && visible > 0 ? static_cast<S>(result[i * a.value_width + j] * factor) : S(0);
  }
}

template <class S, class T>
void forward(const Attention& a, const HeadTensor& out, void* log_sum) {
  const int64_t blocks = at::divup(a.queries, kQueryBlock), group = a.heads / a.key_heads;
  const int64_t total = a.batch * a.heads * blocks;
  const int64_t space = kQueryBlock * (kKeyBlock + a.value_width + a.width) + kKeyBlock * (a.width + a.value_width);
  const bool lay_out = meets_often(a);
  at::parallel_for(0, total, 1, [&](int64_t begin, int64_t end) {
    Scratch scratch(static_cast<size_t>(space) * sizeof(T));
    std::deque<KeyBlock<T>> near;
    int64_t near_head = -1;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t number = i / blocks, batch = number / a.heads, head = number % a.heads, key_head = number / group;
      if (lay_out && key_head != near_head) {
        near.clear();
        const Rows<const S> keys(a.key, batch, head / group), values(a.value, batch, head / group);
        for (int64_t k0 = 0; k0 < a.keys; k0 += kKeyBlock) {
          near.emplace_back(a, keys.from(k0), values.from(k0), a.keys - k0 < kKeyBlock ? a.keys - k0 : kKeyBlock, true,
                            scratch.as<T>(), scratch.as<T>() + kKeyBlock * a.width);
        }
        near_head = key_head;
      }
      // Causal blocks grow along the queries: long and short ones in turn, so that every thread gets both.
      const int64_t place = i % blocks, block = !a.causal ? place : place % 2 == 0 ? place / 2 : blocks - 1 - place / 2;
      T* row_sums = log_sum == nullptr ? nullptr : static_cast<T*>(log_sum) + number * a.queries;
      forward_block<S, T>(a, batch, head, block * kQueryBlock, near, out, row_sums, scratch.as<T>());
    }
  });
}

// Gradients of one key head and the query heads that share it.
template <class S, class T>
void backward_head(const Attention& a, int64_t batch, int64_t key_head, const HeadTensor& grad_out, const HeadTensor& out,
                   const T* log_sum, const HeadTensor& grad_query, const HeadTensor& grad_key, const HeadTensor& grad_value) {
  const int64_t group = a.heads / a.key_heads;
  const size_t weights = kQueryBlock * kKeyBlock;
  const size_t query_block = static_cast<size_t>(kQueryBlock * (a.width + a.value_width));
  const size_t key_block = static_cast<size_t>(kKeyBlock * (a.width + a.value_width));
  const size_t all_queries = static_cast<size_t>(group * a.queries);
  Scratch scratch(sizeof(T) * (2 * weights + query_block + 2 * key_block + all_queries * static_cast<size_t>(a.width + 1)));
  T* s = scratch.as<T>();
  T* ds = s + weights;
  T* query_space = ds + weights;
  T* grad_out_space = query_space + kQueryBlock * a.width;
  T* key_space = grad_out_space + kQueryBlock * a.value_width;
  T* value_space = key_space + kKeyBlock * a.width;
  T* key_sum = value_space + kKeyBlock * a.value_width;
  T* value_sum = key_sum + kKeyBlock * a.width;
  T* query_sum = value_sum + kKeyBlock * a.value_width;
  T* shift = query_sum + all_queries * static_cast<size_t>(a.width);

  // The inner product of gradient and result of each query: what the softmax's gradient subtracts.
  for (int64_t g = 0; g < group; ++g) {
    const Rows<const S> x(grad_out, batch, key_head * group + g), y(out, batch, key_head * group + g);
    for (int64_t i = 0; i < a.queries; ++i) {
      T sum = 0;
      for (int64_t j = 0; j < a.value_width; ++j)
        sum += static_cast<T>(x.data[i * x.row + j * x.col]) * static_cast<T>(y.data[i * y.row + j * y.col]);
      shift[g * a.queries + i] = sum;
    }
  }
  for (size_t i = 0; i < all_queries * static_cast<size_t>(a.width); ++i) query_sum[i] = 0;

  const bool lay_out = meets_often(a);
  const Rows<const S> keys(a.key, batch, key_head), values(a.value, batch, key_head);
  const Rows<S> key_grads(grad_key, batch, key_head), value_grads(grad_value, batch, key_head);
  for (int64_t k0 = 0; k0 < a.keys; k0 += kKeyBlock) {
    const int64_t all_cols = a.keys - k0 < kKeyBlock ? a.keys - k0 : kKeyBlock;
    const Rows<const T> key = computed<S, T>(keys.from(k0), all_cols, a.width, key_space);
    const Rows<const T> value = computed<S, T>(values.from(k0), all_cols, a.value_width, value_space);
    const Right<T> key_turned(all_cols, a.width, key.data, key.col, key.row, lay_out);
    const Right<T> value_turned(all_cols, a.value_width, value.data, value.col, value.row, lay_out);
    const Right<T> key_right(a.width, all_cols, key.data, key.row, key.col, lay_out);
    for (int64_t i = 0; i < all_cols * a.width; ++i) key_sum[i] = 0;
    for (int64_t i = 0; i < all_cols * a.value_width; ++i) value_sum[i] = 0;
    for (int64_t g = 0; g < group; ++g) {
      const int64_t head = key_head * group + g, number = batch * a.heads + head;
      const Rows<const S> queries(a.query, batch, head), grads(grad_out, batch, head);
      for (int64_t q0 = 0; q0 < a.queries; q0 += kQueryBlock) {
        const int64_t rows = a.queries - q0 < kQueryBlock ? a.queries - q0 : kQueryBlock;
        const int64_t seen = visible_keys(a, q0, rows) - k0;
        if (seen <= 0) continue;
        const int64_t cols = seen < all_cols ? seen : all_cols;
        const Rows<const T> query = computed<S, T>(queries.from(q0), rows, a.width, query_space);
        const Rows<const T> grad = computed<S, T>(grads.from(q0), rows, a.value_width, grad_out_space);
        key_turned.multiply(rows, cols, a.width, a.scale, query.data, query.row, query.col, false, s, cols);
        mask_scores<S, T>(a, batch, head, q0, rows, k0, cols, s);
        internal::exp_rows<T>(s, rows, cols, cols, log_sum + number * a.queries + q0);
        value_turned.multiply(rows, cols, a.value_width, 1, grad.data, grad.row, grad.col, false, ds, cols);
        if (a.dropout > 0) drop(a, number, q0, rows, k0, cols, ds);
        internal::softmax_gradient<T>(ds, s, rows, cols, cols, shift + g * a.queries + q0, static_cast<T>(a.scale));
        if (a.dropout > 0) drop(a, number, q0, rows, k0, cols, s);
        multiply<T>(cols, a.value_width, rows, 1, s, 1, cols, grad.data, grad.row, grad.col, true, value_sum, a.value_width);
        multiply<T>(cols, a.width, rows, 1, ds, 1, cols, query.data, query.row, query.col, true, key_sum, a.width);
        key_right.multiply(rows, a.width, cols, 1, ds, cols, 1, true, query_sum + (g * a.queries + q0) * a.width,
                           a.width);
      }
    }
    for (int64_t i = 0; i < all_cols; ++i) {
      for (int64_t j = 0; j < a.width; ++j)
        key_grads.data[(k0 + i) * key_grads.row + j * key_grads.col] = static_cast<S>(key_sum[i * a.width + j]);
      for (int64_t j = 0; j < a.value_width; ++j)
        value_grads.data[(k0 + i) * value_grads.row + j * value_grads.col] = static_cast<S>(value_sum[i * a.value_width + j]);
    }
  }
  for (int64_t g = 0; g < group; ++g) {
    const Rows<S> to(grad_query, batch, key_head * group + g);
    for (int64_t i = 0; i < a.queries; ++i)
      for (int64_t j = 0; j < a.width; ++j)
        to.data[i * to.row + j * to.col] = static_cast<S>(query_sum[(g * a.queries + i) * a.width + j]);
  }
}

template <class S, class T>
void backward(const Attention& a, const HeadTensor& grad_out, const HeadTensor& out, const void* log_sum,
              const HeadTensor& grad_query, const HeadTensor& grad_key, const HeadTensor& grad_value) {
  at::parallel_for(0, a.batch * a.key_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      backward_head<S, T>(a, i / a.key_heads, i % a.key_heads, grad_out, out, static_cast<const T*>(log_sum), grad_query,
                          grad_key, grad_value);
  });
}

}  // namespace

bool attention_keeps(uint64_t seed, double dropout, int64_t head, int64_t query, int64_t key) {
  return keeps(attention_row_seed(seed, head, query), dropout, key);
}

void attention_forward(const Attention& a, const HeadTensor& out, void* log_sum) {
  if (a.batch == 0 || a.heads == 0 || a.queries == 0) return;
  switch (a.type) {
    case Type::kFloat64: return forward<double, double>(a, out, log_sum);
    case Type::kFloat16: return forward<c10::Half, float>(a, out, log_sum);
    case Type::kBFloat16: return forward<c10::BFloat16, float>(a, out, log_sum);
    default: return forward<float, float>(a, out, log_sum);
  }
}

void attention_backward(const Attention& a, const HeadTensor& grad_out, const HeadTensor& out, const void* log_sum,
                        const HeadTensor& grad_query, const HeadTensor& grad_key, const HeadTensor& grad_value) {
  if (a.batch == 0 || a.key_heads == 0) return;
  switch (a.type) {
    case Type::kFloat64: return backward<double, double>(a, grad_out, out, log_sum, grad_query, grad_key, grad_value);
    case Type::kFloat16: return backward<c10::Half, float>(a, grad_out, out, log_sum, grad_query, grad_key, grad_value);
    case Type::kBFloat16: return backward<c10::BFloat16, float>(a, grad_out, out, log_sum, grad_query, grad_key, grad_value);
    default: return backward<float, float>(a, grad_out, out, log_sum, grad_query, grad_key, grad_value);
  }
}

}  // namespace at::matrix
