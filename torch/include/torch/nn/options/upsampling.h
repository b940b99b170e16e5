#pragma once

#include "nn/options/upsampling.h"
