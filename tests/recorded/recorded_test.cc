// Operators against calls recorded from PyTorch (record.py): values, dtypes and sizes, and what is refused.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "c10/dispatch/registry.h"

namespace at {
namespace {

using c10::IValue;

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t at; (at = text.find(separator, start)) != std::string::npos; start = at + separator.size()) {
    parts.push_back(text.substr(start, at - start));
  }
  parts.push_back(text.substr(start));
  return parts;
}

ScalarType dtype_of(const std::string& name) {
  static const std::map<std::string, ScalarType> types = {
      {"f32", kFloat}, {"f64", kDouble}, {"f16", kHalf},         {"bf16", kBFloat16},     {"i64", kLong},
      {"i32", kInt},   {"b1", kBool},    {"c64", kComplexFloat}, {"c128", kComplexDouble}};
  return types.at(name);
}

// "f32[2,3]:1,2,3,4,5,6"
Tensor read_tensor(const std::string& text) {
  const size_t open = text.find('['), close = text.find("]:");
  const ScalarType dtype = dtype_of(text.substr(0, open));
  std::vector<int64_t> sizes;
  if (close > open + 1) {
    for (const std::string& s : split(text.substr(open + 1, close - open - 1), ",")) sizes.push_back(std::stoll(s));
  }
  std::vector<double> numbers;
  if (close + 2 < text.size()) {
    for (const std::string& s : split(text.substr(close + 2), ",")) numbers.push_back(std::strtod(s.c_str(), nullptr));
  }
  const bool complex = isComplexType(dtype);
  Tensor wide = at::empty(sizes, TensorOptions().dtype(complex ? kComplexDouble : kDouble));
  EXPECT_EQ(static_cast<int64_t>(numbers.size()), wide.numel() * (complex ? 2 : 1)) << text;
  std::copy(numbers.begin(), numbers.end(), static_cast<double*>(wide.data_ptr()));
  return at::to(wide, dtype);
}

bool is_tensor(const std::string& text) {
  return text.find("]:") != std::string::npos && (text[0] == 'f' || text[0] == 'i' || text[0] == 'b' || text[0] == 'c');
}

IValue read_value(const std::string& text) {
  if (text == "None") return IValue();
  if (text == "True" || text == "False") return IValue(text == "True");
  if (is_tensor(text)) return IValue(read_tensor(text));
  const std::string inside = text.substr(1, text.size() - 2);
  if (text[0] == '\'') return IValue(inside);
  if (text[0] == '{') {
    std::vector<IValue> list;
    for (const std::string& t : split(inside, "|")) list.push_back(read_value(t));
    return IValue(std::move(list));
  }
  if (text[0] == '[') {
    const std::vector<std::string> words = split(inside, ",");
    if (inside.find_first_of(".e") == std::string::npos) {
      std::vector<int64_t> list;
      for (const std::string& w : words) list.push_back(std::stoll(w));
      return IValue(list);
    }
    std::vector<double> list;
    for (const std::string& w : words) list.push_back(std::strtod(w.c_str(), nullptr));
    return IValue(list);
  }
  if (text.find_first_of(".enf") == std::string::npos) return IValue(static_cast<int64_t>(std::stoll(text)));
  return IValue(std::strtod(text.c_str(), nullptr));
}

void collect(const IValue& value, std::vector<Tensor>& results) {
  if (value.isTensor()) {
    results.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const Tensor& t : value.toTensorVector()) results.push_back(t);
  }
}

std::vector<Tensor> call(const std::string& name, const std::vector<std::string>& arguments) {
  const size_t dot = name.find('.');
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
      "aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
  std::map<std::string, IValue> named;
  std::vector<IValue> placed;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (equals != std::string::npos && argument[0] != '\'') {
      named[argument.substr(0, equals)] = read_value(argument.substr(equals + 1));
    } else {
      placed.push_back(read_value(argument));
    }
  }
  c10::Stack stack;
  const auto& schema = op.schema().arguments();
  for (size_t i = 0; i < schema.size(); ++i) {
    if (i < placed.size()) {
      stack.push_back(placed[i]);
    } else if (const auto n = named.find(schema[i].name()); n != named.end()) {
      stack.push_back(n->second);
    } else {
      stack.push_back(*schema[i].default_value());
    }
  }
  op.callBoxed(stack);
  std::vector<Tensor> results;
  for (const IValue& value : stack) collect(value, results);
  return results;
}

void expect_close(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.scalar_type(), expected.scalar_type());
  ASSERT_EQ(got.sizes(), expected.sizes());
  const double tolerance = expected.scalar_type() == kDouble || expected.scalar_type() == kComplexDouble ? 1e-9
                           : isReducedFloatingType(expected.scalar_type())                               ? 2e-3
                                                                                                         : 2e-5;
  const bool complex = expected.is_complex();
  const Tensor a = at::contiguous(at::to(got, complex ? kComplexDouble : kDouble));
  const Tensor b = at::contiguous(at::to(expected, complex ? kComplexDouble : kDouble));
  const double *x = static_cast<const double*>(a.data_ptr()), *y = static_cast<const double*>(b.data_ptr());
  for (int64_t i = 0; i < a.numel() * (complex ? 2 : 1); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (x[i] == y[i]) continue;
    EXPECT_LE(std::fabs(x[i] - y[i]), tolerance * (1 + std::fabs(y[i])))
        << "element " << i << ": got " << x[i] << ", expected " << y[i];
  }
}

TEST(Recorded, EveryCall) {
  std::ifstream file("tests/recorded/cases.txt");
  ASSERT_TRUE(file.good());
  std::set<std::string> operators;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::vector<std::string> fields = split(line, "\t");
    ASSERT_EQ(fields.size(), 3u) << line;
    SCOPED_TRACE("cases.txt:" + std::to_string(number) + " " + fields[0] + ": " + fields[1].substr(0, 200));
    operators.insert(fields[0]);
    const std::vector<std::string> arguments = split(fields[1], "; ");
    try {
      const std::vector<Tensor> got = call(fields[0], arguments);
      if (fields[2] == "error") {
        ADD_FAILURE() << "should have been refused";
        continue;
      }
      std::vector<Tensor> expected;
      for (const std::string& result : split(fields[2], "; ")) collect(read_value(result), expected);
      // A line may leave out results at the end.
      ASSERT_GE(got.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        SCOPED_TRACE("result " + std::to_string(i));
        expect_close(got[i], expected[i]);
      }
    } catch (const c10::Error& e) {
      if (fields[2] != "error") ADD_FAILURE() << e.what_without_backtrace();
    }
  }
  EXPECT_GT(operators.size(), 30u);
}

}  // namespace
}  // namespace at
