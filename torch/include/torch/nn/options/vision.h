#pragma once

#include "nn/options/vision.h"
