#pragma once

#include "c10/core/storage.h"
