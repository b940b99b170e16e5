#pragma once

#include "c10/core/list.h"
