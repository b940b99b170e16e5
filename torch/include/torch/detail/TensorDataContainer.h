#pragma once

#include "aten/core/tensor_literal.h"
