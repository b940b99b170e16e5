#include "tests/cuda_on_host/runtime/own_time.h"

#include <chrono>

namespace cuda_standin {
namespace {

using Clock = std::chrono::steady_clock;

thread_local bool measures = false;
thread_local int depth = 0;
thread_local Clock::time_point begin;
thread_local Clock::duration sum{};

}  // namespace

OwnTime::OwnTime() {
  if (measures && depth++ == 0) begin = Clock::now();
}
OwnTime::~OwnTime() {
  if (measures && --depth == 0) sum += Clock::now() - begin;
}

double own_seconds() {
  measures = true;
  return std::chrono::duration<double>(sum).count();
}

}  // namespace cuda_standin
