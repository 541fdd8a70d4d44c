/* The agent's version, as it appears in facts.json and in `longhaul-agent version`. */
#ifndef LONGHAUL_VERSION_H
#define LONGHAUL_VERSION_H

#define AGENT_VERSION "0.1.0"

#endif
