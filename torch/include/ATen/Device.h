#pragma once

#include "c10/core/device.h"
