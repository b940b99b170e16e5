#include "nn/module/ordered_dict.h"
#include "c10/testing/message_of.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace torch {
namespace {

using Dict = OrderedDict<std::string, int>;

using c10::testing::message_of;

TEST(OrderedDict, KeepsTheOrderOfInsertion) {
  Dict d;
  EXPECT_TRUE(d.is_empty());
  d.insert("b", 1);
  d.insert("a", 2);
  d.insert("c", 3);
  EXPECT_EQ(d.keys(), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(d.values(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(d["a"], 2);
  EXPECT_EQ(d[1].key(), "a");
  EXPECT_EQ(*d[2], 3);
  EXPECT_EQ(d.front().value(), 1);
  EXPECT_EQ(d.back().value(), 3);
  EXPECT_EQ(*d.find("c"), 3);
  EXPECT_EQ(d.find("zz"), nullptr);
  EXPECT_TRUE(d.contains("a"));
  d["a"] = 5;
  EXPECT_EQ(d.pairs()[1], (std::pair<std::string, int>("a", 5)));
}

TEST(OrderedDict, EraseKeepsLookupsRight) {
  Dict d{{"a", 1}, {"b", 2}, {"c", 3}};
  d.erase("a");
  EXPECT_EQ(d.keys(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(d["c"], 3);
  EXPECT_EQ(d["b"], 2);
  d.insert("a", 4);
  EXPECT_EQ(d[2].key(), "a");
}

TEST(OrderedDict, Errors) {
  OrderedDict<std::string, int> d("Parameter");
  d.insert("a", 1);
  EXPECT_EQ(message_of([&] { d.insert("a", 2); }), "Parameter 'a' already defined");
  EXPECT_EQ(message_of([&] { d["zz"]; }), "Parameter 'zz' is not defined");
  EXPECT_EQ(message_of([&] { d[size_t{5}]; }), "Index 5 is out of bounds");
  EXPECT_EQ(message_of([&] { d.erase("zz"); }), "Parameter 'zz' doesn't exist");
  EXPECT_EQ(message_of([] { Dict().front(); }), "Called front() on an empty OrderedDict");
  EXPECT_EQ(message_of([] { Dict().back(); }), "Called back() on an empty OrderedDict");
  EXPECT_EQ(message_of([] { Dict({{"a", 1}, {"a", 2}}); }), "Key 'a' already defined");
  EXPECT_EQ(d["a"], 1);
}

TEST(OrderedDict, UpdateIsAllOrNothing) {
  Dict d{{"a", 1}};
  EXPECT_THROW(d.update({{"b", 2}, {"a", 3}}), c10::Error);
  EXPECT_EQ(d.size(), 1u);
  d.update({{"b", 2}, {"c", 3}});
  EXPECT_EQ(d, (Dict{{"a", 1}, {"b", 2}, {"c", 3}}));
  EXPECT_FALSE(d == (Dict{{"b", 2}, {"a", 1}, {"c", 3}}));
}

TEST(OrderedDict, MovedFromIsEmpty) {
  Dict d{{"a", 1}};
  Dict e = std::move(d);
  EXPECT_TRUE(d.is_empty());
  d.insert("x", 9);
  EXPECT_EQ(d["x"], 9);
  EXPECT_EQ(e["a"], 1);
}

TEST(OrderedDict, HoldsWhatCannotBeCopied) {
  OrderedDict<std::string, std::unique_ptr<int>> d;
  d.insert("a", std::make_unique<int>(4));
  EXPECT_EQ(**d.find("a"), 4);
}

}  // namespace
}  // namespace torch
