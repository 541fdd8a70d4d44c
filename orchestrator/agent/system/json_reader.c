/* Recursive descent over RFC 8259, refusing what it forbids, plus duplicate names. */
#include "system/json_reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_LIMIT 32

struct reader {
	char *at, *end, *line_start;
	size_t line;
	struct json *arena;
	size_t used;
	int depth;
	const char *what; /* the first error */
};

static bool read_value(struct reader *reader, struct json *value);

static bool fail(struct reader *reader, const char *what)
{
	if (!reader->what)
		reader->what = what;
	return false;
}

static void skip_space(struct reader *reader)
{
	for (; *reader->at && strchr(" \t\r\n", *reader->at); reader->at++) {
		if (*reader->at == '\n') { /* the only place where a line can end */
			reader->line++;
			reader->line_start = reader->at + 1;
		}
	}
}

static bool read_word(struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length))
		return fail(reader, "unknown word");
	reader->at += length;
	return true;
}

static bool read_number(struct reader *reader, struct json *value)
{
	value->type = JSON_INTEGER;
	if (*reader->at == '-') {
		value->negative = true;
		reader->at++;
	}
	if (!isdigit((unsigned char)*reader->at))
		return fail(reader, "a digit must follow");
	if (*reader->at == '0' && isdigit((unsigned char)reader->at[1]))
		return fail(reader, "a number may not begin with 0");
	for (; isdigit((unsigned char)*reader->at); reader->at++) {
		if (__builtin_mul_overflow(value->magnitude, 10u, &value->magnitude) ||
		    __builtin_add_overflow(value->magnitude, (uint64_t)(*reader->at - '0'),
					   &value->magnitude))
			return fail(reader, "integer beyond 64 bits");
	}
	if (*reader->at == '.') {
		value->type = JSON_REAL;
		if (!isdigit((unsigned char)*++reader->at))
			return fail(reader, "a digit must follow the point");
		while (isdigit((unsigned char)*reader->at))
			reader->at++;
	}
	if (*reader->at == 'e' || *reader->at == 'E') {
		value->type = JSON_REAL;
		reader->at++;
		if (*reader->at == '+' || *reader->at == '-')
			reader->at++;
		if (!isdigit((unsigned char)*reader->at))
			return fail(reader, "a digit must follow the exponent");
		while (isdigit((unsigned char)*reader->at))
			reader->at++;
	}
	return true;
}

static bool read_hex4(struct reader *reader, unsigned int *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++, reader->at++) {
		int digit = tolower((unsigned char)*reader->at);

		if (!isxdigit(digit))
			return fail(reader, "four hexadecimal digits must follow \\u");
		*code = *code * 16 +
			(unsigned int)(isdigit(digit) ? digit - '0' : digit - 'a' + 10);
	}
	return true;
}

static char *put_utf8(char *out, unsigned int code)
{
	if (code < 0x80) {
		*out++ = (char)code;
	} else if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
		*out++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	} else {
		*out++ = (char)(0xf0 | code >> 18);
		*out++ = (char)(0x80 | (code >> 12 & 0x3f));
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
		*out++ = (char)(0x80 | (code & 0x3f));
	}
	return out;
}

static bool read_unicode(struct reader *reader, char **out)
{
	unsigned int code, low;

	if (!read_hex4(reader, &code))
		return false;
	if (code >= 0xd800 && code < 0xdc00) {
		if (reader->at[0] != '\\' || reader->at[1] != 'u')
			return fail(reader, "the second half of a surrogate pair must follow");
		reader->at += 2;
		if (!read_hex4(reader, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(reader, "the second half of a surrogate pair must follow");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code >= 0xdc00 && code < 0xe000) {
		return fail(reader, "half a surrogate pair");
	}
	if (!code)
		return fail(reader, "a text may not hold \\u0000");
	*out = put_utf8(*out, code);
	return true;
}

/* Decodes in place: the decoded text is never longer than the written one. */
static bool read_text(struct reader *reader, const char **text)
{
	static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char *out = ++reader->at;

	*text = out;
	for (;;) {
		unsigned char byte = (unsigned char)*reader->at;

		if (reader->at >= reader->end)
			return fail(reader, "the text does not end");
		if (byte < 0x20)
			return fail(reader, "control character in a text");
		reader->at++;
		if (byte == '"')
			break;
		if (byte != '\\') {
			*out++ = (char)byte;
			continue;
		}
		byte = (unsigned char)*reader->at++;
		if (byte == 'u') {
			if (!read_unicode(reader, &out))
				return false;
			continue;
		}
		if (!byte || !strchr(names, byte))
			return fail(reader, "unknown escape");
		*out++ = meanings[strchr(names, byte) - names];
	}
	*out = 0;
	return true;
}

static bool read_members(struct reader *reader, struct json *value, char closer)
{
	struct json **link = &value->members;

	if (++reader->depth > DEPTH_LIMIT)
		return fail(reader, "nested too deeply");
	reader->at++;
	skip_space(reader);
	if (*reader->at == closer)
		goto closed;
	for (;;) {
		struct json *member = &reader->arena[reader->used++];

		*member = (struct json){.parent = value, .index = value->count++};
		skip_space(reader);
		if (closer == '}') {
			if (*reader->at != '"')
				return fail(reader, "a name in quotes must follow");
			if (!read_text(reader, &member->key))
				return false;
			if (json_member(value, member->key))
				return fail(reader, "the name is there twice");
			skip_space(reader);
			if (*reader->at != ':')
				return fail(reader, "':' must follow the name");
			reader->at++;
		}
		if (!read_value(reader, member))
			return false;
		*link = member;
		link = &member->next;
		skip_space(reader);
		if (*reader->at == closer)
			break;
		if (*reader->at != ',')
			return fail(reader, closer == '}' ? "',' or '}' must follow"
							  : "',' or ']' must follow");
		reader->at++;
	}
closed:
	reader->at++;
	reader->depth--;
	return true;
}

static bool read_value(struct reader *reader, struct json *value)
{
	skip_space(reader);
	switch (*reader->at) {
	case '{':
		value->type = JSON_OBJECT;
		return read_members(reader, value, '}');
	case '[':
		value->type = JSON_LIST;
		return read_members(reader, value, ']');
	case '"':
		value->type = JSON_TEXT;
		return read_text(reader, &value->text);
	case 't':
	case 'f':
		value->type = JSON_BOOL;
		value->truth = *reader->at == 't';
		return read_word(reader, value->truth ? "true" : "false");
	case 'n':
		value->type = JSON_NULL;
		return read_word(reader, "null");
	case '-':
	case '0' ... '9':
		return read_number(reader, value);
	default:
		return fail(reader, "a value must follow");
	}
}

struct json *json_parse(char *text, size_t length, struct json_error *error)
{
	struct reader reader = {.at = text, .end = text + length, .line_start = text, .line = 1};
	size_t values = 2;

	/* Every value but the first follows one of these characters. */
	for (size_t i = 0; i < length; i++)
		values += text[i] == ',' || text[i] == '[' || text[i] == '{';
	reader.arena = calloc(values, sizeof(*reader.arena));
	if (!reader.arena) {
		*error = (struct json_error){1, 1, "not enough memory"};
		return NULL;
	}
	reader.used = 1;
	if (read_value(&reader, reader.arena)) {
		skip_space(&reader);
		if (reader.at == reader.end)
			return reader.arena;
		fail(&reader, "nothing may follow the document");
	}
	*error = (struct json_error){reader.line, (size_t)(reader.at - reader.line_start) + 1,
				     reader.what};
	free(reader.arena);
	return NULL;
}

const struct json *json_member(const struct json *object, const char *key)
{
	for (const struct json *member = object->members; member; member = member->next)
		if (!strcmp(member->key, key))
			return member;
	return NULL;
}

void json_path(const struct json *value, char *path, size_t size)
{
	size_t used;

	if (!value->parent) {
		*path = 0;
		return;
	}
	json_path(value->parent, path, size);
	used = strlen(path);
	if (value->key)
		snprintf(path + used, size - used, "%s%s", used ? "." : "", value->key);
	else
		snprintf(path + used, size - used, "[%zu]", value->index);
}

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {"null",   "a truth value", "an integer", "a fraction",
					    "a text", "a list",	       "an object"};

	return names[type];
}
