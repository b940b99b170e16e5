#pragma once

#include "data/samplers/python.h"
#include "data/samplers/samplers.h"
