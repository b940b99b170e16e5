#pragma once

#include "aten/core/printing.h"
