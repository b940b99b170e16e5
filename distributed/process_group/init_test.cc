// Start-up and groups, with ranks that are threads and Gloo between them.
#include "distributed/process_group/init.h"

#include <gtest/gtest.h>

#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "c10/testing/files.h"
#include "c10/testing/message_of.h"
#include "distributed/process_group/collectives.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/tcp_store.h"
#include "distributed/testing/run_ranks.h"
#include "utils/logging/logging.h"

namespace c10d {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;
using testing::errors_of_ranks;
using testing::run_ranks;

[[maybe_unused]] const bool is_local = ::setenv("GLOO_SOCKET_IFNAME", "lo", 1) == 0;

constexpr milliseconds kLong(20000);

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// A port that was free a moment ago.
uint16_t free_port() {
  TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  return c10::make_intrusive<TCPStore>("127.0.0.1", options)->getPort();
}

void expect_sum(const GroupArg& group = std::nullopt) {
  const at::Tensor t = at::ones({3});
  torch::distributed::all_reduce(t, ReduceOp::SUM, group);
  EXPECT_EQ(t.data_ptr<float>()[2], static_cast<float>(get_world_size(group)));
}

void init_with(const c10::intrusive_ptr<Store>& store, int rank, int size, milliseconds timeout = kLong) {
  init_process_group("gloo", {.timeout = timeout, .world_size = size, .rank = rank, .store = store});
}

// Ranks of a default group.
void with_ranks(int size, const std::function<void(int)>& body) {
  const auto store = c10::make_intrusive<HashStore>();
  run_ranks(size, [&](int rank) {
    init_with(store, rank, size);
    body(rank);
    destroy_process_group();
  });
}

// --- names and texts ---

TEST(InitProcessGroup, IsLogged) {
  torch::_logging::set_logs("distributed");
  ::testing::internal::CaptureStderr();
  with_ranks(2, [](int) {});
  torch::_logging::set_logs("");
  const std::string text = ::testing::internal::GetCapturedStderr();
  expect_contains(text, "[distributed] process group '0': rank 1 of 2 on cpu:gloo");
  expect_contains(text, "[distributed] process group '0' ends");
}

TEST(GroupRegistry, Names) {
  const RankScope scope;
  auto group = c10::make_intrusive<ProcessGroup>(0, 1);
  register_process_group("a", group);
  EXPECT_EQ(resolve_process_group("a"), group);
  EXPECT_EQ(message_of([&] { register_process_group("a", group); }),
            "A process group is already registered under the name 'a'");
  expect_contains(message_of([] { resolve_process_group("b"); }), "Could not resolve the process group");
  {
    const RankScope other;
    EXPECT_THROW(resolve_process_group("a"), c10::Error);
  }
  group = nullptr;
  expect_contains(message_of([] { resolve_process_group("a"); }), "has already been destroyed");
  register_process_group("a", c10::make_intrusive<ProcessGroup>(0, 1));
  unregister_process_group("a");
  unregister_process_group("a");
  expect_contains(message_of([] { resolve_process_group("a"); }), "Could not resolve");
  unregister_all_process_groups();
}

TEST(BackendPlugins, Texts) {
  using Parts = std::vector<std::pair<c10::DeviceType, std::string>>;
  const Parts gloo{{c10::kCPU, "gloo"}};
  EXPECT_EQ(parse_backends("gloo"), gloo);
  EXPECT_EQ(parse_backends("CPU:Gloo"), gloo);
  EXPECT_EQ(parse_backends(""), gloo);
  EXPECT_TRUE(is_gloo_available());
  EXPECT_FALSE(is_nccl_available() || is_mpi_available() || is_ucc_available() || is_xccl_available());
  expect_contains(message_of([] { parse_backends("cpu:gloo,cuda:nccl"); }),
                  "doesn't have nccl built in: this program has gloo; a program that uses it links "
                  "//distributed/process_group/nccl");
  expect_contains(message_of([] { parse_backends("smoke"); }), "doesn't have smoke built in");
  expect_contains(message_of([] { parse_backends("cuda:gloo"); }), "gloo does not serve tensors on cuda");
  EXPECT_THROW(parse_backends("cpu:"), c10::ValueError);
  EXPECT_THROW(parse_backends("cpu:gloo:x"), c10::ValueError);
  EXPECT_THROW(parse_backends("gloo,cpu:gloo"), c10::ValueError);
}

TEST(Rendezvous, FirstHost) {
  EXPECT_EQ(detail::first_host("node[001-004,007],login"), "node001");
  EXPECT_EQ(detail::first_host("a,b"), "a");
  EXPECT_EQ(detail::first_host("gpu[3,5]-ib[2-9]"), "gpu3-ib2");
  EXPECT_EQ(detail::first_host("alone"), "alone");
}

TEST(Rendezvous, WhatIsMissing) {
  const RankScope scope;
  expect_contains(message_of([] { rendezvous("env://"); }), "environment variable RANK expected, but not set");
  set_rank_environment("RANK", "0");
  expect_contains(message_of([] { rendezvous("env://"); }), "environment variable WORLD_SIZE expected");
  set_rank_environment("WORLD_SIZE", "1");
  expect_contains(message_of([] { rendezvous("env://"); }), "environment variable MASTER_ADDR expected");
  set_rank_environment("MASTER_ADDR", "127.0.0.1");
  expect_contains(message_of([] { rendezvous("env://"); }), "environment variable MASTER_PORT expected");
  set_rank_environment("MASTER_PORT", "no");
  expect_contains(message_of([] { rendezvous("env://"); }), "expected a number for MASTER_PORT, but got 'no'");
  set_rank_environment("RANK", "2");
  expect_contains(message_of([] { rendezvous("env://"); }), "rank 2 is none of the 1 ranks");
  expect_contains(message_of([] { rendezvous("tcp://127.0.0.1:5"); }), "tcp:// rendezvous: rank parameter missing");
  expect_contains(message_of([] { rendezvous("tcp://127.0.0.1:5?rank=0"); }), "world size parameter missing");
  expect_contains(message_of([] { rendezvous("tcp://127.0.0.1?rank=0&world_size=1"); }), "port number missing");
  expect_contains(message_of([] { rendezvous("file://", 0, 1); }), "path missing");
  expect_contains(message_of([] { rendezvous("smoke://x", 0, 1); }), "No rendezvous handler for smoke://");
  EXPECT_THROW(rendezvous("nothing"), c10::ValueError);
}

// --- ways to start ---

TEST(Init, ByEnvironment) {
  const std::string port = std::to_string(free_port());
  run_ranks(3, [&](int rank) {
    set_rank_environment("RANK", std::to_string(rank));
    set_rank_environment("WORLD_SIZE", "3");
    set_rank_environment("MASTER_ADDR", "127.0.0.1");
    set_rank_environment("MASTER_PORT", port);
    set_rank_environment("LOCAL_RANK", std::to_string(rank + 10));
    EXPECT_FALSE(is_initialized());
    EXPECT_EQ(message_of([] { get_rank(); }),
              "Default process group has not been initialized, please make sure to call init_process_group.");
    torch::distributed::init_process_group();
    EXPECT_TRUE(is_initialized() && is_available());
    EXPECT_EQ(get_rank(), rank);
    EXPECT_EQ(get_world_size(), 3);
    EXPECT_EQ(get_backend(), "gloo");
    EXPECT_EQ(get_backend_config(), "cpu:gloo");
    EXPECT_EQ(get_node_local_rank(), rank + 10);
    EXPECT_EQ(get_default_group()->getGroupName(), "0");
    EXPECT_EQ(get_default_group()->getGroupDesc(), "default_pg");
    EXPECT_EQ(resolve_process_group("0"), get_default_group());
    EXPECT_EQ(message_of([] { init_process_group(); }), "trying to initialize the default process group twice!");
    expect_sum();
    torch::distributed::barrier();
    destroy_process_group();
    EXPECT_FALSE(is_initialized());
    EXPECT_THROW(resolve_process_group("0"), c10::Error);
  });
}

TEST(Init, ByUrl) {
  const std::string tcp = "tcp://127.0.0.1:" + std::to_string(free_port());
  run_ranks(2, [&](int rank) {
    init_process_group("gloo", {.init_method = tcp + "?world_size=2&rank=" + std::to_string(rank)});
    expect_sum();
    torch::distributed::barrier();
    destroy_process_group();
  });
  const std::string file = "file://" + c10::testing::fresh_folder() + "/store";
  run_ranks(2, [&](int rank) {
    init_process_group("gloo", {.init_method = file, .timeout = kLong, .world_size = 2, .rank = rank});
    expect_sum();
    destroy_process_group();
  });
}

// A store that stays, and a second time on it.
TEST(Init, ByStoreAgain) {
  const auto store = c10::make_intrusive<HashStore>();
  run_ranks(2, [&](int rank) {
    for (int turn = 0; turn < 3; ++turn) {
      init_with(store, rank, 2);
      expect_sum();
      expect_sum(new_group());
      destroy_process_group();
    }
  });
}

TEST(Init, BySlurmAndOpenMpi) {
  const std::string port = std::to_string(free_port());
  run_ranks(2, [&](int rank) {
    set_rank_environment("MASTER_PORT", port);
    set_rank_environment("SLURM_PROCID", std::to_string(rank));
    set_rank_environment("SLURM_NTASKS", "2");
    set_rank_environment("SLURM_NODELIST", "localhost,other");
    set_rank_environment("SLURM_LOCALID", std::to_string(rank));
    init_process_group("gloo");
    EXPECT_EQ(get_node_local_rank(), rank);
    expect_sum();
    torch::distributed::barrier();
    destroy_process_group();
  });
  const std::string other = std::to_string(free_port());
  run_ranks(2, [&](int rank) {
    set_rank_environment("MASTER_PORT", other);
    set_rank_environment("OMPI_COMM_WORLD_RANK", std::to_string(rank));
    set_rank_environment("OMPI_COMM_WORLD_SIZE", "2");
    set_rank_environment("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    init_process_group("gloo");
    expect_sum();
    torch::distributed::barrier();
    destroy_process_group();
  });
}

// The launcher's server, in which each attempt has a part of its own.
TEST(Init, ByAgentsStore) {
  TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  const auto server = c10::make_intrusive<TCPStore>("127.0.0.1", options);
  for (const char* attempt : {"0", "1"}) {
    run_ranks(2, [&](int rank) {
      set_rank_environment("RANK", std::to_string(rank));
      set_rank_environment("WORLD_SIZE", "2");
      set_rank_environment("MASTER_ADDR", "127.0.0.1");
      set_rank_environment("MASTER_PORT", std::to_string(server->getPort()));
      set_rank_environment("TORCHELASTIC_USE_AGENT_STORE", "True");
      set_rank_environment("TORCHELASTIC_RESTART_COUNT", attempt);
      init_process_group("gloo");
      expect_sum();
    });
    EXPECT_TRUE(server->check({std::string("/worker/attempt_") + attempt + "/c10d/turn/1"}));
  }
}

// --- ranks that are missing, twice, or disagree ---

TEST(Init, RanksThatDoNotCome) {
  const auto store = c10::make_intrusive<HashStore>();
  const auto errors = errors_of_ranks(4, [&](int rank) {
    if (rank == 1) store->wait({"c10d/1/0/decision"});  // it comes when the others have given up
    if (rank != 3) init_with(store, rank, 4, milliseconds(rank == 0 ? 500 : 10000));
  });
  for (const size_t rank : {0u, 1u, 2u})
    expect_contains(errors[rank],
                    "process group 0: rank 0 of 4 waited for the others for 500 ms; no word from ranks 1, 3");
}

TEST(Init, OneRankTwice) {
  const auto store = c10::make_intrusive<HashStore>();
  const auto errors = errors_of_ranks(3, [&](int rank) {
    if (rank == 2) store->wait({"c10d/turn/1"});
    init_with(store, rank == 2 ? 1 : rank, 2, milliseconds(rank == 2 ? 500 : 20000));
  });
  EXPECT_EQ(errors[0] + errors[1], "");
  expect_contains(errors[2], "; no word from rank 0; rank 1 has started 2 times with this store");
}

// All are told at once.
TEST(Init, RanksThatDisagree) {
  const auto store = c10::make_intrusive<HashStore>();
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = errors_of_ranks(3, [&](int rank) { init_with(store, rank, rank == 1 ? 4 : 3); });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  for (const std::string& error : errors) expect_contains(error, "process group 0: the ranks do not agree: rank ");
}

// One rank cannot connect: the others do not wait for their deadline.
TEST(Init, ARankWithoutItsInterface) {
  const auto store = c10::make_intrusive<HashStore>();
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = errors_of_ranks(3, [&](int rank) {
    if (rank == 1) set_rank_environment("GLOO_SOCKET_IFNAME", "no-such-interface");
    init_with(store, rank, 3);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(5000));
  for (const std::string& error : errors)
    expect_contains(error, "Gloo: rank 1 of 3 failed at making the device (no-such-interface)");
}

TEST(Init, Arguments) {
  const RankScope scope;
  const auto store = c10::make_intrusive<HashStore>();
  EXPECT_EQ(message_of([&] { init_process_group("gloo", {.init_method = "env://", .store = store}); }),
            "Cannot specify both init_method and store.");
  EXPECT_EQ(message_of([&] { init_process_group("gloo", {.rank = 0, .store = store}); }),
            "world_size must be positive if using store");
  EXPECT_THROW(init_process_group("gloo", {.timeout = milliseconds(0)}), c10::ValueError);
  EXPECT_THROW(init_process_group("nccl"), c10::Error);
  EXPECT_THROW(destroy_process_group(), c10::ValueError);
  EXPECT_THROW(new_group(), c10::ValueError);
  EXPECT_EQ(get_node_local_rank(4), 4);
  EXPECT_FALSE(is_initialized());
}

// --- groups of some ranks ---

TEST(NewGroup, SomeRanks) {
  with_ranks(4, [](int rank) {
    const auto odd = new_group({{3, 1}}, {.group_desc = "odd ones"});
    ASSERT_EQ(static_cast<bool>(odd), rank % 2 == 1);
    EXPECT_EQ(get_rank(odd), rank % 2 == 0 ? -1 : rank / 2);
    EXPECT_EQ(get_world_size(odd), rank % 2 == 0 ? -1 : 2);
    const auto turned = new_group({{2, 0}}, {.sort_ranks = false});
    if (odd) {
      EXPECT_EQ(odd->getGroupName(), "1");
      EXPECT_EQ(odd->getGroupDesc(), "odd ones");
      EXPECT_EQ(get_process_group_ranks(odd), (std::vector<int64_t>{1, 3}));
      EXPECT_EQ(get_group_rank(odd, 3), 1);
      EXPECT_EQ(get_global_rank(odd, 1), 3);
      EXPECT_THROW(get_group_rank(odd, 2), c10::ValueError);
      EXPECT_THROW(get_global_rank(odd, 2), c10::ValueError);
      expect_sum(odd);
    } else {
      EXPECT_EQ(turned->getGroupName(), "2");
      EXPECT_EQ(get_process_group_ranks(turned), (std::vector<int64_t>{2, 0}));
      EXPECT_EQ(get_rank(turned), rank == 2 ? 0 : 1);
      expect_sum(turned);
      destroy_process_group(turned);
      EXPECT_THROW(get_process_group_ranks(turned), c10::ValueError);
      EXPECT_THROW(resolve_process_group("2"), c10::Error);
    }
    expect_sum();
    EXPECT_THROW(get_process_group_ranks(c10::make_intrusive<ProcessGroup>(0, 1)), c10::ValueError);
  });
}

TEST(NewGroup, OnlyItsRanksCall) {
  with_ranks(3, [](int rank) {
    if (rank == 0) {
      EXPECT_THROW(new_group({{1, 2}}, {.use_local_synchronization = true}), c10::ValueError);
      return;
    }
    expect_sum(new_group({{1, 2}}, {.use_local_synchronization = true}));
    const auto again = new_group({{2, 1}}, {.use_local_synchronization = true});
    EXPECT_EQ(again->getGroupName(), "ranks_1_2:1");
    expect_sum(again);
  });
}

TEST(NewGroup, Arguments) {
  with_ranks(1, [](int) {
    EXPECT_THROW(new_group({{1}}), c10::ValueError);
    EXPECT_THROW(new_group({{0, 0}}), c10::ValueError);
    EXPECT_THROW(new_group(std::vector<int64_t>{}), c10::ValueError);
    EXPECT_THROW(new_group({{0}}, {.backend = "mpi"}), c10::Error);
  });
}

TEST(NewGroup, RanksThatDisagree) {
  const auto store = c10::make_intrusive<HashStore>();
  const auto errors = errors_of_ranks(2, [&](int rank) {
    init_with(store, rank, 2);
    rank == 0 ? new_group({{0, 1}}) : new_group({{1}});
  });
  // The group of one may be the first.
  expect_contains(errors[0] + errors[1], "process group 1: the ranks do not agree: rank ");
}

TEST(SplitGroup, Halves) {
  with_ranks(4, [](int rank) {
    const auto half = split_group(std::nullopt, {{0, 1}, {2, 3}});
    EXPECT_EQ(get_process_group_ranks(half), (std::vector<int64_t>{rank / 2 * 2, rank / 2 * 2 + 1}));
    EXPECT_EQ(half->getGroupDesc(), "default_pg:split");
    expect_sum(half);
    // Ranks are the parent's.
    const auto alone = split_group(half, {{1}});
    EXPECT_EQ(static_cast<bool>(alone), rank % 2 == 1);
    if (alone) EXPECT_EQ(get_process_group_ranks(alone), (std::vector<int64_t>{rank}));
    EXPECT_THROW(split_group(std::nullopt, {{0, 1}, {1, 2}}), c10::ValueError);
    EXPECT_THROW(split_group(std::nullopt, {}), c10::ValueError);
    expect_sum();
  });
}

TEST(NewSubgroups, BySizeAndByList) {
  with_ranks(4, [](int rank) {
    const Subgroups pairs = new_subgroups(2);
    EXPECT_EQ(pairs.all.size(), 2u);
    EXPECT_EQ(get_process_group_ranks(pairs.current), (std::vector<int64_t>{rank / 2 * 2, rank / 2 * 2 + 1}));
    EXPECT_FALSE(pairs.all[static_cast<size_t>(1 - rank / 2)]);
    expect_sum(pairs.current);
    const Subgroups some = new_subgroups_by_enumeration({{0, 3}, {1}});
    EXPECT_EQ(static_cast<bool>(some.current), rank != 2);
    if (some.current) expect_sum(some.current);
    set_rank_environment("LOCAL_WORLD_SIZE", "4");
    EXPECT_EQ(get_world_size(new_subgroups().current), 4);
    EXPECT_THROW(new_subgroups(3), c10::ValueError);
    EXPECT_THROW(new_subgroups(8), c10::ValueError);
    EXPECT_THROW(new_subgroups_by_enumeration({{0, 1}, {1, 2}}), c10::ValueError);
  });
}

// Errors of a group whose ranks are others in the job say which.
TEST(NewGroup, ErrorsNameTheJobsRanks) {
  const auto store = c10::make_intrusive<HashStore>();
  const auto errors = errors_of_ranks(4, [&](int rank) {
    init_with(store, rank, 4);
    const auto group = new_group({{1, 3}}, {.timeout = milliseconds(5000)});
    if (rank == 1) torch::distributed::all_reduce(at::ones({2}), ReduceOp::SUM, group);
    if (rank == 3) torch::distributed::all_reduce(at::ones({3}), ReduceOp::SUM, group);
  });
  for (const size_t rank : {1u, 3u}) expect_contains(errors[rank], "process group 1 of the ranks 1, 3: ALLREDUCE");
  EXPECT_EQ(errors[0] + errors[2], "");
}

}  // namespace
}  // namespace c10d
