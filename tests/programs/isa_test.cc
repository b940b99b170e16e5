// Printed groups on every instruction set: the bits of operators one by one on the same.
#include <cstring>

#include "aten/core/tensor.h"
#include "aten/cpu/isa.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/softmax/ops.h"
#include "c10/core/cpu_generator.h"
#include "gtest/gtest.h"
#include "tests/programs/chain_gelu.h"
#include "tests/programs/chain_relu.h"
#include "tests/programs/chain_softmax.h"

namespace torch {
namespace {

struct Data {
  at::Tensor x = at::randn({37, 53}), w = at::randn({53}), b = at::randn({53}), r = at::randn({37, 53});
};

template <class Program>
bool has_bits_of(const Data& d, const at::Tensor& expected) {
  at::Tensor out = at::empty({37, 53});
  Program program;
  program.run({53, 37},
              {d.x.const_data_ptr<float>(), d.w.const_data_ptr<float>(), d.b.const_data_ptr<float>(),
               d.r.const_data_ptr<float>()},
              {out.data_ptr<float>()});
  return std::memcmp(out.const_data_ptr(), expected.const_data_ptr(), out.nbytes()) == 0;
}

TEST(Programs, HaveTheBitsOfOperatorsOnEveryInstructionSet) {
  at::manual_seed(7);
  const Data d;
  for (const at::cpu::Isa isa :
       {at::cpu::Isa::kAvx512, at::cpu::Isa::kAvx2, at::cpu::Isa::kSse4, at::cpu::Isa::kBaseline}) {
    SCOPED_TRACE(static_cast<int>(isa));
    at::cpu::limit_isa(isa);
    const at::Tensor sum = at::add(at::mul(d.x, d.w), d.b);
    EXPECT_TRUE(has_bits_of<programs::ChainGelu>(d, at::add(at::gelu(sum), d.r)));
    EXPECT_TRUE(has_bits_of<programs::ChainRelu>(d, at::add(at::relu(sum), d.r)));
    EXPECT_TRUE(has_bits_of<programs::ChainSoftmax>(d, at::softmax(at::mul(d.x, 0.125), -1)));
  }
  at::cpu::limit_isa(at::cpu::Isa::kAvx512);
}

}  // namespace
}  // namespace torch
