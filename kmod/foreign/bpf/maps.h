/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The maps of BPF programs: arrays, hash tables and storage of sockets. module.h has a table of them; a program refers to one
 * by the address of its variable.
 *
 * A guest has one processor, so that a map of each processor is one map. Entries are freed when no reader can have them.
 */
#ifndef LH_BPF_MAPS_H
#define LH_BPF_MAPS_H

/* So the compiler names the place in the program where an error is inside a word of this file. */
#pragma GCC system_header

#include <linux/hashtable.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/jhash.h>
#include <net/sock.h>

#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]
#define __ulong(name, value) enum { LH_JOIN(lh_unused_, __COUNTER__) = value } name

#define LH_MAP_BITS 10

struct lh_bpf_map {
	const void *variable;
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
	u32 count;
	void *values;			/* of an array */
	struct hlist_head *heads;	/* of a hash table */
	struct list_head order;		/* its entries, the latest used at the end */
};

struct lh_bpf_entry {
	struct hlist_node node;
	struct list_head order;
	struct rcu_head rcu;
	const struct sock *sk;		/* of a socket's storage */
	void (*destruct)(struct sock *sk);
	u8 data[] __aligned(8);		/* the key, then the value */
};

extern struct lh_bpf_map lh_bpf_maps[];
extern const u32 lh_bpf_map_count;

static inline struct lh_bpf_map *lh_bpf_map(const void *variable)
{
	u32 place;

	for (place = 0; place < lh_bpf_map_count; place++)
		if (lh_bpf_maps[place].variable == variable)
			return &lh_bpf_maps[place];
	return NULL;
}

static inline bool lh_bpf_is_array(const struct lh_bpf_map *map)
{
	return map->type == BPF_MAP_TYPE_ARRAY || map->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static inline bool lh_bpf_is_storage(const struct lh_bpf_map *map)
{
	return map->type == BPF_MAP_TYPE_SK_STORAGE;
}

static inline bool lh_bpf_is_lru(const struct lh_bpf_map *map)
{
	return map->type == BPF_MAP_TYPE_LRU_HASH || map->type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static inline void *lh_bpf_value(const struct lh_bpf_map *map, struct lh_bpf_entry *entry)
{
	return entry->data + round_up(map->key_size, 8);
}

static inline struct hlist_head *lh_bpf_head(const struct lh_bpf_map *map, const void *key)
{
	return &map->heads[jhash(key, map->key_size, 0) >> (32 - LH_MAP_BITS)];
}

static inline struct lh_bpf_entry *lh_bpf_find(const struct lh_bpf_map *map, const void *key)
{
	struct lh_bpf_entry *entry;

	hlist_for_each_entry(entry, lh_bpf_head(map, key), node)
		if (!memcmp(entry->data, key, map->key_size))
			return entry;
	return NULL;
}

static inline void lh_bpf_drop(struct lh_bpf_map *map, struct lh_bpf_entry *entry)
{
	hlist_del_rcu(&entry->node);
	list_del(&entry->order);
	map->count--;
	kfree_rcu(entry, rcu);
}

static inline struct lh_bpf_entry *lh_bpf_add(struct lh_bpf_map *map, const void *key)
{
	struct lh_bpf_entry *entry;

	if (!lh_bpf_is_storage(map) && map->count >= map->max_entries) {
		if (!lh_bpf_is_lru(map))
			return ERR_PTR(-E2BIG);
		lh_bpf_drop(map, list_first_entry(&map->order, struct lh_bpf_entry, order));
	}
	entry = kzalloc(sizeof(*entry) + round_up(map->key_size, 8) + map->value_size, GFP_ATOMIC);
	if (!entry)
		return ERR_PTR(-ENOMEM);
	memcpy(entry->data, key, map->key_size);
	hlist_add_head_rcu(&entry->node, lh_bpf_head(map, key));
	list_add_tail(&entry->order, &map->order);
	map->count++;
	return entry;
}

static noinline __maybe_unused void *lh_bpf_lookup(const void *variable, const void *key)
{
	struct lh_bpf_map *map = lh_bpf_map(variable);
	struct lh_bpf_entry *entry;
	void *value = NULL;

	if (!map || lh_bpf_is_storage(map))
		return NULL;
	if (lh_bpf_is_array(map)) {
		u32 place = *(const u32 *)key;

		return place < map->max_entries ? map->values + (size_t)place * round_up(map->value_size, 8) : NULL;
	}
	local_bh_disable();
	entry = lh_bpf_find(map, key);
	if (entry) {
		if (lh_bpf_is_lru(map))
			list_move_tail(&entry->order, &map->order);
		value = lh_bpf_value(map, entry);
	}
	local_bh_enable();
	return value;
}

static noinline __maybe_unused long lh_bpf_update(const void *variable, const void *key, const void *value, u64 flags)
{
	struct lh_bpf_map *map = lh_bpf_map(variable);
	struct lh_bpf_entry *entry;
	long err = 0;

	if (!map || lh_bpf_is_storage(map) || flags > BPF_EXIST)
		return -EINVAL;
	if (lh_bpf_is_array(map)) {
		void *to = lh_bpf_lookup(variable, key);

		if (!to)
			return -E2BIG;
		if (flags == BPF_NOEXIST)
			return -EEXIST;
		memcpy(to, value, map->value_size);
		return 0;
	}
	local_bh_disable();
	entry = lh_bpf_find(map, key);
	if (entry && flags == BPF_NOEXIST)
		err = -EEXIST;
	else if (!entry && flags == BPF_EXIST)
		err = -ENOENT;
	else if (!entry)
		entry = lh_bpf_add(map, key);
	if (!err && IS_ERR(entry))
		err = PTR_ERR(entry);
	if (!err)
		memcpy(lh_bpf_value(map, entry), value, map->value_size);
	local_bh_enable();
	return err;
}

static noinline __maybe_unused long lh_bpf_delete(const void *variable, const void *key)
{
	struct lh_bpf_map *map = lh_bpf_map(variable);
	struct lh_bpf_entry *entry;

	if (!map || lh_bpf_is_array(map) || lh_bpf_is_storage(map))
		return -EINVAL;
	local_bh_disable();
	entry = lh_bpf_find(map, key);
	if (entry)
		lh_bpf_drop(map, entry);
	local_bh_enable();
	return entry ? 0 : -ENOENT;
}

static noinline __maybe_unused long lh_bpf_each(void *variable, long (*step)(void *, const void *, void *, void *), void *context)
{
	struct lh_bpf_map *map = lh_bpf_map(variable);
	struct lh_bpf_entry *entry, *next;
	long done = 0;
	u32 place;

	if (!map || lh_bpf_is_storage(map))
		return -EINVAL;
	if (lh_bpf_is_array(map)) {
		for (place = 0; place < map->max_entries; place++) {
			done++;
			if ((int)step(variable, &place, lh_bpf_lookup(variable, &place), context))
				break;
		}
		return done;
	}
	list_for_each_entry_safe(entry, next, &map->order, order) {
		done++;
		if ((int)step(variable, entry->data, lh_bpf_value(map, entry), context))
			break;
	}
	return done;
}

/* Entries of a socket live as long as it does: its destructor is the entry's, which calls the former one. */
static noinline __maybe_unused void lh_bpf_destruct(struct sock *sk)
{
	void (*destruct)(struct sock *sk) = NULL;
	u32 place;

	for (place = 0; place < lh_bpf_map_count; place++) {
		struct lh_bpf_map *map = &lh_bpf_maps[place];
		struct lh_bpf_entry *entry;

		if (!lh_bpf_is_storage(map))
			continue;
		local_bh_disable();
		entry = lh_bpf_find(map, &sk);
		if (entry) {
			if (entry->destruct != lh_bpf_destruct)
				destruct = entry->destruct;
			lh_bpf_drop(map, entry);
		}
		local_bh_enable();
	}
	if (destruct) {
		destruct(sk);
		module_put(&__this_module);
	}
}

static noinline __maybe_unused void *lh_bpf_storage(const void *variable, const struct sock *reader, const void *value, u64 flags)
{
	struct lh_bpf_map *map = lh_bpf_map(variable);
	struct sock *sk = (struct sock *)reader;
	struct lh_bpf_entry *entry;

	if (!map || !lh_bpf_is_storage(map) || !sk || flags & ~(u64)BPF_SK_STORAGE_GET_F_CREATE)
		return NULL;
	local_bh_disable();
	entry = lh_bpf_find(map, &sk);
	if (!entry && flags) {
		entry = lh_bpf_add(map, &sk);
		if (IS_ERR(entry)) {
			entry = NULL;
		} else {
			entry->sk = sk;
			entry->destruct = sk->sk_destruct;
			if (sk->sk_destruct != lh_bpf_destruct) {
				__module_get(&__this_module);
				sk->sk_destruct = lh_bpf_destruct;
			}
			if (value)
				memcpy(lh_bpf_value(map, entry), value, map->value_size);
		}
	}
	local_bh_enable();
	return entry ? lh_bpf_value(map, entry) : NULL;
}

static noinline __maybe_unused long lh_bpf_storage_delete(const void *variable, const struct sock *sk)
{
	struct lh_bpf_map *map = lh_bpf_map(variable);
	struct lh_bpf_entry *entry;

	if (!map || !lh_bpf_is_storage(map))
		return -EINVAL;
	entry = lh_bpf_find(map, &sk);
	if (!entry)
		return -ENOENT;
	/* The entry itself stays until the socket's end, because it knows the former destructor; a new one begins with zeros. */
	memset(lh_bpf_value(map, entry), 0, map->value_size);
	return 0;
}

#define bpf_map_lookup_elem(map, key) lh_bpf_lookup(map, key)
#define bpf_map_update_elem(map, key, value, flags) lh_bpf_update(map, key, value, flags)
#define bpf_map_delete_elem(map, key) lh_bpf_delete(map, key)
#define bpf_map_lookup_percpu_elem(map, key, cpu) ((cpu) ? NULL : lh_bpf_lookup(map, key))
#define bpf_for_each_map_elem(map, step, context, flags) \
	lh_bpf_each(map, (long (*)(void *, const void *, void *, void *))(step), context)
#define bpf_sk_storage_get(map, sk, value, flags) lh_bpf_storage(map, (const struct sock *)(sk), value, flags)
#define bpf_sk_storage_delete(map, sk) lh_bpf_storage_delete(map, (const struct sock *)(sk))

static inline void lh_bpf_maps_free(void)
{
	u32 place;

	for (place = 0; place < lh_bpf_map_count; place++) {
		struct lh_bpf_map *map = &lh_bpf_maps[place];
		struct lh_bpf_entry *entry, *next;

		if (map->heads)
			list_for_each_entry_safe(entry, next, &map->order, order)
				lh_bpf_drop(map, entry);
		kvfree(map->heads);
		kvfree(map->values);
	}
	rcu_barrier();
}

static inline int lh_bpf_maps_make(void)
{
	u32 place;

	for (place = 0; place < lh_bpf_map_count; place++) {
		struct lh_bpf_map *map = &lh_bpf_maps[place];

		INIT_LIST_HEAD(&map->order);
		if (lh_bpf_is_array(map)) {
			map->values = kvcalloc(map->max_entries, round_up(map->value_size, 8), GFP_KERNEL);
		} else if (map->type != BPF_MAP_TYPE_RINGBUF && map->type != BPF_MAP_TYPE_PERF_EVENT_ARRAY) {
			if (lh_bpf_is_storage(map))
				map->key_size = sizeof(struct sock *);
			map->heads = kvcalloc(1 << LH_MAP_BITS, sizeof(*map->heads), GFP_KERNEL);
		} else {
			continue;
		}
		if (!map->values && !map->heads) {
			lh_bpf_maps_free();
			return -ENOMEM;
		}
	}
	return 0;
}

#endif
