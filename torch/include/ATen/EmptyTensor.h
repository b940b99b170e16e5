#pragma once

#include "aten/core/empty.h"
