#include "c10/cuda/nvtx.h"

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <string>
#include <vector>

#include "c10/cuda/frontend.h"

// A profiler in the program: NVTX asks this symbol for one.
extern "C" {
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
}

namespace {

std::vector<std::string>& seen() {
  static std::vector<std::string> all;
  return all;
}
int g_depth = 0;

void on_mark(const char* text) {
  seen().push_back(std::string("mark ") + text);
}
int on_push(const char* text) {
  seen().push_back(std::string("push ") + text);
  return g_depth++;
}
int on_pop() {
  seen().push_back("pop");
  return --g_depth;
}
nvtxRangeId_t on_start(const char* text) {
  seen().push_back(std::string("start ") + text);
  return 77;
}
void on_end(nvtxRangeId_t range) {
  seen().push_back("end " + std::to_string(range));
}

int listen(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) != 1) return 0;
  *table[NVTX_CBID_CORE_MarkA] = reinterpret_cast<NvtxFunctionPointer>(on_mark);
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(on_push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(on_pop);
  *table[NVTX_CBID_CORE_RangeStartA] = reinterpret_cast<NvtxFunctionPointer>(on_start);
  *table[NVTX_CBID_CORE_RangeEnd] = reinterpret_cast<NvtxFunctionPointer>(on_end);
  return 1;
}

struct Listening {
  Listening() { InitializeInjectionNvtx2_fnptr = &listen; }
} g_listening;

TEST(Nvtx, TellsWhoListens) {
  namespace nvtx = c10::cuda::nvtx;
  seen().clear();
  nvtx::mark("start of epoch");
  {
    const nvtx::Range range("forward");
    EXPECT_EQ(nvtx::range_push("layer"), 1);
    EXPECT_EQ(nvtx::range_pop(), 1);
  }
  const uint64_t range = nvtx::range_start("loading");
  EXPECT_EQ(range, 77u);
  nvtx::range_end(range);
  EXPECT_EQ(seen(), (std::vector<std::string>{"mark start of epoch", "push forward", "push layer", "pop", "pop",
                                              "start loading", "end 77"}));
}

TEST(Nvtx, HasNamesForPrograms) {
  namespace nvtx = torch::cuda::nvtx;
  seen().clear();
  nvtx::mark("a");
  {
    const nvtx::Range range("b");
    EXPECT_EQ(nvtx::range_push("c"), 1);
    EXPECT_EQ(nvtx::range_pop(), 1);
  }
  nvtx::range_end(nvtx::range_start("d"));
  EXPECT_EQ(seen(), (std::vector<std::string>{"mark a", "push b", "push c", "pop", "pop", "start d", "end 77"}));
}

}  // namespace
