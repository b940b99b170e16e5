#pragma once

#include "nn/functional/upsampling.h"
