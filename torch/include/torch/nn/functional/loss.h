#pragma once

#include "nn/functional/loss.h"
