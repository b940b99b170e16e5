#pragma once

#include "aten/extension/wrap_dims.h"
