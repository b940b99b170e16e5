// What the ranks of a pipeline do in a step, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torch::distributed::pipelining {

/// In text "F", "I", "W", "UNSHARD", "RESHARD", "SEND_F", "RECV_F", "SEND_B", "RECV_B", "B", "OVERLAP_F_B",
/// "REDUCE_GRAD".
enum class ComputationType : uint8_t {
  FORWARD = 1,
  BACKWARD_INPUT,   // gradients of a stage's inputs
  BACKWARD_WEIGHT,  // of its parameters, after that
  UNSHARD,          // a stage's parameters are gathered
  RESHARD,          // and spread again
  SEND_F,           // a stage's outputs go to the next one
  RECV_F,           // a stage's inputs come from the one before it
  SEND_B,           // the gradients of a stage's inputs go to the one before it
  RECV_B,           // the gradients of a stage's outputs come from the next one
  FULL_BACKWARD,    // gradients of inputs and parameters at once
  OVERLAP_F_B,      // a forward and a backward, which may be computed at the same time
  REDUCE_GRAD,      // a stage's gradients are reduced over the ranks that train with other data
};
std::string to_string(ComputationType type);

/// One thing that a rank does with a stage, for one microbatch.
struct Action {
  int64_t stage_index = 0;  // of OVERLAP_F_B: of its first part
  ComputationType computation_type = ComputationType::FORWARD;
  /// None of UNSHARD, RESHARD, REDUCE_GRAD and OVERLAP_F_B.
  std::optional<int64_t> microbatch_index;
  /// Of OVERLAP_F_B: the forward and the backward. No other has any.
  std::vector<Action> sub_actions;

  bool operator==(const Action&) const = default;
};

/// Makes actions from their parts; OVERLAP_F_B of two.
Action make_action(int64_t stage_index, ComputationType type, std::optional<int64_t> microbatch_index = std::nullopt);
Action overlap(const Action& forward, const Action& backward);

/// "2F0": forward of microbatch 0 in stage 2. "1UNSHARD". "(0F3;3B1)OVERLAP_F_B".
std::string to_string(const Action& action);
/// The action of a text, blanks around it left out. Throws ValueError, naming the text, where it is none, where a stage
/// is not below 65,536, or a microbatch not below 16,777,216.
Action parse_action(std::string_view text);

/// Rank by rank, in the order in which each does them.
using PipelineOrder = std::vector<std::vector<Action>>;

/// A row for each rank, a cell for each action.
std::string to_csv(const PipelineOrder& order);
/// What to_csv() wrote, and what PyTorch's schedules write: cells may be empty, which says nothing. Rows end in "\n" or
/// "\r\n". Throws ValueError, naming row and cell, where a cell is no action.
PipelineOrder parse_csv(std::string_view text);

}  // namespace torch::distributed::pipelining
