#pragma once

#include "aten/core/philox_engine.h"
