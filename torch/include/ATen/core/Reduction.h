#pragma once

#include "aten/core/reduction.h"
