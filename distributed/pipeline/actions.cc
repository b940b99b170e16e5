#include "distributed/pipeline/actions.h"

#include <array>
#include <utility>

#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::distributed::pipelining {
namespace {

using Type = ComputationType;

constexpr int64_t kStages = 1 << 16, kMicrobatches = 1 << 24;
constexpr std::array<std::pair<std::string_view, Type>, 12> kNames{{
    {"F", Type::FORWARD},
    {"I", Type::BACKWARD_INPUT},
    {"W", Type::BACKWARD_WEIGHT},
    {"B", Type::FULL_BACKWARD},
    {"UNSHARD", Type::UNSHARD},
    {"RESHARD", Type::RESHARD},
    {"SEND_F", Type::SEND_F},
    {"RECV_F", Type::RECV_F},
    {"SEND_B", Type::SEND_B},
    {"RECV_B", Type::RECV_B},
    {"OVERLAP_F_B", Type::OVERLAP_F_B},
    {"REDUCE_GRAD", Type::REDUCE_GRAD},
}};

bool has_microbatch(Type type) {
  return type != Type::UNSHARD && type != Type::RESHARD && type != Type::REDUCE_GRAD && type != Type::OVERLAP_F_B;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// As much of the text as an error shows.
std::string shown(std::string_view text) {
  constexpr size_t kMost = 60;
  return c10::str("'", std::string(text.substr(0, kMost)), text.size() > kMost ? "...'" : "'");
}

// Takes the number that the text begins with off it; nothing where there is none.
std::optional<int64_t> take_number(std::string_view& text, int64_t end, const char* what, std::string_view whole) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  int64_t value = 0;
  while (!text.empty() && is_digit(text.front())) {
    value = value * 10 + (text.front() - '0');
    text.remove_prefix(1);
    TORCH_CHECK_VALUE(value < end, "pipeline schedule: the ", what, " of ", shown(whole), " must be below ", end);
  }
  return value;
}

Action parse_simple(std::string_view text, std::string_view whole) {
  std::string_view rest = trimmed(text);
  const auto stage = take_number(rest, kStages, "stage", whole);
  TORCH_CHECK_VALUE(stage,
                    "pipeline schedule: expected an action that begins with the number of a stage, such as 0F1, "
                    "but got ",
                    shown(whole));
  size_t length = 0;
  while (length < rest.size() && !is_digit(rest[length])) ++length;
  const std::string_view name = rest.substr(0, length);
  rest.remove_prefix(length);
  for (const auto& [known, type] : kNames) {
    if (known != name || type == Type::OVERLAP_F_B) continue;
    const auto microbatch = take_number(rest, kMicrobatches, "microbatch", whole);
    TORCH_CHECK_VALUE(microbatch.has_value() == has_microbatch(type) && rest.empty(), "pipeline schedule: expected ",
                      has_microbatch(type) ? "the number of a microbatch" : "nothing", " behind ", std::string(known),
                      ", but got ", shown(whole));
    return make_action(*stage, type, microbatch);
  }
  TORCH_CHECK_VALUE(false, "pipeline schedule: ", shown(name), " in ", shown(whole), " is no computation");
}

}  // namespace

std::string to_string(ComputationType type) {
  for (const auto& [name, known] : kNames) {
    if (known == type) return std::string(name);
  }
  TORCH_CHECK_VALUE(false, "pipeline schedule: ", static_cast<int>(type), " is no computation");
}

Action make_action(int64_t stage_index, ComputationType type, std::optional<int64_t> microbatch_index) {
  Action action;
  action.stage_index = stage_index;
  action.computation_type = type;
  action.microbatch_index = microbatch_index;
  return action;
}

Action overlap(const Action& forward, const Action& backward) {
  Action action = make_action(forward.stage_index, Type::OVERLAP_F_B);
  action.sub_actions = {forward, backward};
  return action;
}

std::string to_string(const Action& action) {
  if (action.computation_type == Type::OVERLAP_F_B) {
    std::string parts;
    for (const Action& part : action.sub_actions) parts += (parts.empty() ? "" : ";") + to_string(part);
    return "(" + parts + ")OVERLAP_F_B";
  }
  return c10::str(action.stage_index, to_string(action.computation_type),
                  action.microbatch_index ? std::to_string(*action.microbatch_index) : "");
}

Action parse_action(std::string_view text) {
  const std::string_view whole = trimmed(text);
  if (whole.empty() || whole.front() != '(') return parse_simple(whole, whole);
  const size_t middle = whole.find(';'), end = whole.find(')');
  TORCH_CHECK_VALUE(middle != std::string_view::npos && end != std::string_view::npos && middle < end &&
                        whole.substr(end + 1) == "OVERLAP_F_B",
                    "pipeline schedule: expected (a forward;a backward)OVERLAP_F_B, but got ", shown(whole));
  const Action forward = parse_simple(whole.substr(1, middle - 1), whole);
  const Action backward = parse_simple(whole.substr(middle + 1, end - middle - 1), whole);
  TORCH_CHECK_VALUE(forward.computation_type == Type::FORWARD && (backward.computation_type == Type::FULL_BACKWARD ||
                                                                  backward.computation_type == Type::BACKWARD_INPUT),
                    "pipeline schedule: OVERLAP_F_B is of F and B, or of F and I, but got ", shown(whole));
  return overlap(forward, backward);
}

std::string to_csv(const PipelineOrder& order) {
  std::string text;
  for (const std::vector<Action>& row : order) {
    for (size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + to_string(row[i]);
    text += '\n';
  }
  return text;
}

PipelineOrder parse_csv(std::string_view text) {
  PipelineOrder order;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    std::vector<Action>& row = order.emplace_back();
    for (size_t cell = 1; !line.empty(); ++cell) {
      const size_t comma = line.find(',');
      const std::string_view content = trimmed(line.substr(0, comma));
      line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
      if (content.empty()) continue;
      try {
        row.push_back(parse_action(content));
      } catch (const c10::ValueError& e) {
        TORCH_CHECK_VALUE(false, "row ", order.size(), ", cell ", cell, ": ", e.msg());
      }
    }
  }
  return order;
}

}  // namespace torch::distributed::pipelining
