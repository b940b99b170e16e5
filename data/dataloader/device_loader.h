#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/core/event.h"
#include "c10/core/stream.h"
#include "c10/util/exception.h"
#include "data/dataloader/iterator.h"
#include "data/detail/tensors_of.h"

namespace torch::data {

namespace detail {

/// A device, and a stream for what goes there; none for a device without streams, as the CPU.
struct Destination {
  /// Throws where the device is not there.
  explicit Destination(c10::Device device);
  c10::Device device;
  std::optional<c10::Stream> stream;
};

/// Copies of the tensors of one batch, on their way to a device. What they are copied from lives as long.
class Transfer {
 public:
  Transfer() = default;
  Transfer(Transfer&&) = default;
  Transfer& operator=(Transfer&&) = delete;
  /// Waits for the copies.
  ~Transfer();

  /// A tensor that is not on the device becomes one that its stream fills.
  at::Tensor copy(const Destination& to, const at::Tensor& tensor);
  /// Behind the last copy.
  void mark(const Destination& to);
  /// The device's current stream waits for the copies, and uses them.
  void hand_over(const Destination& to);
  /// Whether nothing of it is still to be done.
  bool is_done() const;

 private:
  std::vector<at::Tensor> sources_, copies_;
  std::optional<c10::Stream> unmarked_;  // has copies that no event stands behind
  std::optional<c10::Event> done_;
};

}  // namespace detail

/// The batches of a loader on a device. While a batch is used, the next one is copied, on a stream of its own:
///
///   auto loader = make_data_loader(..., DataLoaderOptions(64).workers(2).pin_memory(true));
///   for (Example<>& batch : torch::data::to_device(*loader, device)) train(batch.data, batch.target);
///
/// The stream that is current where a batch is taken waits for the copy by itself; work on other streams is the
/// program's to order. Copies overlap with work where the loader pins; without, they are right all the same. Tensors
/// are found as pin_memory finds them; a class of its own is asked for its tensors by `visit_tensors(f)`, which assigns
/// f(t) to each of them.
///
/// The loader is `ahead` batches further than what was taken: an exception comes in its batch's place, what is drawn
/// from generators is drawn earlier, and a loader that is saved in the middle of a pass goes on behind the batches that
/// were on their way. On the CPU nothing of this happens, batches pass through.
template <typename Loader>
class DeviceLoader {
 public:
  using BatchType = typename Loader::BatchType;

  /// `loader` outlives this. ValueError where `ahead` is 0.
  DeviceLoader(Loader& loader, c10::Device device, size_t ahead = 1)
      : loader_(&loader), destination_(device), ahead_(ahead) {
    TORCH_CHECK_VALUE(ahead > 0, "DeviceLoader: expected at least one batch ahead, but got 0");
    if (!destination_.stream) ahead_ = 0;
  }

  /// Begins a pass of the loader.
  auto begin() {
    auto pass = std::make_shared<Pass>(*loader_, destination_, ahead_);
    return Iterator<Batch>(std::make_unique<detail::ValidIterator<Batch>>([pass] { return pass->next(); }));
  }
  auto end() { return Iterator<Batch>(std::make_unique<detail::SentinelIterator<Batch>>()); }

  c10::Device device() const { return destination_.device; }

 private:
  using Batch = std::remove_cvref_t<decltype(*std::declval<Loader&>().begin())>;
  using Source = decltype(std::declval<Loader&>().begin());

  // A batch on its way, or what was thrown in its place.
  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr exception;
    detail::Transfer transfer;
  };

  class Pass {
   public:
    Pass(Loader& loader, const detail::Destination& to, size_t ahead)
        : to_(to), ahead_(ahead), source_(loader.begin()), end_(loader.end()) {}

    std::optional<Batch> next() {
      while (!ended_ && slots_.size() <= ahead_) fetch();
      while (!given_.empty() && given_.front().is_done()) given_.pop_front();
      if (slots_.empty()) return std::nullopt;
      Slot slot = std::move(slots_.front());
      slots_.pop_front();
      if (slot.exception) std::rethrow_exception(slot.exception);
      slot.transfer.hand_over(to_);
      given_.push_back(std::move(slot.transfer));
      return std::move(slot.batch);
    }

   private:
    void fetch() {
      Slot slot;
      try {
        // The first batch is there once begun; an exception leaves the loader where it can go on.
        if (begun_) ++source_;
        ended_ = source_ == end_;
        begun_ = true;
        if (ended_) return;
        slot.batch = std::move(*source_);
        detail::replace_tensors(
            *slot.batch, [&](const at::Tensor& tensor) { return slot.transfer.copy(to_, tensor); },
            VisitOwn{&slot.transfer, &to_});
        slot.transfer.mark(to_);
      } catch (...) {
        slot.batch.reset();
        slot.exception = std::current_exception();
      }
      slots_.push_back(std::move(slot));
    }

    struct VisitOwn {
      detail::Transfer* transfer;
      const detail::Destination* to;
      template <typename T>
      void operator()(T& value) const {
        const auto copy = [this](const at::Tensor& tensor) { return transfer->copy(*to, tensor); };
        if constexpr (requires { value.visit_tensors(copy); }) value.visit_tensors(copy);
      }
    };

    const detail::Destination to_;
    const size_t ahead_;
    Source source_, end_;
    bool begun_ = false, ended_ = false;
    std::deque<Slot> slots_;
    std::deque<detail::Transfer> given_;  // whose copies may not be done
  };

  Loader* loader_;
  detail::Destination destination_;
  size_t ahead_;
};

/// DeviceLoader(loader, device, ahead).
template <typename Loader>
DeviceLoader<Loader> to_device(Loader& loader, c10::Device device, size_t ahead = 1) {
  return DeviceLoader<Loader>(loader, device, ahead);
}

}  // namespace torch::data
