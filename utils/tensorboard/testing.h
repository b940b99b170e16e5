#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "c10/testing/files.h"
#include "utils/tensorboard/event.pb.h"
#include "utils/tensorboard/record.h"

namespace torch::utils::tensorboard::testing {

inline std::vector<kindling::tensorboard::Event> events_of(const std::string& path) {
  const std::string text = c10::testing::read_file(path);
  std::string_view rest = text, payload;
  std::vector<kindling::tensorboard::Event> out;
  while (next_record(rest, &payload)) {
    kindling::tensorboard::Event event;
    EXPECT_TRUE(event.ParseFromArray(payload.data(), static_cast<int>(payload.size())));
    out.push_back(event);
  }
  return out;
}

}  // namespace torch::utils::tensorboard::testing
