// The same with room for two connections, to test what happens when there is no more.

#define N_CONNECTIONS 2
#include "syn_cookie.p4"
