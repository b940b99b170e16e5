// Reads the arguments of autocast_calls.cc.
#include <cmath>
#include <map>
#include <stdexcept>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "tests/recorded/autocast_calls.h"

namespace recorded {
namespace {

using at::Tensor;
using c10::IValue;

struct Range {
  double low, high;
};

Range range_of(const std::string& kind) {
  if (kind == "p") return {0.3, 1.7};
  if (kind == "u") return {-0.8, 0.8};
  if (kind == "u01" || kind == "n01") return {0.1, 0.9};
  if (kind == "g") return {1.2, 2.4};
  return {-1.5, 1.5};
}

class Reader {
 public:
  Reader(std::string text, const MakeTensor& made) : text_(std::move(text)), made_(made) {}

  void read() {
    for (skip_spaces(); at_ < text_.size(); skip_spaces()) {
      const size_t end = text_.find_first_of(",=([{' ", at_);
      std::string name;
      if (end != std::string::npos && text_[end] == '=') {
        name = text_.substr(at_, end - at_);
        at_ = end + 1;
      }
      IValue value = read_value();
      if (name.empty())
        by_place.push_back(std::move(value));
      else
        by_name[name] = std::move(value);
      skip_spaces();
      if (at_ < text_.size()) take(',');
    }
  }

  std::vector<IValue> by_place;
  std::map<std::string, IValue> by_name;

 private:
  [[noreturn]] void fail() const {
    throw std::runtime_error("autocast_calls.cc: " + text_ + " at " + text_.substr(at_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  void take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) fail();
    ++at_;
  }

  std::vector<int64_t> read_integers(char end) {
    std::vector<int64_t> all;
    while (text_[at_] != end && text_[at_] != ';') {
      char* stop = nullptr;
      all.push_back(std::strtoll(text_.c_str() + at_, &stop, 10));
      at_ = static_cast<size_t>(stop - text_.c_str());
      if (text_[at_] == ',') ++at_;
    }
    return all;
  }

  IValue read_value() {
    const char c = text_[at_];
    if (c == '[') return read_list();
    if (c == '{') return read_tensors();
    if (c == '\'') {
      const size_t end = text_.find('\'', at_ + 1);
      const std::string word = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return IValue(word);
    }
    const size_t end = text_.find_first_of(",( }", at_);
    const std::string word = text_.substr(at_, end == std::string::npos ? end : end - at_);
    at_ += word.size();
    if (at_ < text_.size() && text_[at_] == '(') return read_tensor(word);
    return plain(word);
  }

  IValue read_list() {
    take('[');
    std::vector<bool> flags;
    while (text_[at_] == 'T' || text_[at_] == 'F') {
      flags.push_back(text_[at_] == 'T');
      at_ = text_.find_first_of(",]", at_);
      if (text_[at_] == ',') ++at_, skip_spaces();
    }
    std::vector<int64_t> integers = read_integers(']');
    take(']');
    return flags.empty() ? IValue(integers) : IValue(flags);
  }

  IValue read_tensors() {
    take('{');
    std::vector<IValue> list;
    for (skip_spaces(); text_[at_] != '}'; skip_spaces()) {
      list.push_back(read_value());
      skip_spaces();
      if (text_[at_] == ',') ++at_;
    }
    take('}');
    return IValue(std::move(list));
  }

  IValue plain(const std::string& word) const {
    static const std::map<std::string, at::ScalarType> types = {{"bfloat16", at::kBFloat16},
                                                                {"float16", at::kHalf},
                                                                {"float32", at::kFloat},
                                                                {"float64", at::kDouble},
                                                                {"bool", at::kBool},
                                                                {"uint8", at::kByte},
                                                                {"int8", at::kChar},
                                                                {"int16", at::kShort},
                                                                {"int32", at::kInt},
                                                                {"int64", at::kLong},
                                                                {"complex32", at::kComplexHalf},
                                                                {"complex64", at::kComplexFloat},
                                                                {"complex128", at::kComplexDouble}};
    if (word == "None") return {};
    if (word == "True" || word == "False") return IValue(word == "True");
    if (const auto type = types.find(word); type != types.end()) return IValue(type->second);
    if (word == "inf") return IValue(INFINITY);
    char* stop = nullptr;
    IValue value;
    if (word.find_first_of(".e") == std::string::npos)
      value = static_cast<int64_t>(std::strtoll(word.c_str(), &stop, 10));
    else
      value = std::strtod(word.c_str(), &stop);
    if (word.empty() || *stop != 0) fail();
    return value;
  }

  IValue read_tensor(const std::string& kind) {
    take('(');
    if (kind == "t") {
      char* stop = nullptr;
      const double value = std::strtod(text_.c_str() + at_, &stop);
      at_ = static_cast<size_t>(stop - text_.c_str());
      take(')');
      return IValue(made_(at::full({}, value, at::TensorOptions(at::kFloat)), true));
    }
    const std::vector<int64_t> sizes = read_integers(')');
    if (kind == "i" || kind == "i32" || kind == "r") {
      take(';');
      const int64_t low = read_integers(')')[0];
      take(';');
      const int64_t high = read_integers(')')[0];
      take(')');
      Tensor t = at::empty(sizes, at::TensorOptions(at::kLong));
      for (int64_t i = 0; i < t.numel(); ++i)
        t.data_ptr<int64_t>()[i] = kind == "r" ? low + i * high : low + i % std::max<int64_t>(1, high - low);
      return IValue(kind == "i32" ? at::to(t, at::kInt) : t);
    }
    take(')');
    if (kind == "b") {
      Tensor t = at::empty(sizes, at::TensorOptions(at::kBool));
      for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<bool>()[i] = i % 2 == 0;
      return IValue(t);
    }
    const Range range = range_of(kind);
    Tensor t = at::empty(sizes, at::TensorOptions(at::kFloat));
    for (int64_t i = 0; i < t.numel(); ++i) {
      const double place = std::fmod(static_cast<double>(i + 1) * 0.618, 1.0);
      t.data_ptr<float>()[i] = static_cast<float>(range.low + (range.high - range.low) * place);
    }
    if (kind == "s") t = at::add(at::mul(t, at::transpose(t, 0, 1)), at::mul(at::eye(sizes[0]), 4));
    return IValue(made_(t, kind != "n01"));
  }

  const std::string text_;
  const MakeTensor& made_;
  size_t at_ = 0;
};

constexpr const char* kFirst = "first of ";

std::string name_of(const AutocastCall& call) {
  const size_t begin = gives_first_result(call) ? std::string(kFirst).size() : 0;
  return call.call.substr(begin, call.call.find(": ") - begin);
}

}  // namespace

bool gives_first_result(const AutocastCall& call) {
  return call.call.rfind(kFirst, 0) == 0;
}

std::optional<c10::OperatorHandle> operator_of(const AutocastCall& call) {
  const std::string name = name_of(call);
  const size_t dot = name.find('.');
  return c10::Dispatcher::singleton().findSchema(
      {"aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
}

c10::Stack arguments_of(const AutocastCall& call, const c10::OperatorHandle& op, const MakeTensor& made) {
  Reader reader(call.call.substr(call.call.find(": ") + 2), made);
  reader.read();
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
      throw std::runtime_error("autocast_calls.cc: " + call.call + ": no value for " + arguments[i].name());
    }
  }
  return stack;
}

}  // namespace recorded
