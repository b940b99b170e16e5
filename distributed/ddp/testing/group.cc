#include "distributed/ddp/testing/group.h"

#include <gtest/gtest.h>

#include <memory>

#include "aten/aten.h"
#include "c10/core/grad_mode.h"
#include "distributed/process_group/host_backend.h"
#include "distributed/testing/run_ranks.h"
#include "distributed/testing/threads_engine.h"

namespace c10d::testing {
namespace {

std::function<void(int)> with_groups(int size, const GroupBody& body, std::chrono::milliseconds timeout) {
  auto engines = std::make_shared<std::vector<std::unique_ptr<Engine>>>(threads_engines(size));
  return [=](int rank) {
    auto options = c10::make_intrusive<HostBackend::HostOptions>("threads", timeout);
    options->group_name = "test";
    auto group = c10::make_intrusive<ProcessGroup>(rank, size);
    group->setBackend(c10::DeviceType::CPU, ProcessGroup::CUSTOM,
                      c10::make_intrusive<HostBackend>(std::move((*engines)[static_cast<size_t>(rank)]), options));
    body(rank, group);
  };
}

}  // namespace

void run_group(int size, const GroupBody& body, std::chrono::milliseconds timeout) {
  run_ranks(size, with_groups(size, body, timeout));
}

std::vector<std::string> errors_of_group(int size, const GroupBody& body, std::chrono::milliseconds timeout) {
  return errors_of_ranks(size, with_groups(size, body, timeout));
}

at::Tensor numbers(at::IntArrayRef sizes, int seed, c10::ScalarType dtype) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  // Of a steep sine what stands behind the point: no two rows have anything to do with each other.
  const at::Tensor t = at::sin(at::arange(count, at::kDouble).add(1).mul(12.9898).add(seed * 78.233)).mul(43758.5453);
  return at::to(at::reshape(t.sub(at::floor(t)).mul(1.8).sub(0.9), sizes), dtype);
}

void fill(torch::nn::Module& module, int seed) {
  const c10::NoGradGuard no_grad;
  for (const at::Tensor& p : module.parameters()) p.copy_(numbers(p.sizes(), seed++, c10::kDouble).mul(0.5));
  for (const at::Tensor& b : module.buffers()) {
    if (b.is_floating_point()) b.copy_(numbers(b.sizes(), seed++, c10::kDouble).mul(0.1).add(1));
  }
}

void expect_equal(const at::Tensor& a, const at::Tensor& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.defined(), b.defined()) << what;
  if (!a.defined()) return;
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  const at::Tensor x = at::to(a.is_sparse() ? a.to_dense() : a, at::kDouble).detach();
  const at::Tensor y = at::to(b.is_sparse() ? b.to_dense() : b, at::kDouble).detach();
  if (x.numel() == 0) return;
  if (tolerance == 0) {
    EXPECT_TRUE(at::equal(x, y)) << what << ": they differ by up to " << (x - y).abs().max().item<double>();
  } else {
    EXPECT_LE((x - y).abs().max().item<double>(), tolerance * (1 + y.abs().max().item<double>())) << what;
  }
}

void expect_same_parameters(const torch::nn::Module& a, const torch::nn::Module& b, double tolerance, bool gradients) {
  const auto mine = a.named_parameters(), theirs = b.named_parameters();
  ASSERT_EQ(mine.size(), theirs.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    expect_equal(mine[i].value(), theirs[i].value(), tolerance, mine[i].key());
    if (gradients) expect_equal(mine[i].value().grad(), theirs[i].value().grad(), tolerance, mine[i].key() + ".grad");
  }
}

}  // namespace c10d::testing
