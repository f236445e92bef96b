// The limiter with room for two flows and with four meters, to test what happens when there is no more.

#define N_FLOWS 2
#define N_METERS 4
#include "rate_limiter.p4"
