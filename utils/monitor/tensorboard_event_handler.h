#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "utils/monitor/monitor.h"
#include "utils/tensorboard/summary_writer.h"

namespace torch::monitor {

/// Writes the numbers of torch.monitor.Stat's events as scalars, by the names that they have there ("loss.mean") and
/// the time of the event. Others are ignored.
///
///   auto writer = std::make_shared<torch::utils::tensorboard::SummaryWriter>("runs/first");
///   torch::monitor::registerEventHandler(std::make_shared<torch::monitor::TensorboardEventHandler>(writer));
class TensorboardEventHandler final : public EventHandler {
 public:
  explicit TensorboardEventHandler(std::shared_ptr<utils::tensorboard::SummaryWriter> writer)
      : writer_(std::move(writer)) {}

  void handle(const Event& event) override {
    if (event.name != "torch.monitor.Stat") return;
    const double time = std::chrono::duration<double>(event.timestamp.time_since_epoch()).count();
    for (const auto& [name, value] : event.data) {
      if (const auto* number = std::get_if<double>(&value)) {
        writer_->add_scalar(name, *number, /*step=*/0, time);
      } else if (const auto* whole = std::get_if<int64_t>(&value)) {
        writer_->add_scalar(name, static_cast<double>(*whole), /*step=*/0, time);
      }
    }
  }

 private:
  std::shared_ptr<utils::tensorboard::SummaryWriter> writer_;
};

}  // namespace torch::monitor
