#include "tests/cuda_on_host/simt/simt.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <unordered_map>

#include "tests/cuda_on_host/simt/counts.h"
#include "tests/cuda_on_host/simt/fiber.h"
#include "tests/cuda_on_host/simt/instructions.h"
#include "tests/cuda_on_host/simt/watch.h"

// The section that device.h puts static shared memory into.
extern "C" char __start_simt_shared[] __attribute__((weak));
extern "C" char __stop_simt_shared[] __attribute__((weak));

namespace simt {

Thread* current = nullptr;
uint3 thread_index, block_index;
unsigned lane_index;
dim3 block_size, grid_size;

// The launch ends when the thread that runs waits or ends.
void fail_launch(const std::string& what);

namespace {

constexpr unsigned kWarp = 32, kAllLanes = 0xffffffffu;

enum class State : uint8_t { kUnstarted, kRunning, kAtBarrier, kAtCollective, kReady, kDone };

struct GpuThread : Thread {
  State state = State::kUnstarted;
  Fiber* fiber = nullptr;
  RaceContext race;
  // What it waits for, or brought to it.
  const char* collective = nullptr;
  unsigned mask = 0;
  const void* in = nullptr;
  void* out = nullptr;
  int value = 0;
  Site site;
};

struct Warp {
  unsigned ready;    // may go on, or start
  unsigned arrived;  // wait in a collective
  unsigned gone;     // have ended, or never were
};

// The grid that runs. There is one at a time, and the memory of its parts is kept for the next.
struct Running {
  const Grid* grid;
  const std::function<void()>* kernel;
  std::mt19937_64 random;

  std::vector<GpuThread> threads;  // of the block
  std::vector<Warp> warps;
  std::vector<unsigned> warp_order;
  unsigned alive, at_barrier;
  Barrier barrier;

  bool failed;
  std::string failure;
} g;

// The stacks that threads run on. One that is free waits in run_threads() for another thread to start.
std::vector<std::unique_ptr<Fiber>> g_fibers;
std::vector<Fiber*> g_free_fibers;
Fiber g_main_fiber;

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};
std::unique_ptr<char[], FreeMemory> g_dynamic_shared;  // of exactly the launch's size, so that ASan sees its end

Fiber& fiber_for(GpuThread& thread);

GpuThread& self() {
  return *static_cast<GpuThread*>(current);
}

std::string text(uint3 v) {
  return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}
std::string text(Site site) {
  return std::string(site.file_name()) + ":" + std::to_string(site.line());
}
std::string text(const GpuThread& thread) {
  return "thread " + text(thread.index) + " of block " + text(block_index);
}

// The lane that goes on next, of those in `mask`.
unsigned choose_lane(unsigned mask) {
  switch (options().order) {
    case Order::kForward:
      return static_cast<unsigned>(__builtin_ctz(mask));
    case Order::kReverse:
      return kWarp - 1 - static_cast<unsigned>(__builtin_clz(mask));
    case Order::kRandom:
      break;
  }
  unsigned skip = static_cast<unsigned>(g.random() % static_cast<unsigned>(__builtin_popcount(mask)));
  while (skip-- > 0) mask &= mask - 1;
  return static_cast<unsigned>(__builtin_ctz(mask));
}

void report_deadlock() {
  std::string who;
  int shown = 0;
  for (const GpuThread& t : g.threads) {
    if (t.state == State::kDone || shown++ >= 4) continue;
    who += " " + text(t) + " waits in " + (t.state == State::kAtBarrier ? "__syncthreads" : t.collective) + " at " +
           text(t.site) + ";";
  }
  fail_launch("deadlock:" + who);
}

// The thread that goes on; null at the end of the block, and after a fault. The first warp of the order that can go on
// does.
GpuThread* next_thread() {
  if (g.failed || g.alive == 0) return nullptr;
  for (const unsigned w : g.warp_order) {
    Warp& warp = g.warps[w];
    if (warp.ready == 0) continue;
    const unsigned lane = choose_lane(warp.ready);
    warp.ready &= ~(1u << lane);
    return &g.threads[w * kWarp + lane];
  }
  report_deadlock();
  return nullptr;
}

void make_current(GpuThread& thread) {
  current = &thread;
  thread_index = thread.index;
  lane_index = thread.lane;
  thread.state = State::kRunning;
}

void run_kernel(GpuThread& thread) {
  make_current(thread);
  thread.race.begin();
  try {
    watch::set_active(true);
    (*g.kernel)();
    watch::set_active(false);
  } catch (const KernelFault& fault) {
    watch::set_active(false);
    if (!g.failed) {
      g.failed = true;
      g.failure = fault.what();
    }
  }
  thread.race.end();
  thread.state = State::kDone;
  thread.fiber = nullptr;
  g.warps[thread.warp].gone |= 1u << thread.lane;
  --g.alive;
  if (g.at_barrier > 0 && g.at_barrier == g.alive) {
    for (const GpuThread& t : g.threads) {
      if (t.state != State::kAtBarrier) continue;
      return fail_launch("the barrier at " + text(t.site) +
                         " is not reached by all threads of the block: " + text(thread) + " has ended");
    }
  }
}

// What a fiber does for ever: threads one after the other, as long as the next one has not started.
void run_threads() {
  for (;;) {
    Fiber& fiber = *Fiber::active();
    run_kernel(*static_cast<GpuThread*>(fiber.work));
    GpuThread* next = next_thread();
    if (next != nullptr && next->fiber == nullptr && !kFreshStacks) {
      next->fiber = &fiber;
      fiber.work = next;
      continue;
    }
    Fiber& to = next != nullptr ? fiber_for(*next) : g_main_fiber;
    g_free_fibers.push_back(&fiber);
    Fiber::switch_to(to);
  }
}

Fiber& fiber_for(GpuThread& thread) {
  if (thread.fiber == nullptr) {
    if (g_free_fibers.empty()) {
      g_fibers.push_back(std::make_unique<Fiber>(&run_threads));
      g_free_fibers.push_back(g_fibers.back().get());
    }
    thread.fiber = g_free_fibers.back();
    g_free_fibers.pop_back();
    if (kFreshStacks) thread.fiber->restart();
    thread.fiber->work = &thread;
  }
  return *thread.fiber;
}

// Lets others go on until the calling thread may.
void wait() {
  GpuThread& me = self();
  GpuThread* next = next_thread();
  if (next != &me) {
    me.race.leave();
    Fiber::switch_to(next != nullptr ? fiber_for(*next) : g_main_fiber);
    me.race.enter();
  }
  make_current(me);
}

void release_barrier() {
  int result = g.barrier == Barrier::kAnd;
  for (const GpuThread& t : g.threads) {
    if (g.barrier == Barrier::kCount) result += t.value != 0;
    if (g.barrier == Barrier::kAnd) result &= t.value != 0;
    if (g.barrier == Barrier::kOr) result |= t.value != 0;
  }
  for (GpuThread& t : g.threads) {
    t.value = result;
    t.state = State::kReady;
    g.warps[t.warp].ready |= 1u << t.lane;
  }
  g.at_barrier = 0;
  watch::barrier();
  ++statistics().barriers;
  if (options().order == Order::kRandom) std::shuffle(g.warp_order.begin(), g.warp_order.end(), g.random);
}

void start_block() {
  const unsigned count = block_size.x * block_size.y * block_size.z, warps = (count + kWarp - 1) / kWarp;
  g.threads.assign(count, {});
  for (unsigned i = 0; i < count; ++i) {
    GpuThread& t = g.threads[i];
    t.index = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
    t.lane = i % kWarp;
    t.warp = i / kWarp;
  }
  g.warps.assign(warps, {kAllLanes, 0, 0});
  if (count % kWarp != 0) {
    const unsigned lanes = (1u << count % kWarp) - 1;
    g.warps.back() = {lanes, 0, ~lanes};
  }
  g.warp_order.resize(warps);
  std::iota(g.warp_order.begin(), g.warp_order.end(), 0u);
  if (options().order == Order::kReverse) std::reverse(g.warp_order.begin(), g.warp_order.end());
  if (options().order == Order::kRandom) std::shuffle(g.warp_order.begin(), g.warp_order.end(), g.random);
  g.alive = count;
  g.at_barrier = 0;
  if (options().poison_shared) {
    if (g_dynamic_shared != nullptr) std::memset(g_dynamic_shared.get(), 0xFF, g.grid->dynamic_shared);
    if (__start_simt_shared != nullptr) {
      std::memset(__start_simt_shared, 0xFF, static_cast<size_t>(__stop_simt_shared - __start_simt_shared));
    }
  }
}

void run_block() {
  start_block();
  watch::start_block(g_dynamic_shared.get(), g.grid->dynamic_shared);
  copies::start_block();
  RaceContext::publish_block();
  if (GpuThread* first = next_thread()) Fiber::switch_to(fiber_for(*first));
  current = nullptr;
  RaceContext::collect_block();
  if (counts::is_on()) counts::end_block();
}

// Threads that a fault left behind are given up; their stacks serve again.
void give_up_threads() {
  g_free_fibers.clear();
  for (const auto& fiber : g_fibers) {
    fiber->restart();
    g_free_fibers.push_back(fiber.get());
  }
  for (GpuThread& t : g.threads) t.race.abandon();
}

auto& declared() {
  static auto& kernels = *new std::unordered_map<const void*, Kernel>;
  return kernels;
}

}  // namespace

void fail_launch(const std::string& what) {
  if (g.failed) return;
  g.failed = true;
  g.failure = std::string(g.grid->name) + ": " + what;
}

Options& options() {
  static Options value = [] {
    Options initial;
    initial.watch = !kSanitized;
    const char* order = std::getenv("SIMT_ORDER");
    if (order != nullptr && std::strcmp(order, "reverse") == 0) initial.order = Order::kReverse;
    if (order != nullptr && std::strcmp(order, "random") == 0) initial.order = Order::kRandom;
    if (const char* seed = std::getenv("SIMT_SEED")) initial.seed = std::strtoull(seed, nullptr, 10);
    return initial;
  }();
  return value;
}

Statistics& statistics() {
  static Statistics value;
  return value;
}

void declare(const void* kernel, const char* name, BoundKernel (*bind)(const void*, void**)) {
  declared().try_emplace(kernel, Kernel{name, bind});
}

const Kernel* find_kernel(const void* kernel) {
  const auto found = declared().find(kernel);
  return found != declared().end() ? &found->second : nullptr;
}

void* dynamic_shared() {
  return g_dynamic_shared.get();
}
size_t dynamic_shared_bytes() {
  return g.grid->dynamic_shared;
}

void fault(const std::string& what, Site site) {
  watch::set_active(false);
  throw KernelFault(std::string(g.grid->name) + ": " + what + " at " + text(site) + " by " + text(self()));
}

int barrier(Barrier kind, int predicate, Site site) {
  watch::set_active(false);
  GpuThread& me = self();
  if (g.at_barrier > 0 && g.barrier != kind) fault("threads of a block meet at different kinds of barrier", site);
  if (g.alive != g.threads.size()) fault("a barrier is not reached by all threads of the block: some have ended", site);
  g.barrier = kind;
  me.value = predicate;
  me.site = site;
  me.state = State::kAtBarrier;
  me.race.release(&g.barrier);
  if (++g.at_barrier == g.alive) release_barrier();
  wait();
  me.race.acquire(&g.barrier);
  watch::set_active(true);
  return me.value;
}

void collective(const char* name, unsigned mask, const void* in, void* out, void (*resolve)(const Lanes&),
                bool orders_memory, Site site) {
  watch::set_active(false);
  GpuThread& me = self();
  Warp& warp = g.warps[me.warp];
  GpuThread* lanes_of_warp = &g.threads[me.warp * kWarp];
  if (!(mask >> me.lane & 1))
    fault(std::string(name) + ": the calling lane " + std::to_string(me.lane) + " is not in its mask", site);
  if (const unsigned gone = warp.gone & mask) {
    fault(
        std::string(name) + ": lane " + std::to_string(__builtin_ctz(gone)) + " of the mask has ended or is not there",
        site);
  }
  me.collective = name;
  me.mask = mask;
  me.in = in;
  me.out = out;
  me.site = site;
  me.state = State::kAtCollective;
  warp.arrived |= 1u << me.lane;
  if (orders_memory) me.race.release(lanes_of_warp);
  // A lane that waits in a collective without this one comes to this one's later.
  bool all_here = (warp.arrived & mask) == mask;
  for (unsigned rest = mask; all_here && rest != 0; rest &= rest - 1) {
    all_here = (lanes_of_warp[__builtin_ctz(rest)].mask >> me.lane & 1) != 0;
  }
  if (all_here) {
    Lanes lanes{mask, {}, {}};
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
      const GpuThread& other = lanes_of_warp[lane];
      if (other.mask != mask || std::strcmp(other.collective, name) != 0) {
        fault(std::string(name) + " meets " + other.collective + " of lane " + std::to_string(lane) + " at " +
                  text(other.site) + (other.mask != mask ? ", whose mask differs," : ""),
              site);
      }
      lanes.in[lane] = other.in;
      lanes.out[lane] = other.out;
    }
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) lanes_of_warp[__builtin_ctz(rest)].state = State::kReady;
    warp.arrived &= ~mask;
    warp.ready |= mask & ~(1u << me.lane);
    me.state = State::kRunning;
    if (resolve != nullptr) {
      const RaceContext::Ignore registers_of_lanes;
      resolve(lanes);
    }
    if (orders_memory) watch::order_lanes(me.warp, mask);
    ++statistics().collectives;
  } else {
    wait();
  }
  if (orders_memory) me.race.acquire(lanes_of_warp);
  watch::set_active(true);
}

void run(const Grid& grid, const std::function<void()>& kernel) {
  grid_size = grid.blocks;
  block_size = grid.threads;
  g.grid = &grid;
  g.kernel = &kernel;
  g.random.seed(options().seed + statistics().launches);
  g.failed = false;
  g.failure.clear();
  g_dynamic_shared.reset();
  if (grid.dynamic_shared > 0) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 128, grid.dynamic_shared) != 0) throw std::bad_alloc();
    g_dynamic_shared.reset(static_cast<char*>(memory));
  }
  g_main_fiber.adopt_thread();
  watch::start_grid();

  const uint64_t blocks = uint64_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
  const uint64_t threads = blocks * grid.threads.x * grid.threads.y * grid.threads.z;
  if (counts::is_on()) counts::start_launch(grid.name, static_cast<int64_t>(blocks), static_cast<int64_t>(threads));
  std::vector<uint64_t> order;
  if (options().order == Order::kRandom) {
    order.resize(blocks);
    std::iota(order.begin(), order.end(), uint64_t{0});
    std::shuffle(order.begin(), order.end(), g.random);
  }
  for (uint64_t n = 0; n < blocks && !g.failed; ++n) {
    uint64_t index = n;
    if (options().order == Order::kReverse) index = blocks - 1 - n;
    if (options().order == Order::kRandom) index = order[n];
    block_index = {static_cast<unsigned>(index % grid.blocks.x),
                   static_cast<unsigned>(index / grid.blocks.x % grid.blocks.y),
                   static_cast<unsigned>(index / grid.blocks.x / grid.blocks.y)};
    run_block();
  }
  ++statistics().launches;
  statistics().blocks += blocks;
  statistics().threads += threads;
  if (counts::is_on()) counts::end_launch();
  if (g.failed) {
    give_up_threads();
    throw KernelFault(g.failure);
  }
}

}  // namespace simt
