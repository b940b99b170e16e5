#pragma once

#include "aten/core/library.h"
