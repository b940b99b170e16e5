// Workers that are threads of one process.
#include "distributed/rpc/rpc.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <random>
#include <string>
#include <thread>

#include "aten/aten.h"
#include "autograd/autograd.h"
#include "c10/testing/files.h"
#include "distributed/rpc/grpc_agent.h"
#include "distributed/rpc/requests.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/tcp_store.h"
#include "distributed/testing/run_ranks.h"

namespace torch::distributed::rpc {
namespace {

using at::Tensor;
using c10::IValue;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string name_of(int rank) {
  return "worker" + std::to_string(rank);
}

// Workers on one store, which all leave together.
void run_workers(int size, const std::function<void(int)>& body, RpcBackendOptions options = {}) {
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.address = "127.0.0.1";
  c10d::testing::run_ranks(size, [&](int rank) {
    init_rpc(name_of(rank), rank, size, options);
    try {
      body(rank);
    } catch (...) {
      shutdown(false);
      throw;
    }
    shutdown();
  });
}

template <class E>
std::string text_of_throw(const std::function<void()>& body) {
  try {
    body();
  } catch (const E& e) {
    EXPECT_EQ(typeid(e), typeid(E)) << e.what();
    if constexpr (std::is_base_of_v<c10::Error, E>) {
      return e.msg();
    } else {
      return e.what();
    }
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

struct Counter {
  std::atomic<int64_t> value{0};
  inline static std::atomic<int> living{0};
  Counter() { ++living; }
  ~Counter() { --living; }
};

struct {
  const FuturePtr future = make_future();
  std::promise<void> is_called;
} unanswered;

[[maybe_unused]] const bool functions_are_known = [] {
  register_function("scale", [](Tensor x, double by) { return x * by; });
  register_function("nothing", [] {});
  register_function("echo", [](IValue value) { return value; });
  register_function("add_numbers", [](int64_t a, int64_t b) { return a + b; });
  register_function("own_name", [] { return get_worker_info().name_; });
  register_function("throw", [](std::string kind) {
    TORCH_CHECK_VALUE(kind != "ValueError", "a value of ", 7);
    TORCH_CHECK_INDEX(kind != "IndexError", "an index");
    TORCH_CHECK_TYPE(kind != "TypeError", "a type");
    TORCH_CHECK_NOT_IMPLEMENTED(kind != "NotImplementedError", "not there");
    TORCH_CHECK_LINALG(kind != "LinAlgError", "singular");
    TORCH_CHECK(kind != "Error", "an error");
    if (kind == "out_of_range") throw std::out_of_range("far");
    if (kind == "runtime_error") throw std::runtime_error("a failure");
    throw 3;
  });
  register_function("sleep", [](int64_t ms) { std::this_thread::sleep_for(milliseconds(ms)); });
  register_function("ask", [](std::string whom) { return rpc_sync<std::string>(whom, "own_name"); });
  register_function("bounce", [](int64_t times) -> int64_t {
    const std::string to = name_of(1 - get_worker_info().id_);
    return times == 0 ? 0 : 1 + rpc_sync<int64_t>(to, "bounce", {times - 1});
  });
  register_function("later", [](int64_t ms) {
    const FuturePtr future = make_future();
    std::thread([future, ms] {
      std::this_thread::sleep_for(milliseconds(ms));
      future->markCompleted(ms);
    }).detach();
    return future;
  });
  register_function("unanswered", [] {
    unanswered.is_called.set_value();
    return unanswered.future;
  });
  register_function("make_counter", [] { return std::make_shared<Counter>(); });
  register_function("count", [](std::shared_ptr<Counter> counter, int64_t by) { return counter->value += by; });
  register_function("ones", [](int64_t n) { return at::ones({n}); });
  register_function("value_of", [](RRefPtr reference) { return reference->to_here(); });
  register_function("count_there", [](RRefPtr reference) { return reference->rpc_sync<int64_t>("count", {1}); });
  register_function("keep", [](RRefPtr reference) { return reference; });
  register_function("pair",
                    [](std::optional<int64_t> n) { return std::make_tuple(n.value_or(7), make_rref(at::ones({2}))); });
  return true;
}();

TEST(Rpc, CallsFunctionsOfOtherWorkersAndOfItself) {
  run_workers(3, [](int rank) {
    for (int to = 0; to < 3; ++to) {
      const Tensor x = at::arange(6, at::kFloat).view({2, 3}) + rank;
      EXPECT_TRUE(at::equal(rpc_sync<Tensor>(name_of(to), "scale", {x, 2.5}), x * 2.5));
      EXPECT_EQ(rpc_sync<int64_t>(to, "add_numbers", {rank, 40}), rank + 40);
      EXPECT_EQ(rpc_sync<std::string>(get_worker_info(to), "own_name"), name_of(to));
      EXPECT_TRUE(rpc_sync(to, "nothing").isNone());
    }
    EXPECT_EQ(get_worker_info(), WorkerInfo(name_of(rank), rank));
    EXPECT_EQ(get_worker_infos().size(), 3u);
    // A function that calls on.
    EXPECT_EQ(rpc_sync<std::string>((rank + 1) % 3, "ask", {name_of((rank + 2) % 3)}), name_of((rank + 2) % 3));
  });
}

TEST(Rpc, ValuesArriveAsTheyWere) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    const auto echo = [](const IValue& value) { return rpc_sync("worker1", "echo", {value}); };
    EXPECT_TRUE(echo(IValue()).isNone());
    EXPECT_EQ(echo(true).toBool(), true);
    EXPECT_EQ(echo(int64_t{-7}).toInt(), -7);
    EXPECT_EQ(echo(0.1).toDouble(), 0.1);
    EXPECT_EQ(echo("text").toStringRef(), "text");
    EXPECT_EQ(echo(std::vector<int64_t>{1, 2}).toIntVector(), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(echo(std::vector<int64_t>{}).toListRef().size(), 0u);
    EXPECT_EQ(echo(at::Device("cpu")).toDevice(), at::Device("cpu"));
    c10::Dict<std::string, Tensor> dict;
    dict.insert("w", at::ones({2}, at::kDouble));
    const auto back = echo(dict).to<c10::Dict<std::string, Tensor>>();
    EXPECT_TRUE(at::equal(back.at("w"), at::ones({2}, at::kDouble)));
    const IValue nested =
        echo(std::make_tuple(int64_t{0}, std::vector<Tensor>{at::zeros({0, 3}), at::ones({}, at::kBool)},
                             std::make_tuple(std::string("a"), 2.0)));
    EXPECT_EQ(nested.toTupleRef().size(), 3u);
    EXPECT_EQ(nested.toTupleRef().elementsArrayRef()[1].toTensorVector()[0].sizes(), at::IntArrayRef({0, 3}));
    EXPECT_TRUE(nested.toTupleRef().elementsArrayRef()[1].toTensorVector()[1].item<bool>());
    EXPECT_EQ(nested.toTupleRef().elementsArrayRef()[2].toTupleRef().elementsArrayRef()[1].toDouble(), 2.0);
    // Every dtype, views, large ones, and those that have no plain memory.
    for (const at::ScalarType dtype : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
                                       at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble, at::kBool}) {
      const Tensor x = at::arange(12).to(dtype).view({3, 4}).t();
      const Tensor y = echo(x).toTensor();
      EXPECT_EQ(y.scalar_type(), dtype);
      EXPECT_TRUE(at::equal(x, y));
    }
    const Tensor large = at::randn({300, 1000});
    EXPECT_TRUE(at::equal(echo(large.t()).toTensor(), large.t()));
    const Tensor sparse = at::eye(4).to_sparse();
    EXPECT_TRUE(echo(sparse).toTensor().is_sparse());
    EXPECT_TRUE(at::equal(echo(sparse).toTensor().to_dense(), at::eye(4)));
    EXPECT_TRUE(echo(at::ones({2}).set_requires_grad(true)).toTensor().requires_grad());
    // What cannot be sent is said at once.
    IValue deep = int64_t{1};
    for (int i = 0; i < 100; ++i) deep = c10::ivalue::Tuple::create({deep});
    text_of_throw<c10::TypeError>([&] { echo(deep); });
    EXPECT_NE(
        text_of_throw<c10::TypeError>([] { rpc_sync(1, "echo", {std::make_shared<int>(3)}); }).find("cannot be sent"),
        std::string::npos);
  });
}

TEST(Rpc, OperatorsAreCalledByName) {
  run_workers(2, [](int rank) {
    const Tensor a = at::randn({3}), b = at::randn({3});
    EXPECT_TRUE(at::equal(rpc_sync<Tensor>(1 - rank, "aten::add", {a, b}), a + b));
    EXPECT_TRUE(at::equal(rpc_sync<Tensor>(1 - rank, "aten::add.Tensor", {a, b, 2}), at::add(a, b, 2)));
    EXPECT_TRUE(at::equal(rpc_sync<Tensor>(1 - rank, "aten::add", {a, 2.0}), a + 2));
    EXPECT_TRUE(at::equal(rpc_sync<Tensor>(1 - rank, "aten::zeros", {std::vector<int64_t>{2, 2}}), at::zeros({2, 2})));
    const auto sorted = rpc_sync(1 - rank, "aten::sort", {a});
    EXPECT_TRUE(at::equal(sorted.toTupleRef().elementsArrayRef()[0].toTensor(), std::get<0>(at::sort(a))));
    text_of_throw<c10::ValueError>([&] { rpc_sync(1 - rank, "aten::no_such_operator", {a}); });
    text_of_throw<c10::TypeError>([&] { rpc_sync(1 - rank, "aten::add", {a}); });
    text_of_throw<c10::TypeError>([&] { rpc_sync(1 - rank, "aten::add", {a, "text"}); });
  });
}

TEST(Rpc, ErrorsKeepTheirTypeAndNameTheWorker) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    const auto call = [](const char* kind) { rpc_sync(1, "throw", {kind}); };
    const std::string text = text_of_throw<c10::ValueError>([&] { call("ValueError"); });
    EXPECT_EQ(text, "on worker \"worker1\" (rank 1): a value of 7");
    text_of_throw<c10::IndexError>([&] { call("IndexError"); });
    text_of_throw<c10::TypeError>([&] { call("TypeError"); });
    text_of_throw<c10::NotImplementedError>([&] { call("NotImplementedError"); });
    text_of_throw<c10::LinAlgError>([&] { call("LinAlgError"); });
    text_of_throw<c10::Error>([&] { call("Error"); });
    EXPECT_EQ(text_of_throw<std::out_of_range>([&] { call("out_of_range"); }), "on worker \"worker1\" (rank 1): far");
    text_of_throw<std::runtime_error>([&] { call("runtime_error"); });
    text_of_throw<c10::Error>([&] { call("something else"); });
    EXPECT_NE(text_of_throw<c10::ValueError>([] { rpc_sync(1, "unknown"); }).find("no function \"unknown\""),
              std::string::npos);
    text_of_throw<c10::TypeError>([] { rpc_sync(1, "scale", {at::ones({1})}); });
    text_of_throw<c10::TypeError>([] { rpc_sync(1, "scale", {"text", 2.0}); });
    text_of_throw<c10::ValueError>([] { rpc_sync("worker7", "nothing"); });
    text_of_throw<c10::ValueError>([] { rpc_sync(2, "nothing"); });
    text_of_throw<c10::ValueError>([] { rpc_sync(1, "nothing", {}, -2); });
    // A result that cannot be sent.
    text_of_throw<c10::TypeError>([] { rpc_sync(1, "make_counter"); });
  });
}

TEST(Rpc, TimeoutsNameTheWorkerAndZeroIsNone) {
  RpcBackendOptions options;
  options.rpcTimeoutSeconds = 0.15f;
  run_workers(
      2,
      [](int rank) {
        if (rank != 0) return;
        const auto start = Clock::now();
        const std::string text = text_of_throw<c10::DistNetworkError>([] { rpc_sync(1, "sleep", {400}, 0.1f); });
        EXPECT_LT(Clock::now() - start, milliseconds(350));
        EXPECT_NE(text.find("worker \"worker1\" (rank 1"), std::string::npos) << text;
        EXPECT_NE(text.find("\"sleep\" within 100 ms"), std::string::npos) << text;
        EXPECT_NE(text_of_throw<c10::DistNetworkError>([] { rpc_sync(1, "sleep", {400}); }).find("150 ms"),
                  std::string::npos);
        text_of_throw<c10::DistNetworkError>([] { rpc_sync(1, "sleep", {400}, 0.0001f); });
        rpc_sync(1, "sleep", {300}, 0);
        rpc_sync(1, "sleep", {200}, 2);
      },
      options);
}

TEST(Rpc, AgentsCountAndHaveATimeoutOfTheirOwn) {
  run_workers(2, [](int rank) {
    if (rank != 0) return;
    const std::shared_ptr<RpcAgent> agent = RpcAgent::getCurrentRpcAgent();
    EXPECT_TRUE(RpcAgent::isCurrentRpcAgentSet());
    EXPECT_EQ(agent->getRpcTimeout(), milliseconds(60000));
    agent->setRpcTimeout(milliseconds(120));
    EXPECT_NE(text_of_throw<c10::DistNetworkError>([] { rpc_sync(1, "sleep", {400}); }).find("120 ms"),
              std::string::npos);
    text_of_throw<c10::ValueError>([&] { agent->setRpcTimeout(milliseconds(-1)); });
    rpc_sync(1, "nothing", {}, 5);
    EXPECT_EQ(agent->getMetrics().at("agent.client_calls"), "2");
    EXPECT_EQ(agent->getMetrics().at("agent.client_errors"), "1");
    const c10d::RankScope other;
    EXPECT_FALSE(RpcAgent::isCurrentRpcAgentSet());
  });
}

// An agent whose first messages do not arrive.
class FlakyAgent final : public RpcAgent {
 public:
  explicit FlakyAgent(int failures)
      : RpcAgent(WorkerInfo("flaky", 0), std::make_unique<RequestHandler>(), milliseconds(1000)), failures_(failures) {}
  ~FlakyAgent() override { timer().stop(); }
  FuturePtr send(const WorkerInfo&, MessagePtr message, float) override {
    const FuturePtr future = make_future();
    sent_.push_back(Clock::now());
    if (static_cast<int>(sent_.size()) > failures_) {
      future->markCompleted(to_value(std::move(message)));
    } else {
      future->setError(std::make_exception_ptr(std::runtime_error("lost")));
    }
    return future;
  }
  const WorkerInfo& getWorkerInfo(const std::string&) const override { return RpcAgent::getWorkerInfo(); }
  const WorkerInfo& getWorkerInfo(worker_id_t) const override { return RpcAgent::getWorkerInfo(); }
  std::vector<WorkerInfo> getWorkerInfos() const override { return {RpcAgent::getWorkerInfo()}; }
  void start() override {}
  void shutdown() override {}
  Activity activity() const override { return {}; }
  std::unordered_map<std::string, std::string> getMetrics() const override { return {}; }
  const std::vector<Clock::time_point>& sent() const { return sent_; }

 private:
  const int failures_;
  std::vector<Clock::time_point> sent_;  // by one thread after the other
};

TEST(Rpc, MessagesOfRpcItselfAreSentAgainWithGrowingPauses) {
  const RpcRetryOptions options{.maxRetries = 3, .rpcRetryDuration = milliseconds(20), .retryBackoff = 2};
  const auto attempts = [&](int failures, bool arrives) {
    const auto agent = std::make_shared<FlakyAgent>(failures);
    const FuturePtr done = agent->sendWithRetries(static_cast<RpcAgent&>(*agent).getWorkerInfo(),
                                                  pack(MessageType::HEARTBEAT, std::vector<int64_t>{}), options);
    done->wait();
    EXPECT_EQ(done->hasValue(), arrives);
    agent->timer().stop();
    return agent->sent();
  };
  EXPECT_EQ(attempts(0, true).size(), 1u);
  EXPECT_EQ(attempts(4, false).size(), 4u);
  const std::vector<Clock::time_point> sent = attempts(3, true);
  ASSERT_EQ(sent.size(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_GE(sent[i + 1] - sent[i], milliseconds(20 << i)) << i;
}

TEST(Rpc, ManyCallsAtOnce) {
  run_workers(2, [](int rank) {
    std::vector<FuturePtr> futures;
    for (int64_t i = 0; i < 1000; ++i) futures.push_back(rpc_async(1 - rank, "add_numbers", {i, rank}));
    for (int64_t i = 0; i < 1000; ++i) {
      futures[i]->waitAndThrow();
      EXPECT_EQ(futures[i]->value().toInt(), i + rank);
    }
  });
}

TEST(Rpc, CallsMayNestAndWait) {
  RpcBackendOptions options;
  options.num_worker_threads = 4;
  run_workers(
      2,
      [](int rank) {
        if (rank == 0) {
          EXPECT_EQ(rpc_sync<int64_t>(1, "bounce", {7}), 7);  // four of them wait on each worker
        }
        // More functions than threads: the others wait for their turn, and messages of RPC itself do not.
        std::vector<FuturePtr> futures;
        for (int i = 0; i < 12; ++i) futures.push_back(rpc_async(1 - rank, "sleep", {20}));
        const RRefPtr reference = remote(1 - rank, "ones", {3});
        for (const FuturePtr& future : futures) future->waitAndThrow();
        EXPECT_EQ(reference->to_here<Tensor>().sum().item<double>(), 3);
        // Functions that answer later take no thread.
        futures.clear();
        const auto start = Clock::now();
        for (int i = 0; i < 40; ++i) futures.push_back(rpc_async(1 - rank, "later", {100}));
        for (const FuturePtr& future : futures) future->waitAndThrow();
        EXPECT_LT(Clock::now() - start, milliseconds(700));
        // A callback may call.
        const FuturePtr then = rpc_async(1 - rank, "add_numbers", {1, 2})
                                   ->then(
                                       [to = 1 - rank](JitFuture& f) {
                                         return IValue(rpc_sync<int64_t>(to, "add_numbers", {f.value().toInt(), 10}));
                                       },
                                       c10::IntType::get());
        then->waitAndThrow();
        EXPECT_EQ(then->value().toInt(), 13);
      },
      options);
}

TEST(Rpc, GracefulShutdownWaitsForAllCallsAndStartsAgain) {
  std::atomic<int> done{0};
  static std::atomic<int>* counter = nullptr;
  counter = &done;
  static const bool known = [] {
    register_function("slow_chain", [](int64_t left) {
      std::this_thread::sleep_for(milliseconds(30));
      // Nobody waits for it.
      if (left > 0) rpc_async((get_worker_info().id_ + 1) % 3, "slow_chain", {left - 1});
      ++*counter;
    });
    return true;
  }();
  EXPECT_TRUE(known);
  RpcBackendOptions options;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.address = "127.0.0.1";
  c10d::testing::run_ranks(3, [&](int rank) {
    for (int round = 0; round < 2; ++round) {
      init_rpc(name_of(rank), rank, 3, options);
      text_of_throw<c10::Error>([&] { init_rpc("again", rank, 3, options); });
      if (rank == 1) rpc_async(2, "slow_chain", {4});
      shutdown();
      EXPECT_EQ(done, 5 * (round + 1));
      shutdown();
      text_of_throw<c10::Error>([] { rpc_sync(0, "nothing"); });
    }
  });
}

TEST(Rpc, BadArgumentsOfInit) {
  text_of_throw<c10::ValueError>([] { WorkerInfo("", 0); });
  text_of_throw<c10::ValueError>([] { WorkerInfo(std::string(129, 'a'), 0); });
  text_of_throw<c10::ValueError>([] { WorkerInfo("a b", 0); });
  text_of_throw<c10::ValueError>([] { WorkerInfo("a", -1); });
  text_of_throw<c10::ValueError>([] { WorkerInfo("a", 40000); });
  EXPECT_EQ(WorkerInfo(std::string(128, 'a'), 3).id_, 3);
  EXPECT_EQ(WorkerInfo("ps:0_a-B", 3).name_, "ps:0_a-B");
  const auto init = [](RpcBackendOptions options) {
    options.store = c10::make_intrusive<c10d::HashStore>();
    const c10d::RankScope rank;
    init_rpc("a", 0, 1, options);
  };
  RpcBackendOptions options;
  options.rpcTimeoutSeconds = -1;
  text_of_throw<c10::ValueError>([&] { init(options); });
  options = {};
  options.num_worker_threads = 0;
  text_of_throw<c10::ValueError>([&] { init(options); });
  options = {};
  options.address = "no such host.";
  text_of_throw<c10::ValueError>([&] { init(options); });
  options.address = "192.0.2.1";  // no machine's
  text_of_throw<c10::DistNetworkError>([&] { init(options); });
  text_of_throw<c10::ValueError>([] { register_function("scale", [] {}); });
  text_of_throw<c10::ValueError>([] { register_function("aten::add", [] {}); });
  text_of_throw<c10::Error>([] { rpc_sync(0, "nothing"); });
  // Two workers of one name, and one that does not come.
  options = {};
  options.store = c10::make_intrusive<c10d::HashStore>();
  const std::vector<std::string> twice =
      c10d::testing::errors_of_ranks(2, [&](int rank) { init_rpc("same", rank, 2, options); });
  for (const std::string& text : twice) EXPECT_NE(text.find("ranks 0 and 1 have one name"), std::string::npos) << text;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.rpcTimeoutSeconds = 0.2f;
  const std::vector<std::string> absent =
      c10d::testing::errors_of_ranks(2, [&](int rank) { init_rpc(name_of(rank), rank, 4, options); });
  for (const std::string& text : absent) EXPECT_NE(text.find("no word from rank 2, 3"), std::string::npos) << text;
}

TEST(Rpc, WorkersFindEachOtherByAddressFileAndEnvironment) {
  for (const char* kind : {"tcp", "file", "env"}) {
    // A server that rank 0 shares, so that nobody takes the port in between.
    c10d::TCPStoreOptions own;
    own.port = 0;
    own.isServer = true;
    own.multiTenant = true;
    const auto server = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", own);
    const std::string port = std::to_string(server->getPort());
    const std::string method = kind == std::string("tcp")    ? "tcp://127.0.0.1:" + port
                               : kind == std::string("file") ? "file://" + c10::testing::fresh_folder() + "/store"
                                                             : "env://";
    c10d::testing::run_ranks(2, [&](int rank) {
      RpcBackendOptions options;
      options.initMethod = method;
      options.rpcTimeoutSeconds = 10;
      options.address = "127.0.0.1";
      if (method == "env://") {
        c10d::set_rank_environment("MASTER_ADDR", "127.0.0.1");
        c10d::set_rank_environment("MASTER_PORT", port);
        c10d::set_rank_environment("RANK", std::to_string(rank));
        c10d::set_rank_environment("WORLD_SIZE", "2");
        init_rpc(name_of(rank), -1, -1, options);
      } else {
        init_rpc(name_of(rank), rank, 2, options);
      }
      EXPECT_EQ(rpc_sync<std::string>(1 - rank, "own_name"), name_of(1 - rank));
      shutdown();
    });
  }
}

TEST(Rpc, MessagesThatAreTooLarge) {
  RpcBackendOptions options;
  options.max_message_bytes = 100000;
  run_workers(
      2,
      [](int rank) {
        text_of_throw<c10::ValueError>([&] { rpc_sync(1 - rank, "echo", {at::ones({100000})}); });
        text_of_throw<c10::ValueError>([&] { rpc_sync(1 - rank, "ones", {100000}); });
        EXPECT_EQ(rpc_sync<Tensor>(1 - rank, "ones", {10000}).numel(), 10000);
      },
      options);
}

// Waits until it is so; in a worker.
void expect_soon(const std::function<bool()>& condition, milliseconds limit = milliseconds(5000)) {
  for (const auto end = Clock::now() + limit; !condition();) {
    ASSERT_LT(Clock::now(), end);
    std::this_thread::sleep_for(milliseconds(2));
  }
}

TEST(RRef, ValuesStayWithTheirOwner) {
  run_workers(2, [](int rank) {
    const int other = 1 - rank;
    const RRefPtr ones = remote(other, "ones", {4});
    EXPECT_FALSE(ones->is_owner());
    EXPECT_EQ(ones->owner(), other);
    EXPECT_EQ(ones->owner_name(), name_of(other));
    EXPECT_TRUE(at::equal(ones->to_here<Tensor>(), at::ones({4})));
    expect_soon([&] { return ones->confirmed_by_owner(); });
    EXPECT_NE(text_of_throw<c10::Error>([&] { ones->local_value(); }).find("not the owner"), std::string::npos);

    // An object that cannot be sent; calls that are given it; a value made of it.
    const RRefPtr counter = remote(other, "make_counter");
    EXPECT_EQ(counter->rpc_sync<int64_t>("count", {5}), 5);
    EXPECT_EQ(detail::wait_for(counter->rpc_async("count", {2})).toInt(), 7);
    EXPECT_EQ(counter->remote("count", {1})->to_here<int64_t>(), 8);
    text_of_throw<c10::TypeError>([&] { counter->to_here(); });
    text_of_throw<c10::TypeError>([&] { ones->rpc_sync("count", {1}); });

    // This worker's own.
    const RRefPtr own = make_rref(std::make_shared<Counter>());
    EXPECT_TRUE(own->is_owner() && own->confirmed_by_owner());
    EXPECT_EQ(own->rpc_sync<int64_t>("count", {3}), 3);
    EXPECT_EQ(detail::Convert<std::shared_ptr<Counter>>::to(own->local_value())->value, 3);
    const RRefPtr own_ones = remote(rank, "ones", {2});
    EXPECT_TRUE(own_ones->is_owner());
    EXPECT_EQ(own_ones->to_here<Tensor>().numel(), 2);

    // Errors come where the value is used.
    const RRefPtr failed = remote(other, "throw", {"IndexError"});
    EXPECT_EQ(text_of_throw<c10::IndexError>([&] { failed->to_here(); }),
              "on worker \"" + name_of(other) + "\" (rank " + std::to_string(other) + "): an index");
    text_of_throw<c10::ValueError>([&] { remote(other, "unknown")->to_here(); });
    text_of_throw<c10::ValueError>([] { remote(5, "ones", {1}); });
    EXPECT_EQ(remote(other, "later", {10})->to_here<int64_t>(), 10);
    EXPECT_NE(
        text_of_throw<c10::DistNetworkError>([&] { remote(other, "sleep", {300})->to_here(0.1f); }).find("100 ms"),
        std::string::npos);
  });
}

TEST(RRef, ArePassedOnAndCounted) {
  EXPECT_EQ(Counter::living, 0);
  run_workers(3, [](int rank) {
    if (rank == 0) {
      const auto context = RRefContext::current();
      RRefPtr counter = remote(1, "make_counter");
      // To a third worker, to the owner, and to itself; as an argument and as a result.
      EXPECT_EQ(rpc_sync<int64_t>(2, "count_there", {counter}), 1);
      EXPECT_EQ(rpc_sync<int64_t>(1, "count_there", {counter}), 2);
      EXPECT_EQ(rpc_sync<int64_t>(0, "count_there", {counter}), 3);
      RRefPtr back = rpc_sync<RRefPtr>(2, "keep", {counter});
      EXPECT_EQ(back->rref_id(), counter->rref_id());
      EXPECT_EQ(back->rpc_sync<int64_t>("count", {1}), 4);
      RRefPtr through_owner = rpc_sync<RRefPtr>(1, "keep", {counter});
      EXPECT_EQ(through_owner->rpc_sync<int64_t>("count", {1}), 5);
      // At once, while the owner may not have heard of it yet.
      for (int i = 0; i < 20; ++i) {
        const RRefPtr fresh = remote(1, "ones", {i + 1});
        EXPECT_EQ(rpc_sync<Tensor>(2, "value_of", {fresh}).numel(), i + 1);
      }
      // A reference to a value of this worker, from elsewhere.
      const RRefPtr own = make_rref(at::ones({3}));
      EXPECT_EQ(rpc_sync<Tensor>(2, "value_of", {own}).numel(), 3);
      EXPECT_EQ(rpc_sync<RRefPtr>(2, "keep", {own}).get(), own.get());
      // Within other values.
      {
        const auto [n, made] = rpc_sync<std::tuple<int64_t, RRefPtr>>(1, "pair", {std::nullopt});
        EXPECT_EQ(n, 7);
        EXPECT_EQ(made->to_here<Tensor>().numel(), 2);
        const auto lists = rpc_sync<std::vector<RRefPtr>>(2, "echo", {std::vector<RRefPtr>{made, counter}});
        EXPECT_EQ(lists.at(1)->rref_id(), counter->rref_id());
      }
      EXPECT_EQ(Counter::living, 1);
      counter = nullptr;
      EXPECT_EQ(back->rpc_sync<int64_t>("count", {1}), 6);
      back = nullptr;
      EXPECT_EQ(through_owner->rpc_sync<int64_t>("count", {1}), 7);
      through_owner = nullptr;
      expect_soon([] { return Counter::living == 0; });
      expect_soon([&] {
        const RRefContext::Counts left = context->counts();
        return left.owners == 0 && left.forks == 0 && left.users == 0 && left.pending_children == 0;
      });
    }
  });
}

// Anything at once, in any order; then nothing is left.
TEST(RRef, NothingIsLeftOfManyRandomCalls) {
  constexpr int kWorkers = 4;
  std::atomic<int> done{0};
  run_workers(kWorkers, [&](int rank) {
    std::mt19937 random(rank);
    const auto worker = [&] { return static_cast<int>(random() % kWorkers); };
    std::vector<RRefPtr> counters;
    std::vector<FuturePtr> futures;
    for (int i = 0; i < 150; ++i) {
      switch (random() % 7) {
        case 0:
          counters.push_back(remote(worker(), "make_counter"));
          break;
        case 1:
          futures.push_back(rpc_async(worker(), "add_numbers", {i, 1}));
          break;
        case 2:
          if (!counters.empty())
            futures.push_back(rpc_async(worker(), "count_there", {counters[random() % counters.size()]}));
          break;
        case 3:
          if (!counters.empty())
            counters.push_back(rpc_sync<RRefPtr>(worker(), "keep", {counters[random() % counters.size()]}));
          break;
        case 4:
          if (!counters.empty()) counters.erase(counters.begin() + static_cast<int64_t>(random() % counters.size()));
          break;
        case 5:
          counters.push_back(make_rref(std::make_shared<Counter>()));
          break;
        default:
          if (!counters.empty()) futures.push_back(counters.back()->rpc_async("count", {1}));
      }
    }
    for (const FuturePtr& future : futures) EXPECT_FALSE((future->wait(), future->hasError()));
    futures.clear();
    counters.clear();
    ++done;
    const auto context = RRefContext::current();
    expect_soon([&] {
      const RRefContext::Counts left = context->counts();
      return done == kWorkers && left.owners + left.forks + left.users + left.pending_children == 0;
    });
  });
  EXPECT_EQ(Counter::living, 0);
}

TEST(RRef, LeasesEndWhatNobodyRenewsAndKeepWhatIsHeld) {
  RpcBackendOptions options;
  options.lease = 0.3f;
  run_workers(
      2,
      [](int rank) {
        if (rank != 0) return;
        const RRefPtr held = remote(1, "make_counter");
        EXPECT_EQ(held->rpc_sync<int64_t>("count", {1}), 1);
        std::this_thread::sleep_for(milliseconds(700));
        EXPECT_EQ(held->rpc_sync<int64_t>("count", {1}), 2);
        // Values that take longer to make than a lease, here and there.
        for (int owner = 0; owner < 2; ++owner) EXPECT_EQ(remote(owner, "later", {800})->to_here<int64_t>(), 800);
        // One that no call makes.
        const auto start = Clock::now();
        const FuturePtr never =
            request_value(RRefContext::current(), 1,
                          pack(MessageType::SCRIPT_RREF_FETCH_CALL, std::vector<int64_t>{0, 12345}), 10, 0);
        EXPECT_NE(text_of_throw<c10::DistNetworkError>([&] { never->waitAndThrow(); }).find("there is no value"),
                  std::string::npos);
        EXPECT_LT(Clock::now() - start, milliseconds(2000));
        // One that was sent in a message which nobody took for what it is.
        const auto context = RRefContext::current();
        context->packer(1)(detail::reference_value(make_rref(1)));
        EXPECT_EQ(context->counts().forks, 1u);
        expect_soon([&] { return context->counts().forks == 0; });
      },
      options);
}

// --- the end ---

TEST(Shutdown, AFunctionsFutureMayBeCompletedAfterIt) {
  RpcBackendOptions options;
  options.store = c10::make_intrusive<c10d::HashStore>();
  options.address = "127.0.0.1";
  c10d::testing::run_ranks(2, [&](int rank) {
    init_rpc(name_of(rank), rank, 2, options);
    if (rank == 1) {
      unanswered.is_called.get_future().wait();
      shutdown(/*graceful=*/false);
      unanswered.future->markCompleted(at::ones({3}));
      return;
    }
    const FuturePtr answer = rpc_async(1, "unanswered");
    const std::string error = text_of_throw<c10::DistNetworkError>([&] { answer->waitAndThrow(); });
    EXPECT_NE(error.find("worker \"worker1\""), std::string::npos) << error;
    shutdown(/*graceful=*/false);
  });
}

// --- strangers ---

// Sends bytes to a worker's port, and reads what comes until the other side ends or 50 ms are over.
void send_raw(const std::string& address, const std::string& bytes) {
  const size_t colon = address.rfind(':');
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(fd, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  ASSERT_EQ(::inet_pton(AF_INET, address.substr(0, colon).c_str(), &at.sin_addr), 1);
  ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  [[maybe_unused]] const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  const timeval limit{.tv_sec = 0, .tv_usec = 50000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char buffer[256];
  while (::recv(fd, buffer, sizeof buffer, 0) > 0) {
  }
  ::close(fd);
}

TEST(Strangers, BytesOnThePortDoNoHarm) {
  RpcBackendOptions options;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  options.store = store;
  options.address = "127.0.0.1";
  c10d::testing::run_ranks(2, [&](int rank) {
    init_rpc(name_of(rank), rank, 2, options);
    if (rank == 0) {
      const std::string entry = store->get_to_str("rpc_prefix_0/worker/1");
      const std::string address = entry.substr(entry.find('\n') + 1);
      const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", settings("\0\0\0\4\0\0\0\0\0", 9);
      std::mt19937 random(7);
      for (int i = 0; i < 24; ++i) {
        std::string bytes(1 + random() % 3000, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        if (i % 3 == 1) bytes = preface + bytes;
        if (i % 3 == 2) bytes = preface + settings + bytes;
        send_raw(address, bytes);
        if (i % 8 == 0) {
          EXPECT_EQ(rpc_sync<int64_t>(1, "add_numbers", {i, 1}), i + 1);
        }
      }
      // One that speaks the language, but is of another job.
      const auto stranger = GrpcAgent::create(WorkerInfo("stranger", 0), std::make_unique<RequestHandler>(), options);
      stranger->set_peers({{WorkerInfo("stranger", 0), stranger->address()}, {WorkerInfo("worker1", 1), address}},
                          12345);
      stranger->start();
      const FuturePtr refused =
          stranger->send(stranger->find(1), pack(MessageType::HEARTBEAT, std::vector<int64_t>{}), 5);
      EXPECT_NE(text_of_throw<c10::DistNetworkError>([&] { refused->waitAndThrow(); }).find("another job"),
                std::string::npos);
      stranger->shutdown();
      EXPECT_EQ(rpc_sync<int64_t>(1, "add_numbers", {20, 1}), 21);
    }
    shutdown();
  });
}

std::string bytes_of(const Message& message, uint64_t job) {
  std::string all;
  for (const Piece& piece : encode(message, job, 0)) all.append(static_cast<const char*>(piece.data()), piece.size());
  return all;
}
MessagePtr message_of(const std::string& bytes, uint64_t job) {
  size_t at = 0;
  return decode(
      bytes.size(),
      [&](void* to, size_t n) {
        ASSERT_LE(at + n, bytes.size());
        std::memcpy(to, bytes.data() + at, n);
        at += n;
      },
      job);
}

TEST(Strangers, MessagesAreRefusedOrSound) {
  c10::Dict<std::string, IValue> dict{c10::StringType::get(), c10::AnyType::get()};
  dict.insert("a", std::vector<int64_t>{1, 2, 3});
  const MessagePtr message =
      pack(MessageType::SCRIPT_CALL,
           std::make_tuple(std::string("name"),
                           std::vector<Tensor>{at::ones({2, 3}), at::zeros({0}), at::eye(2).to_sparse()}, dict));
  const std::string whole = bytes_of(*message, 42);
  EXPECT_EQ(unpack(*message_of(whole, 42)).toTupleRef().size(), 3u);
  text_of_throw<c10::DistNetworkError>([&] { message_of(whole, 43); });
  text_of_throw<c10::DistNetworkError>([&] { message_of(whole + "x", 42); });
  for (size_t n = 0; n < whole.size(); ++n)
    text_of_throw<c10::DistNetworkError>([&] { message_of(whole.substr(0, n), 42); });
  // Changed in a few places: an error, or some message.
  std::mt19937 random(3);
  int refused = 0, sound = 0;
  for (int i = 0; i < 8000; ++i) {
    std::string bytes = whole;
    for (uint32_t n = 1 + random() % 3; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      unpack(*message_of(bytes, 42));
      ++sound;
    } catch (const c10::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(sound, 100);
  // Sizes whose product is no number of bytes that there are.
  const Message huge({}, {at::ones({1, 1, 1})}, MessageType::SCRIPT_CALL);
  std::string bytes = bytes_of(huge, 42);
  const int64_t size = int64_t{1} << 40;
  for (int dim = 0; dim < 3; ++dim) std::memcpy(&bytes[48 + 16 + 8 * dim], &size, 8);
  text_of_throw<c10::DistNetworkError>([&] { message_of(bytes, 42); });
}

}  // namespace
}  // namespace torch::distributed::rpc
