#pragma once

#include "c10/core/generator.h"
