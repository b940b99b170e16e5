#pragma once

#include "aten/core/context.h"
