#pragma once

#include "nn/options/conv.h"
