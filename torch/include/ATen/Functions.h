#pragma once

#include "aten/aten.h"
#include "aten/extension/tensor_refs.h"
