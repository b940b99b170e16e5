#include "utils/multiprocessing/multiprocessing.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "aten/extension/shared_memory.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/factories.h"
#include "c10/testing/message_of.h"
#include "c10/value/dict.h"
#include "c10/value/list.h"

namespace torch::multiprocessing {
namespace {

using c10::testing::message_of;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::set<std::string> files_of(const char* folder) {
  std::set<std::string> names;
  if (DIR* open = ::opendir(folder)) {
    while (const dirent* entry = ::readdir(open)) names.insert(entry->d_name);
    ::closedir(open);
  }
  return names;
}

size_t open_descriptors() {
  return files_of("/proc/self/fd").size();
}

// Files of shared memory by the name that at::NewProcessWideShmHandle() gives. Others come and go meanwhile.
std::set<std::string> shared_files() {
  std::set<std::string> names;
  for (const std::string& name : files_of("/dev/shm")) {
    if (name.rfind("torch_", 0) == 0) names.insert(name);
  }
  return names;
}

// Segments of System V that a process made.
int segments_of(pid_t process) {
  shm_info info{};
  const int last = ::shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&info));
  int count = 0;
  for (int i = 0; i <= last; ++i) {
    shmid_ds status{};
    count += ::shmctl(i, SHM_STAT, &status) >= 0 && status.shm_cpid == process;
  }
  return count;
}

// The segment's number in a name.
int segment_of(const std::string& name) {
  return std::atoi(name.c_str() + std::string("kindling_").size());
}
bool is_segment(int number) {
  shmid_ds status{};
  return ::shmctl(number, IPC_STAT, &status) == 0;
}

class Strategy {
 public:
  explicit Strategy(const char* name) : before_(get_sharing_strategy()) { set_sharing_strategy(name); }
  ~Strategy() { set_sharing_strategy(before_); }

 private:
  std::string before_;
};

// A process that runs `body` and then waits to be killed.
template <class F>
pid_t holder(const F& body) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    body();
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte;
  ::close(ready[1]);
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  return child;
}

void kill_and_wait(pid_t child) {
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

std::vector<float> values_of(const at::Tensor& t) {
  const at::Tensor flat = at::flatten(at::contiguous(t));
  return std::vector<float>(flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
}

TEST(Sharing, Strategies) {
  EXPECT_EQ(get_all_sharing_strategies(), (std::set<std::string>{"file_descriptor", "file_system"}));
  EXPECT_EQ(get_sharing_strategy(), "file_descriptor");
  EXPECT_EQ(message_of<c10::ValueError>([] { set_sharing_strategy("shm"); }),
            "set_sharing_strategy: expected \"file_descriptor\" or \"file_system\", got \"shm\"");
  const size_t before = open_descriptors();
  at::Tensor by_descriptor = torch::ones({3}), by_name = torch::ones({3});
  EXPECT_FALSE(is_shared(by_descriptor));
  share_memory_(by_descriptor);
  EXPECT_EQ(open_descriptors(), before + 1);
  EXPECT_GE(at::shared_memory_descriptor(by_descriptor.storage().data_ptr()), 0);
  {
    const Strategy names("file_system");
    EXPECT_EQ(get_sharing_strategy(), "file_system");
    EXPECT_TRUE(is_shared(share_memory_(by_name)));
  }
  EXPECT_EQ(open_descriptors(), before + 1);
  EXPECT_EQ(values_of(by_name), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(at::shared_memory_name(by_name.storage().data_ptr()).rfind("kindling_", 0), 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(by_name.data_ptr()) % 64, 0u);
  by_descriptor = at::Tensor();
  EXPECT_EQ(open_descriptors(), before);
  at::Tensor none = torch::zeros({0});
  EXPECT_TRUE(is_shared(share_memory_(none)));
}

TEST(Sharing, ByNameFromProcessToProcess) {
  at::Tensor counts = torch::arange(6, at::kFloat);
  counts = at::t(at::view(counts, {2, 3}));
  const std::string name = share_by_name(counts);
  EXPECT_NE(name.find(":6;0;3,2;1,3;0"), std::string::npos) << name;
  EXPECT_EQ(share_by_name(counts), name);
  const pid_t child = holder([&] { open_by_name(name).data_ptr<float>()[5] = 50; });
  EXPECT_EQ(values_of(counts), (std::vector<float>{0, 3, 1, 4, 2, 50}));
  // The last holder is the child; then nobody.
  counts = at::Tensor();
  const int segment = segment_of(name);
  EXPECT_TRUE(is_segment(segment));
  EXPECT_EQ(values_of(open_by_name(name)), (std::vector<float>{0, 3, 1, 4, 2, 50}));
  kill_and_wait(child);
  EXPECT_FALSE(is_segment(segment));
  EXPECT_NE(message_of([&] { open_by_name(name); }).find("nobody holds kindling_"), std::string::npos);
}

TEST(Sharing, NamesAreChecked) {
  at::Tensor t = torch::ones({4});
  const std::string name = share_by_name(t);
  const size_t colon = name.find(':');
  EXPECT_EQ(message_of<c10::ValueError>([] { open_by_name("model"); }),
            "open_by_name: 'model' is not a name that share_by_name gives");
  for (const char* tail :
       {":", ":6;0;4;1", ":6;0;4;1;2", ":6;0;4,;1;0", ":6;0;-4;1;0", ":99;0;4;1;0", ":6;0;4;1,1;0"}) {
    EXPECT_THROW(open_by_name(name.substr(0, colon) + tail), c10::ValueError) << tail;
  }
  for (const char* tail : {":6;0;5;1;0", ":6;1;4;1;0", ":6;0;2;4;0", ":7;0;4;1;0", ":6;9223372036854775807;1;1;0",
                           ":6;0;4294967297;4294967297;0"}) {
    EXPECT_NE(message_of<c10::ValueError>([&] {
                open_by_name(name.substr(0, colon) + tail);
              }).find("says more elements than its 16 bytes have"),
              std::string::npos)
        << tail;
  }
  EXPECT_EQ(open_by_name(name.substr(0, colon) + ":6;0;0,7;7,1;0").numel(), 0);
  // One element of the memory, more often than can be counted.
  EXPECT_THROW(open_by_name(name.substr(0, colon) + ":6;0;4294967296,4294967296;0,0;0"), c10::Error);
  // A later segment of the same number has another key.
  std::string other = name.substr(0, colon);
  other.back() = other.back() == '0' ? '1' : '0';
  EXPECT_NE(message_of([&] { open_by_name(other + name.substr(colon)); }).find("nobody holds"), std::string::npos);
  EXPECT_THROW(open_by_name("kindling_x_" + name.substr(name.size() - 33)), c10::ValueError);
  at::Tensor by_descriptor = torch::ones({2});
  share_memory_(by_descriptor);
  EXPECT_THROW(share_by_name(by_descriptor), c10::ValueError);
}

TEST(Sharing, KilledHoldersLeaveNothing) {
  for (const char* strategy : {"file_descriptor", "file_system"}) {
    const Strategy chosen(strategy);
    const std::set<std::string> files = shared_files();
    for (int round = 0; round < 3; ++round) {
      const pid_t child = holder([] {
        for (int i = 0; i < 20; ++i) {
          auto* forever = new at::Tensor(torch::ones({1000}));
          share_memory_(*forever);
        }
      });
      EXPECT_EQ(segments_of(child), std::string(strategy) == "file_system" ? 20 : 0);
      EXPECT_EQ(shared_files(), files) << strategy;
      kill_and_wait(child);
      EXPECT_EQ(segments_of(child), 0) << strategy;
    }
  }
}

TEST(Queues, ValuesComeOutAsTheyWentIn) {
  for (const char* strategy : {"file_descriptor", "file_system"}) {
    const Strategy chosen(strategy);
    Queue queue;
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.get(milliseconds(10)).has_value());
    at::Tensor weights = torch::arange(12, at::kFloat).requires_grad_();
    const at::Tensor base = weights.detach();
    c10::Dict<std::string, at::Tensor> dict;
    dict.insert("rows", at::view(base, {3, 4}));
    dict.insert("second", at::select(at::view(base, {3, 4}), 0, 1));
    c10::impl::GenericList list(c10::AnyType::get());
    list.push_back(c10::IValue("text"));
    list.push_back(c10::IValue(2.5));
    list.push_back(c10::IValue());
    queue.put(
        std::make_tuple(c10::IValue(dict), c10::IValue(list), c10::IValue(weights), c10::IValue(torch::zeros({0}))));
    EXPECT_FALSE(queue.empty());
    EXPECT_TRUE(is_shared(weights));
    const c10::IValue out = queue.get();
    EXPECT_TRUE(queue.empty());
    const auto& items = out.toTupleRef().elementsArrayRef();
    const auto tensors = items[0].toGenericDict();
    const at::Tensor rows = tensors.at(c10::IValue("rows")).toTensor();
    const at::Tensor second = tensors.at(c10::IValue("second")).toTensor();
    EXPECT_EQ(values_of(second), (std::vector<float>{4, 5, 6, 7}));
    EXPECT_TRUE(rows.is_alias_of(second));
    EXPECT_TRUE(is_shared(rows));
    EXPECT_EQ(items[1].toListRef()[0].toStringRef(), "text");
    EXPECT_TRUE(items[1].toListRef()[2].isNone());
    const at::Tensor received = items[2].toTensor();
    EXPECT_TRUE(received.requires_grad() && received.is_leaf());
    EXPECT_EQ(items[3].toTensor().numel(), 0);
    // One memory.
    base.data_ptr<float>()[4] = 40;
    EXPECT_EQ(values_of(second)[0], 40);
    // What was received is sent on.
    queue.put(second);
    EXPECT_EQ(values_of(queue.get().toTensor()), (std::vector<float>{40, 5, 6, 7}));
    EXPECT_TRUE(wait_until_received(milliseconds(0)));
  }
}

TEST(Queues, LargeMessagesAndManyTensors) {
  Queue queue;
  queue.put(std::string(1000000, 'x'));
  EXPECT_EQ(queue.get().toStringRef().size(), 1000000u);
  std::vector<at::Tensor> many;
  for (int i = 0; i < 251; ++i) many.push_back(torch::full({1}, i, at::kFloat));
  const size_t before = open_descriptors();
  EXPECT_NE(message_of<c10::ValueError>([&] { queue.put(many); }).find("250 storages at most, this has 251"),
            std::string::npos);
  EXPECT_TRUE(queue.empty());
  many.pop_back();
  queue.put(many);
  EXPECT_EQ(queue.get().toTensorVector()[249].const_data_ptr<float>()[0], 249);
  many.clear();
  EXPECT_EQ(open_descriptors(), before);
  const Strategy names("file_system");
  for (int i = 0; i < 400; ++i) many.push_back(torch::full({1}, i, at::kFloat));
  queue.put(many);
  EXPECT_FALSE(wait_until_received(milliseconds(10)));
  EXPECT_EQ(queue.get().toTensorVector()[399].const_data_ptr<float>()[0], 399);
  EXPECT_TRUE(wait_until_received(seconds(10)));
}

TEST(Queues, WhatCannotBeSent) {
  Queue queue;
  const at::Tensor product = at::mul(torch::ones({2}).requires_grad_(), 2);
  EXPECT_NE(message_of([&] { queue.put(product); }).find("send tensor.detach()"), std::string::npos);
  EXPECT_THROW(queue.put(torch::ones({2}, at::kMeta)), c10::NotImplementedError);
  EXPECT_TRUE(queue.empty());
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  ASSERT_EQ(::send(ends[0], "hello", 5, 0), 5);
  EXPECT_EQ(message_of([&] { receive(ends[1]); }), "multiprocessing: a message that send() did not write");
  EXPECT_FALSE(try_receive(ends[1]).has_value());
  // A message with each of its bytes changed: a value, or refused.
  send(ends[0], std::make_tuple(int64_t{7}, std::string("text"), 2.5));
  std::string message(65536, '\0');
  message.resize(static_cast<size_t>(::recv(ends[1], message.data(), message.size(), 0)));
  size_t refused = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    for (const int change : {1, 0x80}) {
      std::string changed = message;
      changed[i] = static_cast<char>(changed[i] ^ change);
      ASSERT_EQ(::send(ends[0], changed.data(), changed.size(), 0), static_cast<ssize_t>(changed.size()));
      try {
        receive(ends[1]);
      } catch (const c10::Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 60u);
  ::close(ends[0]);
  EXPECT_EQ(message_of([&] { receive(ends[1]); }), "multiprocessing: the other end of the socket is closed");
  EXPECT_NE(message_of([&] { send(ends[1], 1); }).find("cannot send: "), std::string::npos);
  ::close(ends[1]);
}

// Two producers, two consumers; every tensor arrives once, in memory that outlives its producer.
TEST(Queues, BetweenProcesses) {
  Queue numbers, sums;
  at::Tensor seen = torch::zeros({40});
  share_memory_(seen);
  {
    ProcessContext consumers = start_processes(
        [&](int) {
          int64_t count = 0;
          while (auto value = numbers.get(seconds(2))) {
            const int64_t number = static_cast<int64_t>(value->toTensor().const_data_ptr<float>()[0]);
            if (number < 0) break;
            seen.data_ptr<float>()[number] += 1;
            ++count;
          }
          sums.put(count);
        },
        2);
    spawn(
        [&](int rank) {
          for (int i = 0; i < 20; ++i) numbers.put(torch::full({1000}, rank * 20 + i, at::kFloat));
        },
        2);
    for (int i = 0; i < 2; ++i) numbers.put(torch::full({1}, -1, at::kFloat));
    while (!consumers.join()) {
    }
  }
  EXPECT_EQ(sums.get().toInt() + sums.get().toInt(), 40);
  EXPECT_EQ(values_of(seen), std::vector<float>(40, 1));
}

TEST(Queues, MessagesOfKilledProducersHoldTheirMemory) {
  Queue queue;
  const pid_t child = holder([&] { queue.put(torch::full({3}, 7, at::kFloat)); });
  kill_and_wait(child);
  EXPECT_EQ(values_of(queue.get().toTensor()), (std::vector<float>{7, 7, 7}));
  // By name it is the producer that holds it.
  const Strategy names("file_system");
  const pid_t other = holder([&] { queue.put(torch::full({3}, 7, at::kFloat)); });
  kill_and_wait(other);
  EXPECT_NE(message_of([&] { queue.get(); }).find("nobody holds"), std::string::npos);
  const pid_t waits = ::fork();
  if (waits == 0) {
    queue.put(torch::full({3}, 8, at::kFloat));
    ::_exit(wait_until_received(seconds(30)) ? 0 : 1);
  }
  EXPECT_EQ(values_of(queue.get().toTensor()), (std::vector<float>{8, 8, 8}));
  int status = -1;
  ASSERT_EQ(::waitpid(waits, &status, 0), waits);
  EXPECT_EQ(status, 0);
}

TEST(Spawn, RunsAndJoins) {
  at::Tensor ranks = torch::zeros({3});
  share_memory_(ranks);
  ProcessContext context = spawn([&](int rank) { ranks.data_ptr<float>()[rank] = static_cast<float>(rank + 1); }, 3);
  EXPECT_EQ(values_of(ranks), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(context.pids().size(), 3u);
  EXPECT_TRUE(context.join());
  EXPECT_TRUE(spawn([](int) {}, 0).join());
  EXPECT_THROW(spawn([](int) {}, -1), c10::ValueError);
  EXPECT_THROW(start_processes([](int) {}, 1, false, "spawn"), c10::ValueError);
}

TEST(Spawn, WorkersComputeWithThreadsOfTheirOwn) {
  const at::Tensor x = torch::ones({1 << 20});
  at::sum(x);  // starts the pool
  at::Tensor sums = torch::zeros({2});
  share_memory_(sums);
  spawn([&](int rank) { sums.data_ptr<float>()[rank] = at::sum(x).const_data_ptr<float>()[0]; }, 2);
  EXPECT_EQ(values_of(sums), std::vector<float>(2, 1 << 20));
}

TEST(Spawn, AnErrorOfAWorkerIsThrownInTheParent) {
  const auto start = std::chrono::steady_clock::now();
  try {
    spawn(
        [](int rank) {
          if (rank == 1) TORCH_CHECK_VALUE(false, "no data for rank ", rank);
          for (;;) ::pause();
        },
        3);
    FAIL();
  } catch (const ProcessRaisedException& e) {
    EXPECT_EQ(e.error_index, 1);
    EXPECT_GT(e.pid, 0);
    EXPECT_EQ(e.msg().rfind("Process 1 terminated with the following error:\n", 0), 0u) << e.msg();
    EXPECT_NE(e.msg().find("no data for rank 1"), std::string::npos) << e.msg();
    EXPECT_NE(e.msg().find("ValueError"), std::string::npos) << e.msg();
    EXPECT_EQ(::kill(e.pid, 0), -1);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(20));  // the others did not wait for their end
  EXPECT_NE(
      message_of<ProcessRaisedException>([] { spawn([](int) { throw std::out_of_range("row 7"); }); }).find("row 7"),
      std::string::npos);
  EXPECT_NE(message_of<ProcessRaisedException>([] { spawn([](int) { throw 3; }); }).find("no std::exception"),
            std::string::npos);
}

TEST(Spawn, SignalsAndExitCodes) {
  try {
    spawn([](int) { ::raise(SIGKILL); });
    FAIL();
  } catch (const ProcessExitedException& e) {
    EXPECT_EQ(e.msg(), "process 0 terminated with signal SIGKILL");
    EXPECT_EQ(e.signal_name, "SIGKILL");
    EXPECT_EQ(e.exit_code, -SIGKILL);
  }
  try {
    spawn([](int) { ::_exit(3); });
    FAIL();
  } catch (const ProcessExitedException& e) {
    EXPECT_EQ(e.msg(), "process 0 terminated with exit code 3");
    EXPECT_EQ(e.exit_code, 3);
    EXPECT_EQ(e.signal_name, std::nullopt);
  }
  // A worker that does not listen is killed after the grace period.
  ProcessContext context = start_processes(
      [](int rank) {
        ::signal(SIGTERM, SIG_IGN);
        if (rank == 0) ::_exit(4);
        for (;;) ::pause();
      },
      2);
  const pid_t second = context.pids()[1];
  EXPECT_THROW(while (!context.join(std::nullopt, milliseconds(50))){}, ProcessExitedException);
  EXPECT_EQ(::kill(second, 0), -1);
}

TEST(Spawn, TimeoutsAndDaemons) {
  pid_t pid = -1;
  {
    ProcessContext context = start_processes(
        [](int) {
          for (;;) ::pause();
        },
        1, /*daemon=*/true);
    pid = context.pids()[0];
    EXPECT_FALSE(context.join(milliseconds(20)));
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  // A daemon ends with its parent, however that ends.
  at::Tensor number = torch::zeros({1}, at::kInt);
  share_memory_(number);
  const pid_t parent = holder([&] {
    auto* context = new ProcessContext(start_processes(
        [](int) {
          for (;;) ::pause();
        },
        1, /*daemon=*/true));
    number.data_ptr<int>()[0] = context->pids()[0];
  });
  kill_and_wait(parent);
  const pid_t daemon = number.const_data_ptr<int>()[0];
  ASSERT_GT(daemon, 0);
  bool ended = false;
  for (int i = 0; i < 500 && !ended; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    // Whoever inherits it may leave it unburied.
    char state = 'X';
    if (std::FILE* file = std::fopen(c10::str("/proc/", daemon, "/stat").c_str(), "r")) {
      (void)!std::fscanf(file, "%*d (%*[^)]) %c", &state);
      std::fclose(file);
    }
    ended = state == 'X' || state == 'Z';
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace torch::multiprocessing
