// What saving and loading cost in one process, in the folder that CHECKPOINT_FOLDER names (/dev/shm: without a disk).
#include <cstdlib>
#include <memory>
#include <string>

#include "aten/ops/creation/ops.h"
#include "c10/util/string_util.h"
#include "distributed/checkpoint/state_dict_loader.h"
#include "distributed/checkpoint/state_dict_saver.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;
namespace dcp = torch::distributed::checkpoint;

constexpr int64_t kTensors = 64;

std::string folder() {
  const char* const name = std::getenv("CHECKPOINT_FOLDER");
  return std::string(name != nullptr ? name : "/tmp") + "/kindling_checkpoint_benchmark";
}

dcp::StateDict state_of(int64_t numel) {
  dcp::StateDict state;
  for (int64_t i = 0; i < kTensors; ++i) state.set(c10::str("layer", i, ".weight"), at::ones({numel}));
  return state;
}

void add_rows(bench::Program& p) {
  // 256 MiB, and tensors that cost nothing but their names.
  for (const int64_t numel : {int64_t{1} << 20, int64_t{16}}) {
    const double bytes = 4.0 * kTensors * static_cast<double>(numel);
    const std::string size = c10::str(" 64 tensors of ", numel);
    p.row("save" + size, {.bytes = bytes}, [numel] {
      return [state = state_of(numel)] { dcp::save(state, {.checkpoint_id = folder(), .no_dist = true}); };
    });
    p.row("load" + size, {.bytes = bytes}, [numel] {
      dcp::save(state_of(numel), {.checkpoint_id = folder(), .no_dist = true});
      return [state = state_of(numel)]() mutable { dcp::load(state, {.checkpoint_id = folder(), .no_dist = true}); };
    });
    p.row("copy for async_save of" + size, {.bytes = 2 * bytes}, [numel] {
      const auto stager = std::make_shared<dcp::BlockingAsyncStager>(/*cache_staged_state_dict=*/true);
      return [state = state_of(numel), stager] { return stager->stage(state); };
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("checkpoint");
  add_rows(program);
  return program.run(argc, argv);
}
