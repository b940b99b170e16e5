#pragma once

#include "nn/options/activation.h"
