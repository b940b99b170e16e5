#pragma once

#include "nn/functional/distance.h"
