#include "c10/dispatch/operator.h"

#include <string>
#include <string_view>

#include "c10/util/exception.h"

namespace c10::detail {

void missing_implementation(const OperatorBase& op, uint32_t keys) {
  const uint32_t layers = keys & kLayerMask & ~op.passed_layers & ~thread_state().excluded.raw();
  const DispatchKey key = layers != 0                   ? DispatchKeySet::from_raw(layers).highest()
                          : (keys & kBackendKeys.raw()) ? (DispatchKeySet::from_raw(keys) & kBackendKeys).highest()
                                                        : DispatchKey::CPU;
  switch (key) {
    case DispatchKey::Autograd:
      if (op.is_out) {
        const std::string_view name(op.name);
        C10_THROW_ERROR(Error, std::string(name.substr(0, name.find('.'))) +
                                   "(): functions with out=... arguments don't support automatic differentiation, but one "
                                   "of the arguments requires grad.");
      }
      C10_THROW_ERROR(NotImplementedError,
                      std::string(op.name) + ": an input requires a gradient, but no derivative is linked; add //autograd");
    case DispatchKey::CUDA:
      C10_THROW_ERROR(NotImplementedError, std::string(op.name) + ": no kernel for CUDA tensors is linked; add //aten/ops/" +
                                               op.family + ":cuda, built with --config=cuda");
    default:
      C10_THROW_ERROR(NotImplementedError,
                      std::string(op.name) + " (//aten/ops/" + op.family + ") has no kernel for the " + toString(key) + " backend");
  }
}

}  // namespace c10::detail
