#pragma once

#include "c10/core/backend.h"
