// Sobol sequences of up to 21201 dimensions with the direction numbers of Joe & Kuo 2008, in Gray code order (Antonov &
// Saleev 1979). A state holds 30 direction numbers for each dimension, whose highest bit has the number 29.
#include <bit>
#include <cstdint>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/sobol_directions.h"

namespace at::native {
namespace {

constexpr int64_t kBits = 30;
constexpr int64_t kMostDimensions = 21201;

int degree_of(uint32_t polynomial) {
  return static_cast<int>(std::bit_width(polynomial)) - 1;
}

// The product of a and b modulo a polynomial over the field of two numbers.
uint32_t multiplied(uint32_t a, uint32_t b, uint32_t polynomial) {
  const int degree = degree_of(polynomial);
  uint32_t product = 0;
  for (; b != 0; b >>= 1) {
    if (b & 1) product ^= a;
    a <<= 1;
    if (a >> degree & 1) a ^= polynomial;
  }
  return product;
}

uint32_t power_of_x(uint32_t exponent, uint32_t polynomial) {
  uint32_t power = 1, base = degree_of(polynomial) == 1 ? 2 ^ polynomial : 2;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) power = multiplied(power, base, polynomial);
    base = multiplied(base, base, polynomial);
  }
  return power;
}

// Whether the powers of x are all other residues.
bool is_primitive(uint32_t polynomial) {
  const uint32_t order = (uint32_t{1} << degree_of(polynomial)) - 1;
  if (power_of_x(order, polynomial) != 1) return false;
  uint32_t rest = order;
  for (uint32_t factor = 2; rest > 1; ++factor) {
    if (factor * factor > rest) factor = rest;
    if (rest % factor != 0) continue;
    if (power_of_x(order / factor, polynomial) == 1) return false;
    while (rest % factor == 0) rest /= factor;
  }
  return true;
}

// The odd numbers m that a dimension's directions begin with, one dimension after the other: the first is 1, and of
// number k, counted from 0, k bits are stored, lowest first, which stand above its lowest one.
class FirstNumbers {
 public:
  uint32_t next(int k) {
    uint32_t m = 0;
    for (int bit = 0; bit < k; ++bit, ++at_) m |= uint32_t(kSobolDirections[at_ / 8] >> at_ % 8 & 1) << bit;
    return 2 * m + 1;
  }

 private:
  size_t at_ = 0;
};

void check_dimension(const char* op, int64_t dimension) {
  TORCH_CHECK(dimension >= 1 && dimension <= kMostDimensions, op, ": expected a dimension from 1 to ", kMostDimensions,
              ", but got ", dimension);
}

void check_state(const char* op, const Tensor& state, int64_t dimension) {
  check_dimension(op, dimension);
  TORCH_CHECK(state.scalar_type() == ScalarType::Long, op, ": expected a state of dtype Long, but got ",
              state.scalar_type());
  TORCH_CHECK(state.dim() == 2 && state.size(0) == dimension && state.size(1) == kBits, op,
              ": expected a state of size [", dimension, ", ", kBits, "], but got ", state.sizes());
}

void check_point(const char* op, const Tensor& quasi, const Tensor& state, int64_t n, int64_t dimension,
                 int64_t generated) {
  check_state(op, state, dimension);
  TORCH_CHECK(quasi.scalar_type() == ScalarType::Long, op, ": expected a point of dtype Long, but got ",
              quasi.scalar_type());
  TORCH_CHECK(quasi.dim() == 1 && quasi.size(0) == dimension, op, ": expected a point of size [", dimension,
              "], but got ", quasi.sizes());
  constexpr int64_t kMost = int64_t{1} << kBits;
  TORCH_CHECK(n >= 0 && generated >= 0 && n <= kMost && generated <= kMost - n - 1, op, ": expected fewer than ", kMost,
              " points together, but got ", n, " after ", generated);
}

// Writes `values` to a tensor of any strides.
void write(Tensor& to, const Tensor& values) {
  at::copy_(to, values);
}

// The next point of the sequence after `generated` of them.
void advance(int64_t* point, const int64_t* directions, int64_t dimension, int64_t generated) {
  const int bit = std::countr_one(static_cast<uint64_t>(generated));
  for (int64_t d = 0; d < dimension; ++d) point[d] ^= directions[d * kBits + bit];
}

}  // namespace

Tensor& sobol_engine_initialize_state_meta_(Tensor& self, int64_t dimension) {
  check_state("_sobol_engine_initialize_state_", self, dimension);
  return self;
}
Tensor& sobol_engine_initialize_state_(Tensor& self, int64_t dimension) {
  sobol_engine_initialize_state_meta_(self, dimension);
  const Tensor state = empty_contiguous({dimension, kBits}, ScalarType::Long);
  int64_t* row = state.data_ptr<int64_t>();
  for (int64_t k = 0; k < kBits; ++k) row[k] = int64_t{1} << (kBits - 1 - k);
  FirstNumbers numbers;
  uint32_t polynomial = 3;
  for (int64_t d = 1; d < dimension; ++d, polynomial += 2) {
    while (!is_primitive(polynomial)) polynomial += 2;
    row += kBits;
    const int degree = degree_of(polynomial);
    int64_t m[kBits];
    for (int k = 0; k < kBits; ++k) {
      if (k < degree) {
        m[k] = numbers.next(k);
        continue;
      }
      m[k] = m[k - degree] ^ m[k - degree] << degree;
      for (int i = 1; i < degree; ++i) {
        if (polynomial >> (degree - i) & 1) m[k] ^= m[k - i] << i;
      }
    }
    for (int k = 0; k < kBits; ++k) row[k] = m[k] << (kBits - 1 - k);
  }
  write(self, state);
  return self;
}

// Each direction becomes its product with a lower triangular matrix of bits, whose rows have the highest bit first.
Tensor& sobol_engine_scramble_meta_(Tensor& self, const Tensor& ltm, int64_t dimension) {
  constexpr const char* kOp = "_sobol_engine_scramble_";
  check_state(kOp, self, dimension);
  TORCH_CHECK(ltm.scalar_type() == ScalarType::Long && ltm.dim() == 3 && ltm.size(0) == dimension &&
                  ltm.size(1) == kBits && ltm.size(2) == kBits,
              kOp, ": expected matrices of dtype Long and size [", dimension, ", ", kBits, ", ", kBits, "], but got ",
              ltm.scalar_type(), " and ", ltm.sizes());
  return self;
}
Tensor& sobol_engine_scramble_(Tensor& self, const Tensor& ltm, int64_t dimension) {
  sobol_engine_scramble_meta_(self, ltm, dimension);
  const Tensor state = at::clone(dense(self)), matrices = dense(ltm);
  int64_t* directions = state.data_ptr<int64_t>();
  const int64_t* bits = matrices.const_data_ptr<int64_t>();
  for (int64_t d = 0; d < dimension; ++d, directions += kBits) {
    uint64_t rows[kBits];
    for (uint64_t& row : rows) {
      row = 0;
      for (int64_t k = 0; k < kBits; ++k) row = row << 1 | (*bits++ != 0);
    }
    for (int64_t k = 0; k < kBits; ++k) {
      uint64_t scrambled = 0;
      for (uint64_t row : rows) {
        scrambled = scrambled << 1 | (std::popcount(row & static_cast<uint64_t>(directions[k])) & 1);
      }
      directions[k] = static_cast<int64_t>(scrambled);
    }
  }
  write(self, state);
  return self;
}

Tensor& sobol_engine_ff_meta_(Tensor& self, int64_t n, const Tensor& sobolstate, int64_t dimension,
                              int64_t num_generated) {
  check_point("_sobol_engine_ff_", self, sobolstate, n, dimension, num_generated);
  return self;
}
Tensor& sobol_engine_ff_(Tensor& self, int64_t n, const Tensor& sobolstate, int64_t dimension, int64_t num_generated) {
  sobol_engine_ff_meta_(self, n, sobolstate, dimension, num_generated);
  const Tensor point = at::clone(dense(self)), state = dense(sobolstate);
  for (int64_t i = 0; i < n; ++i) {
    advance(point.data_ptr<int64_t>(), state.const_data_ptr<int64_t>(), dimension, num_generated + i);
  }
  write(self, point);
  return self;
}

std::tuple<Tensor, Tensor> sobol_engine_draw_meta(const Tensor& quasi, int64_t n, const Tensor& sobolstate,
                                                  int64_t dimension, int64_t num_generated,
                                                  std::optional<ScalarType> dtype) {
  check_point("_sobol_engine_draw", quasi, sobolstate, n, dimension, num_generated);
  const ScalarType type = dtype.value_or(ScalarType::Float);
  TORCH_CHECK_NOT_IMPLEMENTED(type == ScalarType::Float || type == ScalarType::Double,
                              "\"_sobol_engine_draw\" not implemented for '", type, "'");
  return {empty_contiguous({n, dimension}, type, quasi.device()),
          empty_contiguous({dimension}, ScalarType::Long, quasi.device())};
}

// The next n points, in [0, 1), and the last one as an integer.
std::tuple<Tensor, Tensor> sobol_engine_draw(const Tensor& quasi, int64_t n, const Tensor& sobolstate,
                                             int64_t dimension, int64_t num_generated,
                                             std::optional<ScalarType> dtype) {
  auto [points, point] = sobol_engine_draw_meta(quasi, n, sobolstate, dimension, num_generated, dtype);
  at::copy_(point, quasi);
  const Tensor state = dense(sobolstate), numbers = empty_contiguous({n, dimension}, ScalarType::Double);
  int64_t* now = point.data_ptr<int64_t>();
  double* to = numbers.data_ptr<double>();
  for (int64_t i = 0; i < n; ++i) {
    advance(now, state.const_data_ptr<int64_t>(), dimension, num_generated + i);
    for (int64_t d = 0; d < dimension; ++d) *to++ = static_cast<double>(now[d]) * 0x1p-30;
  }
  at::copy_(points, numbers);
  return {points, point};
}

}  // namespace at::native
