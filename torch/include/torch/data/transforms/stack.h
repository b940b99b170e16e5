#pragma once

#include "data/transforms/transforms.h"
