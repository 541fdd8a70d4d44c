/*
 * Reads JSON objects into structures by tables: each table names every member that may be there,
 * so an unknown, missing or wrong one is refused with its path and with what is allowed.
 */
#ifndef LONGHAUL_FIELDS_H
#define LONGHAUL_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "system/json_reader.h"

enum field_type {
	FIELD_BOOL,
	FIELD_U8,
	FIELD_U16,
	FIELD_U32,
	FIELD_U64,
	FIELD_SHARE, /* 0 to 2^32, kept in 32 bits: all of it becomes 2^32 - 1 */
	FIELD_TEXT,
	FIELD_HANDLE, /* "2:", "1:1", "root" */
	FIELD_IPV4,   /* struct in_addr */
	FIELD_MAC,    /* struct ether_addr */
	FIELD_VALUE,  /* const struct json *, whatever it is; an absent one is NULL */
	FIELD_IGNORED /* for people and for other stages */
};

enum field_need {
	NEEDED,
	NULLABLE, /* null or absent: the field is set to `otherwise` */
};

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
	enum field_need need;
	uint64_t max;	    /* of an integer; 0: what the type holds */
	uint64_t otherwise; /* for NULLABLE integers */
};

/* ---- rows of a table, and a walk over a list ---- */

#define COUNT(table) (sizeof(table) / sizeof(*(table)))
#define NEED(key, structure, member, type)                           \
	{                                                            \
		key, type, offsetof(structure, member), NEEDED, 0, 0 \
	}
#define MAYBE(key, structure, member, type, otherwise)                         \
	{                                                                      \
		key, type, offsetof(structure, member), NULLABLE, 0, otherwise \
	}
#define IGNORE(key)                                   \
	{                                             \
		key, FIELD_IGNORED, 0, NULLABLE, 0, 0 \
	}
/* Steps through a list, `item` being the value and `index` its place. */
#define EACH(item, list)                                                   \
	const struct json *item = fields_expect(list, JSON_LIST)->members; \
	item;                                                              \
	item = item->next

/* Names the document that the next values are part of, for refusals; without this call it is the plan. */
void fields_about(const char *attempting, const char *document, const char *hint);

void fields_read(const struct json *object, const struct field *fields, size_t count, void *into);

/* One value by `field` (its key and offset do not matter). */
void fields_read_one(const struct json *value, const struct field *field, void *into);

/* Refuses a value: "reading the plan wires[0].ends[1].mtu: ..." */
_Noreturn void fields_refuse(const struct json *value, const char *what, ...)
	__attribute__((format(printf, 2, 3)));

/* The value if it has that type, else refused. */
const struct json *fields_expect(const struct json *value, enum json_type type);

/* A list of texts as exec takes it: NULL is the last. */
char **fields_texts(const struct json *list);

#endif
