#pragma once

#include "aten/aten.h"
