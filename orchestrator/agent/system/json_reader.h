/*
 * A small strict JSON reader: the whole document becomes a tree in one block of memory, texts are
 * decoded in place in the caller's buffer, and an error knows its line and column.
 */
#ifndef LONGHAUL_JSON_READER_H
#define LONGHAUL_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type { JSON_NULL, JSON_BOOL, JSON_INTEGER, JSON_REAL, JSON_TEXT, JSON_LIST, JSON_OBJECT };

struct json {
	enum json_type type;
	bool truth;	      /* JSON_BOOL */
	bool negative;	      /* JSON_INTEGER: the sign, `magnitude` being below 2^64 */
	uint64_t magnitude;   /* JSON_INTEGER */
	const char *text;     /* JSON_TEXT; JSON_REAL as written is not kept */
	const char *key;      /* name of this member, NULL in a list */
	size_t index;	      /* place among its siblings */
	size_t count;	      /* members of a list or object */
	struct json *members; /* first of them */
	struct json *next;    /* next sibling */
	struct json *parent;
};

struct json_error {
	size_t line, column; /* from 1 */
	const char *what;
};

/* `text` must be writable, end with a NUL at text[length], and outlive the tree. NULL on error. */
struct json *json_parse(char *text, size_t length, struct json_error *error);

/* Member of an object by name, or NULL. */
const struct json *json_member(const struct json *object, const char *key);

/* Where a value is, as a person writes it: wires[0].ends[1].mtu */
void json_path(const struct json *value, char *path, size_t size);

const char *json_type_name(enum json_type type);

#endif
