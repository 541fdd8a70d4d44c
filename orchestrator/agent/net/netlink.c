/* One request at a time: answers are awaited, so nothing needs numbering beyond one. */
#include "net/netlink.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/calls.h"
#include "system/fatal.h"

/* A dump is its messages, and then one that says that it is done. */
#define ANSWERS 2

static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER; /* all threads share the answers */
static _Alignas(struct nlmsghdr) char answers[ANSWERS][1 << 16];

int netlink_open(int protocol)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	int one = 1;

	if (fd < 0)
		die("opening netlink", "", "the guest kernel needs CONFIG_NET", "%s",
		    strerror(errno));
	/* The kernel's texts help but are not needed: errors of these two are ignored. */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	return fd;
}

static struct nlmsghdr *head(struct request *request)
{
	return (struct nlmsghdr *)request->bytes;
}

static void *grow(struct request *request, size_t size)
{
	size_t at = NLMSG_ALIGN(head(request)->nlmsg_len);

	if (at + NLMSG_ALIGN(size) > sizeof(request->bytes))
		abort();
	memset(request->bytes + at, 0, NLMSG_ALIGN(size));
	head(request)->nlmsg_len = (uint32_t)(at + size);
	return request->bytes + at;
}

void request_begin(struct request *request, uint16_t type, uint16_t flags, const void *body,
		   size_t size)
{
	*head(request) = (struct nlmsghdr){
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = 1,
	};
	request_add_bytes(request, body, size);
}

void request_add_bytes(struct request *request, const void *data, size_t size)
{
	void *place = grow(request, size);

	if (size)
		memcpy(place, data, size);
}

void request_add(struct request *request, uint16_t type, const void *data, size_t size)
{
	struct rtattr *attribute = grow(request, RTA_LENGTH(size));

	attribute->rta_type = type;
	attribute->rta_len = (uint16_t)RTA_LENGTH(size);
	if (size)
		memcpy(RTA_DATA(attribute), data, size);
}

void request_add_u8(struct request *request, uint16_t type, uint8_t value)
{
	request_add(request, type, &value, sizeof(value));
}

void request_add_u32(struct request *request, uint16_t type, uint32_t value)
{
	request_add(request, type, &value, sizeof(value));
}

void request_add_u64(struct request *request, uint16_t type, uint64_t value)
{
	request_add(request, type, &value, sizeof(value));
}

void request_add_text(struct request *request, uint16_t type, const char *text)
{
	request_add(request, type, text, strlen(text) + 1);
}

size_t request_nest(struct request *request, uint16_t type)
{
	size_t at = NLMSG_ALIGN(head(request)->nlmsg_len);

	request_add(request, type, NULL, 0);
	return at;
}

void request_unnest(struct request *request, size_t nest)
{
	struct rtattr *attribute = (struct rtattr *)(request->bytes + nest);

	/* The padding of its last member is part of the nest, and so of the message. */
	head(request)->nlmsg_len = NLMSG_ALIGN(head(request)->nlmsg_len);
	attribute->rta_len = (uint16_t)(head(request)->nlmsg_len - nest);
}

/* Sends a request, and makes the call that receives its answers; returns the result of that. */
static long exchange(int fd, struct request *request, struct call receiving)
{
	struct call calls[] = {
		{.number = SYS_sendto,
		 .arguments = {fd, (long)request->bytes, head(request)->nlmsg_len},
		 .after = -1},
		receiving,
	};

	calls_make(calls, 2);
	if (calls[1].result < 0)
		die("talking to netlink", "", "", "%s: %s", calls[0].result < 0 ? "send" : "recv",
		    strerror((int)-calls[1].result));
	return calls[1].result;
}

static int ask(int fd, struct request *request, char *why, size_t size)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)answers[0];
	const struct nlmsgerr *error = NLMSG_DATA(message);
	struct attributes attributes;

	head(request)->nlmsg_flags |= NLM_F_ACK;
	exchange(fd, request,
		 (struct call){.number = SYS_recvfrom,
			       .arguments = {fd, (long)answers[0], sizeof(answers[0])}});
	if (message->nlmsg_type != NLMSG_ERROR)
		die("talking to netlink", "", "", "answer of type %u", message->nlmsg_type);
	if (!error->error)
		return 0;
	snprintf(why, size, "%s", strerror(-error->error));
	if (message->nlmsg_flags & NLM_F_ACK_TLVS) {
		attributes_of(&attributes, message, sizeof(*error));
		if (attributes.table[NLMSGERR_ATTR_MSG])
			snprintf(why, size, "%s (%s)", strerror(-error->error),
				 (const char *)RTA_DATA(attributes.table[NLMSGERR_ATTR_MSG]));
	}
	return -error->error;
}

int netlink_ask(int fd, struct request *request, char *why, size_t size)
{
	int problem;

	pthread_mutex_lock(&asking);
	problem = ask(fd, request, why, size);
	pthread_mutex_unlock(&asking);
	return problem;
}

/* Whether the dump is done. */
static bool visit_all(const struct nlmsghdr *message, int size, netlink_visit visit, void *context)
{
	for (; NLMSG_OK(message, size); message = NLMSG_NEXT(message, size)) {
		if (message->nlmsg_type == NLMSG_DONE)
			return true;
		if (message->nlmsg_type == NLMSG_ERROR)
			die("reading back through netlink", "", "", "%s",
			    strerror(-((const struct nlmsgerr *)NLMSG_DATA(message))->error));
		visit(message, context);
	}
	return false;
}

static void dump(int fd, struct request *request, netlink_visit visit, void *context)
{
	struct iovec pieces[ANSWERS];
	struct mmsghdr parts[ANSWERS];
	bool asked = false, done = false;

	head(request)->nlmsg_flags |= NLM_F_DUMP;
	while (!done) {
		int got;

		for (int i = 0; i < ANSWERS; i++) {
			pieces[i] = (struct iovec){answers[i], sizeof(answers[i])};
			parts[i] = (struct mmsghdr){
				.msg_hdr = {.msg_iov = &pieces[i], .msg_iovlen = 1}};
		}
		if (asked)
			got = recvmmsg(fd, parts, ANSWERS, MSG_WAITFORONE, NULL);
		else
			got = (int)exchange(fd, request,
					    (struct call){.number = SYS_recvmmsg,
							  .arguments = {fd, (long)parts, ANSWERS,
									MSG_WAITFORONE}});
		asked = true;
		if (got < 0)
			die("reading back through netlink", "", "", "%s", strerror(errno));
		for (int i = 0; i < got && !done; i++)
			done = visit_all((const struct nlmsghdr *)answers[i], (int)parts[i].msg_len,
					 visit, context);
	}
}

void netlink_dump(int fd, struct request *request, netlink_visit visit, void *context)
{
	pthread_mutex_lock(&asking);
	dump(fd, request, visit, context);
	pthread_mutex_unlock(&asking);
}

void netlink_list(int fd, uint16_t type, const void *body, size_t size, netlink_visit visit,
		  void *context)
{
	struct request request;

	request_begin(&request, type, 0, body, size);
	netlink_dump(fd, &request, visit, context);
}

void attributes_parse(struct attributes *attributes, const void *data, size_t size)
{
	const struct rtattr *attribute = data;
	int left = (int)size;

	*attributes = (struct attributes){0};
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		unsigned int type = attribute->rta_type & NLA_TYPE_MASK;

		if (type < sizeof(attributes->table) / sizeof(*attributes->table))
			attributes->table[type] = attribute;
	}
}

void attributes_of(struct attributes *attributes, const struct nlmsghdr *message, size_t body)
{
	attributes_parse(attributes, (const char *)NLMSG_DATA(message) + NLMSG_ALIGN(body),
			 message->nlmsg_len - NLMSG_LENGTH(NLMSG_ALIGN(body)));
}

void attribute_copy(const struct rtattr *attribute, void *into, size_t size)
{
	size_t there = attribute ? RTA_PAYLOAD(attribute) : 0;

	memset(into, 0, size);
	if (there)
		memcpy(into, RTA_DATA(attribute), there < size ? there : size);
}

uint32_t attribute_u32(const struct rtattr *attribute)
{
	uint32_t value;

	attribute_copy(attribute, &value, sizeof(value));
	return value;
}

uint64_t attribute_u64(const struct rtattr *attribute)
{
	uint64_t value;

	attribute_copy(attribute, &value, sizeof(value));
	return value;
}
