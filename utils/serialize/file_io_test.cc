#include "utils/serialize/file_io.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <string>

#include "c10/testing/files.h"

namespace torch::serialize {
namespace {

using ::testing::HasSubstr;
using c10::testing::fresh_folder;

int entries_in(const std::string& folder) {
  int n = 0;
  DIR* dir = ::opendir(folder.c_str());
  while (const dirent* e = ::readdir(dir)) n += e->d_name[0] != '.';
  ::closedir(dir);
  return n;
}

TEST(AtomicFile, ReplacesAndKeepsTheMode) {
  const std::string folder = fresh_folder(), path = folder + "/f";
  write_file(path, "one");
  EXPECT_EQ(read_file(path), "one");
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  write_file(path, "two");
  EXPECT_EQ(read_file(path), "two");
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(entries_in(folder), 1);
}

TEST(AtomicFile, WithoutCommitNothingHappens) {
  const std::string folder = fresh_folder(), path = folder + "/f";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries_in(folder), 1);
}

TEST(AtomicFile, FollowsALink) {
  const std::string folder = fresh_folder();
  write_file(folder + "/real", "old");
  ASSERT_EQ(::symlink((folder + "/real").c_str(), (folder + "/link").c_str()), 0);
  write_file(folder + "/link", "new");
  EXPECT_EQ(read_file(folder + "/real"), "new");
  EXPECT_EQ(entries_in(folder), 2);
}

TEST(AtomicFile, SaysWhatFailed) {
  try {
    AtomicFile file("/no/such/folder/f");
    FAIL();
  } catch (const IoError& e) {
    EXPECT_THAT(e.msg(), HasSubstr("Parent directory /no/such/folder does not exist."));
  }
  try {
    read_file("/no/such/file");
    FAIL();
  } catch (const IoError& e) {
    EXPECT_EQ(e.msg(), "open file failed because of errno 2 on fopen: No such file or directory, file path: /no/such/file");
  }
  EXPECT_THROW(AtomicFile{fresh_folder()}, IoError);
  AtomicFile full(fresh_folder() + "/f");
  full.commit();
  EXPECT_THROW(full.commit(), c10::Error);
}

// Killed at random moments while it replaces a file over and over: what is there is always one whole version.
TEST(AtomicFile, SurvivesKills) {
  const std::string folder = fresh_folder(), path = folder + "/f";
  constexpr size_t kBytes = 300'000;
  write_file(path, std::string(kBytes, 'a'));
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (char c = 'a';; c = c == 'z' ? 'a' : static_cast<char>(c + 1)) write_file(path, std::string(kBytes, c));
    }
    ::usleep(random() % 8000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string text = read_file(path);
    ASSERT_EQ(text.size(), kBytes);
    ASSERT_EQ(text.find_first_not_of(text[0]), std::string::npos) << "torn in round " << round;
  }
}

TEST(MappedFile, IsCopyOnWrite) {
  const std::string path = fresh_folder() + "/f";
  write_file(path, "hello");
  MappedFile file(path);
  EXPECT_EQ(file.bytes(), "hello");
  file.data()[0] = 'j';
  EXPECT_EQ(file.bytes(), "jello");
  EXPECT_EQ(read_file(path), "hello");
  write_file(path, "other");
  EXPECT_EQ(file.bytes(), "jello");
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes(), "jello");
  EXPECT_EQ(file.size(), 0u);
}

TEST(MappedFile, RejectsWhatIsNoFile) {
  const std::string folder = fresh_folder();
  EXPECT_THROW(MappedFile(folder + "/none"), IoError);
  EXPECT_THROW(MappedFile{folder}, IoError);
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_THROW(MappedFile(folder + "/pipe"), IoError);
  write_file(folder + "/empty", "");
  EXPECT_EQ(MappedFile(folder + "/empty").size(), 0u);
  EXPECT_THROW(read_file(folder + "/none"), IoError);
}

TEST(ReadFile, HasALimit) {
  const std::string path = fresh_folder() + "/f";
  write_file(path, "hello");
  EXPECT_THROW(read_file(path, 4), FormatError);
  EXPECT_EQ(read_file(path, 5), "hello");
}

TEST(Paths, ANulIsRefusedAndNothingIsWritten) {
  const std::string folder = c10::testing::fresh_folder();
  const std::string path = folder + "/short" + std::string(1, '\0') + "long";
  EXPECT_THROW(AtomicFile file(path), IoError);
  c10::testing::write_file(folder + "/short", "x");
  EXPECT_THROW(MappedFile file(path), IoError);
  try {
    read_file(path);
    FAIL();
  } catch (const IoError& e) {
    EXPECT_NE(e.msg().find("a path may not contain a NUL, but there is one behind \"" + folder + "/short\""), std::string::npos) << e.msg();
  }
  EXPECT_EQ(c10::testing::read_file(folder + "/short"), "x");
}

}  // namespace
}  // namespace torch::serialize
