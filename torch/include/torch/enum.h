#pragma once

#include "nn/options/enum.h"
