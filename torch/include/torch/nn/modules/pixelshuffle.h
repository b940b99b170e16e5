#pragma once

#include "nn/layers/pixelshuffle.h"
