#pragma once

#include "utils/serialize/archive.h"
