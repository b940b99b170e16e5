// Source text from templates with names to fill in.
//
//   at::jit::TemplateEnv env;
//   env.s("name", "f");
//   env.v("arguments", {"int a", "int b"});
//   at::jit::CodeTemplate("void ${name}(${arguments});").format(env)    // void f(int a, int b);
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace at::jit {

/// Texts and lists of texts by name. One made from another sees the other's names where it has none of its own.
struct TemplateEnv {
  using string_list = std::vector<std::string>;

  TemplateEnv() = default;
  /// `parent` outlives the new one.
  TemplateEnv(TemplateEnv& parent) : parent_(&parent) {}
  TemplateEnv& operator=(const TemplateEnv&) = delete;

  /// Sets a name to a text, a number's text (with six digits where it has a fraction), or a list.
  void s(const std::string& k, const std::string& v) {
    strings_[k] = v;
    lists_.erase(k);
  }
  template <typename T>
  void d(const std::string& k, const T& v) {
    s(k, std::to_string(v));
  }
  void v(const std::string& k, const string_list& v) {
    lists_[k] = v;
    strings_.erase(k);
  }

  /// What a name stands for. Throw c10::Error for a name that nobody has set, or to the other kind.
  const std::string& s(const std::string& k) const;
  const string_list& v(const std::string& k) const;
  bool keyIsString(const std::string& k) const;

 private:
  const TemplateEnv* parent_ = nullptr;
  std::unordered_map<std::string, std::string> strings_;
  std::unordered_map<std::string, string_list> lists_;
};

/// A text with $name or ${name} where values go. A list's elements are separated by ", "; ${,name} begins and ${name,}
/// ends with a comma where the list is not empty. A value after blanks only takes whole lines: a list's elements one a
/// line, all lines indented like the first.
struct CodeTemplate {
  CodeTemplate(std::string t) : template_text(std::move(t)) {}

  /// Throws c10::Error for a name that `env` has not, and for a $ without one.
  std::string format(const TemplateEnv& env) const;

 private:
  std::string template_text;
};

/// CodeTemplate(fmt).format(env)
inline std::string format(const std::string& fmt, TemplateEnv& env) {
  return CodeTemplate(fmt).format(env);
}

}  // namespace at::jit
