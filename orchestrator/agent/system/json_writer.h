/* Writes JSON into memory: objects and lists nest, commas and escapes are taken care of. */
#ifndef LONGHAUL_JSON_WRITER_H
#define LONGHAUL_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define WRITER_DEPTH 16

struct writer {
	FILE *stream;
	char *text;
	size_t length;
	int depth;
	char closer[WRITER_DEPTH]; /* '}' or ']' of each open level */
	bool begun[WRITER_DEPTH];  /* a member was written at that level */
};

/* `key` is NULL inside a list and for the outermost value. */
void writer_open(struct writer *writer);
void writer_object(struct writer *writer, const char *key);
void writer_list(struct writer *writer, const char *key);
void writer_end(struct writer *writer);
void writer_text(struct writer *writer, const char *key, const char *value); /* NULL: null */
void writer_unsigned(struct writer *writer, const char *key, uint64_t value);
void writer_bool(struct writer *writer, const char *key, bool value);
void writer_null(struct writer *writer, const char *key);

/* Puts the finished document into a file and frees it; false with errno set if it cannot. */
bool writer_save(struct writer *writer, const char *path);

#endif
