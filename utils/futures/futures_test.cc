#include "utils/futures/futures.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "c10/testing/message_of.h"

namespace torch::futures {
namespace {

using c10::testing::message_of;

struct Own {  // nothing that IValue knows
  std::string text;
};

TEST(Futures, ResultsArriveFromOtherThreads) {
  Future<int64_t> number;
  EXPECT_FALSE(number.done());
  EXPECT_EQ(message_of([&] { number.value(); }), "the Future has no value yet: wait for it first");
  std::thread other([number] { number.set_result(5); });
  EXPECT_EQ(number.wait(), 5);
  other.join();
  EXPECT_TRUE(number.done());
  EXPECT_EQ(number.value(), 5);
  EXPECT_NE(message_of([&] { number.set_result(6); }), "no error");
  EXPECT_EQ(number.future()->elementType()->str(), "int");
  EXPECT_EQ(Future<int64_t>(number.future()).value(), 5);

  Future<Own> own;
  own.set_result(Own{"any type"});
  EXPECT_EQ(own.wait().text, "any type");
  Future<std::vector<double>> list;
  list.set_result(std::vector<double>{1, 2});
  EXPECT_EQ(list.wait()[1], 2);
  Future<void> signal;
  signal.set_result();
  signal.wait();
}

TEST(Futures, ThenChains) {
  Future<int64_t> number;
  std::vector<std::string> order;
  const Future<std::string> text = number.then([](const Future<int64_t>& n) { return std::to_string(n.value()); });
  const Future<void> last = text.then([&](const Future<std::string>& t) { order.push_back("then " + t.value()); });
  number.add_done_callback([&](const Future<int64_t>& n) { order.push_back("done " + std::to_string(n.wait())); });
  EXPECT_FALSE(last.done());
  number.set_result(7);
  last.wait();
  EXPECT_EQ(order, (std::vector<std::string>{"then 7", "done 7"}));
  number.add_done_callback([&](const auto&) { order.push_back("at once"); });
  EXPECT_EQ(order.back(), "at once");
}

TEST(Futures, ExceptionsAreThrownWhereTheValueIsAskedFor) {
  Future<int64_t> number;
  const Future<int64_t> next = number.then([](const Future<int64_t>& n) { return n.value() + 1; });
  const Future<int64_t> healed = number.then([](const Future<int64_t>& n) {
    try {
      return n.value();
    } catch (const std::out_of_range&) {
      return int64_t{-1};
    }
  });
  number.set_exception(std::out_of_range("foo"));
  EXPECT_TRUE(number.done());
  EXPECT_THROW(number.wait(), std::out_of_range);
  EXPECT_THROW(number.value(), std::out_of_range);
  EXPECT_THROW(next.wait(), std::out_of_range);
  EXPECT_EQ(healed.wait(), -1);
  EXPECT_NE(message_of([&] { number.set_exception(std::out_of_range("bar")); }), "no error");
  EXPECT_THROW(Future<void>().set_exception(std::exception_ptr()), c10::ValueError);
}

TEST(Futures, CollectAllWaitsForAll) {
  Future<int64_t> a, b;
  const auto both = collect_all<int64_t>({a, b});
  a.set_exception(std::runtime_error("a"));
  EXPECT_FALSE(both.done());
  b.set_result(1);
  const auto list = both.wait();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_THROW(list[0].wait(), std::runtime_error);
  EXPECT_EQ(list[1].wait(), 1);
  EXPECT_TRUE(collect_all<int64_t>({}).wait().empty());
}

TEST(Futures, WaitAllThrowsTheFirstException) {
  Future<int64_t> a, b, never;
  std::thread other([=] {
    b.set_result(2);
    a.set_result(1);
  });
  EXPECT_EQ(wait_all<int64_t>({a, b}), (std::vector<int64_t>{1, 2}));
  other.join();
  Future<int64_t> bad;
  bad.set_exception(std::runtime_error("bad"));
  EXPECT_THROW(wait_all<int64_t>({never, bad}), std::runtime_error);
  EXPECT_TRUE(wait_all<int64_t>({}).empty());
  Future<void> done;
  done.set_result();
  wait_all<void>({done});
}

}  // namespace
}  // namespace torch::futures
