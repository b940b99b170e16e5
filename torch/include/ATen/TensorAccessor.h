#pragma once

#include "aten/core/tensor_accessor.h"
