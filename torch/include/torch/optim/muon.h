#pragma once

#include "optim/muon.h"
