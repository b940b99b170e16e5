#include "distributed/store/file_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "c10/testing/files.h"
#include "c10/testing/message_of.h"
#include "distributed/store/testing/stores.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace c10d {
namespace {

using c10::testing::message_of;
using c10::testing::read_file;
using c10::testing::write_file;
using std::chrono::milliseconds;
using testing::bytes;
using ::testing::HasSubstr;

std::string fresh_path() {
  return c10::testing::fresh_folder() + "/store";
}
bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

template <size_t N>
std::string whole(const char (&literal)[N]) {
  return std::string(literal, N - 1);
}

// What PyTorch 2.15 wrote for FileStore(path, 2) twice, set a, add n 3, compare_set n 4 and delete a.
const std::string kPyTorch = whole(
    "\x09\0\0\0refcount/\x01\0\0\0"
    "1\x09\0\0\0refcount/\x01\0\0\0"
    "2\x02\0\0\0/a\x01\0\0\0v\x02\0\0\0/n\x01\0\0\0"
    "3\x02\0\0\0/n\x01\0\0\0"
    "4\x03\0\0\0-/a\0\0\0\0");

TEST(FileStoreTest, TheLastUserRemovesTheFile) {
  const std::string path = fresh_path();
  auto first = c10::make_intrusive<FileStore>(path, 2);
  EXPECT_EQ(first->getPath(), path);
  auto second = c10::make_intrusive<FileStore>(path, 2);
  first->set("key", "1");
  first.reset();
  ASSERT_TRUE(exists(path));
  EXPECT_EQ(second->get_to_str("key"), "1");
  second.reset();
  EXPECT_FALSE(exists(path));
}

TEST(FileStoreTest, OneOfTwoDoesNotRemoveIt) {
  const std::string path = fresh_path();
  c10::make_intrusive<FileStore>(path, 2)->set("key", "1");
  ASSERT_TRUE(exists(path));
  auto late = c10::make_intrusive<FileStore>(path, 2);
  EXPECT_EQ(late->get_to_str("key"), "1");
}

TEST(FileStoreTest, WithoutANumberOfUsersItStays) {
  const std::string path = fresh_path();
  c10::make_intrusive<FileStore>(path, -1)->set("key", "1");
  EXPECT_TRUE(exists(path));
}

TEST(FileStoreTest, ReadsAndWritesTheFormatOfPyTorch) {
  const std::string path = fresh_path();
  write_file(path, kPyTorch);
  {
    FileStore store(path, -1);
    EXPECT_EQ(store.get_to_str("n"), "4");
    EXPECT_FALSE(store.check({"a"}));
    store.set("b", "w");
  }
  const std::string added = whole(
      "\x09\0\0\0refcount/\x01\0\0\0"
      "3\x02\0\0\0/b\x01\0\0\0w\x08\0\0\0cleanup/\x01\0\0\0"
      "1\x09\0\0\0refcount/\x01\0\0\0"
      "2");
  EXPECT_EQ(read_file(path), kPyTorch + added);
}

TEST(FileStoreTest, AHalfRecordIsOverwritten) {
  for (size_t cut = 0; cut < kPyTorch.size(); ++cut) {
    const std::string path = fresh_path();
    write_file(path, kPyTorch.substr(0, cut));
    {
      FileStore store(path, -1);
      store.set("b", "w");
      EXPECT_EQ(store.get_to_str("b"), "w");
    }
    FileStore again(path, -1);
    EXPECT_EQ(again.get_to_str("b"), "w") << cut;
  }
}

TEST(FileStoreTest, LeavesAFileThatIsNoStore) {
  const std::string path = fresh_path();
  for (const std::string& text :
       {std::string("the only copy of something"), std::string("x"), std::string(1000, '\xff')}) {
    write_file(path, text);
    EXPECT_THAT(message_of<c10::DistStoreError>([&] { FileStore(path, 1); }), HasSubstr("no store's"));
    EXPECT_EQ(read_file(path), text);
  }
}

TEST(FileStoreTest, NamesThePathInErrors) {
  EXPECT_THAT(message_of<c10::DistStoreError>([] { FileStore("/nowhere/at/all", 1); }),
              HasSubstr("/nowhere/at/all: cannot"));
  const std::string path = fresh_path();
  FileStore store(path, 1);
  ::unlink(path.c_str());
  EXPECT_THAT(message_of<c10::DistStoreError>([&] { store.set("a", "1"); }), HasSubstr(path + ": was removed"));
  EXPECT_THAT(message_of<c10::DistStoreError>([&] { store.wait({"a"}); }), HasSubstr("was removed"));
  FileStore another(path, 1);
  EXPECT_THAT(message_of<c10::DistStoreError>([&] { store.set("a", "1"); }), HasSubstr("replaced"));
}

TEST(FileStoreTest, AFullDiskChangesNothing) {
  // The device that is always full.
  struct stat info {};
  if (::stat("/dev/full", &info) != 0) GTEST_SKIP();
  EXPECT_THROW(FileStore("/dev/full", 1), c10::DistStoreError);
}

TEST(FileStoreTest, AForeignLockIsWaitedForUntilTheTimeout) {
  const std::string path = fresh_path();
  FileStore store(path, 1);
  store.setTimeout(milliseconds(50));
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  EXPECT_THAT(message_of<c10::DistStoreError>([&] { store.set("a", "1"); }), HasSubstr("holds the lock"));
  EXPECT_THROW(store.wait({"a"}, milliseconds(50)), c10::DistStoreError);
  ASSERT_EQ(::flock(fd, LOCK_UN), 0);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(fd, F_OFD_SETLK, &whole), 0);
  EXPECT_THAT(message_of<c10::DistStoreError>([&] { store.set("a", "1"); }), HasSubstr("holds the lock"));
  ::close(fd);
  store.set("a", "1");
  EXPECT_EQ(store.get_to_str("a"), "1");
}

TEST(FileStoreTest, ProcessesShareIt) {
  constexpr int kProcesses = 4, kRounds = 100;
  const std::string path = fresh_path();
  FileStore store(path, kProcesses + 1);
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int result = 1;
      try {
        FileStore own(path, kProcesses + 1);
        own.setTimeout(std::chrono::seconds(30));
        for (int i = 0; i < kRounds; ++i) {
          own.add("sum", 1);
          own.append("log", bytes("x"));
        }
        own.barrier("all", kProcesses);
        result = own.add("sum", 0) == kProcesses * kRounds ? 0 : 2;
      } catch (...) {
      }
      ::_exit(result);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(store.add("sum", 0), kProcesses * kRounds);
  EXPECT_EQ(store.get("log").size(), kProcesses * kRounds);
}

TEST(FileStoreTest, SurvivesProcessesThatAreKilled) {
  const std::string path = fresh_path();
  FileStore store(path, -1);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FileStore own(path, -1);
      for (int64_t i = 0;; ++i) own.set("key" + std::to_string(i % 7), std::string(1000, 'x'));
    }
    ::usleep(2000 + 500 * static_cast<unsigned>(round));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const std::string value = std::to_string(round);
    store.set("round", value);
    EXPECT_EQ(store.get_to_str("round"), value);
    EXPECT_EQ(FileStore(path, -1).get_to_str("round"), value);
  }
}

}  // namespace
}  // namespace c10d
