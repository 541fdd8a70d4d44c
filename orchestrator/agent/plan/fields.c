/* One function per kind of value; each refuses with the path of the value in the document. */
#include "plan/fields.h"

#include <arpa/inet.h>
#include <netinet/ether.h>
#include <linux/pkt_sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/fatal.h"

static const char *attempted = "reading the plan", *read_document = "run.json",
		  *read_hint = "see docs/run-directory.md";

void fields_about(const char *attempting, const char *document, const char *hint)
{
	attempted = attempting;
	read_document = document;
	read_hint = hint;
}

_Noreturn void fields_refuse(const struct json *value, const char *what, ...)
{
	char path[256], reason[512];
	va_list list;

	va_start(list, what);
	vsnprintf(reason, sizeof(reason), what, list);
	va_end(list);
	json_path(value, path, sizeof(path));
	die(attempted, *path ? path : read_document, read_hint, "%s", reason);
}

const struct json *fields_expect(const struct json *value, enum json_type type)
{
	if (value->type != type)
		fields_refuse(value, "%s is expected, not %s", json_type_name(type),
			      json_type_name(value->type));
	return value;
}

static uint64_t read_integer(const struct json *value, uint64_t max)
{
	fields_expect(value, JSON_INTEGER);
	if (value->negative && value->magnitude)
		fields_refuse(value, "-%llu is below 0", (unsigned long long)value->magnitude);
	if (value->magnitude > max)
		fields_refuse(value, "%llu is above %llu", (unsigned long long)value->magnitude,
			      (unsigned long long)max);
	return value->magnitude;
}

static uint32_t read_handle(const struct json *value)
{
	const char *text = fields_expect(value, JSON_TEXT)->text;
	unsigned long major, minor = 0;
	char *end;

	if (!strcmp(text, "root"))
		return TC_H_ROOT;
	major = strtoul(text, &end, 16);
	if (end == text || *end != ':')
		fields_refuse(value, "'%s' is neither root nor major:minor", text);
	if (end[1])
		minor = strtoul(end + 1, &end, 16);
	else
		end++;
	if (*end || major == 0 || major > 0xffff || minor > 0xffff)
		fields_refuse(value, "'%s' is neither root nor major:minor", text);
	return (uint32_t)(major << 16 | minor);
}

static uint64_t type_max(enum field_type type)
{
	switch (type) {
	case FIELD_U8:
		return UINT8_MAX;
	case FIELD_U16:
		return UINT16_MAX;
	case FIELD_U32:
		return UINT32_MAX;
	case FIELD_SHARE:
		return (uint64_t)UINT32_MAX + 1;
	default:
		return UINT64_MAX;
	}
}

static void put_integer(enum field_type type, void *into, uint64_t number)
{
	switch (type) {
	case FIELD_U8:
		*(uint8_t *)into = (uint8_t)number;
		break;
	case FIELD_U16:
		*(uint16_t *)into = (uint16_t)number;
		break;
	case FIELD_SHARE:
		*(uint32_t *)into = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
		break;
	case FIELD_U32:
		*(uint32_t *)into = (uint32_t)number;
		break;
	default:
		*(uint64_t *)into = number;
		break;
	}
}

void fields_read_one(const struct json *value, const struct field *field, void *into)
{
	const char *text;

	switch (field->type) {
	case FIELD_BOOL:
		*(bool *)into = fields_expect(value, JSON_BOOL)->truth;
		break;
	case FIELD_TEXT:
		*(const char **)into = fields_expect(value, JSON_TEXT)->text;
		break;
	case FIELD_HANDLE:
		*(uint32_t *)into = read_handle(value);
		break;
	case FIELD_IPV4:
		text = fields_expect(value, JSON_TEXT)->text;
		if (inet_pton(AF_INET, text, into) != 1)
			fields_refuse(value, "'%s' is not an IPv4 address", text);
		break;
	case FIELD_MAC:
		text = fields_expect(value, JSON_TEXT)->text;
		if (!ether_aton_r(text, into))
			fields_refuse(value, "'%s' is not an Ethernet address", text);
		break;
	case FIELD_VALUE:
		*(const struct json **)into = value;
		break;
	case FIELD_IGNORED:
		break;
	default:
		put_integer(field->type, into,
			    read_integer(value, field->max ? field->max : type_max(field->type)));
		break;
	}
}

static void put_absent(const struct json *object, const struct field *field, void *into)
{
	if (field->need == NEEDED)
		fields_refuse(object, "'%s' is missing", field->key);
	switch (field->type) {
	case FIELD_TEXT:
	case FIELD_VALUE:
		*(const void **)into = NULL;
		break;
	case FIELD_BOOL:
		*(bool *)into = field->otherwise;
		break;
	case FIELD_U8:
	case FIELD_U16:
	case FIELD_U32:
	case FIELD_U64:
	case FIELD_SHARE:
		put_integer(field->type, into, field->otherwise);
		break;
	default: /* addresses and handles stay zero */
		break;
	}
}

static void refuse_unknown(const struct json *member, const struct field *fields, size_t count)
{
	char known[512] = "";

	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(known);

		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", fields[i].key);
	}
	fields_refuse(member, "unknown; known here: %s", known);
}

void fields_read(const struct json *object, const struct field *fields, size_t count, void *into)
{
	fields_expect(object, JSON_OBJECT);
	for (const struct json *member = object->members; member; member = member->next) {
		size_t i = 0;

		while (i < count && strcmp(member->key, fields[i].key))
			i++;
		if (i == count)
			refuse_unknown(member, fields, count);
	}
	for (size_t i = 0; i < count; i++) {
		const struct json *member = json_member(object, fields[i].key);
		void *place = (char *)into + fields[i].offset;

		if (!member || (member->type == JSON_NULL && fields[i].need == NULLABLE))
			put_absent(object, &fields[i], place);
		else
			fields_read_one(member, &fields[i], place);
	}
}

char **fields_texts(const struct json *list)
{
	char **texts = need_memory(fields_expect(list, JSON_LIST)->count + 1, sizeof(*texts));

	for (EACH(item, list))
		texts[item->index] = strdup(fields_expect(item, JSON_TEXT)->text);
	return texts;
}
