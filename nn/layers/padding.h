// Padding layers: elements around the last one, two or three dimensions. `padding` is before and after, from the last
// dimension on; one number stands for all.
#pragma once

#include <iosfwd>

#include "nn/layers/options_layer.h"
#include "nn/options/padding.h"

namespace torch::nn {

namespace detail {

enum class PadKind { kConstant, kReflect, kReplicate, kCircular };
at::Tensor padded(const at::Tensor& input, c10::IntArrayRef padding, PadKind kind, double value = 0);
void print_padding(std::ostream& stream, const char* name, int dims, c10::IntArrayRef padding);

}  // namespace detail

template <size_t D, typename Derived>
class ReflectionPadImpl : public detail::OptionsLayer<Derived, ReflectionPadOptions<D>> {
 public:
  using detail::OptionsLayer<Derived, ReflectionPadOptions<D>>::OptionsLayer;
  ReflectionPadImpl(ExpandingArray<D * 2> padding) : detail::OptionsLayer<Derived, ReflectionPadOptions<D>>(padding) {}
  at::Tensor forward(const at::Tensor& input) {
    return detail::padded(input, *this->options.padding(), detail::PadKind::kReflect);
  }
  void pretty_print(std::ostream& stream) const override {
    detail::print_padding(stream, "ReflectionPad", D, *this->options.padding());
  }
};

// The input mirrored at its borders, which are not repeated.
class ReflectionPad1dImpl : public ReflectionPadImpl<1, ReflectionPad1dImpl> {
 public:
  using ReflectionPadImpl<1, ReflectionPad1dImpl>::ReflectionPadImpl;
};
TORCH_COMPILED_MODULE(ReflectionPad1d);

class ReflectionPad2dImpl : public ReflectionPadImpl<2, ReflectionPad2dImpl> {
 public:
  using ReflectionPadImpl<2, ReflectionPad2dImpl>::ReflectionPadImpl;
};
TORCH_COMPILED_MODULE(ReflectionPad2d);

class ReflectionPad3dImpl : public ReflectionPadImpl<3, ReflectionPad3dImpl> {
 public:
  using ReflectionPadImpl<3, ReflectionPad3dImpl>::ReflectionPadImpl;
};
TORCH_COMPILED_MODULE(ReflectionPad3d);

template <size_t D, typename Derived>
class ReplicationPadImpl : public detail::OptionsLayer<Derived, ReplicationPadOptions<D>> {
 public:
  using detail::OptionsLayer<Derived, ReplicationPadOptions<D>>::OptionsLayer;
  ReplicationPadImpl(ExpandingArray<D * 2> padding)
      : detail::OptionsLayer<Derived, ReplicationPadOptions<D>>(padding) {}
  at::Tensor forward(const at::Tensor& input) {
    return detail::padded(input, *this->options.padding(), detail::PadKind::kReplicate);
  }
  void pretty_print(std::ostream& stream) const override {
    detail::print_padding(stream, "ReplicationPad", D, *this->options.padding());
  }
};

// The border repeated.
class ReplicationPad1dImpl : public ReplicationPadImpl<1, ReplicationPad1dImpl> {
 public:
  using ReplicationPadImpl<1, ReplicationPad1dImpl>::ReplicationPadImpl;
};
TORCH_COMPILED_MODULE(ReplicationPad1d);

class ReplicationPad2dImpl : public ReplicationPadImpl<2, ReplicationPad2dImpl> {
 public:
  using ReplicationPadImpl<2, ReplicationPad2dImpl>::ReplicationPadImpl;
};
TORCH_COMPILED_MODULE(ReplicationPad2d);

class ReplicationPad3dImpl : public ReplicationPadImpl<3, ReplicationPad3dImpl> {
 public:
  using ReplicationPadImpl<3, ReplicationPad3dImpl>::ReplicationPadImpl;
};
TORCH_COMPILED_MODULE(ReplicationPad3d);

template <size_t D, typename Derived>
class CircularPadImpl : public detail::OptionsLayer<Derived, CircularPadOptions<D>> {
 public:
  using detail::OptionsLayer<Derived, CircularPadOptions<D>>::OptionsLayer;
  CircularPadImpl(ExpandingArray<D * 2> padding) : detail::OptionsLayer<Derived, CircularPadOptions<D>>(padding) {}
  at::Tensor forward(const at::Tensor& input) {
    return detail::padded(input, *this->options.padding(), detail::PadKind::kCircular);
  }
  void pretty_print(std::ostream& stream) const override {
    detail::print_padding(stream, "CircularPad", D, *this->options.padding());
  }
};

// The opposite end of the input.
class CircularPad1dImpl : public CircularPadImpl<1, CircularPad1dImpl> {
 public:
  using CircularPadImpl<1, CircularPad1dImpl>::CircularPadImpl;
};
TORCH_COMPILED_MODULE(CircularPad1d);

class CircularPad2dImpl : public CircularPadImpl<2, CircularPad2dImpl> {
 public:
  using CircularPadImpl<2, CircularPad2dImpl>::CircularPadImpl;
};
TORCH_COMPILED_MODULE(CircularPad2d);

class CircularPad3dImpl : public CircularPadImpl<3, CircularPad3dImpl> {
 public:
  using CircularPadImpl<3, CircularPad3dImpl>::CircularPadImpl;
};
TORCH_COMPILED_MODULE(CircularPad3d);

template <size_t D, typename Derived>
class ZeroPadImpl : public detail::OptionsLayer<Derived, ZeroPadOptions<D>> {
 public:
  using detail::OptionsLayer<Derived, ZeroPadOptions<D>>::OptionsLayer;
  ZeroPadImpl(ExpandingArray<D * 2> padding) : detail::OptionsLayer<Derived, ZeroPadOptions<D>>(padding) {}
  at::Tensor forward(const at::Tensor& input) {
    return detail::padded(input, *this->options.padding(), detail::PadKind::kConstant);
  }
  void pretty_print(std::ostream& stream) const override {
    detail::print_padding(stream, "ZeroPad", D, *this->options.padding());
  }
};

// Zeros.
class ZeroPad1dImpl : public ZeroPadImpl<1, ZeroPad1dImpl> {
 public:
  using ZeroPadImpl<1, ZeroPad1dImpl>::ZeroPadImpl;
};
TORCH_COMPILED_MODULE(ZeroPad1d);

class ZeroPad2dImpl : public ZeroPadImpl<2, ZeroPad2dImpl> {
 public:
  using ZeroPadImpl<2, ZeroPad2dImpl>::ZeroPadImpl;
};
TORCH_COMPILED_MODULE(ZeroPad2d);

class ZeroPad3dImpl : public ZeroPadImpl<3, ZeroPad3dImpl> {
 public:
  using ZeroPadImpl<3, ZeroPad3dImpl>::ZeroPadImpl;
};
TORCH_COMPILED_MODULE(ZeroPad3d);

template <size_t D, typename Derived>
class ConstantPadImpl : public detail::OptionsLayer<Derived, ConstantPadOptions<D>> {
 public:
  using detail::OptionsLayer<Derived, ConstantPadOptions<D>>::OptionsLayer;
  ConstantPadImpl(ExpandingArray<D * 2> padding, double value)
      : detail::OptionsLayer<Derived, ConstantPadOptions<D>>(padding, value) {}
  at::Tensor forward(const at::Tensor& input) {
    return detail::padded(input, *this->options.padding(), detail::PadKind::kConstant, this->options.value());
  }
  void pretty_print(std::ostream& stream) const override {
    detail::put_text(stream, c10::str("torch::nn::ConstantPad", D, "d(padding=", this->options.padding(),
                                      ", value=", this->options.value(), ")"));
  }
};

// A value.
class ConstantPad1dImpl : public ConstantPadImpl<1, ConstantPad1dImpl> {
 public:
  using ConstantPadImpl<1, ConstantPad1dImpl>::ConstantPadImpl;
};
TORCH_COMPILED_MODULE(ConstantPad1d);

class ConstantPad2dImpl : public ConstantPadImpl<2, ConstantPad2dImpl> {
 public:
  using ConstantPadImpl<2, ConstantPad2dImpl>::ConstantPadImpl;
};
TORCH_COMPILED_MODULE(ConstantPad2d);

class ConstantPad3dImpl : public ConstantPadImpl<3, ConstantPad3dImpl> {
 public:
  using ConstantPadImpl<3, ConstantPad3dImpl>::ConstantPadImpl;
};
TORCH_COMPILED_MODULE(ConstantPad3d);

}  // namespace torch::nn
