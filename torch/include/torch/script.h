#pragma once

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>
#include <torch/custom_class.h>
#include <torch/jit.h>
#include <torch/library.h>
#include <torch/types.h>

#include "autograd/autograd.h"
#include "autograd/function/custom_function.h"
#include "c10/core/grad_mode.h"
#include "jit/api/jit_exception.h"
#include "jit/frontend/source_range.h"
#include "utils/pickle/bare_pickle.h"

// Values, lists, dicts, classes, libraries and functions compiled from text. No torch::jit::Module: programs are not loaded from files.
namespace torch::jit {
using c10::IValue;
namespace script = ::torch::jit;
}  // namespace torch::jit
