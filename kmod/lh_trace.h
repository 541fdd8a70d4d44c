/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The layout of trace.bin, as written by lh_trace.c and read by orchestrator/trace/records.py.
 *
 *	0        4096            4160            4224
 *	| header | record 0      | record 1      | ...
 *
 * Every record is 64 bytes, little-endian, naturally aligned, and begins with the same 12 bytes. Times are nanoseconds
 * since the epoch of the experiment. A test compiles this file and holds it equal to the reader's table.
 */
#ifndef LH_TRACE_H
#define LH_TRACE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define LH_HEADER_BYTES 4096
#define LH_RECORD_BYTES 64
#define LH_MAGIC "LHTRACE1"

/* On a sender's socket sk_mark is the flow's id + 1; on a receiver's, this bit is set too. */
#define LH_MARK_RECEIVER 0x10000u

enum lh_kind { LH_ACK = 1, LH_FLOW, LH_LINK, LH_DROP, LH_EVENT, LH_STATE, LH_DEPARTURE, LH_DECISION };

enum lh_drop { LH_DROP_QUEUE = 1, LH_DROP_RANDOM };

/* What a policer does with a packet. */
enum lh_policing { LH_POLICE_PASS = 1, LH_POLICE_DROP };

/* The two queues of dualpi2. */
enum lh_queue { LH_QUEUE_CLASSIC = 1, LH_QUEUE_L4S };

/* Fields of each kind: type, numpy type, name. What is the same for all comes first, in LH_COMMON. */
#define LH_COMMON(F) F(u64, "u8", t_ns) F(u8, "u1", kind) F(u8, "u1", state) F(u16, "u2", id)

/* A sender as an ACK arrives, before it is processed; state is the ca_state. */
#define LH_ACK_FIELDS(F)                                                                                               \
	F(u32, "u4", cwnd) F(u32, "u4", ssthresh) F(u32, "u4", srtt_us) F(u32, "u4", rtt_us) F(u32, "u4", inflight)    \
	F(u32, "u4", delivered) F(u32, "u4", retrans) F(u32, "u4", lost) F(u32, "u4", snd_wnd)                         \
	F(u64, "u8", pacing_Bps) F(u64, "u8", acked_bytes)

/* What is in order at the receiver, there for its application, at a tick if it changed. */
#define LH_FLOW_FIELDS(F) F(u32, "u4", packets) F(u64, "u8", app_bytes)

/* A queue at a tick if it changed; counters are cumulative since the epoch. */
#define LH_LINK_FIELDS(F)                                                                                              \
	F(u32, "u4", queue_packets) F(u32, "u4", queue_bytes) F(u32, "u4", queue_max_packets) F(u32, "u4", drops)      \
	F(u32, "u4", losses) F(u32, "u4", marks) F(u64, "u8", tx_packets) F(u64, "u8", tx_bytes)                       \
	F(u64, "u8", queue_byte_ns)

/* One packet that did not pass a link; state is an enum lh_drop. */
#define LH_DROP_FIELDS(F)                                                                                              \
	F(u32, "u4", length) F(u32, "u4", queue_packets) F(u16, "u2", source_port) F(u16, "u2", destination_port)      \
	F(u32, "u4", seq)

#define LH_EVENT_FIELDS(F) F(u32, "u4", what) F(u64, "u8", value)

/*
 * What the congestion control tells of itself (get_info, as `ss -i` asks it), at an ACK, once a tick if it changed. layout
 * is an INET_DIAG_ number, the words are that structure's: VEGASINFO has enabled, rttcnt, rtt, minrtt.
 */
#define LH_STATE_FIELDS(F)                                                                                             \
	F(u32, "u4", layout) F(u32, "u4", word0) F(u32, "u4", word1) F(u32, "u4", word2) F(u32, "u4", word3)           \
	F(u32, "u4", word4)

/*
 * One packet that left a link with two queues; state is an enum lh_queue, ecn the field as it left. A trace has this kind,
 * and its header names it, only if the probe was asked for it.
 */
#define LH_DEPARTURE_FIELDS(F)                                                                                         \
	F(u32, "u4", length) F(u16, "u2", source_port) F(u16, "u2", destination_port) F(u32, "u4", ecn)                \
	F(u64, "u8", wait_ns)

/*
 * One packet that came to a policer, whose number is the id; state is an enum lh_policing. A trace has this kind, and its header
 * names it, only if the probe was asked for it.
 */
#define LH_DECISION_FIELDS(F) F(u32, "u4", length) F(u16, "u2", source_port) F(u16, "u2", destination_port)

#define LH_MEMBER(type, numpy, name) type name;
#define LH_STRUCT(NAME, FIELDS)                                                                                        \
	struct NAME {                                                                                                  \
		LH_COMMON(LH_MEMBER)                                                                                   \
		FIELDS(LH_MEMBER)                                                                                      \
	};

LH_STRUCT(lh_ack, LH_ACK_FIELDS)
LH_STRUCT(lh_flow, LH_FLOW_FIELDS)
LH_STRUCT(lh_link, LH_LINK_FIELDS)
LH_STRUCT(lh_drop_record, LH_DROP_FIELDS)
LH_STRUCT(lh_event, LH_EVENT_FIELDS)
LH_STRUCT(lh_state, LH_STATE_FIELDS)
LH_STRUCT(lh_departure, LH_DEPARTURE_FIELDS)
LH_STRUCT(lh_decision, LH_DECISION_FIELDS)

#endif
