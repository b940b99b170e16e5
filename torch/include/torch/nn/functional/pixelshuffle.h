#pragma once

#include "nn/functional/pixelshuffle.h"
