#pragma once

#include "data/samplers/base.h"
