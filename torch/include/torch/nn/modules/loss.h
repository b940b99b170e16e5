#pragma once

#include "nn/layers/loss.h"
