// The same with room for one flow, to test what happens when there is no more.

#define N_FLOWS 1
#include "heavy_hitter.p4"
