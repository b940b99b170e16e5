#include "aten/ops/shared/draws.h"

#include <cmath>
#include <string_view>

#include "aten/core/overlap.h"
#include "aten/core/structured.h"

namespace at::native::random {

void Draws::uniforms(double* out, int64_t n) {
  constexpr int64_t kPiece = 256;
  uint32_t pairs[2 * kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = n - i < kPiece ? n - i : kPiece;
    words(pairs, 2 * m);
    for (int64_t k = 0; k < m; ++k) {
      const int64_t bits = static_cast<int64_t>(pairs[2 * k] & 0x1fffffu) << 32 | pairs[2 * k + 1];
      out[i + k] = static_cast<double>(bits) * 0x1p-53;
    }
  }
}

UniformStream::~UniformStream() {
  if (taken_ == kAhead) return;
  uint32_t words[2 * kAhead];
  before_.fill(words, static_cast<size_t>(2 * taken_));
  draws_.generator().set_engine(before_);
}

void UniformStream::refill() {
  before_ = draws_.generator().engine();
  draws_.uniforms(numbers_, kAhead);
  taken_ = 0;
}

double Draws::normal() {
  if (const std::optional<double> kept = impl_->next_double_normal_sample()) {
    impl_->set_next_double_normal_sample(std::nullopt);
    return *kept;
  }
  const double u1 = uniform(), u2 = uniform();
  const double radius = std::sqrt(-2.0 * std::log(1.0 - u2));
  const double angle = 2.0 * 3.14159265358979323846 * u1;
  impl_->set_next_double_normal_sample(radius * std::sin(angle));
  return radius * std::cos(angle);
}

Tensor& sized(const char* op, IntArrayRef size, Tensor& out) {
  TORCH_CHECK(out.defined(), op, "(): the output is an undefined tensor");
  structured::Target(op, out, {DimVector(size), {}, out.scalar_type(), out.device()}, structured::Overlap::kNone, false,
                     true);
  return out;
}

FillTarget::FillTarget(const Tensor& self) : operand(pointwise::operand_of(self)), dtype(self.scalar_type()) {
  if (!self.is_complex()) return;
  dtype = toRealValueType(dtype);
  sizes = DimVector(self.sizes().begin(), self.sizes().end());
  for (int64_t s : self.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  operand = {operand.data, sizes.data(), strides.data(), self.dim() + 1, operand.item_size / 2};
}

void check_target(const char* op, const Tensor& self) {
  const ScalarType type = self.scalar_type();
  const bool is_unsigned = isBarebonesUnsignedType(type) && std::string_view(op) == "random_";
  TORCH_CHECK_NOT_IMPLEMENTED(is_unsigned || (isIntegralType(type, true) && !isBarebonesUnsignedType(type)) ||
                                  type == kHalf || type == kBFloat16 || type == kFloat || type == kDouble ||
                                  type == kComplexFloat || type == kComplexDouble,
                              "\"", op, "\" not implemented for '", type, "'");
  structured::check_no_internal_overlap(self);
}

}  // namespace at::native::random
