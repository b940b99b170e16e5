// Process groups on Gloo, with ranks that are threads: what all backends do, and what only Gloo can get wrong.
#include "distributed/process_group/gloo/process_group_gloo.h"

#include <gtest/gtest.h>

#include "aten/ops/creation/ops.h"
#include "c10/testing/message_of.h"
#include "distributed/process_group/conformance.h"
#include "distributed/store/hash_store.h"
#include "distributed/store/tcp_store.h"
#include "distributed/testing/run_ranks.h"

namespace c10d {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;

c10::intrusive_ptr<ProcessGroupGloo::Options> options(milliseconds timeout) {
  auto made = ProcessGroupGloo::Options::create(timeout);
  made->devices = {ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  made->group_name = "test";
  return made;
}

testing::BackendOfRank group_over_gloo(int size) {
  const auto store = c10::make_intrusive<HashStore>();
  return [store, size](int rank, milliseconds timeout) -> c10::intrusive_ptr<Backend> {
    // Connecting may take longer than the operations that a test has late.
    auto made = c10::make_intrusive<ProcessGroupGloo>(store, rank, size, options(milliseconds(20000)));
    made->setTimeout(timeout);
    return made;
  };
}

class GlooOfRanks : public ::testing::TestWithParam<int> {};

TEST_P(GlooOfRanks, Collectives) {
  testing::expect_collectives(group_over_gloo, GetParam());
}
TEST_P(GlooOfRanks, Messages) {
  if (GetParam() > 1) testing::expect_messages(group_over_gloo, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Sizes, GlooOfRanks, ::testing::Values(1, 2, 3, 4, 7));

TEST(Gloo, Errors) {
  testing::expect_errors(group_over_gloo);
}
TEST(Gloo, Arguments) {
  testing::expect_argument_checks(group_over_gloo);
}

TEST(Gloo, RanksThatDoNotCome) {
  const auto store = c10::make_intrusive<HashStore>();
  const std::string text = message_of([&] { ProcessGroupGloo(store, 0, 2, options(milliseconds(300))); });
  EXPECT_NE(text.find("Gloo: rank 0 of 2 failed at connecting with the other ranks over tcp"), std::string::npos)
      << text;
  auto nowhere = options(milliseconds(300));
  nowhere->devices = {ProcessGroupGloo::createDeviceForInterface("no-such-interface")};
  EXPECT_NE(message_of([&] {
              ProcessGroupGloo(store, 0, 1, nowhere);
            }).find("failed at making the device (no-such-interface)"),
            std::string::npos);
}

// Without threads: a call returns when it is done.
TEST(Gloo, OnTheCallingThread) {
  const auto store = c10::make_intrusive<HashStore>();
  testing::run_ranks(2, [&](int rank) {
    auto without = options(milliseconds(20000));
    without->threads = 0;
    ProcessGroupGloo group(store, rank, 2, without);
    std::vector<at::Tensor> t{at::full({4}, rank + 1.0f)};
    EXPECT_TRUE(group.allreduce(t)->isCompleted());
    EXPECT_EQ(t[0].data_ptr<float>()[3], 3.0f);
    const auto work = rank == 0 ? group.send(t, 1, 0) : group.recv(t, 0, 0);
    EXPECT_TRUE(work->isSuccess());
  });
}

// A store that has ended is an error like others.
TEST(Gloo, AStoreThatIsGone) {
  TCPStoreOptions server_options;
  server_options.port = 0;
  server_options.isServer = true;
  auto server = c10::make_intrusive<TCPStore>("127.0.0.1", server_options);
  TCPStoreOptions client_options;
  client_options.port = server->getPort();
  const auto client = c10::make_intrusive<TCPStore>("127.0.0.1", client_options);
  server = nullptr;
  EXPECT_THROW(ProcessGroupGloo(client, 0, 1, options(milliseconds(300))), c10::DistError);
}

// A message of another size than its place ends neither process.
TEST(Gloo, MessagesOfAnotherSize) {
  const auto make = group_over_gloo(2);
  const auto errors = testing::errors_of_ranks(2, [&](int rank) {
    const auto group = make(rank, milliseconds(2000));
    std::vector<at::Tensor> t{at::zeros({rank == 0 ? 3 : 4})};
    rank == 0 ? group->send(t, 1, 0)->wait() : group->recv(t, 0, 0)->wait();
  });
  EXPECT_NE(errors[1].find("rank 0 sent 12 bytes, but rank 1 receives 16"), std::string::npos) << errors[1];
  EXPECT_NE(errors[0], "");
}

}  // namespace
}  // namespace c10d
