#pragma once

#include "nn/layers/size_lists.h"
