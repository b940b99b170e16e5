#pragma once

#include "nn/nn.h"
