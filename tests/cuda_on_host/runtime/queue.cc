// Work that waits for its turn, and the one thread that runs host functions.
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "tests/cuda_on_host/runtime/state.h"
#include "tests/cuda_on_host/simt/simt.h"

namespace cuda_standin {
namespace {

struct Job {
  uint64_t work;  // 0 where none waits for it
  std::function<void()> run;
};

struct Queue {
  std::unordered_map<uint64_t, Work> pending;
  std::vector<uint64_t> ready;  // follow nothing that is pending, and have not started
  uint64_t next = 1, generation = 0;
  std::deque<Job> jobs;
  size_t external = 0;  // pending work that another process or device may keep waiting
  bool job_runs = false, has_thread = false;
};
Queue& queue() {
  static auto* const one = new Queue;
  return *one;
}

void complete(uint64_t id) {
  Queue& q = queue();
  const auto it = q.pending.find(id);
  if (it == q.pending.end()) return;
  const std::vector<uint64_t> followers = std::move(it->second.followers);
  if (it->second.external) --q.external;
  q.pending.erase(it);
  for (uint64_t follower : followers) {
    if (--q.pending.at(follower).blockers == 0) q.ready.push_back(follower);
  }
}

void host_thread() {
  {
    Lock lock;
    thread_state().in_host_function = true;
  }
  while (true) {
    Job job;
    {
      Lock lock;
      while (queue().jobs.empty()) Lock::wait();
      job = std::move(queue().jobs.front());
      queue().jobs.pop_front();
      queue().job_runs = true;
    }
    job.run();
    {
      Lock lock;
      queue().job_runs = false;
      if (job.work != 0) complete(job.work);
      Lock::notify();
    }
  }
}

void hand_over(Job job) {
  Queue& q = queue();
  q.jobs.push_back(std::move(job));
  if (!std::exchange(q.has_thread, true)) std::thread(host_thread).detach();
  Lock::notify();
}

void note(const Work& work) {
  if (work.kind == WorkKind::kMarker) return;
  state().trace.push_back({work.name, work.kind, work.device, work.stream, work.bytes, work.in_graph});
}

void observe(Work& work, uint64_t start_ns) {
  ObservedWork& seen = work.observed;
  seen.name = work.name;
  seen.kind = work.kind;
  seen.device = work.device;
  seen.bytes = work.bytes;
  seen.start_ns = start_ns;
  seen.end_ns = clock_ns();
  observer()->ran(seen);
}

void stay_with(cudaError_t status, const std::string& text) {
  state().sticky = status;
  add_misuse(text);
}

// Runs a piece that is ready, or hands it to the host functions' thread.
void start(uint64_t id) {
  Queue& q = queue();
  q.ready.erase(std::find(q.ready.begin(), q.ready.end(), id));
  Work& work = q.pending.at(id);
  State& s = state();
  if (s.sticky != cudaSuccess || !work.run) {
    if (s.sticky == cudaSuccess) note(work);
    complete(id);
    return;
  }
  if (work.kind == WorkKind::kHostFunction) {
    note(work);
    hand_over({id, std::move(work.run)});
    return;
  }
  s.now += 1e-3 + static_cast<double>(work.bytes) * 1e-9;  // ms: a launch, and 1 TB/s
  if (work.kind != WorkKind::kMarker) open_memory(bit(work.device) | work.reach);
  const auto run = std::move(work.run);
  thread_state().in_work = true;
  set_running(work.name.c_str());
  const uint64_t start_ns = observer() ? clock_ns() : 0;
  try {
    run();
    note(work);
    if (observer() && start_ns != 0 && work.kind != WorkKind::kMarker) observe(work, start_ns);
  } catch (const DeviceError& error) {
    stay_with(error.status, error.text);
  } catch (const std::exception& error) {
    stay_with(cudaErrorLaunchFailure, error.what());
  }
  set_running(nullptr);
  thread_state().in_work = false;
  complete(id);
}

uint64_t choose(bool wanted_only) {
  Queue& q = queue();
  if (!wanted_only && q.external == 0) return q.ready.empty() ? 0 : q.ready[state().random() % q.ready.size()];
  std::vector<uint64_t> choice;
  for (uint64_t id : q.ready) {
    const Work& work = q.pending.at(id);
    if (wanted_only && work.wanted != q.generation) continue;
    if (!work.external || work.external()) choice.push_back(id);
  }
  return choice.empty() ? 0 : choice[state().random() % choice.size()];
}

// Marks what must run before `works` are done.
void want(const std::vector<uint64_t>& works) {
  Queue& q = queue();
  ++q.generation;
  std::vector<uint64_t> open = works;
  while (!open.empty()) {
    const uint64_t id = open.back();
    open.pop_back();
    const auto it = q.pending.find(id);
    if (it == q.pending.end() || it->second.wanted == q.generation) continue;
    it->second.wanted = q.generation;
    open.insert(open.end(), it->second.after.begin(), it->second.after.end());
  }
}

}  // namespace

uint64_t add_work(Work work, std::vector<uint64_t> after) {
  Queue& q = queue();
  const uint64_t id = q.next++;
  work.observed.correlation = thread_state().correlation;
  if (work.external) ++q.external;
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  std::erase_if(after, [&](uint64_t other) { return !q.pending.contains(other); });
  for (uint64_t other : after) q.pending.at(other).followers.push_back(id);
  work.blockers = after.size();
  work.after = std::move(after);
  if (work.blockers == 0) q.ready.push_back(id);
  q.pending.emplace(id, std::move(work));
  return id;
}

bool is_pending(uint64_t work) {
  return queue().pending.contains(work);
}

void finish(std::vector<uint64_t> works) {
  const bool wanted_only = state().options.execution == Execution::kLazy;
  while (true) {
    std::erase_if(works, [](uint64_t id) { return !is_pending(id); });
    if (works.empty()) return;
    if (wanted_only) want(works);
    const uint64_t id = choose(wanted_only);
    if (id == 0) {
      // For another device, another process, or a host function. Devices go on meanwhile, wanted or not.
      if (queue().external == 0) {
        Lock::wait();
      } else if (const uint64_t other = choose(false)) {
        start(other);
      } else {
        Lock::pause();
      }
      continue;
    }
    start(id);
    // As long as this thread holds the lock, what was marked stays marked.
    while (is_pending(works.back())) {
      const uint64_t next = choose(wanted_only);
      if (next == 0) break;
      start(next);
    }
  }
}

void finish_device(int device) {
  Device& d = device_state(device);
  std::vector<uint64_t> works = d.orphans;
  works.push_back(d.legacy.last);
  for (const auto& [handle, stream] : state().streams) {
    if (stream->device == device) works.push_back(stream->last);
  }
  finish(std::move(works));
  d.orphans.clear();
  trim_pools(device);
}

void finish_everything() {
  for (int i = 0; i < state().options.devices; ++i) finish_device(i);
}

void run_some(size_t limit) {
  for (; limit > 0; --limit) {
    const uint64_t id = choose(false);
    if (id == 0) return;
    start(id);
  }
}

bool poll(uint64_t work) {
  if (state().options.execution == Execution::kEager) run_some(SIZE_MAX);  // what a host function let go on
  if (!is_pending(work)) return true;
  if (state().options.execution == Execution::kLazy && state().random() % 4 == 0) {
    want({work});
    if (const uint64_t id = choose(true)) start(id);
  }
  return false;
}

void run_on_host_thread(std::function<void()> job) {
  hand_over({0, std::move(job)});
}

void clear_work() {
  Queue& q = queue();
  std::erase_if(q.jobs, [](const Job& job) { return job.work != 0; });
  while (!q.jobs.empty() || q.job_runs) Lock::wait();
  q.pending.clear();
  q.ready.clear();
  q.external = 0;
}

size_t pending_work() {
  Lock lock;
  return queue().pending.size();
}

}  // namespace cuda_standin
