// What calls cost between two workers of one machine, which are threads of this process.
#include <thread>

#include "aten/ops/creation/ops.h"
#include "distributed/process_group/rank_local.h"
#include "distributed/rpc/rpc.h"
#include "distributed/store/hash_store.h"
#include "utils/benchmark/program.h"

namespace {

namespace bench = torch::utils::benchmark;
namespace rpc = torch::distributed::rpc;

[[maybe_unused]] const bool functions_are_known = [] {
  rpc::register_function("nothing", [] {});
  rpc::register_function("echo", [](at::Tensor x) { return x; });
  rpc::register_function("number_of", [](at::Tensor x) { return x.numel(); });
  return true;
}();

void rows(bench::Program& p) {
  p.call("rpc_sync, nothing", [] { return [] { return rpc::rpc_sync(1, "nothing"); }; });
  p.call("100 rpc_async, nothing", [] {
    return [] {
      std::vector<rpc::FuturePtr> futures;
      for (int i = 0; i < 100; ++i) futures.push_back(rpc::rpc_async(1, "nothing"));
      for (const rpc::FuturePtr& future : futures) future->wait();
    };
  });
  p.call("remote and to_here", [] { return [x = at::ones({1})] { return rpc::remote(1, "echo", {x})->to_here(); }; });
  for (const int64_t bytes : {int64_t{1} << 10, int64_t{1} << 20, int64_t{64} << 20}) {
    const std::string size = bytes < (1 << 20) ? "1 KB" : bytes == (1 << 20) ? "1 MB" : "64 MB";
    p.call("rpc_sync, " + size + " there",
           [bytes] { return [x = at::ones({bytes / 4})] { return rpc::rpc_sync(1, "number_of", {x}); }; });
    p.call("rpc_sync, " + size + " there and back",
           [bytes] { return [x = at::ones({bytes / 4})] { return rpc::rpc_sync(1, "echo", {x}); }; });
  }
}

}  // namespace

int main(int argc, char** argv) {
  rpc::RpcBackendOptions options;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.address = "127.0.0.1";
  std::thread other([&] {
    const c10d::RankScope rank;
    rpc::init_rpc("worker1", 1, 2, options);
    rpc::shutdown();
  });
  rpc::init_rpc("worker0", 0, 2, options);
  bench::Program program("rpc");
  rows(program);
  const int code = program.run(argc, argv);
  rpc::shutdown();
  other.join();
  return code;
}
