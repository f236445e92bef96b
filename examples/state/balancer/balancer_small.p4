// The balancer with room for nine connections, to test what happens when there is no more.

#define N_CONNECTIONS 9
#include "balancer.p4"
