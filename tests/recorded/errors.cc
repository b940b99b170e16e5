// Common mistakes: the call, the kind of error, and the numbers that its message mentions.
#include <cctype>
#include <set>
#include <stdexcept>

#include "c10/core/cpu_generator.h"
#include "tests/recorded/families.h"
#include "tests/recorded/python_interpreter.h"

namespace recorded {
namespace {

struct Outcome {
  std::string type;  // Python's name of it, or empty
  std::string message;
  // What C++ refuses when the program is compiled.
  bool compiler = false;
};

// Runs a call that was written for Python.
Outcome run(const std::string& call) {
  at::manual_seed(0);
  try {
    PythonInterpreter python;
    (void)python.evaluate(*parse_python(call));
  } catch (const CompilerRefuses& refusal) {
    return {"", refusal.what(), true};
  } catch (const c10::IndexError& e) {
    return {"IndexError", e.what_without_backtrace()};
  } catch (const c10::ValueError& e) {
    return {"ValueError", e.what_without_backtrace()};
  } catch (const c10::TypeError& e) {
    return {"TypeError", e.what_without_backtrace()};
  } catch (const c10::NotImplementedError& e) {
    // Declared, and not yet there.
    if (e.msg().find("has no kernel for it and none was registered") != std::string::npos)
      throw NotExpressible(e.msg());
    return {"NotImplementedError", e.what_without_backtrace()};
  } catch (const c10::LinAlgError& e) {
    return {"_LinAlgError", e.what_without_backtrace()};
  } catch (const c10::Error& e) {
    return {"RuntimeError", e.what_without_backtrace()};
  } catch (const NotExpressible&) {
    throw;
  } catch (const std::runtime_error& e) {
    return {"RuntimeError", e.what()};
  }
  return {};
}

// Python's own wrappers around numbers, lengths and ~ raise kinds that C++ has no reason for.
bool is_a_wrapper_of_python(const std::string& call) {
  for (const char* start : {"int(", "float(", "bool(", "len(", "iter(", "~"}) {
    if (call.rfind(start, 0) == 0) return true;
  }
  return false;
}

// What libtorch's C++ form takes, and this library too: optimizers of no parameters, which may be added later; any
// default dtype; layers whose settings are checked when they are called; one tensor for a list of tensors; gradients
// that can be summed to their tensor's size.
bool takes_more_than_python(const std::string& call) {
  const auto starts = [&](const char* text) { return call.rfind(text, 0) == 0; };
  const bool summed = call.find(".sum().backward(torch.ones(") != std::string::npos;
  return summed || starts("torch.set_default_dtype(") || starts("nn.GroupNorm(") || starts("torch.cat(torch.") ||
         (starts("torch.optim.") && call.find("([], ") != std::string::npos) ||
         (starts("nn.ConvTranspose") && call.find("padding_mode") != std::string::npos);
}

// The kinds that have no class of their own in C++: any c10::Error stands for them.
bool is_pythons_own(const std::string& type) {
  static const std::set<std::string> all = {"AssertionError", "KeyError", "AttributeError", "FileNotFoundError"};
  return all.count(type) > 0;
}
bool is_known(const std::string& type) {
  static const std::set<std::string> all = {"IndexError",          "ValueError",   "TypeError",
                                            "NotImplementedError", "_LinAlgError", "RuntimeError"};
  return all.count(type) > 0 || is_pythons_own(type);
}

// The integers in a text, those with a sign also without it: "-2" may be a difference.
std::set<int64_t> integers_in(const std::string& text) {
  std::set<int64_t> all;
  for (size_t i = 0; i < text.size();) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    const size_t start = i;
    uint64_t n = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i)
      n = n * 10 + static_cast<uint64_t>(text[i] - '0');
    all.insert(static_cast<int64_t>(n));
    if (start > 0 && text[start - 1] == '-') all.insert(-static_cast<int64_t>(n));
  }
  return all;
}

}  // namespace

bool mentions_other_numbers(const Json& one) {
  try {
    const Outcome got = run(one.at("call").get<std::string>());
    if (got.compiler) return true;
    const std::set<int64_t> mentioned = integers_in(got.message);
    for (const Json& number : one.at("numbers")) {
      if (mentioned.count(number.get<int64_t>() + 1) > 0) return true;
    }
  } catch (const std::exception&) {
  }
  return false;
}

void replay_errors(const Json& one, Check& check) {
  Outcome got;
  try {
    got = run(one.at("call").get<std::string>());
  } catch (const NotExpressible& reason) {
    return check.skip(reason.what());
  }
  // Where PyTorch takes the call, refusing it is right, too.
  if (one.at("error").is_null()) return;
  const std::string type = one.at("error").at("type");
  check.expect(is_known(type), "no kind of error " + type);
  // Such a call cannot be made, so that nothing of it is compared.
  if (got.compiler) return check.skip("C++ refuses it when it is compiled: " + got.message);
  if (got.type.empty() && takes_more_than_python(one.at("call")))
    return check.skip("libtorch's C++ functions take what Python refuses here");
  if (got.type.empty()) return check.fail("no error, recorded " + type);
  if (!is_pythons_own(type) && !is_a_wrapper_of_python(one.at("call")))
    check.expect(got.type == type, got.type + ", recorded " + type + ": " + got.message);
  const std::set<int64_t> mentioned = integers_in(got.message);
  const std::vector<int64_t> numbers = one.at("numbers");
  check.expect(std::set<int64_t>(numbers.begin(), numbers.end()).size() == numbers.size(), "a number is named twice");
  for (const Json& number : one.at("numbers")) {
    if (mentioned.count(number.get<int64_t>()) == 0)
      return check.fail("does not mention " + number.dump() + ": " + got.message);
  }
}

}  // namespace recorded
