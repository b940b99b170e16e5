#pragma once

#include "nn/options/distance.h"
