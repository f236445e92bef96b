// The firewall with room for one connection, for a script that tries all packets in all states.

#define N_CONNECTIONS 1
#include "firewall.p4"
