#include "c10/dispatch/operator.h"

#include <string>

#include "c10/util/exception.h"

namespace c10::detail {

void missing_implementation(const OperatorBase& op, uint32_t keys) {
  const uint32_t layers = keys & kLayerMask & ~op.passed_layers & ~thread_state().excluded.raw();
  const DispatchKey key = layers != 0                   ? DispatchKeySet::from_raw(layers).highest()
                          : (keys & kBackendKeys.raw()) ? (DispatchKeySet::from_raw(keys) & kBackendKeys).highest()
                                                        : DispatchKey::CPU;
  const std::string name(op.name);
  std::string message;
  if (key == DispatchKey::Autograd && op.is_out) {
    C10_THROW_ERROR(Error, name.substr(0, name.find('.')) +
                               "(): functions with out=... arguments don't support automatic differentiation, but one of the "
                               "arguments requires grad.");
  } else if (key == DispatchKey::Autograd) {
    message = name + ": an input requires a gradient, but no derivative is linked; add //autograd";
  } else if (key == DispatchKey::CUDA) {
    message = name + ": no kernel for CUDA tensors is linked; add //aten/ops/" + op.family + ":cuda, built with --config=cuda";
  } else {
    message = name + " (//aten/ops/" + op.family + ") has no kernel for the " + toString(key) + " backend";
  }
  C10_THROW_ERROR(NotImplementedError, message);
}

}  // namespace c10::detail
