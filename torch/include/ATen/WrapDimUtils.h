#pragma once

#include "aten/core/tensor_base.h"
