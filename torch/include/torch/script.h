#pragma once

#include <torch/types.h>

#include "aten/aten.h"
#include "aten/core/context.h"
#include "aten/core/custom_class.h"
#include "aten/core/dispatch.h"
#include "aten/core/legacy_type_dispatch.h"
#include "aten/core/library.h"
#include "aten/extension/scalar_ops.h"
#include "aten/extension/tensor_geometry.h"
#include "aten/extension/tensor_refs.h"
#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"
#include "c10/core/sym_int.h"
#include "c10/util/maybe_owned.h"
#include "c10/value/class_type.h"
#include "c10/value/dict.h"
#include "c10/value/future.h"
#include "c10/value/ivalue.h"
#include "c10/value/list.h"
#include "c10/value/object.h"
#include "c10/value/stack.h"
#include "c10/value/type.h"
#include "c10/value/type_of.h"
#include "export/torchscript/load.h"
#include "export/torchscript/save.h"
#include "jit/api/compilation_unit.h"
#include "jit/api/executor_settings.h"
#include "jit/api/jit_exception.h"
#include "jit/api/module.h"
#include "jit/frontend/source_range.h"
#include "utils/pickle/bare_pickle.h"

// Values, lists, dicts, classes, libraries, functions compiled from text, and modules from files.
namespace torch::jit {
using c10::IValue;
}  // namespace torch::jit
