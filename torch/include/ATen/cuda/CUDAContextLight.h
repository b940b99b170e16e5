#pragma once

#include "c10/cuda/context.h"
