/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a law tells of itself: four words that an unmodified `ss -ti` knows from Vegas. Each module says at its get_info
 * what they mean there.
 */
#ifndef LH_INFO_H
#define LH_INFO_H

#include <linux/inet_diag.h>
#include <net/tcp.h>

static inline size_t lh_tell(u32 ext, int *attr, union tcp_cc_info *info, u32 enabled, u32 rttcnt, u32 rtt, u32 minrtt)
{
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	*attr = INET_DIAG_VEGASINFO;
	info->vegas.tcpv_enabled = enabled;
	info->vegas.tcpv_rttcnt = rttcnt;
	info->vegas.tcpv_rtt = rtt;
	info->vegas.tcpv_minrtt = minrtt;
	return sizeof(info->vegas);
}

#endif
