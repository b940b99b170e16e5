#include "aten/extension/code_template.h"

#include <cctype>

#include "c10/util/exception.h"

namespace at::jit {
namespace {

// $name, ${name}, ${,name} or ${name,} at some place of a template.
struct Placeholder {
  std::string name;
  bool comma_before = false, comma_after = false;
  size_t end = 0;  // the place after it
};

Placeholder placeholder_at(const std::string& text, size_t at) {
  Placeholder found;
  size_t next = at + 1;
  const bool braces = next < text.size() && text[next] == '{';
  if (braces) ++next;
  const auto take = [&](char c) { return next < text.size() && text[next] == c ? (++next, true) : false; };
  if (braces) found.comma_before = take(',');
  while (next < text.size() && (std::isalnum(static_cast<unsigned char>(text[next])) != 0 || text[next] == '_'))
    found.name += text[next++];
  if (braces) {
    found.comma_after = take(',');
    TORCH_CHECK(next < text.size(), "EOS found in key");
    TORCH_CHECK(take('}'), "missing } after key ", found.name);
  }
  found.end = next;
  return found;
}

// `value` with its lines after the first indented.
std::string indented(const std::string& value, const std::string& blanks) {
  std::string out;
  for (const char c : value) {
    out += c;
    if (c == '\n') out += blanks;
  }
  return out;
}

}  // namespace

const std::string& TemplateEnv::s(const std::string& k) const {
  if (const auto found = strings_.find(k); found != strings_.end()) return found->second;
  TORCH_CHECK(parent_ != nullptr, "key not found: ", k);
  return parent_->s(k);
}

const TemplateEnv::string_list& TemplateEnv::v(const std::string& k) const {
  if (const auto found = lists_.find(k); found != lists_.end()) return found->second;
  TORCH_CHECK(parent_ != nullptr, "key not found: ", k);
  return parent_->v(k);
}

bool TemplateEnv::keyIsString(const std::string& k) const {
  if (strings_.count(k) != 0) return true;
  if (lists_.count(k) != 0) return false;
  TORCH_CHECK(parent_ != nullptr, "key not found: ", k);
  return parent_->keyIsString(k);
}

std::string CodeTemplate::format(const TemplateEnv& env) const {
  std::string out, blanks;
  bool line_is_blank = true;  // so far, and `blanks` is as long as it
  for (size_t at = 0; at < template_text.size();) {
    const char c = template_text[at];
    if (c != '$') {
      out += c;
      blanks = c == '\n' ? "" : blanks + ' ';
      line_is_blank = c == '\n' || (line_is_blank && std::isspace(static_cast<unsigned char>(c)) != 0);
      ++at;
      continue;
    }
    const Placeholder found = placeholder_at(template_text, at);
    at = found.end;
    if (env.keyIsString(found.name)) {
      out += line_is_blank ? indented(env.s(found.name), blanks) : env.s(found.name);
    } else {
      const TemplateEnv::string_list& list = env.v(found.name);
      const std::string between = line_is_blank ? "\n" + blanks : ", ";
      if (found.comma_before && !list.empty()) out += ", ";
      for (size_t i = 0; i < list.size(); ++i) {
        if (i > 0) out += between;
        out += line_is_blank ? indented(list[i], blanks) : list[i];
      }
      if (found.comma_after && !list.empty()) out += ", ";
    }
    line_is_blank = false;
  }
  return out;
}

}  // namespace at::jit
