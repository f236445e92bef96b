// The translator with room for two flows, to test what happens when there is no more.

#define N_FLOWS 2
#include "nat44.p4"
