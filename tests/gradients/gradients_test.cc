// Every derivative of the operator tables against difference quotients: first and second derivatives, in double and,
// where the case says so, complex double, in reverse and in forward mode and in one inside of the other; and the
// in-place form against the functional one. An operator that has a kernel and a derivative but no case is a failure,
// and so is one without a forward derivative.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "autograd/forward_ad.h"
#include "autograd/gradcheck/gradcheck.h"
#include "c10/dispatch/registry.h"

namespace torch::autograd {
namespace {

using at::Tensor;
using c10::IValue;

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct TableEntry {
  std::string family;
  bool has_kernel = false;  // that CPU tensors can be given to
  bool has_derivative = false;
  bool has_forward = false;
  std::string inplace;  // "add_.Tensor"
};

// The operators of the tables that matter here, by name with overload.
std::map<std::string, TableEntry> read_tables() {
  std::map<std::string, TableEntry> entries;
  for (const auto& folder : std::filesystem::directory_iterator("aten/ops")) {
    const std::string table = folder.path().string() + "/ops.textproto", family = folder.path().filename().string();
    if (!std::filesystem::exists(table)) continue;
    std::istringstream lines(read_file(table));
    std::string line, name;
    const auto name_in = [](const std::string& text) {
      const size_t start = text.find("schema: \"") + 9;
      return text.substr(start, text.find('(', start) - start);
    };
    while (std::getline(lines, line)) {
      if (line.rfind("  schema: ", 0) == 0) {
        name = name_in(line);
        entries[name].family = family;
      } else if (line.rfind("  derivative {", 0) == 0) {
        entries[name].has_derivative = true;
      } else if (line.rfind("  forward {", 0) == 0 || line == "  element_wise: true") {
        entries[name].has_forward = true;
      } else if (line.rfind("  kernel {", 0) == 0 && line.rfind("  kernel { key: CUDA ", 0) != 0) {
        entries[name].has_kernel = true;
      } else if (line.rfind("  inplace {", 0) == 0) {
        entries[name].inplace = name_in(line);
      }
    }
  }
  return entries;
}

struct Case {
  std::string op;
  std::string arguments;
  std::set<std::string> flags;
  int line = 0;
};

struct Cases {
  std::vector<Case> cases;
  std::set<std::string> skipped;
};

std::string trimmed(std::string text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Cases read_cases() {
  Cases result;
  std::istringstream lines(read_file("tests/gradients/cases.txt"));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    if (line.rfind("skip ", 0) == 0) {
      result.skipped.insert(line.substr(5, colon - 5));
      continue;
    }
    EXPECT_NE(colon, std::string::npos) << "cases.txt:" << number;
    Case c;
    c.op = line.substr(0, colon);
    c.line = number;
    std::string rest = line.substr(colon + 2);
    if (const size_t bar = rest.find('|'); bar != std::string::npos) {
      std::istringstream flags(rest.substr(bar + 1));
      for (std::string flag; flags >> flag;) c.flags.insert(flag);
      rest.resize(bar);
    }
    c.arguments = trimmed(rest);
    result.cases.push_back(c);
  }
  return result;
}

// Reads a case's arguments; tensors that require a gradient are collected and stand in the arguments by their place.
class ArgumentReader {
 public:
  ArgumentReader(const Case& c, bool complex) : case_(c), complex_(complex), generator_(seed_of(c.op + c.arguments)) {}

  std::map<std::string, IValue> by_name;
  std::vector<IValue> by_place;
  variable_list inputs;
  // inputs[k] goes to place `first` (element `second` of a list, or -1).
  std::vector<std::pair<int, int>> places;

  void read() {
    text_ = case_.arguments;
    while (at_ < text_.size()) {
      skip_spaces();
      std::string name;
      const size_t end = text_.find_first_of(",=([{' ", at_);
      if (end != std::string::npos && text_[end] == '=') {
        name = text_.substr(at_, end - at_);
        at_ = end + 1;
      }
      place_ = static_cast<int>(by_place.size());
      element_ = -1;
      IValue value = read_value();
      if (name.empty()) {
        by_place.push_back(std::move(value));
      } else {
        by_name[name] = std::move(value);
      }
      skip_spaces();
      if (at_ < text_.size()) {
        if (text_[at_] != ',') fail("expected ','");
        ++at_;
      }
    }
  }

 private:
  // A case has the same numbers wherever it stands in the file.
  static uint32_t seed_of(const std::string& text) {
    uint32_t seed = 2166136261u;
    for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 16777619u;
    return seed;
  }
  [[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(
        "cases.txt:" + std::to_string(case_.line) + ": " + what + " at '" + text_.substr(at_) + "'");
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::vector<int64_t> read_sizes(char end) {
    std::vector<int64_t> sizes;
    while (text_[at_] != end && text_[at_] != ';') {
      char* stop = nullptr;
      sizes.push_back(std::strtoll(text_.c_str() + at_, &stop, 10));
      at_ = static_cast<size_t>(stop - text_.c_str());
      if (text_[at_] == ',') ++at_;
    }
    return sizes;
  }

  IValue read_bools() {
    std::vector<bool> list;
    for (; text_[at_] != ']'; ++at_) {
      if (text_[at_] == 'T' || text_[at_] == 'F') list.push_back(text_[at_] == 'T');
    }
    ++at_;
    return IValue(list);
  }

  IValue read_value() {
    const char c = text_[at_];
    if (c == '[') {
      ++at_;
      if (text_[at_] == 'T' || text_[at_] == 'F') return read_bools();
      std::vector<int64_t> list = read_sizes(']');
      ++at_;
      return IValue(list);
    }
    if (c == '\'') {
      const size_t end = text_.find('\'', at_ + 1);
      std::string s = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return IValue(std::move(s));
    }
    if (c == '{') {
      ++at_;
      std::vector<IValue> list;
      element_ = 0;
      for (skip_spaces(); text_[at_] != '}'; skip_spaces()) {
        list.push_back(read_value());
        ++element_;
      }
      ++at_;
      return IValue(std::move(list));
    }
    const size_t end = text_.find_first_of(",( }", at_);
    const std::string word = text_.substr(at_, end == std::string::npos ? end : end - at_);
    at_ += word.size();
    if (at_ < text_.size() && text_[at_] == '(') return read_tensor(word);
    if (word == "None") return IValue();
    if (word == "True") return IValue(true);
    if (word == "False") return IValue(false);
    if (word == "float64") return IValue(complex_ ? at::kComplexDouble : at::kDouble);
    if (word == "complex128") return IValue(at::kComplexDouble);
    if (word == "inf") return IValue(std::numeric_limits<double>::infinity());
    char* stop = nullptr;
    if (word.find_first_of(".e") == std::string::npos) {
      const int64_t number = std::strtoll(word.c_str(), &stop, 10);
      if (*stop == 0 && !word.empty()) return IValue(number);
    } else {
      const double number = std::strtod(word.c_str(), &stop);
      if (*stop == 0) return IValue(number);
    }
    fail("what is '" + word + "'?");
  }

  IValue read_tensor(const std::string& kind) {
    ++at_;
    if (kind == "t") {
      char* stop = nullptr;
      const double value = std::strtod(text_.c_str() + at_, &stop);
      at_ = static_cast<size_t>(stop - text_.c_str()) + 1;
      return IValue(at::full({}, value, at::TensorOptions().dtype(at::kDouble)));
    }
    const std::vector<int64_t> sizes = read_sizes(')');
    if (kind == "i" || kind == "r") {
      ++at_;
      const std::vector<int64_t> low = read_sizes(')');
      ++at_;
      const std::vector<int64_t> high = read_sizes(')');
      ++at_;
      Tensor t = at::empty(sizes, at::TensorOptions().dtype(at::kLong));
      std::uniform_int_distribution<int64_t> distribution(low[0], std::max(low[0], high[0] - 1));
      for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<int64_t>()[i] = kind == "r" ? low[0] + i * high[0] : distribution(generator_);
      return IValue(t);
    }
    ++at_;
    if (kind == "b") {
      Tensor t = at::empty(sizes, at::TensorOptions().dtype(at::kBool));
      for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<bool>()[i] = generator_() % 2 == 0 || i == 0;
      return IValue(t);
    }
    double low = -1.5, high = 1.5;
    bool requires_grad = true;
    bool complex = complex_;
    if (kind == "p") low = 0.3, high = 1.7;
    else if (kind == "u") low = -0.8, high = 0.8;
    else if (kind == "g") low = 1.2, high = 2.4;
    else if (kind == "p01") low = 0.1, high = 0.9;
    else if (kind == "n01") low = 0.1, high = 0.9, requires_grad = false;
    else if (kind == "p0") low = 0.3, high = 1.7, requires_grad = false;
    else if (kind == "n") requires_grad = false;
    else if (kind == "c") complex = true;
    else if (kind != "d") fail("what is '" + kind + "'?");
    Tensor t = at::empty(sizes, at::TensorOptions().dtype(complex ? at::kComplexDouble : at::kDouble));
    std::uniform_real_distribution<double> distribution(low, high);
    double* data = static_cast<double*>(t.data_ptr());
    for (int64_t i = 0; i < t.numel() * (complex ? 2 : 1); ++i) data[i] = distribution(generator_);
    if (requires_grad) {
      t.set_requires_grad(true);
      inputs.push_back(t);
      places.emplace_back(place_, element_);
    }
    return IValue(t);
  }

  const Case& case_;
  const bool complex_;
  std::mt19937 generator_;
  std::string text_;
  size_t at_ = 0;
  int place_ = 0;
  int element_ = -1;
};

c10::OperatorHandle find(const std::string& name) {
  const size_t dot = name.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      "aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
}

void collect(const IValue& value, variable_list& results) {
  if (value.isTensor()) {
    results.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const Tensor& t : value.toTensorVector()) results.push_back(t);
  }
}

GradcheckFunction call_of(const c10::OperatorHandle& op, const ArgumentReader& reader, bool clone_first) {
  return [&op, &reader, clone_first](const variable_list& inputs) {
    c10::Stack stack;
    const auto& arguments = op.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (i < reader.by_place.size()) {
        stack.push_back(reader.by_place[i]);
      } else if (const auto named = reader.by_name.find(arguments[i].name()); named != reader.by_name.end()) {
        stack.push_back(named->second);
      } else if (arguments[i].default_text().has_value()) {
        stack.push_back(*arguments[i].default_value());
      } else {
        throw std::runtime_error("no value for argument " + arguments[i].name());
      }
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto [place, element] = reader.places[k];
      const bool copied = clone_first && place == 0;
      IValue value(copied ? at::clone(inputs[k]) : inputs[k]);
      if (element < 0) {
        stack[static_cast<size_t>(place)] = std::move(value);
      } else {
        std::vector<IValue> list = stack[static_cast<size_t>(place)].toListRef().vec();
        list[static_cast<size_t>(element)] = std::move(value);
        stack[static_cast<size_t>(place)] = IValue(std::move(list));
      }
    }
    op.callBoxed(stack);
    variable_list results;
    for (const IValue& value : stack) collect(value, results);
    return results;
  };
}

bool is_mutating(const std::string& op) {
  const std::string base = op.substr(0, op.find('.'));
  return base.back() == '_' && base.size() > 1;
}

// The results of `function` and their derivatives along a fixed direction, by a level of forward mode of its own.
GradcheckFunction with_tangents(const GradcheckFunction& function, const variable_list& inputs) {
  variable_list directions;
  for (const at::Tensor& input : inputs) {
    directions.push_back(input.defined() && input.requires_grad() ? at::add(at::cos(input.detach()), 0.25) : at::Tensor());
  }
  return [=](const variable_list& given) {
    const forward_ad::dual_level level;
    variable_list duals = given;
    for (size_t i = 0; i < duals.size(); ++i) {
      if (directions[i].defined()) duals[i] = forward_ad::make_dual(given[i], directions[i]);
    }
    variable_list results;
    for (const at::Tensor& result : function(duals)) {
      const auto [primal, tangent] = forward_ad::unpack_dual(result);
      results.push_back(primal);
      if (tangent.defined()) results.push_back(tangent);
    }
    return results;
  };
}

void check(const Case& c, const TableEntry& entry, bool complex) {
  SCOPED_TRACE("cases.txt:" + std::to_string(c.line) + " " + c.op + ": " + c.arguments + (complex ? " (complex)" : ""));
  try {
    ArgumentReader reader(c, complex);
    reader.read();
    const c10::OperatorHandle op = find(c.op);
    const GradcheckFunction function = call_of(op, reader, is_mutating(c.op));
    const GradcheckResult first = gradcheck(function, reader.inputs);
    EXPECT_TRUE(first.ok) << first.message;
    GradcheckOptions forward;
    forward.check_backward_ad = false;
    forward.check_forward_ad = true;
    if (entry.has_forward) {
      const GradcheckResult tangents = gradcheck(function, reader.inputs, forward);
      EXPECT_TRUE(tangents.ok) << tangents.message;
    }
    if (first.ok && c.flags.count("first") == 0) {
      const GradcheckResult second = gradgradcheck(function, reader.inputs);
      EXPECT_TRUE(second.ok) << "second derivative: " << second.message;
      if (entry.has_forward && c.flags.count("reverse") == 0) {
        const GradcheckResult tangents = gradgradcheck(function, reader.inputs, forward);
        EXPECT_TRUE(tangents.ok) << "forward over reverse: " << tangents.message;
        const GradcheckResult nested = gradcheck(with_tangents(function, reader.inputs), reader.inputs, forward);
        EXPECT_TRUE(nested.ok) << "forward over forward: " << nested.message;
        if (entry.inplace.empty()) {  // else that does as well
          const GradcheckResult reverse = gradcheck(with_tangents(function, reader.inputs), reader.inputs);
          EXPECT_TRUE(reverse.ok) << "reverse over forward: " << reverse.message;
        }
      }
    }
    if (!first.ok || entry.inplace.empty() || reader.places.empty() || reader.places[0].first != 0) return;
    const variable_list result = function(reader.inputs);
    if (result.size() != 1 || result[0].sizes() != reader.inputs[0].sizes() ||
        result[0].scalar_type() != reader.inputs[0].scalar_type()) {
      return;
    }
    const c10::OperatorHandle inplace = find(entry.inplace);
    forward.check_backward_ad = true;
    forward.check_forward_ad = entry.has_forward;
    const GradcheckFunction writing = call_of(inplace, reader, true);
    const GradcheckResult third = gradcheck(writing, reader.inputs, forward);
    EXPECT_TRUE(third.ok) << entry.inplace << ": " << third.message;
    if (!third.ok || !entry.has_forward || c.flags.count("first") != 0) return;
    const GradcheckResult fourth = gradcheck(with_tangents(writing, reader.inputs), reader.inputs);
    EXPECT_TRUE(fourth.ok) << "reverse over forward, " << entry.inplace << ": " << fourth.message;
  } catch (const c10::Error& e) {
    ADD_FAILURE() << e.what_without_backtrace();
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

TEST(Gradients, EveryCase) {
  const std::map<std::string, TableEntry> tables = read_tables();
  const char* only = std::getenv("GRADIENTS_ONLY");
  for (const Case& c : read_cases().cases) {
    if (only != nullptr && c.op.find(only) == std::string::npos) continue;
    const auto entry = tables.find(c.op);
    if (entry == tables.end()) {
      ADD_FAILURE() << "cases.txt:" << c.line << ": the tables have no operator " << c.op;
      continue;
    }
    if (!entry->second.has_kernel) continue;
    check(c, entry->second, false);
    if (c.flags.count("complex") != 0) check(c, entry->second, true);
  }
}

// By itself ctc_loss has the gradient of what log_softmax makes its argument of.
TEST(Gradients, CtcLossAfterLogSoftmax) {
  at::manual_seed(1);
  const Tensor scores = at::randn({5, 2, 4}, at::kDouble).set_requires_grad(true),
               targets = at::fmod(at::reshape(at::arange(1, 5), {2, 2}), 4);
  const auto loss = [&](const Tensor& log_probs) {
    return at::ctc_loss(log_probs, targets, at::IntArrayRef{5, 4}, at::IntArrayRef{2, 1}, 0, at::Reduction::Sum);
  };
  const auto of_scores = [&](const variable_list& v) -> variable_list { return {loss(at::log_softmax(v[0], 2))}; };
  const GradcheckResult first = gradcheck(of_scores, {scores});
  EXPECT_TRUE(first) << first.message;
  const Tensor once = grad({of_scores({scores})[0]}, {scores}, {}, std::nullopt, /*create_graph=*/true)[0];
  try {
    grad({at::sum(once)}, {scores});
    ADD_FAILURE() << "a second derivative";
  } catch (const c10::Error& e) {
    EXPECT_NE(std::string(e.what()).find("the derivative for '_ctc_loss_backward' is not implemented"),
              std::string::npos)
        << e.what();
  }
  const Tensor log_probs = at::log_softmax(scores, 2).detach().set_requires_grad(true);
  EXPECT_TRUE(at::allclose(grad({loss(log_probs)}, {log_probs})[0], grad({of_scores({scores})[0]}, {scores})[0]));
}

std::vector<double> numbers_of(const Tensor& t) {
  const Tensor c = at::contiguous(at::to(t, at::kDouble));
  return {c.data_ptr<double>(), c.data_ptr<double>() + c.numel()};
}
Tensor numbers(const std::vector<double>& values, bool differentiable = true) {
  const Tensor t = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return at::detach(t).set_requires_grad(differentiable);
}

// Where no difference quotient tells: a bound that is a number takes the gradient, one that is a tensor half of it.
TEST(Gradients, ClampAtItsBounds) {
  using Numbers = std::vector<double>;
  const Tensor x = numbers({-2, -1, 0, 1, 2});
  const auto of_x = [&](const Tensor& y) { return numbers_of(grad({at::sum(y)}, {x})[0]); };
  EXPECT_EQ(of_x(at::clamp(x, -1, 1)), (Numbers{0, 0, 1, 0, 0}));
  EXPECT_EQ(of_x(at::clamp(x, -1)), (Numbers{0, 0, 1, 1, 1}));
  EXPECT_EQ(of_x(at::clamp(x, std::nullopt, 1)), (Numbers{1, 1, 1, 0, 0}));
  EXPECT_EQ(of_x(at::clamp_min(x, -1)), (Numbers{0, 0, 1, 1, 1}));
  EXPECT_EQ(of_x(at::clamp_max(x, 1)), (Numbers{1, 1, 1, 0, 0}));
  EXPECT_EQ(of_x(at::_foreach_clamp_max({x}, 1)[0]), (Numbers{1, 1, 1, 0, 0}));
  const Tensor low = numbers({-1, -1, -1, -1, -1}), high = numbers({1, 1, 1, 1, 1});
  const auto of_all = [&](const Tensor& y, const variable_list& inputs) {
    Numbers all;
    for (const Tensor& g : grad({at::sum(y)}, inputs)) {
      for (const double v : numbers_of(g)) all.push_back(v);
    }
    return all;
  };
  EXPECT_EQ(of_all(at::clamp(x, low, high), {x, low, high}),
            (Numbers{0, .5, 1, .5, 0, 1, .5, 0, 0, 0, 0, 0, 0, .5, 1}));
  EXPECT_EQ(of_all(at::clamp_min(x, low), {x, low}), (Numbers{0, .5, 1, 1, 1, 1, .5, 0, 0, 0}));
  EXPECT_EQ(of_all(at::clamp_max(x, high), {x, high}), (Numbers{1, 1, 1, .5, 0, 0, 0, 0, .5, 1}));
  // Bounds that cross: the result is the upper one.
  EXPECT_EQ(of_all(at::clamp(x, high, low), {x, high, low}), (Numbers{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
}

TEST(Gradients, StatisticsOfGroups) {
  const Tensor x = numbers({1, 2, 4, 3});
  const auto [y, mean, rstd] = at::native_group_norm(at::reshape(x, {1, 2, 2}), {}, {}, 1, 2, 2, 2, 0);
  EXPECT_EQ(numbers_of(grad({at::sum(mean)}, {x}, {}, true)[0]), (std::vector<double>{.5, .5, .5, .5}));
  // 1 / deviation of a and b is 2 / |a - b|.
  EXPECT_EQ(numbers_of(grad({at::sum(rstd)}, {x})[0]), (std::vector<double>{2, -2, -2, 2}));
}

TEST(Gradients, OfWhatIsDrawn) {
  const Tensor x = numbers(std::vector<double>(64, 1)), std = numbers(std::vector<double>(64, 2));
  const auto [scaled, mask] = at::native_dropout(x, 0.5, true);
  EXPECT_EQ(numbers_of(grad({at::sum(scaled)}, {x})[0]), numbers_of(scaled));
  // As PyTorch: without `train` the mask alone.
  const auto [unsaid, kept] = at::native_dropout(x, 0.5, std::nullopt);
  EXPECT_EQ(numbers_of(grad({at::sum(unsaid)}, {x})[0]), numbers_of(kept));
  const Tensor drawn = at::add(at::normal(x, std), at::add(at::normal(x, 1.0), at::normal(0.0, std)));
  for (const Tensor& g : grad({at::sum(drawn)}, {x, std})) EXPECT_EQ(numbers_of(g), std::vector<double>(64, 0));

  // Each factor stands in the noise that the call leaves.
  const Tensor y = numbers({-2, 3, -1, 4});
  for (const bool training : {true, false}) {
    for (const bool in_place : {false, true}) {
      Tensor noise = at::zeros({4}, at::kDouble), result = at::mul(y, 2);
      if (in_place) at::rrelu_with_noise_(result, noise, 0.1, 0.3, training);
      else result = at::rrelu_with_noise(result, noise, 0.1, 0.3, training);
      const std::vector<double> got = numbers_of(grad({at::sum(result)}, {y})[0]), values = numbers_of(result);
      for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], values[i] / numbers_of(y)[i], 1e-12);
      EXPECT_EQ(numbers_of(noise)[0], training ? values[0] / -4 : 0);
    }
  }
}

TEST(Gradients, OfComplexNumbersInPolarHalves) {
  const Tensor half = at::to(numbers({2}, false), at::kHalf), abs = at::detach(half).set_requires_grad(true);
  const Tensor angle = at::detach(at::div(half, 4)).set_requires_grad(true), g = at::complex(half, at::neg(half));
  const variable_list got = grad({at::polar(abs, angle)}, {abs, angle}, {g});
  EXPECT_NEAR(numbers_of(got[0])[0], 2 * (std::cos(.5) - std::sin(.5)), 4e-3);
  EXPECT_NEAR(numbers_of(got[1])[0], -4 * (std::cos(.5) + std::sin(.5)), 8e-3);
}

TEST(Gradients, NoDerivativeIsLeftOut) {
  const Cases cases = read_cases();
  std::set<std::string> covered = cases.skipped;
  for (const Case& c : cases.cases) covered.insert(c.op);
  size_t differentiable = 0;
  for (const auto& [name, entry] : read_tables()) {
    if (!entry.has_derivative || !entry.has_kernel) continue;
    ++differentiable;
    EXPECT_TRUE(covered.count(name) != 0) << name << " (" << entry.family << ") has a derivative and no case";
  }
  EXPECT_GT(differentiable, 150u);
}

// Whether the operator takes the case's arguments as complex numbers.
bool takes_complex(const Case& c) {
  try {
    ArgumentReader reader(c, true);
    reader.read();
    const NoGradGuard no_grad;
    const c10::OperatorHandle op = find(c.op);
    const variable_list results = call_of(op, reader, is_mutating(c.op))(reader.inputs);
    return !reader.inputs.empty() && !results.empty() && (results[0].is_complex() || results[0].is_floating_point());
  } catch (const std::exception&) {
    return false;
  }
}

TEST(Gradients, ComplexNumbersAreNotLeftOut) {
  const Cases cases = read_cases();
  std::set<std::string> covered;
  for (const Case& c : cases.cases) {
    if (c.flags.count("complex") != 0 || c.flags.count("real") != 0) covered.insert(c.op);
  }
  for (const auto& [name, entry] : read_tables()) {
    if (!entry.has_derivative || !entry.has_kernel || covered.count(name) != 0) continue;
    for (const Case& c : cases.cases) {
      if (c.op != name) continue;
      EXPECT_FALSE(takes_complex(c)) << name << " (" << entry.family << ") takes complex numbers and has no complex case";
      break;
    }
  }
}

TEST(Gradients, NoForwardDerivativeIsLeftOut) {
  size_t differentiable = 0;
  for (const auto& [name, entry] : read_tables()) {
    if (!entry.has_derivative || !entry.has_kernel) continue;
    ++differentiable;
    EXPECT_TRUE(entry.has_forward) << name << " (" << entry.family << ") has a derivative and no forward derivative";
  }
  EXPECT_GT(differentiable, 150u);
}

}  // namespace
}  // namespace torch::autograd
