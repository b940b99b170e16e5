#include "utils/benchmark/operator_rows.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/torch.h>

namespace torch::utils::benchmark {
namespace {

using c10::IValue;
using Stack = std::vector<IValue>;

constexpr char kRows[] =
#include "utils/benchmark/operator_rows.inc"
    ;

c10::OperatorHandle find_operator(const std::string& name) {
  const size_t dot = name.find('.');
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      name.substr(0, dot).c_str(), dot == std::string::npos ? "" : name.substr(dot + 1).c_str());
}

struct Call {
  c10::OperatorHandle op;
  Stack arguments;
};

// Reads a row.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  // An operator with its arguments made, not called.
  Call call() {
    std::string name = word();
    if (name.find("::") == std::string::npos) name = "aten::" + name;
    return arguments_of(find_operator(name), {});
  }

  // The number after `key`=, a product of factors; `otherwise` where the row does not give it.
  double option(const std::string& key, double otherwise) const {
    const size_t at = text_.find(" " + key + "=");
    if (at == std::string::npos) return otherwise;
    const char* p = text_.c_str() + at + key.size() + 2;
    double product = 1;
    for (char* end;; p = end + 1) {
      product *= std::strtod(p, &end);
      if (*end != '*') return product;
    }
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    TORCH_CHECK(false, "row of benchmarks: expected ", what, " at ", text_.substr(std::min(at_, text_.size())), " of ",
                text_);
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c, const char* what) {
    if (!take(c)) fail(what);
  }
  // Letters, digits, dots and colons: a name with its namespace and overload.
  std::string word() {
    skip_spaces();
    const size_t from = at_;
    const auto in_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
    };
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    if (from == at_) fail("a name");
    return text_.substr(from, at_ - from);
  }

  Call arguments_of(const c10::OperatorHandle& op, Stack given) {
    const auto& wanted = op.schema().arguments();
    need('(', "(");
    std::vector<std::optional<IValue>> values(given.begin(), given.end());
    while (!take(')')) {
      if (!values.empty()) take(',');
      const size_t equal = text_.find_first_of("=,()[]", at_);
      if (equal != std::string::npos && text_[equal] == '=') {
        const std::string name = word();
        need('=', "=");
        const auto index = op.schema().argumentIndexWithName(name);
        TORCH_CHECK(index.has_value(), op.schema(), " has no argument ", name);
        if (static_cast<int>(values.size()) <= *index) values.resize(*index + 1);
        values[*index] = value();
      } else {
        values.push_back(value());
      }
    }
    TORCH_CHECK(values.size() <= wanted.size(), "row of benchmarks: too many arguments of ", op.schema(), " in ", text_);
    Stack stack;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (i < values.size() && values[i]) {
        stack.push_back(*values[i]);
        continue;
      }
      TORCH_CHECK(wanted[i].default_value().has_value(), "row of benchmarks: no ", wanted[i].name(), " for ", op.schema(),
                  " in ", text_);
      stack.push_back(*wanted[i].default_value());
    }
    return {op, std::move(stack)};
  }
  IValue called(const c10::OperatorHandle& op, Stack given) {
    Call call = arguments_of(op, std::move(given));
    call.op.callBoxed(call.arguments);
    TORCH_CHECK(!call.arguments.empty(), "row of benchmarks: ", call.op.schema(), " has no result");
    return call.arguments.front();
  }

  std::vector<IValue> list() {
    std::vector<IValue> values;
    need('[', "[");
    while (!take(']')) {
      if (!values.empty()) need(',', ", or ]");
      values.push_back(value());
    }
    return values;
  }
  // A list of what its elements are.
  static IValue list_of(const std::vector<IValue>& values) {
    const auto every = [&](auto is) { return std::all_of(values.begin(), values.end(), is); };
    if (every([](const IValue& v) { return v.isInt(); })) return typed<int64_t>(values, [](const IValue& v) { return v.toInt(); });
    if (every([](const IValue& v) { return v.isBool(); })) return typed<bool>(values, [](const IValue& v) { return v.toBool(); });
    if (every([](const IValue& v) { return v.isTensor(); }))
      return typed<at::Tensor>(values, [](const IValue& v) { return v.toTensor(); });
    return typed<double>(values, [](const IValue& v) { return v.toScalar().toDouble(); });
  }
  template <class T, class Get>
  static IValue typed(const std::vector<IValue>& values, Get get) {
    c10::List<T> list;
    for (const IValue& v : values) list.push_back(get(v));
    return IValue(std::move(list));
  }

  std::vector<int64_t> sizes() {
    std::vector<int64_t> to;
    need('(', "(");
    while (!take(')')) {
      if (!to.empty()) take(',');
      to.push_back(value().toInt());
    }
    return to;
  }
  static at::Tensor made(const std::string& maker, std::vector<int64_t> sizes) {
    if (maker == "randn") return torch::randn(sizes);
    if (maker == "rand") return torch::rand(sizes);
    if (maker == "ones") return torch::ones(sizes);
    if (maker == "zeros") return torch::zeros(sizes);
    if (maker == "arange") return torch::arange(sizes.at(0));
    if (maker == "randperm") return torch::randperm(sizes.at(0));
    TORCH_CHECK(maker == "randint", "row of benchmarks: unknown ", maker);
    const int64_t high = sizes.at(0);
    sizes.erase(sizes.begin());
    return torch::randint(high, sizes, torch::kLong);
  }

  IValue first_value() {
    skip_spaces();
    const char c = at_ < text_.size() ? text_[at_] : 0;
    if (c == '[') return list_of(list());
    if (c == '\'') {
      const size_t end = text_.find('\'', at_ + 1);
      if (end == std::string::npos) fail("a closing quote");
      const std::string s = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return IValue(s);
    }
    if (c == '-' || std::isdigit(static_cast<unsigned char>(c))) {
      const char* from = text_.c_str() + at_;
      char *whole, *real;
      const int64_t n = std::strtoll(from, &whole, 10);
      const double x = std::strtod(from, &real);
      at_ += std::max(whole, real) - from;
      return real > whole ? IValue(x) : IValue(n);
    }
    const std::string name = word();
    if (name == "none") return IValue();
    if (name == "true" || name == "false") return IValue(name == "true");
    if (name == "opt") {
      c10::List<std::optional<at::Tensor>> tensors;
      for (const IValue& v : list()) tensors.push_back(v.isNone() ? std::nullopt : std::optional(v.toTensor()));
      return IValue(std::move(tensors));
    }
    for (const auto& [dtype, known] : kDtypes)
      if (name == known) return IValue(static_cast<int64_t>(dtype));
    if (name == "repeat") {
      need('(', "(");
      const int64_t n = value().toInt();
      need(',', ",");
      const size_t from = at_;
      std::vector<IValue> values;
      for (int64_t i = 0; i < n; ++i) {
        at_ = from;
        values.push_back(value());
      }
      need(')', ")");
      return list_of(values);
    }
    if (name.find("::") != std::string::npos) return called(find_operator(name), {});
    return IValue(made(name, sizes()));
  }
  IValue value() {
    IValue v = first_value();
    while (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      v = called(find_operator("aten::" + word()), {v});
    }
    return v;
  }

  static constexpr std::pair<at::ScalarType, const char*> kDtypes[] = {
      {at::kFloat, "float32"}, {at::kDouble, "float64"},   {at::kHalf, "float16"},   {at::kBFloat16, "bfloat16"},
      {at::kLong, "int64"},    {at::kInt, "int32"},        {at::kShort, "int16"},    {at::kChar, "int8"},
      {at::kByte, "uint8"},    {at::kBool, "bool"},        {at::kQInt8, "qint8"},    {at::kQUInt8, "quint8"},
      {at::kQInt32, "qint32"}, {at::kComplexFloat, "complex64"}, {at::kComplexDouble, "complex128"}};

  const std::string& text_;
  size_t at_ = 0;
};

template <class F>
void for_each_tensor(const IValue& value, F f) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) f(value.toTensor());
  } else if (value.isList()) {
    for (const IValue& v : value.toListRef()) for_each_tensor(v, f);
  }
}

double bytes_of(const at::Tensor& t) {
  if (t.is_sparse()) return bytes_of(t._values()) + bytes_of(t._indices());
  if (t.layout() == at::kSparseCsr) return bytes_of(t.values()) + bytes_of(t.crow_indices()) + bytes_of(t.col_indices());
  if (t.layout() != at::kStrided || !t.has_storage()) return 0;
  return std::min(static_cast<double>(t.numel()) * t.element_size(), static_cast<double>(t.storage().nbytes()));
}

// Of arguments read once and results written once; none where a result is a view of an argument.
double bytes_moved(const c10::OperatorHandle& op, const Stack& arguments, const Stack& results) {
  double bytes = 0;
  std::vector<const void*> read;
  for (const IValue& v : arguments)
    for_each_tensor(v, [&](const at::Tensor& t) {
      bytes += bytes_of(t);
      if (t.has_storage()) read.push_back(t.storage().data());
    });
  bool view = false;
  for (const IValue& v : results)
    for_each_tensor(v, [&](const at::Tensor& t) {
      bytes += bytes_of(t);
      view |= t.has_storage() && t.numel() > 0 && std::count(read.begin(), read.end(), t.storage().data()) > 0;
    });
  return view && !op.schema().is_mutable() ? 0 : bytes;
}

struct Statement {
  std::function<void()> run;
  Work work;
};

Statement statement(const std::string& row) {
  torch::manual_seed(0);
  const bool with_gradients = row.rfind("grad ", 0) == 0;
  const std::string text = with_gradients ? row.substr(5) : row;
  Reader reader(text);
  if (!with_gradients) {
    const auto guard = std::make_shared<c10::InferenceMode>();
    const auto call = std::make_shared<Call>(reader.call());
    Stack results = call->arguments;
    call->op.callBoxed(results);
    const Work work{reader.option("bytes", bytes_moved(call->op, call->arguments, results)), reader.option("flops", 0)};
    return {[guard, call] {
              Stack stack = call->arguments;
              call->op.callBoxed(stack);
              keep(stack);
            },
            work};
  }
  const auto call = std::make_shared<Call>(reader.call());
  std::vector<at::Tensor> inputs;
  for (const IValue& v : call->arguments)
    for_each_tensor(v, [&](const at::Tensor& t) {
      if (t.is_floating_point() || t.is_complex()) inputs.push_back(t.requires_grad_());
    });
  const auto results_of = [call] {
    Stack stack = call->arguments;
    call->op.callBoxed(stack);
    std::vector<at::Tensor> results;
    for (const IValue& v : stack)
      for_each_tensor(v, [&](const at::Tensor& t) {
        if (t.requires_grad()) results.push_back(t);
      });
    return results;
  };
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& t : results_of()) gradients.push_back(at::ones_like(t.detach()));
  return {[=] { keep(torch::autograd::grad(results_of(), inputs, gradients, {}, false, /*allow_unused=*/true)); },
          {reader.option("bytes", 0), reader.option("flops", 0)}};
}

size_t closing(const std::string& line, size_t from, char close) {
  const size_t to = line.find(close, from);
  TORCH_CHECK(to != std::string::npos, "row of benchmarks: no ", close, " in ", line);
  return to;
}

std::vector<std::string> choices(const std::string& text, char separator) {
  std::vector<std::string> of;
  size_t from = 0;
  for (size_t to; (to = text.find(separator, from)) != std::string::npos; from = to + 1)
    of.push_back(text.substr(from, to - from));
  of.push_back(text.substr(from));
  return of;
}

}  // namespace

std::vector<std::string> expand_row(const std::string& line) {
  std::vector<std::string> rows;
  if (const size_t from = line.find('{'); from != std::string::npos) {
    const size_t to = closing(line, from, '}');
    for (const std::string& choice : choices(line.substr(from + 1, to - from - 1), ','))
      for (std::string& row : expand_row(line.substr(0, from) + choice + line.substr(to + 1)))
        rows.push_back(std::move(row));
    return rows;
  }
  // The text between <…> groups, and the choices of each.
  std::vector<std::string> between;
  std::vector<std::vector<std::string>> groups;
  size_t at = 0;
  for (size_t from; (from = line.find('<', at)) != std::string::npos;) {
    const size_t to = closing(line, from, '>');
    between.push_back(line.substr(at, from - at));
    groups.push_back(choices(line.substr(from + 1, to - from - 1), '|'));
    TORCH_CHECK(groups.back().size() == groups.front().size(), "row of benchmarks: as many choices in each <> of ", line);
    at = to + 1;
  }
  if (groups.empty()) return {line};
  for (size_t choice = 0; choice < groups.front().size(); ++choice) {
    std::string row;
    for (size_t g = 0; g < groups.size(); ++g) row += between[g] + groups[g][choice];
    rows.push_back(row + line.substr(at));
  }
  return rows;
}

void add_operator_row(Program& program, const std::string& row) {
  program.row(row.substr(0, row.rfind(')') + 1), [row] {
    Statement s = statement(row);
    return std::pair(std::move(s.run), s.work);
  });
}

void add_operator_rows(Program& program) {
  std::istringstream lines(kRows);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# ", 0) == 0) program.section(line.substr(2));
    if (line.empty() || line[0] == '#') continue;
    for (const std::string& row : expand_row(line)) add_operator_row(program, row);
  }
}

}  // namespace torch::utils::benchmark
