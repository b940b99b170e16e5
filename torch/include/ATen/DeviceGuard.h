#pragma once

#include "aten/extension/tensor_refs.h"
#include "c10/core/device_guard.h"
