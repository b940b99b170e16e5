#include "utils/tensorboard/summary_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "c10/testing/files.h"
#include "utils/monitor/tensorboard_event_handler.h"
#include "utils/tensorboard/event.pb.h"
#include "utils/tensorboard/record.h"
#include "utils/tensorboard/testing.h"

namespace torch::utils::tensorboard {
namespace {

using c10::testing::fresh_folder;
using kindling::tensorboard::Event;
using testing::events_of;

TEST(SummaryWriter, TakesTheStatisticsOfPrograms) {
  const std::string folder = fresh_folder();
  const auto writer = std::make_shared<SummaryWriter>(folder);
  const auto handler = std::make_shared<monitor::TensorboardEventHandler>(writer);
  monitor::registerEventHandler(handler);
  {
    monitor::Stat<double> stat("loss", {monitor::Aggregation::MEAN}, std::chrono::hours(1));
    stat.add(1);
    stat.add(4);
  }
  monitor::logEvent({"other", {}, {{"ignored", 1.0}}});
  monitor::unregisterEventHandler(handler);
  writer->flush();
  std::vector<std::pair<std::string, float>> scalars;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    for (const Event& event : events_of(entry.path().string())) {
      for (const auto& value : event.summary().value()) scalars.emplace_back(value.tag(), value.simple_value());
    }
  }
  EXPECT_EQ(scalars, (std::vector<std::pair<std::string, float>>{{"loss.mean", 2.5F}}));
}

TEST(Record, ReadsBackAndSeesDamage) {
  std::string file;
  append_record(file, "one");
  append_record(file, "");
  std::string_view rest = file, payload;
  ASSERT_TRUE(next_record(rest, &payload));
  EXPECT_EQ(payload, "one");
  ASSERT_TRUE(next_record(rest, &payload));
  EXPECT_EQ(payload, "");
  EXPECT_FALSE(next_record(rest, &payload));
  const size_t first = 16 + 3;
  for (size_t i = 0; i < first; ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    rest = damaged;
    EXPECT_THROW(next_record(rest, &payload), c10::Error) << i;
    rest = std::string_view(file).substr(0, i);
    if (i > 0) EXPECT_THROW(next_record(rest, &payload), c10::Error) << i;
  }
}

TEST(SummaryWriter, WritesWhatTensorBoardReads) {
  const std::string folder = fresh_folder() + "/a/b";
  std::string path;
  {
    SummaryWriter writer(folder);
    path = writer.path();
    writer.add_scalar("loss", 0.5, 3, 1234.25);
    writer.add_text("sample", "to be \xc3\xa9\xff", 4);
    const std::vector<double> values = {0, 1, 2, 3, 4, 4, NAN};
    writer.add_histogram("weights", values, 5, 4);
    EXPECT_THROW(writer.add_histogram("weights", values, 5, 0), c10::ValueError);
  }
  EXPECT_THAT(path, ::testing::HasSubstr(folder + "/events.out.tfevents."));
  const std::vector<Event> events = events_of(path);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_EQ(events[1].step(), 3);
  EXPECT_EQ(events[1].wall_time(), 1234.25);
  EXPECT_EQ(events[1].summary().value(0).tag(), "loss");
  EXPECT_EQ(events[1].summary().value(0).simple_value(), 0.5f);
  const auto& text = events[2].summary().value(0);
  EXPECT_EQ(text.tag(), "sample/text_summary");
  EXPECT_EQ(text.metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(text.tensor().dtype(), kindling::tensorboard::Tensor::STRING);
  EXPECT_EQ(text.tensor().shape().dim(0).size(), 1);
  EXPECT_EQ(text.tensor().string_val(0), "to be \xc3\xa9\xef\xbf\xbd");
  const auto& h = events[3].summary().value(0).histogram();
  EXPECT_EQ(h.min(), 0);
  EXPECT_EQ(h.max(), 4);
  EXPECT_EQ(h.num(), 6);
  EXPECT_EQ(h.sum(), 14);
  EXPECT_EQ(h.sum_squares(), 46);
  EXPECT_THAT(h.bucket_limit(), ::testing::ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(h.bucket(), ::testing::ElementsAre(2, 1, 1, 2));
}

// The bytes themselves, so that the field numbers are checked against the public format and not against our own reader.
TEST(SummaryWriter, WireFormat) {
  SummaryWriter writer(fresh_folder());
  writer.add_scalar("t", 1.0, 2, 0.0);
  writer.flush();
  const std::string file = c10::testing::read_file(writer.path());
  std::string_view rest = file, payload;
  ASSERT_TRUE(next_record(rest, &payload));
  EXPECT_EQ(payload.substr(9), "\x1a\x0d" "brain.Event:2");  // wall_time first, then field 3
  ASSERT_TRUE(next_record(rest, &payload));
  EXPECT_EQ(payload, std::string_view("\x10\x02\x2a\x0a\x0a\x08\x0a\x01t\x15\x00\x00\x80\x3f", 14));
}

TEST(SummaryWriter, ResumedRunsHideWhatTheyRepeat) {
  const std::string folder = fresh_folder();
  SummaryWriter first(folder), second(folder, 100);
  EXPECT_NE(first.path(), second.path());
  const std::vector<Event> events = events_of(second.path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].step(), 100);
  EXPECT_EQ(events[1].session_log().status(), kindling::tensorboard::SessionLog::START);
}

TEST(SummaryWriter, NamesItsFolderAndFiles) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::string folder = fresh_folder();
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  {
    SummaryWriter plain, empty(""), comment(SummaryWriterOptions().comment("LR_0.1").filename_suffix(".mine"));
    EXPECT_THAT(plain.get_logdir(),
                ::testing::ContainsRegex("^runs/[A-Z][a-z][a-z][0-9][0-9]_[0-9][0-9]-[0-9][0-9]-[0-9][0-9]_."));
    EXPECT_THAT(comment.get_logdir(), ::testing::EndsWith("LR_0.1"));
    EXPECT_THAT(comment.path(), ::testing::EndsWith(".mine"));
    EXPECT_EQ(::access(comment.path().c_str(), F_OK), 0);
    comment.add_scalars("loss", {{"train", 1}}, 3);
    const std::filesystem::directory_iterator below(comment.get_logdir() + "/loss_train");
    EXPECT_THAT(below->path().string(), ::testing::EndsWith(".mine"));
    EXPECT_EQ(SummaryWriter(SummaryWriterOptions().log_dir("a").comment("b")).get_logdir(), "a");
  }
  std::filesystem::current_path(before);
}

TEST(SummaryWriter, WritesWhenManyWaitOrTimeHasPassed) {
  SummaryWriter many(SummaryWriterOptions().log_dir(fresh_folder()).max_queue(3));
  const std::vector<size_t> there = {1, 1, 4, 4, 4, 7};
  for (const size_t n : there) {
    many.add_scalar("t", 1);
    EXPECT_EQ(events_of(many.path()).size(), n);
  }
  SummaryWriter defaults(fresh_folder());
  for (int i = 0; i < 9; ++i) defaults.add_scalar("t", 1);
  EXPECT_EQ(events_of(defaults.path()).size(), 1u);
  defaults.add_scalar("t", 1);
  EXPECT_EQ(events_of(defaults.path()).size(), 11u);
  SummaryWriter timed(SummaryWriterOptions().log_dir(fresh_folder()).max_queue(0).flush_secs(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  EXPECT_EQ(events_of(timed.path()).size(), 1u);
  timed.add_scalar("t", 1);
  EXPECT_EQ(events_of(timed.path()).size(), 2u);
  SummaryWriter always(SummaryWriterOptions().log_dir(fresh_folder()).flush_secs(0));
  always.add_scalar("t", 1);
  EXPECT_EQ(events_of(always.path()).size(), 2u);
}

TEST(SummaryWriter, SaysWhatFailed) {
  EXPECT_THROW(SummaryWriter("/proc/none/of/this"), c10::Error);
}

TEST(SummaryWriter, APathWithANulIsRefused) {
  const std::string folder = fresh_folder();
  EXPECT_THROW(SummaryWriter(folder + "/a" + std::string(1, '\0') + "b"), c10::Error);
  EXPECT_THROW(SummaryWriter(SummaryWriterOptions().log_dir(folder).filename_suffix("/no/folder")), c10::Error);
  EXPECT_NE(::access((folder + "/a").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace torch::utils::tensorboard
