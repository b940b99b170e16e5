#pragma once

#include "c10/core/tensor_impl.h"
