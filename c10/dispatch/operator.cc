#include "c10/dispatch/operator.h"

#include <string_view>

#include "c10/util/exception.h"

namespace c10::detail {

void missing_implementation(const OperatorBase& op, uint32_t keys) {
  const uint32_t layers = keys & kLayerMask & ~op.passed_layers & ~thread_state().excluded.raw();
  const DispatchKey key = layers != 0                   ? DispatchKeySet::from_raw(layers).highest()
                          : (keys & kBackendKeys.raw()) ? (DispatchKeySet::from_raw(keys) & kBackendKeys).highest()
                                                        : DispatchKey::CPU;
  if (key == DispatchKey::Autograd && op.is_out) {
    const std::string_view name(op.name);
    TORCH_CHECK(false, name.substr(0, name.find('.')),
                "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
                "requires grad.");
  }
  TORCH_CHECK_NOT_IMPLEMENTED(key != DispatchKey::Autograd, op.name,
                              ": an input requires a gradient, but no derivative is linked; add //autograd");
  TORCH_CHECK_NOT_IMPLEMENTED(key != DispatchKey::ForwardAD, op.name,
                              ": an input has a tangent, but no forward-mode derivative is linked; add //autograd:forward_ad");
  TORCH_CHECK_NOT_IMPLEMENTED(key != DispatchKey::CUDA, op.name, ": no kernel for CUDA tensors is linked; add //aten/ops/",
                              op.family, ":cuda, built with --config=cuda");
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.name, " (//aten/ops/", op.family, ") has no kernel for the ", toString(key), " backend");
}

}  // namespace c10::detail
