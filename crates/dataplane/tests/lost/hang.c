/* An extern that hangs when it is told to, until a file is there: --extern-option hang=FILE.
   While it hangs, FILE.awaited is there. */
#include "siding_extern.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *hang_open(const struct siding_opening *opening)
{
    return strdup(opening->option ? opening->option : "");
}

static uint32_t hang(struct siding_call *call)
{
    if (siding_get(call, 0) == 1) {
        char awaited[4096];
        snprintf(awaited, sizeof awaited, "%s.awaited", (const char *)call->state);
        close(creat(awaited, 0600));
        while (access(call->state, F_OK) != 0)
            usleep(1000);
    }
    siding_set(call, 1, siding_get(call, 1) + 1);
    return SIDING_OK;
}

#ifdef HANG_TOGETHER
static void hang_together(struct siding_call *calls, uint32_t *status, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        status[i] = hang(&calls[i]);
}
#endif

static const struct siding_extern externs[] = {
    {
        .name = "hang",
        .declaration = "void hang(in bit<8> how, inout bit<8> n)",
        .open = hang_open,
        .close = free,
        .run = hang,
#ifdef HANG_TOGETHER
        .run_batch = hang_together,
#endif
    },
};

const struct siding_extern_library siding_extern_library = {
    .abi_version = SIDING_EXTERN_ABI_VERSION,
    .n_externs = sizeof externs / sizeof externs[0],
    .externs = externs,
};
