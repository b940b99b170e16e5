#include "distributed/testing/run_ranks.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "c10/util/exception.h"
#include "distributed/process_group/rank_local.h"

namespace c10d::testing {
namespace {

int own_rank = -1;  // or all
std::function<std::vector<std::string>(const std::string&)> gather_texts;

std::vector<std::exception_ptr> ended(int size, const std::function<void(int)>& body, std::chrono::milliseconds limit) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> is_done(static_cast<size_t>(size));
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  int done = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    if (own_rank >= 0 && rank != own_rank) {
      is_done[static_cast<size_t>(rank)] = true;
      const std::lock_guard<std::mutex> lock(mutex);
      ++done;
      continue;
    }
    threads.emplace_back([&, rank] {
      try {
        const RankScope scope;
        body(rank);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
      const std::lock_guard<std::mutex> lock(mutex);
      is_done[static_cast<size_t>(rank)] = true;
      ++done;
      changed.notify_all();
    });
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    if (!changed.wait_for(lock, limit, [&] { return done == size; })) {
      for (int rank = 0; rank < size; ++rank) {
        if (!is_done[static_cast<size_t>(rank)]) std::fprintf(stderr, "rank %d has not ended\n", rank);
      }
      std::abort();
    }
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace

void run_ranks(int size, const std::function<void(int)>& body, std::chrono::milliseconds limit) {
  for (const std::exception_ptr& error : ended(size, body, limit)) {
    if (error) std::rethrow_exception(error);
  }
}

std::vector<std::string> errors_of_ranks(int size, const std::function<void(int)>& body,
                                         std::chrono::milliseconds limit) {
  std::vector<std::string> texts;
  for (const std::exception_ptr& error : ended(size, body, limit)) {
    texts.emplace_back();
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const c10::Error& e) {
      texts.back() = e.msg();
    } catch (const std::exception& e) {
      texts.back() = e.what();
    }
  }
  if (own_rank < 0) return texts;
  const std::string own = own_rank < size ? texts[static_cast<size_t>(own_rank)] : "";
  texts = gather_texts(own);
  texts.resize(static_cast<size_t>(size));
  return texts;
}

void set_own_rank(int rank, std::function<std::vector<std::string>(const std::string&)> gather) {
  own_rank = rank;
  gather_texts = std::move(gather);
}

}  // namespace c10d::testing
