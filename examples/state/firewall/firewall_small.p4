// The firewall with room for two connections, to test what happens when there is no more.

#define N_CONNECTIONS 2
#include "firewall.p4"
