// The schedules that pipelines are known for, as data.
//
// `ranks`: how many there are. Stages lie on rank stage % ranks, or, of zbv_order() and dual_pipe_v_order(), on the
// ranks there and back: rank r has r and 2 * ranks - 1 - r. `microbatches`: into how many a batch is split. All
// microbatches of a stage go forwards in order, and backwards too. What comes back computes only: add_communication()
// adds the rest.
//
// Times below are of a stage's forward F, backward B = I + W, where a message takes none; bubbles are what a rank waits
// in a step. Memory is how many microbatches of a stage are live on a rank at most: forward begun, backward not ended.
// simulate() (simulator.h) gives both for any schedule, and the tests compare.
#pragma once

#include <cstdint>

#include "distributed/pipeline/actions.h"

namespace torch::distributed::pipelining {

/// All forwards, then all backwards (Huang et al. 2019). Bubble (ranks - 1)(F + B); memory: all microbatches.
PipelineOrder gpipe_order(int64_t ranks, int64_t microbatches);
/// After min(microbatches, ranks - rank) forwards each forward follows a backward (Narayanan et al. 2019). Bubble
/// (ranks - 1)(F + B); memory ranks - rank. Throws ValueError for fewer microbatches than ranks.
PipelineOrder one_forward_one_backward_order(int64_t ranks, int64_t microbatches);
/// The same with several stages on each rank, of which the earlier microbatch is first (Narayanan et al. 2021). Goes in
/// rounds of microbatches / max(1, microbatches / ranks), which must divide. Bubble (ranks - 1)(F + B) where
/// microbatches are a multiple of the ranks, with F and B a stage's: the more stages the smaller. Memory
/// (stages_per_rank - 1) * round + 2 * (ranks - 1 - rank) + 1.
PipelineOrder interleaved_1f1b_order(int64_t ranks, int64_t stages_per_rank, int64_t microbatches);
/// All forwards of a rank's first stage, then of its second ...; backwards from the last stage on (Lamy-Poirier 2022).
/// Bubble (ranks - 1)(F + B) from as many microbatches as ranks on; memory: all.
PipelineOrder looped_bfs_order(int64_t ranks, int64_t stages_per_rank, int64_t microbatches);
/// ZB-H1 (Qi et al. 2023): interleaved with half the forwards ahead; I without W where others wait for it, and W later,
/// where the rank would have waited. Bubble (ranks - 1)(F + I - W) where W takes no longer than F and I and
/// microbatches are a multiple of the ranks: a third of 1F1B's, if all three are equal. Memory (stages_per_rank - 1) *
/// round + ranks.
PipelineOrder interleaved_zero_bubble_order(int64_t ranks, int64_t stages_per_rank, int64_t microbatches);
/// ZB-V (Qi et al. 2024): with F = I = W no rank waits between its first and its last action, from 2 * ranks
/// microbatches on; the bubble, before and behind, is (ranks - 1) F. Memory 2 * ranks. Throws ValueError for fewer
/// microbatches than ranks.
PipelineOrder zbv_order(int64_t ranks, int64_t microbatches);
/// DualPipe cut in half (DeepSeek 2025): forwards of one stage together with backwards of the other, in OVERLAP_F_B.
/// Throws ValueError for fewer microbatches than 2 * ranks, the number of stages. Bubble 2 (ranks - 1) F with F = I = W
/// where nothing is saved by the overlap. Memory 2 * ranks + 1.
PipelineOrder dual_pipe_v_order(int64_t ranks, int64_t microbatches);

/// The forwards alone.
PipelineOrder forward_only(const PipelineOrder& order);
/// Adds SEND_F, RECV_F, SEND_B and RECV_B where neighbouring stages are on different ranks. A message is sent at once,
/// and its receive comes one computation before the one that needs it, so that the message travels meanwhile; but a
/// gradient's after its forward. Those of one stage come in the order in which they are sent. After the last backward
/// of a stage that has no REDUCE_GRAD there is one. Throws ValueError where there are messages already, and what
/// check_order() throws.
PipelineOrder add_communication(const PipelineOrder& order);

}  // namespace torch::distributed::pipelining
