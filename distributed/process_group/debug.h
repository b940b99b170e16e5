// How much is checked and said for whoever looks for a mistake.
#pragma once

namespace c10d {

/// Off; Info; Detail: every collective is compared among all ranks before data moves (process_group_wrapper.h).
enum class DebugLevel { Off = 0, Info = 1, Detail = 2 };

/// Of the process: what was set last, or else TORCH_DISTRIBUTED_DEBUG (OFF, INFO, DETAIL), which it throws for when it
/// is something else.
DebugLevel debug_level();
void setDebugLevel(DebugLevel level);
/// As TORCH_DISTRIBUTED_DEBUG says now. Throws c10::ValueError where that is none of the three; case does not matter.
void setDebugLevelFromEnvironment();

}  // namespace c10d
