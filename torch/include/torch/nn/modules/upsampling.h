#pragma once

#include "nn/layers/upsampling.h"
