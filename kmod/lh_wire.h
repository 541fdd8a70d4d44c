/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The interface of lh_wire: the attributes of a device of this kind, and the memory that two parts of a run share. */
#ifndef LH_WIRE_H
#define LH_WIRE_H

#include <linux/types.h>

#define LH_WIRE_KIND "lh_wire"

enum {
	LH_WIRE_UNSPEC,
	LH_WIRE_PAD,
	LH_WIRE_PEER,	  /* u32: the part at the other end */
	LH_WIRE_PLACE,	  /* u32: of the wire among those to this peer, the same at both ends */
	LH_WIRE_DELAY_NS, /* u64: of what leaves this end */
	LH_WIRE_AHEAD_NS, /* u64: packets that come are handed on before they arrive, and were sent this long before that */
	LH_WIRE_END
};

#define LH_WIRE_MAX (LH_WIRE_END - 1)

/* What both parts must agree on before a packet crosses, written before each hello. */
struct lh_wire_hello {
	__u64 protocol;
	__u64 arena_bytes;
	__u64 seed;
	__u64 epoch_ns; /* the latest instant for time zero that this part has heard of */
};

/* One direction between two parts, written by the part that sends. */
struct lh_wire_lane {
	struct lh_wire_hello hello;
	__u64 hellos; /* how many of them */
	__u64 pad0[11];
	__u64 published_ns; /* all that leaves before this instant is in the arena */
	__u64 pad1[15];
	__u32 waiting; /* the part that receives sleeps: it writes this */
	__u32 pad2[31];
};

/* One direction of a wire: a stream of records. */
struct lh_wire_cursor {
	__u64 head; /* bytes of it that have been sent */
	__u64 pad0[15];
	__u64 tail;    /* bytes of it that the part that receives has taken: it writes this */
	__u64 tail_at; /* and where in the arena the next one is */
	__u64 pad1[14];
};

#define LH_WIRE_PROTOCOL 2
#define LH_WIRE_HEADER_BYTES 4096
#define LH_WIRE_CURSORS_BYTES 4096 /* of both directions of a wire */

/*
 * The memory: two lanes; two cursors for each wire, in the order of their places; two arenas. Of two the first is always that
 * of the part with the lower number. A stream lies in chunks of its arena, each of which ends with a link to the next one; it
 * begins in the chunk with the number of its wire's place. Chunks that have been read are used again.
 */
#define LH_WIRE_CHUNK_BYTES 65536
#define LH_WIRE_CURSORS_AT(place) (LH_WIRE_HEADER_BYTES + (__u64)(place) * LH_WIRE_CURSORS_BYTES)

#endif
