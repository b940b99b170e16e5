#pragma once

#include <stdexcept>
#include <string_view>

#include "graph/ir/callable.h"

namespace torch::graph {

// test::add(int self, int other) -> int, test::mul, test::minmax(int[] values) -> (int, int)
inline Callable test_callable(std::string_view name) {
  static const c10::FunctionSchema add = c10::parse_schema("test::add(int self, int other) -> int");
  static const c10::FunctionSchema mul = c10::parse_schema("test::mul(int self, int other) -> int");
  static const c10::FunctionSchema minmax = c10::parse_schema("test::minmax(int[] values) -> (int, int)");
  if (name == "test::add") {
    return Callable(add, [](c10::Stack& stack) { stack = {stack[0].toInt() + stack[1].toInt()}; });
  }
  if (name == "test::mul") {
    return Callable(mul, [](c10::Stack& stack) { stack = {stack[0].toInt() * stack[1].toInt()}; });
  }
  if (name != "test::minmax") throw std::runtime_error("no such callable");
  return Callable(minmax, [](c10::Stack& stack) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (const int64_t v : stack[0].toIntVector()) low = v < low ? v : low, high = v > high ? v : high;
    stack = {low, high};
  });
}

}  // namespace torch::graph
