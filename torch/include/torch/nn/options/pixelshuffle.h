#pragma once

#include "nn/options/pixelshuffle.h"
