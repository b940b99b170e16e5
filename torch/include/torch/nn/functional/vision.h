#pragma once

#include "nn/functional/vision.h"
