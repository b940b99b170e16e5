#pragma once

#include "c10/core/device_guard.h"
