// Collectives by torch::distributed's names, of tensors and of values.
#include "distributed/process_group/collectives.h"

#include <gtest/gtest.h>

#include "aten/ops/creation/ops.h"
#include "aten/ops/reduce/ops.h"
#include "c10/testing/message_of.h"
#include "distributed/process_group/objects.h"
#include "distributed/store/hash_store.h"
#include "distributed/testing/run_ranks.h"

namespace torch::distributed {
namespace {

using at::Tensor;
using c10::IValue;
using c10d::testing::errors_of_ranks;
using std::chrono::milliseconds;

[[maybe_unused]] const bool is_local = ::setenv("GLOO_SOCKET_IFNAME", "lo", 1) == 0;

std::vector<std::string> with_ranks(int size, const std::function<void(int)>& body, int timeout_ms = 20000) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  return errors_of_ranks(size, [&](int rank) {
    init_process_group("gloo", {.timeout = milliseconds(20000), .world_size = size, .rank = rank, .store = store});
    c10d::get_default_group()->setTimeout(milliseconds(timeout_ms));
    body(rank);
    destroy_process_group();
  });
}
void expect_none(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}
void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

Tensor of(std::initializer_list<float> values) {
  Tensor t = at::zeros({static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.data_ptr<float>());
  return t;
}
void expect_values(const Tensor& t, std::initializer_list<float> values) {
  ASSERT_EQ(t.numel(), static_cast<int64_t>(values.size()));
  const float* at = t.contiguous().data_ptr<float>();
  for (const float value : values) EXPECT_EQ(*at++, value);
}
float value(int rank) {
  return static_cast<float>(rank);
}

// Of the ranks 3 and 1, in this order; what the others are told is nothing.
TEST(Collectives, OfAGroup) {
  expect_none(with_ranks(4, [](int rank) {
    const auto group = new_group({{3, 1}}, {.sort_ranks = false});
    const Tensor sum = of({value(rank), 1});
    const WorkPtr work = all_reduce(sum, ReduceOp::SUM, group, /*async_op=*/true);
    if (rank % 2 == 0) {
      EXPECT_FALSE(work);
      EXPECT_FALSE(barrier(group));
      EXPECT_FALSE(broadcast(sum, 3, group));
      EXPECT_EQ(recv(sum, 3, group), -1);
      monitored_barrier(group);
      expect_values(sum, {value(rank), 1});
      std::vector<IValue> objects(2);
      broadcast_object_list(objects, 3, group);
      all_gather_object(objects, IValue(1), group);
      EXPECT_TRUE(objects[0].isNone());
      return;
    }
    work->wait();
    expect_values(sum, {4, 2});
    const bool first = rank == 3;
    const float own = value(rank);

    const Tensor sent = of({own});
    broadcast(sent, 3, group);
    expect_values(sent, {3});

    const Tensor reduced = of({own});
    reduce(reduced, 1, ReduceOp::MAX, group);
    if (!first) expect_values(reduced, {3});

    const std::vector<Tensor> parts{of({0}), of({0})};
    all_gather(parts, of({own}), group);
    expect_values(parts[0], {3});
    expect_values(parts[1], {1});

    const Tensor all = of({0, 0});
    all_gather_into_tensor(all, of({own}), group);
    expect_values(all, {3, 1});

    const Tensor piece = of({0});
    reduce_scatter(piece, {of({own}), of({10 * own})}, ReduceOp::SUM, group);
    expect_values(piece, {first ? 4.f : 40.f});
    reduce_scatter_tensor(piece, of({own, 20 * own}), ReduceOp::SUM, group);
    expect_values(piece, {first ? 4.f : 80.f});

    all_to_all(parts, {of({own}), of({own + 10})}, group);
    expect_values(parts[0], {first ? 3.f : 13.f});
    expect_values(parts[1], {first ? 1.f : 11.f});

    const Tensor rows = at::zeros({first ? 3 : 1});
    all_to_all_single(rows, first ? of({5, 6}) : of({7, 8}),
                      first ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1, 0},
                      first ? std::vector<int64_t>{1, 1} : std::vector<int64_t>{2, 0}, group);
    first ? expect_values(rows, {5, 7, 8}) : expect_values(rows, {6});

    gather(of({own}), first ? std::vector<Tensor>{} : parts, 1, group);
    if (!first) expect_values(parts[0], {3});
    scatter(piece, first ? std::vector<Tensor>{of({8}), of({9})} : std::vector<Tensor>{}, 3, group);
    expect_values(piece, {first ? 8.f : 9.f});

    const std::vector<Tensor> two{of({own}), of({2 * own})};
    all_reduce_coalesced(two, ReduceOp::SUM, group);
    expect_values(two[1], {8});
    barrier(group);
    monitored_barrier(group, milliseconds(5000));
    EXPECT_THROW(broadcast(sent, 2, group), c10::ValueError);
  }));
}

TEST(Collectives, Messages) {
  expect_none(with_ranks(3, [](int rank) {
    const Tensor t = of({value(rank)});
    if (rank == 0) {
      EXPECT_EQ(recv(t, 2), 2);
      expect_values(t, {2});
      EXPECT_EQ(recv(t, std::nullopt, std::nullopt, 5), 1);
      expect_values(t, {1});
    } else {
      send(t, 0, std::nullopt, rank == 1 ? 5 : 0);
    }
    // Around the ring.
    const Tensor from = of({-1});
    const std::vector<WorkPtr> works =
        batch_isend_irecv({{P2POp::ISEND, of({value(rank)}), (rank + 1) % 3}, {P2POp::IRECV, from, (rank + 2) % 3}});
    for (const WorkPtr& work : works) work->wait();
    expect_values(from, {value((rank + 2) % 3)});
    EXPECT_THROW(batch_isend_irecv({}), c10::ValueError);
  }));
}

TEST(Collectives, MonitoredBarrier) {
  const auto errors = with_ranks(4, [](int rank) {
    if (rank % 2 == 0) monitored_barrier(std::nullopt, milliseconds(400), /*wait_all_ranks=*/true);
  });
  expect_contains(errors[0], "[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 400 ms");
  EXPECT_NE(errors[2], "");
}

// --- values ---

TEST(Objects, AllForms) {
  expect_none(with_ranks(3, [](int rank) {
    const auto name = [](int of) { return std::string(static_cast<size_t>(of * 40 + 1), 'a'); };
    std::vector<IValue> all;
    all_gather_object(all, IValue(name(rank)));
    ASSERT_EQ(all.size(), 3u);
    for (int r = 0; r < 3; ++r) EXPECT_EQ(all[static_cast<size_t>(r)].toStringRef(), name(r));

    std::vector<IValue> gathered;
    gather_object(IValue(int64_t{rank}), gathered, 2);
    EXPECT_EQ(gathered.size(), rank == 2 ? 3u : 0u);
    if (rank == 2) EXPECT_EQ(gathered[1].toInt(), 1);

    std::vector<IValue> two(2);
    if (rank == 1) two = {IValue(2.5), IValue(of({1, 2}))};
    broadcast_object_list(two, 1);
    EXPECT_EQ(two[0].toDouble(), 2.5);
    expect_values(two[1].toTensor(), {1, 2});

    const IValue own = scatter_object_list(
        rank == 0 ? std::vector<IValue>{IValue(1), IValue("two"), IValue()} : std::vector<IValue>{}, 0);
    if (rank == 0) EXPECT_EQ(own.toInt(), 1);
    if (rank == 1) EXPECT_EQ(own.toStringRef(), "two");
    if (rank == 2) EXPECT_TRUE(own.isNone());

    std::vector<IValue> message(2);
    if (rank == 0) send_object_list({IValue(7), IValue("seven")}, 1);
    if (rank == 1) {
      EXPECT_EQ(recv_object_list(message, 0), 0);
      EXPECT_EQ(message[0].toInt(), 7);
      EXPECT_EQ(message[1].toStringRef(), "seven");
    }
  }));
}

// A rank that sends what is no object, or says that it is larger than memory.
TEST(Objects, HostileBytes) {
  for (const int64_t claimed : {int64_t{100}, int64_t{0}, int64_t{-1}, int64_t{1} << 62, kMaxObjectBytes + 1}) {
    const auto errors = with_ranks(2, [&](int rank) {
      std::vector<IValue> objects(2);
      if (rank == 0) {
        recv_object_list(objects);
      } else {
        const Tensor sizes = at::full({2}, claimed, at::kLong);
        send(sizes, 0);
        if (claimed >= 0 && claimed <= kMaxObjectBytes) send(at::full({2 * claimed}, 80, at::kByte), 0);
        barrier(std::nullopt, /*async_op=*/true);
      }
    });
    expect_contains(errors[0], "recv_object_list: ");
    expect_contains(errors[0], "rank 1");
  }
}

TEST(Objects, WhatCannotBeSent) {
  expect_none(with_ranks(1, [](int) {
    std::vector<IValue> all;
    EXPECT_THROW(all_gather_object(all, IValue(c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::kCPU)))),
                 c10::TypeError);
    EXPECT_THROW(scatter_object_list({}, 0), c10::ValueError);
  }));
}

}  // namespace
}  // namespace torch::distributed
