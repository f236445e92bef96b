/* All that a generated program includes. */
#ifndef SD_RUNTIME_H
#define SD_RUNTIME_H

#include "sd_base.h"
#include "sd_abi.h"
#include "sd_packet.h"
#include "sd_wide.h"
#include "sd_buffer.h"
#include "sd_hash.h"
#include "sd_random.h"
#include "sd_table.h"
#include "sd_profile.h"
#include "sd_value_set.h"
#include "sd_cells.h"
#include "sd_instance.h"
#include "sd_burst.h"
#include "sd_async.h"
#include "sd_trace.h"

#endif
