#include "c10/util/exception.h"
#include "c10/testing/message_of.h"
#include "c10/util/warning.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <ostream>
#include <string>

namespace c10 {
namespace {

using c10::testing::message_of;

TEST(Exception, CheckJoinsItsParts) {
  const int n = 3;
  EXPECT_EQ(message_of<Error>([&] { TORCH_CHECK(n == 4, "expected 4 but got ", n, ' ', 2.5, " of ", true); }),
            "expected 4 but got 3 2.5 of 1");
  EXPECT_NO_THROW(TORCH_CHECK(n == 3, "unused"));
}

TEST(Exception, CheckWithoutPartsNamesTheCondition) {
  EXPECT_EQ(message_of<Error>([] { TORCH_CHECK(1 == 2); }).rfind("Expected 1 == 2 to be true, but got false.", 0), 0u);
}

TEST(Exception, KindsAreErrors) {
  EXPECT_EQ(message_of<IndexError>([] { TORCH_CHECK_INDEX(false, "i"); }), "i");
  EXPECT_EQ(message_of<ValueError>([] { TORCH_CHECK_VALUE(false, "v"); }), "v");
  EXPECT_EQ(message_of<TypeError>([] { TORCH_CHECK_TYPE(false, "t"); }), "t");
  EXPECT_EQ(message_of<LinAlgError>([] { TORCH_CHECK_LINALG(false, "l"); }), "l");
  EXPECT_EQ(message_of<NotImplementedError>([] { TORCH_CHECK_NOT_IMPLEMENTED(false, "n"); }), "n");
  EXPECT_EQ(message_of<OutOfMemoryError>([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "o"); }), "o");
  EXPECT_EQ(message_of<ValueError>([] { C10_THROW_ERROR(ValueError, "thrown"); }), "thrown");
  EXPECT_EQ(message_of<Error>([] { TORCH_CHECK_INDEX(false, "as base"); }), "as base");
  EXPECT_EQ(message_of<Error>([] { AT_ERROR("a", 1); }), "a1");
  EXPECT_EQ(message_of<Error>([] { TORCH_CHECK_ARG(false, 2, "bad"); }), "invalid argument 2: bad");
}

TEST(Exception, PartsOfAFailedCheckAreEvaluatedOnlyThen) {
  int evaluated = 0;
  auto part = [&] { return ++evaluated; };
  TORCH_CHECK(true, part());
  EXPECT_EQ(evaluated, 0);
  EXPECT_THROW(TORCH_CHECK(false, part()), Error);
  EXPECT_EQ(evaluated, 1);
}

TEST(Exception, WhatTellsWhereAndContext) {
  try {
    TORCH_CHECK(false, "message");
  } catch (Error& e) {
    EXPECT_STREQ(e.what_without_backtrace(), "message");
    EXPECT_NE(std::strstr(e.what(), "message\nException raised from "), nullptr);
    EXPECT_NE(std::strstr(e.what(), "exception_test.cc:"), nullptr);
    e.add_context("while testing");
    EXPECT_STREQ(e.what_without_backtrace(), "message (while testing)");
    e.add_context("again");
    EXPECT_STREQ(e.what_without_backtrace(), "message\n  while testing\n  again");
    EXPECT_EQ(e.context().size(), 2u);
    EXPECT_EQ(e.msg(), "message");
  }
}

TEST(Exception, BacktraceOnRequest) {
  set_backtraces_enabled(true);
  try {
    TORCH_CHECK(false, "x");
  } catch (const Error& e) {
    EXPECT_NE(e.backtrace().find("frame #0"), std::string::npos);
  }
  set_backtraces_enabled(false);
  try {
    TORCH_CHECK(false, "x");
  } catch (const Error& e) {
    EXPECT_EQ(e.backtrace().find("frame #0"), std::string::npos);
  }
}

TEST(Exception, InternalAssertNamesConditionAndPlace) {
  const std::string m = message_of<Error>([] { TORCH_INTERNAL_ASSERT(2 < 1, "detail ", 7); });
  EXPECT_EQ(m.rfind("2 < 1 INTERNAL ASSERT FAILED at \"", 0), 0u) << m;
  EXPECT_NE(m.find("detail 7"), std::string::npos);
}

TEST(Exception, WithoutAStack) {
  EXPECT_STREQ(Error("text", nullptr).what(), "text");
}

struct Collecting : WarningHandler {
  void process(const Warning& warning) override {
    line = warning.source_location().line;
    const bool deprecated = std::holds_alternative<DeprecationWarning>(warning.type());
    messages.push_back((deprecated ? "deprecated: " : "") + warning.msg());
  }
  uint32_t line = 0;
  std::vector<std::string> messages;
};

TEST(Warning, HandlerGuardAndOnce) {
  Collecting handler;
  {
    WarningUtils::WarningHandlerGuard guard(&handler);
    EXPECT_EQ(WarningUtils::get_warning_handler(), &handler);
    TORCH_WARN("value ", 3);
    for (int i = 0; i < 3; ++i) TORCH_WARN_ONCE("once");
    {
      WarningUtils::WarnAlways always;
      for (int i = 0; i < 2; ++i) TORCH_WARN_ONCE("always");
    }
    TORCH_WARN_DEPRECATION("use ", std::string("g"), " instead");
    TORCH_WARN_WITH(DeprecationWarning, "again");
    warn(Warning(UserWarning(), {"f", "file", 7}, "made by hand", true));
    EXPECT_EQ(handler.line, 7u);
  }
  EXPECT_NE(WarningUtils::get_warning_handler(), &handler);
  EXPECT_EQ(handler.messages, (std::vector<std::string>{"value 3", "once", "always", "always", "deprecated: use g instead",
                                                        "deprecated: again", "made by hand"}));
}

// A handler as programs from before 2.0 have it.
struct CollectingParts : WarningHandler {
  void process(const SourceLocation& place, const std::string& msg, bool verbatim) override {
    message = msg + (verbatim ? " at line " : " in line ") + std::to_string(place.line);
  }
  std::string message;
};

TEST(Warning, TheNamesFromBefore20) {
  CollectingParts handler;
  {
    const Warning::WarningHandlerGuard guard(&handler);
    EXPECT_EQ(Warning::get_warning_handler(), &handler);
    warn(Warning(UserWarning(), {"f", "file", 7}, "made by hand", true));
  }
  EXPECT_EQ(handler.message, "made by hand at line 7");
  EXPECT_NE(Warning::get_warning_handler(), &handler);
  Warning::set_warning_handler(&handler);
  EXPECT_EQ(WarningUtils::get_warning_handler(), &handler);
  Warning::set_warning_handler(nullptr);
  {
    const Warning::WarnAlways always;
    EXPECT_TRUE(Warning::get_warnAlways());
  }
  Warning::set_warnAlways(false);
  EXPECT_FALSE(WarningUtils::get_warnAlways());
}

TEST(Warning, TheDefaultHandlerWritesToStandardError) {
  Collecting handler;
  WarningUtils::set_warning_handler(&handler);
  WarningUtils::set_warning_handler(nullptr);
  ::testing::internal::CaptureStderr();
  TORCH_WARN("seen");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.rfind("[W exception_test.cc:", 0), 0u) << text;
  EXPECT_NE(text.find("] Warning: seen (function TestBody)\n"), std::string::npos) << text;
  EXPECT_TRUE(handler.messages.empty());
}

struct Streamed {
  int x;
};
std::ostream& operator<<(std::ostream& stream, const Streamed& s) { return stream << "<" << s.x << ">"; }

TEST(StringUtil, Texts) {
  EXPECT_EQ(str(Streamed{3}, " of ", std::vector<Streamed>{{1}, {2}}), "<3> of [<1>, <2>]");
  EXPECT_EQ(str(), "");
  EXPECT_EQ(str("a", std::string("b"), std::string_view("c"), 'd'), "abcd");
  EXPECT_EQ(str(int64_t{-9223372036854775807LL - 1}, " ", ~uint64_t{0}), "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(str(0.1, " ", 1e30, " ", 100000.0, " ", 1.0f / 3), "0.1 1e+30 100000 0.333333");
  EXPECT_EQ(str(std::vector<int>{1, 2, 3}), "[1, 2, 3]");
  EXPECT_EQ(str(std::vector<std::vector<int>>{{1}, {}}), "[[1], []]");
  EXPECT_EQ(str(static_cast<const char*>(nullptr)), "(null)");
  char array[] = "array";
  const char* const null = nullptr;
  enum class Unnamed : int8_t { kMinus = -3 };
  EXPECT_EQ(str(array, null, std::string(), std::string_view(), "."), "array(null).");
  EXPECT_EQ(str(static_cast<int8_t>('c'), uint8_t{'u'}, int16_t{-2}, uint16_t{65535}, true, Unnamed::kMinus), "cu-2655351-3");
  EXPECT_EQ(str(std::optional<int>(4), std::optional<int>(), std::vector<double>{0.5, 2}), "4nullopt[0.5, 2]");
  // More than what fits into registers.
  EXPECT_EQ(str(1, "b", 2.5, 'd', std::string("e"), 6u, std::string_view("g"), 8, 9, 10, 0.25f, "l", std::vector<int>{13}, 14),
            "1b2.5de6g89100.25l[13]14");
  EXPECT_EQ(Join(", ", std::vector<std::string>{"x", "y"}), "x, y");
  std::string text = "aXbXX";
  EXPECT_EQ(ReplaceAll(text, "X", "--"), 3u);
  EXPECT_EQ(text, "a--b----");
  EXPECT_EQ(ReplaceAll(text, "", "z"), 0u);
  EXPECT_EQ(StripBasename("/a/b.cc"), "b.cc");
  EXPECT_EQ(demangle("St9exception"), "std::exception");
  EXPECT_EQ(demangle("not mangled"), "not mangled");
}

}  // namespace
}  // namespace c10
