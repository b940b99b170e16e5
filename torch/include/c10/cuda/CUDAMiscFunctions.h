#pragma once

#include "c10/cuda/exception.h"
