#pragma once

#include "aten/core/tensor_indexing.h"
