#pragma once

// What the processor and its memory give at best, measured: the second column of every table of times.

namespace torch::utils::benchmark {

struct Roofline {
  double flops = 0;  // fused multiply-adds of float32 that nothing waits for, each counted twice, a second
  double bytes = 0;  // copies of 64 MiB between warm pages, bytes read and bytes written, a second

  /// The least seconds for so much work, by whichever limit is nearer.
  double floor(double bytes_moved, double flops_done) const;
};

/// The best of several trials of `threads` threads, in about a third of a second.
Roofline measure_roofline(int threads);

}  // namespace torch::utils::benchmark
