#pragma once

#include "data/data.h"
