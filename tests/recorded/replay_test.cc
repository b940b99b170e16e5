// Each family's cases in testdata, as recorded and with planted errors.
#include "tests/recorded/replay.h"

#include <gtest/gtest.h>

namespace recorded {

static void PrintTo(const Family& family, std::ostream* out) {
  *out << family.name;
}

namespace {

class Replay : public testing::TestWithParam<Family> {
 protected:
  Replay()
      : set_(std::string("tests/recorded/testdata/") + GetParam().name + ".tar.gz"),
        recordings_(set_, GetParam().name) {}

  const conformance::CaseSet set_;
  const Recordings recordings_;
};

TEST_P(Replay, AsRecorded) {
  for (const Json& one : recordings_.cases()) {
    const CaseReport report = replay_case(GetParam(), recordings_, one);
    for (const std::string& failure : report.failures) ADD_FAILURE() << report.id << ": " << failure;
    EXPECT_EQ(report.skip_reason, "") << report.id;
  }
}

// Of a case's recorded results one after another is spoiled, in the next case the next one.
TEST_P(Replay, NoticesErrors) {
  size_t n = 0, planted = 0;
  for (const Json& one : recordings_.cases()) {
    Json spoiled = with_planted_error(GetParam(), one, n++);
    if (spoiled.is_null()) spoiled = with_planted_error(GetParam(), one, n = 0);
    if (spoiled.is_null()) continue;
    ++planted;
    EXPECT_FALSE(replay_case(GetParam(), recordings_, spoiled).failures.empty())
        << one.at("id") << ": an error in result " << n << " was not noticed";
  }
  EXPECT_GT(planted, recordings_.cases().size() / 2);
}

// A setting that the replay does not know in the first of a case's configurations.
bool plant_setting(Json& v) {
  if (!v.is_structured()) return false;
  for (const auto& [key, member] : v.items()) {
    if (v.is_object() && (key == "config" || key == "kwargs") && member.is_object()) {
      member["planted_setting"] = 1;
      return true;
    }
    if (plant_setting(member)) return true;
  }
  return false;
}

TEST_P(Replay, NoticesSettingsItDoesNotKnow) {
  for (const Json& one : recordings_.cases()) {
    Json other = one;
    if (!plant_setting(other)) continue;
    EXPECT_FALSE(replay_case(GetParam(), recordings_, other).failures.empty()) << one.at("id");
  }
}

INSTANTIATE_TEST_SUITE_P(All, Replay, testing::ValuesIn(families()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace recorded
