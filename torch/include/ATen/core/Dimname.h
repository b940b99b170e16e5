#pragma once

#include "aten/core/dimname.h"
