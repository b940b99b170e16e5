#pragma once

#include <cstdint>

#include "c10/core/scalar_type.h"

// One step of an optimizer over a run of elements: parameter, gradient and state are read and written once. Raw pointers;
// every operand of a call has `n` contiguous elements of `dtype`, which is Float, Double, Half or BFloat16. 16-bit types are
// computed in float32. An element's result depends on that element only, not on where a run begins or ends, so a tensor may
// be cut into runs anywhere.

namespace at::cpu {

/// Stochastic gradient descent (Sutskever et al., 2013, with the learning rate outside of the velocity):
///   g = maximize ? -g : g, here and below
///   g += weight_decay * p;  buf = momentum * buf + (1 - dampening) * g  (buf = g in the first step)
///   g = nesterov ? g + momentum * buf : buf;  p -= lr * g
struct SgdStep {
  double lr = 0;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
  bool first = false;
};
/// `buf` is null without momentum.
void sgd_step(c10::ScalarType dtype, void* param, const void* grad, void* buf, int64_t n, const SgdStep& step);

/// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019: `decoupled`, p *= 1 - lr * weight_decay first):
///   g += weight_decay * p (not decoupled);  m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g^2
///   p -= lr / bias_correction1 * m / (sqrt(v) / sqrt(bias_correction2) + eps),  bias_correction = 1 - beta^t
/// AMSGrad (Reddi et al., 2018) puts the running maximum of v in v's place.
struct AdamStep {
  double lr = 0;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double weight_decay = 0;
  double bias_correction1 = 1;
  double bias_correction2 = 1;
  bool decoupled = false;
  bool maximize = false;
};
/// `max_v` is null without AMSGrad.
void adam_step(c10::ScalarType dtype, void* param, const void* grad, void* m, void* v, void* max_v, int64_t n, const AdamStep& step);

/// Adagrad (Duchi et al., 2011):  g += weight_decay * p;  sum += g^2;  p -= lr * g / (sqrt(sum) + eps)
struct AdagradStep {
  double lr = 0;
  double eps = 0;
  double weight_decay = 0;
  bool maximize = false;
};
void adagrad_step(c10::ScalarType dtype, void* param, const void* grad, void* sum, int64_t n, const AdagradStep& step);

/// RMSprop (Hinton; centred as in Graves, 2013):
///   g += weight_decay * p;  v = alpha * v + (1 - alpha) * g^2;  a = alpha * a + (1 - alpha) * g (centred)
///   d = sqrt(v - a^2) + eps;  buf = momentum * buf + g / d;  p -= lr * buf     (without momentum p -= lr * g / d)
struct RmspropStep {
  double lr = 0;
  double alpha = 0;
  double eps = 0;
  double weight_decay = 0;
  double momentum = 0;
  bool maximize = false;
};
/// `buf` is null without momentum, `average` unless centred.
void rmsprop_step(c10::ScalarType dtype, void* param, const void* grad, void* v, void* average, void* buf, int64_t n, const RmspropStep& step);

/// grad /= scale, which is how a loss that was multiplied by `scale` is undone.
void unscale_gradient(c10::ScalarType dtype, void* grad, int64_t n, double scale);
/// grad *= factor (as it is where the factor is 1). Whether all elements were finite before.
bool scale_gradient(c10::ScalarType dtype, void* grad, int64_t n, double factor);

}  // namespace at::cpu
