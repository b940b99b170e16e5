// What the parts of SummaryWriter share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aten/core/tensor.h"
#include "utils/tensorboard/event.pb.h"

namespace torch::utils::tensorboard {

kindling::tensorboard::Event event_at(int64_t step, double wall_time);
// Protobuf strings are UTF-8; a model's text may be any bytes.
std::string printable(std::string_view text);
// A value of that tag in a new event's summary.
kindling::tensorboard::Summary::Value* value_of(kindling::tensorboard::Event& event, std::string_view tag,
                                                std::string_view plugin = "", std::string content = "");
void make_folders(const std::string& path);
// The elements in rows, whatever dtype and device the tensor has. ValueError for an undefined one.
std::vector<double> numbers_of(const at::Tensor& tensor, const char* what);

}  // namespace torch::utils::tensorboard
