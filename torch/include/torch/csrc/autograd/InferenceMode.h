#pragma once

#include "c10/core/grad_mode.h"
