// What a call costs with distributed tensors: small ones, on a mesh of four ranks of which three are imagined.
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "c10/core/grad_mode.h"
#include "distributed/process_group/fake/fake_process_group.h"
#include "distributed/tensor/dtensor.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;
using namespace torch::distributed::tensor;

DeviceMesh mesh() {
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(0, 4);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::CUSTOM,
                    c10::make_intrusive<c10d::FakeProcessGroup>(0, 4));
  return DeviceMesh::from_group(group, c10::kCPU);
}

at::Tensor sharded() {
  return DTensor::from_local(at::ones({2, 8}), mesh(), {Shard(0)});
}

void add_rows(bench::Program& p) {
  p.call("plain add", [] {
    return
        [guard = std::make_shared<c10::NoGradGuard>(), a = at::ones({8}), b = at::ones({8})] { return at::add(a, b); };
  });
  p.call("add", [] { return [guard = std::make_shared<c10::NoGradGuard>(), a = sharded()] { return at::add(a, a); }; });
  p.call("from_local and to_local", [] {
    return [part = at::ones({2, 8}), on = mesh()] { return DTensor::from_local(part, on, {Shard(0)}).to_local(); };
  });
  p.call("redistribute Shard to Replicate", [] {
    return [guard = std::make_shared<c10::NoGradGuard>(), a = DTensor(sharded())] {
      return a.redistribute({Replicate()});
    };
  });
  p.call("mul, sum, backward", [] {
    const at::Tensor a = DTensor(sharded()).detach().requires_grad_();
    return [a, b = sharded()] {
      a.mutable_grad() = at::Tensor();
      at::sum(at::mul(a, b)).backward();
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Program program("dtensor");
  add_rows(program);
  return program.run(argc, argv);
}
