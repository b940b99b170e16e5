#pragma once

#include "c10/cuda/frontend.h"
