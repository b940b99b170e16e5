#include "compile/group/primitive.h"

#include "aten/cpu/loops/activation.h"
#include "aten/cpu/loops/integer.h"
#include "aten/cpu/loops/loops.h"

namespace torch::compiler {

const PrimitiveInfo& info_of(Primitive primitive) {
  static constexpr PrimitiveInfo kInfos[] = {
#define KD_PRIMITIVE(Tag, loop, operands, parameters, form) \
  {#loop, &at::cpu::loops::loop, operands, parameters, Form::form},
      KD_PRIMITIVES(KD_PRIMITIVE)
#undef KD_PRIMITIVE
          {"convert", nullptr, 1, 0, Form::kLoop},
      {"where", nullptr, 3, 0, Form::kLoop},
  };
  return kInfos[static_cast<size_t>(primitive)];
}

}  // namespace torch::compiler
