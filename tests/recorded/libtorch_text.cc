// What libtorch's own C++ API says: modules' text and initial parameters, streamed values, exceptions. Expressions are
// compiled as they were recorded (expressions_main.cc).
#include "tests/recorded/libtorch_text.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <vector>

#include "aten/ops/copy/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/cpu_generator.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"
#include "tests/recorded/expressions.h"
#include "tests/recorded/families.h"

namespace recorded {
namespace {

using at::Tensor;

// libtorch makes the two layers of a tail in the order in which its compiler evaluates arguments, this library in
// Python's.
bool draws_in_another_order(const Json& one) {
  return text_of(one, "text", "").rfind("torch::nn::AdaptiveLogSoftmaxWithLoss", 0) == 0;
}

void check_module(const Outcome& outcome, const Json& one, Check& check) {
  const auto parameters = outcome.module->named_parameters();
  const auto buffers = outcome.module->named_buffers();
  // The generator first: nothing below draws.
  check.then(one.at("then"));
  Json names = Json::array(), recorded_names = Json::array();
  for (const Json& p : one.at("parameters")) recorded_names.push_back({p.at(0), p.at(1)});
  for (const auto& p : parameters) names.push_back({p.key(), c10::str(p.value().sizes())});
  check.equal("parameters", names, recorded_names);
  if (names == recorded_names && !draws_in_another_order(one)) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Check::Scope scope(check, parameters[i].key());
      const Tensor flat = at::reshape(at::to(at::detach(parameters[i].value()), at::kDouble), {-1});
      const Json& recorded = one.at("parameters")[i];
      check.number("sum", at::item(at::sum(flat)).toDouble(), recorded.at(2));
      if (flat.numel() != 0) check.number("first", at::item(at::select(flat, 0, 0)).toDouble(), recorded.at(3));
    }
  }
  Json keys = Json::array();
  for (const auto& b : buffers) keys.push_back(b.key());
  check.equal("buffers", keys, one.at("buffers"));
}

// --- exceptions ---

struct Thrown {
  std::vector<std::string> types;  // from the most special that a program can catch to the most general
  std::string message;
};

Thrown thrown_by(const Expression& call) {
  const auto thrown = [](const char* type, const c10::Error& e) {
    return Thrown{{type, "c10::Error", "std::exception"}, e.what_without_backtrace()};
  };
  try {
    call.run();
  } catch (const c10::OutOfMemoryError& e) {
    return thrown("c10::OutOfMemoryError", e);
  } catch (const c10::IndexError& e) {
    return thrown("c10::IndexError", e);
  } catch (const c10::ValueError& e) {
    return thrown("c10::ValueError", e);
  } catch (const c10::TypeError& e) {
    return thrown("c10::TypeError", e);
  } catch (const c10::NotImplementedError& e) {
    return thrown("c10::NotImplementedError", e);
  } catch (const c10::LinAlgError& e) {
    return thrown("c10::LinAlgError", e);
  } catch (const c10::Error& e) {
    return {{"c10::Error", "std::exception"}, e.what_without_backtrace()};
  } catch (const std::exception& e) {
    return {{"std::exception"}, e.what()};
  }
  return {{"none"}, ""};
}

// Operators of the table without a kernel: a call that says so is as good as it can be.
constexpr const char* kWithoutKernel[] = {"linalg_cholesky", "linalg_inv", "to_sparse"};

bool lacks_kernel(const std::string& message) {
  return std::any_of(std::begin(kWithoutKernel), std::end(kWithoutKernel), [&](const char* name) {
    return message.rfind("Could not run '" + std::string(name) + "' with arguments from the 'CPU' backend", 0) == 0;
  });
}

// Recorded messages, by how they begin, that are said in other words here: the numbers in them count.
constexpr const char* kOtherWords[] = {
    // Names a kernel.
    "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'",
    // Says nothing of the number that is wrong, or of another one.
    "numel: integer multiplication overflow",
    "zeros: Dimension size must be non-negative.",
    // Asks for a better message.
    "Expected p_in >= 0 && p_in <= 1 to be true, but got false.",
    // Of the machine that recorded it.
    "CUDA error: CUDA driver version is insufficient",
};

// Not a message for a user: a line of libtorch's source.
bool is_internal(const std::string& message) { return message.find("INTERNAL ASSERT FAILED") != std::string::npos; }

bool in_other_words(const std::string& message) {
  // A planted error is at the end.
  return message.back() != '?' && std::any_of(std::begin(kOtherWords), std::end(kOtherWords),
                                              [&](const char* words) { return message.rfind(words, 0) == 0; });
}

std::vector<std::string> numbers_in(const std::string& text) {
  std::vector<std::string> numbers;
  for (size_t i = 0, end; i < text.size(); i = end + 1) {
    for (end = i; end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0;) ++end;
    // Not a digit of a name, as in mat1.
    if (end > i && (i == 0 || std::isalpha(static_cast<unsigned char>(text[i - 1])) == 0))
      numbers.push_back(text.substr(i, end - i));
  }
  return numbers;
}

void check_call(const Expression& call, const Json& one, Check& check) {
  const Thrown thrown = thrown_by(call);
  const std::string type = one.at("type"), message = one.at("message");
  if (lacks_kernel(thrown.message)) return;
  // To refuse what makes no sense is right where libtorch does not.
  if (type == "none" && thrown.types[0] == "c10::Error") return check.equal("message", "", message);
  // An exception of a kind of its own is caught by what catches the recorded one.
  check.expect(std::find(thrown.types.begin(), thrown.types.end(), type) != thrown.types.end(),
               "type is " + thrown.types[0] + ", recorded " + type + " (" + thrown.message + ")");
  if (is_internal(message)) return;
  if (message.empty() || !in_other_words(message)) return check.equal("message", thrown.message, message);
  const std::vector<std::string> numbers = numbers_in(thrown.message);
  for (const std::string& number : numbers_in(message)) {
    check.expect(std::find(numbers.begin(), numbers.end(), number) != numbers.end(),
                 "message does not mention " + number + ": " + thrown.message);
  }
}

// libtorch prints the real part of complex numbers only.
std::string without_imaginary_parts(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = text.find_first_not_of("0123456789.e", i + 1);
    if ((text[i] == '+' || text[i] == '-') && end != std::string::npos && text[end] == 'j') {
      i = end + 1;
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace

bool libtorch_text_leaves_out(const Json& one, const std::string& field) {
  if (field == "parameters") return draws_in_another_order(one);
  if (!one.contains("type")) return false;
  const std::string expression = one.at("expression");
  const bool lacks = std::any_of(std::begin(kWithoutKernel), std::end(kWithoutKernel), [&](const char* name) {
    return expression.find(std::string(name) + "(") != std::string::npos;
  });
  return lacks || (field == "message" && is_internal(one.at("message")));
}

void replay_libtorch_text(const Json& one, Check& check) {
  const std::string text = one.at("expression");
  const Expression* expression = find_expression(text);
  if (expression == nullptr)
    return check.fail("not compiled: put the recording into tests/recorded/testdata and build again");
  if (one.contains("type")) return check_call(*expression, one, check);
  if (has(one, "seed")) at::manual_seed(one.at("seed").get<uint64_t>());
  const Outcome outcome = expression->run();
  const bool is_complex = text_of(one, "text", "").find("Complex") != std::string::npos;
  check.equal("text", is_complex ? without_imaginary_parts(outcome.text) : outcome.text, one.at("text"));
  if (one.contains("parameters")) check_module(outcome, one, check);
}

}  // namespace recorded
