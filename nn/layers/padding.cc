#include "nn/layers/padding.h"

#include "nn/functional/padding.h"

namespace torch::nn::detail {

at::Tensor padded(const at::Tensor& input, c10::IntArrayRef padding, PadKind kind, double value) {
  functional::PadFuncOptions options(padding.vec());
  switch (kind) {
    case PadKind::kConstant:
      return functional::pad(input, options.value(value));
    case PadKind::kReflect:
      return functional::pad(input, options.mode(torch::kReflect));
    case PadKind::kReplicate:
      return functional::pad(input, options.mode(torch::kReplicate));
    case PadKind::kCircular:
      return functional::pad(input, options.mode(torch::kCircular));
  }
  return input;
}

void print_padding(std::ostream& stream, const char* name, int dims, c10::IntArrayRef padding) {
  put_text(stream, c10::str("torch::nn::", name, dims, "d(padding=", padding, ")"));
}

}  // namespace torch::nn::detail

namespace torch::nn {

template class Cloneable<ReflectionPad1dImpl>;
template class Cloneable<ReflectionPad2dImpl>;
template class Cloneable<ReflectionPad3dImpl>;
template class Cloneable<ReplicationPad1dImpl>;
template class Cloneable<ReplicationPad2dImpl>;
template class Cloneable<ReplicationPad3dImpl>;
template class Cloneable<CircularPad1dImpl>;
template class Cloneable<CircularPad2dImpl>;
template class Cloneable<CircularPad3dImpl>;
template class Cloneable<ZeroPad1dImpl>;
template class Cloneable<ZeroPad2dImpl>;
template class Cloneable<ZeroPad3dImpl>;
template class Cloneable<ConstantPad1dImpl>;
template class Cloneable<ConstantPad2dImpl>;
template class Cloneable<ConstantPad3dImpl>;

}  // namespace torch::nn
