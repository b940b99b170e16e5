#pragma once

#include "c10/core/accelerator.h"
