#pragma once

#include "nn/utils/clip_grad.h"
