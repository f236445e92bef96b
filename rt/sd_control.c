/* The control plane's operations, compiled once for all programs: see sd_instance.h. */
#define SD_CONTROL_ALONE
#include "sd_runtime.h"
