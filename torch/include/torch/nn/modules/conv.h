#pragma once

#include "nn/layers/conv.h"
