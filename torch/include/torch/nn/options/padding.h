#pragma once

#include "nn/options/padding.h"
