#include "nn/layers/upsampling.h"

#include <string>

#include "nn/functional/upsampling.h"

namespace torch::nn {
namespace {

template <typename Options>
std::string text_of(const char* name, const Options& options, const std::string& mode) {
  std::string what = options.scale_factor().has_value()
                         ? c10::str("scale_factor=", at::ArrayRef<double>(*options.scale_factor()))
                     : options.size().has_value() ? c10::str("size=", at::IntArrayRef(*options.size()))
                                                  : std::string("size=None");
  return c10::str("torch::nn::", name, "(", what, ", mode=", mode, ")");
}

}  // namespace

at::Tensor UpsampleImpl::forward(const at::Tensor& input) {
  return functional::upsample(input, options);
}
void UpsampleImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, text_of("Upsample", options, enumtype::get_enum_name(options.mode())));
}

at::Tensor UpsamplingNearest2dImpl::forward(const at::Tensor& input) {
  return functional::upsample_nearest(input, options);
}
void UpsamplingNearest2dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, text_of("UpsamplingNearest2d", options, "kNearest"));
}

at::Tensor UpsamplingBilinear2dImpl::forward(const at::Tensor& input) {
  return functional::upsample_bilinear(input, options);
}
void UpsamplingBilinear2dImpl::pretty_print(std::ostream& stream) const {
  detail::put_text(stream, text_of("UpsamplingBilinear2d", options, "kBilinear"));
}

template class Cloneable<UpsampleImpl>;
template class Cloneable<UpsamplingNearest2dImpl>;
template class Cloneable<UpsamplingBilinear2dImpl>;

}  // namespace torch::nn
