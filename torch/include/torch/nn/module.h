#pragma once

#include "nn/module/module.h"
