// Replays the checked-in recordings with CUDA tensors.
#include "tests/conformance/checked_in.h"
#include "aten/core/context.h"
#ifdef KD_CUDA_ON_HOST
#include "tests/cuda_on_host/simt/simt.h"
#endif

namespace conformance {
namespace {

class OnCuda : public Conformance {
 protected:
  // What is recorded are the CPU's results: products of float32, and sums of 16-bit numbers in float32.
  static void SetUpTestSuite() {
    at::globalContext().setAllowFP16ReductionCuBLAS(false);
    at::globalContext().setAllowBF16ReductionCuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setDeterministicCuDNN(true);
  }
};

TEST_P(OnCuda, Layouts) {
  replay([](Options& o) {
    o.device = "cuda:0";
    o.layouts = true;
  });
}

// Those of PyTorch's list of what is deterministic on request that may leave any of several elements for one place.
bool is_deterministic_on_request(const std::string& name) {
  for (const char* prefix : {"index_put", "_index_put_impl_", "_unsafe_index_put", "index_copy", "scatter"}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

// On the host, with blocks, warps and lanes in reverse and in random order.
TEST_P(OnCuda, SameBitsAgain) {
  at::globalContext().setDeterministicAlgorithms(is_deterministic_on_request(GetParam().second));
  replay([](Options& o) {
    o.device = "cuda:0";
    o.repeats = 2;
#ifdef KD_CUDA_ON_HOST
    o.before_repeat = [](uint64_t k) { simt::options().order = k == 0 ? simt::Order::kReverse : simt::Order::kRandom; };
#endif
  });
#ifdef KD_CUDA_ON_HOST
  simt::options() = {};
#endif
  at::globalContext().setDeterministicAlgorithms(false);
}

INSTANTIATE_TEST_SUITE_P(FirstFamilies, OnCuda, testing::ValuesIn(all_of(first_families())), test_name);
INSTANTIATE_TEST_SUITE_P(Newer, OnCuda, testing::ValuesIn(all_of(newer())), test_name);
INSTANTIATE_TEST_SUITE_P(Gradients, OnCuda, testing::ValuesIn(all_of(gradients())), test_name);
INSTANTIATE_TEST_SUITE_P(Shapes, OnCuda, testing::ValuesIn(all_of(shapes())), test_name);
INSTANTIATE_TEST_SUITE_P(Nested, OnCuda, testing::ValuesIn(all_of(nested())), test_name);
INSTANTIATE_TEST_SUITE_P(Quantized, OnCuda, testing::ValuesIn(all_of(quantized())), test_name);
INSTANTIATE_TEST_SUITE_P(Sparse, OnCuda, testing::ValuesIn(all_of(sparse())), test_name);

}  // namespace
}  // namespace conformance
