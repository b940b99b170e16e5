#pragma once

#include "c10/core/tensor_options.h"
