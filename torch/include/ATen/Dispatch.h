#pragma once

#include "aten/core/dispatch.h"
