// The same with room for two flows and with four cells, to test what happens when there is no more.

#define N_FLOWS 2
#define N_CELLS 4
#include "heavy_hitter.p4"
