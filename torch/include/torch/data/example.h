#pragma once

#include "data/example.h"
