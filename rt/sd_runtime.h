/* All that a generated program includes. */
#ifndef SD_RUNTIME_H
#define SD_RUNTIME_H

#include "base/sd_base.h"
#include "sd_abi.h"
#include "worker/sd_packet.h"
#include "base/sd_wide.h"
#include "base/sd_buffer.h"
#include "base/sd_hash.h"
#include "base/sd_random.h"
#include "table/sd_table.h"
#include "object/sd_profile.h"
#include "object/sd_value_set.h"
#include "object/sd_counter.h"
#include "object/sd_meter.h"
#include "object/sd_register.h"
#include "object/sd_select.h"
#include "worker/sd_instance.h"
#include "worker/sd_burst.h"
#include "worker/sd_async.h"
#include "worker/sd_trace.h"

/* For the generated code that follows: P4 programs declare what they do not use, and compare what is always so. */
#ifndef SD_CONTROL_ALONE
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-parameter"
#pragma GCC diagnostic ignored "-Wtype-limits"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wtautological-compare"
#pragma clang diagnostic ignored "-Wself-assign"
#endif
#endif

#endif
