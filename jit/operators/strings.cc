// Texts.
#include <algorithm>
#include <charconv>

#include "c10/util/exception.h"
#include "c10/value/list.h"
#include "jit/operators/operators.h"

namespace torch::jit::detail {
namespace {

using c10::IValue;
using c10::Stack;

constexpr std::string_view kBlanks = " \t\n\r\f\v";
constexpr size_t kMostBytes = size_t{1} << 28;

void len(Stack& s) {
  s.back() = IValue(static_cast<int64_t>(s.back().toStringRef().size()));
}
void add(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  TORCH_CHECK(a.toStringRef().size() + b.toStringRef().size() <= kMostBytes, "a text of more than ", kMostBytes,
              " bytes");
  s.emplace_back(a.toStringRef() + b.toStringRef());
}
void repeat(Stack& s) {
  const int64_t times = std::max<int64_t>(pop(s).toInt(), 0);
  const IValue text = pop(s);
  const std::string& part = text.toStringRef();
  TORCH_CHECK(part.empty() || static_cast<size_t>(times) <= kMostBytes / part.size(), "a text of more than ",
              kMostBytes, " bytes");
  std::string result;
  for (int64_t i = 0; i < times && !part.empty(); ++i) result += part;
  s.emplace_back(std::move(result));
}
void get_item(Stack& s) {
  const int64_t index = pop(s).toInt();
  const IValue text = pop(s);
  const auto count = static_cast<int64_t>(text.toStringRef().size());
  const int64_t at = index < 0 ? index + count : index;
  TORCH_CHECK_INDEX(at >= 0 && at < count, "string index out of range");
  s.emplace_back(std::string(1, text.toStringRef()[static_cast<size_t>(at)]));
}
void slice(Stack& s) {
  const int64_t step = pop(s).toInt();
  const IValue end = pop(s), start = pop(s), text = pop(s);
  TORCH_CHECK_VALUE(step > 0, "the step of a text's slice is positive, got ", step);
  const auto count = static_cast<int64_t>(text.toStringRef().size());
  const auto bound = [&](const IValue& v, int64_t otherwise) {
    return v.isNone() ? otherwise : std::clamp(v.toInt() < 0 ? v.toInt() + count : v.toInt(), int64_t{0}, count);
  };
  std::string result;
  const int64_t last = bound(end, count);
  for (int64_t i = bound(start, 0); i < last; i += std::min(step, count))
    result += text.toStringRef()[static_cast<size_t>(i)];
  s.emplace_back(std::move(result));
}
void contains(Stack& s) {
  const IValue part = pop(s), text = pop(s);
  s.emplace_back(text.toStringRef().find(part.toStringRef()) != std::string::npos);
}
void letters(Stack& s) {
  const IValue text = pop(s);
  c10::List<std::string> all;
  for (const char c : text.toStringRef()) all.push_back(std::string(1, c));
  s.emplace_back(all);
}
void join(Stack& s) {
  const IValue parts = pop(s), between = pop(s);
  std::string result;
  for (const IValue& part : parts.toListRef()) {
    if (&part != parts.toListRef().begin()) result += between.toStringRef();
    result += part.toStringRef();
  }
  s.emplace_back(std::move(result));
}
void split(Stack& s) {
  const int64_t most = pop(s).toInt();
  const IValue separator = pop(s), value = pop(s);
  std::string_view text = value.toStringRef();
  c10::List<std::string> parts;
  const auto full = [&] { return most >= 0 && static_cast<int64_t>(parts.size()) >= most; };
  if (separator.isNone()) {
    while (true) {
      text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
      if (text.empty()) break;
      const size_t end =
          full() ? text.find_last_not_of(kBlanks) + 1 : std::min(text.find_first_of(kBlanks), text.size());
      parts.push_back(std::string(text.substr(0, end)));
      text.remove_prefix(full() && parts.size() > static_cast<size_t>(most) ? text.size() : end);
    }
  } else {
    const std::string& by = separator.toStringRef();
    TORCH_CHECK_VALUE(!by.empty(), "empty separator");
    for (size_t at; !full() && (at = text.find(by)) != std::string_view::npos; text.remove_prefix(at + by.size()))
      parts.push_back(std::string(text.substr(0, at)));
    parts.push_back(std::string(text));
  }
  s.emplace_back(parts);
}
template <char from, char to, int by>
void change_case(Stack& s) {
  std::string text = s.back().toStringRef();
  for (char& c : text) {
    if (c >= from && c <= to) c = static_cast<char>(c + by);
  }
  s.back() = IValue(std::move(text));
}
void strip_ends(Stack& s, bool left, bool right) {
  const IValue letters = pop(s), value = pop(s);
  std::string_view text = value.toStringRef();
  const std::string_view out = letters.toStringRef();
  if (left) text.remove_prefix(std::min(text.find_first_not_of(out), text.size()));
  if (right) text.remove_suffix(text.size() - (text.find_last_not_of(out) + 1));
  s.emplace_back(std::string(text));
}
void strip(Stack& s) {
  strip_ends(s, true, true);
}
void strip_left(Stack& s) {
  strip_ends(s, true, false);
}
void strip_right(Stack& s) {
  strip_ends(s, false, true);
}
void replace(Stack& s) {
  int64_t most = pop(s).toInt();
  const IValue with = pop(s), what = pop(s), value = pop(s);
  const std::string& from = what.toStringRef();
  TORCH_CHECK_VALUE(!from.empty(), "replace: an empty text to look for");
  std::string_view text = value.toStringRef();
  std::string result;
  for (size_t at; most != 0 && (at = text.find(from)) != std::string_view::npos;
       text.remove_prefix(at + from.size()), --most) {
    result += text.substr(0, at);
    result += with.toStringRef();
    TORCH_CHECK(result.size() <= kMostBytes, "a text of more than ", kMostBytes, " bytes");
  }
  s.emplace_back(result + std::string(text));
}
// What a search is for, and the part of the text from `start` to before `end`; -1 is the end of the text.
struct Search {
  explicit Search(Stack& s) {
    int64_t end = pop(s).toInt(), first = pop(s).toInt();
    part = pop(s);
    text = pop(s);
    const auto count = static_cast<int64_t>(text.toStringRef().size());
    if (first < 0) first = std::max<int64_t>(first + count, 0);
    if (end < 0) end = std::max<int64_t>(end + count + 1, 0);
    is_inside = first <= count && first <= end;
    if (!is_inside) return;
    start = static_cast<size_t>(first);
    within = std::string_view(text.toStringRef()).substr(start, static_cast<size_t>(end - first));
  }
  std::string_view wanted() const { return part.toStringRef(); }
  // In the whole text; -1 where it is not found.
  int64_t place(size_t at) const {
    return !is_inside || at == std::string_view::npos ? -1 : static_cast<int64_t>(at + start);
  }
  IValue text, part;
  std::string_view within;
  size_t start = 0;
  bool is_inside = false;
};
void find(Stack& s) {
  const Search search(s);
  s.emplace_back(search.place(search.within.find(search.wanted())));
}
void find_last(Stack& s) {
  const Search search(s);
  s.emplace_back(search.place(search.within.rfind(search.wanted())));
}
void index(Stack& s) {
  find(s);
  TORCH_CHECK_VALUE(s.back().toInt() >= 0, "ValueError: substring not found");
}
void index_last(Stack& s) {
  find_last(s);
  TORCH_CHECK_VALUE(s.back().toInt() >= 0, "ValueError: substring not found");
}
void count(Stack& s) {
  const Search search(s);
  const std::string_view wanted = search.wanted();
  int64_t found = search.is_inside && wanted.empty() ? static_cast<int64_t>(search.within.size()) + 1 : 0;
  for (size_t at = 0; !wanted.empty() && (at = search.within.find(wanted, at)) != std::string_view::npos;
       at += wanted.size())
    ++found;
  s.emplace_back(found);
}
void starts_with(Stack& s) {
  const Search search(s);
  s.emplace_back(search.is_inside && search.within.starts_with(search.wanted()));
}
void ends_with(Stack& s) {
  const Search search(s);
  s.emplace_back(search.is_inside && search.within.ends_with(search.wanted()));
}
void ord(Stack& s) {
  TORCH_CHECK_TYPE(s.back().toStringRef().size() == 1,
                   "String for ord() must be 1 character, found: ", s.back().toStringRef().size());
  s.back() = IValue(static_cast<int64_t>(static_cast<unsigned char>(s.back().toStringRef()[0])));
}
void chr(Stack& s) {
  const int64_t code = s.back().toInt();
  TORCH_CHECK_VALUE(code >= 0 && code < 256, "chr() arg not in range(256), found: ", code);
  s.back() = IValue(std::string(1, static_cast<char>(code)));
}
void to_text(Stack& s) {
  s.back() = IValue(text_of(s.back()));
}
template <class T>
void to_number(Stack& s) {
  const std::string& text = s.back().toStringRef();
  const size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  const char* begin = text.data() + first + (text.substr(first, 1) == "+" ? 1 : 0);
  const char* end = text.data() + text.find_last_not_of(kBlanks) + 1;
  T value{};
  const auto [last, error] =
      begin < end ? std::from_chars(begin, end, value) : std::from_chars_result{begin, std::errc::invalid_argument};
  TORCH_CHECK_VALUE(error == std::errc() && last == end, "invalid literal for a number: '", text, "'");
  s.back() = IValue(value);
}

// --- of ASCII letters, as in a program whose locale is "C" ---

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_letter(char c) {
  return is_upper(c) || is_lower(c);
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}
bool is_blank(char c) {
  return kBlanks.find(c) != std::string_view::npos;
}
bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}
char to_upper(char c) {
  return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}
char to_lower(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
// Whether a text that is not empty has such letters only.
template <bool (*is)(char)>
void all_are(Stack& s) {
  const std::string& text = s.back().toStringRef();
  s.back() = IValue(!text.empty() && std::all_of(text.begin(), text.end(), is));
}
void all_printable(Stack& s) {
  const std::string& text = s.back().toStringRef();
  s.back() = IValue(std::all_of(text.begin(), text.end(), is_printable));
}
// Whether it has letters, and none of the other case.
template <bool (*is)(char), bool (*is_other)(char)>
void all_of_case(Stack& s) {
  const std::string& text = s.back().toStringRef();
  s.back() = IValue(std::any_of(text.begin(), text.end(), is) && std::none_of(text.begin(), text.end(), is_other));
}
void is_identifier(Stack& s) {
  const std::string& text = s.back().toStringRef();
  const auto fits = [](char c) { return c == '_' || is_letter_or_digit(c); };
  s.back() = IValue(!text.empty() && !is_digit(text[0]) && std::all_of(text.begin(), text.end(), fits));
}
// Whether each word begins with its only capital.
void is_title(Stack& s) {
  bool any = false, fits = true, inside = false;
  for (const char c : s.back().toStringRef()) {
    if (is_letter(c)) {
      fits = fits && is_upper(c) != inside;
      any = true;
    }
    inside = is_letter(c);
  }
  s.back() = IValue(any && fits);
}
void capitalize(Stack& s) {
  std::string text = s.back().toStringRef();
  std::transform(text.begin(), text.end(), text.begin(), to_lower);
  if (!text.empty()) text[0] = to_upper(text[0]);
  s.back() = IValue(std::move(text));
}
void title(Stack& s) {
  std::string text = s.back().toStringRef();
  bool inside = false;
  for (char& c : text) {
    c = inside ? to_lower(c) : to_upper(c);
    inside = is_letter(c);
  }
  s.back() = IValue(std::move(text));
}
void swap_case(Stack& s) {
  std::string text = s.back().toStringRef();
  for (char& c : text) c = is_lower(c) ? to_upper(c) : to_lower(c);
  s.back() = IValue(std::move(text));
}

enum class Side { kLeft, kRight, kBoth };
// The text with letters on the sides where they lack.
template <Side side>
void fill(Stack& s) {
  const IValue with = pop(s);
  const int64_t width = pop(s).toInt();
  TORCH_CHECK_TYPE(with.toStringRef().size() == 1, "The fill character must be exactly one character long");
  TORCH_CHECK_VALUE(width <= static_cast<int64_t>(kMostBytes), "a text of more than ", kMostBytes, " bytes");
  const std::string& text = s.back().toStringRef();
  const int64_t lacking = std::max<int64_t>(width - static_cast<int64_t>(text.size()), 0);
  const int64_t left = side == Side::kLeft ? lacking : side == Side::kRight ? 0 : lacking / 2 + (lacking & width & 1);
  const char letter = with.toStringRef()[0];
  s.back() = IValue(std::string(static_cast<size_t>(left), letter) + text +
                    std::string(static_cast<size_t>(lacking - left), letter));
}
void fill_with_zeros(Stack& s) {
  const int64_t width = pop(s).toInt();
  TORCH_CHECK_VALUE(width <= static_cast<int64_t>(kMostBytes), "a text of more than ", kMostBytes, " bytes");
  std::string text = s.back().toStringRef();
  const size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (static_cast<int64_t>(text.size()) < width)
    text.insert(sign, static_cast<size_t>(width - static_cast<int64_t>(text.size())), '0');
  s.back() = IValue(std::move(text));
}
void expand_tabs(Stack& s) {
  const int64_t size = pop(s).toInt();
  std::string out;
  int64_t column = 0;
  for (const char c : s.back().toStringRef()) {
    if (c == '\t') {
      const int64_t blanks = size > 0 ? size - column % size : 0;
      TORCH_CHECK_VALUE(blanks <= static_cast<int64_t>(kMostBytes - std::min(out.size(), kMostBytes)),
                        "a text of more than ", kMostBytes, " bytes");
      out.append(static_cast<size_t>(blanks), ' ');
      column += blanks;
    } else {
      out += c;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  s.back() = IValue(std::move(out));
}
// Before, the separator, behind.
void cut(Stack& s, bool first) {
  const IValue separator = pop(s), value = pop(s);
  const std::string &text = value.toStringRef(), &by = separator.toStringRef();
  TORCH_CHECK_VALUE(!by.empty(), "empty separator");
  const size_t at = first ? text.find(by) : text.rfind(by);
  if (at == std::string::npos) {
    s.emplace_back(first ? text : std::string());
    s.emplace_back(std::string());
    s.emplace_back(first ? std::string() : text);
    return;
  }
  s.emplace_back(text.substr(0, at));
  s.emplace_back(by);
  s.emplace_back(text.substr(at + by.size()));
}
void partition(Stack& s) {
  cut(s, true);
}
void partition_last(Stack& s) {
  cut(s, false);
}
void split_last(Stack& s) {
  const int64_t most = pop(s).toInt();
  const IValue separator = pop(s), value = pop(s);
  std::string_view text = value.toStringRef();
  const std::string& by = separator.toStringRef();
  TORCH_CHECK_VALUE(!by.empty(), "empty separator");
  std::vector<std::string> parts;
  for (size_t at;
       (most < 0 || static_cast<int64_t>(parts.size()) < most) && (at = text.rfind(by)) != std::string_view::npos;
       text = text.substr(0, at))
    parts.emplace_back(text.substr(at + by.size()));
  parts.emplace_back(text);
  s.emplace_back(c10::List<std::string>(std::vector<std::string>(parts.rbegin(), parts.rend())));
}
void split_lines(Stack& s) {
  const bool keeps_ends = pop(s).toBool();
  const IValue value = pop(s);
  std::string_view text = value.toStringRef();
  c10::List<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\r\v\f\x1c\x1d\x1e"), text.size());
    const size_t next = end == text.size() ? end : end + (text.substr(end, 2) == "\r\n" ? 2 : 1);
    lines.push_back(std::string(text.substr(0, keeps_ends ? next : end)));
    text.remove_prefix(next);
  }
  s.emplace_back(lines);
}
template <int base>
void in_base(Stack& s) {
  const int64_t number = s.back().toInt();
  char digits[64];
  const uint64_t size = number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const auto end = std::to_chars(digits, digits + sizeof digits, size, base).ptr;
  s.back() = IValue((number < 0 ? "-0" : "0") +
                    std::string(base == 16  ? "x"
                                : base == 8 ? "o"
                                            : "b") +
                    std::string(digits, end));
}

}  // namespace

std::string text_of(const c10::IValue& value) {
  std::string out;
  c10::detail::append_value(out, value);
  return out;
}

void add_string_operators(BuiltinOperators& all) {
  const BuiltinOperator operators[] = {
      {"aten::len.str(str s) -> int", len},
      {"aten::add.str(str a, str b) -> str", add},
      {"aten::mul.str(str a, int n) -> str", repeat},
      {"aten::__getitem__.str(str s, int index) -> str", get_item},
      {"aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str", slice},
      {"aten::__contains__.str(str s, str part) -> bool", contains},
      {"aten::list(str t) -> str[]", letters},
      {"aten::join(str self, str[] values) -> str", join},
      {"aten::split.str(str self, str? separator=None, int max=-1) -> str[]", split},
      {"aten::upper(str self) -> str", change_case<'a', 'z', 'A' - 'a'>},
      {"aten::lower(str self) -> str", change_case<'A', 'Z', 'a' - 'A'>},
      {"aten::strip(str self, str chars=\" \\n\\t\\f\\v\") -> str", strip},
      {"aten::lstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", strip_left},
      {"aten::rstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str", strip_right},
      {"aten::replace(str self, str old, str new, int max=-1) -> str", replace},
      {"aten::find(str self, str substr, int start=0, int end=-1) -> int", find},
      {"aten::rfind(str self, str substr, int start=0, int end=-1) -> int", find_last},
      {"aten::index.str(str self, str substr, int start=0, int end=-1) -> int", index},
      {"aten::rindex(str self, str substr, int start=0, int end=-1) -> int", index_last},
      {"aten::count(str self, str substr, int start=0, int end=-1) -> int", count},
      {"aten::startswith(str self, str substr, int start=0, int end=-1) -> bool", starts_with},
      {"aten::endswith(str self, str substr, int start=0, int end=-1) -> bool", ends_with},
      {"aten::isdigit(str self) -> bool", all_are<is_digit>},
      {"aten::isdecimal(str self) -> bool", all_are<is_digit>},
      {"aten::isnumeric(str self) -> bool", all_are<is_digit>},
      {"aten::isalpha(str self) -> bool", all_are<is_letter>},
      {"aten::isalnum(str self) -> bool", all_are<is_letter_or_digit>},
      {"aten::isspace(str self) -> bool", all_are<is_blank>},
      {"aten::isprintable(str self) -> bool", all_printable},
      {"aten::isupper(str self) -> bool", all_of_case<is_upper, is_lower>},
      {"aten::islower(str self) -> bool", all_of_case<is_lower, is_upper>},
      {"aten::isidentifier(str self) -> bool", is_identifier},
      {"aten::istitle(str self) -> bool", is_title},
      {"aten::capitalize(str self) -> str", capitalize},
      {"aten::title(str self) -> str", title},
      {"aten::swapcase(str self) -> str", swap_case},
      {"aten::ljust(str self, int width, str fillchar=\" \") -> str", fill<Side::kRight>},
      {"aten::rjust(str self, int width, str fillchar=\" \") -> str", fill<Side::kLeft>},
      {"aten::center(str self, int width, str fillchar=\" \") -> str", fill<Side::kBoth>},
      {"aten::zfill(str self, int width) -> str", fill_with_zeros},
      {"aten::expandtabs(str self, int tabsize=8) -> str", expand_tabs},
      {"aten::partition(str self, str separator) -> (str, str, str)", partition},
      {"aten::rpartition(str self, str separator) -> (str, str, str)", partition_last},
      {"aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", split_last},
      {"aten::splitlines(str self, bool keepends=False) -> str[]", split_lines},
      {"aten::hex(int i) -> str", in_base<16>},
      {"aten::oct(int i) -> str", in_base<8>},
      {"aten::bin(int i) -> str", in_base<2>},
      {"aten::ord(str string) -> int", ord},
      {"aten::chr(int i) -> str", chr},
      {"aten::str(Any elem) -> str", to_text},
      {"aten::Int.str(str a) -> int", to_number<int64_t>},
      {"aten::Float.str(str a) -> float", to_number<double>},
  };
  all.insert(all.end(), std::begin(operators), std::end(operators));
}

}  // namespace torch::jit::detail
