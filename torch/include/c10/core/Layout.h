#pragma once

#include "c10/core/layout.h"
