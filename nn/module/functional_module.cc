#include "nn/module/functional_module.h"

namespace torch::nn {

void FunctionalImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, "torch::nn::Functional()");
}

template class Cloneable<FunctionalImpl>;

}  // namespace torch::nn
