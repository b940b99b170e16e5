#pragma once

#include "nn/layers/pooling.h"
