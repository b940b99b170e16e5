#include "tests/recorded/formulas.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "tests/recorded/python_syntax.h"

namespace recorded {
namespace {

using Kind = PythonNode::Kind;

using OneNumber = double (*)(double);
using TwoNumbers = double (*)(double, double);

const std::map<std::string, OneNumber>& functions() {
  static const std::map<std::string, OneNumber> all = {
      {"abs", std::fabs}, {"int", std::trunc}, {"float", [](double x) { return x; }}, {"round", std::nearbyint},
      {"cos", std::cos},  {"sin", std::sin},   {"exp", std::exp},                     {"log", std::log},
      {"sqrt", std::sqrt}, {"floor", std::floor}, {"ceil", std::ceil},                {"tanh", std::tanh}};
  return all;
}
const std::map<std::string, TwoNumbers>& operators() {
  static const std::map<std::string, TwoNumbers> all = {
      {"+", [](double a, double b) { return a + b; }},
      {"-", [](double a, double b) { return a - b; }},
      {"*", [](double a, double b) { return a * b; }},
      {"/", [](double a, double b) { return a / b; }},
      {"//", [](double a, double b) { return std::floor(a / b); }},
      // Of the divisor's sign.
      {"%", [](double a, double b) { return a - b * std::floor(a / b); }},
      {"**", [](double a, double b) { return std::pow(a, b); }},
      {"<", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"<=", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {">", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {">=", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"==", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"!=", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
      {"min", [](double a, double b) { return std::min(a, b); }},
      {"max", [](double a, double b) { return std::max(a, b); }},
      {"pow", [](double a, double b) { return std::pow(a, b); }}};
  return all;
}

double value(const PythonNode& node, double x) {
  const auto child = [&](size_t i) { return value(*node.children.at(i), x); };
  switch (node.kind) {
    case Kind::kInteger:
    case Kind::kFloat: return std::stod(node.text);
    case Kind::kName: return x;
    case Kind::kAttribute:
      if (node.text == "pi") return std::acos(-1.0);
      break;
    case Kind::kLambda: return child(0);
    case Kind::kCondition: return child(1) != 0 ? child(0) : child(2);
    case Kind::kUnary:
      if (node.text == "-") return -child(0);
      if (node.text == "+") return child(0);
      break;
    case Kind::kBinary:
      if (const auto f = operators().find(node.text); f != operators().end()) return f->second(child(0), child(1));
      break;
    case Kind::kCall: {
      const std::string& name = node.children.at(0)->text;
      if (const auto f = functions().find(name); f != functions().end() && node.children.size() == 2)
        return f->second(child(1));
      if (const auto f = operators().find(name); f != operators().end() && node.children.size() > 2) {
        double result = child(1);
        for (size_t i = 2; i < node.children.size(); ++i) result = f->second(result, child(i));
        return result;
      }
      break;
    }
    default: break;
  }
  throw std::runtime_error("\"" + node.text + "\" is no part of a formula");
}

}  // namespace

std::function<double(double)> formula_of(const std::string& text) {
  const PythonNodePtr node = parse_python(text);
  value(*node, 1);
  return [node](double x) { return value(*node, x); };
}

}  // namespace recorded
