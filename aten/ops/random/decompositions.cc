#include "aten/ops/random/decompositions.h"

#include <utility>

#include "aten/ops/binary/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/shared/decomposing.h"

namespace at::decompositions {
namespace {

// Evenly from [0, 1), of self's sizes; in double where that is self's dtype.
Tensor uniform(const Tensor& self, std::optional<Generator> generator) {
  const TensorOptions options =
      self.options().dtype(self.scalar_type() == ScalarType::Double ? ScalarType::Double : ScalarType::Float);
  return generator.has_value() ? at::rand(self.sizes(), std::move(generator), options)
                               : at::rand(self.sizes(), options);
}

}  // namespace

// Probabilities outside [0, 1] count as the nearer end: what throws for them is the kernel, which reads them.
Tensor bernoulli(const Tensor& self, std::optional<Generator> generator) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"bernoulli\" not implemented for '", self.scalar_type(), "'");
  return cast(at::lt(uniform(self, std::move(generator)), self), self.scalar_type());
}
Tensor bernoulli(const Tensor& self, double p, std::optional<Generator> generator) {
  TORCH_CHECK(p >= 0 && p <= 1, "bernoulli(): expected a p from 0 to 1, but got ", p);
  return cast(at::lt(uniform(self, std::move(generator)), p), self.scalar_type());
}

}  // namespace at::decompositions
