// Random number generators: at::Generator is a counted handle of a c10::GeneratorImpl, which a device implements (the
// CPU's is at::CPUGeneratorImpl in c10/core/cpu_generator.h).
//
//   auto gen = at::make_generator<at::CPUGeneratorImpl>(42);
//   auto x = torch::randn({2, 3}, gen);
//
// A generator may be shared by threads: whoever draws holds `mutex()`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "c10/core/device.h"
#include "c10/core/dispatch_key_set.h"
#include "c10/util/exception.h"
#include "c10/util/intrusive_ptr.h"

namespace std {
class mutex;
}

namespace at {
class Tensor;
}

namespace c10 {

inline constexpr uint64_t default_rng_seed_val = 67280421310721;

namespace detail {
// 64 bits from the operating system.
uint64_t getNonDeterministicRandom();
}  // namespace detail

class TensorImpl;

// What a device implements to have random numbers. A state is a tensor in the layout that torch.get_rng_state documents for
// the device; an offset is the position of those generators that count their draws.
struct GeneratorImpl : public intrusive_ptr_target {
  GeneratorImpl(Device device, DispatchKeySet key_set);
  ~GeneratorImpl() override;
  GeneratorImpl(const GeneratorImpl&) = delete;
  GeneratorImpl& operator=(const GeneratorImpl&) = delete;

  // Restarts the stream that belongs to `seed`.
  virtual void set_current_seed(uint64_t seed) = 0;
  virtual uint64_t current_seed() const = 0;
  // Restarts from a seed of the operating system's and returns it.
  virtual uint64_t seed() = 0;
  virtual void set_offset(uint64_t offset) = 0;
  virtual uint64_t get_offset() const = 0;
  // The whole state, and back. set_state throws on anything that no generator can have written and then leaves the state as
  // it was.
  virtual void set_state(const TensorImpl& new_state) = 0;
  virtual intrusive_ptr<TensorImpl> get_state() const = 0;
  // Shares the state of another generator; only devices that capture graphs implement it.
  virtual void graphsafe_set_state(const intrusive_ptr<GeneratorImpl>& new_state);
  virtual intrusive_ptr<GeneratorImpl> graphsafe_get_state() const;
  intrusive_ptr<GeneratorImpl> clone() const;

  Device device() const { return device_; }
  DispatchKeySet key_set() const { return key_set_; }
  // Held while drawing.
  std::mutex& mutex() const { return *mutex_; }

 protected:
  Device device_;
  DispatchKeySet key_set_;

 private:
  // A new object with the same state, which has no owner yet.
  virtual GeneratorImpl* clone_impl() const = 0;

  std::mutex* mutex_;
};

}  // namespace c10

namespace at {

using c10::GeneratorImpl;

struct Generator {
  Generator() = default;
  explicit Generator(c10::intrusive_ptr<c10::GeneratorImpl> impl) : impl_(std::move(impl)) {
    TORCH_CHECK(impl_.get() != nullptr, "GeneratorImpl with nullptr is not supported");
  }

  bool defined() const { return impl_.defined(); }
  bool operator==(const Generator& other) const { return impl_.get() == other.impl_.get(); }

  void set_current_seed(uint64_t seed) { checked()->set_current_seed(seed); }
  uint64_t current_seed() const { return checked()->current_seed(); }
  uint64_t seed() { return checked()->seed(); }
  // The position of a generator that counts its draws; the CPU's does not, and throws.
  void set_offset(uint64_t offset) { checked()->set_offset(offset); }
  uint64_t get_offset() const { return checked()->get_offset(); }
  // The state as a uint8 tensor, and back; set_state throws c10::TypeError for another kind of tensor.
  void set_state(const at::Tensor& new_state);
  at::Tensor get_state() const;
  void graphsafe_set_state(const Generator& new_state) { checked()->graphsafe_set_state(new_state.getIntrusivePtr()); }
  Generator graphsafe_get_state() const { return Generator(checked()->graphsafe_get_state()); }
  Generator clone() const { return Generator(checked()->clone()); }
  std::mutex& mutex() const { return checked()->mutex(); }
  c10::Device device() const { return checked()->device(); }
  c10::DispatchKeySet key_set() const { return checked()->key_set(); }

  template <typename Impl>
  Impl* get() const {
    return static_cast<Impl*>(checked());
  }
  c10::GeneratorImpl* unsafeGetGeneratorImpl() const { return impl_.get(); }
  const c10::intrusive_ptr<c10::GeneratorImpl>& getIntrusivePtr() const { return impl_; }

 private:
  c10::GeneratorImpl* checked() const {
    if (C10_UNLIKELY(!impl_.defined())) undefined();
    return impl_.get();
  }
  [[noreturn]] C10_COLD static void undefined();

  c10::intrusive_ptr<c10::GeneratorImpl> impl_;
};

template <typename Impl, typename... Args>
Generator make_generator(Args&&... args) {
  return Generator(c10::make_intrusive<Impl>(std::forward<Args>(args)...));
}

// The generator's implementation; throws if it is undefined or of another device than Impl's.
template <typename Impl>
Impl* check_generator(const std::optional<Generator>& generator) {
  TORCH_CHECK(generator.has_value(), "Expected Generator but received nullopt");
  TORCH_CHECK(generator->defined(), "Generator with undefined implementation is not allowed");
  TORCH_CHECK(Impl::device_type() == generator->device().type(), "Expected a '", Impl::device_type(),
              "' device type for generator but found '", generator->device().type(), "'");
  return generator->get<Impl>();
}
template <typename Impl>
Impl* get_generator_or_default(const std::optional<Generator>& generator, const Generator& otherwise) {
  return generator.has_value() && generator->defined() ? check_generator<Impl>(generator)
                                                       : check_generator<Impl>(otherwise);
}

}  // namespace at
