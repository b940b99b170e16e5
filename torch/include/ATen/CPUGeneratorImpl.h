#pragma once

#include "c10/core/cpu_generator.h"
