// Random programs over streams, the allocator, events, generators and graphs of two devices, against a model that does
// one thing after the other. A program waits where it must, so that every order of execution gives the model's numbers.
//
//   bazel run //aten/cuda:graph_programs_test_cuda_on_host -- --programs=10000
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include "aten/cuda/graph_testing.h"
#include "c10/cuda/testing.h"
#include "c10/testing/flags.h"

namespace {

namespace CachingAllocator = c10::cuda::CUDACachingAllocator;
using at::CUDAGeneratorImpl;
using at::cuda::CUDAEvent;
using at::cuda::CUDAGraph;
using at::cuda::testing::Buffer;
using at::cuda::testing::mix;
using at::cuda::testing::mixed;
using at::cuda::testing::Numbers;
using c10::DeviceIndex;
using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;

uint64_t g_programs = 300, g_first_seed = 1;

constexpr uint32_t kSize = 2;
constexpr int kDevices = 2, kStreams = 3, kSteps = 30;

// A piece of memory: its number names its contents in the model, which outlive it.
struct Value {
  int id;
  std::optional<Buffer> buffer;
  CUDAStream owner;
  CUDAStream last;  // where it was used last
};
using ValuePtr = std::shared_ptr<Value>;

struct Operation {
  bool draws;
  int out, a, b;
  uint64_t tag;
};

// Graphs of one pool, which are replayed together.
struct Group {
  DeviceIndex device;
  std::vector<std::unique_ptr<CUDAGraph>> graphs;
  std::vector<std::vector<Operation>> operations;
  std::vector<ValuePtr> from_outside;     // must stay
  std::vector<std::weak_ptr<Value>> own;  // made in its captures; the program may drop them
  std::set<int> own_ids;
  std::vector<CUDAStream> used_by;  // streams that may use the pool's memory still
};

class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {
    for (DeviceIndex device = 0; device < kDevices; ++device) {
      for (int i = 0; i < kStreams; ++i) streams_[device].push_back(c10::cuda::getStreamFromPool(false, device));
      reseed(device);
    }
  }

  void run() {
    for (int step = 0; step < kSteps; ++step) {
      const auto device = static_cast<DeviceIndex>(below(kDevices));
      switch (below(12)) {
        case 0:
        case 1:
          upload(device);
          break;
        case 2:
        case 3:
          compute(device);
          break;
        case 4:
          draw(device);
          break;
        case 5:
          drop_value(device);
          break;
        case 6:
        case 7:
          capture(device);
          break;
        case 8:
        case 9:
          replay_some(device);
          break;
        case 10:
          drop_group();
          break;
        default:
          rarely(device);
          break;
      }
    }
    for (auto& values : values_)
      for (const ValuePtr& value : values) check(*value);
    // Buffers are used on streams other than their own without a word to the allocator by graphs alone.
    for (DeviceIndex device = 0; device < kDevices; ++device) wait(device);
  }

 private:
  // --- choices ---
  uint64_t below(uint64_t n) { return random_() % n; }
  CUDAStream any_stream(DeviceIndex device) { return streams_[device][below(kStreams)]; }
  ValuePtr any_value(DeviceIndex device) {
    auto& values = values_[device];
    if (values.empty()) upload(device);
    return values[below(values.size())];
  }

  // --- one after the other ---
  static void order(CUDAStream before, CUDAStream after) {
    if (before == after) return;
    CUDAEvent event;
    event.record(before);
    event.block(after);
  }
  static void use(Value& value, CUDAStream stream) {
    order(value.last, stream);
    value.last = stream;
    if (stream != value.owner) CachingAllocator::recordStream(value.buffer->memory(), stream);
  }
  static void wait(DeviceIndex device) {
    const c10::cuda::CUDAGuard guard(device);
    c10::cuda::device_synchronize();
  }

  ValuePtr make(CUDAStream stream) {
    const CUDAStreamGuard guard(stream);
    return std::make_shared<Value>(Value{next_id_++, std::optional<Buffer>(std::in_place, kSize), stream, stream});
  }

  void upload(DeviceIndex device) {
    const CUDAStream stream = any_stream(device);
    ValuePtr value = make(stream);
    const CUDAStreamGuard guard(stream);
    const Numbers numbers = {random_(), random_()};
    value->buffer->set(numbers);
    model_[value->id] = numbers;
    values_[device].push_back(std::move(value));
  }

  void compute(DeviceIndex device) {
    const ValuePtr a = any_value(device), b = any_value(device);
    const CUDAStream stream = any_stream(device);
    const bool is_new = below(2) == 0;
    const ValuePtr out = is_new ? make(stream) : any_value(device);
    use(*a, stream);
    use(*b, stream);
    use(*out, stream);
    const uint64_t tag = random_();
    const CUDAStreamGuard guard(stream);
    mix(*out->buffer, *a->buffer, *b->buffer, tag);
    model_[out->id] = mixed(model_[a->id], model_[b->id], tag);
    if (is_new) values_[device].push_back(out);
  }

  static CUDAGeneratorImpl& generator(DeviceIndex device) {
    return *at::cuda::detail::getDefaultCUDAGenerator(device).get<CUDAGeneratorImpl>();
  }
  void reseed(DeviceIndex device) {
    drawn_[device] = {random_(), 0};
    generator(device).set_current_seed(drawn_[device][0]);
  }
  // On the current stream; four words.
  static void show(const Value& out, DeviceIndex device) {
    at::cuda::testing::show(generator(device).philox_cuda_state(4), out.buffer->data(),
                            c10::cuda::getCurrentCUDAStream());
  }
  void draw(DeviceIndex device) {
    const ValuePtr out = any_value(device);
    const CUDAStream stream = any_stream(device);
    use(*out, stream);
    const CUDAStreamGuard guard(stream);
    show(*out, device);
    model_[out->id] = drawn_[device];
    drawn_[device][1] += 4;
  }

  void check(Value& value) {
    const CUDAStreamGuard guard(value.last);
    EXPECT_EQ(value.buffer->get(), model_[value.id]) << "value " << value.id;
  }

  void rarely(DeviceIndex device) {
    switch (below(4)) {
      case 0:
        check(*any_value(device));
        break;
      case 1:
        CachingAllocator::emptyCache();
        break;
      case 2:
        reseed(device);
        break;
      default:
        wait(device);
        break;
    }
  }

  bool is_needed(const Value& value) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const auto& group) {
      return std::any_of(group->from_outside.begin(), group->from_outside.end(),
                         [&](const auto& v) { return v.get() == &value; });
    });
  }

  void drop_value(DeviceIndex device) {
    if (!values_[device].empty()) drop_at(device, below(values_[device].size()));
  }

  // --- graphs ---
  void capture(DeviceIndex device) {
    std::vector<Group*> same_device;
    for (const auto& group : groups_)
      if (group->device == device) same_device.push_back(group.get());
    Group* group = nullptr;
    if (!same_device.empty() && below(3) == 0) group = same_device[below(same_device.size())];
    auto graph = std::make_unique<CUDAGraph>();
    const CUDAStream origin = any_stream(device);
    std::vector<Operation> operations;
    std::vector<ValuePtr> inside, outside;
    (void)any_value(device);
    {
      const CUDAStreamGuard guard(origin);
      graph->capture_begin(group != nullptr ? group->graphs[0]->pool() : at::cuda::MempoolId_t{0, 0});
    }
    CUDAStream current = origin;
    const auto move_to = [&](CUDAStream stream) {
      order(current, stream);
      current = stream;
    };
    const auto pick = [&] {
      if (!inside.empty() && below(2) == 0) return inside[below(inside.size())];
      ValuePtr value = any_value(device);
      if (std::find(outside.begin(), outside.end(), value) == outside.end()) outside.push_back(value);
      return value;
    };
    const auto use_inside = [&](const ValuePtr& value) {
      if (std::find(inside.begin(), inside.end(), value) != inside.end() && value->owner != current) {
        CachingAllocator::recordStream(value->buffer->memory(), current);
      }
    };
    for (uint64_t left = 1 + below(6); left > 0; --left) {
      if (below(4) == 0) move_to(any_stream(device));
      const CUDAStreamGuard guard(current);
      const bool is_new = below(3) != 0, draws = below(4) == 0;
      const ValuePtr a = pick(), b = pick();
      ValuePtr out = is_new ? make(current) : pick();
      for (const ValuePtr& value : {a, b, out}) use_inside(value);
      const uint64_t tag = random_();
      if (draws) {
        show(*out, device);
      } else {
        mix(*out->buffer, *a->buffer, *b->buffer, tag);
      }
      operations.push_back({draws, out->id, a->id, b->id, tag});
      if (is_new) inside.push_back(out);
      if (!inside.empty() && below(3) == 0) inside.erase(inside.begin() + static_cast<ptrdiff_t>(below(inside.size())));
      if (below(8) == 0) {
        // Something else is freed meanwhile.
        auto& values = values_[device];
        const size_t place = below(values.size());
        const ValuePtr other = values[place];
        const bool is_used = std::find(outside.begin(), outside.end(), other) != outside.end();
        if (!is_used && values.size() > 1) drop_at(device, place);
      }
    }
    move_to(origin);
    {
      const CUDAStreamGuard guard(origin);
      graph->capture_end();
    }
    if (group == nullptr) {
      groups_.push_back(std::make_unique<Group>());
      group = groups_.back().get();
      group->device = device;
    }
    group->graphs.push_back(std::move(graph));
    group->operations.push_back(std::move(operations));
    group->from_outside.insert(group->from_outside.end(), outside.begin(), outside.end());
    for (const ValuePtr& value : inside) {
      group->own.push_back(value);
      group->own_ids.insert(value->id);
      values_[device].push_back(value);
    }
    replay(*group);
  }

  void drop_at(DeviceIndex device, size_t place) {
    auto& values = values_[device];
    if (is_needed(*values[place])) return;
    for (const auto& group : groups_) {
      if (group->own_ids.contains(values[place]->id)) group->used_by.push_back(values[place]->last);
    }
    values.erase(values.begin() + static_cast<ptrdiff_t>(place));
  }

  void replay(Group& group) {
    const CUDAStream stream = any_stream(group.device);
    for (const CUDAStream& before : group.used_by) order(before, stream);
    for (const ValuePtr& value : group.from_outside) use(*value, stream);
    for (const auto& own : group.own)
      if (const ValuePtr value = own.lock()) use(*value, stream);
    group.used_by = {stream};
    {
      const CUDAStreamGuard guard(stream);
      for (const auto& graph : group.graphs) graph->replay();
    }
    for (const auto& operations : group.operations) {
      for (const Operation& op : operations) {
        if (op.draws) {
          model_[op.out] = drawn_[group.device];
          drawn_[group.device][1] += 4;
        } else {
          model_[op.out] = mixed(model_[op.a], model_[op.b], op.tag);
        }
      }
    }
  }

  void replay_some(DeviceIndex device) {
    for (const auto& group : groups_)
      if (group->device == device && below(2) == 0) replay(*group);
  }

  void drop_group() {
    if (!groups_.empty()) groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(below(groups_.size())));
  }

  std::mt19937_64 random_;
  std::vector<CUDAStream> streams_[kDevices];
  std::vector<ValuePtr> values_[kDevices];
  std::vector<std::unique_ptr<Group>> groups_;
  std::map<int, Numbers> model_;
  Numbers drawn_[kDevices];  // seed and offset
  int next_id_ = 0;
};

#ifdef KD_CUDA_ON_HOST
TEST(GraphPrograms, EveryOrderGivesTheSameNumbers) {
  using cuda_standin::Execution;
  constexpr uint64_t kTogether = 25;
  for (uint64_t first = 0; first < g_programs; first += kTogether) {
    const auto execution = static_cast<Execution>(first / kTogether % 3);
    SCOPED_TRACE(c10::str("execution ", static_cast<int>(execution), ", programs from ", g_first_seed + first, " on"));
    c10::cuda::testing::in_own_process([&] {
      cuda_standin::reset({.execution = execution, .seed = g_first_seed + first});
      for (uint64_t i = first; i < std::min(first + kTogether, g_programs); ++i) {
        Program(g_first_seed + i).run();
        ASSERT_EQ(cuda_standin::misuse(), "");
        ASSERT_FALSE(::testing::Test::HasFailure()) << "program " << g_first_seed + i;
      }
      c10::cuda::testing::empty_caches();
      EXPECT_EQ(c10::cuda::testing::leaks_but_streams(), "");
    });
    if (::testing::Test::HasFailure()) return;
  }
}
#else
TEST(GraphPrograms, EveryOrderGivesTheSameNumbers) {
  if (c10::cuda::device_count() < kDevices) GTEST_SKIP() << "fewer than two CUDA devices";
  for (uint64_t i = 0; i < g_programs; ++i) Program(g_first_seed + i).run();
}
#endif

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const auto status =
          c10::testing::parse_flags(argc, argv, {{"programs", &g_programs}, {"first_seed", &g_first_seed}}))
    return *status;
  return RUN_ALL_TESTS();
}
