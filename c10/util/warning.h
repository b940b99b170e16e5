// Warnings, and who receives them. They are given by the macros of c10/util/exception.h.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "c10/util/exception.h"

namespace c10 {

class WarningHandler;

namespace WarningUtils {
class WarningHandlerGuard;
struct WarnAlways;
// The handler of the calling thread; not owned. Null puts the default back.
void set_warning_handler(WarningHandler* handler) noexcept;
WarningHandler* get_warning_handler() noexcept;
// When set, TORCH_WARN_ONCE warns every time.
void set_warnAlways(bool setting) noexcept;
bool get_warnAlways() noexcept;
}  // namespace WarningUtils

// What TORCH_WARN hands to the handler: what kind of warning, where it was given, and its text.
class Warning {
 public:
  // What stood in a namespace of this name before 2.0.
  using WarningHandlerGuard = WarningUtils::WarningHandlerGuard;
  using WarnAlways = WarningUtils::WarnAlways;
  static void set_warning_handler(WarningHandler* handler) noexcept { WarningUtils::set_warning_handler(handler); }
  static WarningHandler* get_warning_handler() noexcept { return WarningUtils::get_warning_handler(); }
  static void set_warnAlways(bool setting) noexcept { WarningUtils::set_warnAlways(setting); }
  static bool get_warnAlways() noexcept { return WarningUtils::get_warnAlways(); }

  using UserWarning = c10::UserWarning;
  using DeprecationWarning = c10::DeprecationWarning;
  using warning_variant_t = std::variant<UserWarning, DeprecationWarning>;

  Warning(warning_variant_t type, const SourceLocation& source_location, std::string msg, bool verbatim)
      : type_(type), source_location_(source_location), msg_(std::move(msg)), verbatim_(verbatim) {}

  warning_variant_t type() const { return type_; }
  const SourceLocation& source_location() const { return source_location_; }
  const std::string& msg() const { return msg_; }
  // The text is meant to be shown without the place.
  bool verbatim() const { return verbatim_; }

 private:
  warning_variant_t type_;
  SourceLocation source_location_;
  std::string msg_;
  bool verbatim_;
};

// Hands the warning to the calling thread's handler.
void warn(const Warning& warning);

// Receives the warnings of the threads that it is set for.
class WarningHandler {
 public:
  virtual ~WarningHandler() = default;
  // Override one of the two: the first, which hands its parts to the second, or the second, as programs from before 2.0 do. Default:
  // writes "[W file:line] Warning: text (function ...)" to the standard error stream.
  virtual void process(const Warning& warning);
  virtual void process(const SourceLocation& source_location, const std::string& msg, bool verbatim);
};

namespace WarningUtils {
// Sets the calling thread's handler for a scope.
//
//   struct Collect : c10::WarningHandler {
//     void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
//     std::vector<std::string> texts;
//   } collect;
//   c10::WarningUtils::WarningHandlerGuard guard(&collect);
class WarningHandlerGuard {
 public:
  explicit WarningHandlerGuard(WarningHandler* handler);
  ~WarningHandlerGuard();
  C10_DISABLE_COPY_AND_ASSIGN(WarningHandlerGuard);

 private:
  WarningHandler* previous_;
};

// Has TORCH_WARN_ONCE warn every time for a scope.
struct WarnAlways {
 public:
  explicit WarnAlways(bool setting = true);
  ~WarnAlways();
  C10_DISABLE_COPY_AND_ASSIGN(WarnAlways);

 private:
  bool previous_;
};
}  // namespace WarningUtils

}  // namespace c10
