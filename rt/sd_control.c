/* What the control plane of every program does, compiled once for all of them: see sd_instance.h. */
#define SD_CONTROL_ALONE
#include "sd_runtime.h"
