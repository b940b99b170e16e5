#pragma once

#include "nn/options/loss.h"
