#pragma once

#include "c10/core/qscheme.h"
