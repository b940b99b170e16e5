#pragma once

#include "nn/options/adaptive.h"
