#pragma once

#include "nn/functional/activation.h"
