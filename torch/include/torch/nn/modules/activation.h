#pragma once

#include "nn/layers/activation.h"
