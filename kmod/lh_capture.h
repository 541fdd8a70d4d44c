/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What lh_capture.c writes, and orchestrator/trace/captures.py reads.
 *
 *	capture.blocks    Enhanced Packet Blocks of a pcapng file, one a packet, little-endian, in the order of their times: nanoseconds
 *			  since the epoch; those of packets before it are negative
 *	capture.events    what happened to a packet after its block was written: records of 24 bytes
 *
 * A test compiles this file and compares it with the reader's table.
 */
#ifndef LH_CAPTURE_H
#define LH_CAPTURE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <asm/types.h>
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
#endif

#define LH_CAPTURE_DEVICES 64

/* The block of a packet, before its bytes. */
struct lh_packet_block {
	u32 type, length;
	u32 interface;
	u32 time_high, time_low;
	u32 captured, whole;
};

/* After its bytes, which are padded to four: the direction, the end of the options, and the length again. */
struct lh_packet_end {
	u16 flags_code, flags_length;
	u32 flags;
	u32 no_more_options;
	u32 length;
};

#define LH_PACKET_BLOCK 6
#define LH_PACKET_FLAGS 2
#define LH_INBOUND 1
#define LH_OUTBOUND 2

enum lh_capture_what { LH_CAPTURE_DROP = 1, LH_CAPTURE_MARK };

/* A drop has an event whether or not its packet has a block. */
#define LH_NO_BLOCK (~0ull)

struct lh_capture_event {
	u64 block; /* where the packet's block begins */
	s64 t_ns;
	u16 what, interface;
	u32 unused;
};

#endif
