#pragma once

#include "utils/serialize/archive.h"
#include "utils/serialize/module_archive.h"
#include "utils/serialize/optimizer_archive.h"
