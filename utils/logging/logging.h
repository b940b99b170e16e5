// What parts of the library say of their work, by PyTorch's names: TORCH_LOGS in the environment, torch::_logging.
//
//   TORCH_LOGS="+dynamo" ./train                      # what torch::compile does, all of it
//   TORCH_LOGS="graph_breaks,recompiles" ./train      # these two
//   TORCH_LOGS=help ./train                           # the names
//
//   torch::_logging::set_logs({{"autograd", torch::_logging::DEBUG}, {"graph_breaks", true}});
//
// Lines go to the standard error stream, and to the file that TORCH_LOGS_OUT names:
//
//   V1201 08:30:00.123456 4711 compile/cache.cc:252] [__graph_breaks] an argument is a Future, which ...
//
// The letter is the level (V for DEBUG, I, W, E), then month and day, time, process, place, name. What is not asked for
// costs a load. "dispatch" and "autograd" see what callbacks of at::RecordFunction see, in programs that depend on
// //utils/logging:record.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>

namespace torch::_logging {

enum Level : int { NOTSET = 0, DEBUG = 10, INFO = 20, WARNING = 30, ERROR = 40, CRITICAL = 50 };

/// Parts of the library, which have levels; WARNING at first.
enum class Component : uint8_t { kAutograd, kDistributed, kDynamo };
/// Kinds of messages, which are on or off; off at first. Those of a component are on where its level is DEBUG.
enum class Artifact : uint8_t { kDispatch, kFusion, kGraphBreaks, kGraphCode, kGuards, kRecompiles };

/// A level for a component ("autograd", "distributed", "dynamo", and "all"), true or false for an artifact.
using Setting = std::variant<bool, Level>;
/// These and no others: what is not named is as at first. Throws c10::ValueError for a name that is not known, a bool
/// for a component and a level for an artifact.
void set_logs(const std::map<std::string, Setting>& logs);
/// The text of TORCH_LOGS, names with commas between them: "+name" for DEBUG, "name" for INFO, "-name" for ERROR; the
/// sign of an artifact means nothing. Throws c10::ValueError with the list of names for "help" and for a name that is
/// not known, and changes nothing then.
void set_logs(std::string_view text);
/// The list of names.
std::string help_message();

namespace detail {

// Bits: of artifacts, then four for the level of each component (level / 10).
inline constexpr uint64_t kUnread = ~uint64_t{0};
extern std::atomic<uint64_t> state;
uint64_t read_environment();

inline uint64_t current() {
  const uint64_t now = state.load(std::memory_order_relaxed);
  return now == kUnread ? read_environment() : now;
}
inline constexpr int kFirstLevel = 16;

/// Called after each change, where //utils/logging:record is linked.
extern void (*on_change)();

class Line {
 public:
  Line(const char* file, int line, int level, const char* name, bool is_artifact);
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};
const char* name_of(Component component);
const char* name_of(Artifact artifact);

}  // namespace detail

/// Whether messages of this level and above are written.
inline bool is_on(Component component, Level level) {
  const int shift = detail::kFirstLevel + 4 * static_cast<int>(component);
  return static_cast<int>(detail::current() >> shift & 15) * 10 <= level;
}
inline bool is_on(Artifact artifact) { return (detail::current() >> static_cast<int>(artifact) & 1) != 0; }

}  // namespace torch::_logging

/// KD_LOG_ARTIFACT(kGuards) << "for " << sizes; what is on the right is computed where it is written only.
#define KD_LOG_ARTIFACT(artifact)                                                                        \
  if (!::torch::_logging::is_on(::torch::_logging::Artifact::artifact)) {                                \
  } else                                                                                                 \
    ::torch::_logging::detail::Line(__FILE__, __LINE__, ::torch::_logging::DEBUG,                        \
                                    ::torch::_logging::detail::name_of(                                  \
                                        ::torch::_logging::Artifact::artifact),                          \
                                    true)                                                                \
        .stream()
/// KD_LOG_COMPONENT(kDistributed, INFO) << "rank " << rank;
#define KD_LOG_COMPONENT(component, level)                                                               \
  if (!::torch::_logging::is_on(::torch::_logging::Component::component, ::torch::_logging::level)) {    \
  } else                                                                                                 \
    ::torch::_logging::detail::Line(__FILE__, __LINE__, ::torch::_logging::level,                        \
                                    ::torch::_logging::detail::name_of(                                  \
                                        ::torch::_logging::Component::component),                        \
                                    false)                                                               \
        .stream()
