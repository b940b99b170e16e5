#pragma once

#include "nn/options/pooling.h"
