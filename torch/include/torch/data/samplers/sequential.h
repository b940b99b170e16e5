#pragma once

#include "data/samplers/samplers.h"
