#pragma once

#include "c10/macros/macros.h"
