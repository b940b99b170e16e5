// Operators and kernels of a shared library that is opened and closed while the program runs.
#include <dlfcn.h>

#include "aten/core/library.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "gtest/gtest.h"

namespace {

const char* plugin_path;

TORCH_LIBRARY(host, m) { m.def("answer(Tensor x) -> int"); }

std::optional<c10::OperatorHandle> find(const char* name) { return c10::Dispatcher::singleton().findSchema(name, ""); }

float product() { return at::mul(at::full({1}, 3.0), at::full({1}, 4.0)).data_ptr<float>()[0]; }

TEST(LibraryUnload, WhatAClosedLibraryBroughtIsGone) {
  const at::Tensor x = at::full({1}, 5.0);
  for (int time = 0; time < 3; ++time) {
    EXPECT_FALSE(find("plugin::twice"));
    EXPECT_FALSE(find("host::answer")->hasKernelForDispatchKey(c10::DispatchKey::CPU));
    EXPECT_EQ(product(), 12);
    void* plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    c10::Stack stack{x};
    find("plugin::twice")->callBoxed(stack);
    EXPECT_EQ(stack[0].toTensor().data_ptr<float>()[0], 10);
    EXPECT_EQ(find("host::answer")->typed<int64_t(const at::Tensor&)>().call(x), 42);
    stack = {x};
    find("host::answer")->callBoxed(stack);
    EXPECT_EQ(stack[0].toInt(), 42);
    EXPECT_EQ(product(), 7);
    ASSERT_EQ(dlclose(plugin), 0);
    stack = {x};
    EXPECT_THROW(find("host::answer")->callBoxed(stack), c10::NotImplementedError);
  }
  EXPECT_EQ(product(), 12);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  plugin_path = argv[1];
  return RUN_ALL_TESTS();
}
