#pragma once

#include "c10/core/memory_format.h"
