#pragma once

#include "data/transforms/base.h"
