// torchrun's command line.
#include "distributed/launch/options.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <string>
#include <vector>

#include "c10/testing/message_of.h"

namespace c10d::launch {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;
using Words = std::vector<std::string>;

Machine machine(std::map<std::string, std::string> variables = {}) {
  Machine made;
  made.variable = [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  made.cpus = 6;
  made.host_name = "box";
  return made;
}

TEST(LaunchOptions, Defaults) {
  const LaunchOptions options = parse_options({"./train", "--epochs=3"}, machine());
  EXPECT_EQ(options.agent.command, (Words{"./train", "--epochs=3"}));
  EXPECT_EQ(options.agent.node.workers, 1);
  EXPECT_EQ(options.agent.node.fixed_rank, 0);
  EXPECT_EQ(options.agent.rendezvous.max_nodes, 1);
  EXPECT_EQ(options.agent.rendezvous.max_restarts, 0);
  EXPECT_EQ(options.agent.rendezvous.join_timeout, milliseconds(600000));
  EXPECT_EQ(options.agent.rendezvous.last_call_timeout, milliseconds(30000));
  EXPECT_EQ(options.agent.rendezvous.keep_alive_interval, milliseconds(5000));
  EXPECT_EQ(options.agent.rendezvous.keep_alive_max_attempt, 3);
  EXPECT_EQ(options.agent.monitor_interval, milliseconds(100));
  EXPECT_EQ(options.agent.shutdown_timeout, milliseconds(30000));
  EXPECT_EQ(options.agent.run_id, "none");
  EXPECT_EQ(options.agent.logs.prefix, "[${role_name}${rank}]:");
  EXPECT_TRUE(options.is_static);
  EXPECT_TRUE(*options.is_host);
  EXPECT_EQ(options.endpoint_host, "127.0.0.1");
  EXPECT_EQ(options.endpoint_port, 0);
  EXPECT_EQ(options.signals, (std::vector<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT}));
}

TEST(LaunchOptions, Static) {
  const LaunchOptions options = parse_options(
      {"--nnodes=4", "--node_rank", "2", "--nproc-per-node", "8", "--master-addr=first", "--master_port=1234", "p"},
      machine());
  EXPECT_EQ(options.agent.rendezvous.min_nodes, 4);
  EXPECT_EQ(options.agent.node.fixed_rank, 2);
  EXPECT_EQ(options.agent.node.workers, 8);
  EXPECT_FALSE(*options.is_host);
  EXPECT_EQ(options.endpoint_host, "first");
  EXPECT_EQ(options.endpoint_port, 1234);
  EXPECT_EQ(parse_options({"--nnodes=2", "p"}, machine()).endpoint_port, 29500);
  EXPECT_EQ(parse_options({"--nnodes=2", "--rdzv-endpoint=there:7", "p"}, machine()).endpoint_host, "there");
}

TEST(LaunchOptions, Elastic) {
  const LaunchOptions options =
      parse_options({"--nnodes=1:4", "--rdzv-endpoint=there", "--rdzv-id=job", "--max-restarts=3",
                     "--rdzv-conf=join_timeout=7,last_call_timeout=0.5,keep_alive_interval=2,"
                     "keep_alive_max_attempt=5,is_host=false,close_timeout=4",
                     "--monitor-interval=0.25", "--role=trainer", "--local-addr=10.0.0.3", "--no-python", "--", "-p"},
                    machine());
  EXPECT_FALSE(options.is_static);
  EXPECT_EQ(options.endpoint_host, "there");
  EXPECT_EQ(options.endpoint_port, 29400);
  EXPECT_FALSE(*options.is_host);
  EXPECT_EQ(options.agent.node.fixed_rank, -1);
  EXPECT_EQ(options.agent.node.role, "trainer");
  EXPECT_EQ(options.agent.run_id, "job");
  EXPECT_EQ(options.agent.rendezvous.min_nodes, 1);
  EXPECT_EQ(options.agent.rendezvous.max_nodes, 4);
  EXPECT_EQ(options.agent.rendezvous.max_restarts, 3);
  EXPECT_EQ(options.agent.rendezvous.join_timeout, milliseconds(7000));
  EXPECT_EQ(options.agent.rendezvous.last_call_timeout, milliseconds(500));
  EXPECT_EQ(options.agent.rendezvous.dead_after(), milliseconds(10000));
  EXPECT_EQ(options.agent.close_timeout, milliseconds(4000));
  EXPECT_EQ(options.agent.monitor_interval, milliseconds(250));
  EXPECT_EQ(options.local_address, "10.0.0.3");
  EXPECT_EQ(options.agent.command, Words{"-p"});
  const LaunchOptions six = parse_options({"--nnodes=1:2", "--rdzv-endpoint=[::1]:9", "p"}, machine());
  EXPECT_EQ(six.endpoint_host, "::1");
  EXPECT_EQ(six.endpoint_port, 9);
  const LaunchOptions file =
      parse_options({"--nnodes=1:2", "--rdzv-endpoint=/shared/f", "--rdzv-conf=store_type=file", "p"}, machine());
  EXPECT_EQ(file.store_kind, LaunchOptions::StoreKind::kFile);
  EXPECT_EQ(file.store_file, "/shared/f");
}

TEST(LaunchOptions, Standalone) {
  const LaunchOptions options =
      parse_options({"--standalone", "--rdzv-endpoint=there:1", "--nnodes=7", "p"}, machine());
  EXPECT_TRUE(*options.is_host);
  EXPECT_EQ(options.endpoint_host, "localhost");
  EXPECT_EQ(options.endpoint_port, 0);
  EXPECT_EQ(options.agent.rendezvous.max_nodes, 1);
  EXPECT_NE(options.agent.run_id, "none");
}

TEST(LaunchOptions, Workers) {
  Machine with_gpus = machine();
  with_gpus.gpus = 2;
  const auto workers = [](const std::string& text, const Machine& on) {
    return parse_options({"--nproc-per-node=" + text, "p"}, on).agent.node.workers;
  };
  EXPECT_EQ(workers("3", machine()), 3);
  EXPECT_EQ(workers("cpu", machine()), 6);
  EXPECT_EQ(workers("auto", machine()), 6);
  EXPECT_EQ(workers("auto", with_gpus), 2);
  EXPECT_EQ(workers("gpu", with_gpus), 2);
}

TEST(LaunchOptions, Environment) {
  const Machine said = machine(
      {{"PET_NPROC_PER_NODE", "4"}, {"PET_NNODES", "1:2"}, {"PET_RDZV_ENDPOINT", "a:1"}, {"PET_STANDALONE", "0"}});
  EXPECT_EQ(parse_options({"p"}, said).agent.node.workers, 4);
  EXPECT_EQ(parse_options({"p"}, said).agent.rendezvous.max_nodes, 2);
  EXPECT_EQ(parse_options({"--nproc-per-node=3", "p"}, said).agent.node.workers, 3);
  EXPECT_EQ(parse_options({"p"}, machine({{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "<${rank}>"}})).agent.logs.prefix,
            "<${rank}>");
}

TEST(LaunchOptions, Logs) {
  const LogOptions logs =
      parse_options({"--nproc-per-node=4", "--log-dir=/l", "-r", "0:3,2:1", "--tee=2", "--local-ranks-filter=0,1", "p"},
                    machine())
          .agent.logs;
  EXPECT_EQ(logs.folder, "/l");
  EXPECT_EQ(logs.redirects.of(0), kBoth);
  EXPECT_EQ(logs.redirects.of(1), kNoStream);
  EXPECT_EQ(logs.redirects.of(2), kOut);
  EXPECT_EQ(logs.tees.of(3), kErr);
  EXPECT_EQ(*logs.console, (std::set<int>{0, 1}));
}

TEST(LaunchOptions, WhatIsWrongIsNamed) {
  const auto error = [](Words words) { return message_of([&] { parse_options(words, machine()); }); };
  EXPECT_EQ(error({}), "torchrun: there is no program to run; --help says what can be given");
  EXPECT_EQ(error({"--nprocs=2", "p"}), "torchrun: there is no option --nprocs");
  EXPECT_EQ(error({"-x", "p"}), "torchrun: there is no option -x");
  EXPECT_EQ(error({"--nnodes"}), "torchrun: --nnodes needs a value");
  EXPECT_EQ(error({"--standalone=1", "p"}), "torchrun: --standalone takes no value");
  EXPECT_EQ(error({"--nnodes=3:2", "p"}), "torchrun: --nnodes must be a number from 1, or two as in 1:4, got '3:2'");
  EXPECT_EQ(error({"--nnodes=2", "--node-rank=2", "p"}), "torchrun: --node-rank must be a number from 0 to 1, got '2'");
  EXPECT_EQ(error({"--nproc-per-node=0", "p"}),
            "torchrun: --nproc-per-node must be a number from 1, cpu, gpu or auto, got '0'");
  EXPECT_EQ(error({"--nproc-per-node=gpu", "p"}), "torchrun: --nproc-per-node=gpu, but this machine has no GPU");
  EXPECT_EQ(error({"--max-restarts=-1", "p"}),
            "torchrun: --max-restarts must be a number from 0 to 1073741824, got '-1'");
  EXPECT_EQ(error({"--rdzv-backend=etcd", "p"}), "torchrun: --rdzv-backend must be static or c10d, got 'etcd'");
  EXPECT_EQ(error({"--rdzv-backend=static", "--nnodes=1:2", "p"}),
            "torchrun: --rdzv-backend=static needs a fixed number of nodes, got '1:2'");
  EXPECT_EQ(error({"--nnodes=1:2", "p"}),
            "torchrun: --rdzv-backend=c10d with more than one node needs --rdzv-endpoint");
  EXPECT_EQ(error({"--rdzv-conf=no_timeout=3", "p"}), "torchrun: --rdzv-conf knows no 'no_timeout'");
  EXPECT_EQ(error({"--rdzv-conf=join_timeout=x", "p"}),
            "torchrun: --rdzv-conf join_timeout must be a number of seconds, got 'x'");
  EXPECT_EQ(error({"--rdzv-conf=keep_alive_interval=0", "p"}), "rendezvous: keep_alive_interval must be positive");
  EXPECT_EQ(error({"--tee=4", "p"}),
            "torchrun: --tee must be 0 to 3, or such numbers by local rank (0:3,1:1), got '4'");
  EXPECT_EQ(error({"--redirects=1:3", "p"}),
            "torchrun: --redirects must name local ranks below 1 (0:3,1:1), got '1:3'");
  EXPECT_EQ(error({"--signals-to-handle=SIGKILL", "p"}),
            "torchrun: --signals-to-handle: 'SIGKILL' is no signal that can be handled");
  EXPECT_EQ(
      error({"-m", "p"}),
      "torchrun: workers are programs: instead of --module and --run-path name the interpreter, as in 'torchrun ... "
      "python3 -m MODULE'");
  EXPECT_EQ(error({"--cluster=slurm", "p"}), "torchrun: --cluster=slurm: the environment has no SLURM_NNODES");
}

TEST(LaunchOptions, Slurm) {
  const Machine node = machine({{"SLURM_NNODES", "3"}, {"SLURM_NODEID", "1"}, {"SLURM_JOB_NODELIST", "gpu[07-09]"}});
  const LaunchOptions options = parse_options({"--cluster=slurm", "--nproc-per-node=4", "p"}, node);
  EXPECT_EQ(options.agent.rendezvous.min_nodes, 3);
  EXPECT_EQ(options.agent.node.fixed_rank, 1);
  EXPECT_EQ(options.endpoint_host, "gpu07");
  EXPECT_EQ(options.endpoint_port, 29500);
  const LaunchOptions elastic = parse_options({"--cluster=slurm", "--nnodes=2:3", "p"}, node);
  EXPECT_EQ(elastic.endpoint_host, "gpu07");
  EXPECT_EQ(elastic.endpoint_port, 29400);
  EXPECT_FALSE(*elastic.is_host);
}

TEST(LaunchOptions, Kubernetes) {
  Machine pod = machine({{"JOB_COMPLETION_INDEX", "2"}});
  pod.host_name = "train-2.workers.team.svc.cluster.local";
  const LaunchOptions options = parse_options({"--cluster=kubernetes", "--nnodes=4", "p"}, pod);
  EXPECT_EQ(options.agent.node.fixed_rank, 2);
  EXPECT_EQ(options.endpoint_host, "train-0.workers.team.svc.cluster.local");
  Machine set = machine();
  set.host_name = "train-0.workers";
  EXPECT_TRUE(*parse_options({"--cluster=kubernetes", "--nnodes=4", "p"}, set).is_host);
  Machine named = machine({{"JOB_COMPLETION_INDEX", "1"}, {"MASTER_ADDR", "first"}});
  EXPECT_EQ(parse_options({"--cluster=kubernetes", "--nnodes=4", "p"}, named).endpoint_host, "first");
  EXPECT_EQ(message_of([&] { parse_options({"--cluster=kubernetes", "--nnodes=4", "p"}, machine()); }),
            "torchrun: --cluster=kubernetes: there is no JOB_COMPLETION_INDEX, and the host's name 'box' does not end "
            "with a number");
}

TEST(LaunchOptions, HostLists) {
  EXPECT_EQ(expand_host_list("a"), Words{"a"});
  EXPECT_EQ(expand_host_list("n[01-03,7],login"), (Words{"n01", "n02", "n03", "n7", "login"}));
  EXPECT_EQ(expand_host_list("r[1-2]n[8-10]"), (Words{"r1n8", "r1n9", "r1n10", "r2n8", "r2n9", "r2n10"}));
  EXPECT_EQ(message_of([] { expand_host_list("n[1-"); }), "torchrun: no ']' in the list of hosts 'n[1-'");
  EXPECT_EQ(message_of([] { expand_host_list("n[x]"); }), "torchrun: 'x' is no range, in the list of hosts 'n[x]'");
}

TEST(LaunchOptions, Help) {
  EXPECT_TRUE(parse_options({"--help"}, machine()).wants_help);
  EXPECT_NE(usage().find("--nproc-per-node=N|cpu|gpu|auto"), std::string::npos);
}

}  // namespace
}  // namespace c10d::launch
