#pragma once

#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/thread_state.h"

// What the kernels of the autocast layer are made of; programs use aten/autocast/autocast_mode.h.
namespace at::autocast {

/// One call in an autocast region of `device`: the type its tensors are cast to. While it lives, calls skip that
/// region.
class Casts {
 public:
  /// To the region's type; casts of weights are kept (cached_cast).
  static Casts lower_precision(DeviceType device);
  static Casts to_float(DeviceType device) { return Casts(device, kFloat); }
  /// To the widest type among the tensors that autocast would cast: the region's, or Float. Throws c10::Error for Half
  /// in a region of BFloat16 and the other way round.
  template <class... T>
  static Casts widest(DeviceType device, const T&... tensors) {
    Widest widest(device);
    (widest.add(tensors), ...);
    return Casts(device, widest.type);
  }

  Casts(const Casts&) = delete;
  Casts& operator=(const Casts&) = delete;

  Tensor operator()(const Tensor& t) const;
  std::optional<Tensor> operator()(const std::optional<Tensor>& t) const;
  std::vector<Tensor> operator()(TensorList tensors) const;

  /// The type, where `first` is a tensor that autocast would cast; else the tensor's own, as it is or as `given`.
  ScalarType type_for(const Tensor& first) const;
  std::optional<ScalarType> or_type(std::optional<ScalarType> given, const Tensor& first) const;

 private:
  struct Widest {
    explicit Widest(DeviceType of);
    void add(const Tensor& t);
    void add(const std::optional<Tensor>& t);
    void add(TensorList tensors);
    DeviceType device;
    ScalarType type;
  };

  Casts(DeviceType device, ScalarType type);

  c10::ExcludeDispatchKeyGuard below_;
  DeviceType device_;
  ScalarType type_;
};

[[noreturn]] void throw_banned(const char* op);

}  // namespace at::autocast
