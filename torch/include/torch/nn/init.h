#pragma once

#include "nn/init/init.h"
