// Backends of CPU tensors with ranks that are threads: what all engines' backends do.
#include "distributed/process_group/host_backend.h"

#include <gtest/gtest.h>

#include <memory>

#include "distributed/process_group/conformance.h"
#include "distributed/testing/threads_engine.h"

namespace c10d {
namespace {

testing::BackendOfRank group_of_threads(int size) {
  const auto engines = std::make_shared<std::vector<std::unique_ptr<Engine>>>(testing::threads_engines(size));
  return [engines](int rank, std::chrono::milliseconds timeout) -> c10::intrusive_ptr<Backend> {
    auto options = c10::make_intrusive<HostBackend::HostOptions>("threads", timeout);
    options->group_name = "test";
    return c10::make_intrusive<HostBackend>(std::move(engines->at(static_cast<size_t>(rank))), std::move(options));
  };
}

class HostBackendOfRanks : public ::testing::TestWithParam<int> {};

TEST_P(HostBackendOfRanks, Collectives) {
  testing::expect_collectives(group_of_threads, GetParam());
}
TEST_P(HostBackendOfRanks, Messages) {
  if (GetParam() > 1) testing::expect_messages(group_of_threads, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Sizes, HostBackendOfRanks, ::testing::Values(1, 2, 3, 4, 7));

TEST(HostBackend, Errors) {
  testing::expect_errors(group_of_threads);
}
TEST(HostBackend, Arguments) {
  testing::expect_argument_checks(group_of_threads);
}

}  // namespace
}  // namespace c10d
