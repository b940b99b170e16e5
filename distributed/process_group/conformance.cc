#include "distributed/process_group/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <thread>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/testing/message_of.h"
#include "distributed/testing/run_ranks.h"

namespace c10d::testing {
namespace {

using at::Tensor;
using c10::ScalarType;
using c10::testing::message_of;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Number = std::complex<double>;

constexpr milliseconds kLong(30000);

constexpr ScalarType kTypes[] = {ScalarType::Float,    ScalarType::Double,       ScalarType::Half,
                                 ScalarType::BFloat16, ScalarType::Byte,         ScalarType::Char,
                                 ScalarType::Short,    ScalarType::Int,          ScalarType::Long,
                                 ScalarType::Bool,     ScalarType::ComplexFloat, ScalarType::ComplexDouble};
constexpr int64_t kCounts[] = {0, 1, 13};
// Of some dtypes: enough for several pieces of an algorithm.
constexpr int64_t kLarge = 40009;

// Whole numbers, so that sums of any order are exact; few twos, so that products are small.
Number element(ScalarType type, int rank, int64_t i) {
  const int64_t n = (rank * 5 + i) % 3;
  if (type == ScalarType::Bool) return n == 0 ? 1.0 : 0.0;
  if (c10::isComplexType(type)) return {n == 0 ? 2.0 : 1.0, n == 1 ? 1.0 : 0.0};
  return n == 0 ? 2.0 : 1.0;
}

Tensor tensor_of(ScalarType type, const std::vector<Number>& values) {
  const auto n = static_cast<int64_t>(values.size());
  const Tensor parts = at::empty({n, 2}, at::TensorOptions().dtype(ScalarType::Double));
  for (int64_t i = 0; i < n; ++i) {
    parts.data_ptr<double>()[2 * i] = values[static_cast<size_t>(i)].real();
    parts.data_ptr<double>()[2 * i + 1] = values[static_cast<size_t>(i)].imag();
  }
  if (c10::isComplexType(type)) return at::to(at::view_as_complex(parts), type);
  return at::to(at::select(parts, 1, 0), type);
}

// Where the tensors of this thread's rank are.
thread_local c10::Device device = at::kCPU;

// As a column of a wider tensor where `strided`.
Tensor laid_out(const Tensor& on_host, bool strided) {
  const Tensor t = on_host.to(device);
  if (!strided) return at::clone(t);
  const Tensor wide = at::zeros({t.numel(), 3}, t.options());
  const Tensor column = at::select(wide, 1, 1);
  column.copy_(t);
  return column;
}

Tensor given(ScalarType type, int rank, int64_t count, bool strided = false, int64_t from = 0) {
  std::vector<Number> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(element(type, rank, from + i));
  return laid_out(tensor_of(type, values), strided);
}
Tensor zeros(ScalarType type, int64_t count, bool strided = false) {
  return laid_out(at::zeros({count}, at::TensorOptions().dtype(type)), strided);
}

Number reduced(ReduceOp::RedOpType op, ScalarType type, Number a, Number b) {
  const bool of_bool = type == ScalarType::Bool;
  const auto x = static_cast<int64_t>(a.real()), y = static_cast<int64_t>(b.real());
  switch (op) {
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return std::min(a.real(), b.real());
    case ReduceOp::MAX:
      return std::max(a.real(), b.real());
    case ReduceOp::BAND:
      return static_cast<double>(x & y);
    case ReduceOp::BOR:
      return static_cast<double>(x | y);
    case ReduceOp::BXOR:
      return static_cast<double>(x ^ y);
    default:
      return of_bool ? Number(a.real() != 0 || b.real() != 0) : a + b;
  }
}
constexpr double kFactor = 0.5;

Tensor expected(const ReduceOp& op, ScalarType type, int size, int64_t count, int64_t from = 0) {
  if (op == ReduceOp::AVG) return at::div(expected(ReduceOp::SUM, type, size, count, from), size);
  std::vector<Number> values;
  for (int64_t i = from; i < from + count; ++i) {
    Number sum;
    for (int rank = 0; rank < size; ++rank) {
      const Number own = element(type, rank, i) * (op == ReduceOp::PREMUL_SUM ? kFactor : 1.0);
      sum = rank == 0 ? own : reduced(op, type, sum, own);
    }
    values.push_back(sum);
  }
  return tensor_of(type, values);
}

using Reduces = std::function<bool(ReduceOp::RedOpType op, ScalarType dtype)>;
std::vector<ReduceOp> reductions_of(ScalarType type, const Reduces& reduces) {
  std::vector<ReduceOp> ops{ReduceOp::SUM, ReduceOp::PRODUCT};
  if (!c10::isComplexType(type)) ops.insert(ops.end(), {ReduceOp::MIN, ReduceOp::MAX});
  if (c10::isIntegralType(type, true)) {
    ops.insert(ops.end(), {ReduceOp::BAND, ReduceOp::BOR, ReduceOp::BXOR});
  } else {
    ops.insert(ops.end(), {ReduceOp::AVG, makePreMulSum(kFactor)});
  }
  if (reduces) std::erase_if(ops, [&](const ReduceOp& op) { return !reduces(op, type); });
  return ops;
}

void expect_equal(const Tensor& got, const Tensor& want) {
  EXPECT_TRUE(at::equal(got.cpu(), want.cpu())) << got.toString();
}

using Tensors = std::vector<Tensor>;

void expect_reductions(Backend& group, ScalarType type, int64_t count, bool strided, const Reduces& reduces) {
  const int rank = group.getRank(), size = group.getSize();
  const int root = size - 1;
  for (const ReduceOp& op : reductions_of(type, reduces)) {
    SCOPED_TRACE(name_of(op));
    Tensors t{given(type, rank, count, strided)};
    group.allreduce(t, {.reduceOp = op})->wait();
    expect_equal(t[0], expected(op, type, size, count));

    t = {given(type, rank, count, strided), given(type, rank, 7, !strided, count)};
    AllreduceCoalescedOptions coalesced;
    coalesced.reduceOp = op;
    group.allreduce_coalesced(t, coalesced)->wait();
    expect_equal(t[0], expected(op, type, size, count));
    expect_equal(t[1], expected(op, type, size, 7, count));

    t = {given(type, rank, count, strided)};
    group.reduce(t, {.reduceOp = op, .rootRank = root})->wait();
    expect_equal(t[0], rank == root ? expected(op, type, size, count) : given(type, rank, count));

    Tensors out{zeros(type, count, strided)};
    std::vector<Tensors> parts(1);
    for (int to = 0; to < size; ++to) parts[0].push_back(given(type, rank, count, strided, to * count));
    group.reduce_scatter(out, parts, {.reduceOp = op})->wait();
    expect_equal(out[0], expected(op, type, size, count, rank * count));
    expect_equal(parts[0][0], given(type, rank, count));

    Tensor one = zeros(type, count, strided), all = given(type, rank, count * size, strided);
    group._reduce_scatter_base(one, all, {.reduceOp = op})->wait();
    expect_equal(one, expected(op, type, size, count, rank * count));
    expect_equal(all, given(type, rank, count * size));

    Tensors outs{zeros(type, count, strided), zeros(type, 2)},
        ins{given(type, rank, count * size), given(type, rank, 2 * size, strided)};
    group.reduce_scatter_tensor_coalesced(outs, ins, {.reduceOp = op})->wait();
    expect_equal(outs[0], expected(op, type, size, count, rank * count));
    expect_equal(outs[1], expected(op, type, size, 2, rank * 2));
  }
}

void expect_moves(Backend& group, ScalarType type, int64_t count, bool strided) {
  const int rank = group.getRank(), size = group.getSize();
  const int root = size / 2;
  Tensors t{given(type, rank, count, strided)};
  group.broadcast(t, {.rootRank = root})->wait();
  expect_equal(t[0], given(type, root, count));

  Tensor whole = given(type, 0, count);
  for (int other = 1; other < size; ++other) {
    const Tensor two[] = {whole, given(type, other, count)};
    whole = at::cat(two, 0);
  }
  Tensors in{given(type, rank, count, strided)};
  std::vector<Tensors> lists(1);
  for (int i = 0; i < size; ++i) lists[0].push_back(zeros(type, count, strided));
  group.allgather(lists, in)->wait();
  for (int i = 0; i < size; ++i) expect_equal(lists[0][static_cast<size_t>(i)], given(type, i, count));

  Tensor all = zeros(type, count * size, strided);
  group._allgather_base(all, in[0])->wait();
  expect_equal(all, whole);

  Tensors ins{given(type, rank, count), given(type, rank, 3, strided)};
  Tensors outs{zeros(type, count * size, strided), zeros(type, 3 * size)};
  group.allgather_into_tensor_coalesced(outs, ins)->wait();
  expect_equal(outs[0], whole);

  std::vector<Tensors> by_rank;
  for (int i = 0; i < size; ++i) by_rank.push_back({zeros(type, count), zeros(type, 3, strided)});
  group.allgather_coalesced(by_rank, ins)->wait();
  for (int i = 0; i < size; ++i) {
    expect_equal(by_rank[static_cast<size_t>(i)][0], given(type, i, count));
    expect_equal(by_rank[static_cast<size_t>(i)][1], given(type, i, 3));
  }

  lists.clear();
  if (rank == root) {
    lists.emplace_back();
    for (int i = 0; i < size; ++i) lists[0].push_back(zeros(type, count, strided));
  }
  group.gather(lists, in, {.rootRank = root})->wait();
  for (int i = 0; rank == root && i < size; ++i) expect_equal(lists[0][static_cast<size_t>(i)], given(type, i, count));

  lists.clear();
  if (rank == root) {
    lists.emplace_back();
    for (int i = 0; i < size; ++i) lists[0].push_back(given(type, i, count, strided));
  }
  Tensors out{zeros(type, count, strided)};
  group.scatter(out, lists, {.rootRank = root})->wait();
  expect_equal(out[0], given(type, rank, count));

  // Rank r sends (r + 2 s) % 3 tensors of `count` elements to rank s.
  const auto rows = [](int from, int to) { return int64_t{(from + 2 * to) % 3}; };
  Tensors sent, received, want;
  std::vector<int64_t> out_rows, in_rows;
  for (int other = 0; other < size; ++other) {
    in_rows.push_back(rows(rank, other));
    out_rows.push_back(rows(other, rank));
    sent.push_back(given(type, rank, count * in_rows.back(), strided, other));
    received.push_back(zeros(type, count * out_rows.back(), strided));
    want.push_back(given(type, other, count * out_rows.back(), false, rank));
  }
  group.alltoall(received, sent)->wait();
  for (size_t i = 0; i < want.size(); ++i) expect_equal(received[i], want[i]);

  const auto as_rows = [&](const Tensors& parts) {
    return at::reshape(at::cat(parts, 0), {-1, std::max<int64_t>(count, 1)});
  };
  if (count == 0) return;
  Tensor from = as_rows(sent), to = at::zeros_like(as_rows(want));
  group.alltoall_base(to, from, out_rows, in_rows)->wait();
  expect_equal(to, as_rows(want));
  std::vector<int64_t> equal_parts;
  from = at::reshape(given(type, rank, count * size), {size, count});
  to = at::zeros_like(from);
  group.alltoall_base(to, from, equal_parts, equal_parts)->wait();
  for (int other = 0; other < size; ++other) {
    expect_equal(at::select(to, 0, other), given(type, other, count, false, rank * count));
  }
}

Tensors one(float value, int64_t count = 4) {
  return {at::full({count}, value).to(device)};
}

// The errors of ranks that each take part in their own way, and that none waited longer than it may.
std::vector<std::string> errors_within(const MakeGroup& make, int size, milliseconds timeout, milliseconds limit,
                                       const std::function<void(Backend&, int rank)>& body) {
  const BackendOfRank of_rank = make(size);
  std::atomic<int64_t> longest{0};
  auto errors = errors_of_ranks(size, [&](int rank) {
    const auto group = of_rank(rank, timeout);
    const auto begin = Clock::now();
    const auto note = [&] {
      const int64_t ms = std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count();
      int64_t before = longest;
      while (before < ms && !longest.compare_exchange_weak(before, ms)) {
      }
    };
    try {
      body(*group, rank);
    } catch (...) {
      note();
      throw;
    }
    note();
  });
  EXPECT_LT(longest, limit.count());
  return errors;
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace

void expect_collectives(const MakeGroup& make, int size, const Reduces& reduces) {
  const BackendOfRank of_rank = make(size);
  run_ranks(size, [&](int rank) {
    const auto group = of_rank(rank, kLong);
    device = group->getBoundDeviceId().value_or(at::kCPU);
    EXPECT_EQ(group->getRank(), rank);
    EXPECT_EQ(group->getSize(), size);
    // Strided are every other dtype's, and of the next count the others.
    bool strided = false;
    for (const ScalarType type : kTypes) {
      std::vector<int64_t> counts(std::begin(kCounts), std::end(kCounts));
      // Devices that are stood in for are slow.
      if (device == at::kCPU &&
          (type == ScalarType::Float || type == ScalarType::BFloat16 || type == ScalarType::Long)) {
        counts.insert(counts.end(), {kLarge, kLarge});
      }
      for (const int64_t count : counts) {
        strided = !strided;
        SCOPED_TRACE(c10::str(size, " ranks, rank ", rank, ", ", c10::toString(type), ", ", count, " elements",
                              strided ? ", strided" : ""));
        expect_reductions(*group, type, count, strided, reduces);
        expect_moves(*group, type, count, strided);
      }
    }
    group->barrier()->wait();
    if (device == at::kCPU) group->monitoredBarrier({}, true);
    // What was started together ends in order.
    std::vector<Tensors> many;
    std::vector<c10::intrusive_ptr<Work>> works;
    for (int i = 0; i < 50; ++i) many.push_back(one(static_cast<float>(i)));
    const uint64_t first = group->getSequenceNumberForGroup();
    for (Tensors& t : many) works.push_back(group->allreduce(t));
    for (int i = 0; i < 50; ++i) {
      const auto at = static_cast<size_t>(i);
      EXPECT_EQ(works[at]->getSequencenumber(), first + at);
      EXPECT_TRUE(works[at]->wait());
      if (device == at::kCPU) EXPECT_TRUE(works[at]->isCompleted() && works[at]->isSuccess());
      EXPECT_TRUE(works[at]->result().at(0).is_same(many[at][0]));
      expect_equal(many[at][0], one(static_cast<float>(i * size))[0]);
    }
    Tensors t = one(1);
    const auto future = group->allreduce(t)->getFuture();
    future->waitAndThrow();
    EXPECT_TRUE(future->value().toTensorVector().at(0).is_same(t[0]));
    group->shutdown();
  });
}

void expect_messages(const MakeGroup& make, int size) {
  const BackendOfRank of_rank = make(size);
  run_ranks(size, [&](int rank) {
    const auto group = of_rank(rank, kLong);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    // Receives that wait hold up neither each other nor what all do.
    std::vector<Tensors> in;
    std::vector<c10::intrusive_ptr<Work>> works;
    for (int i = 0; i < 20; ++i) in.push_back({at::zeros({5})});
    for (int i = 0; i < 20; ++i) works.push_back(group->recv(in[static_cast<size_t>(i)], previous, i % 4));
    Tensors sum = one(1);
    group->allreduce(sum)->wait();
    expect_equal(sum[0], one(static_cast<float>(size))[0]);
    for (int tag = 3; tag >= 0; --tag) {
      for (int i = tag; i < 20; i += 4) {
        Tensors out{laid_out(at::full({5}, rank * 100 + i, ScalarType::Float), i % 2 == 0)};
        group->send(out, next, tag)->wait();
      }
    }
    for (int i = 0; i < 20; ++i) {
      works[static_cast<size_t>(i)]->wait();
      expect_equal(in[static_cast<size_t>(i)][0], at::full({5}, previous * 100 + i, ScalarType::Float));
      EXPECT_EQ(works[static_cast<size_t>(i)]->sourceRank(), previous);
    }
    group->barrier()->wait();
    // From whoever comes first.
    if (rank == 0) {
      std::vector<int> sources;
      for (int i = 1; i < size; ++i) {
        Tensors t{at::zeros({2})};
        const auto work = group->recvAnysource(t, 9);
        work->wait();
        sources.push_back(work->sourceRank());
        expect_equal(t[0], at::full({2}, sources.back(), ScalarType::Float));
      }
      std::sort(sources.begin(), sources.end());
      for (int i = 1; i < size; ++i) EXPECT_EQ(sources[static_cast<size_t>(i - 1)], i);
    } else {
      Tensors t{at::full({2}, rank, ScalarType::Float)};
      group->send(t, 0, 9)->wait();
    }
    group->barrier()->wait();
  });
}

void expect_errors(const MakeGroup& make) {
  constexpr int kSize = 4;
  // Another count, dtype, operation, root or reduction on one rank.
  const struct {
    const char* says;
    std::function<c10::intrusive_ptr<Work>(Backend&, int rank)> call;
  } kMismatches[] = {
      {"ALLREDUCE number 0 of 5 Float elements (SUM)",
       [](Backend& group, int rank) {
         Tensors t = one(1, rank == 2 ? 5 : 4);
         return group.allreduce(t);
       }},
      {"ALLREDUCE number 0 of 4 Double elements (SUM)",
       [](Backend& group, int rank) {
         Tensors t{at::zeros({4}, at::TensorOptions().dtype(rank == 2 ? ScalarType::Double : ScalarType::Float))};
         return group.allreduce(t);
       }},
      {"BARRIER number 0",
       [](Backend& group, int rank) {
         Tensors t = one(1);
         return rank == 2 ? group.barrier() : group.allreduce(t);
       }},
      {"BROADCAST number 0 of 4 Float elements with root 1",
       [](Backend& group, int rank) {
         Tensors t = one(1);
         return group.broadcast(t, {.rootRank = rank == 2 ? 1 : 0});
       }},
      {"ALLREDUCE number 0 of 4 Float elements (MAX)",
       [](Backend& group, int rank) {
         Tensors t = one(1);
         return group.allreduce(t, {.reduceOp = rank == 2 ? ReduceOp::MAX : ReduceOp::SUM});
       }},
      // As many bytes in other parts.
      {"COALESCED number 0 of 24 Byte elements",
       [](Backend& group, int rank) {
         Tensors in{at::zeros({rank == 2 ? 2 : 4}), at::zeros({rank == 2 ? 4 : 2})}, out;
         for (const Tensor& t : in) out.push_back(at::zeros({t.numel() * group.getSize()}));
         return group.allgather_into_tensor_coalesced(out, in);
       }},
      {"COALESCED number 0 of 24 Byte elements (SUM)",
       [](Backend& group, int rank) {
         Tensors out{at::zeros({rank == 2 ? 2 : 4}), at::zeros({rank == 2 ? 4 : 2})}, in;
         for (const Tensor& t : out) in.push_back(at::zeros({t.numel() * group.getSize()}));
         return group.reduce_scatter_tensor_coalesced(out, in);
       }},
  };
  for (const auto& mismatch : kMismatches) {
    SCOPED_TRACE(mismatch.says);
    const auto errors = errors_within(make, kSize, milliseconds(5000), milliseconds(2000),
                                      [&](Backend& group, int rank) { mismatch.call(group, rank)->wait(); });
    for (const std::string& error : errors) {
      expect_contains(error, "the ranks do not call the same");
      expect_contains(error, "rank 2 called");
      expect_contains(error, mismatch.says);
    }
  }

  // A rank that never comes: all others throw when the time is over, and cannot go on.
  auto errors = errors_within(make, kSize, milliseconds(300), milliseconds(1300), [&](Backend& group, int rank) {
    if (rank == 1) return std::this_thread::sleep_for(milliseconds(600));
    Tensors t = one(1);
    try {
      group.allreduce(t)->wait();
    } catch (const c10::DistBackendError&) {
      expect_contains(message_of([&] { group.barrier(); }), "cannot use it any more");
      throw;
    }
  });
  for (int rank = 0; rank < kSize; ++rank) {
    if (rank == 1) continue;
    expect_contains(errors[static_cast<size_t>(rank)], "ALLREDUCE number 0 of 4 Float elements (SUM) failed on rank");
    expect_contains(errors[static_cast<size_t>(rank)], "rank 1");
  }
  EXPECT_EQ(errors[1], "");

  // abort() ends what waits, everywhere.
  errors = errors_within(make, kSize, milliseconds(20000), milliseconds(1500), [&](Backend& group, int rank) {
    if (rank == 3) {
      std::this_thread::sleep_for(milliseconds(100));
      group.abort();
      TORCH_CHECK(false, "done");
    }
    Tensors t = one(1);
    group.allreduce(t)->wait();
  });
  for (int rank = 0; rank < 3; ++rank) expect_contains(errors[static_cast<size_t>(rank)], "rank 3");
  EXPECT_EQ(errors[3], "done");

  // wait() with less time than the operation has leaves it running.
  errors = errors_within(make, 2, milliseconds(20000), milliseconds(5000), [&](Backend& group, int rank) {
    Tensors t = one(static_cast<float>(rank + 1));
    if (rank == 1) std::this_thread::sleep_for(milliseconds(400));
    const auto work = group.allreduce(t);
    if (rank == 0) {
      expect_contains(message_of([&] { work->wait(milliseconds(50)); }),
                      "ALLREDUCE number 0 of rank 0 was not done after the 50 ms");
      expect_contains(message_of([&] { work->isSuccess(); }), "requires a work that is done");
    }
    work->wait();
    expect_equal(t[0], one(3)[0]);
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));

  // monitoredBarrier names who did not come: the first, or all.
  for (const bool all : {false, true}) {
    errors = errors_within(make, kSize, milliseconds(20000), milliseconds(3000), [&](Backend& group, int rank) {
      if (rank == 1 || rank == 3) return std::this_thread::sleep_for(milliseconds(700));
      BarrierOptions options;
      options.timeout = milliseconds(rank == 0 ? 300 : 2000);
      group.monitoredBarrier(options, all);
    });
    expect_contains(errors[0], all ? "[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 300 ms"
                                   : "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 300 ms");
    EXPECT_NE(errors[2], "");
  }
}

void expect_argument_checks(const MakeGroup& make) {
  const BackendOfRank of_rank = make(1);
  const auto group = of_rank(0, kLong);
  Tensors none, two{at::zeros({2}), at::zeros({2})},
      integers{at::zeros({2}, at::TensorOptions().dtype(ScalarType::Int))};
  Tensors complex{at::zeros({2}, at::TensorOptions().dtype(ScalarType::ComplexFloat))}, t = one(1), undefined(1);
  std::vector<Tensors> lists{two};
  const auto error = [](const auto& call) { return message_of([&] { call(); }); };
  EXPECT_EQ(error([&] { group->allreduce(none); }), "allreduce: expected one tensor in tensors, but got 0");
  EXPECT_EQ(error([&] { group->allreduce(two); }), "allreduce: expected one tensor in tensors, but got 2");
  EXPECT_EQ(error([&] { group->allreduce(undefined); }), "allreduce: tensors is undefined");
  EXPECT_EQ(error([&] { group->allreduce(integers, {.reduceOp = ReduceOp::AVG}); }),
            "allreduce: ReduceOp AVG does not take tensors of Int");
  EXPECT_EQ(error([&] { group->allreduce(complex, {.reduceOp = ReduceOp::MAX}); }),
            "allreduce: ReduceOp MAX does not take tensors of ComplexFloat");
  EXPECT_EQ(error([&] { group->reduce(t, {.rootRank = 1}); }), "reduce: rootRank 1 is no rank of a group of 1");
  EXPECT_EQ(error([&] { group->broadcast(t, {.rootRank = -1}); }), "broadcast: rootRank -1 is no rank of a group of 1");
  EXPECT_EQ(error([&] { group->allgather(lists, t); }), "allgather: expected 1 outputs, but got 2");
  EXPECT_EQ(error([&] { group->_allgather_base(two[0], t[0]); }),
            "_allgather_base: output must have 1 times the 4 elements of input, but it has 2");
  EXPECT_EQ(error([&] { group->_reduce_scatter_base(integers[0], two[0]); }),
            "_reduce_scatter_base: input is of Float, but output of Int");
  EXPECT_EQ(error([&] { group->send(t, 0, 0); }), "send: rank 0 cannot send to itself");
  EXPECT_EQ(error([&] { group->recv(t, 5, 0); }), "recv: the source 5 is no rank of a group of 1");
  std::vector<int64_t> wrong{3};
  std::vector<int64_t> right{4};
  EXPECT_EQ(error([&] { group->alltoall_base(t[0], t[0], wrong, right); }),
            "alltoall_base: the parts of the output have 3 rows, but it has 4");
  EXPECT_EQ(error([&] { const ReduceOp op(ReduceOp::PREMUL_SUM); }),
            "ReduceOp: PREMUL_SUM needs a factor: use makePreMulSum");
  EXPECT_EQ(error([&] { group->allreduce_sparse(t); }),
            c10::str("Backend ", group->getBackendName(), " does not support allreduce_sparse"));
  // The group goes on.
  group->allreduce(t)->wait();
  group->shutdown();
  expect_contains(error([&] { group->allreduce(t); }), "was shut down");
}

}  // namespace c10d::testing
