#pragma once

#include "c10/cuda/event.h"
#include "c10/cuda/guard.h"
